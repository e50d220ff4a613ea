"""``wikisync.toml`` as frozen sections.

``parse_config`` is pure and reports every problem at once, each with its key path, its
value and the nearest right name.  Commands follow a flag, the environment, this file
and the default, in that order.  No section holds a token: the file is shared and
committed, so it may only say where a token comes from, and a value that could be one is
never repeated in an error.
"""

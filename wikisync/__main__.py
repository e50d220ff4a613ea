"""``python -m wikisync``: the command line."""

from wikisync.cli.start import run

run()

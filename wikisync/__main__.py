"""``python -m wikisync``: the command line."""

from wikisync.cli.main import run

run()

"""``python -m wikisync``: the command line."""

import os
import sys

# Python puts the current folder first: nothing that lies in it may be imported
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 - not loaded yet
    del sys.path[0]

from wikisync.cli.start import run

run()

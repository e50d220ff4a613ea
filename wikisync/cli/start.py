"""Starting the program: what comes before anything else is imported."""

from __future__ import annotations

import gc
import os
import sys

GC_OBJECTS = 100_000
"""Objects made before the collector looks at them; Python's own start is 700."""


def run() -> None:
    """Entry point of the console script."""
    run_in_utf8()
    # what is imported stays for good; looking through it again and again while
    # modules load is a tenth of a short command's time
    gc.set_threshold(GC_OBJECTS)
    from wikisync.cli.main import main

    code = main()
    # nor is there anything to be found in what the end of the process frees
    gc.freeze()
    sys.exit(code)


def run_in_utf8() -> None:
    """Start Python anew in UTF-8 mode where the locale is of another encoding.

    Pages are named in every script; under Latin-1 or C their files have no names.
    """
    is_utf8 = sys.getfilesystemencoding().lower() == "utf-8"
    if is_utf8 or os.environ.get("PYTHONUTF8") == "1":
        return
    os.environ["PYTHONUTF8"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - it is this program

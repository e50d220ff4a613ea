"""Starting the program: what comes before anything else is imported."""

import gc
import os
import sys
from importlib.util import find_spec


def run() -> None:
    """Entry point of the console script."""
    if find_spec("fcntl") is None:
        sys.exit(
            "error: wikisync runs on Linux and macOS\n"
            "hint: on Windows, install it in WSL (the Windows Subsystem for Linux)"
        )
    is_utf8 = sys.getfilesystemencoding().lower() == "utf-8"
    if not is_utf8 and os.environ.get("PYTHONUTF8") != "1":
        # anew in UTF-8 mode, where the locale is of another encoding
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - it is this program
    open_closed_streams()
    try:
        from wikisync.cli.main import main
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; run the same command again to continue\n")
        sys.exit(130)
    code = main()
    gc.freeze()  # the system takes back all memory: no circles are looked for
    sys.exit(code)


def open_closed_streams() -> None:
    """Let what nobody wants to read go nowhere (``wikisync sync >&-``)."""
    # in the order of their numbers: each takes the lowest that is free; stdin cannot be
    # read then: a text that never came is not an empty one
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))

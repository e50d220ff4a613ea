"""First uses of decoders in several threads at once, for a process of their own.

    python -m tests.support.first_uses recall|make STARTS FOLDER

A decoder that is made while another thread makes or uses one of the same class can
end the process with SIGSEGV, so the caller checks the exit code.  Each start imports
the program anew: msgspec knows as little of its classes as in a new process.
"""

import importlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec

THREADS = 4
"""As many wikis as a watch handles at a time."""
SWITCH_S = 1e-5
"""Threads take turns 500 times as often as usual."""


def forget_the_program() -> None:
    """Have its modules, and so its classes, made anew at the next import."""
    for name in [name for name in sys.modules if name.split(".")[0] == "wikisync"]:
        del sys.modules[name]


def at_once(step: Callable[[int], Any]) -> list[Any]:
    """What the step gives in each of the threads, which begin it together."""
    together = Barrier(THREADS)

    def begun(number: int) -> Any:
        together.wait()
        return step(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begun, range(THREADS)))


def modules(*names: str) -> list[Any]:
    """Modules of the program that no thread has used yet."""
    forget_the_program()
    return [importlib.import_module(f"wikisync.{name}") for name in names]


def recall(folder: Path) -> None:
    """Recall the last scans of several wikis, as a starting watch does."""
    [index, model] = modules("folder.index", "core.model")
    page = model.PageState(model.Slug("home"), model.Format("markdown"), "0f")
    known = [index.FolderIndex(folder, folder / "scans") for _ in range(THREADS + 1)]
    known[-1].note("home.md", index.IndexedFile("0f", 1, page=page))
    known[-1].keep()
    found = at_once(lambda number: known[number].files)
    assert all(files["home.md"].page == page for files in found)


def make(folder: Path) -> None:
    """Make decoders of two classes that share a third, each in several threads."""
    del folder
    [decoding, model] = modules("core.decoding", "core.model")
    state: Any = model.PageState
    kinds: tuple[Any, Any] = (
        dict[str, state],
        msgspec.defstruct("Seen", [("status", int), ("state", state)]),
    )
    page = model.PageState(model.Slug("home"), model.Format("markdown"), "0f")
    content = msgspec.msgpack.encode({"status": page, "state": page})

    def decoded(number: int) -> object:
        decoder = decoding.msgpack_decoder(kinds[number % 2])
        return decoder.decode(content) if number % 2 == 0 else None

    assert at_once(decoded)[0] == {"status": page, "state": page}


STEPS = {"recall": recall, "make": make}


def main() -> None:
    """Play the step so many times."""
    sys.setswitchinterval(SWITCH_S)
    step, starts, folder = sys.argv[1:]
    for _ in range(int(starts)):
        STEPS[step](Path(folder))


if __name__ == "__main__":
    main()

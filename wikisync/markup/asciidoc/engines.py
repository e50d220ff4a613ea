"""The engines that AsciiDoc pages can have, and which of them a page gets.

``mini-racer`` and ``quickjs`` run the same script, Asciidoctor's JavaScript edition;
``asciidoc3`` is another, older program that gets about half of the pages right,
for machines that have neither of the two.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from wikisync.errors import RenderError
from wikisync.markup.asciidoc.engine import USUAL_LIMITS, WorkerEngine, WorkerLimits
from wikisync.processes import python_worker

PROCESS_BYTES_MAX = 1 << 30
"""Of an engine's process, which reserves more than it uses; the engine itself keeps
to ``WorkerLimits.memory_bytes_max``."""
HERE = Path(__file__).parent
GRACE_SECONDS = 1
"""A worker's own clock is later than ours, which can say what happened."""


class EngineKind(Struct, frozen=True):
    """One kind of engine: what it needs, and what to install."""

    module: str
    hint: str


KINDS: Mapping[str, EngineKind] = {
    "mini-racer": EngineKind("py_mini_racer", "install wikisync with its extra fast"),
    "quickjs": EngineKind("quickjs", "pip install --force-reinstall wikisync"),
    "asciidoc3": EngineKind("asciidoc3", "install wikisync with its extra asciidoc3"),
}
"""By name, best first."""


def choose_engine(
    name: str = "auto", limits: WorkerLimits | None = None
) -> WorkerEngine:
    """The engine with this name, or for ``auto`` the best that is installed.

    Raises:
        RenderError: it is not installed, or none is.
    """
    if name == "auto":
        for known in KINDS:
            if is_installed(known):
                return choose_engine(known, limits)
        raise RenderError(
            "no engine for asciidoc is installed", hint=KINDS["quickjs"].hint
        )
    if name not in KINDS:
        raise RenderError(
            f"there is no asciidoc engine {name}",
            hint=f"use one of: auto, {', '.join(KINDS)}",
        )
    if not is_installed(name):
        raise RenderError(
            f"the asciidoc engine {name} is not installed", hint=KINDS[name].hint
        )
    limits = limits or USUAL_LIMITS
    if name == "asciidoc3":
        return _asciidoc3_engine(limits)
    return _script_engine(name, limits)


def is_installed(name: str) -> bool:
    """Whether an engine can be expected to start."""
    try:
        return importlib.util.find_spec(KINDS[name].module) is not None
    except (ImportError, ValueError):
        return False


def _script_engine(name: str, limits: WorkerLimits) -> WorkerEngine:
    library = HERE.parents[1] / "vendor" / "asciidoctor.js"
    if not library.is_file():
        raise RenderError(
            "Asciidoctor is not part of this installation",
            hint="install wikisync again: pip install . (or pip install -e .)",
        )
    command = python_worker(
        HERE / "worker.py",
        (
            name,
            str(library),
            str(HERE / "convert.js"),
            str(limits.wait_seconds_max + GRACE_SECONDS),
            str(limits.memory_bytes_max),
        ),
        memory_bytes_max=PROCESS_BYTES_MAX,
    )
    return WorkerEngine(name, command, limits, hint=KINDS[name].hint)


def _asciidoc3_engine(limits: WorkerLimits) -> WorkerEngine:
    command = python_worker(
        HERE / "worker_asciidoc3.py",
        (str(limits.wait_seconds_max + GRACE_SECONDS), str(limits.memory_bytes_max)),
        memory_bytes_max=PROCESS_BYTES_MAX,
    )
    return WorkerEngine("asciidoc3", command, limits, hint=KINDS["asciidoc3"].hint)

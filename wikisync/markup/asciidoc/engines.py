"""The engines that AsciiDoc pages can have, and which of them a page gets.

``mini-racer`` and ``quickjs`` run the same script, Asciidoctor's JavaScript edition;
``asciidoc3`` is another, older program that gets about half of the pages right,
for machines that have neither of the two.
"""

import importlib.util
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from wikisync.core.system.processes import python_worker
from wikisync.errors import RenderError
from wikisync.markup.asciidoc import asciidoc3, engine

HERE = Path(__file__).parent
FAST_HINT = "install wikisync with its extra fast"
QUICKJS_HINT = "pip install --force-reinstall wikisync"


def choose_engine(
    name: str = "auto", limits: engine.WorkerLimits = engine.USUAL_LIMITS
) -> engine.Engine:
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
    return KINDS[name].make(limits)


def is_installed(name: str) -> bool:
    """Whether an engine can be expected to start."""
    try:
        return importlib.util.find_spec(KINDS[name].module) is not None
    except (ImportError, ValueError):
        return False


def _script_engine(name: str, hint: str, limits: engine.WorkerLimits) -> engine.Engine:
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
            str(limits.wait_seconds_max + engine.GRACE_SECONDS),
            str(limits.memory_bytes_max),
        ),
        memory_bytes_max=engine.PROCESS_BYTES_MAX,
    )
    return engine.Engine(name, command, limits, hint=hint)


def _kind_of_script(name: str, module: str, hint: str) -> engine.EngineKind:
    return engine.EngineKind(module, hint, partial(_script_engine, name, hint))


KINDS: Mapping[str, engine.EngineKind] = {
    "mini-racer": _kind_of_script("mini-racer", "py_mini_racer", FAST_HINT),
    "quickjs": _kind_of_script("quickjs", "quickjs", QUICKJS_HINT),
    "asciidoc3": asciidoc3.KIND,
}
"""By name, best first."""

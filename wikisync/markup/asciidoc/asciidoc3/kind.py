"""asciidoc3 as one kind of engine: how it is started, and what is said of it."""

from pathlib import Path

from wikisync.core.system.processes import python_worker
from wikisync.markup.asciidoc import engine

NAME = "asciidoc3"
HINT = "install wikisync with its extra asciidoc3"
CAVEAT = engine.Caveat(
    "asciidoc-approximate",
    "rendered by asciidoc3, which gets about half of the language right",
    "install an engine of Asciidoctor: wikisync's extra fast",
)
WORKER = Path(__file__).with_name("worker.py")


def make_engine(limits: engine.WorkerLimits) -> engine.Engine:
    """The engine, which is started with its first page."""
    command = python_worker(
        WORKER,
        (
            str(limits.wait_seconds_max + engine.GRACE_SECONDS),
            str(limits.memory_bytes_max),
        ),
        memory_bytes_max=engine.PROCESS_BYTES_MAX,
    )
    return engine.Engine(NAME, command, limits, hint=HINT, caveat=CAVEAT)


KIND = engine.EngineKind(NAME, HINT, make_engine)

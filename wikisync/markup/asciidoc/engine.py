"""The engines behind AsciiDoc pages, each a program in a worker process.

The page can take the worker's time and memory, not ours: after a breach of a limit
the process ends itself, without an answer it is killed, and the next page gets a new
one.  Messages are described in ``worker``.
"""

import signal
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from wikisync.core.decoding import json_decoder
from wikisync.core.system.worker import Worker, WorkerLost, WorkerNotStarted
from wikisync.errors import LimitExceeded, RenderError
from wikisync.markup import context
from wikisync.markup.asciidoc.includes import Included, IncludeRequest, Inclusion

STOP_SECONDS_MAX = 2
OUT_OF_TIME = frozenset({-signal.SIGPROF, -signal.SIGXCPU})
"""Exit codes of a worker whose page has used its time up."""


class WorkerLimits(Struct, frozen=True):
    """What one page may take."""

    seconds_max: float = context.PAGE_SECONDS_MAX
    wait_seconds_max: float = 300.0
    """By the clock, on a machine that is busy with other things."""
    memory_bytes_max: int = 160 << 20
    source_bytes_max: int = 1 << 20
    html_bytes_max: int = 16 << 20


USUAL_LIMITS = WorkerLimits()
PROCESS_BYTES_MAX = 1 << 30
"""Of an engine's process, which reserves more than it uses; the engine itself keeps
to ``WorkerLimits.memory_bytes_max``."""
GRACE_SECONDS = 1
"""A worker's own clock is later than ours, which can say what happened."""


class Answer(msgspec.Struct):
    """Any message of a worker; one of the fields is set."""

    html: str | None = None
    is_spent: bool = False
    """Beside ``html``: it holds much memory, and another one should follow it."""
    error: str | None = None
    is_memory: bool = False
    """Beside ``error``: there was not enough memory."""
    include: IncludeRequest | None = None


_ANSWERS = json_decoder(Answer)


class Engine:
    """An engine in a child process of its own; safe to use from many threads."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        limits: WorkerLimits = USUAL_LIMITS,
        *,
        hint: str = "pip install --force-reinstall wikisync",
    ) -> None:
        """Nothing starts before the first page; ``hint`` says how to install it."""
        self.name = name
        self._start_hint = f"see that memory is left, or install it anew: {hint}"
        self._limits = limits
        self._worker = Worker(
            command,
            _ANSWERS,
            wait_seconds_max=limits.wait_seconds_max,
            answer_bytes_max=limits.html_bytes_max,
            # after an error nothing of an engine is trusted
            is_spent=lambda answer: answer.is_spent or answer.html is None,
        )

    def render(
        self, source: str, attributes: Mapping[str, str], include: context.Include
    ) -> str:
        """The HTML of one page, not yet safe; blocks until it is there."""
        source = source.encode("utf-8", "replace").decode("utf-8")
        if len(source.encode("utf-8")) > self._limits.source_bytes_max:
            raise RenderError(
                f"the page is over {self._limits.source_bytes_max} bytes",
                hint="split the page",
            )
        seconds = min(self._limits.seconds_max, context.page_seconds.get())
        job = {
            "seconds_max": seconds,
            "source": source,
            "attributes": dict(attributes),
            "is_alone": include is context.include_nothing,
        }
        inclusion = Inclusion(include)

        def reply(answer: Answer) -> Included | None:
            request = answer.include
            return None if request is None else inclusion.resolve(request)

        try:
            answer = self._worker.ask(job, reply)
        except WorkerNotStarted as exc:
            reason = f"the asciidoc engine {self.name} does not start: {exc}"
            raise RenderError(reason.removesuffix(": "), hint=self._start_hint) from exc
        except WorkerLost as exc:
            raise self._loss(exc, seconds) from exc
        if answer.html is not None:
            return answer.html
        message = f"the asciidoc engine {self.name} failed: "
        message += answer.error or "it gave an empty answer"
        if answer.is_memory:
            raise LimitExceeded(message, "memory")
        raise RenderError(message)

    def close(self) -> None:
        """End the worker; it gets a moment to go by itself."""
        self._worker.end(STOP_SECONDS_MAX)

    def _loss(self, lost: WorkerLost, seconds: float) -> RenderError:
        if lost.code in OUT_OF_TIME:
            return LimitExceeded(
                f"the page takes longer than {seconds:.3g} s of processor time",
                "time",
                hint="split the page, or take out what nests deeply",
            )
        message = f"the asciidoc engine {self.name}"
        if lost.is_late:
            waited = f"{self._limits.wait_seconds_max:g} s"
            return LimitExceeded(f"{message} gave no answer in {waited}", "lost")
        if lost.is_garbled:
            return RenderError(f"{message} failed: {lost}")
        return LimitExceeded(f"{message} failed: {lost}", "lost")

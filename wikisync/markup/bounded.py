"""``parse_page`` with limits: the page is parsed in a process of its own.

Our parsers take time that grows with the page and no faster; those of others do
not, and a site must be built whatever a page holds.  A worker is started with
the first page and kept, and others when several threads parse at once; a page over a
limit costs its worker, and is shown as source.

Time is processor time, which the worker's own timer counts: a machine that is busy
with other things turns no sound page into source.  The clock ends only a worker
that does not answer at all.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from contextlib import suppress
from typing import Literal

import msgspec

from wikisync.decoding import json_decoder
from wikisync.errors import RenderError
from wikisync.markup.context import PAGE_SECONDS_MAX, Include, include_nothing
from wikisync.markup.jobs import (
    OUT_OF_MEMORY,
    Answer,
    Done,
    Included,
    Job,
    Refused,
    Shown,
    Wanted,
)
from wikisync.markup.page import TOO_MUCH_MEMORY, shown_as_source
from wikisync.markup.record import MarkupOptions, ParsedPage
from wikisync.markup.source import clean_source
from wikisync.model import Page
from wikisync.processes import python_worker
from wikisync.worker import Worker, WorkerLost, WorkerNotStarted

MEMORY_BYTES_MAX = 1 << 30
"""Of one worker; the worst page of 1 MiB that is known takes two thirds of it."""
WAIT_SECONDS_MAX = 600.0
"""By the clock, for one page; thirty times what an AsciiDoc page may take of the
processor, in the worker and in its engine."""

_ANSWERS: msgspec.json.Decoder[Answer] = json_decoder(Answer)


class BoundedParser:
    """Parses pages in worker processes, as many as threads parse at one time."""

    def __init__(
        self,
        *,
        seconds_max: float = PAGE_SECONDS_MAX,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
        wait_seconds_max: float = WAIT_SECONDS_MAX,
    ) -> None:
        self._seconds_max = seconds_max
        self._wait_seconds_max = wait_seconds_max
        self._command = python_worker(
            "wikisync.markup.worker",
            [str(memory_bytes_max)],
            memory_bytes_max=memory_bytes_max,
        )
        self._workers: list[Worker[Answer]] = []
        self._idle: list[Worker[Answer]] = []
        """Those without a page; the last one is taken first."""

    def parse(
        self,
        page: Page,
        options: MarkupOptions = MarkupOptions(),  # noqa: B008 - frozen, no state
        *,
        include: Include = include_nothing,
        seconds_max: float | None = None,
    ) -> ParsedPage:
        """What ``parse_page`` gives, or source with a notice after a breach.

        Args:
            page: The page.
            options: How it is parsed.
            include: What it may include.
            seconds_max: Of processor time, less than this parser's limit.

        Raises:
            RenderError: no worker can be started on this machine.
        """
        seconds = self._seconds_max if seconds_max is None else seconds_max
        answer = self._answer(Job(page, options, seconds_max=seconds), include)
        if isinstance(answer, Done):
            return answer.parsed
        assert isinstance(answer, Refused)
        source = clean_source(page.content)
        return shown_as_source(page, source, answer.message, breach=answer.breach)

    def html(
        self,
        page: Page,
        options: MarkupOptions,
        stage: Literal["parse", "safe"],
        *,
        include: Include = include_nothing,
    ) -> str:
        """What ``to_html`` or ``safe_html`` gives.

        Raises:
            RenderError: the parser refuses the page, is over its deadline, or no
                worker can be started on this machine.
        """
        answer = self._answer(Job(page, options, stage, self._seconds_max), include)
        if isinstance(answer, Shown):
            return answer.html
        assert isinstance(answer, Refused)
        raise RenderError(answer.message)

    def close(self) -> None:
        """End the workers; a later page starts another one."""
        for worker in self._workers:
            worker.end()

    def _answer(self, job: Job, include: Include) -> Done | Shown | Refused:
        """A worker's last answer to a job, or why there is none."""

        def reply(answer: Answer) -> Included | None:
            if isinstance(answer, Wanted):
                return Included(include(answer.target))
            return None

        worker = self._taken()
        try:
            answer = worker.ask(job, reply)
        except WorkerNotStarted as exc:
            reason = f"cannot start a process for pages: {exc}"
            raise RenderError(reason.removesuffix(": ")) from exc
        except WorkerLost as lost:
            return self._refusal(job, lost)
        finally:
            self._idle.append(worker)
        assert not isinstance(answer, Wanted)
        return answer

    def _taken(self) -> Worker[Answer]:
        with suppress(IndexError):
            return self._idle.pop()
        worker = Worker(
            self._command,
            _ANSWERS,
            wait_seconds_max=self._wait_seconds_max,
            is_spent=_is_spent,
        )
        self._workers.append(worker)
        return worker

    def _refusal(self, job: Job, lost: WorkerLost) -> Refused:
        if lost.code == -signal.SIGPROF:
            seconds = f"{job.seconds_max:.3g} seconds of processor time"
            return Refused(f"it takes longer than {seconds} to parse", "time")
        if lost.code in {OUT_OF_MEMORY, -signal.SIGABRT}:
            # libraries that are not Python's end the process that has no memory
            return Refused(TOO_MUCH_MEMORY, "memory")
        if lost.is_late:
            seconds = f"{self._wait_seconds_max:g} seconds"
            return Refused(f"its parser gave no answer in {seconds}", "lost")
        return Refused("its parser ended without a word", "lost")


def _is_spent(answer: Answer) -> bool:
    return isinstance(answer, Done) and answer.is_spent


_parsers: dict[int, BoundedParser] = {}
_parsers_lock = threading.Lock()


def bounded_parser() -> BoundedParser:
    """The parser of this process; a forked one gets its own."""
    with _parsers_lock:
        parser = _parsers.get(os.getpid())
        if parser is None:
            parser = _parsers[os.getpid()] = BoundedParser()
            atexit.register(parser.close)
        return parser

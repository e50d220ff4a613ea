"""``parse_page`` with limits: the page is parsed in a process of its own.

Parsers of others take time that grows faster than the page, and a site must be built
whatever a page holds.  A worker is started with the first page and kept, others when
several threads parse at once; a page over a limit costs its worker, and is shown as
source.  Time is processor time: a busy machine turns no sound page into source.  The
clock ends only a worker that does not answer at all.
"""

import atexit
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Page
from wikisync.core.system.processes import python_worker
from wikisync.core.system.worker import MORE, More, Worker, WorkerLost, WorkerNotStarted
from wikisync.errors import Breach, RenderError
from wikisync.markup.context import PAGE_SECONDS_MAX, Include, include_nothing
from wikisync.markup.jobs import (
    OUT_OF_MEMORY,
    Answer,
    Done,
    Included,
    Job,
    Jobs,
    Wanted,
)
from wikisync.markup.record import MarkupOptions, ParsedPage
from wikisync.markup.source import TOO_MUCH_MEMORY, clean_source, shown_as_source

MEMORY_BYTES_MAX = 1 << 30
"""Of one worker; the worst page of 1 MiB that is known takes two thirds of it."""
WAIT_SECONDS_MAX = 600.0

_ANSWERS: msgspec.msgpack.Decoder[Answer] = msgpack_decoder(Answer)  # type: ignore[arg-type] # a union
_PARSED_PAGES = msgpack_decoder(ParsedPage)

JOB_CHARS_MAX = 1024 * 1024
"""Of the pages that a worker gets at once, if they are more than one."""

MadeT = TypeVar("MadeT")


class Wish(msgspec.Struct, frozen=True):
    """A page that shall be parsed."""

    page: Page
    options: MarkupOptions
    include: Include = include_nothing
    seconds_max: float | None = None
    """Of processor time, less than the parser's limit."""
    aim: bytes = b""


class BoundedPages(Generic[MadeT]):
    """Worker processes that make something of pages, as many as threads ask at once."""

    def __init__(
        self,
        module: str,
        decoder: msgspec.msgpack.Decoder[MadeT],
        make: Callable[[ParsedPage, bytes], MadeT],
        *,
        seconds_max: float = PAGE_SECONDS_MAX,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
        wait_seconds_max: float = WAIT_SECONDS_MAX,
    ) -> None:
        self._decoder = decoder
        self._make = make
        self._seconds_max = seconds_max
        self._wait_seconds_max = wait_seconds_max
        self._command = python_worker(
            module, [str(memory_bytes_max)], memory_bytes_max=memory_bytes_max
        )
        self._workers: list[Worker[Answer]] = []
        self._idle: list[Worker[Answer]] = []
        """Those without a page; the last one is taken first."""

    def prepare(self, count: int = 1) -> None:
        """Start workers for the first pages, beside what this process does."""
        workers = [self._taken() for _ in range(count)]
        for worker in workers:
            worker.prepare()
        self._idle += workers

    def make_all(self, wishes: Sequence[Wish]) -> list[MadeT]:
        """What becomes of each page; of one over a limit, source with a notice.

        Pages of a message are parsed together: after a breach they are sent anew one by
        one.
        """
        jobs = [
            Job(
                wish.page,
                wish.options,
                seconds_max=self._seconds_max
                if wish.seconds_max is None
                else wish.seconds_max,
                aim=wish.aim,
            )
            for wish in wishes
        ]
        made: list[MadeT] = []
        start = end = alone_until = 0

        def reply(answer: Answer) -> Included | More | None:
            if isinstance(answer, Wanted):
                include = wishes[start + answer.number].include
                return Included(include(answer.target))
            made.append(self._decoder.decode(answer.made))
            is_last = len(made) == end or _is_spent(answer)
            return None if is_last else MORE

        worker = self._taken()
        try:
            while (start := len(made)) < len(jobs):
                some = _some_of(jobs, start) if start >= alone_until else (jobs[start],)
                end = start + len(some)
                try:
                    worker.ask(some, reply)
                except WorkerLost as lost:
                    if len(some) > 1:
                        alone_until = end
                    else:
                        made.append(self._refused(some[0], lost))
        except WorkerNotStarted as exc:
            reason = f"cannot start a process for pages: {exc}"
            raise RenderError(reason.removesuffix(": ")) from exc
        finally:
            self._idle.append(worker)
        return made

    def close(self) -> None:
        """End the workers; a later page starts another one."""
        for worker in self._workers:
            worker.end()

    def break_off(self) -> None:
        """Kill the workers at what they do; no page is made after that."""
        for worker in self._workers:
            worker.break_off()

    def _taken(self) -> Worker[Answer]:
        with suppress(IndexError):
            return self._idle.pop()
        worker = Worker(
            self._command,
            _ANSWERS,
            encode=msgspec.msgpack.encode,
            wait_seconds_max=self._wait_seconds_max,
            is_spent=_is_spent,
        )
        self._workers.append(worker)
        return worker

    def _refused(self, job: Job, lost: WorkerLost) -> MadeT:
        """What becomes of a page whose worker is gone: its source, with the reason."""
        breach: Breach = "lost"
        if lost.code == -signal.SIGPROF:
            seconds = f"{job.seconds_max:.3g} seconds of processor time"
            reason, breach = f"it takes longer than {seconds} to parse", "time"
        elif lost.code in {OUT_OF_MEMORY, -signal.SIGABRT}:
            # libraries that are not Python's end the process that has no memory
            reason, breach = TOO_MUCH_MEMORY, "memory"
        elif lost.is_late:
            seconds = f"{self._wait_seconds_max:g} seconds"
            reason = f"its parser gave no answer in {seconds}"
        else:
            reason = "its parser ended without a word"
        source = clean_source(job.page.content)
        shown = shown_as_source(job.page, source, reason, breach=breach)
        return self._make(shown, job.aim)


class BoundedParser(BoundedPages[ParsedPage]):
    """Parses pages in worker processes."""

    def __init__(self, **limits: Any) -> None:
        module = "wikisync.markup.worker"
        super().__init__(module, _PARSED_PAGES, lambda parsed, _: parsed, **limits)

    def parse(
        self,
        page: Page,
        options: MarkupOptions = MarkupOptions(),  # noqa: B008 - frozen, no state
        *,
        include: Include = include_nothing,
    ) -> ParsedPage:
        """What ``parse_page`` gives, or source with a notice after a breach."""
        return self.make_all([Wish(page, options, include)])[0]


def _some_of(jobs: Sequence[Job], start: int) -> Jobs:
    """The next jobs, at least one, that are not too much for one message."""
    size, end = 0, start
    while end < len(jobs):
        size += len(jobs[end].page.content)
        if size > JOB_CHARS_MAX and end > start:
            break
        end += 1
    return tuple(jobs[start:end])


def _is_spent(answer: Answer) -> bool:
    return isinstance(answer, Done) and answer.is_spent


BoundedT = TypeVar("BoundedT", bound=BoundedPages[Any])


def one_per_process(make: Callable[[], BoundedT]) -> Callable[[], BoundedT]:
    """A function that gives the same each time; in a forked process another one."""
    made: dict[int, BoundedT] = {}
    lock = threading.Lock()

    def given() -> BoundedT:
        with lock:
            one = made.get(os.getpid())
            if one is None:
                one = made[os.getpid()] = make()
                atexit.register(one.close)
            return one

    return given


bounded_parser = one_per_process(BoundedParser)
"""The parser of this process."""

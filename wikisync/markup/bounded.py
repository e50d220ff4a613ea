"""``parse_page`` with limits: the page is parsed in a process of its own.

Our parsers take time that grows with the page and no faster; those of others do
not, and a site must be built whatever a page holds.  One worker is started with
the first page and kept; a page over a limit costs the worker, and is shown as
source.

Time is processor time, which the worker's own timer counts: a machine that is busy
with other things turns no sound page into source.  The clock ends only a worker
that does not answer at all.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from typing import Literal

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.errors import RenderError
from wikisync.markup.context import PAGE_SECONDS_MAX, Include, include_nothing
from wikisync.markup.frames import (
    OUT_OF_MEMORY,
    Answer,
    Done,
    Included,
    Job,
    Refused,
    Shown,
    Wanted,
    read_frame,
    write_frame,
)
from wikisync.markup.page import TOO_MUCH_MEMORY, shown_as_source
from wikisync.markup.record import MarkupOptions, ParsedPage
from wikisync.markup.source import clean_source
from wikisync.model import Page
from wikisync.processes import (
    Child,
    Deadline,
    end_worker,
    python_worker,
    start_worker,
    streams,
)

MEMORY_BYTES_MAX = 1 << 30
"""Of one worker; the worst page of 1 MiB that is known takes two thirds of it."""
WAIT_SECONDS_MAX = 600.0
"""By the clock, for one page; thirty times what an AsciiDoc page may take of the
processor, in the worker and in its engine."""
LAST_WORD_SECONDS_MAX = 1.0
"""For a worker that has closed its output, to end with a code that tells why."""
START_SECONDS_MAX = 120.0
"""For loading the program, on a machine that is busy with other things."""

_ANSWERS: msgspec.msgpack.Decoder[Answer] = msgpack_decoder(Answer)


class BoundedParser:
    """Parses pages in a worker process; safe to use from many threads."""

    def __init__(
        self,
        *,
        seconds_max: float = PAGE_SECONDS_MAX,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
        wait_seconds_max: float = WAIT_SECONDS_MAX,
    ) -> None:
        self._seconds_max = seconds_max
        self._wait_seconds_max = wait_seconds_max
        self._memory_bytes_max = memory_bytes_max
        self._process: Child | None = None
        self._lock = threading.Lock()

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

    def _answer(self, job: Job, include: Include) -> Done | Shown | Refused:
        """A worker's last answer to a job, or why there is none."""
        with self._lock:
            process = self._running()
            deadline = Deadline(process, self._wait_seconds_max)
            try:
                with deadline:
                    answer = self._exchange(process, job, include)
            except (OSError, EOFError, msgspec.DecodeError):
                code = self._end(LAST_WORD_SECONDS_MAX)
            except BaseException:
                # an answer may be half read: the next page needs a new worker
                self._end()
                raise
            else:
                if isinstance(answer, Done) and answer.is_spent:
                    self._end()
                return answer
        if code == -signal.SIGPROF:
            seconds = f"{job.seconds_max:.3g} seconds of processor time"
            return Refused(f"it takes longer than {seconds} to parse", "time")
        if code in {OUT_OF_MEMORY, -signal.SIGABRT}:
            # libraries that are not Python's end the process that has no memory
            return Refused(TOO_MUCH_MEMORY, "memory")
        if deadline.is_over:
            seconds = f"{self._wait_seconds_max:g} seconds"
            return Refused(f"its parser gave no answer in {seconds}", "lost")
        return Refused("its parser ended without a word", "lost")

    def close(self) -> None:
        """End the worker; a later page starts another one."""
        with self._lock:
            self._end()

    def _exchange(
        self, process: Child, job: Job, include: Include
    ) -> Done | Shown | Refused:
        source, target = streams(process)
        write_frame(target, job)
        while True:
            answer: Answer = _ANSWERS.decode(read_frame(source))
            if isinstance(answer, Done | Shown | Refused):
                return answer
            if isinstance(answer, Wanted):
                write_frame(target, Included(include(answer.target)))

    def _running(self) -> Child:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = self._start()
        return self._process

    def _start(self) -> Child:
        limit = self._memory_bytes_max
        command = python_worker(
            "wikisync.markup.worker", [str(limit)], memory_bytes_max=limit
        )
        try:
            process = start_worker(command)
        except OSError as exc:
            raise RenderError(f"cannot start a process for pages: {exc}") from exc
        try:
            with Deadline(process, START_SECONDS_MAX):
                _ANSWERS.decode(read_frame(streams(process)[0]))
        except (OSError, EOFError, msgspec.DecodeError) as exc:
            end_worker(process)
            raise RenderError("the process for pages does not start") from exc
        return process

    def _end(self, seconds: float = 0.0) -> int | None:
        """End the worker, which gets a moment to end by itself; its exit code."""
        process, self._process = self._process, None
        return None if process is None else end_worker(process, seconds)


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

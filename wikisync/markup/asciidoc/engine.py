"""The engines behind AsciiDoc pages: one interface, and a worker that fulfils it.

A worker is a child process that is started with the first page and kept.  The
page can take its time and its memory, not ours: after a breach of a limit the
process ends itself, without an answer it is killed, and the next page gets a new
one.  Frames and messages are described in ``worker``.
"""

from __future__ import annotations

import contextlib
import signal
import struct
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Protocol

import msgspec
from msgspec import Struct

from wikisync.decoding import json_decoder
from wikisync.errors import LimitExceeded, RenderError
from wikisync.markup.asciidoc.includes import IncludeRequest, Inclusion
from wikisync.markup.context import (
    PAGE_SECONDS_MAX,
    Include,
    include_nothing,
    page_seconds,
)
from wikisync.processes import Child, Deadline, end_worker, start_worker

LENGTH = struct.Struct(">I")
START_SECONDS_MAX = 120.0
"""For the start alone, on a machine that is busy with other things."""
STOP_SECONDS_MAX = 2
LAST_WORD_SECONDS_MAX = 1.0
"""For a worker that breaks off, to end with a code that tells why."""
OUT_OF_TIME = frozenset({-signal.SIGPROF, -signal.SIGXCPU})
"""Exit codes of a worker whose page has used its time up."""


class Engine(Protocol):
    """Turns AsciiDoc into HTML that is not yet safe."""

    name: str

    def render(
        self, source: str, attributes: Mapping[str, str], include: Include
    ) -> str:
        """The HTML of one page; blocks until it is there.

        Raises:
            RenderError: the page is over a limit, or the engine failed on it.
        """
        ...

    def close(self) -> None:
        """End what the engine keeps running; a later render starts it anew."""
        ...


class WorkerLimits(Struct, frozen=True):
    """What one page may take."""

    seconds_max: float = PAGE_SECONDS_MAX
    """Of processor time."""
    wait_seconds_max: float = 300.0
    """By the clock, on a machine that is busy with other things."""
    memory_bytes_max: int = 160 << 20
    source_bytes_max: int = 1 << 20
    html_bytes_max: int = 16 << 20


USUAL_LIMITS = WorkerLimits()


class Answer(msgspec.Struct):
    """Any message of a worker; one of the fields is set."""

    ready: bool = False
    html: str | None = None
    is_spent: bool = False
    """Beside ``html``: it holds much memory, and another one should follow it."""
    error: str | None = None
    is_memory: bool = False
    """Beside ``error``: there was not enough memory."""
    include: IncludeRequest | None = None


_ANSWERS = json_decoder(Answer)


class WorkerEngine:
    """An engine in a child process of its own; safe to use from many threads."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        limits: WorkerLimits = USUAL_LIMITS,
        *,
        hint: str = "pip install --force-reinstall wikisync",
    ) -> None:
        """Nothing is started before the first page.

        Args:
            name: what messages call it.
            command: the program and its arguments.
            limits: of one page.
            hint: how it is installed, for when it does not start.
        """
        self.name = name
        self._start_hint = f"see that memory is left, or install it anew: {hint}"
        self._command = tuple(command)
        self._limits = limits
        self._process: Child | None = None
        self._lock = threading.Lock()

    def render(
        self, source: str, attributes: Mapping[str, str], include: Include
    ) -> str:
        """Have one page rendered; see ``Engine.render``."""
        source = source.encode("utf-8", "replace").decode("utf-8")
        if len(source.encode("utf-8")) > self._limits.source_bytes_max:
            raise RenderError(
                f"the page is over {self._limits.source_bytes_max} bytes",
                hint="split the page",
            )
        with self._lock:
            process = self._running()
            seconds = min(self._limits.seconds_max, page_seconds.get())
            message = {
                "seconds_max": seconds,
                "source": source,
                "attributes": dict(attributes),
                "is_alone": include is include_nothing,
            }
            with Deadline(process, self._limits.wait_seconds_max) as deadline:
                try:
                    answer = self._converse(process, message, Inclusion(include))
                except (_WorkerFailure, OSError) as failure:
                    code = self._end(LAST_WORD_SECONDS_MAX)
                    raise self._told(failure, deadline, code, seconds) from failure
                except BaseException:
                    # Raised by the include: the conversation is half held.
                    self._end()
                    raise
            if answer.is_spent:
                self._end()
            return answer.html or ""

    def close(self) -> None:
        """End the worker; it gets a moment to go by itself."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        end_worker(process, STOP_SECONDS_MAX)

    def _running(self) -> Child:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = self._start()
        return self._process

    def _start(self) -> Child:
        try:
            process = start_worker(self._command)
        except OSError as error:
            raise RenderError(
                f"the asciidoc engine {self.name} does not start: {error.strerror}",
                hint=self._start_hint,
            ) from error
        with Deadline(process, START_SECONDS_MAX):
            try:
                answer = self._receive(process)
            except (_WorkerFailure, OSError):
                answer = Answer()
        if not answer.ready:
            end_worker(process)
            raise RenderError(
                f"the asciidoc engine {self.name} does not start",
                hint=self._start_hint,
            )
        return process

    def _converse(
        self,
        process: Child,
        message: Mapping[str, object],
        inclusion: Inclusion,
    ) -> Answer:
        _send(process, message)
        while True:
            answer = self._receive(process)
            if answer.include is not None:
                included = inclusion.resolve(answer.include)
                _send(process, {"text": included.text, "path": included.path})
            elif answer.error is not None:
                raise _WorkerFailure(answer.error, is_memory=answer.is_memory)
            elif answer.html is not None:
                return answer
            else:
                raise _WorkerFailure("it gave an empty answer")

    def _receive(self, process: Child) -> Answer:
        assert process.stdout is not None
        (length,) = LENGTH.unpack(_read_exactly(process.stdout, LENGTH.size))
        if length > self._limits.html_bytes_max:
            raise _WorkerFailure(f"its answer is over {self._limits.html_bytes_max} B")
        try:
            return _ANSWERS.decode(_read_exactly(process.stdout, length))
        except msgspec.MsgspecError as error:
            raise _WorkerFailure("its answer cannot be read") from error

    def _end(self, seconds: float = 0.0) -> int | None:
        """End the worker, which gets a moment to end by itself; its exit code."""
        process, self._process = self._process, None
        return None if process is None else end_worker(process, seconds)

    def _told(
        self, failure: Exception, deadline: Deadline, code: int | None, seconds: float
    ) -> RenderError:
        if code in OUT_OF_TIME:
            return LimitExceeded(
                f"the page takes longer than {seconds:.3g} s of processor time",
                "time",
                hint="split the page, or take out what nests deeply",
            )
        message = f"the asciidoc engine {self.name}"
        if deadline.is_over:
            waited = f"{self._limits.wait_seconds_max:g} s"
            return LimitExceeded(f"{message} gave no answer in {waited}", "lost")
        if not isinstance(failure, _WorkerFailure) or failure.is_end:
            return LimitExceeded(f"{message} failed: {failure}", "lost")
        if failure.is_memory:
            return LimitExceeded(f"{message} failed: {failure}", "memory")
        return RenderError(f"{message} failed: {failure}")


class _WorkerFailure(Exception):
    """The worker broke off, or answered nonsense."""

    def __init__(
        self, reason: str, *, is_memory: bool = False, is_end: bool = False
    ) -> None:
        super().__init__(reason)
        self.is_memory = is_memory
        self.is_end = is_end


def _send(process: Child, message: Mapping[str, object]) -> None:
    assert process.stdin is not None
    body = msgspec.json.encode(message)
    process.stdin.write(LENGTH.pack(len(body)) + body)
    process.stdin.flush()


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    body = stream.read(length)
    if len(body) < length:
        raise _WorkerFailure("it ended without an answer", is_end=True)
    return body

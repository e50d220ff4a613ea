"""A child process of ours that answers jobs: its deadline, its end, its successor.

It is started with the first job and kept; one that is lost is followed by another with
the next job.  The clock here ends only a process that does not answer at all: what a
job may take of the processor is counted by the process itself (``child``), so that a
busy machine makes no difference.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Generic, TypeVar

import msgspec

from wikisync.core.system import processes
from wikisync.core.system.child import FRAME_BYTES_MAX, READY, read_frame, write_frame

START_SECONDS_MAX = 120.0
"""For loading the program, on a machine that is busy with other things."""
LAST_WORD_SECONDS_MAX = 1.0
"""For a process that has closed its output, to end with a code that tells why."""

AnswerT = TypeVar("AnswerT")


class More:
    """The reply to an answer that another one follows."""


MORE = More()


class WorkerNotStarted(Exception):
    """The process cannot be started, or ended before it was ready."""


class WorkerLost(Exception):
    """The process is gone, without an answer or with one that nobody can read."""

    def __init__(
        self,
        reason: str,
        code: int | None,
        *,
        is_late: bool = False,
        is_garbled: bool = False,
    ) -> None:
        super().__init__(reason)
        self.code = code
        """Its exit code, or the number of the signal that ended it, negative."""
        self.is_late = is_late
        """It was killed by the clock."""
        self.is_garbled = is_garbled
        """It answered, but too much, or no JSON of the expected shape."""


class Worker(Generic[AnswerT]):
    """One process, and the next one after it; safe to use from many threads."""

    def __init__(
        self,
        command: Sequence[str],
        answers: msgspec.json.Decoder[AnswerT] | msgspec.msgpack.Decoder[AnswerT],
        *,
        encode: Callable[[object], bytes] = msgspec.json.encode,
        wait_seconds_max: float,
        answer_bytes_max: int = FRAME_BYTES_MAX,
        is_spent: Callable[[AnswerT], bool] = lambda _: False,
    ) -> None:
        """Start nothing yet; after an answer that ``is_spent`` the process is ended."""
        self._command = command
        self._answers = answers
        self._encode = encode
        self.wait_seconds_max = wait_seconds_max
        """Of the next job, by the clock."""
        self._answer_bytes_max = answer_bytes_max
        self._is_spent = is_spent
        self._process: processes.Child | None = None
        self._is_broken_off = False
        self._lock = threading.Lock()

    def ask(
        self, job: object, reply: Callable[[AnswerT], object | None] = lambda _: None
    ) -> AnswerT:
        """The last answer to a job; WorkerNotStarted, or WorkerLost.

        ``reply`` is sent back for an answer that is a question; ``MORE`` for one that
        is not the last, None for the last.  What it raises ends the process, whose next
        answer would belong to no job.
        """
        message = self._encode(job)
        with self._lock:
            process = self._running()
            source, target = processes.worker_streams(process)
            deadline = Deadline(process, self.wait_seconds_max)
            try:
                with deadline:
                    write_frame(target, message)
                    while True:
                        answer = self._read(source)
                        replied = reply(answer)
                        if replied is None:
                            break
                        if replied is not MORE:
                            write_frame(target, self._encode(replied))
                        deadline.put_off()
            except (OSError, EOFError) as exc:
                code = self._end(LAST_WORD_SECONDS_MAX)
                reason = "it ended without an answer"
                raise WorkerLost(reason, code, is_late=deadline.is_over) from exc
            except _Garbled as exc:
                code = self._end(LAST_WORD_SECONDS_MAX)
                raise WorkerLost(str(exc), code, is_garbled=True) from exc
            except BaseException:
                # an answer may be half read: the next job needs a new process
                self._end()
                raise
            if self._is_spent(answer):
                self._end()
            return answer

    def prepare(self) -> None:
        """Start the process now, in a thread; the first job waits until it runs."""
        if not self._lock.acquire(blocking=False):
            return  # it starts or works already

        def start() -> None:
            try:
                with suppress(WorkerNotStarted):  # the first job says so
                    self._running()
            finally:
                self._lock.release()

        try:
            threading.Thread(target=start, daemon=True).start()
        except RuntimeError:  # no thread is left: the first job starts the process
            self._lock.release()

    def end(self, seconds: float = 0.0) -> None:
        """End the process, by itself if it gets seconds; a later job starts another."""
        with self._lock:
            self._end(seconds)

    def _read(self, source: IO[bytes]) -> AnswerT:
        try:
            body = read_frame(source, self._answer_bytes_max)
        except ValueError as exc:
            raise _Garbled(f"its answer is over {self._answer_bytes_max} B") from exc
        try:
            return self._answers.decode(body)
        except (ValueError, msgspec.MsgspecError) as exc:
            raise _Garbled("its answer cannot be read") from exc

    def _running(self) -> processes.Child:
        """The process, or the one that follows it."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        try:
            process = processes.start_worker(self._command)
        except OSError as exc:
            raise WorkerNotStarted(exc.strerror or str(exc)) from exc
        self._process = process
        if self._is_broken_off:
            # it was not there yet when it was to be killed
            process.kill()
        try:
            with Deadline(process, START_SECONDS_MAX):
                answers = processes.worker_streams(process)[0]
                is_ready = read_frame(answers, len(READY)) == READY
        except (OSError, EOFError, ValueError):
            is_ready = False
        if not is_ready:
            self._end()
            raise WorkerNotStarted
        return process

    def break_off(self) -> None:
        """Kill the process of the job, now or as soon as it is there."""
        self._is_broken_off = True
        process = self._process
        if process is not None:
            process.kill()

    def _end(self, seconds: float = 0.0) -> int | None:
        process, self._process = self._process, None
        return None if process is None else processes.end_worker(process, seconds)


class _Garbled(Exception):
    """An answer cannot be read."""


class Deadline:
    """Kills a process unless what is done with it ends in time."""

    def __init__(self, process: processes.Child, seconds: float) -> None:
        self.is_over = False
        self._process = process
        self._seconds = seconds

    def __enter__(self) -> Deadline:
        self.put_off()
        return self

    def put_off(self) -> None:
        """Give the whole time from now on."""
        _watcher.watch(self, time.monotonic() + self._seconds)

    def __exit__(self, *_: object) -> None:
        _watcher.forget(self)

    def expire(self) -> None:
        """End the process."""
        self.is_over = True
        self._process.kill()


class _Watcher:
    """The thread that waits for the deadlines of all workers, not one for each page."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[Deadline, float] = {}
        self._wakes_at = 0.0
        self._thread: threading.Thread | None = None

    def watch(self, deadline: Deadline, due: float) -> None:
        with self._changed:
            self._due[deadline] = due
            # a forked process has none of the threads of its parent
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._wait, daemon=True)
                self._thread.start()
            elif due < self._wakes_at:
                self._changed.notify()

    def forget(self, deadline: Deadline) -> None:
        """Let it pass; one that is just expiring has expired afterwards."""
        with self._changed:
            self._due.pop(deadline, None)

    def _wait(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                over = [one for one, due in self._due.items() if due <= now]
                for deadline in over:
                    del self._due[deadline]
                    deadline.expire()
                self._wakes_at = min(self._due.values(), default=math.inf)
                self._changed.wait(min(self._wakes_at - now, threading.TIMEOUT_MAX))


_watcher = _Watcher()

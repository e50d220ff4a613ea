"""One worker for all who need one: its answers, its end, and what its callers learn."""

import asyncio
import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from wikisync.core.decoding import json_decoder
from wikisync.core.system.child import read_frame, read_frames, write_frame
from wikisync.core.system.parallel import finish
from wikisync.core.system.processes import Child, python_worker, start_worker
from wikisync.core.system.worker import (
    MORE,
    Deadline,
    More,
    Worker,
    WorkerLost,
    WorkerNotStarted,
)

PROGRAM = Path(__file__).parent / "support" / "counting_worker.py"


class Told(msgspec.Struct):
    """What the counting worker says."""

    pid: int
    count: int
    question: str | None = None


TOLD = json_decoder(Told)


def made(
    *words: str, seconds: float = 60.0, answer_bytes_max: int = 1000
) -> Worker[Told]:
    return Worker(
        python_worker(PROGRAM, words),
        TOLD,
        wait_seconds_max=seconds,
        answer_bytes_max=answer_bytes_max,
        is_spent=lambda told: told.count == 3,
    )


@pytest.fixture
def worker() -> Iterator[Worker[Told]]:
    worker = made()
    yield worker
    worker.end()


async def beside_the_loop(worker: Worker[Told], job: str) -> Told:
    """An answer as the service waits for it."""
    asking = asyncio.get_running_loop().run_in_executor(None, worker.ask, job)
    return await finish(asking, worker.break_off)


def process_of(worker: Worker[Told]) -> Child:
    assert worker._process is not None
    return worker._process


def test_process_is_kept_until_it_is_spent(worker: Worker[Told]) -> None:
    answers = [worker.ask("count") for _ in range(4)]
    assert [answer.count for answer in answers] == [1, 2, 3, 1]
    assert answers[0].pid == answers[2].pid != answers[3].pid


def test_prepared_process_takes_the_first_job(worker: Worker[Told]) -> None:
    worker.prepare()
    answer = worker.ask("count")
    assert (answer.pid, answer.count) == (process_of(worker).pid, 1)


def test_prepared_process_starts_without_a_job(worker: Worker[Told]) -> None:
    worker.prepare()
    with worker._lock:  # held until it runs
        assert process_of(worker).poll() is None


def test_nobody_waits_to_prepare_a_process_that_is_in_use(worker: Worker[Told]) -> None:
    with worker._lock:
        worker.prepare()
    assert worker._process is None


def test_prepared_process_ends_with_its_worker(worker: Worker[Told]) -> None:
    worker.prepare()
    worker.end()
    assert worker._process is None
    assert worker.ask("count").count == 1


def test_process_that_cannot_be_prepared_is_missed_by_the_first_job() -> None:
    worker = made("silent")
    worker.prepare()
    with pytest.raises(WorkerNotStarted):
        worker.ask("count")


def test_questions_are_answered_until_the_last_answer(worker: Worker[Told]) -> None:
    asked: list[str] = []

    def reply(told: Told) -> str | None:
        if told.question is not None:
            asked.append(told.question)
        return told.question

    worker.ask("ask twice", reply)
    assert asked == ["first", "second"]


def test_answers_follow_each_other_as_long_as_more_are_expected() -> None:
    """Each of them has the whole time: three take longer than one may."""
    worker = made(seconds=0.4)
    counts: list[int] = []

    def reply(told: Told) -> More | None:
        counts.append(told.count)
        return None if told.count == 3 else MORE

    worker.ask("three", reply)
    assert counts == [1, 2, 3]
    worker.end()


def test_what_the_reply_raises_leaves_no_half_conversation(
    worker: Worker[Told],
) -> None:
    def fail(_told: Told) -> None:
        raise KeyError

    first = worker.ask("count").pid
    with pytest.raises(KeyError):
        worker.ask("ask twice", fail)
    assert worker.ask("count").pid != first


def test_job_that_cannot_be_written_costs_no_process(worker: Worker[Told]) -> None:
    first = worker.ask("count").pid
    with pytest.raises(TypeError):
        worker.ask(object())
    assert worker.ask("count").pid == first


def test_clock_ends_a_process_that_does_not_answer() -> None:
    worker = made(seconds=0.2)
    with pytest.raises(WorkerLost) as caught:
        worker.ask("sleep")
    assert caught.value.is_late
    assert caught.value.code == -signal.SIGKILL
    assert worker.ask("count").count == 1
    worker.end()


def test_end_of_the_process_is_told_with_its_code(worker: Worker[Told]) -> None:
    with pytest.raises(WorkerLost, match="ended without an answer") as caught:
        worker.ask("die")
    assert (caught.value.code, caught.value.is_late) == (7, False)


@pytest.mark.parametrize(
    ("job", "reason"), [("garbage", "cannot be read"), ("huge", "is over 1000 B")]
)
def test_answer_that_nobody_can_read_costs_the_process(
    worker: Worker[Told], job: str, reason: str
) -> None:
    first = worker.ask("count").pid
    with pytest.raises(WorkerLost, match=reason) as caught:
        worker.ask(job)
    assert caught.value.is_garbled
    assert worker.ask("count").pid != first


@pytest.mark.parametrize("words", [["silent"], ["odd start"]])
def test_process_that_is_never_ready_is_not_started(words: list[str]) -> None:
    with pytest.raises(WorkerNotStarted):
        made(*words).ask("count")


def test_interrupt_of_the_terminal_is_for_the_parent(worker: Worker[Told]) -> None:
    first = worker.ask("count").pid
    os.kill(first, signal.SIGINT)
    assert worker.ask("count").pid == first


async def test_job_beside_the_event_loop_ends_with_its_caller() -> None:
    worker = made()
    await beside_the_loop(worker, "count")
    process = process_of(worker)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await beside_the_loop(worker, "sleep")
    assert process.poll() == -signal.SIGKILL
    with pytest.raises(WorkerNotStarted):
        await beside_the_loop(worker, "count")


async def test_caller_may_leave_before_the_process_is_there() -> None:
    worker = made()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(beside_the_loop(worker, "sleep"))
        await asyncio.sleep(0)
        task.cancel()
    assert worker._process is None


def test_deadline_ends_its_process_alone(tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    target.write_text("import sys; sys.stdin.read()")
    patient, hasty = (start_worker(python_worker(target)) for _ in range(2))
    with patient, Deadline(patient, 600.0) as far:
        # the nearer one comes later, when the other is being waited for
        with hasty, Deadline(hasty, 0.0) as near:
            assert hasty.stdout is not None
            assert hasty.stdout.read() == b""
        assert near.is_over
        assert hasty.returncode == -signal.SIGKILL
        assert not far.is_over
        assert patient.poll() is None
        patient.kill()


def test_frames_come_as_they_were_written() -> None:
    stream = io.BytesIO()
    for body in (b"", b"{}", b"x" * 70_000):
        write_frame(stream, body)
    stream.seek(0)
    assert list(read_frames(stream)) == [b"", b"{}", b"x" * 70_000]


@pytest.mark.parametrize("text", [b"", b"\0\0", b"\0\0\0\x04abc"])
def test_half_a_frame_is_the_end(text: bytes) -> None:
    with pytest.raises(EOFError):
        read_frame(io.BytesIO(text))


def test_frame_over_its_limit_is_not_read() -> None:
    stream = io.BytesIO(b"\0\0\0\x04abcd")
    with pytest.raises(ValueError, match="4 bytes"):
        read_frame(stream, 3)
    assert stream.read() == b"abcd"

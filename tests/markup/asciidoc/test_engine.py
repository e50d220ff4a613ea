"""The parent's half of a worker, against a worker that misbehaves on request."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from wikisync.core.system.processes import python_worker
from wikisync.errors import LimitExceeded, RenderError
from wikisync.markup.asciidoc import worker
from wikisync.markup.asciidoc.engine import Engine, WorkerLimits
from wikisync.markup.context import include_nothing, page_seconds

ROOT = Path(__file__).parents[3]
ODD_WORKER = ROOT / "tests" / "support" / "odd_worker.py"
SHORT = WorkerLimits(seconds_max=0.3, source_bytes_max=1000)
IMPATIENT = WorkerLimits(wait_seconds_max=0.3)


def engine_of(*arguments: str, limits: WorkerLimits = SHORT) -> Engine:
    return Engine("odd", python_worker(ODD_WORKER, arguments), limits)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = engine_of()
    yield engine
    engine.close()


def ask(engine: Engine, source: str) -> str:
    return engine.render(source, {}, include_nothing)


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def wait_for_end(pid: int) -> bool:
    """Whether a process ends within five seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(descriptor):
        return bool(select.select([descriptor], [], [], 5)[0])


def test_answer_of_the_worker_is_the_html(engine: Engine) -> None:
    assert ask(engine, "a 日本語 page") == "a 日本語 page"


def test_page_over_its_time_is_named_and_the_next_one_goes_on(engine: Engine) -> None:
    first = ask(engine, "pid")
    with pytest.raises(LimitExceeded, match=r"longer than 0\.3 s of proc") as caught:
        ask(engine, "spin")
    assert caught.value.breach == "time"
    assert ask(engine, "pid") != first
    assert not is_alive(int(first))


def test_page_may_have_less_time_than_the_engine_gives(engine: Engine) -> None:
    token = page_seconds.set(0.01)
    with pytest.raises(LimitExceeded, match=r"takes longer than 0\.01 s"):
        ask(engine, "spin")
    page_seconds.reset(token)


def test_worker_that_does_not_answer_is_ended_by_the_clock() -> None:
    """It takes no time of the processor, however long it may sleep."""
    with closing(engine_of(limits=IMPATIENT)) as engine:
        first = ask(engine, "pid")
        with pytest.raises(LimitExceeded, match=r"no answer in 0\.3 s") as caught:
            ask(engine, "sleep")
        assert caught.value.breach == "lost"
        assert not is_alive(int(first))


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("die", "ended without an answer"),
        ("garbage", "cannot be read"),
        ("huge", "is over"),
        ("nothing", "empty answer"),
        ("fail out-of-memory", "out-of-memory"),
    ],
)
def test_failure_of_the_worker_is_an_error_and_the_next_page_gets_a_new_one(
    engine: Engine, command: str, reason: str
) -> None:
    first = ask(engine, "pid")
    with pytest.raises(RenderError, match=reason):
        ask(engine, command)
    assert ask(engine, "pid") != first


@pytest.mark.parametrize(("command", "breach"), [("die", "lost"), ("greedy", "memory")])
def test_failure_that_another_attempt_may_mend_says_so(
    engine: Engine, command: str, breach: str
) -> None:
    with pytest.raises(LimitExceeded) as caught:
        ask(engine, command)
    assert caught.value.breach == breach


def test_worker_that_holds_much_memory_is_ended_before_the_next_page(
    engine: Engine,
) -> None:
    first = ask(engine, "spent")
    assert not is_alive(int(first))
    assert ask(engine, "pid") != first


def test_worker_that_ended_between_pages_is_replaced(engine: Engine) -> None:
    worker = int(ask(engine, "pid"))
    os.kill(worker, 9)
    assert wait_for_end(worker)
    assert ask(engine, "still here") == "still here"


def test_page_over_the_size_never_reaches_the_worker(engine: Engine) -> None:
    with pytest.raises(RenderError, match="over 1000 bytes"):
        ask(engine, "x" * 1001)


def test_half_characters_do_not_break_the_frame(engine: Engine) -> None:
    assert ask(engine, "a \ud800 b") == "a ? b"


def test_closing_ends_the_worker_and_a_later_page_starts_one(engine: Engine) -> None:
    first = ask(engine, "pid")
    engine.close()
    assert not is_alive(int(first))
    assert ask(engine, "pid") != first


def test_worker_that_does_not_start_names_the_engine() -> None:
    engine = Engine("odd", ("/nonexistent/program",), SHORT)
    with pytest.raises(RenderError, match="engine odd does not start") as caught:
        ask(engine, "x")
    assert "memory" in str(caught.value.hint)


def test_worker_that_ends_at_start_names_the_next_step() -> None:
    engine = Engine("odd", (sys.executable, "-c", ""), SHORT)
    with pytest.raises(RenderError, match="does not start") as caught:
        ask(engine, "x")
    assert "reinstall" in str(caught.value.hint)


def test_threads_get_their_own_answers(engine: Engine) -> None:
    pages = [f"page {number}" for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda page: ask(engine, page), pages)) == pages


def test_worker_ends_when_its_parent_is_killed() -> None:
    script = (
        "import os\n"
        "from tests.markup.asciidoc.test_engine import ask, engine_of\n"
        "print(ask(engine_of(), 'pid'), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == -9
    assert wait_for_end(int(run.stdout))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("limit", "expected"), [(1, True), (1 << 60, False)])
def test_worker_knows_when_it_holds_much(
    monkeypatch: pytest.MonkeyPatch, limit: int, expected: bool
) -> None:
    monkeypatch.setattr(worker, "SPENT_BYTES", limit)
    assert worker.is_spent() is expected

"""One pace for all processes with a token, and what may be wrong with its file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.api.faketime import FakeTime
from wikisync.api.address import ServiceAddress
from wikisync.api.pace import Pace
from wikisync.api.secret import Secret
from wikisync.api.shared_pace import KEPT_S, SharedPace, pace_file

WALL_S = 1_800_000_000.0
ADDRESS = ServiceAddress.parse("https://gitlab.example.com")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "budget" / "one.json"


def process(path: Path | None, clock: FakeTime, ahead_s: float = WALL_S) -> SharedPace:
    return SharedPace(path, clock.clock, wall=lambda: clock.now + ahead_s)


def learn(shared: SharedPace, rate: float, now: float) -> None:
    with shared.held() as pace:
        pace.rate, pace.at, pace.due_at = rate, now, now + 3.0


def test_what_one_process_learns_the_other_knows_on_its_own_clock(
    path: Path, time: FakeTime
) -> None:
    other_time = FakeTime(now=50.0)
    learn(process(path, time), 2.0, time.now)

    other = process(path, other_time, WALL_S + time.now - other_time.now)

    assert (other.known.rate, other.known.due_at) == (2.0, 53.0)


def test_two_processes_together_keep_to_one_rate(path: Path) -> None:
    """Both are real, and each takes turns for a second."""
    clock = time.monotonic
    learn(SharedPace(path, clock), 20.0, clock())
    script = (
        "import sys, time; from pathlib import Path\n"
        "from wikisync.api.shared_pace import SharedPace\n"
        "shared, made = SharedPace(Path(sys.argv[1]), time.monotonic), 0\n"
        "end = time.monotonic() + 5.0\n"
        "while time.monotonic() < end:\n"
        "    with shared.held() as pace:\n"
        "        wait = pace.take('api', time.monotonic(), is_long=True, slots_max=8)\n"
        "        pace.rate = 20.0\n"
        "    made += not wait\n"
        "    time.sleep(min(wait, 0.01))\n"
        "print(made)\n"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    made = [int(run.communicate(timeout=60)[0]) for run in runs]

    assert min(made) > 0
    # 18 a second for 7 s at most, and one second's credit of each
    assert sum(made) < 170


def test_file_is_private_and_its_name_does_not_tell_the_token(
    tmp_path: Path, time: FakeTime
) -> None:
    path = pace_file(tmp_path / "budget", ADDRESS, Secret("glpat-EXAMPLE"))
    learn(process(path, time), 2.0, time.now)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert "EXAMPLE" not in path.name
    assert b"EXAMPLE" not in path.read_bytes()
    assert path != pace_file(path.parent, ADDRESS, Secret("glpat-OTHER"))
    assert path != pace_file(path.parent, ADDRESS, None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\0" * 4096,
        b"[]",
        b'{"rate": "fast"}',
        b'{"rate": -1}',
        b'{"slots": 0}',
        b'{"windows": {"api": {"quota": 0}}}',
        b"[" * 4096,
        "\u00fc".encode("latin-1"),
    ],
)
def test_file_that_makes_no_sense_is_written_anew(
    content: bytes, path: Path, time: FakeTime
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    learn(process(path, time), 2.0, time.now)

    assert process(path, time).known.rate == 2.0


def test_clock_that_jumped_costs_no_more_than_a_pause(
    path: Path, time: FakeTime
) -> None:
    learn(process(path, time), 2.0, time.now)

    for jump_s in (-86_400.0, -300.0, -5.0, 300.0, 86_400.0):
        shared = process(path, time, WALL_S + jump_s)
        with shared.held() as pace:
            wait_s = pace.take("api", time.now, is_long=True, slots_max=8)
        assert wait_s <= 60.0, jump_s


def test_folder_that_cannot_be_written_is_done_without(
    tmp_path: Path, time: FakeTime
) -> None:
    (tmp_path / "cache").write_text("a file in the folder's place")

    shared = process(tmp_path / "cache" / "budget" / "one.json", time)
    learn(shared, 2.0, time.now)

    assert shared.known.rate == 2.0


def test_link_in_the_place_of_the_file_is_not_followed(
    path: Path, tmp_path: Path, time: FakeTime
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path.parent.mkdir(parents=True)
    path.symlink_to(victim)

    learn(process(path, time), 2.0, time.now)

    assert victim.read_text() == "precious"


def test_pipe_in_the_place_of_the_file_holds_nothing_up(
    path: Path, time: FakeTime
) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    shared = process(path, time)

    learn(shared, 2.0, time.now)

    assert shared.known.rate == 2.0


def test_lock_of_a_process_that_stopped_is_not_waited_for(
    path: Path, time: FakeTime
) -> None:
    shared, stopped = process(path, time), process(path, time)
    with stopped.held():
        learn(shared, 2.0, time.now)
        assert shared.known.rate == 2.0, "it goes on with its own"

    time.now += 60.0
    learn(shared, 3.0, time.now)
    assert process(path, time).known.rate == 3.0, "it is shared again"


def test_process_that_the_machine_held_up_is_waited_for(
    path: Path, time: FakeTime
) -> None:
    """It has the lock and no processor for a while."""
    slow = process(path, time)
    with ExitStack() as holding:
        holding.enter_context(slow.held())
        paused_s: list[float] = []

        def pause(seconds: float) -> None:
            paused_s.append(seconds)
            if sum(paused_s) > 0.1:
                holding.close()

        shared = SharedPace(
            path, time.clock, wall=lambda: time.now + WALL_S, sleep=pause
        )
        learn(shared, 2.0, time.now)

    assert process(path, time).known.rate == 2.0, "it is shared"


def test_file_that_was_removed_is_made_again(path: Path, time: FakeTime) -> None:
    shared = process(path, time)
    learn(shared, 2.0, time.now)
    path.unlink()

    learn(shared, 3.0, time.now)

    assert process(path, time).known.rate == 3.0


def test_files_that_nobody_uses_are_removed(path: Path, time: FakeTime) -> None:
    old, new = path.with_name("old.json"), path.with_name("new.json")
    path.parent.mkdir(parents=True)
    for other, age_s in ((old, KEPT_S + 1), (new, KEPT_S - 60)):
        other.write_bytes(b"")
        os.utime(other, (0, WALL_S + time.now - age_s))

    learn(process(path, time), 2.0, time.now)

    assert not old.exists()
    assert new.exists()


def test_person_who_knows_better_forgets_for_all(path: Path, time: FakeTime) -> None:
    one, other = process(path, time), process(path, time)
    learn(one, 2.0, time.now)

    other.forget()

    with one.held() as pace:
        assert pace == Pace.unknown(time.now)

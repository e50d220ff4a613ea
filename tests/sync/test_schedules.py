"""The engine under persons, faults and crashes: the short form of the proofs.

``make prove-sim`` and ``make prove-crash`` are the long ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.sync import wire
from tests.sync.persons import Weather
from tests.sync.prove_crash import QUIET, crashed_everywhere, crashed_twice
from tests.sync.prove_sim import WEATHERS
from tests.sync.schedules import REST_ROUNDS_MAX, Verdict, run_schedule

SEEDS = range(60)
CRASH_SEEDS = range(3)
PAIRS = range(40)


@cache
def verdict_of(seed: int, name: str) -> Verdict:
    """Of a schedule in a weather; more than one test looks at the same ones."""
    return run_schedule(seed, WEATHERS[name])


def verdicts_in(name: str) -> Iterator[Verdict]:
    return (verdict_of(seed, name) for seed in SEEDS)


def assert_nothing_lost(verdict: Verdict) -> None:
    told = "\n".join(verdict.trace[-60:])
    assert not verdict.lost, told
    assert not verdict.unexplained, told
    assert not verdict.in_trash, told
    assert not verdict.different, told
    assert not verdict.late_writes, told
    assert verdict.rounds <= REST_ROUNDS_MAX, told


@pytest.mark.parametrize(
    "name",
    [
        "extreme contention",
        "light traffic",
        "odd texts and names",
        "front matter",
        "pictures",
        "over the wire",
        "two folders",
        "last commit pushed over",
        "syncs taken back",
    ],
)
def test_no_edit_is_lost_whatever_happens_between_two_steps(name: str) -> None:
    for verdict in verdicts_in(name):
        assert_nothing_lost(verdict)


def test_what_programs_append_to_replaced_files_is_in_the_pages() -> None:
    for verdict in verdicts_in("appending programs"):
        assert_nothing_lost(verdict)


def test_work_in_conflict_files_becomes_pages_or_is_told() -> None:
    for verdict in verdicts_in("conflict files"):
        assert_nothing_lost(verdict)


def test_a_disk_that_goes_and_comes_back_takes_nothing_along() -> None:
    for verdict in verdicts_in("disks that come and go"):
        assert_nothing_lost(verdict)


def test_names_that_the_service_takes_for_one_come_to_rest() -> None:
    for verdict in verdicts_in("spellings"):
        assert_nothing_lost(verdict)


def test_a_save_from_an_old_window_never_makes_a_text_disappear() -> None:
    """The guard may mistake one; what it mistakes is in the trash or the history."""
    for verdict in verdicts_in("old editor windows"):
        assert not verdict.lost
        assert not verdict.different
        assert not verdict.late_writes


def test_a_wiki_that_is_set_back_makes_no_text_disappear() -> None:
    """Fewer than three pages look like reverts; their texts can be restored."""
    for verdict in verdicts_in("wiki set back"):
        assert not verdict.lost, "\n".join(verdict.trace[-60:])
        assert not verdict.different


def test_commits_are_pushed_over_and_syncs_taken_back() -> None:
    lines = [
        line
        for name in ("last commit pushed over", "syncs taken back")
        for verdict in verdicts_in(name)
        for line in verdict.trace
    ]
    assert sum("is pushed over by force" in line for line in lines) > 100
    assert sum(line.startswith("folder: undo") for line in lines) > 60
    assert any("taken back with a sync" in line for line in lines)


@pytest.mark.parametrize("seed", CRASH_SEEDS)
def test_a_crash_at_any_step_loses_nothing(seed: int) -> None:
    for verdict in crashed_everywhere(seed):
        assert verdict.crashes == 1
        assert_nothing_lost(verdict)


def test_two_crashes_lose_nothing() -> None:
    for seed in PAIRS:
        assert_nothing_lost(crashed_twice(seed))


def test_one_seed_is_one_schedule() -> None:
    """Step for step, so that a bad seed can be looked at."""
    weather = Weather(
        crash=0.02, cancel=0.01, stale=0.2, late=0.2, odd=0.3, pictures=0.2, folders=2
    )
    assert run_schedule(7, weather).trace == run_schedule(7, weather).trace


def test_persons_faults_and_crashes_really_happen() -> None:
    """A proof in calm weather would prove nothing."""
    verdicts = list(verdicts_in("extreme contention"))
    assert sum(verdict.edits for verdict in verdicts) > 1_000
    assert sum(verdict.faults for verdict in verdicts) > 60
    assert sum(verdict.crashes for verdict in verdicts) > 30
    assert sum(verdict.conflicts for verdict in verdicts) > 10


def test_pictures_really_go_both_ways() -> None:
    lines = [line for verdict in verdicts_in("pictures") for line in verdict.trace]
    assert sum(line.startswith("done: upload") for line in lines) > 60
    assert sum(line.startswith("wrote file uploads/") for line in lines) > 200
    assert sum(line.startswith("folder: draw uploads/") for line in lines) > 10
    assert sum(": throw uploads/" in line for line in lines) > 20


def lines_of(name: str) -> list[str]:
    return [line for verdict in verdicts_in(name) for line in verdict.trace]


def test_incidents_really_happen() -> None:
    appended = [x for x in lines_of("appending programs") if ": append to the re" in x]
    assert len(appended) > 5
    used = {x.partition(":")[2] for x in lines_of("conflict files") if ": the con" in x}
    kinds = {one.partition(":")[0].strip() for one in used}
    assert len(kinds) == 6
    assert sum("the disk goes" in x for x in lines_of("disks that come and go")) > 5
    assert sum(": spell " in x for x in lines_of("spellings")) > 100


def test_the_wire_does_all_that_a_network_can_do() -> None:
    lines = {line for verdict in verdicts_in("over the wire") for line in verdict.trace}
    assert lines >= {f"fault: {kind}" for kind in wire.FAULTS}


def test_in_a_bad_network_most_cycles_meet_a_fault() -> None:
    verdicts = list(verdicts_in("light traffic"))
    cycles = sum(verdict.cycles for verdict in verdicts)
    assert sum(verdict.troubled for verdict in verdicts) > cycles / 2
    assert sum(verdict.cancels for verdict in verdicts) > 5


def test_a_quiet_schedule_comes_to_rest_in_four_rounds_with_its_person() -> None:
    verdicts = [run_schedule(seed, QUIET) for seed in SEEDS]
    assert max(verdict.all_rounds for verdict in verdicts) <= REST_ROUNDS_MAX

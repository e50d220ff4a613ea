"""The engine under persons, faults and crashes: the short form of the proofs.

``make prove-sim`` and ``make prove-crash`` are the long ones.
"""

import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.sync import wire
from tests.sync.persons import Weather
from tests.sync.prove_crash import QUIET, crashed_everywhere, crashed_twice
from tests.sync.prove_guards import SWITCH
from tests.sync.prove_sim import WEATHERS
from tests.sync.schedules import REST_ROUNDS_MAX, Verdict, run_schedule

SEEDS = range(24)
MORE_SEEDS = range(60)
"""Where a guard is switched off, until one meets what it is for."""
RARE = {
    **dict.fromkeys(("syncs taken back", "contents elsewhere"), range(30)),
    **dict.fromkeys(("light traffic", "pictures", "names taken again"), range(40)),
    **dict.fromkeys(("older copies of the folder", "conflict files"), range(40)),
    **dict.fromkeys(("appending programs", "disks that come and go"), range(40)),
    "over the wire, by git": range(80, 140),
}
"""Where what must happen is rare: how often it does differs from run to run."""
CRASH_SEEDS = range(2)
PAIRS = range(20)


def verdicts_in(name: str) -> list[Verdict]:
    seeds = MORE_SEEDS if SWITCH in os.environ else RARE.get(name, SEEDS)
    return [run_schedule(seed, WEATHERS[name]) for seed in seeds]


def assert_nothing_lost(verdict: Verdict) -> None:
    told = "\n".join(verdict.trace[-60:])
    assert not verdict.lost, told
    assert not verdict.unexplained, told
    assert not verdict.in_trash, told
    assert not verdict.different, told
    assert not verdict.mixed, told
    assert not verdict.late_writes, told
    assert verdict.rounds <= REST_ROUNDS_MAX, told


# -- a proof in calm weather would prove nothing: what really happens in each ---------


def assert_contention(verdicts: Sequence[Verdict]) -> None:
    assert sum(verdict.edits for verdict in verdicts) > 500
    assert sum(verdict.faults for verdict in verdicts) > 30
    assert sum(verdict.crashes for verdict in verdicts) > 15
    assert sum(verdict.conflicts for verdict in verdicts) > 2


def assert_most_cycles_meet_a_fault(verdicts: Sequence[Verdict]) -> None:
    cycles = sum(verdict.cycles for verdict in verdicts)
    assert sum(verdict.troubled for verdict in verdicts) > cycles / 2
    assert sum(verdict.cancels for verdict in verdicts) > 5


def assert_records_are_lost(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    assert sum(line.endswith("its record is lost") for line in lines) > 50
    assert sum(line.startswith("done: upload") for line in lines) > 10
    assert "look at the repository" in lines


def assert_pictures_go_both_ways(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    assert sum(line.startswith("done: upload") for line in lines) > 30
    assert sum(line.startswith("wrote file uploads/") for line in lines) > 100
    assert sum(line.startswith("folder: draw uploads/") for line in lines) > 2
    assert sum(": throw uploads/" in line for line in lines) > 10


def assert_all_that_a_network_does(verdicts: Sequence[Verdict]) -> None:
    assert set(lines_of(verdicts)) >= {f"fault: {kind}" for kind in wire.FAULTS}


def assert_git_and_list_take_turns(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    assert sum(line.startswith("git sends") for line in lines) > 100
    assert sum(line == f"done: GET {wire.PAGES}" for line in lines) > 50
    faults = {
        lines[at + 1].removeprefix("fault: ")
        for at, line in enumerate(lines[:-1])
        if line.endswith("git-upload-pack") and lines[at + 1].startswith("fault: ")
    }
    assert faults >= {*wire.SPOILT, *wire.NOT_SENT}


def assert_pushed_over_by_git(verdicts: Sequence[Verdict]) -> None:
    assert_pushed_over(verdicts)
    assert sum(x.startswith("git sends") for x in lines_of(verdicts)) > 200


def assert_pushed_over(verdicts: Sequence[Verdict]) -> None:
    assert sum("is pushed over by force" in x for x in lines_of(verdicts)) > 50


def assert_pushed_over_untold(verdicts: Sequence[Verdict]) -> None:
    assert_pushed_over(verdicts)
    assert lines_of(verdicts).count("fault: HEAD is not told") > 30


def assert_taken_back(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    assert sum(line.startswith("folder: undo") for line in lines) > 30
    assert any("taken back with a sync" in line for line in lines)


def assert_appended(verdicts: Sequence[Verdict]) -> None:
    assert sum(": append to the re" in x for x in lines_of(verdicts)) > 5


def assert_conflict_files_used(verdicts: Sequence[Verdict]) -> None:
    used = {x.partition(":")[2] for x in lines_of(verdicts) if ": the con" in x}
    assert len({one.partition(":")[0].strip() for one in used}) == 6


def assert_disks_go(verdicts: Sequence[Verdict]) -> None:
    assert sum("the disk goes" in x for x in lines_of(verdicts)) > 2


def assert_contents_go(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    for kind in ("stub", "pointer", "bin"):
        assert sum(f": {kind}: " in line for line in lines) > 30
    assert lines.count("folder: contents come back") > 30


def assert_spelt(verdicts: Sequence[Verdict]) -> None:
    assert sum(": spell " in x for x in lines_of(verdicts)) > 50


def assert_names_taken_again(verdicts: Sequence[Verdict]) -> None:
    taken: Counter[str] = Counter()
    for line, after in itertools.pairwise(lines_of(verdicts)):
        who, _, names = line.partition(": rename ")
        taken[who] += after.startswith(f"{who}: save {names.partition(' to ')[0]} ")
    assert sum(count > 5 for count in taken.values()) == 3


def assert_older_copies_put_over(verdicts: Sequence[Verdict]) -> None:
    assert lines_of(verdicts).count("folder: put the copy over it") > 20
    assert lines_of(verdicts).count("folder: asked about REWOUND_THERE") > 0


def assert_saves_looked_at(verdicts: Sequence[Verdict]) -> None:
    """Many cycles look at the files they are told of and scan nothing else."""
    looks = [
        after
        for line, after in itertools.pairwise(lines_of(verdicts))
        if line.startswith("look at [")
    ]
    assert sum(after != "scan" for after in looks) > len(looks) / 4 > 10


def assert_texts_used_again(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    for who, kind in itertools.product(
        ("wiki", "folder"), ("copy", "take over", "bring back")
    ):
        assert sum(line.startswith(f"{who}: {kind}: ") for line in lines) > 30


def assert_rights_and_clocks_change(verdicts: Sequence[Verdict]) -> None:
    lines = lines_of(verdicts)
    assert sum(line.startswith("the clock is set: ") for line in lines) > 30
    for method in ("GET", "POST", "PUT"):
        assert lines.count(f"refused: {method}") > 2


def lines_of(verdicts: Sequence[Verdict]) -> list[str]:
    return [line for verdict in verdicts for line in verdict.trace]


HAPPENS: Mapping[str, Callable[[Sequence[Verdict]], None] | None] = {
    "extreme contention": assert_contention,
    "light traffic": assert_most_cycles_meet_a_fault,
    "odd texts and names": None,
    "front matter": None,
    "pictures": assert_pictures_go_both_ways,
    "records lost beside pictures": assert_records_are_lost,
    "over the wire": assert_all_that_a_network_does,
    "over the wire, by git": assert_git_and_list_take_turns,
    "pushed over, by git": assert_pushed_over_by_git,
    "two folders": None,
    "last commit pushed over": assert_pushed_over,
    "names taken again": assert_names_taken_again,
    "older copies of the folder": assert_older_copies_put_over,
    "syncs taken back": assert_taken_back,
    "appending programs": assert_appended,
    "conflict files": assert_conflict_files_used,
    "disks that come and go": assert_disks_go,
    "contents elsewhere": assert_contents_go,
    "spellings": assert_spelt,
    "saves": assert_saves_looked_at,
    "texts used again": assert_texts_used_again,
    "rights and clocks": assert_rights_and_clocks_change,
}


@pytest.mark.parametrize("name", HAPPENS)
def test_no_edit_is_lost_whatever_happens_between_two_steps(name: str) -> None:
    verdicts = verdicts_in(name)
    for verdict in verdicts:
        assert_nothing_lost(verdict)
    if assert_happened := HAPPENS[name]:
        assert_happened(verdicts)


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


def test_a_push_that_is_taken_back_before_its_commit_is_known_loses_no_text() -> None:
    """It looks like an edit of the wiki; our text can be restored."""
    verdicts = verdicts_in("pushed over, HEAD not told")
    for verdict in verdicts:
        assert not verdict.lost, "\n".join(verdict.trace[-60:])
        assert not verdict.different
    assert_pushed_over_untold(verdicts)


@pytest.mark.parametrize("seed", CRASH_SEEDS)
def test_a_crash_at_any_step_loses_nothing(seed: int) -> None:
    for verdict in crashed_everywhere(seed):
        assert verdict.crashes == 1
        assert_nothing_lost(verdict)


def test_two_crashes_lose_nothing() -> None:
    for seed in PAIRS:
        assert_nothing_lost(crashed_twice(seed))


def test_a_page_whose_content_comes_back_between_scan_and_read_is_waited_for() -> None:
    """It may be one that is missing, under another name."""
    assert_nothing_lost(run_schedule(368, WEATHERS["contents elsewhere"]))


def test_one_seed_is_one_schedule() -> None:
    """Step for step, so that a bad seed can be looked at."""
    weather = Weather(
        crash=0.02, cancel=0.01, stale=0.2, late=0.2, odd=0.3, pictures=0.2, folders=2
    )
    assert run_schedule(7, weather).trace == run_schedule(7, weather).trace


def test_a_quiet_schedule_comes_to_rest_in_four_rounds_with_its_person() -> None:
    verdicts = [run_schedule(seed, QUIET) for seed in SEEDS]
    assert max(verdict.all_rounds for verdict in verdicts) <= REST_ROUNDS_MAX

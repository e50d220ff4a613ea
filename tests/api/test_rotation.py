from __future__ import annotations

from wikisync.api.rotation import (
    LATELY_S,
    READS_MIN,
    ROTATION_S,
    Rotation,
)
from wikisync.model import Format, PageState, Slug, digest_of

START = 5_000.0
NAMES = [Slug(f"p{number:04}") for number in range(6 * READS_MIN)]


def state(slug: str, text: str = "text") -> PageState:
    return PageState(Slug(slug), Format.MARKDOWN, digest_of(text), size=len(text))


def rotation() -> Rotation:
    return Rotation.after({slug: state(slug) for slug in NAMES}, START)


def scan(turns: Rotation, now: float, text: str = "text") -> list[Slug]:
    """One look that reads what it is told to, and finds it as it was."""
    taken = turns.take_turns(NAMES, frozenset(), now)
    for slug in taken:
        turns.note(state(slug, text), None, now)
    return taken


def test_every_page_is_scanned_within_the_hour() -> None:
    turns = rotation()
    taken = [scan(turns, START + ROTATION_S * n / 4) for n in range(1, 5)]
    assert {slug for some in taken for slug in some} == set(NAMES)
    assert max(map(len, taken)) <= len(NAMES) // 4 + 1
    assert turns.oldest_s(START + ROTATION_S) < ROTATION_S


def test_page_that_waits_the_longest_comes_first() -> None:
    turns = rotation()
    first = scan(turns, START + 1)
    second = scan(turns, START + 2)
    assert len(first) == len(second) == READS_MIN
    assert not set(first) & set(second)


def test_long_pause_makes_one_round_and_not_two() -> None:
    assert sorted(scan(rotation(), START + 10 * ROTATION_S)) == NAMES


def test_new_page_and_one_that_somebody_waits_for_are_read_at_once() -> None:
    turns = rotation()
    awaited = frozenset({NAMES[-1], Slug("not there")})
    taken = turns.take_turns([*NAMES, Slug("new")], awaited, START + 1)
    assert taken[:2] == ["new", NAMES[-1]]
    assert len(taken) == len(set(taken)) == READS_MIN + 2


def test_page_that_changed_lately_is_read_at_each_scan() -> None:
    turns = rotation()
    turns.note(state(NAMES[0], "other"), None, START + 1)
    assert scan(turns, START + LATELY_S)[0] == NAMES[0]


def test_page_that_changed_long_ago_waits_for_its_turn() -> None:
    turns = rotation()
    turns.note(state(NAMES[0], "other"), None, START + 1)
    assert NAMES[0] not in scan(turns, START + 1 + LATELY_S)


def test_page_that_was_read_and_is_the_same_did_not_change() -> None:
    turns = rotation()
    turns.note(state(NAMES[0], "other"), '"1"', START)
    turns.note_same(NAMES[0], START + LATELY_S)
    turns.note(state(NAMES[0], "other"), '"1"', START + LATELY_S)
    assert NAMES[0] not in scan(turns, START + LATELY_S + 1)


def test_page_that_is_gone_is_forgotten() -> None:
    turns = rotation()
    turns.take_turns(NAMES[1:], frozenset(), START + 1)
    assert NAMES[0] not in turns.seen
    turns.forget([NAMES[1], NAMES[0]])
    assert NAMES[1] not in turns.seen


def test_size_is_that_of_all_texts() -> None:
    assert rotation().size == 4 * len(NAMES)
    assert Rotation().size == 0
    assert Rotation().oldest_s(START) == 0.0

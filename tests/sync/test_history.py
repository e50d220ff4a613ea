"""Texts that gave way, and what of them belongs to which sync."""

from collections import Counter

import pytest

from tests.support.copies import OWNER, agreed
from wikisync.core.model import Digest, Format, Slug, digest_of
from wikisync.sync.base import history
from wikisync.sync.base.history import Step
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide import ledger

HOME, OTHER = Slug("home"), Slug("other")
NOW = 1_800_000_000.0


def test_replaced_texts_come_newest_first(known: WikiState) -> None:
    known.remember_replaced(HOME, "one", "two", NOW)
    known.remember_replaced(HOME, "two", "three \ud83d", NOW + 1, is_stale=True)
    known.remember_replaced(OTHER, "x", "y", NOW)
    assert known.replaced(HOME) == (
        ledger.Replaced(
            "two", "three \ud83d", NOW + 1, is_stale=True, is_written=False
        ),
        ledger.Replaced("one", "two", NOW, is_written=False),
    )


def test_text_counts_as_replaced_once_that_is_confirmed(
    known: WikiState, another: WikiState
) -> None:
    number = known.remember_replaced(HOME, "one", "two", NOW)
    another.confirm_replaced([number])
    assert not known.replaced(HOME)[0].is_written
    known.confirm_replaced([])
    known.confirm_replaced([number])
    assert known.replaced(HOME)[0].is_written


def test_replaced_texts_go_by_age(known: WikiState, another: WikiState) -> None:
    later = NOW + ledger.REPLACED_KEPT_S + 1
    another.remember_replaced(HOME, "theirs", "x", NOW)
    known.remember_replaced(OTHER, "old", "x", NOW, is_contained=True)
    for _ in range(ledger.REPLACED_CHECK_EVERY):
        known.remember_replaced(HOME, "new", "x", later)
    # the clock may be wrong for some hours
    assert known.replaced(OTHER)
    for _ in range(ledger.REPLACED_CHECK_EVERY):
        known.remember_replaced(HOME, "newer", "x", later + ledger.CLOCK_SETTLED_S)
    assert not known.replaced(OTHER)
    assert len(known.replaced(HOME)) == 2 * ledger.REPLACED_CHECK_EVERY
    assert another.replaced(HOME)


def test_replaced_texts_go_by_size(
    known: WikiState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "REPLACED_BYTES_MAX", 500)
    for turn in range(2 * ledger.REPLACED_CHECK_EVERY):
        known.remember_replaced(HOME, f"text {turn}", "x", NOW, is_contained=True)
    kept = [one.replaced for one in known.replaced(HOME)]
    assert kept[0] == f"text {2 * ledger.REPLACED_CHECK_EVERY - 1}"
    assert 1 < len(kept) < ledger.REPLACED_CHECK_EVERY


@pytest.mark.parametrize("is_one_sync", [False, True])
def test_an_edit_costs_the_same_however_many_came_before(
    known: WikiState, *, is_one_sync: bool
) -> None:
    """A sync of 10,000 changed pages, and a watch after months, searched all of them.

    The measure is SQLite's own steps, without the scan of every 256th text.
    """

    def steps_of(turn: int) -> int:
        taken = Counter[str]()
        known._database._connection.set_progress_handler(
            lambda: taken.update(["step"]), 1
        )
        edit(turn)
        known._database._connection.set_progress_handler(None, 0)
        return taken["step"]

    def edit(turn: int) -> None:
        slug = Slug(f"page-{turn}") if is_one_sync else HOME
        # what was sent lately is counted
        at = NOW + (turn if is_one_sync else turn * ledger.WRITES_KEPT_S)
        if turn == 0 or not is_one_sync:
            known.end_sync()
            known.begin_sync(at)
        known.replaced(slug, 20)
        for text in (f"before {turn}", f"after {turn}"):
            known.times_sent(slug, digest_of(text), at)
            known.note_sent(slug, at, digest_of(text))
            known.record([agreed(slug, text)], is_step=True)
            known.note(at, slug, "pushed")

    for turn in range(5):
        edit(turn)
    early = steps_of(5)
    for turn in range(6, 400):
        edit(turn)
    assert steps_of(400) < early * 2


# -- syncs -------------------------------------------------------------------------


def test_what_a_pull_replaces_is_kept_once(known: WikiState) -> None:
    """As its file said it, which is not what the wiki had."""
    known.record([agreed(HOME, "one\n")])
    known.begin_sync(NOW)
    number = known.remember_replaced(HOME, "one\r\n", "two\n", NOW + 1)
    known.record([agreed(HOME, "two\n")], is_step=True)
    known.confirm_replaced([number])
    last = known.last_sync()
    assert last is not None
    after = digest_of("two\n")
    step = Step(HOME, HOME, Format.MARKDOWN, "one\r\n", after)
    assert (last.at, last.steps) == (NOW + 1, (step,))
    (kept,) = known.replaced(HOME, is_of_wiki=True)
    assert (kept.replaced, kept.is_written) == ("one\r\n", True)


def test_what_a_push_replaces_is_a_text_of_the_wiki(known: WikiState) -> None:
    known.record([agreed(HOME, "one\n")])
    known.begin_sync(NOW)
    known.record([agreed(HOME, "two\n")], is_step=True)
    assert known.replaced(HOME) == ()
    (kept,) = known.replaced(HOME, is_of_wiki=True)
    assert (kept.replaced, kept.at) == ("one\n", NOW)
    assert not known.replaced_since(NOW)


def test_a_name_that_another_page_took_is_no_part_of_the_removed_one(
    known: WikiState,
) -> None:
    known.record([agreed(HOME, "home"), agreed(OTHER, "other")])
    known.begin_sync(NOW)
    known.record(dropped=[HOME], is_step=True)
    known.record(renamed={OTHER: HOME}, is_step=True)
    known.record([agreed(HOME, "edited")], is_step=True)
    last = known.last_sync()
    assert last is not None
    assert set(last.steps) == {
        Step(Slug(""), HOME, Format.MARKDOWN, "home", Digest("")),
        Step(HOME, OTHER, Format.MARKDOWN, "other", digest_of("edited")),
    }


def test_texts_of_the_last_sync_stay_whatever_they_take(
    known: WikiState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "REPLACED_BYTES_MAX", 1)
    known.begin_sync(NOW)
    for text in ("one", "two", "three"):
        known.record([agreed(HOME, text)], is_step=True)
        known.end_sync()
    for _ in range(ledger.REPLACED_CHECK_EVERY):
        known.remember_replaced(OTHER, "x", "y", NOW, is_contained=True)
    last = known.last_sync()
    assert last is not None
    assert [step.before for step in last.steps] == ["two"]
    assert len(known.replaced(HOME, is_of_wiki=True)) == 1


def test_a_folder_that_begins_anew_keeps_its_texts_and_no_sync(
    state: State, known: WikiState
) -> None:
    known.record([agreed(HOME, "one")])
    known.begin_sync(NOW)
    known.record([agreed(HOME, "two")], is_step=True)
    anew = state.begin_anew(OWNER)
    assert anew.last_sync() is None
    assert [one.replaced for one in anew.replaced(HOME, is_of_wiki=True)] == ["one"]

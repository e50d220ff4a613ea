"""The memory of a wiki: read at once, and written where it changed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from tests.support.copies import OWNER, agreed
from wikisync.core.model import Slug, digest_of
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.ledger import Health, Side, Sighting
from wikisync.sync.decide.safety import Batch, BatchKind, Decision, Member

HOME, OTHER = Slug("home"), Slug("other")
NOW = 1_800_000_000.0


@pytest.fixture
def elsewhere(known: WikiState, path: Path) -> Iterator[WikiState]:
    """What another process finds."""
    with State.open(path, is_held=False) as state:
        found = state.wiki(OWNER)
        assert found.number == known.number
        yield found


def test_what_another_process_changed_meanwhile_stays(
    known: WikiState, elsewhere: WikiState
) -> None:
    """A person pauses a wiki while a watch is in its cycle."""
    with known.cycle():
        known.remember(health=Health(1.0))
        elsewhere.remember(paused="spring cleaning")
        assert known.memory.paused == "spring cleaning"
        assert known.memory.health == Health(1.0)
        elsewhere.remember(paused="nobody has asked since")
    assert elsewhere.memory.paused == "nobody has asked since"
    assert elsewhere.memory.health == Health(1.0)


def test_cycle_holds_its_changes_back_until_it_saves(
    known: WikiState, elsewhere: WikiState
) -> None:
    with known.cycle():
        known.remember(head="1")
        assert elsewhere.memory.head != "1"
        known.save()
        assert elsewhere.memory.head == "1"
        known.remember(head="2")
    assert elsewhere.memory.head == "2"


def test_record_makes_what_was_held_back_durable_with_the_pages(
    known: WikiState, elsewhere: WikiState
) -> None:
    def cycle() -> None:
        with known.cycle():
            known.remember(remote_tag="mark")
            known.record([agreed(HOME)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cycle()
    assert elsewhere.memory.remote_again == {HOME}


def test_none_is_another_value_than_the_one_of_a_new_wiki(
    known: WikiState, elsewhere: WikiState
) -> None:
    assert known.memory.left_out == frozenset()
    known.remember(left_out=None)
    assert elsewhere.memory.left_out is None


def test_many_questions_are_one_to_the_file(
    known: WikiState, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rows = known._database.rows

    def noted(query: str, *values: object) -> list[tuple[object, ...]]:
        asked.append(query)
        return rows(query, *values)

    monkeypatch.setattr(known._database, "rows", noted)
    for _ in range(3):
        assert not known.memory.batches
        assert not known.memory.troubles
        assert not known.aliases()
        assert not known.intents()
        assert not known.conflict_files()
    assert sum(query.startswith("SELECT") for query in asked) == 4


def test_dry_run_leaves_the_file_as_it_is(known: WikiState, path: Path) -> None:
    known.remember(head="1")
    with State.copy(path, is_live=True) as copy:
        copy.wiki(OWNER).remember(head="2")
        copy.wiki(OWNER).record([agreed(HOME)])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT head FROM wiki").fetchall() == [('"1"',)]
        assert not connection.execute("SELECT * FROM page").fetchall()


def test_every_kind_of_value_comes_back(known: WikiState, elsewhere: WikiState) -> None:
    members = (Member(HOME, digest_of("a")), Member(Slug("naïve/☃"), digest_of("c")))
    batches = [
        Batch(number, kind, members, 20, decision)
        for number, (kind, decision) in enumerate(product(BatchKind, Decision), 1)
    ]
    known.record_batches(batches[::-1])
    known.record_refusal(HOME, digest_of("a"), "too long", NOW)
    for side in Side:
        known.record_sightings(side, {OTHER: Sighting(2, NOW, NOW + 60)})
    known.record_sightings(Side.LOCAL, {})
    known.remember(health=Health(NOW, NOW - 60, 0.25, HOME, "no answer"), paused="")
    assert list(known.memory.batches) == batches
    assert not known.sightings(Side.LOCAL)
    assert elsewhere.memory == known.memory


def test_number_of_a_batch_never_goes_back(known: WikiState) -> None:
    """Or an approval that comes late would name another batch."""
    known.record_batches([Batch(3, BatchKind.DELETES_HERE, (), 20)])
    known.record_batches([])
    assert known.memory.last_batch == 3
    known.record_batches([Batch(9, BatchKind.CHANGES_HERE, (), 1)])
    assert known.memory.last_batch == 9

from pathlib import Path

import pytest

from wikisync.core.model import Format, Slug, WikiOwner, digest_of
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide import ledger
from wikisync.sync.decide.decided import Capabilities
from wikisync.sync.decide.safety import Batch, BatchKind, Decision, Member

HOME, OTHER = Slug("home"), Slug("other")
NOW = 1_800_000_000.0
WAITING = Batch(3, BatchKind.DELETES_HERE, (Member(HOME, digest_of("a")),), tracked=20)
DECIDED = Batch(
    2,
    BatchKind.SHRUNK_THERE,
    (Member(OTHER, digest_of("b")), Member(Slug("naïve/☃"), digest_of("c"))),
    tracked=20,
    decision=Decision.REFUSED,
)


def test_sightings_of_a_side_are_replaced_whole(known: WikiState) -> None:
    known.record_sightings(ledger.Side.REMOTE, {HOME: ledger.Sighting(1, NOW, NOW)})
    known.record_sightings(ledger.Side.LOCAL, {OTHER: ledger.Sighting(1, NOW, NOW)})
    seen = {OTHER: ledger.Sighting(2, NOW, NOW + 60)}
    known.record_sightings(ledger.Side.REMOTE, seen)
    assert known.sightings(ledger.Side.REMOTE) == seen
    assert known.sightings(ledger.Side.LOCAL) == {OTHER: ledger.Sighting(1, NOW, NOW)}
    known.record_sightings(ledger.Side.REMOTE, {})
    assert not known.sightings(ledger.Side.REMOTE)


def test_batches_are_replaced_whole_and_come_by_number(known: WikiState) -> None:
    known.record_batches([WAITING, DECIDED])
    assert list(known.memory.batches) == [DECIDED, WAITING]
    known.record_batches([WAITING])
    assert list(known.memory.batches) == [WAITING]


def test_number_of_a_batch_never_goes_back(known: WikiState) -> None:
    """Or an approval that comes late would name another batch."""
    known.record_batches([WAITING])
    known.record_batches([])
    assert known.memory.last_batch == 3
    known.record_batches([Batch(9, BatchKind.CHANGES_HERE, (), 1)])
    assert known.memory.last_batch == 9


@pytest.mark.parametrize("kind", BatchKind)
@pytest.mark.parametrize("decision", Decision)
def test_batch_of_every_kind_comes_back(
    known: WikiState, kind: BatchKind, decision: Decision
) -> None:
    batch = Batch(1, kind, (), 5, decision)
    known.record_batches([batch])
    assert known.memory.batches == (batch,)


def test_service_is_any_service_until_something_is_learned(known: WikiState) -> None:
    assert known.memory.capabilities == Capabilities()
    learned = Capabilities(takes_empty=False)
    known.remember(capabilities=learned)
    assert known.memory.capabilities == learned
    known.remember(capabilities=Capabilities())
    assert known.memory.capabilities == Capabilities()


def test_refusal_is_noted_replaced_and_dropped(known: WikiState) -> None:
    known.record_refusal(HOME, digest_of("a"), "too long", NOW)
    known.record_refusal(HOME, digest_of("b"), "a reserved name", NOW + 1)
    expected = ledger.Refusal(digest_of("b"), "a reserved name", NOW + 1)
    assert known.memory.refusals == {HOME: expected}
    known.drop_refusal(OTHER)
    known.drop_refusal(HOME)
    assert not known.memory.refusals


def test_conflict_file_is_noted_replaced_and_dropped(known: WikiState) -> None:
    first = ledger.ConflictFileRecord(
        Format.ORG, digest_of("a"), "mine", "theirs", NOW, digest_of("c")
    )
    second = ledger.ConflictFileRecord(
        Format.RDOC, digest_of("b"), "mine \ud83d", "", NOW + 1, digest_of("d")
    )
    known.record_conflict_file(HOME, first)
    known.record_conflict_file(HOME, second)
    known.record_conflict_file(OTHER, first)
    assert known.conflict_files() == {HOME: second, OTHER: first}
    assert known.conflict_files(HOME)[HOME] == second
    assert not known.conflict_files(Slug("none"))
    known.drop_conflict_file(HOME)
    assert known.conflict_files() == {OTHER: first}


def test_health_is_unknown_at_first(known: WikiState) -> None:
    assert known.memory.health == ledger.Health()
    health = ledger.Health(NOW, NOW - 60, 0.25, HOME, "the service does not answer")
    known.remember(health=health)
    assert known.memory.health == health
    known.remember(health=ledger.Health(NOW))
    assert known.memory.health == ledger.Health(NOW)


def test_pause_holds_through_a_restart(known: WikiState, state_path: Path) -> None:
    assert known.memory.paused is None
    known.remember(paused="spring cleaning")
    with State.open(state_path) as again:
        wiki = again.wiki(WikiOwner("project", "docs/handbook"))
        assert wiki.memory.paused == "spring cleaning"
    known.remember(paused=None)
    assert known.memory.paused is None


def test_pause_needs_no_reason(known: WikiState) -> None:
    known.remember(paused="")
    assert known.memory.paused is not None

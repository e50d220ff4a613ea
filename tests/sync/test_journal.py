import pytest
from msgspec.structs import replace

from wikisync.core.model import Digest, Format, Slug, digest_of
from wikisync.sync.base import history
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import ledger
from wikisync.sync.decide.plan import BasePage

HOME, OTHER = Slug("home"), Slug("other")
NOW = 1_800_000_000.0


def event(what: str, slug: Slug = HOME) -> ledger.LogEntry:
    return ledger.LogEntry(NOW, slug, what)


# -- intents -----------------------------------------------------------------------


def test_intent_is_found_until_it_is_settled(known: WikiState) -> None:
    intent = ledger.Intent(
        ledger.WriteKind.MOVE,
        HOME,
        target=OTHER,
        format=Format.ORG,
        before=digest_of("old"),
        after=digest_of("naïve \ud83d"),
        text="naïve \ud83d",
        at=NOW,
    )
    number = known.begin(intent)
    assert known.intents() == (replace(intent, id=number),)
    known.settle(number)
    assert not known.intents()


def test_intents_come_oldest_first_and_no_number_comes_twice(known: WikiState) -> None:
    first = known.begin(ledger.Intent(ledger.WriteKind.CREATE, HOME))
    known.settle(first)
    second = known.begin(ledger.Intent(ledger.WriteKind.DELETE, OTHER))
    third = known.begin(ledger.Intent(ledger.WriteKind.DELETE, HOME))
    assert first < second < third
    assert [intent.id for intent in known.intents()] == [second, third]


# -- writes ------------------------------------------------------------------------


def writes_of(known: WikiState, slug: Slug) -> int:
    """How many writes of a page are kept."""
    query = "SELECT 1 FROM own_write WHERE wiki = ? AND slug = ?"
    return len(known._rows(query, slug))


def test_writes_of_a_page_are_counted_until_a_person_writes(known: WikiState) -> None:
    known.note_write(HOME, NOW)
    known.note_write(HOME, NOW + 1, digest_of("text"))
    known.note_write(OTHER, NOW + 2)
    assert writes_of(known, HOME) == 2
    known.forget_writes(HOME)
    assert writes_of(known, HOME) == 0
    assert writes_of(known, OTHER) == 1


def test_texts_count_again_only_where_the_wiki_had_another_one(
    known: WikiState,
) -> None:
    mine, again, theirs = (digest_of(text) for text in ("mine", "again", "theirs"))

    def send(digest: Digest) -> None:
        known.note_sent(HOME, NOW, digest)
        hold(digest)

    def hold(digest: Digest) -> None:
        page = BasePage(HOME, Format.MARKDOWN, digest, digest)
        known.record([ledger.Agreed.of(page, "")])

    for times in (1, 2):
        hold(theirs)
        for _ in range(3):
            send(mine)
            send(again)
        sent = [known.times_sent(HOME, one, NOW + 1) for one in (mine, again, theirs)]
        assert sent == [times, times, 0]


def test_writes_count_only_for_a_while(known: WikiState) -> None:
    text = digest_of("text")
    known.note_write(HOME, NOW, text)
    known.note_write(HOME, NOW + 1)
    known.note_write(HOME, NOW + ledger.WRITES_KEPT_S / 2, text)
    assert known.times_sent(HOME, text, NOW + ledger.WRITES_KEPT_S - 1) == 2
    assert known.times_sent(HOME, text, NOW + ledger.WRITES_KEPT_S + 1) == 1
    known.note_write(OTHER, NOW + ledger.WRITES_KEPT_S + 1)
    assert writes_of(known, HOME) == 2


def test_writes_of_a_clock_that_was_set_back_do_not_count_for_ever(
    known: WikiState,
) -> None:
    known.note_write(HOME, NOW + 10 * ledger.WRITES_KEPT_S)
    known.note_write(HOME, NOW)
    assert writes_of(known, HOME) == 1


# -- events ------------------------------------------------------------------------


def test_events_come_newest_first_and_by_page(known: WikiState) -> None:
    known.note(NOW, HOME, "first")
    known.note(NOW, OTHER, "second")
    known.note(NOW, HOME, "third")
    assert known.events(2) == (event("third"), event("second", slug=OTHER))
    assert [one.what for one in known.events(9, HOME)] == ["third", "first"]
    assert not known.events(0)


def test_old_events_go(known: WikiState) -> None:
    known.note(NOW, HOME, "old")
    known.note(NOW + 1, HOME, "still")
    known.note(NOW + ledger.EVENTS_KEPT_S + 1, HOME, "new")
    # the clock may be wrong for some hours
    assert [one.what for one in known.events(9)] == ["new", "still", "old"]
    newest = NOW + ledger.EVENTS_KEPT_S + ledger.CLOCK_SETTLED_S + 1
    known.note(newest, HOME, "newest")
    assert [one.what for one in known.events(9)] == ["newest", "new", "still"]


def test_only_so_many_events_are_kept(
    known: WikiState, another: WikiState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "EVENTS_MAX", 2)
    another.note(NOW, HOME, "theirs")
    for turn in range(4):
        known.note(NOW, HOME, f"event {turn}")
    assert [one.what for one in known.events(9)] == ["event 3", "event 2"]
    assert another.events(9)


def test_sentence_that_is_too_long_or_no_unicode_is_kept_as_far_as_it_goes(
    known: WikiState,
) -> None:
    known.note(NOW, HOME, "x" * (ledger.EVENT_CHARS_MAX + 1) + "\ud83d")
    known.note(NOW, HOME, "half \ud83d")
    short, long = known.events(2)
    assert short.what == "half ?"
    assert len(long.what) == ledger.EVENT_CHARS_MAX
    assert long.what.endswith("x…")

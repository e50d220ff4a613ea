"""A side that goes back in time: a backup is restored, or somebody pushes by force."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.copies import Copies
from tests.support.history import (
    EDITED,
    NEW,
    NEWEST,
    PAGES,
    Told,
    asked_about,
    force,
    forced,
    rename_taken_back,
    told,
    waiting,
    worked,
)
from wikisync.core.model import Slug, Snapshot
from wikisync.errors import Rejected
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import REPLACED_CHECK_EVERY, REPLACED_KEPT_S
from wikisync.sync.decide.safety import BatchKind, Decision


@pytest.fixture
async def copies(state: State) -> Told:
    return await told(state)


def rewind(copies: Copies) -> None:
    """The wiki as it was before that day."""
    for slug in NEW:
        del copies.there.pages[Slug(slug)]
    for slug in EDITED:
        copies.there.put(slug, PAGES[slug])


async def rewound(state: State) -> Copies:
    copies = await worked(state)
    rewind(copies)
    await copies.cycles(8)
    return copies


async def test_nothing_is_taken_back_unasked(state: State) -> None:
    """However often it is looked at: by then the new pages are surely gone there."""
    copies = await rewound(state)
    assert copies.here.texts() == NEWEST
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND
    assert {member.slug for member in batch.members} == EDITED.keys() | NEW.keys()
    assert "the wiki returned to an older state" in str(batch)


async def test_refused_at_once_it_puts_the_new_pages_back_too(state: State) -> None:
    """Also before it is certain that they are missing."""
    copies = await worked(state)
    rewind(copies)
    await copies.cycle()
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_a_page_edited_here_and_set_back_there_is_no_merge(state: State) -> None:
    """It would take the work of that day out of the text that a person just wrote."""
    copies = await worked(state)
    rewind(copies)
    mine = EDITED["page0"] + "\nedited here\n"
    copies.here.put("page0", mine)
    await copies.cycle()
    assert copies.here.texts()["page0"] == mine
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["page0"] == mine


@pytest.mark.parametrize(("count", "others"), [(1, 0), (2, 0), (3, 4)])
async def test_a_few_reverts_are_edits(count: int, others: int, state: State) -> None:
    copies = await worked(state)
    edits = {slug: PAGES[slug] for slug in list(EDITED)[:count]}
    edits |= dict.fromkeys(list(PAGES)[4 : 4 + others], "a new text\n")
    for slug, text in edits.items():
        copies.there.put(slug, text)
    await copies.rest()
    assert copies.texts() == {**NEWEST, **edits}


# -- what the wiki's history says -----------------------------------------------------


async def test_one_page_pushed_over_by_force_is_held(state: State) -> None:
    copies = await forced(state)
    assert copies.here.texts()["page0"] == EDITED["page0"]
    (batch,) = waiting(copies)
    assert (batch.kind, len(batch.members)) == (BatchKind.REWOUND, 1)


async def test_so_is_one_below_a_page_that_is_renamed_here(copies: Told) -> None:
    """The plan has it under the name that it only gets with its parent's rename."""
    copies.there.put("guide", "a guide\n")
    copies.there.put("guide/first", "older\n")
    await copies.rest()
    copies.here.put("guide/first", "newer\n")
    copies.commit()
    await copies.rest()
    copies.there.commits[-1:] = ["forced"]
    copies.there.put("guide/first", "older\n")
    copies.here.remove("guide")
    copies.here.put("notes", "a guide\n")
    await copies.cycles(4)
    assert "newer\n" in copies.here.texts().values()
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND


async def test_a_text_that_changed_after_the_scan_is_known_by_its_own_commit(
    copies: Told,
) -> None:
    """HEAD was asked for before it was read, and so names another commit."""
    copies.there.gives_texts = False
    copies.there.put("page1", "edited\n")
    copies.commit()

    def save() -> None:
        copies.there.put("page1", "edited twice\n")
        copies.commit()

    copies.there.before_once("read page1", save)
    await copies.cycle()
    copies.there.put("page1", "edited\n")
    copies.there.commits.pop()
    await copies.cycles(2)
    assert copies.here.texts()["page1"] == "edited twice\n"
    assert asked_about(copies) == ["page1"]


@pytest.mark.parametrize("unanswered", ["", "head", "follows"])
async def test_a_push_is_known_though_nobody_answered_before_it(
    copies: Told, unanswered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the wiki changes between the two requests of one question."""
    copies.there.put("page1", "edited\n")
    copies.here.put("page2", "sent\n")
    copies.commit()

    async def no_answer(*_commits: str) -> Any:
        return "" if unanswered == "head" else None

    with monkeypatch.context() as patch:
        if unanswered:
            patch.setattr(copies.there, unanswered, no_answer)

        def commit() -> None:
            patch.undo()
            copies.commit()

        copies.there.before_once("write page2", commit)
        await copies.cycle()
    copies.there.put("page2", PAGES["page2"])
    copies.there.commits.pop()
    await copies.cycles(2)
    assert copies.here.texts()["page2"] == "sent\n"
    assert asked_about(copies) == ["page2"]


@pytest.mark.parametrize("unanswered", ["head", "follows"])
async def test_the_last_known_commit_stays_while_nobody_answers(
    copies: Told, unanswered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = copies.known.memory.head
    force(copies)
    copies.here.put("page2", "sent\n")

    async def no_answer(*_commits: str) -> Any:
        return "" if unanswered == "head" else None

    with monkeypatch.context() as patch:
        patch.setattr(copies.there, unanswered, no_answer)
        await copies.cycle()
    assert copies.there.texts()["page2"] == "sent\n"
    assert copies.known.memory.head == known


async def test_a_wiki_that_begins_to_tell_its_history_did_not_go_back(
    state: State,
) -> None:
    copies = Told(state, PAGES)
    await copies.rest()
    copies.there.put("page1", "edited\n")
    copies.commit()
    await copies.rest()
    assert copies.here.texts()["page1"] == "edited\n"


@pytest.mark.parametrize("change", ["edited", "renamed", "removed"])
async def test_a_history_that_is_known_late_is_noted_with_any_change(
    state: State, change: str
) -> None:
    copies = Told(state, PAGES)
    await copies.rest()
    assert copies.known.memory.head == ""
    if change == "renamed":
        copies.there.put("page1-new", copies.there.texts()["page1"])
    copies.there.remove("page1")
    if change == "edited":
        copies.there.put("page1", "edited\n")
    copies.commit()
    await copies.rest()
    assert copies.here.texts() == copies.there.texts()
    assert copies.known.memory.head == copies.there.commits[-1]


async def test_a_page_that_goes_while_it_is_read_ends_no_cycle(copies: Told) -> None:
    copies.there.gives_texts = False
    copies.there.put("other", "another page\n")
    copies.there.put("brief", "gone at once\n")
    copies.there.before_once("read brief", lambda: copies.there.remove("brief"))
    await copies.cycle()
    assert "other" in copies.here.texts()
    assert copies.known.memory.head == copies.there.commits[-1]


async def test_an_approved_history_is_known_though_another_page_is_refused(
    state: State,
) -> None:
    copies = await forced(state)
    copies.decide(Decision.APPROVED)
    copies.here.put("page5", "sent\n")

    def refuse() -> None:
        raise Rejected("cannot write it")

    copies.there.before_once("write page5", refuse)
    await copies.cycle()
    assert copies.here.texts()["page0"] == PAGES["page0"]
    assert copies.known.memory.head == "forced"


async def test_a_push_is_known_while_removals_wait(copies: Told) -> None:
    for number in range(8):
        copies.there.remove(f"page{number}")
    copies.commit()
    await copies.cycles(8)
    assert waiting(copies)
    copies.here.put("page8", "sent\n")

    def commit() -> None:
        copies.commit()

    copies.there.before_once("write page8", commit)
    await copies.cycle()
    assert copies.known.memory.head == copies.there.commits[-1]


@pytest.mark.parametrize("is_error", [True, False])
async def test_a_page_that_could_not_be_put_back_is_asked_about_with_a_later_text(
    state: State, *, is_error: bool
) -> None:
    """Somebody works on with the older text before or after that."""
    copies = await forced(state)
    copies.decide(Decision.REFUSED)
    typed = PAGES["page0"] + "typed\n"

    def refuse() -> None:
        if is_error:
            raise Rejected("cannot write it")
        copies.there.put("page0", typed)

    copies.there.before_once("write page0", refuse)
    await copies.cycle()
    copies.there.put("page0", typed)
    await copies.cycles(2)
    assert copies.here.texts()["page0"] == EDITED["page0"]
    assert asked_about(copies) == ["page0"]


@pytest.mark.parametrize("is_silent_first", [False, True])
async def test_a_push_is_known_while_another_page_waits_to_be_put_back(
    state: State, monkeypatch: pytest.MonkeyPatch, *, is_silent_first: bool
) -> None:
    """Also in a cycle in which some page changed meanwhile, and git was silent once."""
    copies = await rename_taken_back(state, PAGES["page8"])
    copies.there.put("Renamed", "of another case\n")
    copies.decide(Decision.REFUSED)
    await copies.cycles(3)
    copies.here.put("page1", "sent\n")
    copies.here.put("page2", "saved\n")
    copies.there.put("page3", "edited\n")
    copies.commit()

    async def no_answer(*_commits: str) -> None:
        pass

    with monkeypatch.context() as patch:
        if is_silent_first:
            patch.setattr(copies.there, "follows", no_answer)

        def commit() -> None:
            patch.undo()
            if not is_silent_first:
                patch.setattr(copies.there, "follows", no_answer)
            copies.there.commits.append("ours")

        copies.there.before_once("write page1", commit)
        copies.here.before_once(
            "read page2", lambda: copies.here.put("page2", "saved again\n")
        )
        await copies.cycle()
    copies.there.put("page1", PAGES["page1"])
    copies.there.commits.pop()
    await copies.cycles(2)
    assert copies.here.texts()["page1"] == "sent\n"
    assert asked_about(copies) == ["page1"]


@pytest.mark.parametrize("is_listed", [True, False])
async def test_no_commit_is_noted_while_what_it_took_back_cannot_be_seen(
    copies: Told, *, is_listed: bool
) -> None:
    copies.there.is_complete = is_listed
    if is_listed:
        force(copies)
        copies.there.unreadable = frozenset({Slug("page0")})
    else:
        copies.there.remove("page0")
        copies.push_over()
    copies.there.put("other", "another page\n")
    await copies.cycle()
    assert "other" in copies.here.texts()
    copies.there.is_complete, copies.there.unreadable = True, frozenset()
    await copies.cycles(4)
    assert copies.here.texts()["page0"] == EDITED["page0"]
    assert asked_about(copies) == ["page0"]


async def test_a_conflict_that_waits_asks_once(copies: Told) -> None:
    copies.commit()
    copies.here.put("page1", "mine\n")
    copies.there.put("page1", "theirs\n")
    await copies.rest()
    copies.asked()
    await copies.cycles(2)
    assert copies.asked() == []


@pytest.mark.parametrize("decision", [Decision.REFUSED, Decision.APPROVED])
async def test_what_is_edited_after_the_decision_is_an_edit(
    decision: Decision, state: State
) -> None:
    copies = await forced(state)
    copies.decide(decision)

    async def commit(entry: str) -> None:
        if entry == "head " and copies.there.changes[-1:] == ["write page0"]:
            copies.commit()

    copies.there.log.clear()
    copies.there.before = commit
    await copies.cycle()
    copies.commit()
    copies.there.put("page1", "edited\n")
    await copies.rest()
    assert copies.texts()["page1"] == "edited\n"
    assert not waiting(copies)


@pytest.mark.parametrize("text", [PAGES["page8"], PAGES["page8"] + "more\n"])
async def test_refused_a_page_gets_its_newer_name_and_text_back(
    text: str, state: State
) -> None:
    copies = await rename_taken_back(state, text)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["renamed"] == text
    assert "page8" not in copies.texts()


async def test_refused_a_page_waits_for_its_newer_name_with_both_names_told(
    state: State,
) -> None:
    """Its name is put back once the page that has one like it is gone."""
    copies = await rename_taken_back(state, PAGES["page8"])
    copies.there.put("Renamed", "of another case\n")
    copies.decide(Decision.REFUSED)
    result = await copies.cycles(3)
    assert ("page8", "renamed") in {(one.slug, one.detail) for one in result.held}
    copies.there.remove("Renamed")
    await copies.rest()
    assert copies.texts()["renamed"] == PAGES["page8"]
    assert "page8" not in copies.texts()


def long_ago(copies: Copies) -> None:
    """Let so many texts be replaced much later that old ones go."""
    copies.now += 10 * REPLACED_KEPT_S
    for turn in range(2 * REPLACED_CHECK_EVERY):
        copies.known.remember_replaced(
            Slug("page1"), f"{turn}", "x", copies.now, is_contained=True
        )


async def test_pages_that_go_with_the_wiki_are_kept_for_good(state: State) -> None:
    copies = await worked(state)
    rewind(copies)
    await copies.cycles(8)
    copies.decide(Decision.APPROVED)
    await copies.rest()
    copies.here.put("page2", "the next sync\n")
    await copies.rest()
    long_ago(copies)
    kept = copies.known.replaced(Slug("fresh1"), is_of_wiki=True)
    assert NEW["fresh1"] in [one.replaced for one in kept]


# -- what it costs ---------------------------------------------------------------------


async def test_the_first_sync_asks_once_also_where_nothing_is_told(
    state: State,
) -> None:
    copies = Told(state, PAGES)
    await copies.rest()
    assert copies.asked() == ["head"]
    await copies.cycle()
    assert copies.asked() == []


@pytest.mark.parametrize(
    ("pulls", "pushes", "questions"),
    [(False, False, []), (True, False, ["head", "follows"]), (False, True, ["head"])],
)
async def test_a_sync_asks_as_it_has_to(
    copies: Told, pulls: bool, pushes: bool, questions: list[str]
) -> None:
    copies.asked()
    if pulls:
        copies.commit()
        copies.there.put("page1", "edited\n")
    if pushes:
        copies.here.put("page1", "edited\n")
    await copies.cycle()
    assert copies.asked() == questions


@pytest.mark.parametrize("is_back", [False, True])
async def test_a_save_put_on_a_wiki_that_went_back_hides_nothing(
    copies: Told, monkeypatch: pytest.MonkeyPatch, *, is_back: bool
) -> None:
    """As after an outage in which a backup was restored and the saves waited."""
    seen = await copies.there.snapshot()
    copies.asked()
    if is_back:
        force(copies)
    copies.here.put("page1", "edited\n")

    async def remembered() -> Snapshot:
        return replace(seen, is_remembered=True)

    with monkeypatch.context() as patch:
        patch.setattr(copies.there, "snapshot", remembered)
        await copies.cycle()
    assert copies.there.texts()["page1"] == "edited\n"
    assert copies.asked() == ["head", "follows"]
    await copies.cycle()
    assert copies.here.texts()["page0"] == EDITED["page0"]
    assert len(waiting(copies)) == is_back

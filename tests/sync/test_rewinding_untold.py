"""A push after which the service does not tell its newest commit, taken back there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.copies import Died
from tests.support.git import clone, commit_and_push, needs_git, run_git
from tests.support.history import (
    PAGES,
    Told,
    forced,
    pushed_untold,
    told,
    waiting,
)
from tests.support.memory import nothing_before
from tests.support.pair import OWNER as PAIRED
from tests.support.pair import paired
from tests.support.pictures import RED, put
from tests.support.quirks import Quirk
from wikisync.sync.base.state import State
from wikisync.sync.decide.safety import BatchKind, Decision


async def test_what_was_pushed_untold_is_held_where_it_is_taken_back(
    state: State,
) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", PAGES["page1"])
    for _ in range(4):
        await copies.cycle()
    assert copies.here.texts()["page1"] == "mine\n"
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND


async def test_so_is_a_page_that_was_created_untold(state: State) -> None:
    copies, before = await pushed_untold(state, "fresh", "made today\n")
    copies.there.commits = before
    copies.there.remove("fresh")
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


@pytest.mark.parametrize("is_told", [False, True])
async def test_so_is_one_that_returns_to_its_text_of_before(
    state: State, *, is_told: bool
) -> None:
    """Whether no commit is known yet, or one from before our text."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.put("page1", PAGES["page1"])
    if is_told:
        copies.there.commits = before
        copies.commit()
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def test_so_is_a_page_that_the_second_push_created_untold(state: State) -> None:
    """The commit of the first one is in the history, and that is all it proves."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.here.put("fresh", "made today\n")
    await copies.cycle()
    copies.there.commits = before
    copies.there.remove("fresh")
    copies.commit()
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


async def test_what_is_taken_back_before_the_commit_is_asked_for_is_held(
    state: State,
) -> None:
    """The history tells a commit then, and it is the one of before."""
    copies = await told(state)
    copies.here.put("page1", "mine\n")
    await copies.cycle()
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def die_at_head(copies: Told) -> None:
    """A cycle whose process ends when it asks for the wiki's commit."""

    async def dies(entry: str) -> None:
        if entry.startswith("head "):
            raise Died

    copies.there.before = dies
    with pytest.raises(Died):
        await copies.cycle()
    copies.there.before = nothing_before


async def test_so_is_what_the_first_sync_created_before_it_was_killed(
    state: State,
) -> None:
    copies = Told(state, PAGES)
    copies.here.put("fresh", "made today\n")
    await die_at_head(copies)
    copies.there.remove("fresh")
    copies.commit()
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


async def test_so_is_what_a_process_pulled_that_was_killed_before_it_noted_that(
    state: State,
) -> None:
    """The next cycle finds both sides equal, and the wiki further than was known."""
    copies = await told(state)
    for side in (copies.here, copies.there):
        side.put("page1", "theirs\n")
    await die_at_head(copies)
    assert copies.known.memory.is_head_old
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.here.texts()["page1"] == "theirs\n"
    assert waiting(copies)


async def test_so_is_what_a_process_pushed_that_was_killed_then(state: State) -> None:
    copies = await told(state)

    copies.here.put("page1", "mine\n")
    await die_at_head(copies)
    assert copies.there.texts()["page1"] == "mine\n"
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def test_so_is_one_that_was_pushed_untold_right_after_a_refusal(
    state: State,
) -> None:
    """The commit that was told after the refusal is of the history of now."""
    copies = await forced(state)
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    before, copies.there.commits = copies.there.commits, []
    copies.here.put("page1", "mine\n")
    await copies.cycle()
    copies.there.commits = before
    copies.there.put("page1", "edited there\n")
    copies.commit()
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def test_so_is_what_was_pushed_in_the_cycle_that_pulled_the_newest_commit(
    state: State,
) -> None:
    """The commit of the push was never told, and was taken back."""
    copies = await told(state)
    copies.there.put("page1", "theirs\n")
    copies.commit()
    copies.here.put("page2", "mine\n")
    await copies.cycle()
    copies.there.put("page2", PAGES["page2"])
    await copies.rest()
    assert copies.here.texts()["page2"] == "mine\n"
    assert waiting(copies)


async def test_that_page_follows_the_wiki_where_a_person_says_so(state: State) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", "edited there\n")
    copies.commit()
    await copies.rest()
    copies.decide(Decision.APPROVED)
    await copies.rest()
    assert copies.texts()["page1"] == "edited there\n"


async def test_a_page_that_the_service_has_otherwise_is_not_held(state: State) -> None:
    """What file our text was there cannot be said."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", "theirs\n")
    copies.there.committed[copies.commit()] = {"page1": "theirs, as git has it\n"}
    await copies.rest()
    assert copies.texts()["page1"] == "theirs\n"
    assert not waiting(copies)


async def test_a_cycle_without_a_change_learns_the_commit(state: State) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = [*before, "ours"]
    copies.asked()
    await copies.cycle()
    await copies.cycle()
    assert copies.asked() == ["head"]
    copies.there.put("page1", PAGES["page1"])
    copies.commit()
    await copies.rest()
    assert copies.texts()["page1"] == PAGES["page1"]


@needs_git
async def test_a_service_whose_git_was_away_is_asked_about_too(tmp_path: Path) -> None:
    """A push by force takes back what was sent while git was refused."""
    async with paired(tmp_path, {"home": "one\n", "other": "text\n"}) as pair:
        await pair.rest()
        cloned = await clone(pair.service.git_url(PAIRED), tmp_path / "cloned")
        pair.service.quirks = {Quirk.NO_GIT}
        pair.save("home", "mine\n")
        await pair.rest()
        pair.service.quirks = frozenset()
        assert (await run_git("push", "-q", "--force", folder=cloned)).code == 0
        assert (await pair.wiki_texts())["home"] == "one\n"
        pair.restart()
        await pair.rest()
        assert pair.texts()["home"] == "mine\n"
        (batch,) = pair.known.memory.batches
        assert batch.kind is BatchKind.REWOUND


@needs_git
@needs_git
async def test_a_page_with_a_picture_that_a_person_deletes_is_not_held(
    tmp_path: Path,
) -> None:
    """Its text is another one in git, where the picture has another name."""
    async with paired(tmp_path, {"home": "one\n", "other": "text\n"}) as pair:
        await pair.rest()
        put(pair, "red.png", RED)
        pair.service.quirks = {Quirk.NO_GIT}
        pair.save("fresh", "![red](red.png)\n")
        await pair.rest()
        pair.save("other", "sent by another sync\n")
        await pair.rest()
        pair.service.quirks = frozenset()
        cloned = await clone(pair.service.git_url(PAIRED), tmp_path / "cloned")
        (cloned / "fresh.md").unlink()
        assert (await commit_and_push(cloned)).code == 0
        pair.restart()
        await pair.rest()
        assert "fresh" not in pair.texts()
        assert not pair.known.memory.batches


async def test_an_edit_on_top_of_what_was_pushed_untold_is_an_edit(
    state: State,
) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.commit()
    copies.there.put("page1", "theirs\n")
    copies.commit()
    await copies.rest()
    assert copies.texts()["page1"] == "theirs\n"
    assert not waiting(copies)


async def test_without_any_history_a_revert_is_an_edit_as_ever(state: State) -> None:
    copies = Told(state, PAGES)
    await copies.rest()
    copies.here.put("page1", "mine\n")
    await copies.rest()
    copies.asked()
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.texts()["page1"] == PAGES["page1"]
    assert copies.asked() == ["head"]

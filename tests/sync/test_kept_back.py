"""What a cycle keeps back: too many removals, and windows with an older text."""

import pytest

from tests.support.copies import Copies, rested
from tests.sync.test_cycle import HOME, MANY
from wikisync.sync.base.state import State


async def emptied(state: State) -> Copies:
    copies = await rested(state, MANY)
    for slug in list(MANY)[:10]:
        copies.there.remove(slug)
    return copies


async def test_many_absences_wait_for_a_yes_and_edits_go_on(state: State) -> None:
    copies = await emptied(state)
    copies.here.put("page-39", "edited\n")
    result = await copies.cycles(5)
    assert len(copies.here.pages) == len(MANY)
    assert copies.there.texts()["page-39"] == "edited\n"
    (batch,) = result.batches
    assert "10 of 40 pages would be removed here" in str(batch)


async def test_nobody_is_asked_about_pages_that_are_back_though_an_edit_is_sent(
    state: State,
) -> None:
    copies = await emptied(state)
    await copies.cycles(5)
    for slug in list(MANY)[:10]:
        copies.there.put(slug, MANY[slug])
    copies.here.put("page-39", "edited\n")
    result = await copies.cycle()
    assert copies.there.texts()["page-39"] == "edited\n"
    assert not result.batches
    assert not copies.known.memory.batches


async def test_many_edits_made_here_wait_for_a_yes(state: State) -> None:
    copies = await rested(state, MANY)
    for slug in MANY:
        copies.here.put(slug, f"{slug} edited\n")
    (batch,) = (await copies.cycle()).batches
    assert copies.there.changes == []
    assert len(batch.members) == len(MANY)


async def test_an_empty_folder_deletes_no_page_on_the_wiki(state: State) -> None:
    copies = await rested(state, MANY)
    copies.here.pages.clear()
    result = await copies.cycles(5)
    assert len(copies.there.pages) == len(MANY)
    assert len(result.batches) == 1


async def test_a_page_that_lost_nearly_all_its_text_waits(state: State) -> None:
    copies = await rested(state, {"home": "word " * 100, "other": "other\n"})
    copies.here.put("home", "")
    result = await copies.cycle()
    assert copies.there.changes == []
    assert len(result.batches) == 1


# -- windows that show an older text -----------------------------------------------

LONG = "one\ntwo\nthree\nfour\n"
CAME = LONG + "five, from the wiki\nsix, from the wiki\n"


@pytest.fixture
async def copies(state: State) -> Copies:
    """An edit came in while an editor showed the page as it was."""
    copies = await rested(state, {"home": LONG, "other": "other\n"})
    copies.there.put("home", CAME)
    await copies.rest()
    return copies


async def test_a_save_from_an_old_window_takes_nothing_back(copies: Copies) -> None:
    copies.here.put("home", LONG.replace("one", "one, edited"))
    await copies.rest()
    assert copies.texts()["home"] == CAME.replace("one", "one, edited")
    said = [event.what for event in copies.known.events(5, HOME)]
    assert any("save again" in what for what in said)


async def test_a_save_from_an_old_window_is_announced_as_one(copies: Copies) -> None:
    """Nobody edited the wiki meanwhile: its edit was here before the save."""
    copies.here.put("home", LONG.replace("two", "TWO"))
    result = await copies.plan()
    assert str(result.plan) == "merge   home: saved here over an older text"


async def test_the_same_save_once_more_is_meant(copies: Copies) -> None:
    save = LONG.replace("one", "one, edited")
    copies.here.put("home", save)
    await copies.rest()
    copies.here.put("home", save)
    await copies.rest()
    assert copies.texts()["home"] == save


async def test_an_old_window_that_a_person_chose_is_held_no_more(state: State) -> None:
    """The conflict came back after every settling."""
    copies = await rested(state, {"home": LONG, "other": "other\n"})
    copies.there.put("home", CAME.replace("one", "one, there"))
    await copies.rest()
    save = LONG.replace("one", "one, here")
    copies.here.put("home", save)
    assert [one.slug for one in (await copies.rest()).held] == [HOME]
    copies.here.conflicts[HOME] = save
    result = await copies.rest()
    assert not result.held
    assert copies.texts()["home"] == save


async def test_what_a_pull_replaces_is_kept(copies: Copies) -> None:
    kept = copies.known.replaced(HOME)
    assert [(one.replaced, one.written) for one in kept] == [(LONG, CAME)]

"""Saves that came too late: into files that had been replaced."""

import pytest
from msgspec.structs import replace

from tests.support.copies import Copies, rested
from wikisync.core.model import LateSave, Problem, Slug, digest_of
from wikisync.sync.base.state import State
from wikisync.sync.run.merging import take_late_save
from wikisync.sync.run.parts import Cycle

HOME = Slug("home")
BEFORE = "one\ntwo\nthree\nfour\n"
CAME = BEFORE + "five, from the wiki\nsix, from the wiki\n"
TOLD = Problem(
    "late-save",
    "home",
    "a program kept writing to its file after the file was replaced; the program's"
    " text is in the trash",
    "see it with: wikisync restore memory/home --list",
    is_once=True,
)


@pytest.fixture
async def copies(state: State) -> Copies:
    """An edit came in while an editor had the page's file open."""
    copies = await rested(state, {"home": BEFORE, "other": "other\n"})
    copies.there.put("home", CAME)
    await copies.rest()
    return copies


def save_late(copies: Copies, text: str, before: str = BEFORE) -> None:
    copies.here.late = [LateSave(HOME, text, "1", digest_of(before))]


async def test_a_late_save_is_merged_with_what_replaced_it(copies: Copies) -> None:
    save_late(copies, BEFORE.replace("two", "two, late"))
    await copies.rest()
    assert copies.texts()["home"] == CAME.replace("two", "two, late")
    assert copies.here.late == []


async def test_a_late_save_is_kept_before_anybody_scanned_the_page(
    copies: Copies,
) -> None:
    """A save from an old window may be the next text of the file."""
    late = LateSave(HOME, BEFORE.replace("two", "two, late"), "1", digest_of(BEFORE))
    await take_late_save(Cycle(copies.there, copies.here, copies.known), late)
    assert late.text in [one.replaced for one in copies.known.replaced(HOME)]


async def test_a_late_save_that_clashes_is_in_the_trash_and_told(
    copies: Copies,
) -> None:
    copies.here.put("home", CAME.replace("two", "two, saved again"))
    save_late(copies, BEFORE.replace("two", "two, late"))
    assert (await copies.cycle()).problems == (TOLD,)
    assert any("two, late" in text for _, text, _ in copies.here.trash)
    assert "two, saved again" in copies.here.texts()["home"]


async def test_a_late_save_of_which_nothing_is_known_is_in_the_trash_and_told(
    copies: Copies,
) -> None:
    """Nobody knows what it was an edit of."""
    copies.here.put("other", "other\nsaved\n")
    copies.here.late = [LateSave(Slug("other"), "late\n", "1")]
    (told,) = (await copies.cycle()).problems
    assert (told.code, told.subject) == ("late-save", "other")
    assert any(text == "late\n" for _, text, _ in copies.here.trash)


async def test_a_late_save_of_a_page_that_is_gone_brings_it_back(
    copies: Copies,
) -> None:
    copies.here.remove("home")
    save_late(copies, "late\n")
    await copies.rest()
    assert "late" in copies.here.texts()["home"]


async def test_a_late_save_that_clashes_with_what_came_is_a_conflict(
    copies: Copies,
) -> None:
    copies.there.put("home", CAME.replace("two", "two, of the wiki"))
    await copies.rest()
    save_late(copies, BEFORE.replace("two", "two, late"))
    await copies.rest()
    assert "two, late" in copies.here.conflicts[HOME]


async def test_a_late_save_is_an_edit_of_what_its_file_held(copies: Copies) -> None:
    """And takes back nothing that came after the text that replaced it."""
    later = CAME.replace("three", "three, from the wiki")
    copies.there.put("home", later)
    await copies.rest()
    save_late(copies, f"a line of a log\n{BEFORE}")
    await copies.rest()
    assert copies.texts()["home"] == f"a line of a log\n{later}"


async def test_a_log_goes_on_where_nothing_of_it_was_sent_yet(copies: Copies) -> None:
    """What the last save brought is no deletion by the wiki, which lacks it."""
    log = BEFORE
    for number in range(3):
        save_late(copies, f"{number}\n{log}", log)
        await copies.cycle()
        log = f"{number}\n{log}"
    await copies.rest()
    assert copies.texts()["home"] == f"2\n1\n0\n{CAME}"


async def test_a_log_goes_on_after_a_save_that_went_to_the_trash(
    copies: Copies,
) -> None:
    copies.here.put("home", CAME.replace("two", "two, saved again"))
    late = BEFORE.replace("two", "two, late")
    save_late(copies, late)
    await copies.cycle()
    save_late(copies, f"first\n{late}", late)
    await copies.rest()
    assert copies.texts()["home"].startswith("first\n")
    assert "two, late" not in copies.texts()["home"]


async def test_a_late_save_finds_its_page_under_another_name(copies: Copies) -> None:
    await copies.there.move(HOME, Slug("start"), expected=digest_of(CAME))
    await copies.rest()
    save_late(copies, f"a line of a log\n{BEFORE}")
    await copies.rest()
    assert copies.texts().keys() == {"start", "other"}
    assert copies.texts()["start"] == f"a line of a log\n{CAME}"


async def test_what_no_page_can_hold_is_told(copies: Copies) -> None:
    copies.here.late = [LateSave(HOME, None, "1")]
    told = replace(TOLD, hint="find it in .wikisync/trash")
    assert (await copies.cycle()).problems == (told,)
    assert copies.here.late == []


async def test_page_saved_while_a_late_save_is_taken_has_it_in_the_next_cycle(
    copies: Copies,
) -> None:
    save_late(copies, BEFORE.replace("two", "two, late"))

    async def save(entry: str) -> None:
        if entry == "write home" and "saved" not in copies.here.texts()["home"]:
            copies.here.put("home", f"{CAME}saved\n")

    copies.here.before = save
    await copies.rest()
    assert copies.texts()["home"] == f"{CAME}saved\n".replace("two", "two, late")

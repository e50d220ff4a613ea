"""Saves that came too late: into files that had been replaced (``sync.md`` 3.9)."""

from __future__ import annotations

import pytest

from tests.support.copies import Copies
from wikisync.model import LateSave, Problem, Slug
from wikisync.sync.state import State

HOME = Slug("home")
BEFORE = "one\ntwo\nthree\nfour\n"
CAME = BEFORE + "five, from the wiki\nsix, from the wiki\n"
TOLD = Problem(
    "late-save",
    "home",
    "saved while it was being written; that text is in the trash",
    "see it with: wikisync restore home --list",
)


@pytest.fixture
async def copies(state: State) -> Copies:
    """An edit came in while an editor had the page's file open."""
    copies = Copies(state, {"home": BEFORE, "other": "other\n"})
    await copies.rest()
    copies.there.put("home", CAME)
    await copies.rest()
    return copies


def save_late(copies: Copies, text: str) -> None:
    copies.here.late = [LateSave(HOME, text, "1")]


async def test_a_late_save_is_merged_with_what_replaced_it(copies: Copies) -> None:
    save_late(copies, BEFORE.replace("two", "two, late"))
    await copies.rest()
    assert copies.texts()["home"] == CAME.replace("two", "two, late")
    assert copies.here.late == []


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

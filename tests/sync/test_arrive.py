"""From the wiki to the folder: nothing is replaced unseen, nothing without a copy."""

import errno

import pytest

from tests.support.copies import Copies, rested
from wikisync.core.model import Slug
from wikisync.errors import FolderError, NotFound
from wikisync.sync.base.state import State

HOME = Slug("home")
TEXT = "one\ntwo\nthree\n"
PAGES = {"home": TEXT, "other": "other\n", "third": "third\n"}


@pytest.fixture
async def copies(state: State) -> Copies:
    """Both pages were edited on the wiki."""
    copies = await rested(state, PAGES)
    copies.there.put("home", TEXT + "there\n")
    copies.there.put("other", "other, there\n")
    return copies


async def test_a_save_after_the_scan_is_not_overwritten(copies: Copies) -> None:
    saved = "zero, here\n" + TEXT
    copies.here.before_once("write home", lambda: copies.here.put("home", saved))
    first = await copies.cycle()
    assert first.has_more
    assert not first.problems
    await copies.rest()
    assert copies.texts()["home"] == f"{saved}there\n"


async def test_one_file_that_cannot_be_written_does_not_stop_the_others(
    copies: Copies,
) -> None:
    batch = copies.here.write_pages

    async def one_refused(pages: object) -> object:
        results = list(await batch(pages[1:]))  # type: ignore[index]
        return [FolderError("home.md is read-only"), *results]

    copies.here.write_pages = one_refused  # type: ignore[method-assign,assignment]
    result = await copies.cycle()
    assert [one.code for one in result.problems] == ["page-unwritable"]
    assert result.pulled == 1


def full_disk() -> FolderError:
    full = FolderError("the disk is full")
    full.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    return full


async def test_a_full_disk_ends_the_cycle_before_a_page_is_removed(
    state: State,
) -> None:
    """A page goes to the trash first, which needs room."""
    copies = await rested(state, PAGES)
    copies.there.remove("home")
    copies.here.fail("delete home", full_disk())
    with pytest.raises(FolderError, match="disk is full"):
        await copies.rest()
    assert copies.here.texts() == PAGES
    copies.here.before = copies.there.before
    await copies.rest()
    assert set(copies.texts()) == {"other", "third"}


async def test_a_page_that_is_gone_before_it_is_removed_is_no_problem(
    state: State,
) -> None:
    copies = await rested(state, PAGES)
    copies.there.remove("home")

    def remove() -> None:
        copies.here.remove("home")
        raise NotFound("home is gone")

    copies.here.before_once("delete home", remove)
    await copies.rest()
    assert set(copies.texts()) == {"other", "third"}


async def test_what_follows_a_rename_that_failed_waits(state: State) -> None:
    """A text for the new name would make a second file of the page."""
    copies = Copies(state, PAGES)
    copies.there.identities = {HOME: "7"}
    await copies.rest()
    await copies.rest()  # identities are learned by the look after
    copies.there.pages.pop(HOME)
    copies.there.put("start", TEXT + "there\n")
    copies.there.identities = {Slug("start"): "7"}
    copies.here.fail("move home start", FolderError("the folder is read-only"))
    await copies.cycle()
    assert "start" not in copies.here.texts()

"""Taking the last sync back on both sides, and taking that back in turn."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copies import OWNER, Copies, Died, rested
from tests.support.memory import nothing_before
from wikisync.core.model import Digest, Format, Slug
from wikisync.sync.base.history import Step
from wikisync.sync.base.state import State
from wikisync.sync.decide.safety import Decision
from wikisync.sync.run.undoing import undo_sync
from wikisync.sync.views import AliasedFolder

PAGES = {"home": "one\n\ntwo\n\nthree\n", "guide": "a guide\n", "team/ann": "Ann\n"}
MANY = {f"new{number}": f"{number}\n" for number in range(9)}
Change = Callable[[Copies], None]


async def prepare(copies: Copies) -> dict[str, str]:
    """Take the last sync back in the folder; which pages are left alone, and why."""
    last = copies.known.last_sync()
    assert last
    here = AliasedFolder(copies.here, copies.known)
    there = await copies.there.snapshot()
    pages = await undo_sync(here, copies.known, last, there, copies.now)
    return {step.name: why for step, why in pages.items() if why}


async def undo(copies: Copies) -> dict[str, str]:
    """The same, until nothing is left to do."""
    left = await prepare(copies)
    while (await copies.cycle()).has_more:
        pass
    return left


async def in_sync(state: State) -> Copies:
    copies = await rested(state, PAGES)
    # what has changed once is known by more than its name
    for text in ("another guide\n", PAGES["guide"]):
        copies.here.put("guide", text)
        await copies.rest()
    return copies


@pytest.fixture
async def copies(state: State) -> Copies:
    return await in_sync(state)


def edit_here(copies: Copies) -> None:
    copies.here.put("home", "one\n\ntwo\n\nthree, here\n")


def edit_there(copies: Copies) -> None:
    copies.there.put("home", "ONE\n\ntwo\n\nthree\n")


def create_here(copies: Copies) -> None:
    for slug, text in MANY.items():
        copies.here.put(slug, text)


def create_there(copies: Copies) -> None:
    for slug, text in MANY.items():
        copies.there.put(slug, text)


def delete_here(copies: Copies) -> None:
    copies.here.remove("guide")


def delete_there(copies: Copies) -> None:
    copies.there.remove("guide")


def rename_here(copies: Copies) -> None:
    copies.rename_here("guide", "manual")


def rename_there(copies: Copies) -> None:
    copies.rename_there("guide", "manual")


def rename_in_a_row_here(copies: Copies) -> None:
    copies.rename_here("guide", "manual")
    copies.rename_here("home", "guide")


def rename_in_a_row_there(copies: Copies) -> None:
    copies.rename_there("guide", "manual")
    copies.rename_there("home", "guide")


def rename_and_edit_here(copies: Copies) -> None:
    copies.rename_here("guide", "manual")
    copies.here.put("manual", "a guide\nwith more\n")


def format_here(copies: Copies) -> None:
    copies.here.put("guide", "* a guide\n", Format.ORG)


def all_at_once(copies: Copies) -> None:
    edit_here(copies)
    copies.there.put("new0", "0\n")
    rename_there(copies)
    copies.here.remove("team/ann")


CHANGES: list[Change] = [
    edit_here,
    edit_there,
    create_here,
    create_there,
    delete_here,
    delete_there,
    rename_here,
    rename_there,
    rename_in_a_row_here,
    rename_in_a_row_there,
    rename_and_edit_here,
    format_here,
    all_at_once,
]


@pytest.mark.parametrize("change", CHANGES)
async def test_an_undo_is_taken_back_by_the_next_one(
    change: Change, copies: Copies
) -> None:
    change(copies)
    await copies.rest()
    after = copies.texts()
    assert after != PAGES or change is format_here
    for texts in (PAGES, after, PAGES):
        await undo(copies)
        assert copies.texts() == texts
        formats = [page.format for page in copies.there.pages.values()]
        assert formats == [page.format for page in copies.here.pages.values()]
        assert (await copies.cycle()).is_quiet


@pytest.mark.parametrize("change", [edit_here, edit_there])
async def test_a_text_that_was_taken_back_can_be_saved_again(
    change: Change, copies: Copies
) -> None:
    change(copies)
    await copies.rest()
    text = copies.texts()["home"]
    await undo(copies)
    copies.here.put("home", text)
    await copies.rest()
    assert copies.texts()["home"] == text


async def test_of_a_merge_the_wikis_text_stays(copies: Copies) -> None:
    """It was there before this sync; what was saved here is kept."""
    edit_here(copies)
    edit_there(copies)
    mine, theirs = copies.here.texts()["home"], copies.there.texts()["home"]
    await copies.rest()
    merged = copies.texts()["home"]
    assert merged not in {mine, theirs}
    await undo(copies)
    assert copies.texts()["home"] == theirs
    assert mine in [one.replaced for one in copies.known.replaced(Slug("home"))]
    await undo(copies)
    assert copies.texts()["home"] == merged


async def test_no_safety_stop_asks_about_what_a_person_takes_back(
    copies: Copies,
) -> None:
    create_there(copies)
    await copies.rest()
    await undo(copies)
    assert copies.texts() == PAGES
    asked = {batch.decision for batch in copies.known.memory.batches}
    assert asked <= {Decision.APPROVED}
    kept = {(slug, why) for slug, _, why in copies.here.trash}
    assert {(slug, "taken back with a sync") for slug in MANY} <= kept


# -- what changed since ----------------------------------------------------------------


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_newer_edit_stays_and_is_named(is_here: bool, copies: Copies) -> None:
    edit_there(copies)
    copies.there.put("guide", "other\n")
    copies.there.put("new0", "0\n")
    await copies.rest()
    newer = {"home": "ONE\n\ntwo\n\nthree, since\n", "new0": "0, and more\n"}
    for slug, text in newer.items():
        (copies.here if is_here else copies.there).put(slug, text)
    left = await undo(copies)
    assert "since" in left["home"]
    assert "since" in left["new0"]
    await copies.rest()
    assert copies.texts() == {**PAGES, **newer}


async def test_a_page_made_anew_stays_and_is_named(copies: Copies) -> None:
    delete_here(copies)
    await copies.rest()
    copies.there.put("guide", "another guide\n")
    left = await undo(copies)
    assert "another page of this name" in left["guide"]


async def test_a_name_that_another_page_has_stays_with_it(copies: Copies) -> None:
    rename_here(copies)
    await copies.rest()
    copies.here.put("guide", "another guide\n")
    left = await undo(copies)
    assert "another page is called guide now" in left["manual"]
    await copies.rest()
    assert copies.texts()["manual"] == PAGES["guide"]


async def test_an_open_page_stays_and_is_named(copies: Copies) -> None:
    edit_there(copies)
    await copies.rest()
    copies.here.busy = {Slug("home"): "vim"}
    left = await undo(copies)
    assert "open in an editor" in left["home"]


# -- what can be taken back ------------------------------------------------------------


def steps(copies: Copies) -> set[tuple[str, str]]:
    last = copies.known.last_sync()
    return {(one.was, one.slug) for one in last.steps} if last else set()


async def test_what_a_first_sync_carries_over_is_no_step(state: State) -> None:
    """An undo would remove the pages of a wiki that is older than the folder."""
    copies = Copies(state, {})
    for slug, text in PAGES.items():
        copies.there.put(slug, text)
    await copies.rest()
    assert copies.texts() == PAGES
    assert steps(copies) == set()
    create_there(copies)
    await copies.rest()
    assert steps(copies) == {("", slug) for slug in MANY}


async def test_a_deletion_is_of_the_sync_that_removes_the_page(copies: Copies) -> None:
    """While it waits, other syncs end: an undo takes none of their edits back."""
    delete_here(copies)
    copies.there.put("home", "from a colleague\n")
    assert (await copies.cycle()).next_scan_s is not None
    assert steps(copies) == {("home", "home")}
    copies.there.put("home", "from a colleague, later\n")
    await copies.rest()
    before = {**copies.texts(), "guide": PAGES["guide"]}
    assert steps(copies) == {("home", "home"), ("guide", "")}
    await undo(copies)
    assert copies.texts() == {**before, "home": "from a colleague\n"}


async def test_a_page_that_came_and_went_in_one_sync_is_no_step(copies: Copies) -> None:
    known = copies.known
    known.begin_sync(copies.now)
    base = known.base()[Slug("home")]
    known.record(renamed={Slug("home"): Slug("start")}, is_step=True)
    known.record(renamed={Slug("start"): Slug("begin")}, is_step=True)
    known.record(dropped=[Slug("begin")], is_step=True)
    last = known.last_sync()
    assert last
    (step,) = last.steps
    assert step == Step(Slug(""), Slug("home"), base.format, PAGES["home"], Digest(""))


async def test_a_dry_run_changes_nothing(state: State) -> None:
    copies = await in_sync(state)
    all_at_once(copies)
    await copies.rest()
    assert copies.known.renames() == {"guide": "manual"}
    last = copies.known.last_sync()
    assert last
    before = copies.texts()
    changes = len(copies.here.changes) + len(copies.there.changes)
    with State.copy(state.path, is_live=True) as copy:
        known = copy.wiki(OWNER)
        here = AliasedFolder(copies.here, known)
        there = await copies.there.snapshot()
        pages = await undo_sync(here, known, last, there, copies.now)
    assert set(pages.values()) == {""}
    said = set(map(str, pages))
    assert "update  home here and on the wiki" in said
    assert "rename  manual -> guide here and on the wiki" in said
    assert "create  team/ann here and on the wiki" in said
    assert "remove  new0 here and on the wiki" in said
    assert len(copies.here.changes) + len(copies.there.changes) == changes
    assert copies.texts() == before


# -- crashes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [edit_here, rename_in_a_row_here, rename_and_edit_here, all_at_once]
)
async def test_killed_at_any_step_it_goes_on(change: Change, tmp_path: Path) -> None:
    """In the folder with the next undo, after that with the next sync."""
    for at in range(1, 60):
        with State.open(tmp_path / f"{at}.db") as state:
            copies = await in_sync(state)
            change(copies)
            await copies.rest()
            last = copies.known.last_sync()
            is_killed = await killed_at(copies, at)
            if copies.known.last_sync() == last:
                assert await prepare(copies) == {}
            await copies.rest()
            assert copies.texts() == PAGES
        if not is_killed:
            return
    pytest.fail("it never came to its end")


async def killed_at(copies: Copies, at: int) -> bool:
    """An undo that ends before this operation; whether it came so far."""
    left = at

    async def count(_entry: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Died

    copies.here.before = copies.there.before = count
    try:
        await undo(copies)
    except (Died, BaseExceptionGroup):
        return True
    finally:
        copies.here.before = copies.there.before = nothing_before
    return False

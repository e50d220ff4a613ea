"""Taking the last sync back on both sides, and taking that back in turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.copies import Copies, Died
from wikisync.errors import Unavailable
from wikisync.model import Digest, Format, Slug
from wikisync.sync.base.state import State
from wikisync.sync.base.steps import Step
from wikisync.sync.run.options import CycleOptions
from wikisync.sync.run.result import CycleResult

PAGES = {"home": "one\n\ntwo\n\nthree\n", "guide": "a guide\n", "team/ann": "Ann\n"}
MANY = {f"new{number}": f"{number}\n" for number in range(9)}
Change = Callable[[Copies], None]


async def undo(copies: Copies) -> CycleResult:
    """Take the last sync back, until nothing is left to do."""
    last = copies.known.sync_of()
    assert last
    copies.known.undo(last.number)
    results = [await copies.cycle()]
    while results[-1].has_more:
        results.append(await copies.cycle())
    assert not copies.known.memory.undoing
    return results[-1]


async def in_sync(state: State) -> Copies:
    copies = Copies(state, PAGES)
    await copies.rest()
    # what has changed once is known by more than its name
    for text in ("another guide\n", PAGES["guide"]):
        copies.here.put("guide", text)
        await copies.rest()
    return copies


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


def rename_and_edit_here(copies: Copies) -> None:
    copies.rename_here("guide", "manual")
    copies.here.put("manual", "a guide\nwith more\n")


def format_here(copies: Copies) -> None:
    copies.here.put("guide", "* a guide\n", Format.ORG)


def all_at_once(copies: Copies) -> None:
    edit_here(copies)
    create_there(copies)
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
    rename_and_edit_here,
    format_here,
    all_at_once,
]


@pytest.mark.parametrize("change", CHANGES)
async def test_an_undo_is_taken_back_by_the_next_one(
    change: Change, state: State
) -> None:
    copies = await in_sync(state)
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


async def test_what_comes_while_a_sync_is_taken_back_is_no_part_of_it(
    state: State,
) -> None:
    """Also where that sync has not come to its end, and the undo is killed."""
    copies = await in_sync(state)
    edit_here(copies)
    edit_there(copies)
    assert (await copies.cycle()).has_more
    last = copies.known.sync_of()
    assert last
    copies.known.undo(last.number)
    copies.there.put("fresh", "from the wiki\n")
    for at in range(1, 30):
        await killed_at(copies, at)
    await copies.rest()
    assert copies.texts()["fresh"] == "from the wiki\n"


async def test_a_format_comes_back_too(state: State) -> None:
    copies = await in_sync(state)
    format_here(copies)
    await copies.rest()
    await undo(copies)
    assert copies.here.pages[Slug("guide")].format is Format.MARKDOWN


async def test_of_a_merge_the_wikis_text_stays(state: State) -> None:
    """It was there before this sync; what was saved here is kept."""
    copies = await in_sync(state)
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


async def test_of_a_settled_conflict_the_wikis_text_stays(state: State) -> None:
    copies = await in_sync(state)
    copies.here.put("guide", "mine\n")
    copies.there.put("guide", "theirs\n")
    await copies.rest()
    copies.here.conflicts[Slug("guide")] = "ours\n"
    await copies.rest()
    assert copies.texts()["guide"] == "ours\n"
    await undo(copies)
    assert copies.texts()["guide"] == "theirs\n"
    assert copies.here.conflicts == {}


async def test_no_safety_stop_asks_about_what_a_person_takes_back(state: State) -> None:
    copies = await in_sync(state)
    create_there(copies)
    await copies.rest()
    await undo(copies)
    assert copies.texts() == PAGES
    assert not copies.known.memory.batches
    kept = {(slug, why) for slug, _, why in copies.here.trash}
    assert {(slug, "taken back with a sync") for slug in MANY} <= kept


# -- what changed since ----------------------------------------------------------------


def told(result: CycleResult) -> dict[str, str]:
    return {one.subject: one.message for one in result.problems}


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_newer_edit_stays_and_is_named(is_here: bool, state: State) -> None:
    copies = await in_sync(state)
    edit_there(copies)
    copies.there.put("guide", "other\n")
    await copies.rest()
    newer = "ONE\n\ntwo\n\nthree, since\n"
    (copies.here if is_here else copies.there).put("home", newer)
    result = await undo(copies)
    assert "since" in told(result)["home"]
    await copies.rest()
    assert copies.texts() == {**PAGES, "home": newer}


@pytest.mark.parametrize("is_here", [True, False])
async def test_so_does_one_that_is_carried_over_before_the_undo_is_done(
    is_here: bool, state: State
) -> None:
    """A rename takes two cycles, and the edit is agreed on after the first one."""
    copies = await in_sync(state)
    all_at_once(copies)
    await copies.rest()
    side = copies.here if is_here else copies.there
    side.put("new0", "new, and more\n")
    side.put("home", "edited since\n")
    result = await undo(copies)
    assert told(result).keys() == {"new0", "home"}
    await copies.rest()
    assert copies.texts() == {
        **PAGES,
        "new0": "new, and more\n",
        "home": "edited since\n",
    }


async def test_a_page_made_anew_stays_and_is_named(state: State) -> None:
    copies = await in_sync(state)
    delete_here(copies)
    await copies.rest()
    copies.there.put("guide", "another guide\n")
    result = await undo(copies)
    assert "another page of this name" in told(result)["guide"]
    await copies.rest()
    assert copies.texts()["guide"] == "another guide\n"


async def test_a_name_that_another_page_has_stays_with_it(state: State) -> None:
    copies = await in_sync(state)
    rename_here(copies)
    await copies.rest()
    copies.here.put("guide", "another guide\n")
    result = await undo(copies)
    assert "another page is called guide now" in told(result)["manual"]
    await copies.rest()
    assert copies.texts()["manual"] == PAGES["guide"]


async def test_an_open_page_stays_and_is_named(state: State) -> None:
    copies = await in_sync(state)
    edit_there(copies)
    await copies.rest()
    copies.here.busy = {Slug("home"): "vim"}
    result = await undo(copies)
    assert "open in an editor" in told(result)["home"]


# -- what can be taken back ------------------------------------------------------------


def steps(copies: Copies) -> set[tuple[str, str]]:
    last = copies.known.sync_of()
    return {(one.was, one.slug) for one in last.steps} if last else set()


async def test_pages_that_both_sides_had_are_no_steps(state: State) -> None:
    """Or an undo of the first sync would empty both sides."""
    copies = Copies(state, PAGES)
    await copies.rest()
    assert steps(copies) == set()
    for copy in (copies.here, copies.there):
        copy.put("both", "the same\n")
        copy.remove("guide")
    await copies.rest()
    assert steps(copies) == set()


async def test_a_sync_with_nothing_to_do_is_not_the_last_one(state: State) -> None:
    copies = await in_sync(state)
    edit_there(copies)
    await copies.rest()
    for _ in range(3):
        await copies.cycle()
    assert steps(copies) == {("home", "home")}


async def test_each_sync_is_taken_back_by_itself(state: State) -> None:
    copies = await in_sync(state)
    edit_there(copies)
    await copies.rest()
    before = copies.texts()
    delete_there(copies)
    await copies.rest()
    assert steps(copies) == {("guide", "")}
    await undo(copies)
    assert copies.texts() == before


async def test_a_deletion_is_of_the_sync_that_removes_the_page(state: State) -> None:
    """While it waits, other syncs end: an undo takes none of their edits back."""
    copies = await in_sync(state)
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


async def test_a_run_that_waits_for_a_deletion_is_one_sync(state: State) -> None:
    copies = await in_sync(state)
    delete_here(copies)
    edit_there(copies)
    await copies.cycle(CycleOptions(waits=True))
    await copies.rest()
    assert steps(copies) == {("home", "home"), ("guide", "")}


async def test_a_cycle_that_fails_ends_its_sync(state: State) -> None:
    """What comes after an outage is not taken back with what was before it."""
    copies = await in_sync(state)
    edit_here(copies)
    edit_there(copies)
    assert (await copies.cycle()).has_more
    copies.there.before = away
    with pytest.raises(Unavailable):
        await copies.cycle()
    copies.there.before = nothing
    copies.there.put("guide", "from a colleague\n")
    await copies.rest()
    merged = copies.texts()
    assert steps(copies) == {("home", "home"), ("guide", "guide")}
    await undo(copies)
    assert copies.texts()["guide"] == PAGES["guide"]
    assert merged["home"] != PAGES["home"]


async def test_a_page_that_came_and_went_in_one_sync_is_no_step(state: State) -> None:
    copies = await in_sync(state)
    known = copies.known
    known.begin_steps(copies.now)
    base = known.base()[Slug("home")]
    known.record(renamed={Slug("home"): Slug("start")}, is_step=True)
    known.record(renamed={Slug("start"): Slug("begin")}, is_step=True)
    known.record(dropped=[Slug("begin")], is_step=True)
    last = known.sync_of()
    assert last
    (step,) = last.steps
    assert step == Step(Slug(""), Slug("home"), base.format, PAGES["home"], Digest(""))


async def test_two_syncs_are_remembered_and_no_more(state: State) -> None:
    copies = Copies(state, PAGES)
    await copies.rest()
    for turn in range(4):
        copies.here.put("guide", f"turn {turn}\n")
        await copies.rest()
    assert [bool(copies.known.sync_of(number)) for number in (1, 2, 3, 4)] == [
        False,
        False,
        True,
        True,
    ]


async def test_a_dry_run_says_what_it_would_do_and_changes_nothing(
    state: State,
) -> None:
    copies = await in_sync(state)
    all_at_once(copies)
    await copies.rest()
    last = copies.known.sync_of()
    assert last
    before = copies.texts()
    changes = len(copies.here.changes) + len(copies.there.changes)
    copies.known.undo(last.number)
    result = await copies.plan()
    said = set(map(str, result.undone))
    assert "update  home here and on the wiki" in said
    assert "rename  manual -> guide here and on the wiki" in said
    assert "create  team/ann here and on the wiki" in said
    assert "remove  new0 here and on the wiki" in said
    assert len(copies.here.changes) + len(copies.there.changes) == changes
    assert copies.texts() == before


# -- crashes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [edit_here, create_there, rename_and_edit_here, all_at_once]
)
async def test_killed_at_any_step_it_goes_on_in_the_next_cycle(
    change: Change, state: State
) -> None:
    """Each call of either side is the last one once, also twice in a row."""
    copies = await in_sync(state)
    change(copies)
    await copies.rest()
    texts = [copies.texts(), PAGES]
    for at in range(1, 60):
        last = copies.known.sync_of()
        assert last
        copies.known.undo(last.number)
        is_killed = await killed_at(copies, at)
        if is_killed:
            await killed_at(copies, max(1, at - 2))
        for _ in range(4):
            await copies.cycle()
        assert not copies.known.memory.undoing
        assert copies.texts() == texts[at % 2]
        if not is_killed:
            break
    else:
        pytest.fail("it never came to its end")


async def killed_at(copies: Copies, at: int) -> bool:
    """One cycle that ends before this operation; whether it came so far."""
    left = at

    async def count(_entry: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Died

    copies.here.before = copies.there.before = count
    try:
        await copies.cycle()
    except (Died, BaseExceptionGroup):
        return True
    finally:
        copies.here.before = copies.there.before = nothing
    return False


async def nothing(_entry: str) -> None:
    """Let every operation pass."""


async def test_a_service_that_is_away_delays_it(state: State) -> None:
    copies = await in_sync(state)
    edit_there(copies)
    await copies.rest()
    last = copies.known.sync_of()
    assert last
    copies.known.undo(last.number)
    copies.there.before = away
    with pytest.raises(Unavailable):
        await copies.cycle()
    assert copies.known.memory.undoing
    copies.there.before = nothing
    await copies.cycle()
    assert copies.texts() == PAGES


async def away(_entry: str) -> None:
    """Let no operation pass."""
    raise Unavailable("it is away")

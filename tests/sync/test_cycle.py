"""Cycles both ways as a person sees them, each rule of ``docs/sync.md`` once."""

import asyncio

import pytest

from tests.support.copies import PAGES, Copies, rested
from wikisync.core.model import Slug, digest_of
from wikisync.errors import Halted, Unavailable
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.decide.safety import EMPTIED_PAGES_MIN, BatchKind, Decision
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import Cycle

HOME = Slug("home")
TEXT = "one\ntwo\nthree\n"
ANSWER_S = 10.0
"""The service would have answered by then."""
MANY = {f"page-{number:02d}": f"text {number}\n" for number in range(40)}


# -- first sync --------------------------------------------------------------------


async def test_a_save_while_an_equal_page_is_noted_is_an_edit(state: State) -> None:
    """A look that says "nothing changed" brings no texts, and the file is read."""
    copies = Copies(state, PAGES)
    copies.there.gives_texts = False
    saved = f"{TEXT}saved meanwhile\n"
    copies.here.before_once("read home", lambda: copies.here.put("home", saved))
    await copies.cycle()
    copies.there.put("home", f"above\n{TEXT}")
    await copies.rest()
    assert copies.texts()["home"] == f"above\n{TEXT}saved meanwhile\n"


async def test_a_file_that_goes_while_an_equal_page_is_noted_is_one_that_was_there(
    state: State,
) -> None:
    copies = Copies(state, PAGES)
    copies.there.gives_texts = False
    copies.here.before_once("read home", lambda: copies.here.remove("home"))
    await copies.cycle()
    assert set(copies.known.base()) == {HOME, Slug("other")}


async def test_a_page_that_changes_on_both_sides_while_it_is_noted_is_held(
    state: State,
) -> None:
    """No text is left that both of them had."""
    copies = Copies(state, PAGES)
    copies.there.gives_texts = False

    def save() -> None:
        copies.here.put("home", f"{TEXT}saved here\n")
        copies.there.put("home", f"{TEXT}saved there\n")

    copies.here.before_once("read home", save)
    result = await copies.rest()
    assert [(one.slug, one.reason) for one in result.held] == [
        (HOME, HoldReason.CREATED_BOTH)
    ]


# -- both sides --------------------------------------------------------------------


async def test_pages_removed_one_after_the_other_are_asked_about(state: State) -> None:
    """A few at each look, as `rm` in steps or a disk that fades away does it."""
    copies = await rested(state, MANY)
    for slug in list(MANY)[:12]:
        del copies.here.pages[Slug(slug)]
        await copies.cycles(3)
    gone = MANY.keys() - copies.there.texts().keys()
    assert len(gone) == 4
    assert [b.decision for b in copies.known.memory.batches] == [Decision.WAITING]


DISK = {f"disk/{number}": "x\n" for number in range(EMPTIED_PAGES_MIN)}


def take_disk(copies: Copies, *names: str) -> None:
    """Only an empty mount point is left of a directory with these pages."""
    for slug in DISK:
        copies.here.pages.pop(Slug(slug))
    copies.here.left_empty = frozenset(map(Slug, (*DISK, *names)))


def bring_disk(copies: Copies) -> None:
    """The disk is back, and hides what was written in its place."""
    copies.here.left_empty = frozenset()
    for slug, text in DISK.items():
        copies.here.put(slug, text)


async def disk_away(state: State, *names: str) -> Copies:
    copies = await rested(state, MANY | DISK)
    take_disk(copies, *names)
    await copies.cycle()
    return copies


async def test_pages_of_a_directory_that_is_left_empty_wait(state: State) -> None:
    copies = await disk_away(state)
    await copies.cycles(3)
    assert DISK.keys() <= copies.there.texts().keys()
    (batch,) = copies.known.memory.batches
    assert batch.kind is BatchKind.EMPTIED


async def test_nothing_is_written_below_a_directory_that_is_left_empty(
    state: State,
) -> None:
    """A disk that comes back would hide it, and then it would seem to be deleted."""
    copies = await rested(state, MANY | DISK)
    take_disk(copies, "disk/new")
    copies.there.put("disk/0", "x\nedited there\n")
    copies.there.put("disk/new", "new there\n")
    await copies.cycles(4)
    assert not [slug for slug in copies.here.texts() if slug.startswith("disk/")]
    bring_disk(copies)
    await copies.rest()
    assert copies.texts()["disk/0"] == "x\nedited there\n"
    assert copies.texts()["disk/new"] == "new there\n"


async def test_held_pages_of_a_directory_that_is_left_empty_are_not_settled(
    state: State,
) -> None:
    """Else the texts that come back with the disk are edits of the wiki's."""
    copies = await rested(state, MANY)
    for slug, text in DISK.items():
        copies.here.put(slug, text)
        copies.there.put(slug, "of the wiki\n")
    assert len((await copies.rest()).held) == len(DISK)
    take_disk(copies)
    await copies.cycles(4)
    bring_disk(copies)
    assert len((await copies.rest()).held) == len(DISK)
    assert copies.there.texts()["disk/0"] == "of the wiki\n"
    assert len(copies.here.conflicts) == len(DISK)


@pytest.mark.parametrize("mine", [MANY["page-39"], "edited\n"])
@pytest.mark.parametrize("text", [MANY["page-39"], "edited\n"])
async def test_no_file_is_renamed_into_a_directory_that_is_left_empty(
    state: State, mine: str, text: str
) -> None:
    """Nor is anything done to it under the name that it would get."""
    copies = await disk_away(state, "disk/moved")
    known = copies.there.identities
    known[Slug("page-39")] = "39"
    await copies.cycle()
    copies.rename_there("page-39", "disk/moved")
    known[Slug("disk/moved")] = known.pop(Slug("page-39"))
    copies.there.put("disk/moved", text)
    copies.here.put("page-39", mine)
    await copies.cycles(4)
    assert copies.here.texts()["page-39"] == mine
    bring_disk(copies)
    await copies.rest()
    assert copies.texts()["disk/moved"] == ("edited\n" if mine != text else text)


async def test_rename_into_an_emptied_directory_comes_when_that_is_refused(
    state: State,
) -> None:
    copies = await disk_away(state, "disk/moved", "disk/new")
    copies.rename_there("page-39", "disk/moved")
    copies.there.put("disk/new", "new there\n")
    await copies.cycles(3)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["disk/moved"] == MANY["page-39"]
    assert copies.texts()["disk/new"] == "new there\n"


async def test_a_disk_stays_away_though_somebody_saves_in_its_place(
    state: State,
) -> None:
    """What is written there then would be hidden, and its old file an edit."""
    copies = await disk_away(state)
    copies.here.put("disk/mine", "mine\n")
    copies.here.left_empty = frozenset()
    copies.there.put("disk/0", "x\nedited there\n")
    await copies.cycles(4)
    assert "disk/0" not in copies.here.texts()
    bring_disk(copies)
    await copies.rest()
    assert copies.texts()["disk/0"] == "x\nedited there\n"


async def test_deleted_on_both_sides_only_the_record_goes(copies: Copies) -> None:
    copies.here.remove("home")
    copies.there.remove("home")
    await copies.rest()
    assert set(copies.known.base()) == {Slug("other")}
    assert copies.here.changes == copies.there.changes == []


# -- editors, refusals, what is told -----------------------------------------------


async def test_an_open_page_is_pulled_when_it_is_closed(copies: Copies) -> None:
    copies.there.put("home", "edited there\n")
    copies.here.busy = {HOME: ".home.md.swp"}
    await copies.cycle()
    assert copies.here.texts()["home"] == TEXT
    copies.here.busy = {}
    await copies.rest()
    assert copies.here.texts()["home"] == "edited there\n"


async def test_a_page_open_for_ten_minutes_is_told(copies: Copies) -> None:
    copies.there.put("home", "edited there\n")
    copies.here.busy = {HOME: ".home.md.swp"}
    await copies.cycle()
    copies.now += 600
    result = await copies.cycle()
    assert [(one.slug, one.reason) for one in result.held] == [
        (HOME, HoldReason.OPEN_LONG)
    ]


async def test_whose_wiki_it_is_is_asked_while_it_answers(state: State) -> None:
    """Where there is a text to send, which takes one answer after the other."""
    copies = await rested(state, PAGES)
    copies.here.put("home", f"{TEXT}four\n")
    is_asked = asyncio.Event()

    async def answer_late(entry: str) -> None:
        if entry.startswith("snapshot"):
            async with asyncio.timeout(ANSWER_S):
                await is_asked.wait()

    async def confirm() -> None:
        is_asked.set()

    copies.there.before = answer_late
    await run_cycle(Cycle(copies.there, copies.here, copies.known, confirm=confirm))
    assert copies.texts()["home"] == f"{TEXT}four\n"


async def test_nothing_is_sent_before_it_is_known_whose_wiki_it_is(
    state: State,
) -> None:
    """Also where the wiki itself answered long before."""
    copies = await rested(state, PAGES)
    copies.here.put("home", f"{TEXT}four\n")
    copies.here.put("new", "new\n")
    before = copies.there.texts()
    is_listed = asyncio.Event()

    async def list_at_once(entry: str) -> None:
        if entry.startswith("snapshot"):
            is_listed.set()

    async def confirm() -> None:
        async with asyncio.timeout(ANSWER_S):
            await is_listed.wait()
        raise Halted("it is another wiki")

    copies.there.before = list_at_once
    with pytest.raises(Halted):
        await run_cycle(Cycle(copies.there, copies.here, copies.known, confirm=confirm))
    assert copies.there.texts() == before


async def test_a_file_in_windows_style_keeps_its_line_ends(state: State) -> None:
    copies = await rested(state, {"home": "one\r\ntwo\r\n"})
    copies.there.put("home", "one\ntwo\nthree\n")
    await copies.rest()
    assert copies.here.texts()["home"] == "one\r\ntwo\r\nthree\r\n"
    assert copies.there.texts()["home"] == "one\ntwo\nthree\n"


async def test_line_ends_alone_are_no_edit(copies: Copies) -> None:
    copies.here.put("home", TEXT.replace("\n", "\r\n"))
    copies.there.put("other", "other")
    await copies.rest()
    assert copies.here.changes == copies.there.changes == []
    assert copies.known.base()[HOME].local == digest_of(TEXT.replace("\n", "\r\n"))


async def test_a_cycle_that_failed_says_why_and_the_next_good_one_forgets_it(
    copies: Copies,
) -> None:

    copies.there.fail("snapshot", Unavailable("the service is away"))
    with pytest.raises(Unavailable):
        await copies.cycle()
    assert copies.known.memory.health.problem == "the service is away"
    copies.there.before = copies.here.before
    await copies.cycle()
    assert copies.known.memory.health.problem == ""


async def test_each_change_is_told_in_the_log_of_the_page(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    await copies.rest()
    assert [event.slug for event in copies.known.events(5)] == [HOME]

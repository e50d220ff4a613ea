"""Cycles both ways as a person sees them, each rule of ``docs/sync.md`` once."""

import asyncio

import pytest

from tests.support.copies import OWNER, Copies, rested
from tests.support.memory import nothing_before
from wikisync.core.model import Slug, digest_of
from wikisync.errors import AuthenticationFailed, Halted, Unavailable
from wikisync.sync.base.state import State
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.decide.safety import BatchKind, Decision
from wikisync.sync.replica import RemoteReplica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import CycleOptions

HOME = Slug("home")
TEXT = "one\ntwo\nthree\n"
PAGES = {"home": TEXT, "other": "other\n"}
ANSWER_S = 10.0
"""The service would have answered by then."""
MANY = {f"page-{number:02d}": f"text {number}\n" for number in range(40)}


async def settled(state: State, pages: dict[str, str] | None = None) -> Copies:
    return await rested(state, PAGES if pages is None else pages)


@pytest.fixture
async def copies(state: State) -> Copies:
    return await settled(state)


# -- first sync --------------------------------------------------------------------


async def test_equal_pages_are_taken_as_they_are(copies: Copies) -> None:
    assert copies.here.changes == copies.there.changes == []
    assert set(copies.known.base()) == {HOME, Slug("other")}


async def test_a_save_while_an_equal_page_is_noted_is_an_edit(state: State) -> None:
    """A look that says "nothing changed" brings no texts, and the file is read."""
    copies = Copies(state, PAGES)
    copies.there.gives_texts = False

    async def save(entry: str) -> None:
        if entry == "read home":
            copies.here.before = nothing_before
            copies.here.put("home", f"{TEXT}saved meanwhile\n")

    copies.here.before = save
    await copies.cycle()
    copies.there.put("home", f"above\n{TEXT}")
    await copies.rest()
    assert copies.texts()["home"] == f"above\n{TEXT}saved meanwhile\n"


async def test_a_file_that_goes_while_an_equal_page_is_noted_is_one_that_was_there(
    state: State,
) -> None:
    copies = Copies(state, PAGES)
    copies.there.gives_texts = False

    async def remove(entry: str) -> None:
        if entry == "read home":
            copies.here.before = nothing_before
            copies.here.remove("home")

    copies.here.before = remove
    await copies.cycle()
    assert set(copies.known.base()) == {HOME, Slug("other")}


async def test_a_page_that_changes_on_both_sides_while_it_is_noted_is_held(
    state: State,
) -> None:
    """No text is left that both of them had."""
    copies = Copies(state, PAGES)
    copies.there.gives_texts = False

    async def save(entry: str) -> None:
        if entry == "read home":
            copies.here.before = nothing_before
            copies.here.put("home", f"{TEXT}saved here\n")
            copies.there.put("home", f"{TEXT}saved there\n")

    copies.here.before = save
    result = await copies.rest()
    assert [(one.slug, one.reason) for one in result.held] == [
        (HOME, HoldReason.CREATED_BOTH)
    ]


async def test_a_first_sync_deletes_nothing(state: State) -> None:
    copies = Copies(state)
    copies.here.put("mine", "mine\n")
    copies.there.put("theirs", "theirs\n")
    await copies.rest()
    assert copies.texts() == {"mine": "mine\n", "theirs": "theirs\n"}


async def test_two_texts_without_an_ancestor_are_held(state: State) -> None:
    copies = Copies(state)
    copies.here.put("home", "mine\n")
    copies.there.put("home", "theirs\n")
    result = await copies.rest()
    assert [(one.slug, one.reason) for one in result.held] == [
        (HOME, HoldReason.CREATED_BOTH)
    ]
    assert copies.here.texts() == {"home": "mine\n"}
    assert copies.there.texts() == {"home": "theirs\n"}


async def test_a_damaged_state_is_a_first_sync(state: State) -> None:
    """What was forgotten cannot look deleted."""
    copies = await settled(state)
    state.begin_anew(OWNER)
    copies.here.remove("home")
    copies.there.remove("other")
    await copies.rest()
    assert copies.texts() == PAGES


# -- both sides --------------------------------------------------------------------


async def test_edits_in_different_lines_are_merged_and_pushed(copies: Copies) -> None:
    copies.here.put("home", "one, here\ntwo\nthree\n")
    copies.there.put("home", "one\ntwo\nthree, there\n")
    await copies.rest()
    assert copies.texts()["home"] == "one, here\ntwo\nthree, there\n"


async def test_pages_removed_one_after_the_other_are_asked_about(state: State) -> None:
    """A few at each look, as `rm` in steps or a disk that fades away does it."""
    copies = await settled(state, MANY)
    for slug in list(MANY)[:12]:
        del copies.here.pages[Slug(slug)]
        await copies.cycles(3)
    gone = MANY.keys() - copies.there.texts().keys()
    assert len(gone) == 4
    assert [b.decision for b in copies.known.memory.batches] == [Decision.WAITING]


async def test_pages_removed_over_hours_are_not_asked_about(state: State) -> None:
    copies = await settled(state, MANY)
    for slug in list(MANY)[:6]:
        del copies.here.pages[Slug(slug)]
        await copies.cycles(3)
        copies.now += 3600
    assert len(copies.there.texts()) == len(MANY) - 6


async def test_pages_of_a_directory_that_is_left_empty_wait(state: State) -> None:
    copies = await settled(state, {**MANY, **{f"disk/{n}": "x\n" for n in range(3)}})
    for number in range(3):
        del copies.here.pages[Slug(f"disk/{number}")]
    copies.here.left_empty = frozenset(Slug(f"disk/{n}") for n in range(3))
    await copies.cycles(4)
    assert "disk/0" in copies.there.texts()
    (batch,) = copies.known.memory.batches
    assert batch.kind is BatchKind.EMPTIED


async def test_nothing_is_written_below_a_directory_that_is_left_empty(
    state: State,
) -> None:
    """A disk that comes back would hide it, and then it would seem to be deleted."""
    copies = await settled(state, {**MANY, **{f"disk/{n}": "x\n" for n in range(4)}})
    away = [copies.here.pages.pop(Slug(f"disk/{number}")) for number in range(4)]
    copies.there.put("disk/0", "x\nedited there\n")
    copies.there.put("disk/new", "new there\n")
    names = ("0", "1", "2", "3", "new")
    copies.here.left_empty = frozenset(Slug(f"disk/{name}") for name in names)
    await copies.cycles(4)
    assert not [slug for slug in copies.here.texts() if slug.startswith("disk/")]
    copies.here.left_empty = frozenset()
    for page in away:
        copies.here.put(page.slug, page.content)
    await copies.rest()
    assert copies.texts()["disk/0"] == "x\nedited there\n"
    assert copies.texts()["disk/new"] == "new there\n"


async def test_held_pages_of_a_directory_that_is_left_empty_are_not_settled(
    state: State,
) -> None:
    """Else the texts that come back with the disk are edits of the wiki's."""
    copies = await settled(state, MANY)
    for number in range(3):
        copies.here.put(f"disk/{number}", f"here {number}\n")
        copies.there.put(f"disk/{number}", f"there {number}\n")
    assert len((await copies.rest()).held) == 3
    away = [copies.here.pages.pop(Slug(f"disk/{number}")) for number in range(3)]
    copies.here.left_empty = frozenset(page.slug for page in away)
    await copies.cycles(4)
    copies.here.left_empty = frozenset()
    for page in away:
        copies.here.put(page.slug, page.content)
    assert len((await copies.rest()).held) == 3
    assert copies.there.texts()["disk/0"] == "there 0\n"
    assert len(copies.here.conflicts) == 3


async def test_a_disk_stays_away_though_its_pages_go_on_the_wiki(state: State) -> None:
    """Then fewer are left than make a directory an emptied one."""
    copies = await settled(state, {**MANY, **{f"disk/{n}": "x\n" for n in range(3)}})
    for number in range(3):
        del copies.here.pages[Slug(f"disk/{number}")]
    copies.here.left_empty = frozenset(Slug(f"disk/{n}") for n in range(3))
    await copies.cycle()
    copies.there.remove("disk/0")
    await copies.cycles(6)
    assert {"disk/1", "disk/2"} <= copies.there.texts().keys()


async def disk_away(state: State, *names: str) -> Copies:
    """A wiki of whose directory ``disk`` only an empty mount point is left."""
    copies = await settled(state, {**MANY, **{f"disk/{n}": "x\n" for n in range(4)}})
    for number in range(4):
        del copies.here.pages[Slug(f"disk/{number}")]
    copies.here.left_empty = frozenset(
        Slug(f"disk/{name}") for name in ("0", "1", "2", "3", *names)
    )
    await copies.cycle()
    return copies


def bring_disk(copies: Copies) -> None:
    """The disk is back, and hides what was written in its place."""
    copies.here.left_empty = frozenset()
    for number in range(4):
        copies.here.put(f"disk/{number}", "x\n")


@pytest.mark.parametrize("mine", [MANY["page-39"], "edited\n"])
@pytest.mark.parametrize("text", [MANY["page-39"], "edited\n"])
async def test_no_file_is_renamed_into_a_directory_that_is_left_empty(
    state: State, mine: str, text: str
) -> None:
    """Nor is anything done to it under the name that it would get."""
    copies = await disk_away(state, "moved")
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
    copies = await disk_away(state, "moved")
    copies.rename_there("page-39", "disk/moved")
    await copies.cycles(3)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["disk/moved"] == MANY["page-39"]


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


async def test_pages_below_an_emptied_directory_come_when_that_is_refused(
    state: State,
) -> None:
    copies = await settled(state, {**MANY, **{f"disk/{n}": "x\n" for n in range(3)}})
    for number in range(3):
        del copies.here.pages[Slug(f"disk/{number}")]
    copies.there.put("disk/new", "new there\n")
    names = ("0", "1", "2", "new")
    copies.here.left_empty = frozenset(Slug(f"disk/{name}") for name in names)
    await copies.cycles(3)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert {f"disk/{name}" for name in names} <= copies.texts().keys()


async def test_both_texts_inserted_at_one_place_stay(copies: Copies) -> None:
    copies.here.put("home", TEXT + "- mine\n")
    copies.there.put("home", TEXT + "- theirs\n")
    await copies.rest()
    assert copies.texts()["home"] == TEXT + "- theirs\n- mine\n"


async def test_the_same_edit_on_both_sides_is_no_conflict(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    copies.there.put("home", "edited\n")
    result = await copies.rest()
    assert not result.held
    assert copies.here.changes == copies.there.changes == []


async def test_a_rename_here_takes_an_edit_there_along(copies: Copies) -> None:
    copies.rename_here("home", "start")
    copies.there.put("home", "edited there\n")
    await copies.rest()
    assert copies.texts()["start"] == "edited there\n"
    assert "home" not in copies.texts()


async def test_renamed_to_two_names_the_wikis_wins(state: State) -> None:
    copies = Copies(state, PAGES)
    copies.there.identities = {HOME: "7"}
    await copies.rest()
    copies.rename_here("home", "mine")
    page = copies.there.pages.pop(HOME)
    copies.there.put("theirs", page.content)
    copies.there.identities = {Slug("theirs"): "7"}
    await copies.rest()
    assert copies.texts() == {"theirs": TEXT, "other": "other\n"}


async def test_a_subtree_renamed_here_follows_page_by_page(state: State) -> None:
    pages = {"guide": "g\n", "guide/first": "1\n", "guide/second": "2\n"}
    copies = await settled(state, pages)
    for slug in pages:
        copies.rename_here(slug, slug.replace("guide", "manual"))
    await copies.rest()
    assert copies.texts() == {
        slug.replace("guide", "manual"): text for slug, text in pages.items()
    }


async def test_deleted_on_both_sides_only_the_record_goes(copies: Copies) -> None:
    copies.here.remove("home")
    copies.there.remove("home")
    await copies.rest()
    assert set(copies.known.base()) == {Slug("other")}
    assert copies.here.changes == copies.there.changes == []


# -- directions and dry runs -------------------------------------------------------


async def test_a_dry_run_changes_nothing_anywhere(copies: Copies) -> None:
    copies.here.put("home", "mine\n")
    copies.there.put("other", "theirs\n")
    base = dict(copies.known.base())
    result = await copies.plan()
    assert len(result.plan.actions) == 2
    assert copies.here.changes == copies.there.changes == []
    assert copies.known.base() == base


@pytest.mark.parametrize(
    ("direction", "here", "there"),
    [(Direction.PULL, ["write other"], []), (Direction.PUSH, [], ["write home"])],
)
async def test_one_direction_writes_one_side(
    copies: Copies, direction: Direction, here: list[str], there: list[str]
) -> None:
    copies.here.put("home", "mine\n")
    copies.there.put("other", "theirs\n")
    await copies.cycle(CycleOptions(direction=direction))
    assert (copies.here.changes, copies.there.changes) == (here, there)


async def test_only_the_page_asked_for_is_carried(copies: Copies) -> None:
    copies.here.put("home", "mine\n")
    copies.here.put("other", "mine too\n")
    await copies.cycle(CycleOptions(pages=frozenset({HOME})))
    assert copies.there.changes == ["write home"]


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


async def test_another_wiki_under_the_path_is_left_alone(state: State) -> None:
    pages = {f"page-{number}": TEXT for number in range(9)}
    first = Copies(state, pages)
    second = Copies(state, {**dict(list(pages.items())[1:]), "new": "new\n"})

    async def cycle(there: RemoteReplica, number: str) -> None:
        await run_cycle(there, first.here, state, owner=OWNER, remote_id=number)

    await cycle(first.there, "1")
    first.here.put("mine", "mine\n")
    with pytest.raises(Halted, match=r"another project now \(2, not 1\)"):
        await cycle(second.there, "2")
    assert first.here.texts() == {**pages, "mine": "mine\n"}
    assert "mine" not in second.there.texts()
    await cycle(first.there, "1")
    assert first.there.texts() == {**pages, "mine": "mine\n"}


async def test_whose_wiki_it_is_is_asked_while_it_answers(state: State) -> None:
    """Where there is a text to send, which takes one answer after the other."""
    copies = await settled(state)
    copies.here.put("home", f"{TEXT}four\n")
    is_asked = asyncio.Event()

    async def answer_late(entry: str) -> None:
        if entry.startswith("snapshot"):
            async with asyncio.timeout(ANSWER_S):
                await is_asked.wait()

    async def confirm() -> None:
        is_asked.set()

    copies.there.before = answer_late
    await run_cycle(copies.there, copies.here, state, owner=OWNER, confirm=confirm)
    assert copies.texts()["home"] == f"{TEXT}four\n"


async def test_nothing_is_sent_before_it_is_known_whose_wiki_it_is(
    state: State,
) -> None:
    """Also where the wiki itself answered long before."""
    copies = await settled(state)
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
        await run_cycle(copies.there, copies.here, state, owner=OWNER, confirm=confirm)
    assert copies.there.texts() == before


async def test_a_file_in_windows_style_keeps_its_line_ends(state: State) -> None:
    copies = await settled(state, {"home": "one\r\ntwo\r\n"})
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


async def test_a_refused_token_removes_nothing(copies: Copies) -> None:
    async def before(_entry: str) -> None:
        raise AuthenticationFailed("the token was revoked")

    copies.there.before = before
    for _ in range(4):
        with pytest.raises(AuthenticationFailed):
            await copies.cycle()
    assert copies.here.texts() == PAGES


async def test_each_change_is_told_in_the_log_of_the_page(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    await copies.rest()
    assert [event.slug for event in copies.known.events(5)] == [HOME]

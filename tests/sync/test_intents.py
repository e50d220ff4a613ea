"""``docs/sync.md`` "Crashes": what the next start makes of a call that was cut short.

Each call is ended once before the wiki took it and once after, and the next cycle
must neither make it twice nor hold a page for it.
"""

import pytest

from tests.support.copies import PAGES, Copies, Died, rested
from wikisync.core.model import Digest, Page, Slug, Snapshot, temporary_name
from wikisync.errors import ProtocolViolation, Rejected
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import Intent, WriteKind

HOME, FRESH = Slug("home"), Slug("fresh")


async def stopped(copies: Copies) -> None:
    """A cycle that ends with the process, and the next process."""
    with pytest.raises(Died):
        await copies.cycle()
    copies.there.before = copies.here.before


async def lost(copies: Copies, operation: str) -> None:
    """A cycle in which the wiki takes a call and the answer is lost."""
    copies.there.loses = {operation}
    await copies.cycle()
    copies.there.loses = set()


async def merge_cut_short(copies: Copies, *, is_written: bool) -> None:
    """Edits of both sides are merged, and the process ends at the write here."""
    copies.here.put("home", "one, here\ntwo\nthree\n")
    copies.there.put("home", "one\ntwo\nthree, there\n")
    write = copies.here.write

    async def dying(page: object, *, expected: object) -> object:
        if is_written:
            await write(page, expected=expected)  # type: ignore[arg-type]
        raise Died

    copies.here.write = dying  # type: ignore[method-assign,assignment]
    with pytest.raises(Died):
        await copies.cycle()
    del copies.here.write


def writes(copies: Copies) -> list[str]:
    return copies.there.changes


async def test_an_edit_that_was_never_sent_is_planned_anew(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    copies.there.fail("write", Died())
    await stopped(copies)
    assert [one.operation for one in copies.known.intents()] == [WriteKind.REPLACE]
    await copies.rest()
    assert copies.texts()["home"] == "edited\n"
    assert writes(copies) == ["write home"]


async def test_an_edit_that_came_through_is_not_sent_twice(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    await lost(copies, "write")
    result = await copies.rest()
    assert copies.texts()["home"] == "edited\n"
    assert writes(copies) == ["write home"]
    assert not result.held
    assert not copies.known.intents()


async def test_edits_on_both_sides_of_a_lost_answer_are_merged(copies: Copies) -> None:
    """Without looking, the page would be held: its own text clashes with itself."""
    copies.here.put("home", "one, here\ntwo\nthree\n")
    await lost(copies, "write")
    copies.here.put("home", "one, here and again\ntwo\nthree\n")
    result = await copies.rest()
    assert copies.texts()["home"] == "one, here and again\ntwo\nthree\n"
    assert not result.held


async def test_an_edit_of_a_new_page_that_came_through_is_sent(copies: Copies) -> None:
    """Without looking, the page would clash with its own first text."""
    copies.here.put("fresh", "new\n")
    await lost(copies, "write")
    copies.there.put("stranger", "new\n")
    copies.here.put("fresh", "new, and edited\n")
    result = await copies.rest()
    assert copies.texts()["fresh"] == "new, and edited\n"
    assert not result.held


async def test_a_new_page_is_found_under_the_name_it_was_given(copies: Copies) -> None:
    """The answer that was lost would have told it."""
    copies.there.renames = {Slug("My Page"): Slug("My-Page")}
    copies.here.put("My Page", "new\n")
    await lost(copies, "write")
    await copies.cycle()
    assert copies.known.aliases() == {Slug("My Page"): Slug("My-Page")}
    assert writes(copies) == ["write My-Page"]


async def test_an_edit_made_while_a_new_page_is_sought_is_an_edit(
    copies: Copies,
) -> None:
    """The page was found by its text, and has another one a moment later."""
    copies.here.put("fresh", "mine\n")
    await lost(copies, "write")
    page = copies.there.pages.pop(FRESH)
    copies.there.put("Fresh", page.content)
    snapshot = copies.there.snapshot

    async def overtaken() -> Snapshot:
        seen = await snapshot()
        copies.there.put("Fresh", "theirs\n")
        return seen

    copies.there.snapshot = overtaken  # type: ignore[method-assign]
    copies.here.put("fresh", "mine, edited\n")
    await copies.cycle()
    copies.there.snapshot = snapshot  # type: ignore[method-assign]
    await copies.rest()
    assert copies.there.texts()["Fresh"] == "theirs\n"


async def test_two_pages_of_one_text_are_not_taken_for_the_lost_one(
    copies: Copies,
) -> None:
    copies.there.renames = {FRESH: Slug("Fresh-1")}
    copies.here.put("fresh", "new\n")
    await lost(copies, "write")
    copies.there.put("stranger", "new\n")
    copies.there.renames = {}
    await copies.cycle()
    assert not copies.known.aliases()


async def test_a_page_on_a_list_with_gaps_is_not_taken_for_the_lost_one(
    copies: Copies,
) -> None:
    """The list may lack another page of this text."""
    copies.here.put("fresh", "new\n")
    copies.there.fail("write", Died())
    await stopped(copies)
    copies.there.put("stranger", "new\n")
    copies.there.is_complete = False
    await copies.cycle()
    assert not copies.known.aliases()


async def test_a_page_with_a_file_of_its_own_is_not_taken_for_the_lost_one(
    copies: Copies,
) -> None:
    """The file's own text would replace the page's."""
    copies.here.put("fresh", "new\n")
    copies.there.fail("write", Died())
    await stopped(copies)
    copies.here.put("twin", "another text\n")
    copies.there.put("twin", "new\n")
    result = await copies.rest()
    assert [page.slug for page in result.held] == ["twin"]
    assert copies.there.texts() == {**PAGES, "fresh": "new\n", "twin": "new\n"}


async def test_a_rename_that_came_through_is_noted(copies: Copies) -> None:
    copies.rename_here("home", "start")
    await lost(copies, "move")
    await copies.rest()
    assert copies.texts() == {"start": PAGES["home"], "other": "other\n"}
    assert writes(copies) == ["move home start"]
    assert HOME not in copies.known.base()


async def test_an_edit_after_a_rename_that_came_through_is_sent(copies: Copies) -> None:
    """Without looking, two new pages of one name would clash."""
    copies.rename_here("home", "start")
    await lost(copies, "move")
    copies.here.put("start", "edited\n")
    result = await copies.rest()
    assert copies.texts() == {"start": "edited\n", "other": "other\n"}
    assert not result.held


async def test_a_rename_that_was_noted_is_not_noted_twice(copies: Copies) -> None:
    """The process may end between the note and forgetting the intent."""
    copies.rename_here("home", "start")
    await copies.rest()
    (page,) = (page for page in copies.known.base().values() if page.slug == "start")
    copies.known.begin(
        Intent(WriteKind.MOVE, HOME, target=Slug("start"), before=page.remote)
    )
    await copies.rest()
    assert copies.known.base()[Slug("start")] == page
    assert writes(copies) == ["move home start"]


async def test_a_strangers_page_is_not_taken_for_the_renamed_one(
    copies: Copies,
) -> None:
    """Its text would replace that of the page here."""
    copies.rename_here("home", "start")
    copies.there.fail("move", Died())
    await stopped(copies)
    copies.there.remove("home")
    copies.there.put("start", "a stranger's\n")
    result = await copies.rest()
    assert [page.slug for page in result.held] == ["start"]
    assert copies.here.texts()["start"] == PAGES["home"]


async def test_a_rename_after_a_lost_answer_is_a_rename(copies: Copies) -> None:
    copies.here.put("home", "edited\n")
    await lost(copies, "write")
    copies.rename_here("home", "start")
    copies.here.put("start", "edited again\n")
    await copies.rest()
    assert writes(copies) == ["write home", "move home start", "write start"]


async def test_a_page_that_cannot_be_read_keeps_no_other_waiting(
    copies: Copies,
) -> None:
    copies.here.put("home", "edited\n")
    await lost(copies, "write")

    copies.there.fail("read home", ProtocolViolation("no page, but a web page"))
    copies.here.put("other", "edited too\n")
    await copies.cycle()
    assert copies.there.texts()["other"] == "edited too\n"


@pytest.mark.parametrize("came_through", [False, True])
async def test_a_removal_whose_answer_is_lost_is_made_once(
    copies: Copies, came_through: bool
) -> None:
    copies.here.remove("home")
    await copies.cycle()
    if came_through:
        await lost(copies, "delete")
    else:
        copies.there.fail("delete", Died())
        await stopped(copies)
    await copies.rest()
    assert copies.texts() == {"other": "other\n"}
    assert writes(copies) == ["delete home"]


async def test_a_page_put_back_after_a_lost_removal_is_sent_anew(
    copies: Copies,
) -> None:
    """Without looking, it would be gone from the wiki, and then from here."""
    copies.here.remove("home")
    await copies.cycle()
    await lost(copies, "delete")
    copies.here.put("home", PAGES["home"])
    await copies.rest()
    assert copies.texts() == PAGES


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_merge_cut_short_is_no_clash(copies: Copies, is_written: bool) -> None:
    """The file holds the merge, or not; the base must follow in the first case."""
    await merge_cut_short(copies, is_written=is_written)
    result = await copies.rest()
    assert copies.texts()["home"] == "one, here\ntwo\nthree, there\n"
    assert not result.held


async def test_an_edit_on_the_wiki_after_a_merge_cut_short_is_no_clash(
    copies: Copies,
) -> None:
    """The file holds the wiki's words already, so that they are nobody's edit here."""
    await merge_cut_short(copies, is_written=True)
    copies.there.put("home", "one\ntwo\nthree, there and again\n")
    result = await copies.rest()
    assert copies.texts()["home"] == "one, here\ntwo\nthree, there and again\n"
    assert not result.held


# -- renames to a look-alike name, in two writes -----------------------------------


async def cut_rename(state: State) -> Copies:
    """The process ended between the two writes, as the page had its temporary name."""
    copies = await rested(state, {**PAGES, "home/below": "below\n"})
    copies.rename_here("home", "Home")
    copies.rename_here("home/below", "Home/below")
    copies.there.fail("move", Died())
    await stopped(copies)
    transient = temporary_name(HOME, Slug("Home"))
    copies.rename_there("home", transient)
    copies.rename_there("home/below", f"{transient}/below")
    return copies


async def test_a_rename_that_cannot_be_finished_is_undone(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = await cut_rename(state)
    move = copies.there.move

    async def refuse(slug: Slug, target: Slug, *, expected: Digest) -> Page:
        if target == "Home":
            raise Rejected("the service refuses the name")
        return await move(slug, target, expected=expected)

    monkeypatch.setattr(copies.there, "move", refuse)
    await copies.cycle()
    assert copies.there.texts().keys() == {"home", "home/below", "other"}


async def test_another_folder_takes_no_temporary_name_for_a_persons(
    state: State,
) -> None:
    """It waits until the one that renames has done both writes."""
    copies = await rested(state, {**PAGES, "home/below": "below\n"})
    before = copies.here.texts()
    transient = temporary_name(HOME, Slug("Home"))
    copies.rename_there("home", transient)
    copies.rename_there("home/below", f"{transient}/below")
    await copies.cycles(2)
    assert copies.here.texts() == before
    copies.rename_there(transient, "Home")
    copies.rename_there(f"{transient}/below", "Home/below")
    await copies.rest()
    assert copies.texts().keys() == {"Home", "Home/below", "other"}


async def test_a_rename_whose_names_are_both_taken_keeps_no_other_page_back(
    state: State,
) -> None:
    """Somebody made a page of that name meanwhile; both are pages from then on."""
    copies = await cut_rename(state)
    copies.there.put("HOME", "another\n")
    copies.here.put("other", "edited\n")
    copies.there.fail("move", Rejected("both names are taken"))
    await copies.cycles(4)
    transient = temporary_name(HOME, Slug("Home"))
    assert copies.texts() == {
        transient: PAGES["home"],
        f"{transient}/below": "below\n",
        "HOME": "another\n",
        "other": "edited\n",
    }
    assert copies.known.intents() == ()

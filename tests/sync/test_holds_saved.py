"""Conflict files that are saved, or come and go, while a cycle writes them."""

import contextlib

import pytest

from tests.support.clash import BASE, BOTH, MINE, THEIRS
from tests.support.copies import Copies, Died
from wikisync.core.model import Slug
from wikisync.errors import FolderError
from wikisync.merging.conflict import Clash, read_conflict_file
from wikisync.sync.base.state import State


def edited_both(state: State) -> Copies:
    copies = Copies(state, {"home": BASE})
    copies.here.put("home", MINE)
    copies.there.put("home", THEIRS)
    return copies


@pytest.fixture
async def copies(state: State) -> Copies:
    """Its conflict is shown."""
    copies = edited_both(state)
    await copies.rest()
    return copies


def save_before(copies: Copies, operation: str, text: str) -> None:
    """A person saves the conflict file right before it is written or removed."""
    files = copies.here.conflicts
    copies.here.before_once(operation, lambda: files.update({Slug("home"): text}))


async def test_a_settlement_that_is_saved_once_more_takes_no_edit_of_the_page_back(
    copies: Copies,
) -> None:
    copies.here.conflicts[Slug("home")] = BOTH
    copies.here.put("home", MINE + "\nsaved here\n")
    save_before(copies, "remove_conflict home", BOTH.replace("Home", "House"))
    await copies.rest()
    assert copies.texts() == {"home": BOTH.replace("Home", "House") + "\nsaved here\n"}


async def test_work_that_is_saved_as_its_file_is_brought_up_to_date_stays(
    copies: Copies,
) -> None:
    copies.there.put("home", THEIRS + "\nmore\n")
    save_before(copies, "write_conflict home", BOTH)
    await copies.rest()
    assert copies.texts() == {"home": BOTH + "\nmore\n"}


@pytest.mark.parametrize("is_hidden", [False, True])
async def test_conflict_file_where_a_held_page_is_renamed_settles_nothing(
    state: State, *, is_hidden: bool
) -> None:
    """A person moved another page's there, settled; the wiki gives a page the name."""
    copies = Copies(state, {"home": BASE})
    copies.there.identities[Slug("home")] = "1"
    await copies.rest()
    copies.here.put("home", MINE)
    copies.there.put("home", THEIRS)
    await copies.rest()
    begun = copies.here.conflicts[Slug("home")] + "begun\n"
    copies.here.conflicts[Slug("home")] = begun
    copies.here.conflicts[Slug("new")] = "another page, settled\n"
    if is_hidden:
        del copies.here.conflicts[Slug("home")]
    copies.rename_there("home", "new")
    copies.there.identities[Slug("new")] = copies.there.identities.pop(Slug("home"))
    result = await copies.cycle()
    assert [one.code for one in result.problems] == ["conflict-over"]
    await copies.rest()
    assert copies.here.texts() == {"new": MINE}
    assert copies.there.texts() == {"new": THEIRS}
    assert copies.here.conflicts == ({} if is_hidden else {"new": begun})
    kept = [text for _, text, _ in copies.here.trash]
    assert "another page, settled\n" in kept


async def test_what_was_thrown_away_is_in_the_log_of_a_cycle_that_failed(
    copies: Copies,
) -> None:
    copies.here.conflicts[Slug("home")] += "begun\n"
    copies.here.put("home", THEIRS)

    async def before(entry: str) -> None:
        if entry == "write home" or "home" not in copies.here.conflicts:
            raise FolderError("the disk is full")

    copies.here.before = before
    with contextlib.suppress(FolderError):
        await copies.cycle()
    events = copies.known.events(5, Slug("home"))
    assert any("in the trash" in event.what for event in events)


async def test_conflict_file_that_comes_while_the_folder_is_scanned_stays(
    copies: Copies,
) -> None:
    """A person moves one beside a page that is held no more and had none left."""
    copies.here.conflicts.clear()
    copies.here.put("home", THEIRS)
    scans = []

    async def before(entry: str) -> None:
        scans.extend([entry] * entry.startswith("snapshot"))
        if len(scans) == 2:
            copies.here.conflicts[Slug("home")] = BOTH

    copies.here.before = before
    await copies.cycle()
    assert copies.here.conflicts == {"home": BOTH}


async def test_page_that_is_saved_as_its_settlement_follows_it_keeps_that_save(
    copies: Copies,
) -> None:
    """Both were renamed; what is saved then is no text that was in conflict."""
    copies.here.conflicts[Slug("moved")] = BOTH
    del copies.here.conflicts[Slug("home")]
    copies.rename_here("home", "moved")
    saved = MINE.replace("last", "last, saved late")
    copies.here.before_once("read moved", lambda: copies.here.put("moved", saved))
    await copies.rest()
    assert copies.here.texts()["moved"] == saved


async def test_conflict_file_in_the_place_of_another_is_named_before_it_goes(
    state: State,
) -> None:
    """The process may end right after."""
    copies = edited_both(state)
    copies.here.conflicts[Slug("home")] = "another's\n"

    copies.here.fail("write_conflict home", Died())
    with contextlib.suppress(Died):
        await copies.cycle()
    events = copies.known.events(5, Slug("home"))
    assert any("in the trash" in event.what for event in events)


async def test_conflict_file_that_comes_as_one_is_written_is_named_and_kept(
    state: State,
) -> None:
    """A person moves one there right before."""
    copies = Copies(state, {"home": BASE})
    copies.here.put("home", MINE)
    copies.there.put("home", THEIRS)
    save_before(copies, "write_conflict home", "another's\n")
    await copies.cycle()
    assert copies.here.conflicts == {"home": "another's\n"}
    result = await copies.cycle()
    assert [one.code for one in result.problems] == ["conflict-over"]
    assert any(text == "another's\n" for _, text, _ in copies.here.trash)


async def test_settled_where_another_page_has_got_the_name_asks_again(
    copies: Copies,
) -> None:
    """Of the page that was in conflict no line is left, so nothing can be merged."""
    settled = f"top\n\n{MINE}"
    copies.here.conflicts[Slug("home")] = settled
    copies.here.put("home", "another page\n")
    result = await copies.cycle()
    assert [one.code for one in result.problems] == ["conflict-again"]
    assert copies.here.texts() == {"home": "another page\n"}
    (clash,) = read_conflict_file(copies.here.conflicts[Slug("home")]).pieces
    assert isinstance(clash, Clash)
    assert (clash.local, clash.remote) == ("another page\n", settled)


async def edited_beside_its_conflict(state: State, settled: str) -> Copies:
    """A list in conflict, to which its page got items, and its settlement."""
    copies = Copies(state, {"home": "- first\n"})
    copies.here.put("home", "- mine\n")
    copies.there.put("home", "- theirs\n")
    await copies.rest()
    copies.here.conflicts[Slug("home")] = settled
    copies.here.put("home", "- top\n- mine\n- end\n")
    return copies


@pytest.mark.parametrize("settled", ["- another\n", "- theirs\n"])
async def test_settlement_is_not_merged_where_lines_were_added_beside_what_it_ends(
    settled: str, state: State
) -> None:
    """Two conflict files that swapped their names: each would remove a page's text."""
    copies = await edited_beside_its_conflict(state, settled)
    result = await copies.cycle()
    assert [one.code for one in result.problems] == ["conflict-again"]
    assert copies.here.texts() == {"home": "- top\n- mine\n- end\n"}
    (clash,) = read_conflict_file(copies.here.conflicts[Slug("home")]).pieces
    assert isinstance(clash, Clash)
    assert clash.remote == settled


async def test_settlement_by_lines_of_one_side_is_merged_into_an_edited_page(
    state: State,
) -> None:
    copies = await edited_beside_its_conflict(state, "- mine\n- new\n")
    await copies.rest()
    assert copies.texts() == {"home": "- top\n- mine\n- new\n- end\n"}

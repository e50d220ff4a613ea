"""Files that keep another name than the service gave their page."""

from pathlib import Path

import pytest

from tests.support.copies import Copies
from tests.support.pair import Pair, paired
from tests.support.quirks import Quirk
from wikisync.core.model import Format, Page, Slug
from wikisync.merging.conflict import MARKER
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.views import AliasedFolder

FILE, PAGE = Slug("My Page"), Slug("My-Page")


@pytest.fixture
async def copies(state: State) -> Copies:
    """A file that the service gave another name."""
    copies = Copies(state, {"other": "other\n"})
    copies.there.renames = {FILE: PAGE}
    copies.here.put(FILE, "one\n")
    await copies.rest()
    return copies


async def test_the_file_stays_as_its_writer_named_it(pair: Pair) -> None:
    path = pair.save("My Page", "one\n")
    await pair.rest()
    assert path.read_text() == "one\n"
    assert set(await pair.wiki_texts()) == {"My-Page"}
    pair.restart()
    await pair.edit("My-Page", "edited there\n")
    await pair.rest()
    assert path.read_text() == "edited there\n"


async def test_a_marker_line_is_found_under_the_files_name(copies: Copies) -> None:
    copies.here.put(FILE, f"{MARKER} conflict 1 of 1: here %%%%\n")
    result = await copies.rest()
    assert [(one.slug, one.reason) for one in result.held] == [
        (PAGE, HoldReason.MARKER)
    ]
    assert copies.there.texts()[PAGE] == "one\n"


async def test_a_file_by_the_pages_own_name_is_reported_and_never_sent(
    copies: Copies,
) -> None:
    copies.here.put(PAGE, "another\n")
    result = await copies.rest()
    (problem,) = result.problems
    assert (problem.code, str(problem)) == (
        "duplicate-page",
        "My-Page: the file My Page is this page already; the file My-Page is skipped",
    )
    copies.here.put(FILE, "edited\n")
    await copies.rest()
    copies.there.put(PAGE, "edited there\n")
    await copies.rest()
    assert copies.there.texts() == {"other": "other\n", PAGE: "edited there\n"}
    assert copies.here.texts() == {
        "other": "other\n",
        FILE: "edited there\n",
        PAGE: "another\n",
    }


async def test_two_new_files_of_one_page_never_overwrite_each_other(pair: Pair) -> None:
    pair.save("k l", "first\n")
    pair.save("k-l", "second\n")
    await pair.rest()
    pair.restart()
    result = await pair.rest()
    assert [problem.code for problem in result.problems] == ["duplicate-page"]
    assert result.held == ()
    assert await pair.wiki_texts() == {"k-l": "first\n"}
    assert pair.texts() == {"k l": "first\n", "k-l": "second\n"}
    (pair.folder / "k-l.md").rename(pair.folder / "k-m.md")
    assert (await pair.rest()).problems == ()
    assert await pair.wiki_texts() == {"k-l": "first\n", "k-m": "second\n"}


async def test_a_second_file_that_cannot_be_read_does_not_stop_the_page(
    copies: Copies,
) -> None:
    copies.here.put(PAGE, "another\n")
    copies.here.unreadable = frozenset({PAGE})
    copies.here.put(FILE, "edited\n")
    await copies.rest()
    assert copies.there.texts()[PAGE] == "edited\n"


async def test_a_second_file_that_is_ignored_is_no_problem(tmp_path: Path) -> None:
    async with paired(tmp_path) as pair:
        pair.save("k l", "first\n")
        pair.save("k-l", "second\n")
        (pair.folder / ".wikisyncignore").write_text("k-l.md\n")
        await pair.rest()
        pair.save("k l", "edited\n")
        assert (await pair.rest()).problems == ()
        assert await pair.wiki_texts() == {"k-l": "edited\n"}


async def test_a_page_by_the_name_of_the_file_waits_for_the_second_file(
    copies: Copies,
) -> None:
    copies.here.put(PAGE, "another\n")
    copies.there.put(FILE, "a page of its own\n")
    await copies.rest()
    assert copies.here.texts()[PAGE] == "another\n"
    assert copies.there.texts()[PAGE] == "one\n"
    copies.there.renames = {}
    copies.here.remove(PAGE)
    await copies.rest()
    assert copies.texts() == {
        "other": "other\n",
        PAGE: "one\n",
        FILE: "a page of its own\n",
    }


@pytest.mark.parametrize("where", ["ignored", "left_empty"])
async def test_the_name_of_a_file_out_of_sight_is_not_forgotten(
    copies: Copies, where: str
) -> None:
    """Behind a link, or on a disk that is away; else it would be another page then."""
    del copies.here.pages[FILE]
    setattr(copies.here, where, frozenset({FILE}))
    await copies.cycle()
    assert copies.known.aliases() == {FILE: PAGE}


async def test_a_page_that_comes_back_alone_gets_the_file_of_its_name(
    copies: Copies,
) -> None:
    page = Page(FILE, Format.MARKDOWN, "restored\n")
    await AliasedFolder(copies.here, copies.known).write(page, expected=None)
    texts = {"other": "other\n", PAGE: "one\n", FILE: "restored\n"}
    assert copies.here.texts() == texts


async def test_a_page_renamed_to_the_name_of_the_file_gets_that_file(
    copies: Copies,
) -> None:
    copies.there.renames = {}
    copies.there.identities = {Slug("other"): "7"}
    await copies.rest()
    copies.there.put(FILE, copies.there.pages.pop(Slug("other")).content)
    copies.there.identities = {FILE: "7"}
    await copies.rest()
    texts = {PAGE: "one\n", FILE: "other\n"}
    assert copies.here.texts() == copies.there.texts() == texts


async def test_the_name_is_forgotten_with_the_file(copies: Copies) -> None:
    copies.here.remove(FILE)
    await copies.rest()
    assert copies.known.aliases() == {}
    assert PAGE not in copies.there.pages


async def test_an_edit_goes_out_after_a_rename_to_the_name_of_the_file(
    pair: Pair,
) -> None:
    """The service takes the chance to name the page as it names new ones."""
    path = pair.save("My Page", "one\n")
    await pair.rest()
    await pair.erase("My-Page")
    await pair.edit("My Page", "one\n")
    pair.save("My Page", "edited here\n")
    result = await pair.rest()
    assert result.is_quiet
    assert not result.has_more
    assert path.read_text() == "edited here\n"
    assert await pair.wiki_texts() == {"My-Page": "edited here\n"}


async def test_a_save_while_the_name_is_taken_over_is_decided_anew(
    copies: Copies,
) -> None:
    copies.there.identities = {PAGE: "7"}
    await copies.rest()
    copies.there.put(FILE, copies.there.pages.pop(PAGE).content)
    copies.there.identities = {FILE: "7"}
    saved = "saved meanwhile\n"
    copies.here.before_once(f"read {FILE}", lambda: copies.here.put(FILE, saved))
    assert (await copies.cycle()).has_more
    assert copies.known.aliases() == {FILE: PAGE}
    copies.there.renames = {}
    await copies.rest()
    assert copies.texts() == {FILE: saved, "other": "other\n"}


async def test_a_held_page_has_its_conflict_file_beside_the_file(
    copies: Copies,
) -> None:
    copies.here.put(FILE, "mine\n")
    copies.there.put(PAGE, "theirs\n")
    result = await copies.rest()
    assert [one.slug for one in result.held] == [PAGE]
    assert set(copies.here.conflicts) == {FILE}


async def test_a_folder_of_pages_in_the_place_of_the_file_is_told(pair: Pair) -> None:
    pair.save("My Page", "one\n")
    await pair.rest()
    pair.remove("My Page")
    pair.save("My Page.md/below", "below\n")
    pair.save("Other.md/below", "below\n")
    result = await pair.rest()
    (problem,) = result.problems
    assert str(problem) == (
        "My Page: My Page.md is a folder with the name of the page's file; the"
        " page is skipped"
    )
    assert (await pair.wiki_texts())["My-Page"] == "one\n"


RULES = "one\n\ntwo\n"


@pytest.mark.parametrize(
    ("here", "there", "after"),
    [
        (RULES, RULES, RULES),
        ("ONE\n\ntwo\n", RULES, "ONE\n\ntwo\n"),
        (RULES, "one\n\nTWO\n", "one\n\nTWO\n"),
        ("ONE\n\ntwo\n", "one\n\nTWO\n", "ONE\n\nTWO\n"),
    ],
)
async def test_pages_below_one_that_is_renamed_keep_their_names_with_it(
    tmp_path: Path, here: str, there: str, after: str
) -> None:
    """The service calls the folder otherwise, and takes them along to that name."""
    async with paired(tmp_path, {"team": "team\n", "team/rules": RULES}) as pair:
        await pair.rest()
        (pair.folder / "team.md").rename(pair.folder / "My Team.md")
        (pair.folder / "team").rename(pair.folder / "My Team")
        pair.save("My Team/rules", here)
        await pair.edit("team/rules", there)
        first = await pair.cycle()
        assert (first.renamed, first.pulled, first.merged) == (2, 0, 0)
        assert set(pair.known.base()) == {"My-Team", "My-Team/rules"}
        assert (await pair.rest()).held == ()
        assert pair.texts() == {"My Team": "team\n", "My Team/rules": after}
        assert await pair.wiki_texts() == {"My-Team": "team\n", "My-Team/rules": after}


async def test_page_below_that_the_service_leaves_where_it_was_stays_one(
    tmp_path: Path,
) -> None:
    async with paired(tmp_path, {"team": "team\n", "team/rules": RULES}) as pair:
        await pair.rest()
        pair.service.quirks = {Quirk.KEEPS_BELOW}
        (pair.folder / "team.md").rename(pair.folder / "My Team.md")
        (pair.folder / "team").rename(pair.folder / "My Team")
        pair.save("My Team/rules", "ONE\n\ntwo\n")
        await pair.rest()
        assert (await pair.wiki_texts())["My-Team/rules"] == "ONE\n\ntwo\n"
        assert set(await pair.wiki_texts()) == {"My-Team", "My-Team/rules"}

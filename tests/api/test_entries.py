"""Entries of the list of pages that are no good ones: each is one page's problem."""

import pytest

from tests.api.wire import Wire, http, json_answer
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.known import Mark
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import Slug, Snapshot
from wikisync.errors import ProtocolViolation

PAGES = {"first": "1", "home": "hello", "other": "2"}
SOUND = {"slug": "home", "format": "markdown", "title": "home", "content": "hello"}


def subjects(snapshot: Snapshot) -> list[str]:
    return [one.subject for one in snapshot.problems if one.code == "page-malformed"]


async def test_malformed_entries_are_problems_and_all_other_pages_are_seen(
    service: EmbeddedService, real_wiki: Wiki
) -> None:
    service.quirks = {Quirk.MALFORMED_ENTRIES}
    seen = await WikiReplica(real_wiki).snapshot()
    assert seen.pages.keys() == {"home", "other"}
    assert seen.unreadable == {"first"}
    assert not seen.is_complete
    assert not seen.tag
    assert subjects(seen) == ["first", "entry 4 of the list of pages (Nowhere)"]


async def test_malformed_entries_of_a_wiki_that_is_read_page_by_page_are_problems(
    service: EmbeddedService, real_wiki: Wiki
) -> None:
    service.quirks = {Quirk.MALFORMED_ENTRIES}
    large = WikiReplica(real_wiki, tag=str(Mark(is_too_large=True)), pages={})
    seen = await large.snapshot()
    assert seen.pages.keys() == {"home", "other"}
    assert seen.unreadable == {"first"}
    assert not seen.is_complete
    assert len(subjects(seen)) == 2


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", 7, "expected `str | null`, got `int` at `title`"),
        ("format", None, "expected `str`, got `null` at `format`"),
        ("content", 7, "expected `str | null`, got `int` at `content`"),
        ("wiki_page_meta_id", "x", "expected `int | null`, got `str`"),
    ],
)
async def test_field_of_the_wrong_type_is_named(
    wired_wiki: Wiki, wire: Wire, field: str, value: object, said: str
) -> None:
    wire.will(json_answer([SOUND, SOUND | {"slug": "odd", field: value}]))
    seen = await WikiReplica(wired_wiki).snapshot()
    (problem,) = seen.problems
    assert problem.subject == "odd"
    assert said in problem.message
    assert seen.texts[Slug("home")].content == "hello"


@pytest.mark.parametrize(
    ("entry", "subject"),
    [
        ({"slug": None, "title": "A\nTitle"}, "entry 2 of the list of pages (A Title)"),
        ({"slug": 7, "title": 8}, "entry 2 of the list of pages"),
        ("home", "entry 2 of the list of pages"),
    ],
)
async def test_entry_without_a_slug_is_named_by_its_place(
    wired_wiki: Wiki, wire: Wire, entry: object, subject: str
) -> None:
    wire.will(json_answer([SOUND, entry]))
    seen = await WikiReplica(wired_wiki).snapshot()
    assert subjects(seen) == [subject]
    assert seen.unreadable == frozenset()


async def test_entry_that_is_not_utf_8_leaves_the_others_alone(
    wired_wiki: Wiki, wire: Wire
) -> None:
    body = b'[{"slug": "home", "content": "hello"}, {"slug": "odd", "title": "\xff"}]'
    wire.will(http(200, body, **{"Content-Type": "application/json"}))
    seen = await WikiReplica(wired_wiki).snapshot()
    assert seen.pages.keys() == {"home"}
    assert subjects(seen) == ["entry 2 of the list of pages"]


async def test_pages_without_a_title_are_pages(wired_wiki: Wiki, wire: Wire) -> None:
    """It is for display alone; 47 pages of a wiki were 47 warnings."""
    wire.will(json_answer([SOUND | {"title": None}]))
    seen = await WikiReplica(wired_wiki).snapshot()
    assert seen.pages.keys() == {"home"}
    assert seen.is_complete
    assert not seen.problems


async def test_page_that_is_listed_well_too_is_seen(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer([SOUND | {"title": 7}, SOUND]))
    seen = await WikiReplica(wired_wiki).snapshot()
    assert seen.pages.keys() == {"home"}
    assert seen.unreadable == frozenset()
    assert not seen.is_complete


async def test_attachment_that_scans_like_a_page_is_no_problem(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer([SOUND, SOUND | {"slug": "uploads/a/b", "title": 7}]))
    seen = await WikiReplica(wired_wiki).snapshot()
    assert seen.is_complete
    assert not seen.problems


@pytest.mark.parametrize("body", [[1, 2], [{"message": "try later"}], {"slug": "a"}])
async def test_list_about_no_page_at_all_is_none(
    wired_wiki: Wiki, wire: Wire, body: object
) -> None:
    """It comes from something else than a wiki, and says nothing of its pages."""
    wire.will(json_answer(body), json_answer(body))
    with pytest.raises(ProtocolViolation, match="the JSON has another shape"):
        await WikiReplica(wired_wiki).snapshot()

"""Whose wiki it is: every answer to an id and a path, and which record is its."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from wikisync.model import Digest, Format, PageState, Slug, Snapshot, WikiOwner
from wikisync.sync.decide.identity import Between, WikiRecord
from wikisync.sync.decide.plan import BasePage
from wikisync.workspace.identity import (
    Agreement,
    Identified,
    Located,
    carried_records,
    record_before,
    whose,
)

OLD, NEW = "https://old.example.com", "https://gitlab.example.com"
OURS = Located(WikiOwner("project", "g/a"), 7)
MOVED = Located(WikiOwner("project", "g/b"), 7)
THEIRS = Located(WikiOwner("project", "g/a"), 9)


@pytest.mark.parametrize(
    ("by_id", "by_path", "known_id", "is_given", "expected"),
    [
        pytest.param(None, OURS, None, False, Identified(OURS), id="never met before"),
        pytest.param(OURS, None, 7, False, Identified(OURS), id="where it was"),
        pytest.param(MOVED, MOVED, 7, False, Identified(MOVED), id="renamed"),
        pytest.param(
            *(MOVED, None, 7, False, Identified(MOVED, is_certain=False)),
            id="only the id is the same",
        ),
        pytest.param(MOVED, None, 7, True, Identified(MOVED), id="the id is given"),
        pytest.param(
            *(MOVED, THEIRS, 7, False, Identified(THEIRS, is_other=True, ours=MOVED)),
            id="path reused",
        ),
        pytest.param(
            *(MOVED, THEIRS, 7, True, Identified(THEIRS, is_other=True, ours=MOVED)),
            id="path reused, although the id is given",
        ),
        pytest.param(
            *(None, THEIRS, 7, False, Identified(THEIRS, is_other=True)), id="made anew"
        ),
        pytest.param(None, OURS, 7, False, Identified(OURS), id="came back meanwhile"),
        pytest.param(None, None, 7, False, None, id="gone or hidden"),
        pytest.param(None, None, None, False, None, id="never there"),
    ],
)
def test_an_id_and_a_path_together_say_whose_wiki_it_is(
    by_id: Located | None,
    by_path: Located | None,
    known_id: int | None,
    is_given: bool,
    expected: Identified | None,
) -> None:
    found = whose(by_id, by_path, path="g/a", known_id=known_id, is_given=is_given)
    assert found == expected


def test_paths_are_compared_as_the_service_does() -> None:
    assert whose(OURS, None, path="G/A", known_id=7, is_given=False) == Identified(OURS)


# -- records -----------------------------------------------------------------------


RECORD = WikiRecord(1, OLD, OURS.owner, "pages", "7", True, 12, 100.0)


def carried(
    *records: WikiRecord, others: dict[WikiOwner, str] | None = None
) -> list[int]:
    found = carried_records(
        records,
        service_url=NEW,
        there=MOVED,
        folder="pages",
        others=others or {},
    )
    return [one.number for one in found]


def test_record_of_the_same_id_may_be_carried_over() -> None:
    assert carried(RECORD, replace(RECORD, number=2, folder="")) == [1, 2]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(RECORD, remote_id="8"), id="another id"),
        pytest.param(replace(RECORD, remote_id=""), id="no id"),
        pytest.param(replace(RECORD, owner=WikiOwner("group", "g/a")), id="a group"),
        pytest.param(replace(RECORD, folder="elsewhere"), id="another folder"),
        pytest.param(replace(RECORD, pages=0), id="nothing known"),
    ],
)
def test_record_of_something_else_is_not_carried_over(other: WikiRecord) -> None:
    assert carried(other) == []


def test_record_of_another_wiki_of_the_workspace_stays_its_own() -> None:
    here = replace(RECORD, service_url=NEW)
    others = {OURS.owner: "pages"}
    assert carried(here, others=others) == []
    assert carried(replace(here, folder=""), others=others) == []
    assert carried(replace(here, is_in_use=False), others=others) == [1]
    # at the other service that path is nobody's here
    assert carried(RECORD, others=others) == [1]
    # that one has the path by now, and its own folder
    assert carried(here, others={OURS.owner: "elsewhere"}) == [1]


def test_record_of_this_service_comes_first_and_then_the_latest() -> None:
    later = replace(RECORD, number=2, last_good_at=300.0)
    here = replace(RECORD, number=3, service_url=NEW, last_good_at=None)
    assert carried(RECORD, later, here) == [3, 2, 1]


def test_record_before_is_the_last_one_of_the_folder() -> None:
    other = replace(RECORD, number=2, last_good_at=50.0)
    empty = replace(RECORD, number=3, last_good_at=900.0, pages=0)
    elsewhere = replace(RECORD, number=4, last_good_at=900.0, folder="elsewhere")
    new = replace(RECORD, number=5, last_good_at=900.0)
    records = (other, RECORD, empty, elsewhere, new)
    assert record_before(records, 5, MOVED.owner, "pages") == RECORD
    assert record_before((new, empty, elsewhere), 5, MOVED.owner, "pages") is None


def test_where_no_folder_was_noted_the_path_tells() -> None:
    old = replace(RECORD, folder="")
    assert record_before([old], 5, OURS.owner, "pages") == old
    assert record_before([old], 5, MOVED.owner, "pages") is None


# -- pages ---------------------------------------------------------------------------


def agreement(pages: int, changed: int) -> Agreement:
    """A record of so many pages, so many of which the wiki has with another text."""
    base, there = {}, {}
    for number in range(pages):
        slug, digest = Slug(f"p{number}"), Digest(f"d{number}")
        base[slug] = BasePage(slug, Format.MARKDOWN, digest, digest)
        seen = Digest("other") if number < changed else digest
        there[slug] = PageState(slug, Format.MARKDOWN, seen)
    there[Slug("new")] = PageState(Slug("new"), Format.MARKDOWN, Digest("new"))
    return Agreement.of(base, there)


@pytest.mark.parametrize(
    ("pages", "changed", "is_enough"),
    [
        (100, 90, True),
        (100, 91, False),
        (6, 3, True),
        (6, 4, False),
        (1, 0, True),
        (1, 1, False),
        (0, 0, False),
    ],
)
def test_ten_equal_pages_or_half_of_a_small_wiki_are_enough(
    pages: int,
    changed: int,
    is_enough: bool,
) -> None:
    found = agreement(pages, changed)
    assert (found.equal, found.pages) == (pages - changed, pages)
    assert found.is_enough is is_enough


# -- back from another wiki ----------------------------------------------------------


def page(slug: str, text: str) -> BasePage:
    return BasePage(Slug(slug), Format.MARKDOWN, Digest(text), Digest(text))


def test_what_another_wiki_changed_here_is_not_ours() -> None:
    """Nor what is missing since, unless it was here and of no interest there."""
    slugs = ("same", "edited", "deleted", "gone-there", "left", "kept")
    base = {Slug(slug): page(slug, "old") for slug in slugs}
    other = {
        Slug("same"): page("same", "old"),
        Slug("edited"): page("edited", "new"),
        Slug("deleted"): page("deleted", "old"),
        Slug("theirs"): page("theirs", "new"),
    }
    here = Snapshot(
        {
            Slug(slug): PageState(Slug(slug), Format.MARKDOWN, Digest("old"))
            for slug in ("same", "edited", "kept", "theirs")
        }
    )
    between = Between(other, frozenset({Slug("left")}))
    assert between.not_ours(base, here) == {"edited", "gone-there"}

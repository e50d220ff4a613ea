"""Pages as JSON: decoding, cutting, long lists; and ids that follow their pages."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tests.support.flat_tree import FlatTree
from tests.support.page_ids import page_ids
from wikisync.contract.schema import WikiPageRecord
from wikisync.core.model import Format
from wikisync.service import pages as pages_module
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.page_ids import moves_between, moves_of_rename, update_page_ids
from wikisync.service.pages import decode_text, encode_list, front_matter_of, full_list
from wikisync.service.repository import WikiRepository
from wikisync.service.tables import Tables
from wikisync.service.tree import PageFile, RepositoryFile, WikiTree

AUTHOR = Author("n", "e")


def page(name: str, blob: bytes = b"0") -> PageFile:
    return PageFile(f"{name}.md", blob, name, Format.MARKDOWN)


@pytest.fixture
def repository(tmp_path: Path) -> WikiRepository:
    made = WikiRepository(tmp_path / "r.git")
    files = {f"p{n}.md": f"text {n}".encode() for n in range(5)}
    made.change(lambda _tree: CommitPlan("m", writes=files), AUTHOR)
    return made


def test_lists_are_what_the_client_reads(repository: WikiRepository) -> None:
    pages = repository.tree().pages

    short = encode_list(pages)
    full = b"".join(full_list(repository, pages, 1000))

    records = msgspec.json.decode(full, type=list[WikiPageRecord])
    assert [record.content for record in records] == [f"text {n}" for n in range(5)]
    bare = msgspec.json.decode(short, type=list[WikiPageRecord])
    assert [record.slug for record in bare] == [record.slug for record in records]
    assert {record.content for record in bare} == {None}


@pytest.mark.parametrize("part_bytes", [1, 60, 130, 10_000])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_list_in_parts_is_the_whole_list(
    repository: WikiRepository,
    monkeypatch: pytest.MonkeyPatch,
    part_bytes: int,
    count: int,
) -> None:
    pages = repository.tree().pages[:count]
    monkeypatch.setattr(pages_module, "PART_BYTES", part_bytes)

    parts = list(full_list(repository, pages, 1000))

    records = msgspec.json.decode(b"".join(parts), type=list[WikiPageRecord])
    assert [record.slug for record in records] == [page.slug for page in pages]
    # one page more than asked for at most
    assert max(map(len, parts)) <= part_bytes + 150


@pytest.mark.parametrize(
    ("content", "limit", "text", "encoding"),
    [
        (b"\xef\xbb\xbfbom", 99, "\ufeffbom", "UTF-8"),
        ("aé".encode(), 2, "a", "UTF-8"),
        (b"\x93quoted\x94", 99, "“quoted”", "UTF-8"),
        (b"\x81\xff", 99, "\x81ÿ", "UTF-8"),
        (b"\0\xff", 99, "\0\ufffd", "ASCII-8BIT"),
    ],
)
def test_text_is_decoded(content: bytes, limit: int, text: str, encoding: str) -> None:
    assert decode_text(content, limit) == (text, encoding)


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        ("---\ntitle: A\n---\nx", {"title": "A"}),
        ("---\r\ntitle: A\r\n---\r\nx", {"title": "A"}),
        ("x\n---\ntitle: A\n---\n", {}),
        ("plain", {}),
    ],
)
def test_front_matter_is_told(text: str, meta: dict[str, object]) -> None:
    assert front_matter_of(text) == meta


def tree(files: Mapping[str, str]) -> WikiTree:
    """A tree of files, told apart by their texts."""
    return FlatTree(
        "c", [RepositoryFile(path, text.encode()) for path, text in files.items()]
    )


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    opened = Tables(tmp_path / "records.db", lambda: datetime(2026, 3, 1, tzinfo=UTC))
    yield opened
    opened.close()


# what happened


@pytest.mark.parametrize(
    ("before", "after", "moved", "gone"),
    [
        ({"a.md": "1"}, {"a.md": "2"}, {}, set()),
        ({"a.md": "1"}, {"b.md": "1"}, {"a": "b"}, set()),
        ({"a.md": "1"}, {"a.org": "1"}, {}, set()),
        ({"a.md": "1"}, {"b.md": "2"}, {}, {"a"}),
        ({"a.md": "1"}, {"b.md": "1", "c.md": "1"}, {}, {"a"}),
        ({"a.md": "1", "b.md": "1"}, {"c.md": "1"}, {}, {"a", "b"}),
        ({"a.md": "1", "b.md": "2"}, {"a.md": "2", "b.md": "1"}, {}, set()),
        ({"a.md": "1", "p.png": "2"}, {"a.md": "1"}, {}, set()),
        ({"d/a.md": "1", "d/b.md": "2"}, {"e/a.md": "1", "e/b.md": "2"},
         {"d/a": "e/a", "d/b": "e/b"}, set()),
    ],
)  # fmt: skip
def test_push_moves_what_is_the_same_elsewhere_and_only_once(
    before: Mapping[str, str],
    after: Mapping[str, str],
    moved: Mapping[str, str],
    gone: set[str],
) -> None:
    assert moves_between(tree(before), tree(after)) == (moved, frozenset(gone))


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        (
            {"a.md": "1", "a/x.md": "2", "a/x/y.md": "3"},
            {"b.md": "changed", "b/x.md": "2", "b/x/y.md": "3"},
            {"a": "b", "a/x": "b/x", "a/x/y": "b/x/y"},
        ),
        # what only begins alike, and what stayed, is not taken along
        ({"a.md": "1", "ab.md": "2"}, {"b.md": "1", "bb.md": "2"}, {"a": "b"}),
        ({"a.md": "1", "a/x.md": "2"}, {"b.md": "1", "a/x.md": "2"}, {"a": "b"}),
    ],
)
def test_rename_takes_along_what_is_below_and_moved(
    before: Mapping[str, str], after: Mapping[str, str], moved: Mapping[str, str]
) -> None:
    assert moves_of_rename(tree(before), tree(after), "a", "b") == moved


# what is remembered


def test_ids_are_given_once_and_by_wiki(tables: Tables) -> None:
    first = page_ids(tables, "project", 1, ["a", "b"])
    again = page_ids(tables, "project", 1, ["b", "a"])
    other = page_ids(tables, "group", 1, ["a"])

    assert first == again
    assert first["a"] != first["b"]
    assert other["a"] not in first.values()


def test_pages_that_swap_their_names_keep_their_ids(tables: Tables) -> None:
    old = page_ids(tables, "project", 1, ["a", "b"])
    update_page_ids(tables, "project", 1, {"a": "b", "b": "a"}, ())
    new = page_ids(tables, "project", 1, [])
    assert new == {"a": old["b"], "b": old["a"]}


def test_page_that_was_never_shown_has_nothing_to_move(tables: Tables) -> None:
    update_page_ids(tables, "project", 1, {"a": "b"}, {"c"})
    assert page_ids(tables, "project", 1, []) == {}


def test_rename_onto_the_place_of_a_deleted_page_keeps_the_id(tables: Tables) -> None:
    old = page_ids(tables, "project", 1, ["a", "b"])
    update_page_ids(tables, "project", 1, {"a": "b"}, {"b"})
    assert page_ids(tables, "project", 1, []) == {"b": old["a"]}


def test_rename_onto_a_place_that_was_left_unnoticed_keeps_the_id(
    tables: Tables,
) -> None:
    old = page_ids(tables, "project", 1, ["a", "b"])
    update_page_ids(tables, "project", 1, {"a": "b"}, ())
    assert page_ids(tables, "project", 1, []) == {"b": old["a"]}


def test_id_of_a_page_that_is_gone_is_not_given_again(tables: Tables) -> None:
    old = page_ids(tables, "project", 1, ["a"])
    update_page_ids(tables, "project", 1, {}, {"a"})
    assert page_ids(tables, "project", 1, ["a"])["a"] > old["a"]

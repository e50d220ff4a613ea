"""Pages as JSON: decoding, cutting, and the cache behind long lists."""

from pathlib import Path

import msgspec
import pytest

from wikisync.contract.schema import WikiPageRecord
from wikisync.core.model import Format
from wikisync.service import pages as pages_module
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.pages import decode_text, encode_list, front_matter_of, full_list
from wikisync.service.repository import WikiRepository
from wikisync.service.tree import PageFile

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

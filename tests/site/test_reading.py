"""What a build takes of a page, wherever the page is parsed."""

import os
import pickle
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from tests.site.sites import Studio
from wikisync.core.model import AttachmentPath, Format, Page, Slug
from wikisync.errors import SiteError
from wikisync.markup.bounded import Wish
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions, ParsedPage
from wikisync.site.addresses import assign_addresses
from wikisync.site.bodies import Bodies, BodyDamaged
from wikisync.site.facts import VIEWS
from wikisync.site.index import BoundedReader, bounded_reader
from wikisync.site.reading import Aim, OwnLinks, Reading, reading_of
from wikisync.site.search import SearchedBody
from wikisync.site.search_words import DocumentText, unpacked_words

PAGE = Page(Slug("a/b"), Format.MARKDOWN, "# One\n\nTwo [x](c).\n\n## Three\n\nfour\n")
HOST = "https://gitlab.example.com"
OWN = OwnLinks(
    0,
    (f"{HOST}/one/-/wikis", f"{HOST}/two/-/wikis"),
    assign_addresses("", [Slug("a/b"), Slug("c")], [AttachmentPath("uploads/a/f.txt")]),
    {},
    frozenset({"a/notes.txt"}),
)


@pytest.fixture
def bodies(tmp_path: Path) -> Bodies:
    (tmp_path / "bodies").touch()
    return Bodies(tmp_path / "bodies")


@pytest.fixture
def aim(bodies: Bodies) -> bytes:
    (links,) = bodies.add(pickle.dumps(OWN))
    return msgspec.msgpack.encode(Aim(os.fsencode(bodies.path), links))


@pytest.fixture
def read(aim: bytes) -> Callable[[str], Reading]:
    return lambda text: reading_of(parse_page(Page(PAGE.slug, PAGE.format, text)), aim)


def test_worker_takes_the_same_of_a_page_as_the_function(
    bodies: Bodies, aim: bytes
) -> None:
    with closing(BoundedReader()) as reader:
        (made,) = reader.make_all([Wish(PAGE, MarkupOptions(), aim=aim)])
    own = reading_of(parse_page(PAGE), aim)
    assert (made.text_digest, made.finished) == (own.text_digest, own.finished)
    # sets have another order in every process
    kept, of_own = (
        msgspec.msgpack.decode(bodies.read(one.parsed), type=ParsedPage)
        for one in (made, own)
    )
    assert kept == of_own
    for name in ("searched", "view"):
        assert bodies.read(getattr(made, name)) == bodies.read(getattr(own, name))


def test_texts_lie_beside_the_page_and_not_in_it(bodies: Bodies, aim: bytes) -> None:
    parsed = parse_page(PAGE)
    reading = reading_of(parsed, aim)
    kept = msgspec.msgpack.decode(bodies.read(reading.parsed), type=ParsedPage)
    body = msgspec.msgpack.decode(bodies.read(reading.searched), type=SearchedBody)
    sections = msgspec.msgpack.decode(body.text, type=DocumentText).sections
    assert msgspec.structs.replace(kept, sections=sections) == parsed
    assert kept.sections == ()
    assert {"one", "two", "three", "four"} <= {*unpacked_words(body.words)[0]}


def test_links_inside_the_wiki_are_resolved_where_the_page_is_parsed(
    bodies: Bodies, read: Callable[[str], Reading]
) -> None:
    reading = read("[c](c) [none](none) ![f](uploads/a/f.txt)")
    assert reading.finished is not None
    assert reading.finished.targets == ("c",)
    assert reading.finished.attachments == ("uploads/a/f.txt",)
    assert [one.href for one in reading.finished.broken] == ["none"]
    assert 'href="../c.html"' in VIEWS.decode(bodies.read(reading.view)).html


@pytest.mark.parametrize(
    "link", [f"{HOST}/two/-/wikis/x", "c#heading", "notes.txt", ".hidden/picture.png"]
)
def test_link_that_needs_more_than_the_addresses_of_the_wiki_is_left_to_the_build(
    read: Callable[[str], Reading], link: str
) -> None:
    """Other wikis, headings of other pages, and files whose content counts."""
    assert read(f"[c](c) [x]({link})").finished is None


def test_worker_gives_the_lines_of_broken_links(aim: bytes) -> None:
    page = Page(PAGE.slug, PAGE.format, "one\n\n[x](none)\n")
    with closing(BoundedReader()) as reader:
        (made,) = reader.make_all([Wish(page, MarkupOptions(), aim=aim)])
    assert made.finished is not None
    assert [one.line for one in made.finished.broken] == [3]


def test_nothing_is_resolved_without_addresses(bodies: Bodies) -> None:
    aim = msgspec.msgpack.encode(Aim(os.fsencode(bodies.path)))
    reading = reading_of(parse_page(PAGE), aim)
    assert (reading.finished, bodies.read(reading.view)) == (None, b"")


def test_disk_that_is_full_is_told(aim: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Bodies, "add", full)
    assert reading_of(parse_page(PAGE), aim).unkept == "No space left on device"


def test_digest_of_the_texts_changes_with_title_and_text_alone(
    read: Callable[[str], Reading],
) -> None:
    other_link, other_text = (
        PAGE.content.replace("(c)", "(z)"),
        PAGE.content.replace("four", "five"),
    )
    titled = f"---\ntitle: Other\n---\n{PAGE.content}"
    texts = (PAGE.content, other_link, other_text, titled)
    digests = [read(text).text_digest for text in texts]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_processes_append_to_one_file_without_harm(bodies: Bodies) -> None:
    other = Bodies(bodies.path)
    places = [
        one.add(b"first", b"", b"s" * size)
        for size, one in enumerate((bodies, other, bodies))
    ]
    assert [[other.read(place) for place in three] for three in places] == [
        [b"first", b"", b"s" * size] for size in range(3)
    ]


def test_body_that_is_another_one_is_damaged(bodies: Bodies) -> None:
    (place,) = bodies.add(b"body")
    bodies.path.write_bytes(b"b0dy")
    with pytest.raises(BodyDamaged):
        bodies.read(place)


def test_build_ends_the_processes_that_parse_with_its_last_page(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(bounded_reader(), "close", lambda: ended.append(True))
    studio.start("-- home.md --\n# Home\n")
    # before what renders starts, and once more where the last wiki was not read
    assert ended == [True, True]


def test_build_that_fails_early_ends_them_too(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(bounded_reader(), "close", lambda: ended.append(True))
    studio.add("-- home.md --\n# Home\n")
    studio.site.mkdir()
    (studio.site / "thesis.txt").touch()
    with pytest.raises(SiteError):
        studio.build()
    assert ended == [True]

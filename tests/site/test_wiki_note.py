"""What a build notes of a wiki's pages: in parts, of which few change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from wikisync.model import Digest, Format, PagePath, Slug, WikiOwner
from wikisync.site.build_note import NO_NOTE as NO_BUILD
from wikisync.site.build_note import BuildNote
from wikisync.site.cache import Cache, open_cache
from wikisync.site.facts import IndexedPage, unread_page
from wikisync.site.sources import SourcePage
from wikisync.site.wiki_note import NO_NOTE, WikiNote, remember_wiki, wiki_note

OWNER = WikiOwner("project", "docs/handbook")
OUTPUT = Path("/site")


def page(number: int, text: str = "") -> IndexedPage:
    slug = Slug(f"page-{number:04}")
    path = PagePath(f"{slug}.md")
    return unread_page(SourcePage(slug, Format.MARKDOWN, path, Digest(text)), None)


def note_of(pages: Collection[IndexedPage]) -> WikiNote:
    return WikiNote(b"reading", b"table", b"frame", tuple(pages))


class Notes:
    """The notes of one wiki in a cache, build after build."""

    def __init__(self, store: Cache) -> None:
        self.store = store
        self.build = NO_BUILD
        self.written: list[bytes] = []
        """Keys of the rows that the last build wrote."""

    def remember(
        self, note: WikiNote, *changed: IndexedPage, whole: bool = False
    ) -> None:
        self.written = []
        real, self.store.note = self.store.note, self._note  # type: ignore[method-assign]
        slugs = None if whole else [page.slug for page in changed]
        digest = remember_wiki(self.store, OUTPUT, OWNER, note, self.build, slugs)
        self.store.note = real  # type: ignore[method-assign]
        self.build = replace(self.build, wikis={OWNER.full_path: digest})

    def _note(self, key: bytes, value: bytes) -> None:
        self.written.append(key)
        Cache.note(self.store, key, value)

    def read(self, build: BuildNote | None = None) -> WikiNote:
        note = wiki_note(self.store, OUTPUT, OWNER, build or self.build)
        return replace(note, pages=tuple(sorted(note.pages, key=lambda one: one.slug)))


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    with open_cache(tmp_path / "cache") as store:
        yield Notes(store)


def test_note_is_read_as_it_was_written(notes: Notes) -> None:
    note = note_of([page(number) for number in range(1000)])
    notes.remember(note, whole=True)
    assert notes.read() == note


def test_a_changed_page_writes_its_part_and_the_head(notes: Notes) -> None:
    pages = [page(number) for number in range(1000)]
    notes.remember(note_of(pages), whole=True)
    assert len(notes.written) == 16 + 1
    pages[7] = page(7, "other")
    notes.remember(note_of(pages), pages[7])
    assert len(notes.written) == 2
    assert notes.read() == note_of(pages)


def test_a_page_that_is_gone_leaves_its_part(notes: Notes) -> None:
    pages = [page(number) for number in range(1000)]
    notes.remember(note_of(pages), whole=True)
    gone = pages.pop(7)
    notes.remember(note_of(pages), gone)
    assert notes.read() == note_of(pages)


def test_a_wiki_that_grows_or_shrinks_gets_other_parts(notes: Notes) -> None:
    pages = [page(number) for number in range(40)]
    notes.remember(note_of(pages), whole=True)
    for count in (70, 30):
        pages = [page(number) for number in range(count)]
        notes.remember(note_of(pages), page(0))
        assert notes.read() == note_of(pages)


def test_parts_of_another_build_are_not_believed(notes: Notes) -> None:
    """Its end was not seen: the build's note names the head of an earlier one."""
    notes.remember(note_of([page(0)]), whole=True)
    earlier = notes.build
    notes.remember(note_of([page(0, "other")]), page(0))
    assert notes.read(earlier) == NO_NOTE


def test_a_note_with_a_part_of_another_build_is_not_believed(notes: Notes) -> None:
    """The build ended between the parts and the head."""
    notes.remember(note_of([page(0)]), whole=True)
    earlier, keys = notes.build, list(notes.written)
    head = notes.store.state(keys[-1])
    assert head is not None
    notes.remember(note_of([page(0, "other")]), page(0))
    notes.store.note(keys[-1], head)
    assert notes.read(earlier) == NO_NOTE


def test_a_note_without_one_of_its_parts_is_written_whole(notes: Notes) -> None:
    pages = [page(number) for number in range(100)]
    notes.remember(note_of(pages), whole=True)
    notes.store.note(notes.written[0], b"damaged")
    assert notes.read() == NO_NOTE
    notes.remember(note_of(pages), whole=True)
    assert notes.read() == note_of(pages)

"""From folders to the chapters of one document: the pages of wikis, in order.

Pages are read and resolved as for a site, with the same cache; their HTML stays in it
until a chapter is written, so that memory does not grow with the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Slug
from wikisync.errors import UsageError
from wikisync.markup.diagrams import DRAWING_BYTES_MAX, static_drawing
from wikisync.markup.file_types import is_drawing
from wikisync.markup.record import TocEntry
from wikisync.site.addresses import absolute_url
from wikisync.site.book.linking import LEVEL_MAX, Document, chapter_html
from wikisync.site.composing import site_problems
from wikisync.site.context import PageContext, TocNode, WikiContext
from wikisync.site.crosslinks import service_address
from wikisync.site.model import BuildReport
from wikisync.site.pages import toc_tree
from wikisync.site.report import link_report
from wikisync.site.sources import ScannedWiki, folder_notes

if TYPE_CHECKING:
    from markupsafe import Markup

    from wikisync.core.messages import Progress
    from wikisync.core.model import Digest
    from wikisync.site.checking import ReadWikis
    from wikisync.site.facts import IndexedPage
    from wikisync.site.theme import Theme


class ChapterPlace(Struct, frozen=True):
    """Where a page stands in the document."""

    number: int
    """From 1, over all wikis."""
    path: str
    """Output path of the page in a site."""
    title: str
    level: int
    """0 at the top of its wiki."""
    slug: Slug
    part: int
    """Of the wiki among those of the site."""


class Chapter(Struct, frozen=True):
    """A page as templates of a document see it."""

    number: int
    id: str
    title: str
    level: int
    """Of its title, from 1."""
    has_title: bool
    """The text begins with it."""
    content: Markup
    page: PageContext
    headings: tuple[TocEntry, ...]
    """Its title and those below it, by ids and levels in the document."""


class Part(Struct, frozen=True):
    """One wiki of the document, as templates see it."""

    id: str
    wiki: WikiContext
    contents: tuple[TocNode, ...]
    places: tuple[ChapterPlace, ...]
    has_title: bool = False
    """It is one of several, and its name stands before its pages."""


class FileOfBook(Struct, frozen=True):
    """A file of a wiki that a page of the document shows or links to."""

    scanned: ScannedWiki
    path: str
    """Output path in a site."""
    name: str
    digest: Digest
    size: int

    def read(self) -> bytes | None:
        """What a site would publish of it; None where it cannot be read."""
        if is_drawing(self.path) and self.size > DRAWING_BYTES_MAX:
            return None
        content = self.scanned.read(self.name, self.digest)
        if content is None or not is_drawing(self.path):
            return content
        return static_drawing(content)


class Book:
    """The pages of some wikis, or those in a folder of them, as one document."""

    def __init__(
        self, read: ReadWikis, theme: Theme, progress: Progress, only: str = ""
    ) -> None:
        """Take the pages at and below the address ``only``; all where it is empty.

        Raises:
            UsageError: there is no such page.
        """
        self.site, self.theme = read.site.context, theme
        self._read, self._progress = read, progress
        self._places: dict[str, ChapterPlace] = {}
        self.parts = tuple(self._parts(only.strip("/")))
        """The wikis that have a page in it."""
        if not self.parts:
            raise UsageError(
                f"there is no page {only} and none below it"
                if only
                else "there is no page to write",
                hint="name a page or folder as its address in the wiki has it",
            )
        if len(self.parts) > 1:
            self.parts = tuple(replace(part, has_title=True) for part in self.parts)

    def _parts(self, only: str) -> Iterator[Part]:
        for number, composer in enumerate(self._read.site.wikis):
            places, entries = [], []
            for slug in composer.order:
                if only and not f"{slug}/".startswith(f"{only}/"):
                    continue
                path, title = composer.url(slug), composer.title(slug)
                level, count = composer.depth(slug), len(self._places) + 1
                place = ChapterPlace(count, path, title, level, slug, number)
                places.append(place)
                entries.append(TocEntry(level, self.ident(path), title))
                self._places[path] = place
            if places:
                contents = toc_tree(entries)
                yield Part(f":{number}", composer.context, contents, tuple(places))

    def pieces(self, count: int) -> Iterator[list[Part]]:
        """The parts in their order, so many pages at a time."""
        piece: list[Part] = []
        for part in self.parts:
            for at in range(0, len(part.places), count):
                places = part.places[at : at + count]
                has_title = part.has_title and not at
                if sum(len(one.places) for one in piece) + len(places) > count:
                    yield piece
                    piece = []
                piece.append(replace(part, places=places, has_title=has_title))
        yield piece

    # What a document is made of ---------------------------------------------------

    @property
    def page_count(self) -> int:
        """How many pages it has."""
        return len(self._places)

    @property
    def changed(self) -> str:
        """When the last of the wikis changed, as ISO time; empty where unknown."""
        return max((part.wiki.changed or "" for part in self.parts), default="")

    def ident(self, path: str, own: str = "") -> str:
        """The id of a page of the site, or of one of its headings, in one document."""
        # no path has a colon or two slashes, no id a space
        path = path.removesuffix(".html").replace(" ", "//")
        return f"{path}:{own}" if own else path

    def place(self, path: str) -> ChapterPlace | None:
        """Where the page with an output path stands; None for any other path."""
        return self._places.get(path)

    def has_id(self, place: ChapterPlace, own: str) -> bool:
        """Whether a page has a heading or another element of that id."""
        return own in self._page(place).parsed.ids

    def chapters(self, part: Part, document: Document) -> Iterator[Chapter]:
        """The pages of a wiki, one after the other."""
        from markupsafe import Markup

        shift = 1 if len(self.parts) > 1 else 0
        for place in part.places:
            self._progress.advance()
            view = self._read.indexer.view(self._page(place))
            level = place.level + shift
            html = chapter_html(view.html, place.path, level, document)
            composer = self._read.site.wikis[place.part]
            page = composer.page_context(self._page(place))
            has_title = html.lstrip().startswith("<h1") or [
                one.level for one in toc_tree(view.toc)
            ] == [1]
            headings = [
                TocEntry(level + one.level, self.ident(place.path, one.id), one.text)
                for one in (TocEntry(1, "", page.title), *view.toc[has_title:])
            ]
            ident, content = self.ident(place.path), Markup(html)  # noqa: S704 - sanitised
            about = place.number, ident, page.title, min(level + 1, LEVEL_MAX)
            yield Chapter(*about, has_title, content, page, tuple(headings))

    def start(self, what: str) -> None:
        """Begin to write the chapters, as progress shows it."""
        self._progress.start(what, self.page_count)

    def _page(self, place: ChapterPlace) -> IndexedPage:
        return self._read.wikis[place.part].pages[place.slug]

    def file(self, path: str) -> FileOfBook | None:
        """The file of a wiki that a site has at an output path."""
        if path not in self._files:
            return None
        number, name = self._files[path]
        scanned = self._read.scanned[number]
        if (state := scanned.file(name)) is None:
            return None
        return FileOfBook(scanned, path, name, state.digest, state.size)

    @cached_property
    def _files(self) -> dict[str, tuple[int, str]]:
        """Output path to wiki and name of each file that a page may show."""
        return {
            addresses.file(name): (number, name)
            for number, addresses in enumerate(self._read.addresses)
            for name in (*addresses.attachments, *self._read.wikis[number].linked)
        }

    def outside(self, path: str, fragment: str = "") -> str | None:
        """Where a page or file that the document does not hold is on the web."""
        behind = f"#{fragment}" if fragment else ""
        if self.site.url:
            return absolute_url(self.site.url, path) + behind
        number, name = self._files.get(path) or self._pages.get(path, (0, ""))
        source = self._read.scanned[number].source
        if not name or not source.web_url:
            return None
        return f"{service_address(source)}/{quote(name)}{behind}"

    @cached_property
    def _pages(self) -> dict[str, tuple[int, str]]:
        """Output path to wiki and slug of each page of the site."""
        return {
            path: (number, slug)
            for number, addresses in enumerate(self._read.addresses)
            for slug, path in addresses.pages.items()
        }

    # What is said of it -----------------------------------------------------------

    def report(self) -> BuildReport:
        """What is wrong with the wikis, and how many pages the document has."""
        read = self._read
        problems = site_problems(read.addresses, read.site.wikis, self.theme)
        return BuildReport(
            pages=self.page_count,
            written=1,
            unchanged=0,
            removed=0,
            problems=(*problems, *read.indexer.kroki.problems),
            broken_links=link_report(read.wikis).broken,
            notes=folder_notes(read.scanned),
        )

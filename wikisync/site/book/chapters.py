"""From folders to the chapters of one document: the pages of wikis, in order.

Pages are read and resolved as for a site, with the same cache; their HTML stays in it
until a chapter is written, so that memory does not grow with the text.

A page's links are relative to its place in the site.  In the document they lead to
other chapters; what is not in it is reached where the site or the wiki is on the web,
and is plain text where neither is known.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property
from html import unescape
from re import Match
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Slug
from wikisync.errors import UsageError
from wikisync.markup.diagrams import DRAWING_BYTES_MAX, static_drawing
from wikisync.markup.file_types import is_drawing
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import TAG, escape_marks
from wikisync.site.addresses import absolute_url
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


_LINKING = re.compile(r' (id|name|for|headers|href|src|aria-[a-z]+)="([^"]*)"')
_NAMES_IDS = frozenset({"for", "headers", "aria-labelledby", "aria-describedby"})
_OPENING = re.compile(r' (?:href|aria-label)="[^"]*"')
_ALT = re.compile(r' alt="([^"]*)"')
_HEADING = re.compile(r"h[1-6]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
LEVEL_MAX = 6
"""The deepest level of a heading."""


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
        self.site, self.theme = read.site.frame.context, theme
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
                path, title = composer.urls[slug], composer.titles[slug]
                count = len(self._places) + 1
                level = sum(1 for one in composer.tree.ancestors(slug) if one.url)
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
            rewriting = _TagRewriting(place.path, level, document)
            html = TAG.sub(rewriting.rewritten, view.html)
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
        scanned = self._read.wikis[number].scanned
        if (state := scanned.file(name)) is None:
            return None
        return FileOfBook(scanned, path, name, state.digest, state.size)

    @cached_property
    def _files(self) -> dict[str, tuple[int, str]]:
        """Output path to wiki and name of each file that a page may show."""
        return {
            addresses.file(name): (number, name)
            for number, addresses in enumerate(self._read.indexer.table.addresses)
            for name in (*addresses.attachments, *self._read.wikis[number].linked)
        }

    def outside(self, path: str, fragment: str = "") -> str | None:
        """Where a page or file that the document does not hold is on the web."""
        behind = f"#{fragment}" if fragment else ""
        if self.site.url:
            return absolute_url(self.site.url, path) + behind
        number, name = self._files.get(path) or self._pages.get(path, (0, ""))
        source = self._read.wikis[number].scanned.source
        if not name or not source.web_url:
            return None
        return f"{service_address(source)}/{quote(name)}{behind}"

    @cached_property
    def _pages(self) -> dict[str, tuple[int, str]]:
        """Output path to wiki and slug of each page of the site."""
        return {
            path: (number, slug)
            for number, addresses in enumerate(self._read.indexer.table.addresses)
            for slug, path in addresses.pages.items()
        }

    # What is said of it -----------------------------------------------------------

    def report(self) -> BuildReport:
        """What is wrong with the wikis, and how many pages the document has."""
        read = self._read
        problems = site_problems(read.site.wikis, self.theme)
        return BuildReport(
            pages=self.page_count,
            written=1,
            unchanged=0,
            removed=0,
            problems=(*problems, *read.indexer.kroki.problems),
            broken_links=link_report(read.wikis).broken,
            notes=folder_notes([wiki.scanned for wiki in read.wikis]),
        )


# What a page is in a document ----------------------------------------------------


class Document:
    """Where the ids, links and pictures of chapters lead; by default, in one file."""

    plays_media = False
    """Whether it may hold players of videos and sounds."""
    has_web = False
    """Whether it shows pictures of other hosts."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def ident(self, path: str, own: str) -> str:
        """The id in the document of an id in the page at an output path."""
        return self._book.ident(path, own)

    def page_link(self, path: str, fragment: str) -> str | None:
        """Address of a page or heading of the site; None for what is no page."""
        if place := self._book.place(path):
            own = fragment if self._book.has_id(place, fragment) else ""
            return self.place_link(place, own)
        is_file = self._book.file(path) is not None
        return None if is_file else self._book.outside(path, quote(fragment))

    def place_link(self, place: ChapterPlace, own: str) -> str:
        """Address of a page in the document, or of an id in it."""
        return quoted_fragment(self._book.ident(place.path, own))

    def file_link(self, path: str, *, is_shown: bool) -> str | None:
        """Address of a picture in the document, or of a linked file on the web."""
        if (file := self._book.file(path)) is None:
            return None
        return self.picture(file) if is_shown else self._book.outside(path)

    def picture(self, file: FileOfBook) -> str | None:
        """Address of a file to be shown; None where the document cannot."""
        raise NotImplementedError

    def data_link(self, address: str) -> str:
        """Address of a picture that is written into the page."""
        return address


def quoted_fragment(ident: str) -> str:
    """An id as the fragment of a link, as ``urlencode`` of the templates writes it.

    A PDF has a link's own spelling as the name of the place to which it leads.
    """
    return "#" + quote(ident)


class _TagRewriting:
    """Makes the tags of the sanitised page at an output path those of its chapter."""

    def __init__(self, path: str, level: int, document: Document) -> None:
        """``level`` is 0 for a page at the top; headings are so much deeper."""
        self._path, self._level, self._document = path, level, document
        self._is_lost = False
        """The tag is a picture that the document cannot show."""
        self._saved_as = ""
        """Name of the file that the tag holds, and that its link saves."""

    def rewritten(self, found: Match[str]) -> str:
        """A tag as the document has it."""
        tag, name = found[1], found[2]
        document = self._document
        if name.lstrip("/") in {"video", "audio"} and not document.plays_media:
            # the link to the file stands behind it
            return ""
        if name[0] == "/":
            return tag
        self._is_lost, self._saved_as = False, ""
        # what is printed never comes into view
        tag = tag.replace(' loading="lazy"', "")
        if name == "a" and 'class="picture"' in tag:
            tag = _OPENING.sub("", tag)
        tag = _LINKING.sub(self._value, tag)
        if self._is_lost:
            alt = _ALT.search(tag)
            return f'<span class="missing-media">{alt[1] if alt else ""}</span>'
        if self._saved_as:
            # of two such attributes the first one counts
            return f'<a download="{escape_marks(self._saved_as)}"{tag[2:]}'
        if self._level and _HEADING.fullmatch(name):
            level = min(int(name[1]) + self._level, LEVEL_MAX)
            return f'<{name} aria-level="{level}"{tag[len(name) + 1 :]}'
        return tag

    def _value(self, attribute: Match[str]) -> str:
        """An attribute that names an id or an address."""
        name, value = attribute[1], unescape(attribute[2])
        if name in {"id", "name"}:
            return f' {name}="{escape_marks(self._document.ident(self._path, value))}"'
        if name in _NAMES_IDS:
            idents = [self._document.ident(self._path, one) for one in value.split()]
            return f' {name}="{escape_marks(" ".join(idents))}"'
        if name.startswith("aria-"):
            return attribute[0]
        address = self._address(value, is_shown=name == "src")
        if address is None:
            self._is_lost = name == "src"
            return ""
        return f' {name}="{escape_marks(address)}"'

    def _address(self, address: str, *, is_shown: bool) -> str | None:
        document = self._document
        if address.startswith("data:"):
            return document.data_link(address)
        if _SCHEME.match(address):
            return address if document.has_web or not is_shown else None
        way, _, fragment = address.partition("#")
        path = self._path
        if way:
            folder = posixpath.dirname(path)
            path = posixpath.normpath(posixpath.join(folder, unquote(way)))
        if is_shown:
            return document.file_link(path, is_shown=True)
        link = document.page_link(path, unquote(fragment))
        if link is None:
            link = document.file_link(path, is_shown=False)
            if link and link.startswith("data:"):
                self._saved_as = posixpath.basename(path)
        return link

"""The HTML of a page as a chapter of one document: ids, links and pictures.  Pure.

A page's links are relative to its place in the site.  In the document they lead to
other chapters; what is not in it is reached where the site or the wiki is on the web,
and is plain text where neither is known.
"""

from __future__ import annotations

import posixpath
import re
from html import unescape
from re import Match
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from wikisync.markup.tokens import TAG, escape_marks

if TYPE_CHECKING:
    from wikisync.site.book.chapters import Book, ChapterPlace, FileOfBook

_LINKING = re.compile(r' (id|name|for|headers|href|src|aria-[a-z]+)="([^"]*)"')
_NAMES_IDS = frozenset({"for", "headers", "aria-labelledby", "aria-describedby"})
_HREF = re.compile(r' href="[^"]*"')
_ALT = re.compile(r' alt="([^"]*)"')
_HEADING = re.compile(r"h[1-6]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
LEVEL_MAX = 6
"""The deepest level of a heading."""


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


def chapter_html(html: str, path: str, level: int, document: Document) -> str:
    """The sanitised text of the page at an output path, as a chapter of the document.

    ``level`` is 0 for a page at the top; headings are so much deeper.
    """
    return TAG.sub(lambda tag: _Tag(path, level, document).rewritten(tag), html)


def quoted_fragment(ident: str) -> str:
    """An id as the fragment of a link, as ``urlencode`` of the templates writes it.

    A PDF has a link's own spelling as the name of the place to which it leads.
    """
    return "#" + quote(ident)


class _Tag:
    """Rewrites tags of one page."""

    def __init__(self, path: str, level: int, document: Document) -> None:
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
        is_picture_link = name == "a" and 'class="picture"' in tag
        if is_picture_link:
            tag = _HREF.sub("", tag)
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

"""What is known of a page and of a wiki once they are read; HTML lies in the cache.

There are thousands of these values, and no circle of references goes through one: the
collector of circles leaves them out (``gc=False``).

A page that is not read yet (only a preview shows a site that has one) has the facts
of the text before, or those that follow from its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Problem, Slug
from wikisync.folder.naming import is_unlisted
from wikisync.markup.record import TocEntry
from wikisync.site.crosslinks import is_elsewhere
from wikisync.site.model import SourcePage
from wikisync.site.titles import TITLE_CHARS_MAX, display_title, folder_title, shortened

if TYPE_CHECKING:
    from wikisync.site.sources import ScannedWiki


class BrokenRef(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link that leads nowhere."""

    href: str
    reason: str
    target: str
    line: int
    """Of the page's source, from 1; 0 where it is not known."""


class ParsedFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What phase A tells about a page without its HTML."""

    page_title: str
    ids: frozenset[str]
    summary: str
    problems: tuple[Problem, ...]
    includes: tuple[tuple[str, str], ...]
    """Each target that the page includes with the digest of what it got."""
    text_key: bytes
    """Of the row with the page's words and texts: another one with other texts."""
    retry_at: float = 0.0
    """When a page over a limit may be tried again, in seconds since the epoch, or 0."""
    is_slow: bool = False
    """It may end in a full attempt, for which there was no time."""
    tags: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """As all other pages show it."""
        return shortened(self.page_title, TITLE_CHARS_MAX)


class FinishedFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What phase B tells about a page without its HTML."""

    view_digest: bytes
    """Hash of the page's ``PageView``."""
    targets: tuple[str, ...]
    """Pages that it links to, each once, in order; tokens for other wikis."""
    broken: tuple[BrokenRef, ...]
    attachments: tuple[str, ...]
    """Loose files are among them."""
    needs: tuple[tuple[str, bytes], ...]
    """Pages whose headings it names, with the hash of their ids; empty for one that
    was not read."""
    asked: tuple[str, ...]
    """Paths inside the wiki that its links name, but for targets; those of files in
    its folder have a slash in front."""
    answers: bytes
    """Hash of what was found at its targets in the wiki and at these paths."""
    site: bytes
    """Hash of all addresses where the page names another wiki, else empty."""
    names_files: bool = False
    """Whether one of these paths is that of a file in the folder."""

    @property
    def names(self) -> tuple[str, ...]:
        """All that its links hang on inside the wiki besides the ids of headings."""
        return self.targets + self.asked

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Its targets in other wikis."""
        return tuple(filter(is_elsewhere, self.targets)) if self.site else ()


class PageView(msgspec.Struct, frozen=True, array_like=True):
    """What a template shows of a page."""

    html: str
    toc: tuple[TocEntry, ...]
    features: tuple[str, ...]
    """Sorted."""
    meta: dict[str, object]


VIEWS = msgpack_decoder(PageView)
"""Of views as the cache has them."""


class IndexedPage(Struct, frozen=True, array_like=True, gc=False):
    """One page of the site: facts in memory, HTML in the cache."""

    source: SourcePage
    parsed_key: bytes
    parsed: ParsedFacts
    finished_key: bytes
    finished: FinishedFacts

    @property
    def slug(self) -> Slug:
        """The page's slug."""
        return self.source.slug

    @property
    def is_bound(self) -> bool:
        """Whether it shows more than its text and names: other texts, hidden files."""
        asked = (path[1:] for path in self.finished.asked if path.startswith("/"))
        return bool(self.parsed.includes) or any(map(is_unlisted, asked))

    @property
    def seen(self) -> tuple[object, ...]:
        """What other pages and lists show of it and follow from it."""
        parsed = structs.replace(self.parsed, summary="", text_key=b"", tags=())
        return parsed, structs.replace(self.finished, view_digest=b"")

    @property
    def is_read(self) -> bool:
        """Whether its facts are those of its text."""
        return bool(self.parsed_key)


class IndexedWiki(Struct, frozen=True):
    """One wiki of the site."""

    number: int
    scanned: ScannedWiki
    pages: Mapping[Slug, IndexedPage]
    """Sorted by slug."""

    @property
    def name(self) -> str:
        """Full path of its owner."""
        return self.scanned.source.owner.full_path

    def made_from(self, inputs: Sequence[bytes]) -> bytes:
        """Which of ``Indexer.inputs`` count; nothing where more can change it."""
        if any(page.is_bound for page in self.pages.values()):
            return b""
        crosses = any(page.finished.site for page in self.pages.values())
        # the links of comments are resolved when they are shown
        return inputs[crosses or bool(self.scanned.source.comments)]

    @property
    def linked(self) -> list[str]:
        """The loose files that its pages link to, sorted."""
        loose = self.scanned.loose
        found = {
            name
            for page in self.pages.values()
            for name in page.finished.attachments
            if loose.named(name) == name
        }
        return sorted(found)


def unread_page(source: SourcePage, last: IndexedPage | None) -> IndexedPage:
    """A page that nobody has read, with the facts of the text that stood there last."""
    if last is not None:
        return IndexedPage(source, b"", last.parsed, b"", last.finished)
    title = display_title(folder_title(source.slug), source.slug)
    parsed = ParsedFacts(title, frozenset(), "", (), (), b"")
    nothing_linked = FinishedFacts(b"", (), (), (), (), (), b"", b"")
    return IndexedPage(source, b"", parsed, b"", nothing_linked)

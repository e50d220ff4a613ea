"""What one scan of a wiki's pages found.

Pure.  A list of pages also names what is no page of ours to keep
under that name:

- ``uploads/...``: attachments with names of pages, which come as attachments; a page
  that somebody made there is named and not synced;
- the second page of one slug (``a.md`` beside ``a.org``): nothing reaches it;
- a format this version does not know: kept as plain text;
- an entry that is no record of a page: the page is there, and cannot be seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.exchange import OddEntry
from wikisync.api.settings import MEBIBYTE
from wikisync.api.wikis import Wiki
from wikisync.contract.schema import WikiPageRecord
from wikisync.core import model
from wikisync.errors import NotFound, ProtocolViolation

UNREADABLE = "page-unreadable"
"""The code of a problem with a page that could not be read this time."""
LISTED_BYTES_MAX = MEBIBYTE
"""Texts from this size on are read singly, whatever the list says."""
GIT_HINT = "clone the wiki's git repository to see it"
_UPLOADED = re.compile(r"uploads/[0-9a-f]{32}/")
"""Where the service puts attachments; it lists those with a page's extension."""
_UTF8 = frozenset({"", "utf-8", "us-ascii"})


class Scan(Struct):
    """What one scan has found so far."""

    pages: dict[model.Slug, model.PageState] = field(default_factory=dict)
    texts: dict[model.Slug, model.Page] = field(default_factory=dict)
    problems: list[model.Problem] = field(default_factory=list)
    unreadable: set[model.Slug] = field(default_factory=set)
    formats: dict[model.Slug, model.Format] = field(default_factory=dict)
    """Format of every slug met, read or not."""
    identities: dict[model.Slug, str] = field(default_factory=dict)
    """What the service knows a page by through renames, where it says so."""
    single: list[model.Slug] = field(default_factory=list)
    """Slugs that have to be read singly."""
    is_complete: bool = True

    @classmethod
    def at(
        cls, records: Iterable[WikiPageRecord], odd: Iterable[OddEntry] = ()
    ) -> Scan:
        """Look at a list; a list without content leaves all pages to be read."""
        scan = cls()
        for record in records:
            scan._sort(record)
        for entry in odd:
            scan._set_aside(entry)
        # two pages of one id: it says nothing about which was renamed
        counts = Counter(scan.identities.values())
        for slug in [s for s, one in scan.identities.items() if counts[one] > 1]:
            del scan.identities[slug]
            if slug in scan.pages:
                scan.pages[slug] = replace(scan.pages[slug], identity="")
        return scan

    @classmethod
    def after(cls, seen: model.Snapshot) -> Scan:
        """Begin with what an earlier scan saw; what it could not read is open."""
        problems = [one for one in seen.problems if one.code != UNREADABLE]
        return cls(dict(seen.pages), problems=problems, is_complete=seen.is_complete)

    def take(self, record: WikiPageRecord, page: model.Page) -> bool:
        """Take in a page that was read singly; False if only a list explains it."""
        if record.slug != page.slug or known_format(record) is None:
            return False
        identity = record.wiki_page_meta_id
        self.formats[page.slug] = page.format
        self.identities[page.slug] = "" if identity is None else str(identity)
        self.add(page)
        return (record.encoding or "").lower() in _UTF8

    def add(self, page: model.Page) -> None:
        """Take in a page whose text is whole."""
        state = page.state(self.identities.get(page.slug, ""))
        self.pages[page.slug] = state
        if state.size is not None and state.size < LISTED_BYTES_MAX:
            self.texts[page.slug] = page

    def fail(self, code: str, slug: str, message: str, hint: str = "") -> None:
        """Note a problem with one page."""
        self.problems.append(model.Problem(code, slug, message, hint))

    @property
    def is_plain(self) -> bool:
        """Whether every page could be seen, so that "nothing changed" says all."""
        names = set(map(str.casefold, self.pages))
        return not self.problems and len(names) == len(self.pages)

    def snapshot(self) -> model.Snapshot:
        """What was found."""
        return model.Snapshot(
            pages=self.pages,
            problems=tuple(self.problems),
            is_complete=self.is_complete,
            unreadable=frozenset(self.unreadable),
            texts=self.texts,
        )

    def _sort(self, record: WikiPageRecord) -> None:
        slug = model.Slug(record.slug)
        if slug.startswith("uploads/"):
            if not _UPLOADED.match(slug):
                self.fail(
                    "page-below-uploads",
                    slug,
                    "the folder uploads is for attachments, so it is not synced",
                    "rename the page on the wiki",
                )
            return
        page_format = known_format(record)
        if page_format is None:
            page_format = model.Format.PLAINTEXT
            self.fail(
                "unknown-format",
                slug,
                f"has the unknown format {record.format}; kept as plain text",
                "check whether a newer wikisync supports it",
            )
        if slug in self.formats:
            first = self.formats[slug]
            if first is page_format:
                # no repository has one path twice: this list is not what it should be
                self.is_complete = False
                self.fail("page-listed-twice", slug, "listed twice", "run it again")
            else:
                self.fail(
                    "page-shadowed",
                    slug,
                    f"there are two pages of this name, {first} and {page_format};"
                    f" only the {first} one is kept",
                    "rename one of them in the wiki's git repository",
                )
            return
        self.formats[slug] = page_format
        if record.wiki_page_meta_id is not None:
            self.identities[slug] = str(record.wiki_page_meta_id)
        if (record.encoding or "").lower() not in _UTF8:
            self.fail(
                "page-not-utf-8",
                slug,
                f"stored as {record.encoding}, saved here as UTF-8",
                "some characters may be wrong; save the page on the wiki as UTF-8",
            )
        content = record.content
        # a character has at least one byte, so no long text slips through as short
        if content is None or len(content) >= LISTED_BYTES_MAX:
            self.single.append(slug)
            return
        self.add(model.Page(slug, page_format, content, record.title or ""))
        if slug not in self.texts:
            del self.pages[slug]
            self.single.append(slug)

    def _set_aside(self, entry: OddEntry) -> None:
        """Note a page of which the list says nothing sound: it is there, unseen."""
        slug = model.Slug(entry.slug)
        if slug.startswith("uploads/"):
            return
        self.is_complete = False
        if slug and slug not in self.formats:
            self.unreadable.add(slug)
        title = f" ({entry.title})" if entry.title else ""
        self.fail(
            "page-malformed",
            slug or f"entry {entry.number} of the list of pages{title}",
            f"the service lists it wrongly: {entry.reason}",
            "save the page on the wiki again, or ask the administrator of the service",
        )


def whole_page(record: WikiPageRecord, slug: model.Slug, wiki: Wiki) -> model.Page:
    """A page read singly, if it is the one asked for and its text is all there.

    Else NotFound, or ProtocolViolation for a text that is missing or was cut.
    """
    if record.slug != slug:
        # ``docs/service.md`` "Finding a page"
        raise NotFound(
            f"cannot read page {slug} of {wiki.owner}: the service answers with page"
            f" {record.slug} instead",
            url=wiki.web_url,
            hint=GIT_HINT,
        )
    if record.content is None:
        raise ProtocolViolation(
            f"page {slug} of {wiki.owner} came without its text", url=wiki.web_url
        )
    require_whole(slug, record.content, wiki)
    page_format = known_format(record) or model.Format.PLAINTEXT
    return model.Page(slug, page_format, record.content, record.title or "")


def require_whole(slug: str, content: str, wiki: Wiki) -> None:
    """Refuse a text as long as one that the service cut (Q9): ProtocolViolation."""
    size = len(content.encode("utf-8", "surrogatepass"))
    if size and size % MEBIBYTE == 0:
        raise ProtocolViolation(
            f"page {slug} of {wiki.owner} is exactly {size // MEBIBYTE} MiB:"
            " the service truncated it",
            url=wiki.web_url,
            hint=GIT_HINT,
        )


def known_format(record: WikiPageRecord) -> model.Format | None:
    """The page's format, or None where this version does not know it."""
    try:
        return model.Format(record.format)
    except ValueError:
        return None

"""From folders to facts: every page parsed, its links resolved, who links to whom.

Both phases of ``markup.page`` are cached by content.  Phase A depends on the page
alone (and what it includes); phase B on the addresses of its wiki, on the ids of
the pages whose headings it names, and, where it names another wiki of the site,
on all addresses.  Only facts stay in memory; HTML stays in the cache until the
page is written.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec

from wikisync.markup.bounded import bounded_parser
from wikisync.markup.links import LinkIndex, normal_path
from wikisync.markup.page import PARSED_VERSION, finish_page
from wikisync.markup.placeholders import values_of
from wikisync.markup.record import MarkupOptions, ParsedPage, TocEntry
from wikisync.model import Digest, Page, Problem, Slug, digest_of
from wikisync.site.addresses import HOME_SLUG, WikiAddresses
from wikisync.site.crosslinks import PageUrls, SiteLinks, WikiTable
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.sources import read_file

if TYPE_CHECKING:
    from wikisync.progress import Progress
    from wikisync.site.cache import Cache
    from wikisync.site.sources import ScannedWiki, SourcePage

INCLUDE_BYTES_MAX = 1024 * 1024
SUMMARY_CHARS = 160
UNREADABLE = Digest("unreadable")
"""Stands for the content of a file that vanished after it was listed."""

T = TypeVar("T")


class BrokenRef(msgspec.Struct, frozen=True, array_like=True):
    """A link that leads nowhere."""

    href: str
    reason: str
    target: str
    line: int
    """Of the page's source, from 1; 0 where it is not known."""


class ParsedFacts(msgspec.Struct, frozen=True, array_like=True):
    """What phase A tells about a page without its HTML."""

    title: str
    ids: frozenset[str]
    summary: str
    problems: tuple[Problem, ...]
    includes: tuple[tuple[str, str], ...]
    """Each target that the page includes with the digest of what it got."""
    search_digest: bytes
    """Hash of what the search index takes from the page."""


class FinishedFacts(msgspec.Struct, frozen=True, array_like=True):
    """What phase B tells about a page without its HTML."""

    view_digest: bytes
    """Hash of the page's ``PageView``."""
    targets: tuple[str, ...]
    """Pages that it links to, each once, in order; tokens for other wikis."""
    broken: tuple[BrokenRef, ...]
    attachments: tuple[str, ...]
    needs: tuple[tuple[str, bytes], ...]
    """Pages whose headings it names, with the hash of their ids."""
    site: bytes
    """Hash of all addresses where the page names another wiki, else empty."""


class PageView(msgspec.Struct, frozen=True, array_like=True):
    """What a template shows of a page."""

    html: str
    toc: tuple[TocEntry, ...]
    features: tuple[str, ...]
    """Sorted."""
    meta: dict[str, object]


@dataclass(frozen=True, slots=True)
class IndexedPage:
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


@dataclass(frozen=True, slots=True)
class IndexedWiki:
    """One wiki of the site."""

    number: int
    scanned: ScannedWiki
    pages: Mapping[Slug, IndexedPage]
    """Sorted by slug."""

    @property
    def name(self) -> str:
        """Full path of its owner."""
        return self.scanned.source.owner.full_path


class Indexer:
    """Parses and resolves the pages of all wikis, one wiki after the other."""

    def __init__(
        self,
        cache: Cache,
        table: WikiTable,
        progress: Progress,
        options: MarkupOptions | None = None,
    ) -> None:
        self._cache = cache
        self._table = table
        self._options = options or MarkupOptions()
        self._progress = progress
        self._program = hashlib.sha256(
            program_fingerprint() + repr((PARSED_VERSION, self._options)).encode()
        ).digest()
        self._site = _addresses_digest(table.addresses)
        self._bases = "\n".join(table.web_urls).encode()

    def index(
        self,
        number: int,
        scanned: ScannedWiki,
        before: Mapping[Slug, IndexedPage] | None = None,
    ) -> IndexedWiki:
        """Both phases for every page of one wiki.

        ``before`` are its pages as this indexer saw them last: those whose file is
        the same are not looked up again.
        """
        texts = _Includes(scanned)
        known = before or {}
        parsed: dict[Slug, tuple[bytes, ParsedFacts]] = {}
        for page in scanned.pages.values():
            last = known.get(page.slug)
            if last is not None and _is_same(last, page):
                parsed[page.slug] = last.parsed_key, last.parsed
            else:
                parsed[page.slug] = self._parse(scanned, page, texts)
            self._progress.advance()
        headings = {slug: facts.ids for slug, (_, facts) in parsed.items()}
        links = SiteLinks(number, self._table, headings)
        ids = {slug: _ids_digest(found) for slug, found in headings.items()}
        world = _addresses_digest([self._table.addresses[number]]) + self._bases
        pages = {}
        for slug, (key, facts) in parsed.items():
            last = known.get(slug)
            if (
                last is not None
                and last.parsed is facts
                and self._is_current(last.finished, ids)
            ):
                pages[slug] = last
                continue
            taken = repr(facts.includes).encode("utf-8", "surrogatepass")
            finished_key = hashlib.sha256(key + world + self._program + taken).digest()
            finished = self._known_finish(finished_key, ids)
            if finished is None:
                finished = self._finish(finished_key, key, number, links, ids)
            pages[slug] = IndexedPage(
                scanned.pages[slug], key, facts, finished_key, finished
            )
        return IndexedWiki(number, scanned, pages)

    def parsed_page(self, page: IndexedPage) -> ParsedPage:
        """Phase A of a page, from the cache."""
        return _decoded(self._cache.body("parsed", page.parsed_key), ParsedPage)

    def view(self, page: IndexedPage) -> PageView:
        """What a template shows of a page, from the cache."""
        return _decoded(self._cache.body("finished", page.finished_key), PageView)

    def sweep(self, pages: Sequence[IndexedPage]) -> None:
        """Let go of texts that no page has any more."""
        self._cache.sweep("parsed", (page.parsed_key for page in pages))
        self._cache.sweep("finished", (page.finished_key for page in pages))

    # Phase A ----------------------------------------------------------------------

    def _parse(
        self, scanned: ScannedWiki, page: SourcePage, texts: _Includes
    ) -> tuple[bytes, ParsedFacts]:
        options = self._options_for(scanned)
        key = self._parsed_key(page, page.digest, options)
        known = self._known_parse(key, page.slug, texts)
        if known is not None:
            return key, known
        content = read_file(scanned.source.folder, page.path)
        # the file may have changed since the look: the key names what was read
        key = self._parsed_key(
            page, UNREADABLE if content is None else digest_of(content), options
        )
        text, problems = _text_of(content, page)
        include = texts.recorder(page.slug)
        parsed = bounded_parser().parse(
            Page(page.slug, page.format, text), options, include=include
        )
        facts = ParsedFacts(
            title=_display_title(parsed),
            ids=parsed.ids,
            summary=_summary(parsed),
            problems=(*problems, *parsed.problems),
            includes=tuple(include.seen.items()),
            search_digest=_packed_digest(parsed.sections),
        )
        self._cache.store(
            "parsed", key, msgspec.msgpack.encode(facts), msgspec.msgpack.encode(parsed)
        )
        return key, facts

    def _options_for(self, scanned: ScannedWiki) -> MarkupOptions:
        """The site's options with what this wiki's placeholders stand for."""
        if self._options.placeholders is None:
            return self._options
        source = scanned.source
        values = values_of(
            source.owner, source.title, source.web_url, source.placeholders
        )
        return msgspec.structs.replace(
            self._options, placeholders={**values, **self._options.placeholders}
        )

    def _parsed_key(
        self, page: SourcePage, digest: Digest, options: MarkupOptions
    ) -> bytes:
        named = f"{digest}\0{page.format}\0{page.slug}"
        if options.placeholders:
            named += f"\0{sorted(options.placeholders.items())}"
        return hashlib.sha256(
            self._program + named.encode("utf-8", "surrogatepass")
        ).digest()

    def _known_parse(
        self, key: bytes, slug: Slug, texts: _Includes
    ) -> ParsedFacts | None:
        stored = self._cache.facts("parsed", key)
        if stored is None:
            return None
        facts = _decoded(stored, ParsedFacts)
        is_current = all(
            texts.digest(slug, target) == digest for target, digest in facts.includes
        )
        return facts if is_current else None

    # Phase B ----------------------------------------------------------------------

    def _known_finish(
        self, key: bytes, ids: Mapping[Slug, bytes]
    ) -> FinishedFacts | None:
        stored = self._cache.facts("finished", key)
        if stored is None:
            return None
        facts = _decoded(stored, FinishedFacts)
        return facts if self._is_current(facts, ids) else None

    def _is_current(self, facts: FinishedFacts, ids: Mapping[Slug, bytes]) -> bool:
        """Whether the site still is as a page's links were resolved in."""
        return facts.site in {b"", self._site} and all(
            ids.get(Slug(slug)) == digest for slug, digest in facts.needs
        )

    def _finish(
        self,
        key: bytes,
        parsed_key: bytes,
        number: int,
        links: SiteLinks,
        ids: Mapping[Slug, bytes],
    ) -> FinishedFacts:
        parsed = _decoded(self._cache.body("parsed", parsed_key), ParsedPage)
        at = self._table.addresses[number].pages[parsed.slug]
        crossings = links.crossings
        page = finish_page(parsed, links, PageUrls(at, number, self._table))
        view = msgspec.msgpack.encode(
            PageView(page.html, page.toc, tuple(sorted(page.features)), dict(page.meta))
        )
        named = {
            link.target: ids[Slug(link.target)]
            for link in page.links
            if link.kind == "page" and link.fragment and link.target in ids
        }
        facts = FinishedFacts(
            view_digest=hashlib.sha256(view).digest(),
            targets=tuple(
                dict.fromkeys(
                    link.target
                    for link in page.links
                    if link.kind == "page" and link.reason in {"", "no-heading"}
                )
            ),
            broken=tuple(
                BrokenRef(link.href, link.reason, link.target, link.line)
                for link in page.links
                if link.is_broken
            ),
            attachments=tuple(page.attachments),
            needs=tuple(sorted(named.items())),
            site=self._site if links.crossings > crossings else b"",
        )
        self._cache.store("finished", key, msgspec.msgpack.encode(facts), view)
        return facts


def _is_same(last: IndexedPage, page: SourcePage) -> bool:
    """Whether nothing but the page's own file can have changed it, and did not."""
    parsed = last.parsed
    return last.source == page and not parsed.includes and not parsed.problems


class _Recorder:
    """An include of one page that remembers what it was asked and gave."""

    def __init__(self, texts: _Includes, slug: Slug) -> None:
        self._texts = texts
        self._slug = slug
        self.seen: dict[str, str] = {}
        """Target to the digest of its text; empty where there is none."""

    def __call__(self, target: str) -> str | None:
        text = self._texts.text(self._slug, target)
        self.seen[target] = digest_of(text) if text is not None else ""
        return text


class _Includes:
    """Texts of one wiki that its pages may include: pages and text attachments."""

    def __init__(self, scanned: ScannedWiki) -> None:
        self._scanned = scanned
        self._index = LinkIndex(scanned.pages, scanned.attachments)
        self._texts: dict[str, str | None] = {}

    def recorder(self, slug: Slug) -> _Recorder:
        """The include of one page."""
        return _Recorder(self, slug)

    def digest(self, slug: Slug, target: str) -> str:
        """Digest of what a page gets for a target; empty where there is nothing."""
        text = self.text(slug, target)
        return digest_of(text) if text is not None else ""

    def text(self, slug: Slug, target: str) -> str | None:
        """What a page gets: seen from its folder first, then from the root."""
        for folder in (slug.rpartition("/")[0], ""):
            path = normal_path(posixpath.join(folder, target.lstrip("/")))
            file = self._file(path) if path else None
            if file is not None:
                return self._read(file)
        return None

    def _file(self, path: str) -> str | None:
        if path in self._index.attachments:
            return path
        slug = self._index.find_page(path)
        return self._scanned.pages[slug].path if slug is not None else None

    def _read(self, file: str) -> str | None:
        if file not in self._texts:
            content = read_file(self._scanned.source.folder, file)
            self._texts[file] = _plain_text(content)
        return self._texts[file]


def _plain_text(content: bytes | None) -> str | None:
    if content is None or len(content) > INCLUDE_BYTES_MAX or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _text_of(
    content: bytes | None, page: SourcePage
) -> tuple[str, tuple[Problem, ...]]:
    """A page's text whatever its bytes are, with what is wrong about them."""
    if content is None:
        return "", (_page_problem("page-unreadable", page, "cannot be read any more"),)
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError as exc:
        message = f"is not UTF-8 (byte {exc.start}); such bytes are shown as \ufffd"
        return (
            content.decode("utf-8", "replace"),
            (_page_problem("page-not-utf8", page, message),),
        )


def _page_problem(code: str, page: SourcePage, message: str) -> Problem:
    return Problem(code, page.slug, message, f"look at the file {page.path}")


def _display_title(parsed: ParsedPage) -> str:
    """The page's title; the home's plain slug is written as the service shows it."""
    title = " ".join(parsed.title.split()) or parsed.slug
    return "Home" if title == HOME_SLUG and parsed.slug == HOME_SLUG else title


def _summary(parsed: ParsedPage) -> str:
    """Description of the front matter, else how the text begins."""
    given = parsed.meta.get("description")
    found = (one.text for one in parsed.sections if one.text.strip())
    text = given if isinstance(given, str) else next(found, "")
    text = " ".join(text[: 4 * SUMMARY_CHARS].split())
    if len(text) <= SUMMARY_CHARS:
        return text
    cut = text[:SUMMARY_CHARS].rpartition(" ")[0] or text[:SUMMARY_CHARS]
    return f"{cut} …"


def _addresses_digest(addresses: Iterable[WikiAddresses]) -> bytes:
    digest = hashlib.sha256()
    for wiki in addresses:
        for name, path in (*wiki.pages.items(), *wiki.attachments.items()):
            digest.update(f"{name}\0{path}\n".encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.digest()


def _ids_digest(ids: frozenset[str]) -> bytes:
    text = "\0".join(sorted(ids))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _packed_digest(value: object) -> bytes:
    return hashlib.sha256(msgspec.msgpack.encode(value)).digest()


def _decoded(value: bytes | None, kind: type[T]) -> T:
    """A stored value; rows that this build has read or written are there."""
    assert value is not None, "the cache is held by one build"
    return msgspec.msgpack.decode(value, type=kind)

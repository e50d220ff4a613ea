"""What a build takes of a parsed page: facts, and texts for the cache.

It is made where the page is parsed, in a process of its own (``reading_worker``), which
appends the texts to those of the cache and resolves links inside the page's wiki: the
build gets a few hundred bytes of each page.  It resolves those itself that name
headings of other pages, other wikis or files beside the pages.
"""

import hashlib
import os
import pickle
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import NoReturn

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Problem, Slug
from wikisync.errors import Breach
from wikisync.markup.frontmatter import tags_of
from wikisync.markup.record import ParsedPage
from wikisync.markup.resolve import finish_page
from wikisync.markup.source import clean_source
from wikisync.site import titles
from wikisync.site.addresses import NO_ADDRESSES, WikiAddresses
from wikisync.site.bodies import NO_PLACE, Bodies, Place
from wikisync.site.crosslinks import LooseStates, PageUrls, SiteLinks, WikiTable
from wikisync.site.facts import BrokenRef, FinishedFacts, PageView
from wikisync.site.search import SearchedBody
from wikisync.site.search_words import DocumentText, document_words, packed_words


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """A page that is read."""

    title: str
    ids: frozenset[str]
    summary: str
    problems: tuple[Problem, ...]
    breach: Breach | None
    text_digest: bytes
    """Hash of what the search takes from the page: its title, words and texts."""
    parsed: Place
    """Of the packed ``ParsedPage`` without its texts."""
    searched: Place
    view: Place
    """Of the packed ``PageView``, where its links are resolved."""
    finished: FinishedFacts | None
    """None where that needs more than its own wiki's addresses."""
    tags: tuple[str, ...] = ()
    unkept: str = ""
    """Why its texts could not be appended."""


class Aim(msgspec.Struct, frozen=True, array_like=True):
    """Where a reading goes."""

    bodies: bytes
    """Path of the file of texts; it need not be text."""
    links: Place = b""
    """Of the pickled ``OwnLinks`` among these; empty: no link is resolved."""


class OwnLinks(msgspec.Struct, frozen=True):
    """What a worker knows of the site: the addresses of one wiki."""

    number: int
    web_urls: tuple[str, ...]
    """Of all wikis."""
    addresses: WikiAddresses
    folders: Mapping[Slug, str]
    loose: frozenset[str]
    """Paths of its loose files, not all of which need be text."""


_AIMS = msgpack_decoder(Aim)


def reading_of(parsed: ParsedPage, aim: bytes, source: str = "") -> Reading:
    """What is kept of a page; ``aim`` is a packed ``Aim``, ``source`` its text."""
    desk = _desk(aim)
    facts, view = desk.finished(parsed, source)
    title = titles.display_title(parsed.title, parsed.slug)
    shown = titles.shortened(title, titles.TITLE_CHARS_MAX)
    tags = tags_of(parsed.format, parsed.meta, "")
    words = packed_words(document_words(shown, parsed.sections, tags, parsed.slug))
    text = msgspec.msgpack.encode(DocumentText.of(parsed.sections))
    digest = hashlib.sha256(shown.encode("utf-8", "surrogatepass"))
    digest.update(b"\0%b\0%b" % (words, text))
    packed = msgspec.msgpack.encode(msgspec.structs.replace(parsed, sections=()))
    searched = msgspec.msgpack.encode(SearchedBody(words, text))
    unkept, places = "", [NO_PLACE] * 3
    try:
        places = desk.bodies.add(packed, searched, view)
    except OSError as error:
        unkept = error.strerror or str(error)
    about = parsed.ids, _summary(parsed), parsed.problems, parsed.breach
    first, second, last = places
    of_texts = digest.digest(), first, second, last
    return Reading(title, *about, *of_texts, facts, tags, unkept)


class _Desk:
    def __init__(self, aim: Aim) -> None:
        self.bodies = Bodies(Path(os.fsdecode(aim.bodies)))
        self._links: SiteLinks | None = None
        if aim.links:
            packed = self.bodies.read(aim.links)
            own = pickle.loads(packed)  # noqa: S301 - from our own parent
            assert isinstance(own, OwnLinks)
            self._links = SiteLinks(own.number, _OwnTable(own), {}, own.folders)

    def finished(
        self, parsed: ParsedPage, source: str
    ) -> tuple[FinishedFacts | None, bytes]:
        """Facts and view of a page, where its own wiki tells all of them."""
        hrefs = [ref.href for ref in parsed.refs]
        names = any(href.find("#") > 0 or href.startswith("id:") for href in hrefs)
        if self._links is None or names:  # of headings of other pages
            return None, b""
        try:
            read = partial(clean_source, source)
            return finished(parsed, self._links, _unknown, b"", read)
        except _NotHere:
            return None, b""


@lru_cache(maxsize=1)
def _desk(aim: bytes) -> _Desk:
    return _Desk(_AIMS.decode(aim))


class _NotHere(Exception):
    """What a link leads to is not known to this process."""


def _unknown(_: str) -> NoReturn:
    raise _NotHere


class _OwnTable(WikiTable):
    """A table that knows the addresses of one wiki alone."""

    def __init__(self, own: OwnLinks) -> None:
        addresses = [NO_ADDRESSES] * len(own.web_urls)
        addresses[own.number] = own.addresses
        loose = [LooseStates(own.loose, _unknown)] * len(own.web_urls)
        super().__init__(own.web_urls, addresses, loose)

    def find(self, url: str) -> None:
        """Where a full address leads: nowhere, or to what only the build knows."""
        if super().find(url) is not None:
            raise _NotHere


Ids = Callable[[Slug], bytes]
"""Hash of the ids of a page; empty where they are not known."""


def finished(
    parsed: ParsedPage,
    links: SiteLinks,
    ids: Ids,
    site: bytes,
    source: Callable[[], str],
) -> tuple[FinishedFacts, bytes]:
    """A page with its links resolved; ``source`` gives its text if one is broken."""
    number, table = links.number, links.table
    own = table.addresses[number].pages
    crossings = links.crossings
    links.asked.clear()
    urls = PageUrls(own[parsed.slug], number, table)
    page = finish_page(parsed, links, urls, source)
    view = msgspec.msgpack.encode(
        PageView(page.html, page.toc, tuple(sorted(page.features)), dict(page.meta))
    )
    named = {
        link.target: ids(Slug(link.target))
        for link in page.links
        if link.fragment and link.kind == "page" and link.target in own
    }
    by_id = [ref.href for ref in parsed.refs if ref.href.startswith("id:")]
    named |= {href: ids(Slug(href)) for href in by_id}
    targets = {
        link.target: None
        for link in page.links
        if link.kind == "page"
        and (not link.reason or link.reason == "no-heading")
        and not table.is_beside(link.target)
    }
    asked = [path for path in links.asked if path not in targets]
    facts = FinishedFacts(
        view_digest=hashlib.sha256(view).digest(),
        targets=tuple(targets),
        broken=tuple(
            BrokenRef(link.href, link.reason, link.target, link.line)
            for link in page.links
            if link.is_broken
        ),
        attachments=tuple(page.attachments),
        needs=tuple(sorted(named.items())),
        asked=tuple(asked),
        answers=table.answers(number, targets, asked),
        site=site if links.crossings > crossings else b"",
        names_files=any(path.startswith("/") for path in asked),
    )
    return facts, view


def has_same_ids(facts: FinishedFacts, ids: Ids) -> bool:
    """Whether the pages whose headings a page names have the same ones."""
    return all(ids(Slug(slug)) == digest for slug, digest in facts.needs)


def _summary(parsed: ParsedPage) -> str:
    """Description of the front matter, else how the text begins."""
    given = parsed.meta.get("description")
    found = (one.text for one in parsed.sections if one.text.strip())
    text = given if isinstance(given, str) else next(found, "")
    text = " ".join(text[: 4 * titles.SUMMARY_CHARS_MAX].split())
    return titles.shortened(text, titles.SUMMARY_CHARS_MAX)

"""What the links of all pages add up to: backlinks, wanted pages, orphans.  Pure.

Everything is sorted, so that the same wikis always give the same report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from wikisync.markup.resolve import REASONS
from wikisync.model import Problem, Slug
from wikisync.site.addresses import SIDEBAR_SLUG, home_slug
from wikisync.site.crosslinks import ItemKey, place_of
from wikisync.site.model import BrokenLink

if TYPE_CHECKING:
    from wikisync.site.facts import IndexedWiki

TEMPLATES = "templates/"
"""Pages below it are the service's page templates: nobody links to them."""


class WantedPage(Struct, frozen=True):
    """A page that others link to and that nobody has written."""

    wiki: int
    slug: str
    pages: tuple[Slug, ...]
    """The pages that link to it."""


class LinkReport(Struct, frozen=True):
    """The links of a whole site."""

    broken: tuple[BrokenLink, ...]
    wanted: tuple[WantedPage, ...]
    """Those wanted most come first."""
    orphans: tuple[ItemKey, ...]


class LinkSums:
    """The links of a site, added up wiki by wiki.

    Of each wiki only what others need is kept: broken links, and links that lead out
    of it.
    """

    def __init__(self) -> None:
        self._broken: list[BrokenLink] = []
        self._wanted: list[WantedPage] = []
        self._crossing: defaultdict[ItemKey, list[ItemKey]] = defaultdict(list)
        self._orphans: list[ItemKey] = []

    def add(self, wiki: IndexedWiki) -> None:
        """Take the links of a wiki."""
        self._broken += _broken(wiki)
        self._wanted += _wanted(wiki)
        for target, source in _links(wiki):
            if target.wiki != wiki.number:
                self._crossing[target].append(source)

    def backlinks(self, wiki: IndexedWiki) -> dict[Slug, list[ItemKey]]:
        """Who links to each page of a wiki, once the links of all wikis are known."""
        found: defaultdict[Slug, list[ItemKey]] = defaultdict(list)
        for target, source in _links(wiki):
            if target.wiki == wiki.number:
                found[Slug(target.name)].append(source)
        for slug in wiki.pages if self._crossing else ():
            if sources := self._crossing.get(ItemKey(wiki.number, slug)):
                found[slug] += sources
        return found

    def add_orphans(self, wiki: IndexedWiki, linked: Container[Slug]) -> list[ItemKey]:
        """Take the pages of a wiki that nothing leads to; they are returned.

        ``linked`` are its pages with backlinks.
        """
        orphans = list(_orphans(wiki, linked))
        self._orphans += orphans
        return orphans

    def report(self) -> LinkReport:
        """What all of them add up to."""
        wanted = sorted(
            self._wanted, key=lambda page: (-len(page.pages), page.wiki, page.slug)
        )
        broken = tuple(sorted(self._broken))
        return LinkReport(broken, tuple(wanted), tuple(self._orphans))


def link_report(wikis: Sequence[IndexedWiki]) -> LinkReport:
    """Add up the links of all pages of a site."""
    sums = LinkSums()
    for wiki in wikis:
        sums.add(wiki)
    for wiki in wikis:
        sums.add_orphans(wiki, sums.backlinks(wiki))
    return sums.report()


def backlinks_of(wikis: Sequence[IndexedWiki], place: ItemKey) -> tuple[ItemKey, ...]:
    """The pages that link to one page, without adding up the links of all."""
    token = place.token()
    return tuple(
        ItemKey(wiki.number, slug)
        for wiki in wikis
        for slug, page in wiki.pages.items()
        if (token in page.finished.targets)
        or (wiki.number == place.wiki and place.name in page.finished.targets)
        if slug != SIDEBAR_SLUG and ItemKey(wiki.number, slug) != place
    )


def encode_report(
    names: Sequence[str], report: LinkReport, problems: Iterable[Problem]
) -> bytes:
    """``-/report.json``, for programs: sorted, indented, no dates.

    ``names`` are the full paths of the wikis' owners.
    """
    content = {
        "broken_links": report.broken,
        "wanted_pages": [
            {
                "wiki": names[wanted.wiki],
                "slug": wanted.slug,
                "count": len(wanted.pages),
                "pages": wanted.pages,
            }
            for wanted in report.wanted
        ],
        "orphans": [
            {"wiki": names[place.wiki], "slug": place.name} for place in report.orphans
        ],
        "problems": list(problems),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def _links(wiki: IndexedWiki) -> Iterator[tuple[ItemKey, ItemKey]]:
    """Each link as target and source; a sidebar links to everything and is left out."""
    for slug, page in wiki.pages.items():
        if slug == SIDEBAR_SLUG:
            continue
        source = ItemKey(wiki.number, slug)
        for target in page.finished.targets:
            place = place_of(target, wiki.number)
            if place != source:
                yield place, source


def _broken(wiki: IndexedWiki) -> Iterator[BrokenLink]:
    for slug, page in wiki.pages.items():
        for ref in page.finished.broken:
            yield BrokenLink(wiki.name, slug, ref.line, ref.href, REASONS[ref.reason])


def _wanted(wiki: IndexedWiki) -> Iterator[WantedPage]:
    found: defaultdict[str, dict[Slug, None]] = defaultdict(dict)
    for slug, page in wiki.pages.items():
        for ref in page.finished.broken:
            if ref.reason == "no-page":
                found[ref.target][slug] = None
    for target, by in found.items():
        yield WantedPage(wiki.number, target, tuple(by))


def _orphans(wiki: IndexedWiki, linked: Container[Slug]) -> Iterator[ItemKey]:
    sidebar = wiki.pages.get(SIDEBAR_SLUG)
    reached = set(sidebar.finished.targets) if sidebar else set()
    reached |= {SIDEBAR_SLUG, home_slug(wiki.pages) or ""}
    for slug in wiki.pages:
        is_reached = slug in reached or slug in linked
        if not is_reached and not slug.startswith(TEMPLATES):
            yield ItemKey(wiki.number, slug)

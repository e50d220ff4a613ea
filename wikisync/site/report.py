"""What the links of all pages add up to: backlinks, wanted pages, orphans.  Pure.

Everything is sorted, so that the same wikis always give the same report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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

    backlinks: Mapping[ItemKey, tuple[ItemKey, ...]]
    broken: tuple[BrokenLink, ...]
    wanted: tuple[WantedPage, ...]
    """Those wanted most come first."""
    orphans: tuple[ItemKey, ...]


def link_report(wikis: Sequence[IndexedWiki]) -> LinkReport:
    """Add up the links of all pages of a site."""
    backlinks = _backlinks(wikis)
    return LinkReport(
        backlinks=backlinks,
        broken=tuple(sorted(_broken(wikis))),
        wanted=tuple(_wanted(wikis)),
        orphans=tuple(_orphans(wikis, backlinks)),
    )


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
    wikis: Sequence[IndexedWiki], report: LinkReport, problems: Iterable[Problem]
) -> bytes:
    """``-/report.json``, for programs: sorted, indented, no dates."""
    names = [wiki.name for wiki in wikis]
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


def _backlinks(wikis: Sequence[IndexedWiki]) -> dict[ItemKey, tuple[ItemKey, ...]]:
    """Who links to a page; a sidebar links to everything and does not count."""
    found: defaultdict[ItemKey, list[ItemKey]] = defaultdict(list)
    for wiki in wikis:
        for slug, page in wiki.pages.items():
            if slug == SIDEBAR_SLUG:
                continue
            source = ItemKey(wiki.number, slug)
            for target in page.finished.targets:
                place = place_of(target, wiki.number)
                if place != source:
                    found[place].append(source)
    return {place: tuple(sources) for place, sources in found.items()}


def _broken(wikis: Iterable[IndexedWiki]) -> Iterable[BrokenLink]:
    for wiki in wikis:
        for slug, page in wiki.pages.items():
            for ref in page.finished.broken:
                yield BrokenLink(
                    wiki.name, slug, ref.line, ref.href, REASONS[ref.reason]
                )


def _wanted(wikis: Iterable[IndexedWiki]) -> list[WantedPage]:
    found: defaultdict[tuple[int, str], dict[Slug, None]] = defaultdict(dict)
    for wiki in wikis:
        for slug, page in wiki.pages.items():
            for ref in page.finished.broken:
                if ref.reason == "no-page":
                    found[wiki.number, ref.target][slug] = None
    wanted = [WantedPage(wiki, slug, tuple(by)) for (wiki, slug), by in found.items()]
    return sorted(wanted, key=lambda page: (-len(page.pages), page.wiki, page.slug))


def _orphans(
    wikis: Iterable[IndexedWiki], backlinks: Mapping[ItemKey, tuple[ItemKey, ...]]
) -> Iterable[ItemKey]:
    for wiki in wikis:
        sidebar = wiki.pages.get(SIDEBAR_SLUG)
        reached = set(sidebar.finished.targets) if sidebar else set()
        reached |= {SIDEBAR_SLUG, home_slug(wiki.pages) or ""}
        for slug in wiki.pages:
            is_reached = slug in reached or ItemKey(wiki.number, slug) in backlinks
            if not is_reached and not slug.startswith(TEMPLATES):
                yield ItemKey(wiki.number, slug)

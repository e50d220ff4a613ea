"""What the links of all pages add up to: backlinks, wanted pages, orphans.  Pure.

Everything is sorted, so that the same wikis always give the same report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from wikisync.markup.resolve import REASONS
from wikisync.model import Problem, Slug
from wikisync.site.addresses import home_slug
from wikisync.site.crosslinks import ItemKey, place_of
from wikisync.site.model import BrokenLink
from wikisync.site.sources import is_template

if TYPE_CHECKING:
    from wikisync.site.facts import IndexedWiki


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

    Of each wiki only what others need is kept: broken links, links that lead out of
    it, and pages to which none of its own leads.
    """

    def __init__(self) -> None:
        self._broken: list[BrokenLink] = []
        self._wanted: list[WantedPage] = []
        self._crossing: defaultdict[ItemKey, list[ItemKey]] = defaultdict(list)
        self._unreached: list[ItemKey] = []

    def add(self, wiki: IndexedWiki) -> frozenset[Slug]:
        """Take the links of a wiki; the pages to which none of them leads."""
        self._broken += _broken(wiki)
        self._wanted += _wanted(wiki)
        for slug, page in wiki.pages.items():
            if slug in wiki.scanned.beside:
                continue  # it links to everything
            for target in page.finished.elsewhere:
                source = ItemKey(wiki.number, slug)
                self._crossing[place_of(target, wiki.number)].append(source)
        unreached = _unreached(wiki)
        self._unreached += [ItemKey(wiki.number, slug) for slug in unreached]
        return frozenset(unreached)

    def backlinks(
        self, wiki: IndexedWiki, slugs: Collection[Slug]
    ) -> dict[str, list[ItemKey]]:
        """Who links to some pages of a wiki, once the links of all wikis are known."""
        found: dict[str, list[ItemKey]] = {slug: [] for slug in slugs}
        wanted, beside = found.keys(), wiki.scanned.beside
        for slug, page in wiki.pages.items() if slugs else ():
            if slug in beside or wanted.isdisjoint(page.finished.targets):
                continue
            source = ItemKey(wiki.number, slug)
            for target in page.finished.targets:
                if target in found and target != slug:
                    found[target].append(source)
        for slug in slugs if self._crossing else ():
            found[slug] += self._crossing.get(ItemKey(wiki.number, slug), ())
        return found

    def report(self) -> LinkReport:
        """What all of them add up to."""
        wanted = sorted(
            self._wanted, key=lambda page: (-len(page.pages), page.wiki, page.slug)
        )
        broken = tuple(sorted(self._broken))
        orphans = [one for one in self._unreached if one not in self._crossing]
        return LinkReport(broken, tuple(wanted), tuple(orphans))


def link_report(wikis: Sequence[IndexedWiki]) -> LinkReport:
    """Add up the links of all pages of a site."""
    sums = LinkSums()
    for wiki in wikis:
        sums.add(wiki)
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
        if slug not in wiki.scanned.beside and ItemKey(wiki.number, slug) != place
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


def _unreached(wiki: IndexedWiki) -> list[Slug]:
    """The pages to which no other page of their wiki leads."""
    reached = {*wiki.scanned.beside, home_slug(wiki.pages) or ""}
    for slug, page in wiki.pages.items():
        targets = page.finished.targets
        if slug in targets and slug not in reached:
            reached.update(target for target in targets if target != slug)
        else:
            reached.update(targets)
    return [
        slug for slug in wiki.pages if slug not in reached and not is_template(slug)
    ]


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

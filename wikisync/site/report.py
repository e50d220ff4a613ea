"""What pages add up to: backlinks, wanted pages, orphans, search, what is stale.  Pure.

Everything is sorted, so that the same wikis always give the same report.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

import msgspec
from msgspec import Struct

from wikisync.core.model import Problem, Slug
from wikisync.core.versions import iso_time
from wikisync.markup.diagrams import DRAWING_BYTES_MAX
from wikisync.markup.resolve import REASONS
from wikisync.site.addresses import NO_ADDRESSES, WikiAddresses, home_slug
from wikisync.site.agents import ListedWiki
from wikisync.site.context import PageRef
from wikisync.site.crosslinks import ItemKey, place_of
from wikisync.site.facts import IndexedPage, IndexedWiki
from wikisync.site.model import BrokenLink, Summary
from wikisync.site.pages import WikiPages, by_title
from wikisync.site.search import DocumentKey
from wikisync.site.sources import is_template


class WantedPage(Struct, frozen=True):
    """A page that others link to and that nobody has written."""

    wiki: int
    slug: str
    pages: tuple[Slug, ...]


class LinkReport(Struct, frozen=True):
    """The links of a whole site."""

    broken: tuple[BrokenLink, ...]
    wanted: tuple[WantedPage, ...]
    orphans: tuple[ItemKey, ...]


class WikiLinks(Struct, frozen=True, array_like=True):
    """What others need of the links of one wiki."""

    broken: tuple[BrokenLink, ...] = ()
    wanted: tuple[WantedPage, ...] = ()
    crossing: tuple[tuple[ItemKey, ItemKey], ...] = ()
    """Pages of other wikis that it links to, each with the page that does."""
    unreached: tuple[ItemKey, ...] = ()
    """Its pages to which none of its own leads."""


def links_of(wiki: IndexedWiki) -> WikiLinks:
    """The links of a wiki."""
    number, beside = wiki.number, wiki.scanned.beside
    broken: list[BrokenLink] = []
    wanted: defaultdict[str, dict[Slug, None]] = defaultdict(dict)
    crossing: list[tuple[ItemKey, ItemKey]] = []
    for slug, page in wiki.pages.items():
        for ref in page.finished.broken:
            why = REASONS[ref.reason]
            broken.append(BrokenLink(wiki.name, slug, ref.line, ref.href, why))
            if ref.reason == "no-page":
                wanted[ref.target][slug] = None
        if slug not in beside:  # it links to everything
            source = ItemKey(number, slug)
            others = page.finished.elsewhere
            crossing += [(place_of(target, number), source) for target in others]
    return WikiLinks(
        tuple(broken),
        tuple(WantedPage(number, name, tuple(by)) for name, by in wanted.items()),
        tuple(crossing),
        tuple(ItemKey(number, slug) for slug in _unreached(wiki)),
    )


class LinkSums:
    """The links of a site, added up wiki by wiki."""

    def __init__(self) -> None:
        self._broken: list[BrokenLink] = []
        self._wanted: list[WantedPage] = []
        self._crossing: defaultdict[ItemKey, list[ItemKey]] = defaultdict(list)
        self._unreached: list[ItemKey] = []

    def add(self, links: WikiLinks) -> None:
        """Take the links of a wiki."""
        self._broken += links.broken
        self._wanted += links.wanted
        self._unreached += links.unreached
        for place, source in links.crossing:
            self._crossing[place].append(source)

    def backlinks(
        self,
        composer: WikiPages,
        slugs: Collection[Slug],
        others: Mapping[ItemKey, PageRef],
    ) -> dict[str, list[PageRef]]:
        """Who links to some pages of a wiki, sorted, from ``others`` out of the rest.

        The links of all wikis are known.
        """
        wiki, reference = composer.wiki, composer.reference
        found: dict[str, list[PageRef]] = {slug: [] for slug in slugs}
        wanted, beside = found.keys(), wiki.scanned.beside
        sources = [
            (reference(slug), slug, page.finished.targets)
            for slug, page in wiki.pages.items()
            if slug not in beside and not wanted.isdisjoint(page.finished.targets)
        ]
        # each list is sorted then: a page may be in a hundred
        for source, slug, targets in sorted(sources, key=lambda one: by_title(one[0])):
            for target in targets:
                if target in found and target != slug:
                    found[target].append(source)
        for slug in slugs if self._crossing else ():
            if crossing := self._crossing.get(ItemKey(wiki.number, slug)):
                linking = [*found[slug], *map(others.__getitem__, crossing)]
                found[slug] = sorted(linking, key=by_title)
        return found

    def report(self) -> LinkReport:
        """What all of them add up to."""
        wanted = sorted(
            self._wanted, key=lambda page: (-len(page.pages), page.wiki, page.slug)
        )
        broken = tuple(sorted(self._broken))
        orphans = [one for one in self._unreached if one not in self._crossing]
        return LinkReport(broken, tuple(wanted), tuple(orphans))


class WikiNote(ListedWiki, frozen=True, array_like=True):
    """What a build notes of one wiki, beside its pages."""

    inputs: bytes
    """Hash of what it was made from but its files; empty: more can change it."""
    reading: bytes
    """What the facts of pages hang on besides their files (``Indexer.reading_key``)."""
    table: bytes
    """What their links were resolved in (``Indexer.table_key``)."""
    frame: bytes
    """What they all show besides their own and the tree (``WikiPages.frame_key``)."""
    addresses: WikiAddresses
    problems: tuple[Problem, ...]
    retry_at: float
    """When the first page over a limit may be tried again; 0: there is none."""
    links: WikiLinks
    documents: tuple[DocumentKey, ...]
    linked: tuple[str, ...]
    """The loose files that its pages link to, sorted."""
    references: Mapping[Slug, PageRef]
    """Pages that other wikis and the lists around all of them name."""
    history: bytes = b""
    """Hash of what was known of its history."""
    changes: bytes = b""
    """Its last changes, packed: those of all wikis would fill the memory."""
    digests: tuple[str, ...] = ()
    """Those of its pages' texts and of their versions, in their order."""
    around_texts: bytes = b""
    """As in ``ScannedWiki``."""
    state: bytes = b""
    """Hash of all that its addresses and the rest of this follow from."""
    summary: Summary = Summary()
    listed_key: bytes = b""


NO_NOTE = WikiNote(
    b"", b"", b"", b"", b"", b"", NO_ADDRESSES, (), 0, WikiLinks(), (), (), {}
)


class Stale(Struct, frozen=True):
    """What of one wiki, and of others, may have another key."""

    own: frozenset[Slug] | None = frozenset()
    elsewhere: frozenset[ItemKey] = frozenset()
    has_same_lists: bool = True
    """Its lists show what they showed."""


def stale_pages(
    wiki: IndexedWiki,
    before: Mapping[Slug, IndexedPage],
    changed: Set[Slug],
    moved: Collection[Slug],
    around: Collection[Slug] | None,
) -> Stale:
    """The pages that another state of one wiki gives another key.

    Those ``changed`` are not what they were, or gone; those ``moved`` have another
    title or path, which pages show that they link to; those ``around`` another
    navigation or other neighbours, or all have (None).
    """
    number = wiki.number
    stale = {ItemKey(number, slug) for slug in around or ()}
    for slug in changed:
        page, old = wiki.pages.get(slug), before.get(slug)
        stale |= {ItemKey(number, slug)} if page else set()
        targets = set(page.finished.targets if page else ())
        others = set(old.finished.targets if old else ())
        other = targets | others if slug in moved else targets ^ others
        stale |= {place_of(target, number) for target in other}
    own = frozenset(Slug(place.name) for place in stale if place.wiki == number)
    return Stale(
        None if around is None else own,
        frozenset(place for place in stale if place.wiki != number),
        around is not None and not moved and before.keys() == wiki.pages.keys(),
    )


def link_report(wikis: Sequence[IndexedWiki]) -> LinkReport:
    """Add up the links of all pages of a site."""
    sums = LinkSums()
    for wiki in wikis:
        sums.add(links_of(wiki))
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


def search_keys(composers: Iterable[WikiPages]) -> Iterator[DocumentKey]:
    """What the search index takes: every page that is read but those beside others."""
    for composer in composers:
        wiki, beside = composer.label, composer.wiki.scanned.beside
        urls, titles = composer.urls, composer.titles
        for slug, page in composer.wiki.pages.items():
            if slug not in beside and page.parsed_key:
                time, parsed = page.source.dates.changed, page.parsed
                day = (iso_time(time) or "")[:10] if time else ""
                named = urls[slug], titles[slug], wiki, parsed.text_key
                yield DocumentKey(*named, day, parsed.tags)


def large_drawing(name: str) -> Problem:
    """What is wrong with a drawing that is not looked at."""
    mib = DRAWING_BYTES_MAX // 1024**2
    return Problem(
        "drawing-large",
        name,
        f"is an SVG of more than {mib} MiB; the site shows an empty image instead",
        "make it smaller, or attach it as PNG",
    )

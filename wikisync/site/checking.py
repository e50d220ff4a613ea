"""What a site build would say of its wikis, without making a site.

Pages are parsed and their links resolved as in a build, with the same cache; nothing
but the cache is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.messages import Progress
from wikisync.core.model import Problem
from wikisync.markup.resolve import positions_of
from wikisync.site import composing
from wikisync.site.attempts import Attempts
from wikisync.site.build import checked_sources
from wikisync.site.cache import Cache, with_cache
from wikisync.site.crosslinks import WikiTable, service_address
from wikisync.site.facts import IndexedWiki
from wikisync.site.frame import site_addresses
from wikisync.site.index import Indexer
from wikisync.site.model import BrokenLink, SiteOptions, WikiSource
from wikisync.site.report import link_report
from wikisync.site.sources import folder_notes, scan_wiki, settle
from wikisync.site.theme import Theme, load_theme

_EXTERNAL = re.compile(
    r'<(?:a|img|video|audio|source)\b[^>]*?\s(?:href|src)="(https?://[^"]+)"[^>]*'
)
"""A tag of a page that names another server; the sanitiser wrote it."""
FRONT_MATTER = "front-matter-"
"""How the codes of these problems begin."""
_REFERENCE = ' class="reference'
"""Of the service itself, such as an issue: only who is logged in sees many of them."""


class CheckedLink(Struct, frozen=True):
    """A broken link, and the file that holds it."""

    link: BrokenLink
    file: Path


class CheckReport(Struct, frozen=True):
    """What was found in some wikis."""

    pages: int
    broken_links: tuple[CheckedLink, ...]
    wanted: tuple[tuple[str, str, int], ...]
    """Wiki, slug and number of pages that link there; those wanted most first."""
    orphans: tuple[tuple[str, str], ...]
    """Wiki and slug of each page that no other leads to."""
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    external: tuple[CheckedLink, ...] = ()
    """Addresses of other servers, each once a page, where they are asked for."""

    @property
    def is_clean(self) -> bool:
        """Whether every link leads somewhere and every page is well."""
        return not self.broken_links and not self.problems


def check_wikis(
    wikis: Sequence[WikiSource],
    options: SiteOptions,
    *,
    cache: Path,
    progress: Progress | None = None,
    is_external: bool = False,
    below: Path | None = None,
) -> CheckReport:
    """Look at all pages and links of some wikis, on demand at external links.

    Of a single wiki it may tell only of the path ``below``.  Raises as ``build_site``.
    """
    # nothing is written, so that no output can lie in a wiki's folder
    sources = checked_sources(wikis, Path(os.devnull), options)
    theme = load_theme(
        options.theme, project=options.templates, options=options.theme_options
    )
    shown = progress or Progress()

    def checked(store: Cache) -> CheckReport:
        found = read_wikis(sources, options, theme, shown, store)
        others = composing.site_problems(found.site.wikis, theme)
        problems = (
            *(one for one in others if not one.code.startswith(FRONT_MATTER)),
            *_front_matter_problems(found),
        )
        external = tuple(_external(found)) if is_external else ()
        for wiki in found.wikis:
            settle(wiki.scanned, store)
        report = replace(_report(found.wikis, problems), external=external)
        if below is None or len(found.wikis) > 1:
            return report
        return _narrowed(report, found.wikis[0], below)

    return with_cache(cache, checked)


def _narrowed(report: CheckReport, wiki: IndexedWiki, below: Path) -> CheckReport:
    """The report without what is about pages that are not ``below``."""
    root, inside, outside = wiki.scanned.source.folder, set[str](), set[str]()
    if not below.is_relative_to(top := root.resolve()):
        return report
    for slug, page in wiki.pages.items():
        path = page.source.path
        is_in = any((top / name).is_relative_to(below) for name in (path, slug))
        (inside if is_in else outside).update((slug, path, str(root / path)))

    def kept(links: Sequence[CheckedLink]) -> tuple[CheckedLink, ...]:
        return tuple(one for one in links if one.link.slug in inside)

    def is_kept(one: Problem) -> bool:
        return outside.isdisjoint([one.subject, one.subject.rpartition(":")[0]])

    return replace(
        report,
        pages=len(inside & wiki.pages.keys() - wiki.scanned.beside),
        broken_links=kept(report.broken_links),
        external=kept(report.external),
        orphans=tuple(one for one in report.orphans if one[1] in inside),
        problems=tuple(filter(is_kept, report.problems)),
    )


def _front_matter_problems(found: ReadWikis) -> Iterator[Problem]:
    """Those of all pages, by file and line."""
    for wiki in found.wikis:
        for page in wiki.pages.values():
            file = str(wiki.scanned.source.folder / page.source.path)
            for one in page.parsed.problems:
                if one.code.startswith(FRONT_MATTER):
                    line = one.subject.rpartition(":")[2]
                    yield replace(one, subject=f"{file}:{line}")


def _external(found: ReadWikis) -> Iterator[CheckedLink]:
    """The addresses of other servers that pages link to or show, with their lines."""
    for wiki in found.wikis:
        source = wiki.scanned.source
        for slug, page in wiki.pages.items():
            tags = _EXTERNAL.finditer(found.indexer.view(page).html)
            shown = {unescape(one[1]): None for one in tags if _REFERENCE not in one[0]}
            content = wiki.scanned.read(page.source.path, page.source.digest)
            text = (content or b"").decode("utf-8", "replace") if shown else ""
            for href in shown:
                at = next(iter(positions_of(href, text)), text.find(href))
                line = text.count("\n", 0, at) + 1 if at >= 0 else 0
                link = BrokenLink(wiki.name, slug, line, href, "")
                yield CheckedLink(link, source.folder / page.source.path)


class ReadWikis(Struct, frozen=True):
    """Wikis that make a site together, all of whose pages are read."""

    indexer: Indexer
    wikis: Sequence[IndexedWiki]
    site: composing.ComposedSite


def read_wikis(
    sources: Sequence[WikiSource],
    options: SiteOptions,
    theme: Theme,
    progress: Progress,
    store: Cache,
) -> ReadWikis:
    """Read every page of some wikis and resolve every link."""
    scanned = [
        scan_wiki(source, store, page_templates=options.page_templates)
        for source in sources
    ]
    addresses = site_addresses(scanned, options)
    table = WikiTable(
        map(service_address, sources), addresses, [wiki.loose for wiki in scanned]
    )
    attempts = Attempts(options.slow_pages_seconds, retries=options.retries)
    indexer = Indexer(store, table, progress, options.markup, attempts)
    progress.start("reading pages", sum(len(wiki.pages) for wiki in scanned))
    wikis = [indexer.index(number, wiki) for number, wiki in enumerate(scanned)]
    site = composing.composed_site(wikis, options, theme, indexer)
    return ReadWikis(indexer, wikis, site)


def _report(wikis: Sequence[IndexedWiki], problems: tuple[Problem, ...]) -> CheckReport:
    links = link_report(wikis)
    by_name = {wiki.name: wiki for wiki in wikis}

    def file_of(link: BrokenLink) -> Path:
        wiki = by_name[link.wiki]
        return wiki.scanned.source.folder / wiki.pages[link.slug].source.path

    return CheckReport(
        pages=sum(wiki.scanned.page_count for wiki in wikis),
        broken_links=tuple(CheckedLink(link, file_of(link)) for link in links.broken),
        wanted=tuple(
            (wikis[page.wiki].name, page.slug, len(page.pages)) for page in links.wanted
        ),
        orphans=tuple((wikis[place.wiki].name, place.name) for place in links.orphans),
        problems=problems,
        notes=folder_notes([wiki.scanned for wiki in wikis]),
    )

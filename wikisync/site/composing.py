"""From indexed wikis to composers of their pages: what a build and a preview share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from wikisync.model import Problem
from wikisync.site.addresses import (
    SIDEBAR_SLUG,
    WikiAddresses,
    assign_addresses,
    wiki_prefix,
)
from wikisync.site.context import SiteContext
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.frame import group_homes, site_context, wiki_context, wiki_labels
from wikisync.site.pages import WikiPages
from wikisync.site.search import DocumentKey, SearchDocument, SearchSection

if TYPE_CHECKING:
    from wikisync.site.crosslinks import WikiTable
    from wikisync.site.facts import IndexedWiki
    from wikisync.site.index import Indexer
    from wikisync.site.model import SiteOptions
    from wikisync.site.published import PublishedWiki
    from wikisync.site.search import Load
    from wikisync.site.sources import ScannedWiki
    from wikisync.site.theme import Theme


class ComposedSite(Struct, frozen=True):
    """A site whose pages can be composed one by one."""

    context: SiteContext
    settings_key: bytes
    """Hash of what every page of the site depends on."""
    wikis: tuple[WikiPages, ...]
    """In the order of the wikis' numbers."""


def site_addresses(
    scanned: Sequence[ScannedWiki],
    options: SiteOptions,
    kept: Sequence[PublishedWiki] = (),
) -> list[WikiAddresses]:
    """Output paths of all wikis of a site, but for those that keep their pages."""
    is_dropped = options.drop_prefix
    if is_dropped is None:
        is_dropped = len(scanned) + len(kept) == 1
    return [
        assign_addresses(
            "" if is_dropped else wiki_prefix(wiki.source.owner),
            wiki.pages,
            wiki.attachments,
        )
        for wiki in scanned
    ]


def composed_site(
    wikis: Sequence[IndexedWiki],
    addresses: Sequence[WikiAddresses],
    options: SiteOptions,
    theme: Theme,
    indexer: Indexer,
    table: WikiTable,
    kept: Sequence[PublishedWiki] = (),
) -> ComposedSite:
    """A composer of pages for each wiki, around one site."""
    sources = [wiki.scanned.source for wiki in wikis]
    fingerprint = theme.fingerprint
    site = site_context(sources, addresses, options, fingerprint, kept)
    limit = options.nav_links_max
    settings_key = settings_hash(program_fingerprint(), fingerprint, site, limit)
    homes = group_homes(sources, addresses)
    labels = wiki_labels(sources)
    composers = tuple(
        WikiPages(
            wiki,
            wiki_context(wiki.scanned, addresses[wiki.number], homes),
            site,
            indexer,
            table,
            label=labels[wiki.number],
            nav_limit=limit,
            settings_key=settings_key,
        )
        for wiki in wikis
    )
    return ComposedSite(site, settings_key, composers)


def site_problems(
    wikis: Sequence[IndexedWiki],
    addresses: Sequence[WikiAddresses],
    composers: Sequence[WikiPages],
    theme: Theme,
) -> Iterator[Problem]:
    """Everything that is wrong, the theme first, named so that it can be found."""
    yield from theme.problems
    is_many = len(wikis) > 1
    for wiki, composer in zip(wikis, composers, strict=True):
        found = [
            *wiki.scanned.problems,
            *addresses[wiki.number].problems,
            *(one for page in wiki.pages.values() for one in page.parsed.problems),
            *composer.problems,
        ]
        where = f"{wiki.name}: " if is_many else ""
        for one in found:
            yield replace(one, subject=where + one.subject)


def search_digest(composers: Sequence[WikiPages]) -> bytes:
    """Hash of everything that the search index is made from."""
    digest = hashlib.sha256(program_fingerprint())
    for document in search_keys(composers):
        digest.update(document.key)
    return digest.digest()


def search_keys(composers: Sequence[WikiPages]) -> Iterator[DocumentKey]:
    """What the search index takes: every page that is read but sidebars."""
    program = program_fingerprint()
    for composer in composers:
        wiki = composer.label
        for slug, page in composer.wiki.pages.items():
            if slug == SIDEBAR_SLUG or not page.is_read:
                continue
            url, title = composer.url(slug), page.parsed.title
            named = f"{len(url)},{len(title)},{url}{title}{wiki}"
            text = page.parsed.text_key
            content = program + text + named.encode("utf-8", "surrogatepass")
            yield DocumentKey(url, wiki, hashlib.sha256(content).digest(), text)


def search_loader(composers: Sequence[WikiPages], indexer: Indexer) -> Load:
    """Loads the documents that ``search_keys`` names."""
    pages = {
        composer.url(slug): page
        for composer in composers
        for slug, page in composer.wiki.pages.items()
    }

    def load(document: DocumentKey) -> SearchDocument:
        page = pages[document.url]
        return SearchDocument(
            document.url,
            page.parsed.title,
            tuple(
                SearchSection(one.id, one.heading, one.text)
                for one in indexer.sections(page)
            ),
            document.wiki,
        )

    return load


def search_documents(
    composers: Sequence[WikiPages], indexer: Indexer
) -> Iterator[SearchDocument]:
    """All that the search index takes."""
    return map(search_loader(composers, indexer), search_keys(composers))


def settings_hash(*values: object) -> bytes:
    """Hash of values whose ``repr`` tells all of them."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()

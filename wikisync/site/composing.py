"""From indexed wikis to composers of their pages: what a build and a preview share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Problem, Slug, split_extension
from wikisync.core.versions import iso_time
from wikisync.site import addresses as layout
from wikisync.site.addresses import WikiAddresses
from wikisync.site.context import PageRef, SiteContext, WikiContext
from wikisync.site.crosslinks import ItemKey, WikiTable
from wikisync.site.facts import IndexedWiki
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.frame import group_homes, site_context, wiki_context, wiki_labels
from wikisync.site.index import Indexer
from wikisync.site.model import SiteOptions
from wikisync.site.pages import WikiPages
from wikisync.site.published import PublishedWiki
from wikisync.site.search import DocumentKey, SearchDocument, search_document
from wikisync.site.sources import ScannedWiki
from wikisync.site.theme import Theme


class SiteComposer:
    """Makes the composers of the pages of all wikis, around one site."""

    def __init__(
        self,
        scanned: Sequence[ScannedWiki],
        addresses: Sequence[WikiAddresses],
        options: SiteOptions,
        theme: Theme,
        indexer: Indexer,
        table: WikiTable,
        kept: Sequence[PublishedWiki] = (),
        *,
        is_preview: bool = False,
    ) -> None:
        """Take the wikis by their numbers; a preview has no feeds and versions."""
        sources = [wiki.source for wiki in scanned]
        fingerprint = theme.fingerprint
        limit = options.nav_links_max
        made = [
            PublishedWiki(**wiki.source.info, prefix=at.prefix, pages=wiki.page_count)
            for wiki, at in zip(scanned, addresses, strict=True)
        ]
        self.published = tuple(
            sorted([*made, *kept], key=lambda wiki: wiki.owner.full_path)
        )
        has_changes = any(wiki.history for wiki in scanned)
        site = site_context(
            self.published, options, fingerprint, has_changes=has_changes
        )
        homes = group_homes(self.published)
        self.settings_key = hash_of(program_fingerprint(), fingerprint, site, limit)
        """Hash of what every page of the site depends on."""
        contexts = [
            wiki_context(wiki, homes, one)
            for wiki, one in zip(made, scanned, strict=True)
        ]
        if is_preview:
            site = replace(site, feed_url=None)
            contexts = [replace(one, feed_url=None) for one in contexts]
        self.context, self.contexts = site, contexts
        self.kept_contexts = [wiki_context(wiki, homes) for wiki in kept]
        self.labels = wiki_labels(sources)
        self._nav_limit = limit
        self._history = 0 if is_preview else options.history
        self._indexer = indexer
        self._table = table

    def pages_of(self, wiki: IndexedWiki) -> WikiPages:
        """The composer of the pages of one wiki."""
        return WikiPages(
            wiki,
            self.contexts[wiki.number],
            self.context,
            self._indexer,
            self._table,
            label=self.labels[wiki.number],
            nav_limit=self._nav_limit,
            history=self._history,
            settings_key=self.settings_key,
        )


class ComposedSite(Struct, frozen=True):
    """A site whose pages can be composed one by one, all in memory."""

    context: SiteContext
    settings_key: bytes
    contexts: Sequence[WikiContext]
    wikis: tuple[WikiPages, ...]
    """In the order of the wikis' numbers."""

    def reference(self, place: ItemKey) -> PageRef:
        """A page as its own wiki links to it."""
        return self.wikis[place.wiki].reference(Slug(place.name))

    def backlink(self, place: ItemKey, home: int) -> PageRef:
        """A page as a page of a wiki names it among its backlinks."""
        composer = self.wikis[place.wiki]
        if place.wiki == home:
            return self.reference(place)
        return composer.reference_elsewhere(Slug(place.name))


def composed_site(
    wikis: Sequence[IndexedWiki],
    addresses: Sequence[WikiAddresses],
    options: SiteOptions,
    theme: Theme,
    indexer: Indexer,
    table: WikiTable,
) -> ComposedSite:
    """A composer of pages for each wiki, around one site."""
    scanned = [wiki.scanned for wiki in wikis]
    site = SiteComposer(
        scanned, addresses, options, theme, indexer, table, is_preview=True
    )
    composers = tuple(map(site.pages_of, wikis))
    return ComposedSite(site.context, site.settings_key, site.contexts, composers)


def site_addresses(
    scanned: Sequence[ScannedWiki],
    options: SiteOptions,
    kept: Sequence[PublishedWiki] = (),
    known: Sequence[WikiAddresses] = (),
) -> list[WikiAddresses]:
    """Output paths of all wikis but those kept; ``known`` as of the last build."""
    is_dropped = options.drop_prefix
    if is_dropped is None:
        is_dropped = len(scanned) + len(kept) == 1
    found = []
    before = known or [layout.NO_ADDRESSES] * len(scanned)
    for wiki, last in zip(scanned, before, strict=True):
        addresses = layout.assign_addresses(
            "" if is_dropped else layout.wiki_prefix(wiki.source.owner),
            wiki.pages,
            wiki.attachments,
            wiki.beside,
            last,
            wiki.redirects,
            source_extensions(wiki, options),
        )
        found.append(replace(addresses, left_out=wiki.left_out))
    return found


def source_extensions(wiki: ScannedWiki, options: SiteOptions) -> Mapping[Slug, str]:
    """The extension of each page's file, where the site has the sources of a wiki."""
    is_open = wiki.source.visibility == "public"
    if not (is_open if options.sources is None else options.sources):
        return {}
    return {
        slug: page.path[len(known[0]) :].lower()
        for slug, page in wiki.pages.items()
        if slug not in wiki.beside and (known := split_extension(page.path))
    }


def site_problems(
    addresses: Sequence[WikiAddresses], composers: Sequence[WikiPages], theme: Theme
) -> Iterator[Problem]:
    """Everything that is wrong, the theme first, named so that it can be found."""
    yield from theme.problems
    for composer in composers:
        yield from wiki_problems(addresses, composer)


def wiki_problems(
    addresses: Sequence[WikiAddresses], composer: WikiPages
) -> Iterator[Problem]:
    """What is wrong with one of the wikis that have these addresses."""
    wiki = composer.wiki
    where = f"{wiki.name}: " if len(addresses) > 1 else ""
    for one in (
        *wiki.scanned.problems,
        *addresses[wiki.number].problems,
        *(one for page in wiki.pages.values() for one in page.parsed.problems),
        *composer.problems,
    ):
        yield replace(one, subject=where + one.subject)


def search_digest(composers: Sequence[WikiPages]) -> bytes:
    """Hash of everything that the search index is made from."""
    packed = map(msgspec.msgpack.encode, search_keys(composers))
    return hash_of(program_fingerprint(), *packed)


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


def search_documents(
    composers: Sequence[WikiPages], indexer: Indexer
) -> Iterator[SearchDocument]:
    """All that the search index takes."""
    return (
        search_document(key, indexer.searched(key.key))
        for key in search_keys(composers)
    )

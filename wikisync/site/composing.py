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
from wikisync.site.crosslinks import ItemKey
from wikisync.site.facts import IndexedWiki
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.frame import SiteFrame
from wikisync.site.index import Indexer
from wikisync.site.model import SiteOptions
from wikisync.site.pages import WikiPages
from wikisync.site.published import PublishedWiki
from wikisync.site.search import DocumentKey, SearchDocument, search_document
from wikisync.site.sources import ScannedWiki
from wikisync.site.theme import Theme


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
) -> ComposedSite:
    """A composer of pages for each wiki, around one site."""
    scanned = [wiki.scanned for wiki in wikis]
    around = SiteFrame(scanned, addresses, options, theme.fingerprint, is_preview=True)
    composers = tuple(WikiPages(wiki, around, indexer) for wiki in wikis)
    return ComposedSite(around.context, around.settings_key, around.contexts, composers)


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

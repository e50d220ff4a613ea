"""A site whose pages are all in memory: what a preview, a check and a book share."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from wikisync.core.model import Problem, Slug
from wikisync.site.context import PageRef
from wikisync.site.crosslinks import ItemKey
from wikisync.site.facts import IndexedWiki
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.frame import SiteFrame
from wikisync.site.index import Indexer
from wikisync.site.model import SiteOptions
from wikisync.site.pages import WikiPages
from wikisync.site.report import search_keys
from wikisync.site.search import SearchDocument, search_document
from wikisync.site.theme import Theme


class ComposedSite(Struct, frozen=True):
    """A site whose pages can be composed one by one, all in memory."""

    frame: SiteFrame
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
    wikis: Sequence[IndexedWiki], options: SiteOptions, theme: Theme, indexer: Indexer
) -> ComposedSite:
    """A composer of pages for each wiki, around one site."""
    scanned, addresses = [wiki.scanned for wiki in wikis], indexer.table.addresses
    frame = SiteFrame(scanned, addresses, options, theme.fingerprint, is_preview=True)
    return ComposedSite(frame, tuple(WikiPages(wiki, frame, indexer) for wiki in wikis))


def site_problems(composers: Sequence[WikiPages], theme: Theme) -> Iterator[Problem]:
    """Everything that is wrong, the theme first, named so that it can be found."""
    yield from theme.problems
    for composer in composers:
        yield from composer.problems


def search_digest(composers: Sequence[WikiPages]) -> bytes:
    """Hash of everything that the search index is made from."""
    packed = map(msgspec.msgpack.encode, search_keys(composers))
    return hash_of(program_fingerprint(), *packed)


def search_documents(
    composers: Sequence[WikiPages], indexer: Indexer
) -> Iterator[SearchDocument]:
    """All that the search index takes."""
    return (
        search_document(key, indexer.cache.body("words", key.key))
        for key in search_keys(composers)
    )

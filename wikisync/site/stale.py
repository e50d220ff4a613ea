"""Which pages a build has to compose: those that something may have changed.  Pure.

A page is composed of its own text and links, of the titles and the order of its wiki
(``WikiPages.frame_digest``), and of the titles of the pages that link to it.  A page
for which all of these are as the last build noted them has the key that it had then.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from wikisync.model import Slug
from wikisync.site.crosslinks import ItemKey, place_of
from wikisync.site.facts import IndexedPage, IndexedWiki

Pages = Mapping[Slug, IndexedPage]


class Stale(Struct, frozen=True):
    """The pages of one wiki, and those elsewhere, whose key may be another one."""

    own: frozenset[Slug] | None
    """None: all."""
    elsewhere: frozenset[ItemKey]


def stale_pages(wiki: IndexedWiki, before: Pages, *, has_same_frame: bool) -> Stale:
    """The pages that another state of one wiki gives another key.

    Args:
        wiki: Its pages as they are now; the same value as before means no change.
        before: Its pages as they were noted.
        has_same_frame: Whether the wiki's frame is the one noted.
    """
    stale: set[ItemKey] = set()
    number = wiki.number
    for slug, page in wiki.pages.items():
        old = before.get(slug)
        if page is old and has_same_frame:
            continue
        # it may have another title, which the pages of its own wiki, all of them
        # stale, show as others do
        changed = set() if has_same_frame else set(page.finished.elsewhere)
        if page is not old:
            stale.add(ItemKey(number, slug))
            targets = set(page.finished.targets)
            changed |= targets ^ set(old.finished.targets if old else ())
        stale |= {place_of(target, number) for target in changed}
    for slug in before.keys() - wiki.pages.keys():
        targets = set(before[slug].finished.targets)
        stale |= {place_of(target, number) for target in targets}
    own = frozenset(Slug(place.name) for place in stale if place.wiki == number)
    return Stale(
        own if has_same_frame else None,
        frozenset(place for place in stale if place.wiki != number),
    )

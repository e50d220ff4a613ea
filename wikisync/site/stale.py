"""Which pages a build has to compose: those that something may have changed.  Pure.

A page is composed of its own text and links, of the titles and the order of its wiki
(``WikiPages.frame_digest``), and of the titles of the pages that link to it.  A page
for which all of these are as the last build noted them has the key that it had then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wikisync.model import Slug
from wikisync.site.crosslinks import ItemKey, is_elsewhere, place_of
from wikisync.site.facts import IndexedPage, IndexedWiki

Pages = Mapping[Slug, IndexedPage]


def stale_pages(
    wikis: Sequence[IndexedWiki], before: Sequence[Pages], same_frames: Sequence[bool]
) -> set[ItemKey]:
    """The pages whose key may be another one than in the last build.

    Args:
        wikis: The pages as they are now; the same value as before means no change.
        before: The pages of each wiki as they were noted.
        same_frames: Whether each wiki's frame is the one noted.
    """
    stale: set[ItemKey] = set()
    for wiki, last, has_same_frame in zip(wikis, before, same_frames, strict=True):
        number = wiki.number
        for slug, page in wiki.pages.items():
            old = last.get(slug)
            if page is old and has_same_frame:
                continue
            stale.add(ItemKey(number, slug))
            targets = set(page.finished.targets)
            changed = targets ^ set(old.finished.targets if old else ())
            if not has_same_frame:
                # it may have another title, which the pages of its own wiki,
                # all of them stale, show as others do
                changed |= {target for target in targets if is_elsewhere(target)}
            stale |= {place_of(target, number) for target in changed}
        for slug in last.keys() - wiki.pages.keys():
            targets = set(last[slug].finished.targets)
            stale |= {place_of(target, number) for target in targets}
    return stale

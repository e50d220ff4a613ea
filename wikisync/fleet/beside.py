"""Links between the wikis of a fleet, whose sites lie beside each other in a place.

A row has the places that its pages name by their addresses on the service, whether a
site is there or not, and the pages of its own site.  Where these come, go or move, the
rows that name the place are due.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from wikisync.core.model import Slug
from wikisync.fleet.rows import Row
from wikisync.site.addresses import INDEX_PAGE, NOT_FOUND_PAGE, WikiAddresses
from wikisync.site.crosslinks import UP, WIKIS
from wikisync.site.fingerprint import hash_of
from wikisync.site.kept import HOME
from wikisync.site.mirror import WikiCopy, read_texts

NAMED_MAX = 1_000
"""Other wikis that the pages of one may lead to."""
TEXTS_AT_ONCE = 100


def site_pages(paths: Collection[str]) -> list[str]:
    """The pages of a wiki among the files of its site."""
    pages = (one for one in paths if one.endswith(".html") and one[:2] != "-/")
    return sorted(one for one in pages if one != NOT_FOUND_PAGE)


def named_places(
    folder: Path, number: int, copy: WikiCopy, row: Row, top: str
) -> set[str]:
    """Where the sites of the wikis would lie that the pages of a copy name."""
    places: set[str] = set()
    if not (base := _base(row)):
        return places
    path = rb"(?:groups/)?([\w./-]+?)" + WIKIS.encode() + rb"(?![\w-])"
    named = re.compile(re.escape(base.encode()) + path)
    digests = [page.digest for page in copy.pages.values()]
    for at in range(0, len(digests), TEXTS_AT_ONCE):
        texts = read_texts(folder, number, digests[at : at + TEXTS_AT_ONCE])
        for text in texts.values():
            paths = map(bytes.decode, named.findall(text))
            places |= {f"{top}/{one}{WIKIS}" for one in paths}
    places.discard(f"{top}/{row.wiki.owner.full_path}{WIKIS}")
    return set(sorted(places)[:NAMED_MAX])


def addresses_beside(
    row: Row, top: str, pages: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, WikiAddresses]]:
    """The sites at places, given their pages, by the addresses of their wikis."""
    ups = UP * f"{row.wiki.owner.full_path}{WIKIS}/".count("/")
    for place, paths in sorted(pages.items()):
        inside = place[len(top) + 1 :]
        way = f"{ups}{inside}/"
        found = {
            Slug(HOME if one == INDEX_PAGE else one.removesuffix(".html")): way + one
            for one in paths
        }
        known = WikiAddresses(way, way + INDEX_PAGE, found, {}, names=hash_of(found))
        for kind in ("", "groups/"):
            yield f"{_base(row)}{kind}{inside}", known


def _base(row: Row) -> str:
    """The address of the service, as those of its wikis begin; empty if unknown."""
    base = row.wiki.web_url.rpartition(row.wiki.owner.full_path)[0]
    return base.removesuffix("groups/")

"""Links between the wikis of a fleet, whose sites lie beside each other.

The row of a wiki has the places of the sites that its pages name, whether a site is
there or not, and the pages of its own site.  When these come, go or move, the rows that
name its place become due.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec

from wikisync.core.model import Slug, digest_of
from wikisync.core.system.private import make_private_folder
from wikisync.fleet.rows import Row
from wikisync.site.addresses import INDEX_PAGE, MANIFEST, PAGES_JSON, WikiAddresses
from wikisync.site.crosslinks import UP, WIKIS
from wikisync.site.fingerprint import hash_of
from wikisync.site.frame import site_context
from wikisync.site.generated import stub_page
from wikisync.site.manifest import FileState, manifest_parts
from wikisync.site.mirror import WikiCopy, read_texts
from wikisync.site.model import SiteOptions

NAMED_MAX = 1_000
"""Other wikis that the pages of one may lead to."""
TEXTS_AT_ONCE = 100
MOVED = "This page has moved"


def site_pages(site: Path) -> list[str]:
    """Slug and path of each page of a site, one behind the other."""
    listed = msgspec.json.decode((site / PAGES_JSON).read_bytes())["pages"]
    return [text for one in listed for text in (one["slug"], unquote(one["url"]))]


def redirect(folder: Path, names: Sequence[str], old: str, new: str) -> None:
    """Make a site that redirects each page at the old place to the new one."""
    site = site_context((), SiteOptions(title=""), "")
    pages = {
        path: stub_page(site, f"{old}/{path}", f"{new}/{path}", MOVED).encode()
        for path in {INDEX_PAGE, *names[1::2]}
    }
    states = {path: FileState(len(one), digest_of(one)) for path, one in pages.items()}
    pages[MANIFEST] = b"".join(manifest_parts(states, ()))
    for path, page in pages.items():
        make_private_folder((folder / path).parent)
        (folder / path).write_bytes(page)


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
    row: Row, top: str, pages: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, WikiAddresses]]:
    """The sites at places, given their pages, by the addresses of their wikis."""
    ups = UP * f"{row.wiki.owner.full_path}{WIKIS}/".count("/")
    for place, names in sorted(pages.items()):
        inside = place[len(top) + 1 :]
        way = f"{ups}{inside}/"
        slugs, paths = map(Slug, names[::2]), (way + path for path in names[1::2])
        found = dict(zip(slugs, paths, strict=True))
        known = WikiAddresses(way, found, {}, names=hash_of(found))
        for kind in ("", "groups/"):
            yield f"{_base(row)}{kind}{inside}", known


def _base(row: Row) -> str:
    """The address of the service, as those of its wikis begin; empty if unknown."""
    base = row.wiki.web_url.rpartition(row.wiki.owner.full_path)[0]
    return base.removesuffix("groups/")

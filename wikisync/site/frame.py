"""What surrounds every page of a build: the site, its wikis and their groups.  Pure."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wikisync import __version__
from wikisync.site.addresses import (
    ALL_PAGE,
    INDEX_PAGE,
    ORPHANS_PAGE,
    REPORT_PAGE,
    SEARCH_PAGE,
    WANTED_PAGE,
    WikiAddresses,
    wiki_list_path,
)
from wikisync.site.context import SiteContext, WikiContext
from wikisync.site.crosslinks import service_address
from wikisync.site.groups import group_titles, group_tree, natural_path
from wikisync.site.kept import context_of, kept_reference, wiki_reference
from wikisync.site.options import options_text

if TYPE_CHECKING:
    from wikisync.site.model import SiteOptions, WikiSource
    from wikisync.site.published import PublishedWiki
    from wikisync.site.sources import ScannedWiki

RIGHT_TO_LEFT = frozenset(
    [
        *("ar", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur"),
        "yi",
    ]
)
"""Languages whose usual script runs from right to left."""
_FROM_THE_RIGHT = ("R", "AL")
"""The kinds of letters that do, in Unicode's terms."""


def text_direction(text: str, usual: str) -> str:
    """``rtl`` or ``ltr``, whichever most letters of a text have; else the usual one."""
    letters = set(map(unicodedata.bidirectional, set(text)))
    if letters.isdisjoint(_FROM_THE_RIGHT):
        return "ltr" if "L" in letters else usual
    kinds = Counter(map(unicodedata.bidirectional, text))
    right_to_left = sum(kinds[kind] for kind in _FROM_THE_RIGHT)
    if right_to_left == kinds["L"]:
        return usual
    return "rtl" if right_to_left > kinds["L"] else "ltr"


def site_context(
    sources: Sequence[WikiSource],
    addresses: Sequence[WikiAddresses],
    options: SiteOptions,
    theme_fingerprint: str,
    kept: Sequence[PublishedWiki] = (),
) -> SiteContext:
    """``site`` for the templates; nothing in it changes with a page."""
    is_only = is_top(addresses)
    wikis = [
        wiki_reference(source, wiki.home)
        for source, wiki in zip(sources, addresses, strict=True)
    ]
    wikis += map(kept_reference, kept)
    wikis.sort(key=lambda wiki: natural_path(wiki.full_path))
    return SiteContext(
        title=options.title,
        url=options.url.rstrip("/") if options.url else None,
        lang=options.lang,
        dir="rtl" if options.lang.partition("-")[0] in RIGHT_TO_LEFT else "ltr",
        description=options.description,
        wikis=tuple(wikis),
        built_from=hashlib.sha256(
            (theme_fingerprint + options_text(options)).encode()
        ).hexdigest()[:16],
        generator=f"wikisync {__version__}",
        options=dict(options.theme_options),
        noindex=all(wiki.visibility != "public" for wiki in wikis),
        home_url=INDEX_PAGE,
        search_url=SEARCH_PAGE,
        all_url=wiki_list_path(sources[0].owner, is_only=True) if is_only else ALL_PAGE,
        report_url=REPORT_PAGE if options.has_report else None,
        wanted_url=WANTED_PAGE if options.has_report else None,
        orphans_url=ORPHANS_PAGE if options.has_report else None,
        groups=group_tree(wikis, group_titles([*sources, *kept])),
    )


def wiki_context(
    scanned: ScannedWiki, addresses: WikiAddresses, homes: Mapping[str, str]
) -> WikiContext:
    """``wiki`` for the templates; ``homes`` is group path to its wiki's address."""
    source, home = scanned.source, addresses.home
    web_url = service_address(source) if source.web_url else ""
    all_url = wiki_list_path(source.owner, is_only=not addresses.prefix)
    return context_of(source, home, homes, web_url, scanned.page_count, all_url)


def group_homes(
    sources: Sequence[WikiSource], addresses: Sequence[WikiAddresses]
) -> dict[str, str]:
    """Path of each group whose own wiki is in the site to that wiki's home."""
    return {
        source.owner.full_path: wiki.home
        for source, wiki in zip(sources, addresses, strict=True)
        if source.owner.kind == "group"
    }


def wiki_labels(sources: Sequence[WikiSource]) -> list[str]:
    """The title of each wiki, with its path where another one has the same."""
    counts = Counter(source.title for source in sources)
    return [
        source.title
        if counts[source.title] == 1
        else f"{source.title} ({source.owner.full_path})"
        for source in sources
    ]


def is_top(addresses: Sequence[WikiAddresses]) -> bool:
    """Whether the site is one wiki whose pages lie at the top."""
    return len(addresses) == 1 and not addresses[0].prefix

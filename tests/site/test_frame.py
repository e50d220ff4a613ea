"""What surrounds every page: nothing of this machine, nothing of one page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.sites import wiki_source
from wikisync.model import Slug
from wikisync.site.addresses import assign_addresses
from wikisync.site.context import PageRef
from wikisync.site.frame import (
    group_homes,
    site_context,
    wiki_context,
    wiki_labels,
)
from wikisync.site.model import SiteOptions
from wikisync.site.sources import ScannedWiki

GROUP, PROJECT = wiki_source(Path(), "group:docs"), wiki_source(Path(), "docs/sub/b")
ADDRESSES = [
    assign_addresses("docs/-/wikis/", [Slug("home")], []),
    assign_addresses("docs/sub/b/-/wikis/", [Slug("home")], []),
]


def test_groups_above_a_wiki_link_to_their_own_wikis() -> None:
    homes = group_homes([GROUP, PROJECT], ADDRESSES)
    scanned = ScannedWiki(PROJECT, {}, {}, ())
    assert wiki_context(scanned, ADDRESSES[1], homes).groups == (
        PageRef("docs", "docs/-/wikis/index.html"),
        PageRef("sub", None),
    )


def test_site_of_private_wikis_hides_from_search_engines() -> None:
    options = SiteOptions("Docs", url="https://x.test/")
    site = site_context([GROUP, PROJECT], ADDRESSES, options, "theme")
    assert site.noindex
    assert site.url == "https://x.test"


@pytest.mark.parametrize(
    ("lang", "direction"), [("en", "ltr"), ("ar", "rtl"), ("he-IL", "rtl")]
)
def test_direction_follows_the_language(lang: str, direction: str) -> None:
    options = SiteOptions("Docs", lang=lang)
    assert site_context([GROUP], ADDRESSES[:1], options, "").dir == direction


def test_only_wikis_of_the_same_title_bear_their_path() -> None:
    twin = wiki_source(Path(), "other/b")
    assert wiki_labels([GROUP, PROJECT, twin]) == [
        "Docs",
        "B (docs/sub/b)",
        "B (other/b)",
    ]

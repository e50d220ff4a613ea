"""What surrounds every page: nothing of this machine, nothing of one page."""

from pathlib import Path

import pytest
from msgspec.structs import asdict

from tests.site.sites import wiki_source
from wikisync.site.context import PageRef
from wikisync.site.frame import group_homes, site_context, wiki_context, wiki_labels
from wikisync.site.manifest import PublishedWiki
from wikisync.site.model import SiteOptions

GROUP, PROJECT = wiki_source(Path(), "group:docs"), wiki_source(Path(), "docs/sub/b")
WIKIS = [
    PublishedWiki(**GROUP.info, prefix="docs/-/wikis/", pages=1),
    PublishedWiki(**PROJECT.info, prefix="docs/sub/b/-/wikis/", pages=1),
]


def test_groups_above_a_wiki_link_to_their_own_wikis() -> None:
    assert wiki_context(WIKIS[1], group_homes(WIKIS)).groups == (
        PageRef("docs", "docs/-/wikis/index.html"),
        PageRef("sub", None),
    )


def test_a_wiki_is_the_same_beside_its_pages_and_in_the_site() -> None:
    wiki = wiki_context(WIKIS[1], {})
    (named,) = site_context(WIKIS[1:], SiteOptions("Docs"), "").wikis
    assert asdict(wiki).items() >= asdict(named).items()
    assert wiki.home == wiki.url == "docs/sub/b/-/wikis/index.html"


def test_site_of_private_wikis_hides_from_search_engines() -> None:
    options = SiteOptions("Docs", url="https://x.test/")
    site = site_context(WIKIS, options, "theme")
    assert site.noindex
    assert site.url == "https://x.test"


@pytest.mark.parametrize(
    ("lang", "direction"), [("en", "ltr"), ("ar", "rtl"), ("he-IL", "rtl")]
)
def test_direction_follows_the_language(lang: str, direction: str) -> None:
    options = SiteOptions("Docs", lang=lang)
    site = site_context(WIKIS[:1], options, "")
    assert site.dir == direction


def test_only_wikis_of_the_same_title_bear_their_path() -> None:
    twin = wiki_source(Path(), "other/b")
    assert wiki_labels([GROUP, PROJECT, twin]) == [
        "Docs",
        "B (docs/sub/b)",
        "B (other/b)",
    ]

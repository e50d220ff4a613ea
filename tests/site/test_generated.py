"""Pages around the wikis: group tree, robots, sitemaps, long lists."""

import pytest

from tests.site.sites import Studio
from tests.support.theming import site_context
from wikisync.site.context import SiteContext
from wikisync.site.generated import SITEMAP_URLS_MAX, robots_text, sitemaps


def site(url: str | None) -> SiteContext:
    return site_context(url=url)


def test_robots_of_public_wikis_are_let_in() -> None:
    assert robots_text(site(None), [("", True)]) == "User-agent: *\nDisallow:\n"


def test_robots_are_kept_out_of_private_wikis_and_lists() -> None:
    text = robots_text(
        site("https://x.test/base"), [("a/-/wikis/", True), ("é/-/wikis/", False)]
    )
    assert text.splitlines() == [
        "User-agent: *",
        "Disallow: /base/%C3%A9/-/wikis/",
        "Disallow: /base/-/",
        "Sitemap: https://x.test/base/sitemap.xml",
    ]


def test_site_without_public_wiki_names_no_sitemap() -> None:
    text = robots_text(site("https://x.test"), [("", False)])
    assert text == "User-agent: *\nDisallow: /\n"


def test_large_sitemap_is_an_index_of_parts() -> None:
    paths = [f"{number}.html" for number in range(SITEMAP_URLS_MAX + 1)]
    maps = dict(sitemaps("https://x.test", paths))
    assert list(maps) == ["-/sitemap-1.xml", "-/sitemap-2.xml", "sitemap.xml"]
    assert "https://x.test/-/sitemap-2.xml" in maps["sitemap.xml"]
    assert maps["-/sitemap-2.xml"].count("<url>") == 1


def test_long_list_is_cut_into_parts_that_know_each_other(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.addresses.LIST_ITEMS_MAX", 3)
    studio.show_all()
    studio.start("".join(f"-- page-{number}.md --\nx\n" for number in range(8)))
    parts = [path for path in studio.files() if path.startswith("-/all")]
    assert parts == ["-/all-2.html", "-/all-3.html", "-/all.html"]
    assert studio.read("-/all-3.html").count("ListingItem(") == 2
    assert "page 7" in studio.read("-/all-3.html")
    assert studio.read("-/all.html").count("ListingPart(") == 3


def test_chrome_of_a_page_is_small_at_any_size(studio: Studio) -> None:
    """At most 20 KB around the text, also in a long flat wiki."""
    folder = studio.add("-- home.md --\nx\n")
    for number in range(250):
        (folder / f"some-longer-page-name-{number}.md").write_text("[h](home)")
    studio.build()
    assert len(studio.read("some-longer-page-name-70.html").encode()) < 20 * 1024
    assert len(studio.read("index.html").encode()) < 40 * 1024

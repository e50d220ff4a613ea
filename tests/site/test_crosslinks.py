"""Full addresses of exported wikis, found in every spelling that people write."""

from pathlib import Path

import pytest

from tests.site.sites import HOST, wiki_source
from wikisync.core.model import AttachmentPath, Slug
from wikisync.site.addresses import assign_addresses
from wikisync.site.crosslinks import (
    ItemKey,
    PageUrls,
    SiteLinks,
    WikiTable,
    place_of,
    service_address,
)

ONE, TWO = wiki_source(Path(), "docs/one"), wiki_source(Path(), "group:docs")
FILE = AttachmentPath("uploads/0a/f.txt")


@pytest.fixture
def table() -> WikiTable:
    return WikiTable(
        [service_address(ONE), service_address(TWO)],
        [
            assign_addresses("one/", [Slug("home"), Slug("a/b")], []),
            assign_addresses("two/", [Slug("home"), Slug("x-y")], [FILE]),
        ],
    )


@pytest.mark.parametrize(
    ("address", "place", "is_attachment", "fragment"),
    [
        ("/groups/docs/-/wikis/x-y", ItemKey(1, "x-y"), False, ""),
        ("/groups/docs/-/wikis/X%20Y#p%20q", ItemKey(1, "x-y"), False, "p q"),
        ("/groups/docs/-/wikis", ItemKey(1, "home"), False, ""),
        ("/groups/docs/-/wikis/?a=b", ItemKey(1, "home"), False, ""),
        ("/docs/one/-/wikis/a/b?version=1", ItemKey(0, "a/b"), False, ""),
        ("/docs/one/-/wikis/nothing", ItemKey(0, ""), False, ""),
        ("/groups/docs/-/wikis/uploads/0a/f.txt", ItemKey(1, FILE), True, ""),
    ],
)
def test_address_of_an_exported_wiki_is_a_place(
    table: WikiTable, address: str, place: ItemKey, is_attachment: bool, fragment: str
) -> None:
    assert table.find(HOST + address) == (place, is_attachment, fragment)


@pytest.mark.parametrize(
    "address",
    [
        f"{HOST}/docs/other/-/wikis/a",
        f"{HOST}/docs/one/-/issues/1",
        f"{HOST}/docs/one/-/wikisx/a",
        "https://elsewhere.example.com/docs/one/-/wikis/a/b",
        "mailto:docs@example.com",
    ],
)
def test_any_other_address_is_outside(table: WikiTable, address: str) -> None:
    assert table.find(address) is None


def test_link_that_is_spelled_as_its_page_is_asked_for_by_each_page(
    table: WikiTable,
) -> None:
    """What it found is kept for the next page."""
    links = SiteLinks(0, table, {})
    for page in ("home", "a/c"):
        links.asked.clear()
        assert links.resolve(Slug(page), "a/b") == ("page", "a/b", "", "")
        assert list(links.asked) == ["a/b"]
    found = [links.resolve(Slug(page), "./b").reason for page in ("home", "a/c")]
    assert found == ["no-page", ""]


def test_wiki_of_unknown_address_is_never_found() -> None:
    source = wiki_source(Path(), "docs/one", web_url="")
    addresses = [assign_addresses("", [Slug("home")], [])]
    table = WikiTable([service_address(source)], addresses)
    assert table.find("/docs/one/-/wikis/home") is None


def test_address_on_the_service_follows_the_kind_of_owner() -> None:
    assert service_address(ONE) == f"{HOST}/docs/one/-/wikis"
    assert service_address(TWO) == f"{HOST}/groups/docs/-/wikis"
    unknown = wiki_source(Path(), "group:docs", web_url="")
    assert service_address(unknown) == "/groups/docs/-/wikis"
    full = wiki_source(Path(), "docs/one", web_url=f"{HOST}/docs/one/-/wikis/")
    assert service_address(full) == f"{HOST}/docs/one/-/wikis"


def test_target_is_a_token_or_a_name_of_the_own_wiki() -> None:
    assert place_of(ItemKey(7, "a/b").token(), 1) == ItemKey(7, "a/b")
    assert place_of("a/b", 1) == ItemKey(1, "a/b")


def test_link_into_another_wiki_counts_as_crossing(table: WikiTable) -> None:
    links = SiteLinks(0, table, {})
    target = links.resolve(Slug("home"), f"{HOST}/groups/docs/-/wikis/x-y#p")
    assert (target.kind, place_of(target.name, 0)) == ("page", ItemKey(1, "x-y"))
    assert (target.fragment, links.crossings) == ("p", 1)


def test_page_missing_in_another_wiki_stays_outside_and_counts(
    table: WikiTable,
) -> None:
    """It may be there in the next build, so its absence must be remembered."""
    links = SiteLinks(0, table, {})
    target = links.resolve(Slug("home"), f"{HOST}/groups/docs/-/wikis/none")
    assert (target.kind, links.crossings) == ("external", 1)


def test_own_links_do_not_cross(table: WikiTable) -> None:
    links = SiteLinks(0, table, {})
    targets = [
        links.resolve(Slug("home"), href)
        for href in ("a/b", f"{HOST}/docs/one/-/wikis/a/b", "https://example.com")
    ]
    assert [target.kind for target in targets] == ["page", "page", "external"]
    assert links.crossings == 0


def test_urls_are_relative_to_the_page(table: WikiTable) -> None:
    urls = PageUrls("one/a/b.html", 0, table)
    assert urls.page(Slug("home"), "") == "../index.html"
    assert urls.page(Slug(ItemKey(1, "x-y").token()), "p") == "../../two/x-y.html#p"
    token = AttachmentPath(ItemKey(1, FILE).token())
    assert urls.attachment(token) == "../../two/uploads/0a/f.txt"


def test_missing_attachment_may_be_had_on_the_service(table: WikiTable) -> None:
    urls = PageUrls("one/a/b.html", 0, table)
    assert urls.missing("uploads/0a/é.png") == (
        f"{HOST}/docs/one/-/wikis/uploads/0a/%C3%A9.png"
    )
    assert urls.missing("no/page") is None

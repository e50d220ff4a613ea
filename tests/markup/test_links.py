"""Where links lead: the service's rules, then the pages of the wiki."""

import pytest

from tests.support.markup import load_cases, parse
from wikisync.core.model import AttachmentPath, Slug
from wikisync.markup.links import (
    LinkIndex,
    file_path,
    mentioned_attachments,
    resolve_link,
)

BASE = "/ns/proj/-/wikis"
CASES = load_cases("wiki_links.json")


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['page_slug']}:{case['href']}"
)
def test_resolve_link_follows_the_service(case: dict[str, str]) -> None:
    found = resolve_link(case["page_slug"], case["href"], BASE)
    assert found == case["result"]


def test_every_pair_of_the_service_is_there() -> None:
    assert len(CASES) == 189


def test_a_path_of_ten_thousand_dots_is_resolved_at_once() -> None:
    """Work per step of the path would be square in its length."""
    assert resolve_link("home", "../" * 10_000 + "x", BASE) == f"{BASE}/x"


def index(*pages: str, attachments: tuple[str, ...] = (), url: str = "") -> LinkIndex:
    return LinkIndex(
        [Slug(page) for page in pages],
        [AttachmentPath(path) for path in attachments],
        {Slug("guide"): frozenset({"start"})},
        web_url=url,
    )


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("guide", "guide"),
        ("guide.md", "docs/guide"),
        ("/guide.md", "guide"),
        ("GUIDE", "guide"),
        ("my%20page", "my-page"),
        ("My page.md", "docs/my-page"),
        ("./other", "docs/other"),
        ("../guide", "guide"),
        ("release-1.2", "docs/release-1.2"),
        ("/", "home"),
        ("na%C3%AFve", "naïve"),
        ("nai%CC%88ve", "naïve"),
    ],
)
def test_link_finds_the_page_that_the_service_finds(href: str, target: str) -> None:
    pages = ("home", "guide", "docs/guide", "my-page", "docs/my-page", "naïve")
    found = index(*pages, "docs/other", "docs/release-1.2").resolve(
        Slug("docs/page"), href
    )
    assert (found.kind, found.name, found.reason) == ("page", target, "")


def test_of_pages_equal_but_for_case_the_first_in_byte_order_wins() -> None:
    found = index("guides", "Guides").find_page("GUIDES")
    assert found == "Guides"


def test_exact_spelling_wins_over_another_case() -> None:
    assert index("guides", "Guides").find_page("guides") == "guides"


@pytest.mark.parametrize(
    ("href", "kind", "reason"),
    [
        ("nope", "page", "no-page"),
        ("uploads/aa/x.png", "attachment", "no-attachment"),
        ("/uploads/aa/x.png", "attachment", "project-upload"),
        ("guide#end", "page", "no-heading"),
        ("#nope", "fragment", "no-heading"),
        ("x/../../y", "page", "outside-wiki"),
        ("a%0Ab", "page", "outside-wiki"),
        ("javascript:alert(1)", "external", "unsafe-scheme"),
        ("java\nscript:alert(1)", "external", "unsafe-scheme"),
        ("data:text/html,x", "external", "unsafe-scheme"),
    ],
)
def test_link_to_nothing_says_why(href: str, kind: str, reason: str) -> None:
    found = index("guide").resolve(Slug("a/b"), href, own_ids=frozenset({"here"}))
    assert (found.kind, found.reason) == (kind, reason)


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("id:there", ("page", "guide", "ID-there", "")),
        ("id:there::*Heading", ("page", "guide", "ID-there", "")),
        ("id:own", ("fragment", "a", "ID-own", "")),
        ("id:none", ("external", "id:none", "", "no-id")),
    ],
)
def test_org_id_leads_to_the_page_that_has_it(
    href: str, target: tuple[str, ...]
) -> None:
    headings = {Slug("guide"): frozenset({"ID-there", "other"})}
    links = LinkIndex([Slug("guide"), Slug("a")], headings=headings)
    assert links.resolve(Slug("a"), href, own_ids=frozenset({"ID-own"})) == target


@pytest.mark.parametrize("href", ["#here", "#user-content-here", "#top", "#", ""])
def test_fragment_of_the_page_itself_is_known(href: str) -> None:
    found = index().resolve(Slug("a"), href, own_ids=frozenset({"here"}))
    assert (found.kind, found.reason) == ("fragment", "")


def test_fragment_is_decoded() -> None:
    found = index("guide").resolve(Slug("a"), "guide#%C3%BC")
    assert found.fragment == "ü"


@pytest.mark.parametrize("tail", ["guide#start", "/guide#start"])
def test_wiki_link_always_starts_at_the_root(tail: str) -> None:
    found = index("guide").resolve(Slug("deep/down/page"), tail, is_wikilink=True)
    assert (found.name, found.fragment, found.reason) == ("guide", "start", "")


def test_full_address_of_the_wiki_leads_to_the_page_here() -> None:
    url = "https://gitlab.example.com/docs/handbook/-/wikis"
    found = index("guide", url=url).resolve(Slug("a"), f"{url}/guide?x=1#start")
    assert (found.kind, found.name) == ("page", "guide")


def test_address_that_only_begins_like_the_wiki_is_another_site() -> None:
    url = "https://gitlab.example.com/docs/handbook/-/wikis"
    found = index("guide", url=url).resolve(Slug("a"), f"{url}2/guide")
    assert found.kind == "external"


def test_older_path_of_the_wiki_leads_to_the_page_here() -> None:
    url = "https://gitlab.example.com/docs/handbook/-/wikis"
    found = index("guide", url=url).resolve(Slug("a"), "/docs/handbook/wikis/guide")
    assert found.name == "guide"


def test_attachment_is_found_from_any_page() -> None:
    path = "uploads/0123/a b.png"
    found = index(attachments=(path,)).resolve(Slug("x/y"), "uploads/0123/a%20b.png")
    assert (found.kind, found.name, found.reason) == ("attachment", path, "")


def test_slug_that_looks_like_a_script_stays_a_path() -> None:
    """A page called ``javascript:`` with a link ``.x`` was a hole in the service."""
    found = index().resolve(Slug("javascript:alert(1)/x"), "./y")
    assert found.kind == "page"


def test_page_tells_which_attachments_to_fetch() -> None:
    parsed = parse(
        "![a](uploads/11/a.png) [b](/uploads/22/b.png) [[uploads/33/c.png]]\n\n"
        '<img src="uploads/44/d.png"> ![a](uploads/11/a.png) [e](uploads/../e)'
    )
    assert mentioned_attachments(parsed) == (
        "uploads/11/a.png",
        "uploads/33/c.png",
        "uploads/44/d.png",
    )


@pytest.mark.parametrize(
    ("folder", "href", "path"),
    [
        ("", "red.png", "red.png"),
        ("docs", "pics/red.png", "docs/pics/red.png"),
        ("docs/a", "../x.csv", "docs/x.csv"),
        ("docs", "/pics/red.png", "pics/red.png"),
        ("docs", "./x", "docs/x"),
        ("100%", "x.png", "100%/x.png"),
        ("", "x.pdf?a=b#page=2", "x.pdf"),
        ("", "a%23b%3F.png#c", "a#b?.png"),
        ("docs", "%2e%2e/x.csv", "x.csv"),
    ],
)
def test_link_may_mean_a_file_beside_the_page(
    folder: str, href: str, path: str
) -> None:
    assert file_path(folder, href) == path


@pytest.mark.parametrize(
    "href",
    ["", "#x", "?x", "/", ".", "..", "../x", "a/../../x", "//host/x", "a:x", "a\\x"],
)
def test_link_that_leads_to_no_file_of_the_folder(href: str) -> None:
    assert file_path("", href) is None


@pytest.mark.parametrize("href", ["", "#x", "?x"])
def test_link_without_a_path_is_not_one_to_the_folder(href: str) -> None:
    assert file_path("docs", href) is None


@pytest.mark.parametrize("is_wikilink", [False, True])
@pytest.mark.parametrize("page", ["home", "a/b/c"])
@pytest.mark.parametrize(
    "href", ["a", "a/b", "A/B", "a/b/c", "c", "gone", "uploads/x", "uploads/d/y", "-"]
)
def test_plain_path_means_what_it_means_with_an_empty_fragment(
    href: str, page: str, is_wikilink: bool
) -> None:
    """The one is found without the rules, the other by them."""
    index = LinkIndex(
        [Slug("a"), Slug("a/b"), Slug("a/b/c"), Slug("home")],
        [AttachmentPath("uploads/x")],
        web_url="https://gitlab.example.com/g/p/-/wikis",
    )
    plain, ruled = (
        index.resolve(Slug(page), spelled, is_wikilink=is_wikilink)
        for spelled in (href, f"{href}#")
    )
    assert plain == ruled

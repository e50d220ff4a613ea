"""Output paths and links: every file system takes them, none leaves its place."""

import posixpath
import re
import unicodedata
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.core.model import AttachmentPath, Slug, WikiOwner
from wikisync.site.addresses import (
    ROOT_FILES,
    absolute_url,
    assign_addresses,
    attachment_output,
    numbered,
    page_path,
    relative_url,
    root_url,
    safe_component,
    wiki_list_path,
    wiki_prefix,
)

HANDBOOK = WikiOwner("project", "docs/handbook")
HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from('abAB/.-_%#?:*"<>|\\ ée\u0301\x00\x07日'), st.characters()
    ),
    min_size=1,
    max_size=40,
).filter(lambda slug: slug.strip("/"))


@pytest.mark.parametrize(
    ("slug", "path"),
    [
        ("home/sub", "home/sub.html"),
        ('C++-&-"quotes"', "C++-&--quotes-.html"),
        ("naïve-café", "naïve-café.html"),
        ("日本語", "日本語.html"),
        ("dir/with space", "dir/with space.html"),
        ("100%", "100%.html"),
        ("C#", "C#.html"),
        ("why?", "why-.html"),
        ("v1.2", "v1.2.html"),
        ("notes.md", "notes.md.html"),
        ("CON", "CON-.html"),
        ("con", "con-.html"),
        ("-", "--.html"),
        ("a/nul/com1", "a/nul-/com1-.html"),
        ("aux.x/b", "aux-.x/b.html"),
        (".hidden/x", "-hidden/x.html"),
        ("ends./x ", "ends/x.html"),
        ("-/all", "--/all.html"),
        ("../up", "--/up.html"),
        ("page.html/sub", "page-html/sub.html"),
        ("robots.txt/sub", "robots.txt-/sub.html"),
    ],
)
def test_slug_becomes_a_path_that_every_disk_takes(slug: str, path: str) -> None:
    assert page_path("", slug) == path


def test_many_wikis_lie_under_their_reserved_segment() -> None:
    """A group page ``b``, a subgroup ``b`` and a project ``b`` cannot meet."""
    assert page_path(wiki_prefix(HANDBOOK), "a/b") == "docs/handbook/-/wikis/a/b.html"
    assert wiki_prefix(WikiOwner("group", "docs")) == "docs/-/wikis/"


def test_long_names_are_cut_with_a_hash_and_stay_apart() -> None:
    one, other = page_path("", "é" * 300 + "1"), page_path("", "é" * 300 + "2")
    assert one != other
    assert max(len(name.encode()) for name in (one, other)) <= 200


def test_very_deep_slug_gets_a_short_path() -> None:
    path = page_path("w/", "/".join("folder" for _ in range(400)))
    assert path.startswith("w/long-")


def test_long_attachment_keeps_its_extension() -> None:
    path = attachment_output("", f"uploads/{'a' * 32}/{'x' * 300}.png")
    assert path.endswith(".png")
    assert len(posixpath.basename(path)) <= 200


def test_case_twins_get_a_hash_on_the_later_one_and_a_problem() -> None:
    addresses = assign_addresses("", [Slug("Setup"), Slug("setup")], [])
    assert addresses.pages[Slug("Setup")] == "Setup.html"
    assert addresses.pages[Slug("setup")].startswith("setup-")
    assert [problem.code for problem in addresses.problems] == ["address-twin"]
    assert addresses.problems[0].subject == "setup"


def test_unicode_twins_are_told_apart() -> None:
    composed, apart = Slug("é"), Slug(unicodedata.normalize("NFD", "é"))
    paths = assign_addresses("", [composed, apart], []).pages.values()
    assert len(set(paths)) == 2


def test_page_called_index_does_not_replace_the_home() -> None:
    addresses = assign_addresses("", [Slug("home"), Slug("index"), Slug("404")], [])
    assert addresses.pages[Slug("home")] == "index.html"
    assert addresses.pages[Slug("index")].startswith("index-")
    assert addresses.pages[Slug("404")].startswith("404-")


@pytest.mark.parametrize(
    ("slugs", "start"),
    [
        ("Home a", "Home"),  # git can bring it; the service finds it in any case
        ("HOME Home", "HOME"),
        ("README index home", "home"),
        ("README Index a", "Index"),
        ("ReadMe a docs/home docs/index", "ReadMe"),
        ("docs/home docs/index index-2", None),
    ],
)
def test_wiki_begins_with_its_home_else_index_else_readme(
    slugs: str, start: str | None
) -> None:
    pages = assign_addresses("w/", map(Slug, slugs.split()), []).pages
    found = [slug for slug, path in pages.items() if path == "w/index.html"]
    assert found == ([start] if start else [])


def test_attachment_keeps_its_name_where_a_page_wants_the_same() -> None:
    """What a page is called ends in ``.html``, and no attachment does."""
    name = AttachmentPath("uploads/0a/notes.html")
    addresses = assign_addresses("", [Slug("uploads/0a/notes")], [name])
    assert addresses.attachments[name] == "uploads/0a/notes-html.txt"
    assert addresses.pages[Slug("uploads/0a/notes")] == "uploads/0a/notes.html"


def test_loose_file_lies_under_its_name_where_no_page_can() -> None:
    addresses = assign_addresses("w/", [Slug("a")], [])
    path = addresses.file("private/plans/a?b.png")
    assert re.fullmatch(r"w/-/files/[0-9a-f]{32}/a-b\.png", path)


def test_loose_files_that_some_disk_takes_for_one_lie_apart() -> None:
    addresses = assign_addresses("", [], [])
    names = ("a/x.png", "a/X.png", "b/x.png", "a/x?.png", "a/x*.png")
    assert len({addresses.file(name).casefold() for name in names}) == len(names)


def test_attachment_and_folder_of_one_name_are_told_apart() -> None:
    name = AttachmentPath("uploads/a.png")
    addresses = assign_addresses("", [Slug("uploads/a.png/b")], [name])
    page = addresses.pages[Slug("uploads/a.png/b")]
    assert not page.startswith("uploads/a.png/")


@pytest.mark.parametrize(
    ("below", "file"),
    [("uploads/A.png/y", "uploads/a.png"), ("uploads/a.png/y", "uploads/A.png")],
)
def test_attachment_named_like_a_folder_of_another_is_told_apart(
    below: str, file: str
) -> None:
    """Whichever of the two comes first in sorted order."""
    names = [AttachmentPath(below), AttachmentPath(file)]
    paths = assign_addresses("", [], names).attachments
    folders = {path.rpartition("/")[0].casefold() for path in paths.values()}
    assert not folders & {path.casefold() for path in paths.values()}


@given(st.sets(HOSTILE, min_size=1, max_size=12))
def test_no_two_pages_share_a_file_on_any_disk(slugs: set[str]) -> None:
    paths = list(assign_addresses("", map(Slug, slugs), []).pages.values())
    folded = {unicodedata.normalize("NFC", path.casefold()) for path in paths}
    assert len(folded) == len(slugs)


@given(HOSTILE)
def test_a_path_stays_in_its_wiki(slug: str) -> None:
    path = assign_addresses("w/", [Slug(slug)], []).pages[Slug(slug)]
    assert path == posixpath.normpath(path)
    assert path.startswith("w/")
    assert not set(path) & set('<>:"|?*\\\x00\x07')
    assert all(not part.startswith(".") for part in path.split("/"))


@given(HOSTILE)
def test_no_page_of_a_single_wiki_takes_what_is_generated(slug: str) -> None:
    path = assign_addresses("", [Slug(slug)], []).pages[Slug(slug)]
    assert not path.startswith("-/")
    assert path not in ROOT_FILES - {"index.html"}


@given(HOSTILE, HOSTILE)
def test_browser_follows_a_relative_link_to_the_file(here: str, there: str) -> None:
    """From a base path with the RFC 3986 rules of the standard library."""
    at, to = page_path("", here), page_path("w/", there)
    base = "http://host/base/"
    url = urljoin(
        base + urlsplit(absolute_url("http://x", at)).path[1:], relative_url(at, to)
    )
    assert unquote(urlsplit(url).path) == f"/base/{to}"


@pytest.mark.parametrize(
    ("at", "to", "link"),
    [
        ("a.html", "a.html", "a.html"),
        ("index.html", "-/all.html", "-/all.html"),
        ("a/b/c.html", "a/d.html", "../d.html"),
        ("a/b.html", "index.html", "../index.html"),
        ("x.html", "C# & 100%.html", "C%23%20%26%20100%25.html"),
        ("x.html", "dir with/é.html", "dir%20with/%C3%A9.html"),
    ],
)
def test_links_are_relative_and_encoded(at: str, to: str, link: str) -> None:
    assert relative_url(at, to) == link


def test_fragment_is_encoded_behind_the_path() -> None:
    assert relative_url("a.html", "b.html", "é #1") == "b.html#%C3%A9%20%231"


def test_way_to_the_top_is_as_deep_as_the_page() -> None:
    assert [root_url("a.html"), root_url("a/b/c.html")] == ["./", "../../"]


def test_absolute_address_names_the_folder_of_an_index() -> None:
    assert absolute_url("https://x.test/w/", "a/index.html") == "https://x.test/w/a/"
    assert absolute_url("https://x.test", "é.html") == "https://x.test/%C3%A9.html"


def test_lists_lie_among_the_generated_files() -> None:
    assert wiki_list_path(HANDBOOK, is_only=True) == "-/all.html"
    assert wiki_list_path(HANDBOOK, is_only=False) == "-/all/docs/handbook.html"
    assert [numbered("-/all.html", n) for n in (1, 2)] == ["-/all.html", "-/all-2.html"]


@given(HOSTILE)
def test_safe_component_stays_safe(name: str) -> None:
    """Making a safe name safe again changes nothing."""
    once = safe_component(name)
    assert safe_component(once) == once
    assert "/" not in once


@pytest.mark.parametrize(
    ("prefix", "slugs", "attachments", "beside", "is_taken"),
    [
        ("w/", "a b", "f", "b", True),
        ("w/", "b a", "f", "b", True),
        ("", "a b", "f", "b", False),
        ("w/", "a b c", "f", "b", False),
        ("w/", "a b", "f g", "b", False),
        ("w/", "a b", "f", "", False),
    ],
)
def test_known_addresses_are_taken_where_the_names_are_the_same(
    prefix: str, slugs: str, attachments: str, beside: str, is_taken: bool
) -> None:
    known = assign_addresses(
        "w/", [Slug("a"), Slug("b")], [AttachmentPath("f")], [Slug("b")]
    )
    names = (
        prefix,
        [*map(Slug, slugs.split())],
        [*map(AttachmentPath, attachments.split())],
    )
    found = assign_addresses(*names, [*map(Slug, beside.split())], known)
    assert (found is known) == is_taken
    assert found == assign_addresses(*names, [*map(Slug, beside.split())])

"""What counts as a reference, and where each leads."""

import re

import pytest

from tests.support.markup import parse, render
from wikisync.markup.record import MarkdownEngine, MarkupOptions
from wikisync.markup.references import candidates

WIKI = "https://gitlab.example.com/docs/sub/handbook/-/wikis"
GROUP_WIKI = "https://gitlab.example.com/groups/docs/sub/-/wikis"
PROJECT = "https://gitlab.example.com/docs/sub/handbook"
ROOT = "https://gitlab.example.com"


def hrefs(text: str, web_url: str = WIKI) -> list[str]:
    page = render(text, pages=["home"], web_url=web_url)
    return re.findall(r'href="([^"]*)" class="reference', page.html)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("#1", f"{PROJECT}/-/issues/1"),
        ("!22", f"{PROJECT}/-/merge_requests/22"),
        ("other/x$3", f"{ROOT}/other/x/-/snippets/3"),
        ("%4", f"{PROJECT}/-/milestones/4"),
        ('%"v 1"', f"{PROJECT}/-/milestones?search_title=v%201"),
        ('~"a b"', f"{PROJECT}/-/issues?label_name=a%20b"),
        ("~kind::bug", f"{PROJECT}/-/issues?label_name=kind%3A%3Abug"),
        ("&5", f"{ROOT}/groups/docs/sub/-/epics/5"),
        ("other/x&5", f"{ROOT}/groups/other/x/-/epics/5"),
        ("@jane.doe", f"{ROOT}/jane.doe"),
        ("other/x#6+", f"{ROOT}/other/x/-/issues/6"),
        ("other/x!7+s", f"{ROOT}/other/x/-/merge_requests/7"),
        ("0a1b2c3d4e", f"{PROJECT}/-/commit/0a1b2c3d4e"),
        ("0a1b2c3d...1a2b3c4d5", f"{PROJECT}/-/compare/0a1b2c3d...1a2b3c4d5"),
        ("0a1b2c3..1a2b3c4", f"{PROJECT}/-/compare/0a1b2c3%5E...1a2b3c4"),
        ("o/x@0a1b2c3d...1a2b3c4d", f"{ROOT}/o/x/-/compare/0a1b2c3d...1a2b3c4d"),
        ("GL-12", f"{PROJECT}/-/issues/12"),
        ("handbook#12", f"{PROJECT}/-/issues/12"),
        ("handbook!3", f"{PROJECT}/-/merge_requests/3"),
        ("other/x@0a1b2c3d", f"{ROOT}/other/x/-/commit/0a1b2c3d"),
        ("[issue:8]", f"{PROJECT}/-/issues/8"),
        ("[epic:other/x/9]", f"{ROOT}/groups/other/x/-/epics/9"),
        ("[work_item:other/x/9]", f"{ROOT}/other/x/-/work_items/9"),
        ("[wiki_page:home]", "/home.html"),
        ("[wiki_page:other/x:a b]", f"{ROOT}/other/x/-/wikis/a%20b"),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "see ({}), please", "*{}*.", "- {}\n"])
def test_reference_leads_to_the_service(frame: str, text: str, address: str) -> None:
    assert hrefs(frame.format(text)) == [address]


def test_epic_of_a_group_wiki_is_the_groups() -> None:
    assert hrefs("&5", GROUP_WIKI) == [f"{ROOT}/groups/docs/sub/-/epics/5"]


@pytest.mark.parametrize(
    "text",
    [
        *("a#1", "#a", "#01", "\\#1", "`#1`", "    #1", "#1.5", "50%", "~5", "~bug"),
        *("a@b.cc", "@media", "&#39;", "x &amp;1x", "[#1](home)", "deadbeef"),
        *("12345678", "0a1b2c3d" * 6, "http://x/#1", "![#1](x.png)", "$1$"),
        *("$5", "$20,000", "(costs $5)", "0b1011011", "\\@john\\_doe"),
        *("sibling#1", "XGL-1", "GL-0", "1234567..2345678", "handbook&5"),
        *("[issue:x]", "##1", "C#1", "/a/b#1", "a/b"),
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert hrefs(text) == []


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_escaped_character_inside_of_a_name_is_part_of_it(
    engine: MarkdownEngine,
) -> None:
    if engine == "comrak":
        pytest.importorskip("comrak")
    text = r'@john\_doe ~"d \_b\_" :white\_check\_mark: {+ a\_b +} \#1 a\:tada:'
    html = render(text, web_url=WIKI, options=MarkupOptions(engine=engine)).html
    assert ">@john_doe</a>" in html
    assert '>~"d _b_"</a>' in html
    assert "✅" in html
    assert "> a_b </span>" in html
    assert html.endswith(" #1 a:tada:</p>\n")


def test_form_suffix_is_not_shown() -> None:
    assert ">x/y#1</a> z" in render("x/y#1+s z", web_url=WIKI).html


def shown(text: str, web_url: str = WIKI) -> list[str]:
    """Texts of the references on a page of this project, or of the group around it."""
    html = render(text, pages=["home", "a/Some-page"], web_url=web_url).html
    return re.findall(r'class="reference [^>]*>(.*?)</a>', html)


@pytest.mark.parametrize(
    ("text", "as_shown"),
    [
        *(("[issue:8]", "#8"), ("[work_item:o/x/9]", "o/x#9"), ("GL-12", "#12")),
        *(("docs/sub/handbook#1", "#1"), ("handbook#1", "#1")),
        *(("docs/sub/next!2", "next!2"), ("docs/next!2", "docs/next!2")),
        *(("0a1b2c3d4e5f", "0a1b2c3d"), ("o/x@0a1b2c3d4e5f", "o/x@0a1b2c3d")),
        ("0a1b2c3d4e...1a2b3c4d5e", "0a1b2c3d...1a2b3c4d"),
        (f"{PROJECT}/-/issues/1", "#1"),
        (f"{PROJECT}/-/issues/1#note_5", "#1 (comment 5)"),
        (f"{PROJECT}/-/issues/1/designs", "#1 (designs)"),
        (f"{PROJECT}/-/merge_requests/2/diffs#note_7", "!2 (diffs, comment 7)"),
        (f"{PROJECT}/-/merge_requests/2?tab=a", "!2"),
        (f"{ROOT}/docs/sub/next/-/work_items/3", "next#3"),
        (f"{ROOT}/o/x/-/snippets/4", "o/x$4"),
        (f"{ROOT}/groups/docs/-/epics/5", "docs&amp;5"),
        (f"{ROOT}/groups/docs/sub/-/epics/5", "&amp;5"),
        (f"{ROOT}/o/x/-/commit/0a1b2c3d4e5f", "o/x@0a1b2c3d"),
        (f"{PROJECT}/-/compare/0a1b2c3d4...1a2b3c4d5", "0a1b2c3d...1a2b3c4d"),
        (f"{WIKI}/a/Some-page", "a/Some page"),
        ("[wiki_page:a/Some-page]", "a/Some page"),
    ],
)
def test_reference_and_pasted_address_are_as_short_as_on_the_service(
    text: str, as_shown: str
) -> None:
    assert shown(f"see {text} there") == [as_shown]


def test_page_of_a_groups_wiki_shows_its_projects_by_their_names() -> None:
    assert shown("docs/sub/next#1 docs/x#2", GROUP_WIKI) == ["next#1", "docs/x#2"]


@pytest.mark.parametrize(
    "text",
    [
        *(f"[x]({PROJECT}/-/issues/1)", f"{PROJECT}/-/issues/new"),
        *(f"{PROJECT}/-/milestones/1", "https://other.example/g/p/-/issues/1"),
    ],
)
def test_other_addresses_are_shown_as_written(text: str) -> None:
    assert shown(text) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[a *b*](#1)", f"{PROJECT}/-/issues/1"),
        ("[a *b*](@jane)", f"{ROOT}/jane"),
        ("[a *b*](o/x!2)", f"{ROOT}/o/x/-/merge_requests/2"),
    ],
)
def test_link_may_name_a_reference(text: str, address: str) -> None:
    assert hrefs(text) == [address]
    assert shown(text) == ["a <em>b</em>"]


def test_link_to_a_heading_wins_over_a_reference() -> None:
    page = render("# 1\n\n[a](#1)", web_url=WIKI)
    assert '<a href="#1">a</a>' in page.html


def test_without_the_services_address_references_are_text() -> None:
    page = render("see #1, @user & <b>!2</b> :tada:")
    assert page.html.startswith("<p>see #1, @user &amp; <b>!2</b> <span")
    assert page.links == ()


def test_reference_to_a_page_that_is_not_there_is_a_broken_link() -> None:
    (link,) = render("[wiki_page:nope]", pages=["home"]).links
    assert (link.kind, link.is_broken, link.reason) == ("page", True, "no-page")


def test_text_with_references_is_still_text_for_the_search() -> None:
    assert parse("see #1 and !2").sections[-1].text == "see #1 and !2"


@pytest.mark.parametrize(
    "reference",
    [
        *("#1", "!2", "%4", '%"v 1"', '~"a b"', "~kind::bug", "&amp;5", "@jane"),
        *("g/p#6", "g/p$3", "0a1b2c3d", "abcdefa1", "[issue:8]", "[wiki_page:home]"),
        *("GL-1", "0a1b2c3..1a2b3c4"),
    ],
)
def test_text_with_a_reference_is_found_among_others(reference: str) -> None:
    texts = ["a", f"see {reference}", "", "3 words", reference, "[", "b"]
    assert candidates(texts) == [1, 4]


@pytest.mark.parametrize("start", [*"#!$%~@[&", *(f"abcdef{n}" for n in range(10))])
def test_every_sign_and_digit_is_searched_for(start: str) -> None:
    assert candidates(["a", f"{start}{start[-1:]} {start}x"]) == [1]

"""What a page's template gets, seen through templates that print it."""

import re

import pytest

from tests.site.sites import Studio
from wikisync.markup.record import TocEntry
from wikisync.site.navigation import folding
from wikisync.site.pages import BACKLINKS_MAX, toc_tree


def shape(entries: list[tuple[int, str]]) -> str:
    nodes = toc_tree(TocEntry(level, name, name) for level, name in entries)
    return "".join(map(drawn, nodes))


def drawn(node: object) -> str:
    children = "".join(map(drawn, node.children))  # type: ignore[attr-defined]
    return f"{node.id}({children})" if children else f"{node.id} "  # type: ignore[attr-defined]


def test_headings_nest_by_their_levels() -> None:
    assert shape([(1, "a"), (2, "b"), (3, "c"), (2, "d")]) == "a(b(c )d )"


def test_skipped_level_is_no_step_and_order_is_kept() -> None:
    assert shape([(3, "a"), (1, "b"), (4, "c"), (2, "d")]) == "a b(c d )"


def test_page_knows_its_address_on_the_service(studio: Studio) -> None:
    studio.start("-- home.md --\nx\n-- dir/C# 100%25.md --\nx\n")
    page = studio.read("dir/C# 100%.html")
    web = "https://gitlab.example.com/docs/handbook/-/wikis/dir/C%23%20100%25"
    assert f'href="{web}"' in page
    assert f'href="{web}/edit"' in page


def test_page_of_a_wiki_of_unknown_address_has_no_edit_link(studio: Studio) -> None:
    studio.start("-- home.md --\nx\n", web_url="")
    assert "/edit" not in studio.read("index.html")


def test_summary_is_the_begin_of_the_text_without_the_heading(studio: Studio) -> None:
    studio.start("-- home.md --\n# Heading\n\n" + "many words " * 40 + "\n")
    page = studio.read("index.html")
    assert '<meta name="description" content="many words many' in page
    assert ' …">' in page


def test_description_of_the_front_matter_comes_first(studio: Studio) -> None:
    studio.start("-- home.md --\n---\ndescription: Said so.\n---\nx\n")
    assert 'name="description" content="Said so."' in studio.read("index.html")


def test_plain_home_is_called_as_the_service_calls_it(studio: Studio) -> None:
    studio.start("-- home.md --\nx\n")
    assert "<title>Home · Docs</title>" in studio.read("index.html")


def test_backlinks_of_a_popular_page_are_capped(studio: Studio) -> None:
    studio.show_all()
    folder = studio.add("-- home.md --\nx\n")
    for number in range(BACKLINKS_MAX + 5):
        (folder / f"p{number}.md").write_text("[h](home)")
    studio.build()
    back = studio.read("index.html").partition("BACK ")[2].partition("NAV")[0]
    assert back.count("PageRef(") == BACKLINKS_MAX


def test_backlinks_are_sorted_by_title_from_whatever_wiki(studio: Studio) -> None:
    def linking(path: str) -> list[str]:
        page = studio.read(path).replace("&#39;", "'")
        back = page.partition("BACK ")[2].partition("NAV")[0]
        return re.findall("title='([^']*)'", back)

    studio.show_all()
    links = "[h](home) [own](own)"
    texts = {"a": f"# Page 10\n{links}", "b": f"# Page 2\n{links}"}
    pages = [*texts.items(), ("home", "x"), ("own", "x")]
    studio.add("".join(f"-- {name}.md --\n{text}\n" for name, text in pages), "a/wiki")
    link = "[x](https://gitlab.example.com/a/wiki/-/wikis/home)"
    studio.start(f"-- c.md --\n# Page 3\n{link}\n", "b/wiki")
    assert linking("a/wiki/-/wikis/index.html") == ["Page 2", "Page 3", "Page 10"]
    assert linking("a/wiki/-/wikis/own.html") == ["Page 2", "Page 10"]


def test_page_does_not_link_back_to_itself(studio: Studio) -> None:
    studio.show_all()
    studio.start("-- home.md --\n[me](home) [[home]]\n")
    assert "BACK ()" in studio.read("index.html")


def test_canonical_address_is_the_sites_own(studio: Studio) -> None:
    studio.set(url="https://docs.example.com/w/")
    studio.start("-- home.md --\nx\n-- a b.md --\nx\n")
    assert 'rel="canonical" href="https://docs.example.com/w/a%20b.html"' in (
        studio.read("a b.html")
    )


def test_wikis_of_one_title_are_told_apart_by_their_path(studio: Studio) -> None:
    studio.show_all()
    studio.add("-- home.md --\nx\n", "a/wiki")
    link = "[x](https://gitlab.example.com/a/wiki/-/wikis/home)"
    studio.start(f"-- home.md --\n{link}\n", "b/wiki")
    assert "wiki='Wiki (b/wiki)'" in studio.read("a/wiki/-/wikis/index.html").replace(
        "&#39;", "'"
    )


LIST = "<ul><li>x</li></ul>"
OPEN, MIDDLE, END = "<details open><summary>", "</summary>", "</details>"
ENTRY = "<ul><li>{}</li></ul>"


@pytest.mark.parametrize(
    ("html", "folded"),
    [
        (
            ENTRY.format(f"<b>A</b>{LIST}"),
            ENTRY.format(f"{OPEN}<b>A</b>{MIDDLE}{LIST}{END}"),
        ),
        (ENTRY.format(f"<p>A</p>{LIST}"), ENTRY.format(f"{OPEN}A{MIDDLE}{LIST}{END}")),
        (f"<h3>A</h3>\n{LIST}", f"{OPEN}<h3>A</h3>\n{MIDDLE}{LIST}{END}"),
        (f"<p><b>A</b></p>{LIST}", f"{OPEN}<b>A</b>{MIDDLE}{LIST}{END}"),
        (
            ENTRY.format(f'<a href="a">A &amp; B</a>{LIST}'),
            ENTRY.format(
                '<a href="a">A &amp; B</a>'
                f'<details open><summary aria-label="A &amp; B">{MIDDLE}{LIST}{END}'
            ),
        ),
        (
            ENTRY.format(f"A<div>{LIST}</div>"),
            ENTRY.format(f"{OPEN}A{MIDDLE}<div>{LIST}</div>{END}"),
        ),
        (LIST, LIST),
        (f"text{LIST}", f"text{LIST}"),
        (ENTRY.format(LIST), ENTRY.format(LIST)),
        (
            ENTRY.format(f"A{LIST}B{LIST}"),
            ENTRY.format(f"{OPEN}A{MIDDLE}{LIST}{END}B{LIST}"),
        ),
        (f"<hr>{LIST}", f"<hr>{LIST}"),
    ],
)
def test_list_below_a_name_in_a_sidebar_folds(html: str, folded: str) -> None:
    assert folding(html) == folded


def test_folder_without_a_page_has_a_capital_in_the_breadcrumbs(studio: Studio) -> None:
    studio.start(
        "-- home.md --\nx\n-- guides/first/a.md --\nx\n-- guides/first.md --\n# One\n"
    )
    page = studio.read("guides/first/a.html")
    crumbs = page[
        page.index('class="breadcrumbs"') : page.index("</nav>", page.index("crumbs"))
    ]
    assert "<li>Guides</li>" in crumbs
    assert '<li><a href="../first.html">One</a></li>' in crumbs
    assert 'class="breadcrumbs"' not in studio.read("index.html")

"""The sidebar of a wiki, and its templates for new pages."""

import pytest

from tests.site.sites import Studio

SIDEBAR = """\
-- _sidebar.md --
- [Second](b/two)
- [First](a)
-- home.md --
x
-- a.md --
x
-- b/two.md --
x
-- c.md --
x
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    """A wiki with a sidebar, built once; tests only look at it."""
    studio = Studio(tmp_path_factory.mktemp("sidebar"))
    studio.add(SIDEBAR)
    assert studio.build().pages == 4
    return studio


def test_sidebar_stands_in_place_of_the_tree(beside: Studio) -> None:
    page = beside.read("b/two.html")
    nav = page[page.index('<nav class="site-nav"') : page.index("</nav>")]
    assert '<a aria-current="page" href="two.html">' in nav
    assert 'href="../a.html"' in nav
    assert "c.html" not in nav


def test_sidebar_gives_the_reading_order(beside: Studio) -> None:
    page = beside.read("b/two.html")
    assert '<a class="next" rel="next" href="../a.html">' in page
    assert 'rel="prev"' not in page


def test_sidebar_is_in_no_list_and_its_links_make_no_backlinks(beside: Studio) -> None:
    assert "_sidebar" not in beside.read("-/all.html")
    assert [orphan["slug"] for orphan in beside.report()["orphans"]] == ["c"]
    assert "backlinks" not in beside.read("a.html")


def test_sidebar_that_outweighs_the_pages_gives_way_to_the_tree(studio: Studio) -> None:
    links = "".join(
        f"- [a very long entry, number {n}](page-{n})\n" for n in range(900)
    )
    studio.add(f"-- _sidebar.md --\n{links}-- home.md --\nx\n")
    report = studio.build()
    assert "sidebar-too-long" in [problem.code for problem in report.problems]
    assert len(studio.read("index.html")) < 20_000


@pytest.mark.parametrize(
    "name", ["_Sidebar.md", "_SIDEBAR.asciidoc", "_sideBar.org", "_Sidebar.rdoc"]
)
def test_sidebar_and_footer_are_found_in_any_case_and_format(
    studio: Studio, name: str
) -> None:
    """As the service finds them; GitHub writes ``_Sidebar`` and ``_Footer``."""
    footer = name.lower().replace("sidebar", "Footer")
    studio.add(f"-- home.md --\nx\n-- {name} --\nTHE SIDE\n-- {footer} --\nTHE END\n")
    assert (studio.build().pages, studio.build().problems) == (1, ())
    page = studio.read("index.html")
    assert page.index("THE SIDE") < page.index("<main") < page.index("THE END")
    assert page.index("THE END") < page.index("</main>")
    assert "_" not in studio.read("-/all.html").partition("<article>")[2]
    assert studio.report()["orphans"] == []


def test_sidebar_of_a_folder_stands_beside_the_pages_in_it(studio: Studio) -> None:
    """As on GitHub, the nearest one; the service itself has one at the top alone."""
    studio.add(
        "-- home.md --\nx\n-- a/x.md --\nx\n-- a/b/y.md --\nx\n-- c/z.md --\nx\n"
        "-- _Sidebar.md --\nTOP\n-- a/_Sidebar.md --\nNEAR [y](./b/y) [x](./x)\n"
        "-- a/_Footer.org --\nEND\n"
    )
    assert studio.build().broken_links == ()
    found = {
        path: studio.read(path) for path in ("index.html", "a/b/y.html", "c/z.html")
    }
    assert ["NEAR" in page for page in found.values()] == [False, True, False]
    assert ["TOP" in page for page in found.values()] == [True, False, True]
    assert ["END" in page for page in found.values()] == [False, True, False]
    assert 'rel="next" href="../x.html"' in found["a/b/y.html"]


def test_page_called_like_the_sidebar_that_is_none_is_a_page_and_named(
    studio: Studio,
) -> None:
    studio.add("-- home.md --\nx\n-- _sidebar.md --\nSIDE\n-- _Sidebar.org --\nOTHER\n")
    report = studio.build()
    assert [(one.code, one.subject) for one in report.problems] == [
        ("address-twin", "_Sidebar")
    ]
    assert report.pages == 2
    assert "SIDE" in studio.read("index.html")
    assert "OTHER" not in studio.read("index.html")
    assert "Sidebar" in studio.read("-/all.html")


def test_sidebar_that_moves_to_a_folder_changes_the_pages_of_both(
    studio: Studio,
) -> None:
    folder = studio.start(
        "-- home.md --\nx\n-- a/x.md --\nx\n-- _Sidebar.md --\nSIDE\n"
    )
    (folder / "_Sidebar.md").rename(folder / "a/_Sidebar.md")
    studio.build()
    assert "SIDE" not in studio.read("index.html")
    assert studio.files() == studio.clean_build()


# -- templates for new pages ---------------------------------------------------------

TEMPLATES = """\
-- home.md --
[meeting](templates/meeting) [[Templates/Meeting]] [none](templates/none)
::include{file=templates/meeting.md}
-- templates/meeting.md --
# Meeting on DATE
[somebody](nobody)
-- templates.md --
x
"""


def test_templates_for_new_pages_are_left_out_and_links_to_them_say_so(
    studio: Studio,
) -> None:
    folder = studio.add(TEMPLATES, web_url="https://gitlab.example.com/docs/handbook")
    report = studio.build()
    reasons = {link.href: link.reason for link in report.broken_links}
    assert report.pages == 2
    assert reasons["templates/none"] == "there is no such page"
    assert "is a template" in reasons["templates/meeting"]
    assert "is a template" in reasons["Templates/Meeting"]
    assert not [path for path in studio.files() if "meeting" in path]
    assert "DATE" in studio.article("index.html")
    assert [page["slug"] for page in studio.report()["wanted_pages"]] == [
        *("nobody", "templates/none")
    ]

    (folder / "templates/meeting.md").rename(folder / "templates/none.md")
    studio.build()
    assert studio.files() == studio.clean_build()


def test_templates_for_new_pages_are_pages_where_the_owner_asks(studio: Studio) -> None:
    studio.start(TEMPLATES)
    studio.set(page_templates=True)
    report = studio.build()
    assert report.pages == 3
    assert {link.href for link in report.broken_links} == {"templates/none", "nobody"}
    assert "DATE" in studio.article("templates/meeting.html")
    assert studio.files() == studio.clean_build()


def test_link_to_a_template_of_another_wiki_stays_on_the_service(
    studio: Studio,
) -> None:
    url = "https://gitlab.example.com/docs/b/-/wikis/templates/x"
    studio.add(f"-- home.md --\n[x]({url})\n", "docs/a")
    studio.add("-- home.md --\nx\n-- templates/x.md --\nx\n", "docs/b")
    assert studio.build().broken_links == ()
    assert f'href="{url}"' in studio.read("docs/a/-/wikis/index.html")

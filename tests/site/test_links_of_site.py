"""Every address in the site of the user guide leads somewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.sites import Studio
from tests.support.site_links import dead_addresses, doubled_ids

if TYPE_CHECKING:
    from wikisync.site.model import BuildReport

SAMPLE = Path(__file__).resolve().parents[2] / "sample-site"
THEME_WORDS = ("Menu", "Theme", "Contents", "Content", "TOC", "Backlinks", "Status")


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of both wikis of the user guide."""
    from tests.site.sites import wiki_source

    studio = Studio(tmp_path_factory.mktemp("guide"))
    studio.sources = [
        wiki_source(SAMPLE / "docs", "group:docs"),
        wiki_source(SAMPLE / "handbook", "docs/handbook"),
    ]
    studio.build()
    return studio.site


def test_every_address_leads_to_a_file_of_the_site_and_an_id_in_it(guide: Path) -> None:
    assert len(list(guide.rglob("*.html"))) > 30
    assert dead_addresses(guide) == []


def test_no_file_of_the_site_gives_an_id_twice(guide: Path) -> None:
    assert doubled_ids(guide) == []


@pytest.mark.parametrize(
    "page",
    [
        "a.md --\n# fn-1\n\nx[^1] y[^1]\n\n[^1]: note\n",
        "a.asciidoc --\n= T\n\n[[x]]one [[x]]two\n\n[#x]\n== x\n\n[#x]\nthree\n",
        "a.org --\n* b\n<<b>> [[b]]\n* c\n:PROPERTIES:\n:CUSTOM_ID: b\n:END:\n",
        "a.rdoc --\n= Mobs\n\n== Mobs\n",
        "x y.md --\nx\n-- x_y.md --\nx\n",
    ],
)
def test_no_page_gives_an_id_twice_whatever_its_text_says(
    tmp_path: Path, page: str
) -> None:
    studio = built(tmp_path, f"-- home.md --\nx\n-- {page}")
    assert doubled_ids(studio.site) == []
    assert dead_addresses(studio.site) == []


def test_headings_called_like_parts_of_the_theme_keep_their_addresses(
    tmp_path: Path,
) -> None:
    """A link to ``#menu`` led to the theme's own button before the heading."""
    headings = "".join(f"## {word}\n\ntext\n\n" for word in THEME_WORDS)
    links = " ".join(f"[to](#{word.lower()})" for word in THEME_WORDS)
    studio = built(tmp_path, f"-- home.md --\n{headings}{links}\n")
    assert doubled_ids(studio.site) == []
    assert dead_addresses(studio.site) == []


def test_links_to_a_folder_lead_to_what_it_begins_with(tmp_path: Path) -> None:
    """As in MkDocs and on GitHub; the service itself knows no start of a folder."""
    studio = built(
        tmp_path,
        "-- README.md --\n[a](docs) [b](docs/) [c](/docs) [d](org/) [e](none/)\n"
        "-- docs/Readme.org --\n* Documents\n"
        "-- docs/a.md --\n[up](../) [here](./) [[root|/]] [f](docs#documents)\n"
        "-- org/index.rdoc --\n= Index\n-- org/readme.md --\nx\n",
    )
    assert dead_addresses(studio.site) == []
    assert [link.href for link in studio.build().broken_links] == ["none/"]
    assert studio.read("index.html").count('href="docs/Readme.html"') >= 3
    assert 'href="org/index.html"' in studio.article("index.html")
    assert studio.article("docs/a.html").count('href="../index.html"') >= 2


def test_link_to_a_folder_follows_a_start_that_comes_later(tmp_path: Path) -> None:
    studio = built(tmp_path, "-- README.md --\n[a](docs/)\n-- docs/a.md --\nx\n")
    (tmp_path / "wikis/docs/handbook/docs/README.md").write_text("x")
    assert studio.build().broken_links == ()
    assert studio.files() == studio.clean_build()


BESIDE = {
    "md": "# Mobs\n\n[own](#own) [there](#mobs) [page](home#mobs) n[^1]\n\n"
    '## Own\n\n<a name="mobs"></a>\n\n[^1]: x\n',
    "asciidoc": "= Mobs\n:toc:\n\n[[own]]\n== Own\n\n<<own>> f footnote:[x]\n",
    "org": "* Mobs\n:PROPERTIES:\n:CUSTOM_ID: mobs\n:END:\n<<own>> [[own]] [[#mobs]]\n",
    "rdoc": "= Mobs\n\na[#mobs]\n",
}
"""Sidebars with anchors that the pages have as well."""


@pytest.mark.parametrize("kind", BESIDE)
def test_anchors_beside_a_page_are_none_of_its_own(tmp_path: Path, kind: str) -> None:
    """Before, ``#mobs`` on the page led into the navigation."""
    text = BESIDE[kind]
    studio = built(
        tmp_path,
        f"-- home.md --\n{BESIDE['md']}-- a/b.{kind} --\n{text}"
        f"-- _Sidebar.{kind} --\n{text}-- a/_Footer.{kind} --\n{text}",
    )
    assert doubled_ids(studio.site) == []
    assert dead_addresses(studio.site) == []
    page = studio.read("a/b.html")
    assert 'id="siteSidebar-mobs"' in page
    assert 'id="siteFooter-mobs"' in page
    assert ' href="#siteSidebar-' in page
    assert 'name="mobs"' not in page.partition("<main")[0]


def test_org_links_by_id_lead_to_pages_and_headings(tmp_path: Path) -> None:
    studio = built(
        tmp_path,
        "-- home.org --\n[[id:page][p]] [[id:part][h]] [[id:gone][g]] [[roam:x][r]]\n"
        "-- notes/a.org --\n:PROPERTIES:\n:ID: page\n:END:\n#+TITLE: A\n\ntext\n"
        "* Part\n:PROPERTIES:\n:ID: part\n:END:\n",
    )
    html = studio.article("index.html")
    assert '<a href="notes/a.html#ID-page">p</a>' in html
    assert '<a href="notes/a.html#ID-part">h</a>' in html
    assert dead_addresses(studio.site) == []
    broken = studio.report()["broken_links"]
    assert [one["href"] for one in broken] == ["id:gone", "roam:x"]


def test_org_link_by_id_follows_the_page_that_has_it(tmp_path: Path) -> None:
    drawer = ":PROPERTIES:\n:ID: one\n:END:\n"
    studio = built(tmp_path, "-- home.org --\n[[id:one][p]]\n-- a.org --\ntext\n")
    assert "broken-link" in studio.article("index.html")
    folder = tmp_path / "wikis/docs/handbook"
    (folder / "a.org").write_text(f"{drawer}text\n")
    studio.build()
    assert '<a href="a.html#ID-one">p</a>' in studio.article("index.html")
    (folder / "a.org").rename(folder / "b.org")
    studio.build()
    assert '<a href="b.html#ID-one">p</a>' in studio.article("index.html")


def test_the_reader_of_sites_sees_what_is_dead(tmp_path: Path) -> None:
    """What these tests stand on: missing files, missing ids, ways out of the site."""
    page = '<p id="a"></p><a href="#a"></a><a href="#b"></a><a href="../x"></a>'
    (tmp_path / "index.html").write_text(page + '<img src="no.png"><i id="a">')
    assert dead_addresses(tmp_path) == [
        "index.html -> #b",
        "index.html -> ../x",
        "index.html -> no.png",
    ]
    assert doubled_ids(tmp_path) == ["index.html#a"]


def built(root: Path, archive: str) -> Studio:
    """A site of one wiki."""
    studio = Studio(root)
    studio.add(archive)
    report: BuildReport = studio.build()
    assert report.pages
    return studio

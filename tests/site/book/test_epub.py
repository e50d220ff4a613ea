"""All pages of wikis as EPUB: a package that readers accept."""

import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import sample_wikis
from tests.site.book.books import UPLOAD, WIKI, problems_of_epub, write
from tests.site.sites import Studio
from wikisync.site.book.epub import MATHML, SVG, as_xhtml


@pytest.fixture
def wiki(studio: Studio) -> Studio:
    studio.add(WIKI)
    return studio


def pages_of(path: Path) -> dict[str, str]:
    archive = zipfile.ZipFile(path)
    return {
        name.removeprefix("EPUB/"): archive.read(name).decode()
        for name in archive.namelist()
        if name.endswith((".xhtml", ".opf"))
    }


def test_a_package_is_sound(wiki: Studio) -> None:
    assert problems_of_epub(write(wiki, "epub")[0]) == []


def test_the_user_guide_is_sound(studio: Studio) -> None:
    studio.sources += sample_wikis()
    target, report = write(studio, "epub")
    assert report.pages > 50
    assert problems_of_epub(target) == []


def test_an_unsound_package_is_found(wiki: Studio, tmp_path: Path) -> None:
    target, _ = write(wiki, "epub")
    broken = tmp_path / "broken.epub"
    with zipfile.ZipFile(target) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            text = old.read(name).replace(b'id="steps"', b'id="twice"')
            if "pictures" not in name:
                new.writestr(name, text)
    assert problems_of_epub(broken) == [
        "EPUB/pictures/1.png: in one of list and archive",
        "EPUB/page-1.xhtml: page-3.xhtml#steps has no such id",
        "EPUB/page-1.xhtml: pictures/1.png leads nowhere",
        "EPUB/page-3.xhtml: an id twice",
        "EPUB/page-3.xhtml: page-3.xhtml#steps has no such id",
    ]


def test_links_lead_to_pages_pictures_are_inside_and_the_rest_is_on_the_web(
    wiki: Studio,
) -> None:
    pages = pages_of(write(wiki, "epub")[0])
    home = pages["page-1.xhtml"]
    assert 'href="page-3.xhtml#steps"' in home
    assert 'src="pictures/1.png" alt="map"' in home
    assert '<span class="missing-media">far</span>' in home
    assert f"https://gitlab.example.com/docs/handbook/-/wikis/{UPLOAD}/notes" in home
    assert 'properties="mathml"' in pages["package.opf"]


def test_the_contents_have_the_tree_of_the_pages(wiki: Studio) -> None:
    contents = pages_of(write(wiki, "epub")[0])["contents.xhtml"]
    lines = "".join(contents.split())
    assert 'href="page-2.xhtml">guide</a><ol><li><ahref="page-3.xhtml">Start' in lines


def test_the_same_pages_are_the_same_bytes(wiki: Studio) -> None:
    first, _ = write(wiki, "epub")
    second, _ = write(wiki, "epub", name="again")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("html", "xml"),
    [
        ("a<br>b &nbsp;&amp; &lt;", "a<br/>b \u00a0&amp; &lt;"),
        ("<h7>t</h7><tt>c</tt>", "<h6>t</h6><code>c</code>"),
        ('<td align="right" nowrap>1</td>', '<td style="text-align: right">1</td>'),
        ('<img src="a.png" width="50%">', '<img src="a.png" alt=""/>'),
        ('<a name="x">t</a>', '<a id="x">t</a>'),
        ('<ol reversed start="3"></ol>', '<ol reversed="" start="3"></ol>'),
        (
            '<math display="block"><mi>x</mi></math><p nowrap>',
            f'<math display="block" xmlns="{MATHML}"><mi>x</mi></math><p>',
        ),
        (
            '<svg viewBox="0 0 1 1"><path d="M0"/></svg>',
            f'<svg viewBox="0 0 1 1" xmlns="{SVG}"><path d="M0"/></svg>',
        ),
        ('<a id="x"></a><p id="x">t</p>', '<a id="x"></a><p>t</p>'),
        ("<details>t <b>u</b>", "<details><summary/>t <b>u</b>"),
        ("<details> <summary>t</summary>", "<details> <summary>t</summary>"),
        (
            "<details>a<summary>t</summary></details>",
            "<details><summary/>a<div>t</div></details>",
        ),
        (
            '<a href="https://x.test/#/#é?q=&quot;">t</a>',
            '<a href="https://x.test/#/%23%C3%A9?q=%22">t</a>',
        ),
        (
            '<a href="http://[::1]:80/é#[a]">t',
            '<a href="http://[::1]:80/%C3%A9#%5Ba%5D">t',
        ),
        ("\x0c&#11;\ufffe", ""),
    ],
)
def test_html_becomes_xml_of_books(html: str, xml: str) -> None:
    assert as_xhtml(html) == xml

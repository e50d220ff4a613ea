"""All pages of wikis in one HTML file."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.site.book.books import UPLOAD, WIKI, write
from tests.site.sites import Studio
from tests.support.archive import unpack
from tests.support.site_links import doubled_ids
from wikisync.errors import FolderError, SiteError, UsageError
from wikisync.site.book import one_file


@pytest.fixture
def wiki(studio: Studio) -> Studio:
    studio.add(WIKI)
    return studio


def inner_links(text: str) -> set[str]:
    return {unquote(one) for one in re.findall(r'href="#([^"]*)"', text)}


def test_pages_follow_each_other_as_in_the_navigation(wiki: Studio) -> None:
    target, report = write(wiki, "html")
    chapters = re.findall(r'<article id="([^"]+)"', target.read_text())
    assert chapters == ["index", "guide", "guide/start", "guide/zoo"]
    assert (report.pages, report.written) == (4, 1)


def test_a_sidebar_gives_the_order_and_is_no_page(wiki: Studio) -> None:
    folder = wiki.sources[0].folder
    (folder / "_sidebar.md").write_text("[Zoo](guide/zoo) [Start](guide/start)")
    chapters = re.findall(r'<article id="([^"]+)"', write(wiki, "html")[0].read_text())
    assert chapters == ["index", "guide/zoo", "guide/start", "guide"]


def test_each_link_inside_leads_to_an_id_that_is_there_once(wiki: Studio) -> None:
    target, _ = write(wiki, "html")
    text = target.read_text()
    ids = set(re.findall(r' id="([^"]+)"', text))
    assert {"index:twice", "guide/start:twice"} <= ids
    assert {"guide/start:steps", "index:welcome"} <= inner_links(text)
    assert inner_links(text) <= ids
    assert doubled_ids(target.parent) == []


def test_pictures_and_files_are_inside(wiki: Studio) -> None:
    text = write(wiki, "html")[0].read_text()
    assert 'src="data:image/png;base64,cGljdHVyZQo="' in text
    assert '<a download="notes.txt" href="data:text/plain;base64,d29yZHMK"' in text
    assert UPLOAD not in re.sub(r'title="[^"]*"', "", text)


def test_a_picture_without_text_is_no_link_with_a_name(studio: Studio) -> None:
    studio.add(f"-- home.md --\n![]({UPLOAD}/map.png)\n-- {UPLOAD}/map.png --\nx\n")
    text = write(studio, "html")[0].read_text()
    assert '<a class="picture"><img src="data:' in text


def test_a_large_file_lies_beside_and_is_named(
    wiki: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_file, "INLINE_BYTES_MAX", 7)
    target, report = write(wiki, "html")
    (beside,) = (wiki.root / "book.files").iterdir()
    assert beside.read_text() == "picture\n"
    assert f'src="book.files/{beside.name}"' in target.read_text()
    assert [note.code for note in report.notes] == ["left-beside"]


def test_a_subtree_links_to_other_pages_on_the_service(wiki: Studio) -> None:
    text = write(wiki, "html", "guide/start")[0].read_text()
    assert re.findall(r'<article id="([^"]+)"', text) == ["guide/start"]
    web = "https://gitlab.example.com/docs/handbook/-/wikis/home#twice"
    assert f'href="{web}"' in text


def test_a_subtree_is_a_page_with_all_below_it(wiki: Studio) -> None:
    text = write(wiki, "html", "guide/")[0].read_text()
    chapters = re.findall(r'<article id="([^"]+)"', text)
    assert chapters == ["guide", "guide/start", "guide/zoo"]


def test_a_subtree_without_a_page_is_refused(wiki: Studio) -> None:
    with pytest.raises(UsageError, match="there is no page guid and none below"):
        write(wiki, "html", "guid")


def test_wikis_are_parts_whose_pages_link_to_each_other(wiki: Studio) -> None:
    web = "https://gitlab.example.com/docs/handbook/-/wikis/guide"
    wiki.add(f"-- home.md --\nSee {web}#nowhere and [there]({web}).", "docs/other")
    text = write(wiki, "html")[0].read_text()
    assert re.findall(r'class="part" id="([^"]+)"', text) == [":0", ":1"]
    assert "docs/handbook/-/wikis/guide" in inner_links(text)
    assert inner_links(text) <= set(re.findall(r' id="([^"]+)"', text))
    assert 'aria-level="2"' in text


def test_a_theme_may_have_its_own_template(wiki: Studio, tmp_path: Path) -> None:
    own = "-- templates/single.html --\n{{ site.title }}{% for part in parts %}"
    own += "{% for one in chapters(part) %}|{{ one.title }}{% endfor %}{% endfor %}"
    wiki.set(templates=unpack(own, tmp_path / "theme"))
    assert write(wiki, "html")[0].read_text() == "Docs|Welcome|guide|Start|Zoo"


def test_a_file_that_cannot_be_written_is_named_and_left(wiki: Studio) -> None:
    target, _ = write(wiki, "html")
    (wiki.root / ".book.html.part").mkdir()
    before = target.read_bytes()
    with pytest.raises(FolderError, match=r"cannot write .*book\.html: a folder"):
        write(wiki, "html")
    assert target.read_bytes() == before


def test_a_file_that_fails_leaves_the_one_before(wiki: Studio, tmp_path: Path) -> None:
    target, _ = write(wiki, "html")
    before = target.read_bytes()
    own = "-- templates/single.html --\nbegun {{ site.nothing }}"
    wiki.set(templates=unpack(own, tmp_path / "theme"))
    with pytest.raises(SiteError, match=r"single\.html:1: there is no value"):
        write(wiki, "html")
    assert target.read_bytes() == before
    assert [one.name for one in wiki.root.glob("*book*")] == ["book.html"]

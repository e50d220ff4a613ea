"""All pages of wikis as PDF, printed by Chromium."""

import importlib.util
import re
import shutil
import zlib
from pathlib import Path

import pytest

from tests.site.book.books import WIKI, write
from tests.site.sites import Studio
from wikisync.errors import UsageError
from wikisync.site.book import pdf
from wikisync.site.book.pdf import PrintedPdf, find_chromium

pytestmark = pytest.mark.browser


@pytest.fixture
def wiki(tmp_path: Path) -> Studio:
    if find_chromium() is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium-headless-shell")
    studio = Studio(tmp_path)
    studio.add(WIKI)
    return studio


@pytest.mark.parametrize("lang", ["en", "ar"])
def test_contents_number_the_pages_on_which_chapters_begin(
    wiki: Studio, lang: str
) -> None:
    wiki.set(lang=lang)
    target, report = write(wiki, "pdf")
    content = target.read_bytes()
    places = PrintedPdf(content).destinations()
    found = [places[name].page for name in ("index", "guide", "guide/start")]
    # cover and contents come first, and each chapter begins a page
    assert found == [3, 4, 5]
    assert places["guide/start:steps"].page == 5
    assert content.count(b"/Type /Page\n") == 6
    assert report.notes == ()


@pytest.mark.parametrize("at_once", [50, 1])
def test_pieces_make_one_pdf_with_all_links_and_an_outline(
    wiki: Studio, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """However many pages Chromium prints at once."""
    # the name of its box looks like a reference to an object
    wiki.add("-- home.md --\n# Other\n\n- [x] 1 0 R\n", "docs/other")
    monkeypatch.setattr(pdf, "PAGES_AT_ONCE", at_once)
    target, report = write(wiki, "pdf")
    content = target.read_bytes()
    made = PrintedPdf(content)
    places = made.destinations()
    keys = {place.key for place in places.values()}
    objects = {number: made.text(number) for number in made}
    assert report.notes == ()
    # from the contents 7, from the pages 3, and the way back from a note
    links = [text for text in objects.values() if b"/Subtype /Link" in text]
    inner = [found[1] for one in links if (found := re.search(rb"/Dest /(\S+)", one))]
    assert len(inner) >= 10
    assert set(inner) <= keys
    home = "docs/handbook/-/wikis/"
    assert places[f"{home}index"].page < places[f"{home}guide/start:steps"].page
    # each is an object, and each page or link is in the structure once
    heads = [text.partition(b"stream\n")[0] for text in objects.values()]
    named = {int(one) for head in heads for one in re.findall(rb"(\d+) 0 R", head)}
    assert named - {1} <= objects.keys()
    keyed = re.findall(rb"/StructParents? (\d+)", b"\n".join(heads))
    assert len(keyed) == len(set(keyed))
    assert re.search(rb"/Desc \([^)]*1 0 R\)", b"".join(heads))
    titles = [
        bytes.fromhex(found[1].decode()).decode("utf-16")
        for found in map(re.compile(rb"<</Title <(\w+)>").match, heads)
        if found
    ]
    assert {"Handbook", "Welcome", "Twice", "Zoo", "Other"} <= set(titles)
    assert any(re.match(rb"<</Type /Outlines.*/Count 2>>", head) for head in heads)


def test_a_picture_is_in_it(wiki: Studio) -> None:
    folder = wiki.sources[0].folder
    (folder / "dot.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
        '<rect width="9" height="9" fill="#ab12cd"/></svg>'
    )
    (folder / "home.md").write_text("![dot](dot.svg)")
    content = write(wiki, "pdf")[0].read_bytes()
    streams = re.findall(rb"stream\n(.*?)\nendstream", content, re.DOTALL)
    drawn = b"".join(map(_unpacked, streams))
    assert b".6706 .0706 .8039 rg" in drawn


def _unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def test_the_same_pages_are_the_same_bytes(wiki: Studio) -> None:
    first, second = write(wiki, "pdf")[0], write(wiki, "pdf", name="again")[0]
    assert first.read_bytes() == second.read_bytes()


def test_a_pdf_of_another_form_has_no_numbers_and_says_so(
    wiki: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "PrintedPdf", lambda content: PrintedPdf(content[9:]))
    target, report = write(wiki, "pdf")
    assert target.read_bytes().startswith(b"%PDF")
    assert [note.code for note in report.notes] == ["no-page-numbers"]


def test_without_an_engine_the_error_names_what_to_install(
    wiki: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UsageError) as caught:
        write(wiki, "pdf")
    assert "apt install chromium" in (caught.value.hint or "")
    assert "pip install weasyprint" in (caught.value.hint or "")

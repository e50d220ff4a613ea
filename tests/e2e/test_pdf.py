"""All pages of wikis as PDF, printed by Chromium."""

from __future__ import annotations

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
from wikisync.site.book.pdf import find_chromium, printed_pages

pytestmark = pytest.mark.browser


@pytest.fixture
def wiki(tmp_path: Path) -> Studio:
    if find_chromium() is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium-headless-shell")
    studio = Studio(tmp_path)
    studio.add(WIKI)
    return studio


def test_contents_number_the_pages_on_which_chapters_begin(wiki: Studio) -> None:
    target, report = write(wiki, "pdf")
    content = target.read_bytes()
    numbers = printed_pages(content)
    found = [numbers[name] for name in ("index", "guide", "guide/start", "guide/zoo")]
    # cover and contents come first, and each chapter begins a page
    assert found == [3, 4, 5, 6]
    assert numbers["guide/start:steps"] == 5
    assert content.count(b"/Type /Page\n") == 6
    assert b"/Outlines" in content
    assert report.notes == ()


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
    monkeypatch.setattr(
        pdf, "printed_pages", lambda content: printed_pages(content[9:])
    )
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

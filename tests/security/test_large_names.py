"""A site is as large as its pages, however long their titles, names and links are."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.security.large_names import LONG, large_names
from tests.site.sites import Studio
from wikisync.site.titles import PAGE_TITLE_CHARS_MAX, TITLE_CHARS_MAX, shortened

PAGES = 40
PAGE_BYTES = 64_000
"""What a page may take that holds nearly nothing: mostly links to all others."""
FACTOR = 14
"""A text stands on its page, in its heading's id and link, and in the search; ``&`` is
five letters in HTML."""
WIKIS = dict(large_names(PAGES))


@pytest.mark.parametrize("files", WIKIS.values(), ids=WIKIS)
def test_site_grows_with_its_input(tmp_path: Path, files: Mapping[str, str]) -> None:
    studio = Studio(tmp_path)
    folder = studio.add("")
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    read = sum(len(f"{path}{text}".encode()) for path, text in files.items())
    assert studio.build().pages == PAGES
    written = sum(map(len, studio.files().values()))
    assert written < PAGES * PAGE_BYTES + FACTOR * read


def test_long_title_is_whole_on_its_page_and_short_on_others(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    title = "word " * 60 + "end"
    studio.add(f"-- a.md --\n---\ntitle: {title}\n---\nx\n-- b.md --\n[[a]]\n")
    studio.build()
    short = shortened(title, TITLE_CHARS_MAX)
    assert f"<h1>{title}</h1>" in studio.read("a.html")
    assert title not in studio.read("b.html")
    assert f">{short}</a>" in studio.read("b.html")
    assert title not in studio.read("-/all.html")


def test_title_of_a_page_has_an_end_on_the_page_too(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    studio.add(f"-- a.md --\n---\ntitle: {'T' * LONG}\n---\nx\n")
    studio.build()
    found = re.search(r"<h1>(T+ …)</h1>", studio.read("a.html"))
    assert found is not None
    assert len(found[1]) == PAGE_TITLE_CHARS_MAX


def test_wiki_that_calls_itself_by_a_book_is_shortened(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    studio.add("-- a.md --\nx\n", title="T" * LONG, description="D" * LONG)
    studio.build()
    assert len(studio.read("a.html")) < PAGE_BYTES
    (source,) = studio.sources
    assert replace(source, visibility="public").title == source.title


def test_change_behind_the_short_title_reaches_the_page_alone(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    long = "word " * 60
    folder = studio.add(f"-- a.md --\n# {long}one\n-- b.md --\nx\n")
    studio.build()
    (folder / "a.md").write_text(f"# {long}two\n")
    studio.build()
    assert "two" in studio.read("a.html")
    assert studio.files() == studio.clean_build()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("", ""),
        ("abcdefghij", "abcdefghij"),
        ("abc def ghijk", "abc def …"),
        ("abcdefghijklm", "abcdefgh …"),
        (" bcdefghijklm", " bcdefgh …"),
    ],
)
def test_text_is_cut_between_words(text: str, short: str) -> None:
    assert shortened(text, 10) == short
    assert len(short) <= 10

"""Pages that a build does not compose: what they show has not changed."""

import contextlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.site.sites import Studio
from wikisync.core.model import Digest
from wikisync.site import output
from wikisync.site.build import build_site
from wikisync.site.cache import CACHE_NAME, LastBuild, part_of
from wikisync.site.pages import BACKLINKS_MAX, PageJob, WikiPages
from wikisync.site.sources import ScannedWiki
from wikisync.site.writing import SiteWriting

PLAN = """\
# Plan

Words.
"""
OTHER = """\
# Other

![beside](g.png)
"""
ONE = f"""\
-- home.md --
# Home

[plan](plan)
-- plan.md --
{PLAN}-- other.md --
{OTHER}"""
TWO_HOME = """\
# Start

[other](https://gitlab.example.com/docs/one/-/wikis/other)
"""
TWO = f"""\
-- home.md --
{TWO_HOME}-- far.md --
# Far
"""


@pytest.fixture
def pair(studio: Studio) -> Studio:
    """Two wikis, the second with a link to the first, built once."""
    studio.add(ONE, "docs/one")
    studio.add(TWO, "docs/two")
    studio.show_all()
    studio.build()
    return studio


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Output paths of the pages that builds compose from now on."""
    paths = []
    compose = WikiPages.jobs

    def seen(pages: WikiPages, *given: Any) -> Iterator[PageJob]:
        for page in compose(pages, *given):
            paths.append(page.path)
            yield page

    monkeypatch.setattr(WikiPages, "jobs", seen)
    return paths


def edit(studio: Studio, name: str, text: str) -> None:
    (studio.root / "wikis" / name).write_text(text, encoding="utf-8")


def remove(studio: Studio, name: str) -> None:
    (studio.root / "wikis" / name).unlink()


EDITS: Mapping[str, tuple[Callable[[Studio], None], set[str]]] = {
    "other words": (
        lambda studio: edit(studio, "docs/one/plan.md", "# Plan\n\nMore.\n"),
        {"docs/one/-/wikis/plan.html"},
    ),
    "a link more": (
        lambda studio: edit(studio, "docs/one/plan.md", "# Plan\n\n[o](other)\n"),
        {"docs/one/-/wikis/plan.html", "docs/one/-/wikis/other.html"},
    ),
    "a link less": (
        lambda studio: edit(studio, "docs/one/home.md", "# Home\n"),
        {"docs/one/-/wikis/index.html", "docs/one/-/wikis/plan.html"},
    ),
    "a link to another wiki less": (
        lambda studio: edit(studio, "docs/two/home.md", "# Start\n"),
        {"docs/two/-/wikis/index.html", "docs/one/-/wikis/other.html"},
    ),
    "another title of a page that links": (
        lambda studio: edit(
            studio, "docs/two/home.md", TWO_HOME.replace("Start", "Begin")
        ),
        {
            "docs/two/-/wikis/index.html",
            "docs/two/-/wikis/far.html",
            "docs/one/-/wikis/other.html",
        },
    ),
    "a file beside it": (
        lambda studio: edit(studio, "docs/one/g.png", "no picture"),
        {"docs/one/-/wikis/other.html"},
    ),
    "a page that links gone": (
        lambda studio: remove(studio, "docs/two/home.md"),
        {"docs/two/-/wikis/far.html", "docs/one/-/wikis/other.html"},
    ),
}


@pytest.mark.parametrize(("change", "paths"), EDITS.values(), ids=EDITS)
def test_pages_are_composed_that_show_what_changed(
    pair: Studio, composed: list[str], change: Callable[[Studio], None], paths: set[str]
) -> None:
    change(pair)
    pair.build()
    assert set(composed) == paths
    assert pair.files() == pair.clean_build()


def test_wiki_that_is_as_it_was_is_not_loaded(
    pair: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: set[str] = set()
    stored = LastBuild._stored

    def seen(last: LastBuild, wiki: str, *others: Any) -> dict[int, bytes]:
        loaded.add(wiki)
        return stored(last, wiki, *others)

    monkeypatch.setattr(LastBuild, "_stored", seen)
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    pair.build()
    assert loaded == {"docs/one"}
    assert pair.files() == pair.clean_build()


@pytest.mark.parametrize(
    "change",
    [
        lambda studio: edit(studio, "docs/one/new.md", "# New\n\n[p](plan)\n"),
        lambda studio: remove(studio, "docs/one/other.md"),
        lambda studio: edit(studio, "docs/one/plan.rst", "Plan\n====\n"),
    ],
    ids=["comes", "goes", "twin"],
)
def test_wiki_whose_pages_name_no_other_one_is_not_loaded_for_a_page_that(
    pair: Studio, change: Callable[[Studio], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.add(
        "-- home.md --\n# Three\n\n[no](https://other.example.com/x)\n", "docs/three"
    )
    pair.show_all()
    pair.build()
    loaded: set[str] = set()
    stored = LastBuild._stored

    def seen(last: LastBuild, wiki: str, *others: Any) -> dict[int, bytes]:
        loaded.add(wiki)
        return stored(last, wiki, *others)

    monkeypatch.setattr(LastBuild, "_stored", seen)
    change(pair)
    pair.build()
    assert {"docs/one"} <= loaded <= {"docs/one", "docs/two"}
    assert pair.files() == pair.clean_build()


def test_link_to_a_page_of_another_wiki_that_comes_or_goes_is_resolved_anew(
    pair: Studio,
) -> None:
    """Also one that led to the service, and one that came by an edit."""
    address = "https://gitlab.example.com/docs/one/-/wikis/new"
    pair.add(f"-- home.md --\n[n]({address})\n-- plain.md --\nx\n", "docs/three")
    pair.show_all()
    pair.build()
    edit(pair, "docs/three/plain.md", f"[n]({address})\n")
    pair.build()
    edit(pair, "docs/one/new.md", "# New\n")
    pair.build()
    for page in ("index", "plain"):
        assert address not in pair.read(f"docs/three/-/wikis/{page}.html")
    assert pair.files() == pair.clean_build()
    edit(pair, "docs/three/home.md", "no more\n")
    pair.build()
    remove(pair, "docs/one/new.md")
    pair.build()
    assert address in pair.read("docs/three/-/wikis/plain.html")
    assert pair.files() == pair.clean_build()


def test_page_that_was_edited_in_the_site_is_composed(
    pair: Studio, composed: list[str]
) -> None:
    """Also where its size is the same."""
    page = pair.site / "docs/one/-/wikis/plan.html"
    page.write_text(page.read_text().replace("Words", "Wards"))
    pair.build()
    assert composed == ["docs/one/-/wikis/plan.html"]
    assert pair.files() == pair.clean_build()


def test_page_that_an_edit_loads_by_chance_shows_what_links_to_it(
    studio: Studio,
) -> None:
    """A row has more pages than the edited one; what links to them is not loaded."""
    names = [f"page{number}" for number in range(999)]
    beside = next(one for one in names if part_of(one) == part_of("edited"))
    texts = f"-- edited.md --\nText.\n-- {beside}.md --\nText.\n"
    folder = studio.start(f"{texts}-- home.md --\n[it]({beside})\n")
    (folder / "edited.md").write_text("Another text.\n")
    (studio.site / f"{beside}.html").unlink()
    studio.build()
    assert studio.files() == studio.clean_build()


def test_page_that_was_edited_is_not_loaded_for_the_next_edit(
    pair: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    pair.build()
    named: list[set[str]] = []
    pages = LastBuild.pages

    def seen(last: LastBuild, wiki: str, naming: Collection[str] = ()) -> Any:
        named.append(set(naming))
        return pages(last, wiki, naming)

    monkeypatch.setattr(LastBuild, "pages", seen)
    edit(pair, "docs/one/home.md", "# Home\n\n[plan](plan) and more\n")
    pair.build()
    assert named == [{"home"}]


def test_note_of_a_build_that_did_not_end_is_not_believed(
    pair: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    with monkeypatch.context() as patch:
        patch.setattr(SiteWriting, "remember", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            pair.build()
    edit(pair, "docs/one/plan.md", PLAN)
    pair.build()
    assert pair.files() == pair.clean_build()


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_note_of_an_older_build_is_not_believed(
    pair: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    edit(pair, "docs/one/other.md", "# Other\n\nGone in a moment.\n")
    read = ScannedWiki.read

    def gone(wiki: ScannedWiki, path: str, digest: Digest) -> bytes | None:
        if path == "other.md":
            (wiki.source.folder / path).unlink()
        return read(wiki, path, digest)

    with monkeypatch.context() as patch:
        patch.setattr(ScannedWiki, "read", gone)
        pair.build()
    edit(pair, "docs/one/plan.md", PLAN)
    edit(pair, "docs/one/other.md", OTHER)
    pair.build()
    assert pair.files() == pair.clean_build()


def test_rows_that_another_build_swept_are_made_again(
    pair: Studio, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("wikisync.site.cache.SPARE_ROWS", -1000)
    build_site(
        pair.sources[1:], pair.root / "second", pair.options, cache=pair.root / "cache"
    )
    edit(pair, "docs/one/plan.md", "# Another title\n")
    pair.build()
    assert "begun anew" not in caplog.text
    assert pair.files() == pair.clean_build()


def test_files_of_a_wiki_that_is_as_it_was_are_looked_at_in_one_piece(
    pair: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand wikis have a hundred thousand files."""
    asked: list[str] = []
    keep_all = output.Output.keep_all

    def seen(place: output.Output, keys: Mapping[str, bytes | None]) -> list[str]:
        asked.extend(keys)
        return keep_all(place, keys)

    monkeypatch.setattr(output.Output, "keep_all", seen)
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    report = pair.build()
    assert [path for path in asked if path.startswith("docs/one/")]
    assert [path for path in asked if path.startswith("docs/two/")] == []
    assert report.written + report.unchanged == len(pair.files())
    assert pair.files() == pair.clean_build()


DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "edited": lambda path: path.write_text("by hand", encoding="utf-8"),
    "removed": Path.unlink,
    "older": lambda path: os.utime(path, (1, 1)),
}


@pytest.mark.parametrize("file", ["docs/two/-/wikis/far.html", "-/all/docs/two.html"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_file_of_a_wiki_that_is_as_it_was_is_mended(
    pair: Studio, damage: Callable[[Path], object], file: str
) -> None:
    damage(pair.site / file)
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    pair.build()
    assert pair.files() == pair.clean_build()
    edit(pair, "docs/one/plan.md", PLAN)
    pair.build()
    assert pair.files() == pair.clean_build()


def test_wiki_that_is_as_it_was_keeps_old_names_and_a_list_as_start_page(
    pair: Studio, composed: list[str]
) -> None:
    three = "-- a.md --\nx\n-- .gitlab/redirects.yml --\nold: a\n"
    pair.add(three, "docs/three")
    pair.show_all()
    pair.build()
    composed.clear()
    for text in ("# Plan\n\nMore.\n", PLAN):
        edit(pair, "docs/one/plan.md", text)
        report = pair.build()
        assert report.written + report.unchanged == len(pair.files())
    assert {*composed} == {"docs/one/-/wikis/plan.html"}
    assert "docs/three/-/wikis/old.html" in pair.files()
    assert pair.files() == pair.clean_build()


def test_what_is_wrong_with_a_file_is_said_by_each_build(
    pair: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.writing.DRAWING_BYTES_MAX", 10)
    (pair.root / "wikis/docs/two/uploads").mkdir()
    edit(pair, "docs/two/uploads/d.svg", f"<svg>{' ' * 10}</svg>")
    edit(pair, "docs/two/new.md", "x")
    foreign = pair.site / "docs/two/-/wikis/new.html"
    foreign.write_text("theirs", encoding="utf-8")
    for text in ("# Plan\n\nMore.\n", PLAN):
        codes = {one.code for one in pair.build().problems}
        assert {"output-foreign", "drawing-large"} <= codes
        edit(pair, "docs/one/plan.md", text)
    foreign.unlink()
    pair.build()
    assert pair.files() == pair.clean_build()


def test_lines_of_a_manifest_that_the_disk_changed_are_written_anew(
    pair: Studio,
) -> None:
    database = sqlite3.connect(pair.root / "cache" / CACHE_NAME)
    with contextlib.closing(database), database:
        database.execute("UPDATE file SET lines = x'00' WHERE part LIKE 'docs/two%'")
    edit(pair, "docs/one/plan.md", "# Plan\n\nMore.\n")
    pair.build()
    assert pair.files() == pair.clean_build()


@pytest.mark.parametrize(
    "damage", ["UPDATE page SET value = x'00'", "DELETE FROM page"]
)
def test_pages_follow_a_link_that_goes_with_the_note_of_its_page(
    pair: Studio, damage: str
) -> None:
    database = sqlite3.connect(pair.root / "cache" / CACHE_NAME)
    with contextlib.closing(database), database:
        where = f"wiki = 'docs/two' AND part = {part_of('home')}"
        database.execute(f"{damage} WHERE {where}")
    edit(pair, "docs/two/home.md", "# Start\n")
    pair.build()
    assert pair.files() == pair.clean_build()


def test_cache_that_moved_with_its_site_is_used_in_full(
    pair: Studio, composed: list[str], tmp_path: Path
) -> None:
    files = pair.files()
    moved = Studio(tmp_path / "else" / "where")
    shutil.copytree(pair.root / "wikis", moved.root / "wikis")
    for name in ("cache", "site", "theme"):
        shutil.move(pair.root / name, moved.root / name)
    moved.options = replace(pair.options, templates=moved.root / "theme")
    for source in pair.sources:
        folder = moved.root / source.folder.relative_to(pair.root)
        moved.sources.append(replace(source, folder=folder))
    assert moved.build().written == 0
    assert composed == []
    edit(moved, "docs/one/plan.md", "# Plan\n\nMore.\n")
    moved.build()
    assert composed == ["docs/one/-/wikis/plan.html"]
    edit(moved, "docs/one/plan.md", PLAN)
    moved.build()
    assert moved.files() == files


def test_files_restored_without_nanoseconds_are_known_by_what_they_hold(
    pair: Studio, composed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once; from then on by size and time again."""
    files = pair.files()
    for path in pair.root.glob("[sw]*/**/*"):
        seconds = int(path.stat().st_mtime) - 100
        os.utime(path, (seconds, seconds))
    assert pair.build().written == 0
    assert composed == []
    assert pair.files() == files

    def read(*_: object) -> None:
        raise AssertionError("nothing has to be read")

    monkeypatch.setattr(output, "_file_digest", read)
    assert pair.build().written == 0


TITLED = "---\ntitle: {}\n---\nx\n"
MANY = range(BACKLINKS_MAX + 1)
SHOWN: Mapping[str, tuple[str, str, str, str]] = {
    "the page after it, in another folder": (
        "-- a/z.md --\nx\n-- b/y.md --\nx\n",
        "b/y.md",
        TITLED.format("Other"),
        "a/z.html",
    ),
    "the page before it, in another folder": (
        "-- a/z.md --\nx\n-- b.md --\nx\n",
        "a/z.md",
        TITLED.format("Other"),
        "b.html",
    ),
    "a page below it that its tree leaves out": (
        "-- a.md --\nx\n" + "".join(f"-- a/{n}.md --\nx\n" for n in range(10, 30)),
        "a/20.md",
        TITLED.format("20 and more"),
        "a.html",
    ),
    "a page that links to it": (
        "-- a/z.md --\nx\n-- b/y.md --\n[z](/a/z)\n-- c.md --\nx\n",
        "b/y.md",
        "---\ntitle: Other\n---\n[z](/a/z)\n",
        "a/z.html",
    ),
    "one more page that links to it than it names": (
        "-- a.md --\nx\n-- z.md --\nx\n"
        + "".join(f"-- l{n:03}.md --\n[a](a)\n" for n in MANY),
        "z.md",
        "[a](a)\n",
        "a.html",
    ),
}


@pytest.mark.parametrize(("archive", "name", "text", "path"), SHOWN.values(), ids=SHOWN)
def test_page_follows_what_it_shows_of_others(
    studio: Studio, archive: str, name: str, text: str, path: str
) -> None:
    """Each of them is nowhere else in what makes the page's key."""
    studio.show_all()
    studio.set(nav_links_max=8)
    folder = studio.start(archive)
    before = studio.read(path)
    (folder / name).write_text(text)
    studio.build()
    assert studio.read(path) != before
    assert studio.files() == studio.clean_build()


def test_page_follows_the_format_of_its_file(studio: Studio) -> None:
    studio.show_all()
    # without text it is the same page in every format, but for what templates show
    folder = studio.start("-- home.md --\nx\n-- a.md --\n")
    (folder / "a.md").rename(folder / "a.asciidoc")
    studio.build()
    assert "asciidoc" in studio.read("a.html")
    assert studio.files() == studio.clean_build()

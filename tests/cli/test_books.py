"""``build`` and ``export`` write all pages into one file."""

import json
from pathlib import Path

import pytest

from tests.cli.exports import NAMED, put_handbook
from tests.support.commands import Run
from tests.support.service import EmbeddedService


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    (folder / "guide").mkdir(parents=True)
    (folder / "home.md").write_text("# Welcome\n")
    (folder / "guide/start.md").write_text("# Start\n")
    return folder


async def test_a_folder_becomes_files_and_no_site(
    run_alone: Run, pages: Path, tmp_path: Path
) -> None:
    book, single = tmp_path / "book.epub", tmp_path / "book.html"
    ran = await run_alone("build", pages, "--epub", book, "--single", single)
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("2 pages: 2 files written")
    assert ran.out.splitlines()[1:] == [str(single), str(book)]
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == [
        "book.epub",
        "book.html",
    ]


async def test_a_site_and_a_file_are_made_at_once(
    run_alone: Run, pages: Path, tmp_path: Path
) -> None:
    site, single = tmp_path / "site", tmp_path / "start.html"
    words = ("build", pages, "-o", site, "--single", single, "--only", "guide")
    ran = await run_alone(*words, "--json")
    told = json.loads(ran.out)
    assert (told["index"], told["books"]) == (str(site / "index.html"), [str(single)])
    assert (site / "index.html").exists()
    assert "Welcome" not in single.read_text()


async def test_an_export_becomes_a_file_without_a_site(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await put_handbook(service)
    single = tmp_path / "handbook.html"
    ran = await run("export", service.url, *NAMED, "--single", single)
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == str(single)
    assert "some words" in single.read_text()


@pytest.mark.parametrize("words", [["--only", "guide"], ["--pdf-engine", "chromium"]])
async def test_options_of_files_need_a_file(
    run_alone: Run, pages: Path, words: list[str]
) -> None:
    ran = await run_alone("build", pages, *words)
    assert ran.code == 2
    assert "is for --single, --pdf and --epub" in ran.err


async def test_an_export_needs_a_folder_or_a_file(run_alone: Run) -> None:
    ran = await run_alone("export", "https://gitlab.example.com", *NAMED)
    assert ran.code == 2
    assert "name a folder with -o" in ran.err


async def test_a_file_in_no_folder_is_refused(run_alone: Run, tmp_path: Path) -> None:
    file = tmp_path / "none/book.epub"
    ran = await run_alone("export", "http://127.0.0.1:9", *NAMED, "--epub", file)
    assert ran.code == 2
    assert f"there is no folder {file.parent}" in ran.err


async def test_a_file_inside_the_wiki_is_refused(run_alone: Run, pages: Path) -> None:
    ran = await run_alone("build", pages, "--single", pages / "all.html")
    assert ran.code == 1
    assert "is inside the folder of the wiki" in ran.err

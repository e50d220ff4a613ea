"""What may stand in the way of ``wikisync export``: service, output, disk, Ctrl-C."""

import asyncio
import signal
import sqlite3
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api.wire import http, listening_wire
from tests.cli.exports import HANDBOOK, NAMED, PICTURE, Export, digest_of_tree
from tests.support.bending import BendingProxy
from tests.support.commands import Run
from tests.support.quirks import Quirk
from wikisync.site import mirror

NOBODY = ("export", "http://127.0.0.1:1", *NAMED)

# -- the service -------------------------------------------------------------------


async def test_wrong_url_is_told_as_one(run_alone: Run, site: Path) -> None:
    async with listening_wire() as wire:
        wire.repeats = True
        wire.will(http(200, b"<html>Welcome to nginx</html>", "text/html"))
        ran = await run_alone("export", wire.url, *NAMED, "-o", site)
    ran.ended(1, "this is not a GitLab-compatible API")
    assert wire.url in ran.err
    assert not site.exists()


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.com", "http://"])
async def test_url_that_cannot_be_one_is_a_usage_error(
    run_alone: Run, site: Path, url: str
) -> None:
    (await run_alone("export", url, *NAMED, "-o", site)).ended(2, "hint:")


async def test_wrong_token_is_told_and_never_repeated(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_TOKEN", "glpat-WRONG")
    ran = await export()
    ran.ended(1, "does not know this token")
    assert "glpat-WRONG" not in ran.err


async def test_group_wiki_of_a_free_edition_is_left_out(export: Export) -> None:
    await export.service.add_group("docs", {"home": "x"})
    running = export.service.running
    free = replace(running.settings.profile, is_enterprise=False)
    running.settings = replace(running.settings, profile=free)
    ran = await export("--json", of=("--group", "docs", "--all"))
    assert ran.code == 0
    assert [note["subject"] for note in ran.json["skipped"]] == ["group docs"]
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs/handbook"]


async def test_empty_wiki_is_a_site_where_it_is_named(export: Export) -> None:
    await export.service.add_project("empty/wiki")
    nothing = await export(of=("--group", "empty", "--all"))
    nothing.ended(2, "there is no wiki with pages to export")
    assert not export.site.exists()
    ran = await export(of=("--project", "empty/wiki"))
    assert ran.code == 0
    assert ran.out.startswith("0 pages of 1 wiki: ")
    assert (export.site / "index.html").exists()


async def test_wiki_that_is_suddenly_empty_stays_published(export: Export) -> None:
    await export()
    await export.service.remove_file(HANDBOOK, "home.md")
    await export.service.remove_file(HANDBOOK, "dir/page.md")
    before = export.files
    (await export()).ended(4, "--allow-emptying")
    assert export.files == before


# -- output and cache --------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "told"),
    [("-o", "output {} is not empty"), ("--cache", "the cache {} holds files")],
)
async def test_folder_with_files_of_others_is_refused_and_not_touched(
    export: Export, tmp_path: Path, option: str, told: str
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    (await export(option, folder)).ended(1, told.format(folder))
    assert digest_of_tree(folder) == {"thesis.txt": b"years of work"}


@pytest.mark.parametrize(
    ("option", "place", "told"),
    [
        ("-o", "/proc/site", "/proc/site"),
        ("-o", "/dev/null/site", "/dev/null/site"),
        ("-o", "/dev/null", "/dev/null"),
        ("-o", "x" * 300, "File name too long"),
        ("--cache", "/proc/c", "/proc/c"),
    ],
)
async def test_place_that_cannot_be_written_is_named(
    export: Export, option: str, place: str, told: str
) -> None:
    (await export(option, place)).ended(1, told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-o", __file__), "is not a folder"),
        (("--templates", "nowhere"), "there is no folder nowhere"),
        (("--theme", "nowhere"), "no theme 'nowhere'"),
        (("--theme-option", "acent=red"), "theme default has no option 'acent'"),
    ],
)
async def test_what_is_wrong_is_told_before_anything_is_read(
    run_alone: Run, site: Path, words: tuple[str, ...], told: str
) -> None:
    """Ten minutes of reading must not end in a folder that cannot be used."""
    ran = await run_alone(*NOBODY, "-o", site, *words)
    assert told in ran.err
    assert "127.0.0.1" not in ran.err
    assert not site.exists()


async def test_full_disk_is_told_and_the_next_export_finishes(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {f"p{n}": f"page {n}" * 999 for n in range(20)}
    await export.service.add_pages(HANDBOOK, pages)
    connected = mirror._connected

    def small(path: Path) -> sqlite3.Connection:
        connection = connected(path)
        connection.execute("PRAGMA max_page_count = 16")
        return connection

    with monkeypatch.context() as full:
        full.setattr(mirror, "_connected", small)
        ran = await export()
    ran.ended(1, "disk is full", "free some space")
    again = await export()
    assert again.code == 0
    assert again.out.startswith("22 pages")


@pytest.mark.parametrize(("output", "cache"), [("s", "s/c"), ("c/s", "c"), ("x", "x")])
async def test_output_and_cache_that_overlap_are_refused(
    run_alone: Run, tmp_path: Path, output: str, cache: str
) -> None:
    site, own = tmp_path / output, tmp_path / cache
    ran = await run_alone(*NOBODY, "-o", site, "--cache", own)
    ran.ended(2, f"{site} and wikisync's own folder {own} overlap")
    assert not site.exists()


# -- interrupts --------------------------------------------------------------------


async def test_interrupted_export_is_finished_by_the_next_one(
    export: Export, proxy: BendingProxy
) -> None:
    """Ctrl-C while the picture is on its way: pages are there, the site is not."""
    export.service.quirks = {Quirk.NO_GIT}
    picture = proxy.bend("uploads", hangs=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", "export", proxy.url, *NAMED),
        *("-o", str(export.site)),
        stderr=asyncio.subprocess.PIPE,
    )
    await asyncio.wait_for(picture.has_met.wait(), 60)
    process.send_signal(signal.SIGINT)
    _, told = await process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in told
    assert b"run the same command again" in told
    assert not (export.site / "index.html").exists()
    proxy.straighten()
    assert (await export(url=proxy.url)).code == 0
    assert (export.site / PICTURE).read_bytes() == b"\x89PNG picture"

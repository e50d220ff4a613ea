"""What may stand in the way of ``wikisync export``: service, output, disk, Ctrl-C."""

import asyncio
import signal
import sqlite3
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api.wire import http, listening_wire
from tests.cli.exports import HANDBOOK, NAMED, PICTURE, digest_of_tree, put_handbook
from tests.support.bending import BendingProxy
from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.site import mirror


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    return await put_handbook(service)


# -- the service -------------------------------------------------------------------


async def test_wrong_url_is_told_as_one(run_alone: Run, site: Path) -> None:
    async with listening_wire() as wire:
        wire.repeats = True
        wire.will(http(200, b"<html>Welcome to nginx</html>", "text/html"))
        ran = await run_alone("export", wire.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "this is not a GitLab-compatible API" in ran.err
    assert wire.url in ran.err
    assert not site.exists()


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.com", "http://"])
async def test_url_that_cannot_be_one_is_a_usage_error(
    run_alone: Run, site: Path, url: str
) -> None:
    ran = await run_alone("export", url, *NAMED, "-o", site)
    assert ran.code == 2
    assert "hint:" in ran.err


async def test_wrong_token_is_told_and_never_repeated(
    handbook: EmbeddedService, run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_TOKEN", "glpat-WRONG")
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "does not know this token" in ran.err
    assert "glpat-WRONG" not in ran.err


async def test_found_group_wiki_that_this_edition_lacks_is_left_out(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_group("docs", {"home": "x"})
    settings = handbook.running.settings
    free = replace(settings.profile, is_enterprise=False)
    handbook.running.settings = replace(settings, profile=free)
    ran = await run(
        "export", handbook.url, "--group", "docs", "--all", "-o", site, "--json"
    )
    assert ran.code == 0
    assert [note["subject"] for note in ran.json["skipped"]] == ["group docs"]
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs/handbook"]


async def test_empty_wiki_is_a_site_with_nothing_in_it(
    service: EmbeddedService, run: Run, site: Path
) -> None:
    await service.add_project("docs/empty")
    ran = await run("export", service.url, "--project", "docs/empty", "-o", site)
    assert ran.code == 0
    assert ran.out.startswith("0 pages of 1 wiki: ")
    assert (site / "index.html").exists()


async def test_nothing_to_export_is_told(
    service: EmbeddedService, run: Run, site: Path
) -> None:
    await service.add_project("docs/empty")
    ran = await run("export", service.url, "--all", "-o", site)
    assert ran.code == 2
    assert "there is no wiki with pages to export" in ran.err
    assert not site.exists()


async def test_wiki_that_is_suddenly_empty_leaves_the_site_as_it_was(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await run("export", handbook.url, *NAMED, "-o", site)
    await handbook.remove_file(HANDBOOK, "home.md")
    await handbook.remove_file(HANDBOOK, "dir/page.md")
    before = digest_of_tree(site)
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 4
    assert "--allow-emptying" in ran.err
    assert digest_of_tree(site) == before


# -- output and cache --------------------------------------------------------------


async def test_folder_with_files_of_others_is_refused_and_not_touched(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    site.mkdir()
    (site / "thesis.txt").write_text("years of work")
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert f"output {site} is not empty" in ran.err
    assert digest_of_tree(site) == {"thesis.txt": b"years of work"}


@pytest.mark.parametrize("output", ["/proc/site", "/dev/null/site", "/dev/null"])
async def test_output_that_cannot_be_written_is_named(
    handbook: EmbeddedService, run: Run, output: str
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", output)
    assert ran.code == 1
    assert output in ran.err


async def test_output_is_checked_before_anything_is_read(
    run_alone: Run, tmp_path: Path
) -> None:
    """Ten minutes of reading must not end in a folder that cannot be used."""
    (tmp_path / "file").write_text("")
    ran = await run_alone(
        "export", "http://127.0.0.1:1", *NAMED, "-o", tmp_path / "file"
    )
    assert "is not a folder" in ran.err


async def test_cache_with_files_of_others_is_refused_and_not_touched(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "notes"
    cache.mkdir()
    (cache / "diary.txt").write_text("mine")
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--cache", cache)
    assert ran.code == 1
    assert f"the cache {cache} holds files" in ran.err
    assert digest_of_tree(cache) == {"diary.txt": b"mine"}


async def test_cache_that_cannot_be_written_is_named(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--cache", "/proc/c")
    assert ran.code == 1
    assert "/proc/c" in ran.err


async def test_full_disk_is_told_and_the_next_export_finishes(
    handbook: EmbeddedService, run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await handbook.add_pages(HANDBOOK, {f"p{n}": f"page {n}" * 999 for n in range(20)})
    connected = mirror._connected

    def small(path: Path) -> sqlite3.Connection:
        connection = connected(path)
        connection.execute("PRAGMA max_page_count = 16")
        return connection

    with monkeypatch.context() as full:
        full.setattr(mirror, "_connected", small)
        ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "disk is full" in ran.err
    assert "free some space" in ran.err
    again = await run("export", handbook.url, *NAMED, "-o", site)
    assert again.code == 0
    assert again.out.startswith("22 pages")


@pytest.mark.parametrize(("output", "cache"), [("s", "s/c"), ("c/s", "c"), ("x", "x")])
async def test_output_and_cache_that_overlap_are_refused(
    handbook: EmbeddedService, run: Run, tmp_path: Path, output: str, cache: str
) -> None:
    output_folder, cache_folder = tmp_path / output, tmp_path / cache
    ran = await run(
        "export", handbook.url, *NAMED, "-o", output_folder, "--cache", cache_folder
    )
    assert ran.code == 2
    assert (
        f"{output_folder} and wikisync's own folder {cache_folder} overlap" in ran.err
    )
    assert not output_folder.exists()


async def test_output_with_a_name_that_is_too_long_is_an_error(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", tmp_path / ("x" * 300))
    assert ran.code == 1
    assert "File name too long" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--templates", "nowhere"), "there is no folder nowhere"),
        (("--theme", "nowhere"), "no theme 'nowhere'"),
        (("--theme-option", "acent=red"), "theme default has no option 'acent'"),
    ],
)
async def test_theme_is_checked_before_anything_is_read(
    run_alone: Run, site: Path, words: tuple[str, ...], message: str
) -> None:
    ran = await run_alone("export", "http://127.0.0.1:1", *NAMED, "-o", site, *words)
    assert message in ran.err
    assert "127.0.0.1" not in ran.err
    assert not site.exists()


# -- interrupts --------------------------------------------------------------------


async def test_interrupted_export_is_finished_by_the_next_one(
    handbook: EmbeddedService, run: Run, proxy: BendingProxy, site: Path
) -> None:
    """Ctrl-C while the picture is on its way: pages are there, the site is not."""
    handbook.quirks = {Quirk.NO_GIT}
    picture = proxy.bend("uploads", hangs=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", "export", proxy.url, *NAMED),
        *("-o", str(site)),
        stderr=asyncio.subprocess.PIPE,
    )
    await asyncio.wait_for(picture.has_met.wait(), 60)
    process.send_signal(signal.SIGINT)
    _, told = await process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in told
    assert b"run the same command again" in told
    assert not (site / "index.html").exists()
    proxy.straighten()
    ran = await run("export", proxy.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert (site / PICTURE).read_bytes() == b"\x89PNG picture"

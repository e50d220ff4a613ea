"""What wikisync keeps is for this user alone, whatever the umask says."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.cli.test_serve import serving, url_line
from tests.support.commands import Run
from tests.support.git import needs_git
from tests.support.service import EmbeddedService
from tests.support.watching import watching
from tests.support.workspaces import HANDBOOK, Cloned
from wikisync.cli.demo import serve_and_pull
from wikisync.core.messages import Progress
from wikisync.site.mirror import open_mirror
from wikisync.workspace.folders import held_cache

PICTURE = "uploads/" + "ab" * 16 + "/p.png"
KEPT_AS_THEY_WERE = {"trash", "limbo"}
"""Folders of pages: a page keeps its mode, as it goes back to its place with it."""


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(top: Path) -> list[str]:
    """What of a folder of ours gives rights to others; nothing where it is missing."""
    found = [path for path in (top, *top.rglob("*")) if _is_ours(path, top)]
    assert len(found) > 1, "there is nothing to look at"
    return [
        f"{stat.filemode(path.lstat().st_mode)} {path.relative_to(top.parent)}"
        for path in found
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]


def _is_ours(path: Path, top: Path) -> bool:
    """Whether the file is made by us: not by git's library, and no person's page."""
    above = path.relative_to(top).parts[:-1]
    is_git = any(part.endswith(".git") for part in above)
    is_kept = path.is_file() and not KEPT_AS_THEY_WERE.isdisjoint(above)
    return not (is_git or is_kept)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_what_root_makes_in_the_state_of_somebody_is_theirs(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sudo`` once, and the next command of theirs has to read it."""
    private, somebody = cloned.root / ".wikisync", 4242
    for path in (cloned.root, *cloned.root.rglob("*")):
        os.chown(path, somebody, somebody)
    monkeypatch.setenv("SUDO_UID", str(somebody))
    await cloned.edit({"home": "theirs\n"})
    await cloned.remove("guide")
    async with watching(cloned.service, cloned.root) as watch:
        await watch.until(lambda: bool(watch.health))
    for _ in range(3):
        await cloned.run("sync")
        cloned.age_sightings(100_000)
    made = {path.name for path in private.iterdir()}
    assert made >= {"cache", "health.json", "limbo", "log", "scans", "trash"}
    assert not [path for path in private.rglob("*") if path.stat().st_uid == 0]


async def test_workspace(cloned: Cloned) -> None:
    private = cloned.root / ".wikisync"
    assert open_to_others(private) == []
    assert cloned.settings.stat().st_mode & 0o777 == 0o644
    # pages are a person's own
    assert (cloned.folder / "home.md").stat().st_mode & 0o777 == 0o666
    cloned.write("home.md", "mine\n\ntwo\n\nthree\n")
    cloned.write("new.md", f"new, with ![a picture]({PICTURE})\n")
    await cloned.edit({"home": "theirs\n\ntwo\n\nthree\n"})
    await cloned.service.put_file(HANDBOOK, PICTURE, b"\x89PNG")
    await cloned.remove("guide")
    for words in ("sync", "sync", "status", "diff", "doctor"):
        await cloned.run(words)
        cloned.age_sightings(100_000)
    await cloned.run("resolve", "home", "--tool", "true {base} {here} {wiki} {result}")
    await cloned.run("resolve", "home", "--mine")
    await cloned.run_main("check", cloned.root)
    await cloned.run_main("build", cloned.root, "--publish")
    kept = {"cache", "folder-id", "lock", "state.db", "trash"}
    assert {path.name for path in private.iterdir()} >= kept
    assert open_to_others(private) == []


@pytest.mark.slow
async def test_watch(service: EmbeddedService, tmp_path: Path) -> None:
    await service.add_project(HANDBOOK.full_path, {"home": "one\n"})
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "wikisync.toml").touch(0o644)
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        await watch.until(lambda: bool(watch.health and watch.log))
    assert open_to_others(tmp_path / "ws" / ".wikisync") == []


@needs_git
async def test_cache_of_an_export(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await service.add_project(HANDBOOK.full_path, {"home": f"![]({PICTURE})\n"})
    await service.put_file(HANDBOOK, PICTURE, b"\x89PNG")
    words = ("export", service.url, "--project", HANDBOOK.full_path, "-o")
    assert (await run(*words, tmp_path / "site")).code == 0
    assert open_to_others(tmp_path / "cache" / "wikisync") == []
    [cache] = (tmp_path / "cache" / "wikisync" / "export").iterdir()
    cache.chmod(0o755)
    assert (await run(*words, tmp_path / "site")).code == 0
    assert open_to_others(tmp_path / "cache" / "wikisync") == []


async def test_cache_of_a_plain_folder(run_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "home.md").write_text("# hello\n")
    ran = await run_alone("build", tmp_path / "notes", "-o", tmp_path / "site")
    assert ran.code == 0
    assert open_to_others(tmp_path / "cache" / "wikisync") == []


async def test_init(service: EmbeddedService, run: Run, tmp_path: Path) -> None:
    await service.add_project(HANDBOOK.full_path, {"home": "one\n"})
    root = tmp_path / "made" / "ws"
    words = ("--url", service.url, "--project", HANDBOOK.full_path, "--yes")
    ran = await run("init", root, *words)
    assert ran.code == 0, ran.err
    assert open_to_others(root / ".wikisync") == []
    assert (root / "wikisync.toml").stat().st_mode & 0o022 == 0
    assert root.stat().st_mode & 0o777 == 0o777


@needs_git
async def test_data_of_a_service(service: EmbeddedService) -> None:
    project = await service.add_project(HANDBOOK.full_path, {"home": "one\n"})
    await service.put_file(HANDBOOK, PICTURE, b"\x89PNG")
    place = f"{service.url}/api/v4/projects/{project}"
    async with aiohttp.ClientSession(headers=service.headers) as http:
        for path in ("uploads", "wikis/attachments"):
            form = aiohttp.FormData()
            form.add_field("file", b"\x89PNG\r\n\x1a\n", filename="a.png")
            async with http.post(f"{place}/{path}", data=form) as answer:
                assert answer.status == 201
        form = aiohttp.FormData()
        form.add_field("avatar", b"\x89PNG\r\n\x1a\n", filename="a.png")
        async with http.put(place, data=form) as answer:
            assert answer.status == 200
    assert open_to_others(service.running.data) == []


def test_data_that_was_open_is_tightened_with_a_word(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "records.db").touch()
    assert len(open_to_others(data)) == 2
    assert f"could read {data} until now" in warned_by_serve(data)
    assert open_to_others(data) == []
    assert "could read" not in warned_by_serve(data)


def warned_by_serve(data: Path) -> str:
    with serving("--data", data) as process:
        url_line(process)
        process.send_signal(signal.SIGTERM)
        return process.communicate()[1]


async def test_demo(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with held_cache(cache), open_mirror(cache) as mirror:
        await serve_and_pull(tmp_path / "data", mirror, Progress())
        assert open_to_others(cache) == []
    assert open_to_others(cache) == []
    assert open_to_others(tmp_path / "data") == []

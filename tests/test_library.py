"""The public Python API, as a program of somebody else uses it."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import cloned, run, service
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, PAGES, Cloned
from wikisync import library
from wikisync.errors import FolderError, UsageError
from wikisync.folder.workspace import locked
from wikisync.library import Workspace, export, sync

__all__ = ["cloned", "run", "service"]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "python.md"
LINES_MAX = 25


def script() -> str:
    """The example of the page."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition("<!-- script: ")
    return after.partition("```python\n")[2].partition("```\n")[0]


async def python(program: str, *words: str | Path, token: str, cache: Path) -> str:
    """What a program prints that knows the package alone."""
    environment = {**os.environ, "WIKISYNC_TOKEN": token, "XDG_CACHE_HOME": str(cache)}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "error", "-c", program, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


async def test_script_of_the_page_syncs_and_publishes(
    cloned: Cloned, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    service = cloned.service

    printed = await python(
        script(),
        cloned.root,
        service.url,
        HANDBOOK.full_path,
        site,
        token=service.token,
        cache=tmp_path / "cache",
    )

    assert "create  release on the wiki" in printed
    assert f"{site / 'index.html'}: 5 pages" in printed
    assert "release.md" in await cloned.wiki()
    assert len(script().splitlines()) <= LINES_MAX


@pytest.mark.parametrize(
    "names", ["Workspace, export, sync", "sync", "sync, Workspace", "export"]
)
def test_public_names_are_functions_in_whatever_order(names: str) -> None:
    """The package of the same name as ``sync`` is loaded with them."""
    program = (
        f"from wikisync import {names}\nimport wikisync\n"
        "assert wikisync.sync.__module__ == 'wikisync.library'\n"
        "from wikisync.sync.decide.plan import describe\n"
        "assert wikisync.sync.__module__ == 'wikisync.library'\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_everything_public_is_described() -> None:
    for public in (Workspace, Workspace.sync, export, sync):
        assert inspect.getdoc(public)
    described = inspect.getdoc(export) or ""
    parameters = inspect.signature(export).parameters
    assert [name for name in parameters if f"{name}: " not in described] == []


def test_no_other_name_is_public() -> None:
    import wikisync

    assert sorted(wikisync.__all__) == ["Workspace", "export", "sync"]
    with pytest.raises(AttributeError, match="no attribute 'clone'"):
        _ = wikisync.clone  # type: ignore[attr-defined]


async def test_workspace_says_what_it_is(cloned: Cloned) -> None:
    workspace = Workspace(cloned.root / "handbook")

    assert workspace.root == cloned.root
    assert workspace.wikis == ("handbook",)
    assert workspace.service_url == cloned.service.url


async def test_folder_without_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in no workspace"):
        Workspace(tmp_path)


async def test_dry_run_changes_nothing(cloned: Cloned) -> None:
    cloned.write("home.md", "edited\n")

    result = await asyncio.to_thread(
        sync, cloned.root, token=cloned.service.token, is_dry_run=True
    )

    assert result.wikis[0].actions == ("update  home on the wiki",)
    assert (await cloned.wiki())["home.md"] == PAGES["home"]


async def test_page_that_both_sides_changed_waits(cloned: Cloned) -> None:
    cloned.write("home.md", "edited here\n")
    await cloned.edit({"home": "edited there\n"})

    result = await asyncio.to_thread(sync, cloned.root, token=cloned.service.token)

    assert not result.is_in_sync
    (sentence,) = result.wikis[0].waiting
    assert sentence.startswith("handbook/home: ")


async def test_wiki_that_cannot_be_read_is_an_error_of_its_own(cloned: Cloned) -> None:
    result = await asyncio.to_thread(sync, cloned.root, token="glpat-EXAMPLE")

    assert result.wikis[0].error is not None
    assert "glpat-EXAMPLE" not in repr(result)


async def test_workspace_in_use_is_refused(cloned: Cloned) -> None:
    with (
        locked(cloned.root / ".wikisync", "the workspace"),
        pytest.raises(FolderError, match="another wikisync is running"),
    ):
        await asyncio.to_thread(sync, cloned.root, token=cloned.service.token)


async def test_export_says_what_is_in_the_site(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", {"home": "[gone](gone)\n"})

    made = await asyncio.to_thread(
        export,
        service.url,
        tmp_path / "site",
        projects=["docs/handbook"],
        token=service.token,
        cache=tmp_path / "cache",
    )

    assert made.index.is_file()
    assert (made.wikis, made.pages) == (("docs/handbook",), 1)
    assert made.broken_links == ("docs/handbook: home: gone",)


def test_directions_are_those_of_a_sync() -> None:
    assert set(library.DIRECTIONS) == {"both", "pull", "push"}

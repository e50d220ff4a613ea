"""The public Python API, as a program of somebody else uses it."""

import asyncio
import importlib
import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.commands import cloned, run, service
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, PAGES, Cloned
from tools import stubs
from wikisync.api import blocking
from wikisync.core.model import AttachmentPath
from wikisync.errors import NotFound, UsageError
from wikisync.library import Workspace, clone, export, sync, wikis

__all__ = ["cloned", "run", "service"]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "python.md"
LINES_MAX = 25
SCRIPT_LINES_MAX = 30


def script(mark: str = "script: ") -> str:
    """An example of the page."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition(f"<!-- {mark}")
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
    for public in (Workspace, Workspace.sync, clone, export, sync, wikis):
        assert inspect.getdoc(public)
    for function in (clone, export):
        described = inspect.getdoc(function) or ""
        parameters = inspect.signature(function).parameters
        assert [name for name in parameters if f"{name}: " not in described] == []


def test_no_other_name_is_public() -> None:
    import wikisync

    public = ["Workspace", "clone", "export", "sync", "wikis"]
    assert sorted(wikisync.__all__) == public
    with pytest.raises(AttributeError, match="no attribute 'library_of'"):
        _ = wikisync.library_of  # type: ignore[attr-defined]


def test_every_public_name_of_the_client_is_there() -> None:
    api = importlib.import_module("wikisync.api")

    assert all(getattr(api, name).__name__ == name for name in api.__all__)
    with pytest.raises(AttributeError):
        _ = api.Budget


@pytest.mark.parametrize("path", stubs.FILES, ids=lambda path: path.name)
def test_stub_is_what_the_signatures_and_the_table_give(path: Path) -> None:
    """Written anew by ``make stubs``."""
    assert path.read_text("utf-8") == stubs.FILES[path]()


async def test_client_without_a_loop_waits_for_its_answers(
    service: EmbeddedService,
) -> None:
    await service.add_project("docs/handbook", {"home": "hello\n"})
    await service.put_file(HANDBOOK, "uploads/a.bin", b"bytes")

    def work() -> None:
        with blocking.Client(service.url, service.token) as client:
            projects = blocking.Projects(client).list_projects(search="handbook")
            wiki = blocking.Wiki(client, HANDBOOK)
            page = wiki.get_page("home")
            wiki.edit_page("home", content=f"{page.content}more\n")

            assert [one.path_with_namespace for one in projects] == ["docs/handbook"]
            assert [one.path for one in client.group_projects("docs")] == ["handbook"]
            assert wiki.get_page("home").content == "hello\nmore\n"
            assert wiki.read_attachment(AttachmentPath("uploads/a.bin")) == b"bytes"
            assert wiki.web_url.endswith("/docs/handbook/-/wikis")
            with pytest.raises(NotFound):
                wiki.get_page("gone")
        assert "wikisync client" not in {one.name for one in threading.enumerate()}

    await asyncio.to_thread(work)


async def test_clone_makes_a_workspace_of_the_wikis_of_a_group(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", PAGES)
    await service.add_project("docs/manual", {"home": "m\n"})

    owners = await asyncio.to_thread(
        wikis, service.url, groups=["docs"], is_all=True, token=service.token
    )
    made = await asyncio.to_thread(
        clone,
        service.url,
        tmp_path / "wikis",
        groups=["docs"],
        is_all=True,
        token=service.token,
    )

    names = {"docs/handbook", "docs/manual"}
    assert names <= {owner.full_path for owner in owners}
    assert names <= {*made.wikis}
    assert made.pages == len(PAGES) + 1
    assert (made.workspace.root / "manual" / "home.md").read_text() == "m\n"


async def test_script_of_the_client_lists_downloads_edits_and_exports(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", PAGES)
    words = (service.url, "docs", tmp_path / "wikis", tmp_path / "site")

    for _ in range(2):
        printed = await python(
            script("client script: "),
            *words,
            token=service.token,
            cache=tmp_path / "cache",
        )

    assert "project docs/handbook" in printed
    assert f"{tmp_path / 'site' / 'index.html'}" in printed
    page = (await service.files(HANDBOOK))["release.md"].decode()
    assert page == "# Releases\n\n- one more\n- one more\n"
    assert "one more" in (tmp_path / "site" / "release.html").read_text()
    assert len(script("client script: ").splitlines()) <= SCRIPT_LINES_MAX


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

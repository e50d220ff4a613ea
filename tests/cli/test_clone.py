import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.config import load_config
from wikisync.core.messages import SilentProgress
from wikisync.core.model import WikiOwner
from wikisync.errors import FolderError
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import CycleResult
from wikisync.workspace.cloning import clone, folder_names
from wikisync.workspace.discovery import Selection

HANDBOOK = WikiOwner("project", "docs/handbook")
UPLOADS = "uploads/" + "0123456789abcdef" * 2


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project(
        "docs/handbook", {"home": f"![p]({UPLOADS}/p.png)", "dir/page": "text"}
    )
    await service.put_file(HANDBOOK, f"{UPLOADS}/p.png", b"\x89PNG picture")
    return service


def files(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


async def test_clone_makes_a_workspace_and_prints_what_it_did(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run("clone", handbook.url, "--project", "docs/handbook", workspace)
    assert ran.code == 0
    assert ran.out == (
        "project docs/handbook: 2 pages, 2 written, 1 attachment fetched,"
        f" in {workspace / 'handbook'}\n"
    )
    assert files(workspace / "handbook") == {
        "home.md": f"![p]({UPLOADS}/p.png)".encode(),
        "dir/page.md": b"text",
        f"{UPLOADS}/p.png": b"\x89PNG picture",
    }
    config = load_config(workspace / "wikisync.toml")
    assert config.service.url == handbook.url
    assert [wiki.owner for wiki in config.wikis] == [HANDBOOK]
    secret = handbook.token.encode()
    assert not [name for name, text in files(workspace).items() if secret in text]
    assert len((workspace / ".wikisync/folder-id").read_text().strip()) == 32
    assert {path.name for path in (workspace / ".wikisync").iterdir()} == {
        "cache",
        "folder-id",
        "lock",
        "scans",
        "state.db",
    }


async def test_address_of_a_group_names_its_wikis(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    group = f"{handbook.url}/groups/docs/-/wikis/home#part"
    ran = await run("clone", group, "--all", workspace)
    assert ran.code == 0, ran.err
    config = load_config(workspace / "wikisync.toml")
    assert config.service.url == handbook.url
    assert [wiki.owner.full_path for wiki in config.wikis] == ["docs", "docs/handbook"]


async def test_clone_prints_json_for_programs(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run(
        "clone", handbook.url, "--project", "docs/handbook", workspace, "--json"
    )
    assert ran.json["workspace"] == str(workspace)
    (wiki,) = ran.json["wikis"]
    assert (wiki["path"], wiki["pages"], wiki["written"]) == ("docs/handbook", 2, 2)


async def test_clone_of_a_group_with_all_wikis_gives_each_a_folder(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    await handbook.add_project("docs/sub/handbook", {"home": "another"})
    await handbook.add_project("docs/empty")
    ran = await run("clone", handbook.url, "--group", "docs", "--all", workspace)
    assert ran.code == 0
    assert {path.name for path in workspace.iterdir() if path.is_dir()} == {
        ".wikisync",
        "docs",
        "docs-handbook",
        "docs-sub-handbook",
        "empty",
        "sub",
    }
    # not "left out": the workspace names it, and a sync downloads its first page
    assert "project docs/empty" not in ran.err
    assert "project docs/empty: 0 pages" in ran.out


async def test_four_wikis_are_read_at_once_and_shown_in_their_order(
    service: EmbeddedService, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"w{number}" for number in range(6)]
    await service.add_group("docs", wiki=False)
    for name in names:
        await service.add_project(f"docs/{name}", {"home": f"{name}\n"})
    begun: list[object] = []
    four, last = asyncio.Event(), asyncio.Event()

    async def counted(*asked: Any, **options: Any) -> CycleResult:
        is_first = not begun
        begun.append(asked)
        if len(begun) == 4:
            four.set()
        if len(begun) == len(names):
            last.set()
        async with asyncio.timeout(30):
            await (last if is_first else four).wait()
        return await run_cycle(*asked, **options)

    monkeypatch.setattr("wikisync.workspace.opening.run_cycle", counted)
    ran = await run("clone", service.url, "--group", "docs", "--all", workspace)

    assert ran.code == 0
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == [
        f"project docs/{name}" for name in names
    ]


async def test_empty_wiki_that_was_named_is_cloned_empty(
    service: EmbeddedService, run: Run, workspace: Path
) -> None:
    await service.add_project("docs/empty")
    ran = await run("clone", service.url, "--project", "docs/empty", workspace)
    assert ran.code == 0
    assert not list((workspace / "empty").iterdir())


# -- running it again --------------------------------------------------------------


async def test_second_clone_brings_the_first_up_to_date(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    words = ("clone", handbook.url, "--project", "docs/handbook", workspace)
    await run(*words)
    config = (workspace / "wikisync.toml").read_bytes()
    await handbook.add_pages(HANDBOOK, {"dir/page": "new text"})
    ran = await run(*words)
    assert ran.code == 0
    assert (workspace / "handbook/dir/page.md").read_text() == "new text"
    assert (workspace / "wikisync.toml").read_bytes() == config


async def test_second_clone_keeps_links_and_names_as_they_are_here(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    words = ("clone", handbook.url, "--project", "docs/handbook", workspace)
    await run(*words)
    (workspace / "handbook/red.png").write_bytes(b"red")
    (workspace / "handbook/My Page.md").write_text("![a](./red.png)\n")
    assert (await run("sync", "-C", workspace)).code == 0
    before = files(workspace / "handbook")
    await handbook.add_pages(HANDBOOK, {"dir/page": "new text"})
    ran = await run(*words)
    assert ran.code == 0
    assert files(workspace / "handbook") == {**before, "dir/page.md": b"new text"}


async def test_emptied_wiki_is_stopped_by_the_safety_stop_until_a_person_says_yes(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    words = ("clone", handbook.url, "--project", "docs/handbook", workspace)
    await run(*words)
    await handbook.remove_file(HANDBOOK, "home.md")
    await handbook.remove_file(HANDBOOK, "dir/page.md")
    stopped = await run(*words)
    assert stopped.code == 4
    assert "2 of 2 pages (dir/page, home) are missing" in stopped.err
    assert (workspace / "handbook/home.md").exists()
    ran = await run(*words, "--allow-emptying")
    assert ran.code == 0
    assert not (workspace / "handbook/home.md").exists()
    assert len(list((workspace / ".wikisync/trash").rglob("*.md"))) == 2


async def test_clone_goes_on_where_it_was_killed_before_it_had_a_configuration(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    left = workspace / ".wikisync/tmp/16d7d0345f944e1a/0-51e19976"
    left.parent.mkdir(parents=True)
    left.write_text("[service]")
    ran = await run("clone", handbook.url, "--project", "docs/handbook", workspace)
    assert ran.code == 0
    assert (workspace / "handbook/home.md").exists()


# -- what is refused ---------------------------------------------------------------


async def test_folder_with_other_files_is_refused_and_not_touched(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    workspace.mkdir()
    (workspace / "thesis.txt").write_text("years of work")
    ran = await run("clone", handbook.url, "--project", "docs/handbook", workspace)
    assert ran.code == 1
    assert f"{workspace} is not empty" in ran.err
    assert files(workspace) == {"thesis.txt": b"years of work"}


async def test_workspace_of_another_wiki_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_project("docs/other", {"home": "other"})
    await run("clone", handbook.url, "--project", "docs/other", workspace)
    before = files(workspace)
    ran = await run("clone", handbook.url, "--project", "docs/handbook", workspace)
    assert ran.code == 1
    assert "already a workspace of other wikis" in ran.err
    assert files(workspace) == before


async def test_file_in_place_of_the_folder_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    workspace.write_text("a file")
    ran = await run("clone", handbook.url, "--project", "docs/handbook", workspace)
    assert ran.code == 1
    assert f"{workspace} is not a folder" in ran.err


async def test_workspace_in_use_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    from wikisync.folder.workspace import locked

    words = ("clone", handbook.url, "--project", "docs/handbook", workspace)
    await run(*words)
    with locked(workspace / ".wikisync", "it"):
        ran = await run(*words)
    assert ran.code == 1
    assert f"another wikisync is running in the workspace {workspace}" in ran.err


class Held(SilentProgress):
    """Holds its command where that begins to search for wikis."""

    def __init__(self) -> None:
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def start(self, label: str, total: int | None) -> None:
        """Wait where the folder is checked and the service is not asked yet."""
        del total
        if label == "find wikis":
            self.has_begun.set()
            assert self.may_go_on.wait(30)


async def test_workspace_that_another_clone_made_meanwhile_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_project("docs/other", {"home": "other"})
    progress = Held()

    def clone_other() -> None:
        client = Client(handbook.url, handbook.token)
        other = Selection(projects=("docs/other",))
        with pytest.raises(FolderError, match="is already a workspace"):
            asyncio.run(clone(client, other, workspace, progress=progress))

    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(clone_other))
        assert await asyncio.to_thread(progress.has_begun.wait, 30)
        await run("clone", handbook.url, "--project", "docs/handbook", workspace)
        before = files(workspace)
        progress.may_go_on.set()
    lock = ".wikisync/lock"  # says who had it last
    assert files(workspace) | {lock: b""} == before | {lock: b""}


@pytest.mark.parametrize("place", ["handbook/inner", "beside", ".wikisync/inner"])
async def test_folder_in_a_workspace_is_refused(
    handbook: EmbeddedService, run: Run, workspace: Path, place: str
) -> None:
    """The outer sync would take its files for pages."""
    words = ("clone", handbook.url, "--project", "docs/handbook")
    await run(*words, workspace)
    before = files(workspace)
    ran = await run(*words, workspace / place)
    assert ran.code == 1
    assert f"{workspace / place} is inside the workspace {workspace}" in ran.err
    assert "choose a folder outside of it" in ran.err
    assert files(workspace) == before
    assert not (workspace / place).exists()
    assert (await run(*words, workspace)).code == 0


async def test_folders_that_came_to_overlap_are_refused(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    words = ("clone", handbook.url, "--project", "docs/handbook")
    await run(*words, workspace)
    inner = workspace.parent / "inner"
    await run(*words, inner)
    inner.rename(workspace / "handbook/inner")
    await handbook.add_pages(HANDBOOK, {"dir/page": "new text"})
    ran = await run(*words, workspace / "handbook/inner")
    assert ran.code == 1
    assert f"is inside the workspace {workspace}" in ran.err
    page = workspace / "handbook/inner/handbook/dir/page.md"
    assert page.read_text() == "text"


@pytest.mark.parametrize(
    "wiki", ["docs/nothing", "docs/off"], ids=["missing", "switched off"]
)
async def test_wiki_that_cannot_be_had_leaves_no_folder_behind(
    service: EmbeddedService, run: Run, workspace: Path, wiki: str
) -> None:
    await service.add_project("docs/off", {"home": "x"}, wiki_access_level="disabled")
    ran = await run("clone", service.url, "--project", wiki, workspace)
    assert ran.code == 1
    assert wiki in ran.err
    assert "hint:" in ran.err
    assert not workspace.exists()


async def test_empty_folder_that_was_there_stays_after_a_failure(
    service: EmbeddedService, run: Run, workspace: Path
) -> None:
    workspace.mkdir()
    await service.add_project("docs/off", {"home": "x"}, wiki_access_level="disabled")
    await run("clone", service.url, "--project", "docs/off", workspace)
    assert not list(workspace.iterdir())


async def test_nothing_named_is_a_usage_error(
    service: EmbeddedService, run: Run, workspace: Path
) -> None:
    ran = await run("clone", service.url, workspace)
    assert ran.code == 2
    assert "--project PATH" in ran.err
    assert not workspace.exists()


# -- folder names ------------------------------------------------------------------


def project(path: str) -> WikiOwner:
    return WikiOwner("project", path)


def test_folder_is_the_last_name_where_that_is_clear() -> None:
    owners = [project("docs/handbook"), project("docs/api")]
    assert list(folder_names(owners).values()) == ["handbook", "api"]


def test_folders_that_would_clash_bear_the_whole_path() -> None:
    owners = [project("a/wiki"), project("b/Wiki"), WikiOwner("group", "a/wiki")]
    names = list(folder_names(owners).values())
    assert names == ["a-wiki", "b-Wiki", "a-wiki-2"]


@pytest.mark.parametrize("name", ["site", "wikisync.toml", ".wikisync"])
def test_folder_never_takes_a_name_of_ours(name: str) -> None:
    assert list(folder_names([project(f"docs/{name}")]).values()) == [f"docs-{name}"]


HASH = "0123456789abcdef0123456789abcdef"
TREE = {
    "home": "h\n",
    "docs/a": f"![x](uploads/{HASH}/a.png)\n",
    "docs/deep/b": "b\n",
    "docs/deep/c/d": "d\n",
    "other/docs/e": "e\n",
}


@pytest.mark.parametrize(
    ("only", "slugs"),
    [
        (["docs/"], {"docs/a", "docs/deep/b", "docs/deep/c/d"}),
        (["docs/deep"], {"docs/deep/b", "docs/deep/c/d"}),
        (["docs/deep/c", "other"], {"docs/deep/c/d", "other/docs/e"}),
        (["docs", "docs/deep"], {"docs/a", "docs/deep/b", "docs/deep/c/d"}),
    ],
)
async def test_clone_of_only_some_folders_never_deletes_the_others(
    service: EmbeddedService, run: Run, tmp_path: Path, only: list[str], slugs: set[str]
) -> None:
    await service.add_project("docs/handbook", TREE)
    await service.put_file(HANDBOOK, f"uploads/{HASH}/a.png", b"PNG")
    before = await service.files(HANDBOOK)
    root = tmp_path / "wikis"
    words = ["clone", service.url, "--project", "docs/handbook", root]
    words += [word for folder in only for word in ("--only", folder)]

    for _ in range(2):
        assert (await run(*words)).code == 0
    (root / "handbook" / f"{min(slugs)}.md").write_text("edited\n")
    elsewhere = {"home.md": b"changed\n", "elsewhere/new.md": b"new\n"}
    await service.put_files(HANDBOOK, elsewhere)
    ran = await run("sync", "-C", root)
    await run("sync", "-C", root)

    assert ran.code == 0, ran.err
    assert (await run("status", "-C", root)).code == 0
    found = {
        path.relative_to(root / "handbook").with_suffix("").as_posix()
        for path in (root / "handbook").rglob("*.md")
    }
    assert found == slugs
    edited = {f"{min(slugs)}.md": b"edited\n"}
    assert await service.files(HANDBOOK) == before | elsewhere | edited


@pytest.mark.parametrize("only", ["..", "a/../b", "/", ""])
async def test_folder_that_no_wiki_has_is_refused(
    service: EmbeddedService, run: Run, tmp_path: Path, only: str
) -> None:
    await service.add_project("docs/handbook", TREE)

    ran = await run(
        *("clone", service.url, "--project", "docs/handbook", tmp_path / "wikis"),
        *("--only", only),
    )

    assert ran.code == 2
    assert not (tmp_path / "wikis").exists()


async def test_clone_of_a_whole_wiki_is_not_narrowed_by_the_next_one(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", TREE)
    words = ("clone", service.url, "--project", "docs/handbook", tmp_path / "wikis")
    await run(*words)

    ran = await run(*words, "--only", "docs")

    assert (ran.code, "is a clone of other folders" in ran.err) == (2, True)
    assert (tmp_path / "wikis" / "handbook" / "home.md").exists()

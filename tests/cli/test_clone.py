import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.exports import digest_of_tree
from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK
from wikisync.api.client import Client
from wikisync.config.reading import load_config
from wikisync.core.messages import Progress
from wikisync.core.model import WikiOwner
from wikisync.errors import FolderError
from wikisync.folder.workspace import locked
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import CycleResult
from wikisync.workspace import cloning
from wikisync.workspace.discovery import Selection

UPLOADS = "uploads/" + "0123456789abcdef" * 2
NAMED = ("--project", "docs/handbook")
ALL = ("--group", "docs", "--all")


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    pages = {"home": f"![p]({UPLOADS}/p.png)", "dir/page": "text"}
    await service.add_project("docs/handbook", pages)
    await service.put_file(HANDBOOK, f"{UPLOADS}/p.png", b"\x89PNG picture")
    return service


@pytest.fixture
def clone(service: EmbeddedService, run: Run, workspace: Path) -> Any:
    """Clone a wiki, the handbook unless another one is named."""

    async def call(
        *words: str, wiki: tuple[str, ...] = NAMED, root: Path = workspace
    ) -> Ran:
        return await run("clone", service.url, *wiki, root, *words)

    return call


@pytest.mark.usefixtures("handbook")
async def test_clone_makes_a_workspace_and_prints_what_it_did(
    clone: Any, service: EmbeddedService, workspace: Path
) -> None:
    ran = await clone()
    assert ran.code == 0
    assert ran.out == (
        "project docs/handbook: 2 pages, 2 written, 1 attachment fetched,"
        f" in {workspace / 'handbook'}\n"
    )
    assert digest_of_tree(workspace / "handbook") == {
        "home.md": f"![p]({UPLOADS}/p.png)".encode(),
        "dir/page.md": b"text",
        f"{UPLOADS}/p.png": b"\x89PNG picture",
    }
    config = load_config(workspace / "wikisync.toml")
    assert config.service.url == service.url
    assert [wiki.owner for wiki in config.wikis] == [HANDBOOK]
    texts = digest_of_tree(workspace).values()
    assert not any(service.token.encode() in text for text in texts)
    private = workspace / ".wikisync"
    assert len((private / "folder-id").read_text().strip()) == 32
    kept = {".gitignore", "cache", "folder-id", "lock", "scans", "state.db"}
    assert {path.name for path in private.iterdir()} == kept


async def test_clone_of_a_group_with_all_wikis_gives_each_a_folder(
    handbook: EmbeddedService, run: Run, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    await handbook.add_project("docs/sub/handbook", {"home": "another"})
    await handbook.add_project("docs/empty")
    group = f"{handbook.url}/groups/docs/-/wikis/home#part"
    ran = await run("clone", group, "--all", workspace)
    assert ran.code == 0, ran.err
    config = load_config(workspace / "wikisync.toml")
    assert config.service.url == handbook.url
    folders = {wiki.owner.full_path: wiki.folder for wiki in config.wikis}
    assert folders == {
        "docs": "docs",
        "docs/empty": "empty",
        "docs/handbook": "docs-handbook",
        "docs/sub": "sub",
        "docs/sub/handbook": "docs-sub-handbook",
    }
    assert all((workspace / folder).is_dir() for folder in folders.values())
    # not "left out": the workspace names it, and a sync downloads its first page
    assert "project docs/empty" not in ran.err
    assert "project docs/empty: 0 pages" in ran.out


async def test_four_wikis_are_read_at_once_and_shown_in_their_order(
    service: EmbeddedService, clone: Any, monkeypatch: pytest.MonkeyPatch
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
    ran = await clone(wiki=ALL)

    assert ran.code == 0
    shown = [line.partition(":")[0] for line in ran.out.splitlines()]
    assert shown == [f"project docs/{name}" for name in names]


async def test_empty_wiki_that_was_named_is_cloned_empty(
    service: EmbeddedService, clone: Any, workspace: Path
) -> None:
    await service.add_project("docs/handbook")
    assert (await clone()).code == 0
    assert not list((workspace / "handbook").iterdir())


# -- running it again --------------------------------------------------------------


async def test_second_clone_brings_the_first_up_to_date(
    handbook: EmbeddedService, clone: Any, workspace: Path
) -> None:
    await clone()
    config = (workspace / "wikisync.toml").read_bytes()
    await handbook.add_pages(HANDBOOK, {"dir/page": "new text"})
    ran = await clone("--json")
    assert (ran.code, ran.json["workspace"]) == (0, str(workspace))
    (wiki,) = ran.json["wikis"]
    assert (wiki["path"], wiki["pages"], wiki["written"]) == ("docs/handbook", 2, 1)
    assert (workspace / "handbook/dir/page.md").read_text() == "new text"
    assert (workspace / "wikisync.toml").read_bytes() == config


async def test_second_clone_keeps_links_and_names_as_they_are_here(
    handbook: EmbeddedService, clone: Any, run: Run, workspace: Path
) -> None:
    await clone()
    (workspace / "handbook/red.png").write_bytes(b"red")
    (workspace / "handbook/My Page.md").write_text("![a](./red.png)\n")
    assert (await run("sync", "-C", workspace)).code == 0
    before = digest_of_tree(workspace / "handbook")
    await handbook.add_pages(HANDBOOK, {"dir/page": "new text"})
    assert (await clone()).code == 0
    after = digest_of_tree(workspace / "handbook")
    assert after == {**before, "dir/page.md": b"new text"}


async def test_emptied_wiki_is_stopped_by_the_safety_stop_until_a_person_says_yes(
    handbook: EmbeddedService, clone: Any, workspace: Path
) -> None:
    await clone()
    await handbook.remove_file(HANDBOOK, "home.md")
    await handbook.remove_file(HANDBOOK, "dir/page.md")
    (await clone()).ended(4, "2 of 2 pages (dir/page, home) are missing")
    assert (workspace / "handbook/home.md").exists()
    assert (await clone("--allow-emptying")).code == 0
    assert not (workspace / "handbook/home.md").exists()
    assert len(list((workspace / ".wikisync/trash").rglob("*.md"))) == 2


@pytest.mark.usefixtures("handbook")
async def test_clone_goes_on_where_it_was_killed(clone: Any, workspace: Path) -> None:
    left = workspace / ".wikisync/tmp/16d7d0345f944e1a/0-51e19976"
    left.parent.mkdir(parents=True)
    left.write_text("[service]")
    assert (await clone()).code == 0
    assert (workspace / "handbook/home.md").exists()


# -- what is refused ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "told"), [("thesis.txt", "is not empty"), ("", "is not a folder")]
)
@pytest.mark.usefixtures("handbook")
async def test_folder_with_other_files_is_refused_and_not_touched(
    clone: Any, workspace: Path, name: str, told: str
) -> None:
    (workspace / name).parent.mkdir(exist_ok=True)
    (workspace / name).write_text("years of work")
    (await clone()).ended(1, f"{workspace} {told}")
    assert (workspace / name).read_text() == "years of work"
    assert len(list(workspace.parent.rglob("wikisync.toml"))) == 0


async def test_workspace_of_another_wiki_or_in_use_is_refused(
    handbook: EmbeddedService, clone: Any, workspace: Path
) -> None:
    await handbook.add_project("docs/other", {"home": "other"})
    other = ("--project", "docs/other")
    await clone(wiki=other)
    with locked(workspace / ".wikisync", "it"):
        used = await clone(wiki=other)
    before = digest_of_tree(workspace)
    (await clone()).ended(1, "already a workspace of other wikis")
    (await clone(wiki=(*other, *NAMED))).ended(1, "already a workspace of other wikis")
    assert digest_of_tree(workspace) == before
    used.ended(1, f"another wikisync is running in the workspace {workspace}")


class Held(Progress):
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
    handbook: EmbeddedService, clone: Any, workspace: Path
) -> None:
    await handbook.add_project("docs/other", {"home": "other"})
    progress = Held()

    def clone_other() -> None:
        client = Client(handbook.url, handbook.token)
        other = Selection(projects=("docs/other",))
        with pytest.raises(FolderError, match="is already a workspace"):
            asyncio.run(cloning.clone(client, other, workspace, progress=progress))

    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(clone_other))
        assert await asyncio.to_thread(progress.has_begun.wait, 30)
        await clone()
        before = digest_of_tree(workspace)
        progress.may_go_on.set()
    lock = {".wikisync/lock": b""}  # says who had it last
    assert digest_of_tree(workspace) | lock == before | lock


@pytest.mark.parametrize("place", ["handbook/inner", "beside", ".wikisync/inner"])
@pytest.mark.usefixtures("handbook")
async def test_folder_in_a_workspace_is_refused(
    clone: Any, workspace: Path, place: str
) -> None:
    """The outer sync would take its files for pages."""
    await clone()
    before = digest_of_tree(workspace)
    ran = await clone(root=workspace / place)
    ran.ended(1, f"{workspace / place} is inside the workspace {workspace}")
    assert "choose a folder outside of it" in ran.err
    assert digest_of_tree(workspace) == before
    assert not (workspace / place).exists()
    assert (await clone()).code == 0


async def test_folders_that_came_to_overlap_are_refused(
    handbook: EmbeddedService, clone: Any, workspace: Path
) -> None:
    inner = workspace.parent / "inner"
    await clone()
    await clone(root=inner)
    inner.rename(workspace / "handbook/inner")
    await handbook.add_pages(HANDBOOK, {"dir/page": "new text"})
    ran = await clone(root=workspace / "handbook/inner")
    ran.ended(1, f"is inside the workspace {workspace}")
    page = workspace / "handbook/inner/handbook/dir/page.md"
    assert page.read_text() == "text"


@pytest.mark.parametrize(
    ("wiki", "was_there"),
    [("docs/nothing", False), ("docs/off", False), ("docs/off", True)],
)
async def test_wiki_that_cannot_be_had_leaves_the_folder_as_it_was(
    service: EmbeddedService, clone: Any, workspace: Path, wiki: str, *, was_there: bool
) -> None:
    if was_there:
        workspace.mkdir()
    await service.add_project("docs/off", {"home": "x"}, wiki_access_level="disabled")
    (await clone(wiki=("--project", wiki))).ended(1, wiki, "hint:")
    assert (workspace.exists(), list(workspace.rglob("*"))) == (was_there, [])


# -- folder names ------------------------------------------------------------------

of = partial(WikiOwner, "project")


@pytest.mark.parametrize(
    ("owners", "names"),
    [
        ([of("docs/handbook"), of("docs/api")], ["handbook", "api"]),
        (
            [of("a/wiki"), of("b/Wiki"), WikiOwner("group", "a/wiki")],
            ["a-wiki", "b-Wiki", "a-wiki-2"],
        ),
        ([of("docs/site")], ["docs-site"]),
        ([of("docs/wikisync.toml")], ["docs-wikisync.toml"]),
        ([of("docs/.wikisync")], ["docs-.wikisync"]),
    ],
)
def test_folder_is_the_last_name_where_that_is_clear_and_not_ours(
    owners: list[WikiOwner], names: list[str]
) -> None:
    assert list(cloning.folder_names(owners).values()) == names


# -- some folders of a wiki ----------------------------------------------------------

TREE = {
    "home": "h\n",
    "docs/a": f"![x]({UPLOADS}/a.png)\n",
    "docs/deep/b": "b\n",
    "docs/deep/c/d": "d\n",
    "other/docs/e": "e\n",
}


@pytest.mark.parametrize(
    ("only", "slugs"),
    [
        (["docs/"], {"docs/a", "docs/deep/b", "docs/deep/c/d"}),
        (["docs/deep/c", "other"], {"docs/deep/c/d", "other/docs/e"}),
        (["docs", "docs/deep"], {"docs/a", "docs/deep/b", "docs/deep/c/d"}),
    ],
)
async def test_clone_of_only_some_folders_never_deletes_the_others(
    service: EmbeddedService,
    clone: Any,
    run: Run,
    workspace: Path,
    only: list[str],
    slugs: set[str],
) -> None:
    await service.add_project("docs/handbook", TREE)
    await service.put_file(HANDBOOK, f"{UPLOADS}/a.png", b"PNG")
    before = await service.files(HANDBOOK)
    words = [word for folder in only for word in ("--only", folder)]

    assert [(await clone(*words)).code for _ in range(2)] == [0, 0]
    edited = f"{min(slugs)}.md"
    (workspace / "handbook" / edited).write_text("edited\n")
    elsewhere = {"home.md": b"changed\n", "elsewhere/new.md": b"new\n"}
    await service.put_files(HANDBOOK, elsewhere)
    ran = await run("sync", "-C", workspace)
    await run("sync", "-C", workspace)

    assert ran.code == 0, ran.err
    assert (await run("status", "-C", workspace)).code == 0
    found = digest_of_tree(workspace / "handbook")
    assert {name for name in found if name.endswith(".md")} == {
        f"{slug}.md" for slug in slugs
    }
    assert await service.files(HANDBOOK) == before | elsewhere | {edited: b"edited\n"}


@pytest.mark.parametrize("only", ["..", "a/../b", "/", ""])
async def test_folder_that_no_wiki_has_is_refused(
    service: EmbeddedService, clone: Any, workspace: Path, only: str
) -> None:
    await service.add_project("docs/handbook", TREE)
    assert (await clone("--only", only)).code == 2
    assert not workspace.exists()


@pytest.mark.usefixtures("handbook")
async def test_whole_clone_is_not_narrowed_later(clone: Any, workspace: Path) -> None:
    await clone()
    ran = await clone("--only", "docs")
    assert (ran.code, "is a clone of other folders" in ran.err) == (2, True)
    assert (workspace / "handbook" / "home.md").exists()

"""The lists that a watch asks for several of its wikis at once."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.service.projects import tables as project_tables
from wikisync.watch.wiki import WIKIS_MIN, WatchedWiki, lists_of
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.runner import ScanScope

PROJECTS = ("docs/a", "docs/sub/b", "docs/sub/c", "docs/d")


@pytest.fixture
async def client(service: EmbeddedService) -> AsyncIterator[Client]:
    for path in PROJECTS:
        await service.add_project(path, {"home": "one\n"})
    async with Client(service.url, service.token) as made:
        yield made


@contextmanager
def watched(
    client: Client, root: Path, paths: tuple[str, ...], more: str = ""
) -> Iterator[list[WatchedWiki]]:
    wikis = "".join(f'[[wiki]]\nproject = "{path}"\n' for path in paths)
    (root / "wikisync.toml").write_text(
        f'[service]\nurl = "{client.address}"\n{wikis}{more}'
    )
    workspace = find_workspace(root)
    with open_workspace(workspace) as opened:
        yield [
            WatchedWiki(opened, section, client) for section in workspace.config.wikis
        ]


@pytest.mark.parametrize(
    ("paths", "groups"),
    [
        (PROJECTS, ["docs"]),
        (tuple(f"Docs/sub/x{number}" for number in range(4)), ["Docs/sub"]),
        ((*PROJECTS[:2], "docs/sub/deep/x", "DOCS/sub/y"), ["docs"]),
        (PROJECTS[: WIKIS_MIN - 1], []),
        (tuple(f"g{number}/wiki-{number}" for number in range(9)), []),
    ],
)
async def test_wikis_of_one_group_share_a_list(
    client: Client, tmp_path: Path, paths: tuple[str, ...], groups: list[str]
) -> None:
    with watched(client, tmp_path, paths) as wikis:
        lists = lists_of(client, wikis)
        assert [one.name.rpartition(" ")[2] for one in lists] == groups
        assert all(set(one.wikis) == {wiki.name for wiki in wikis} for one in lists)


async def test_wiki_of_a_group_itself_is_on_no_list(
    client: Client, tmp_path: Path
) -> None:
    more = '[[wiki]]\ngroup = "docs"\nfolder = "group"\n'
    with watched(client, tmp_path, PROJECTS, more) as wikis:
        (listed,) = lists_of(client, wikis)
        assert "group" not in listed.wikis


async def test_wikis_in_which_something_happened_are_named(
    client: Client, tmp_path: Path
) -> None:
    with watched(client, tmp_path, PROJECTS) as wikis:
        (listed,) = lists_of(client, wikis)
        for wiki in wikis:
            await wiki.cycle(ScanScope.EVERYTHING)
        assert await listed.active() == []
        owner = WikiOwner("project", PROJECTS[2])
        await Wiki(client, owner).edit_page("home", content="two\n")
        assert await listed.active() == ["c"]


async def test_all_are_named_where_too_much_happened_to_be_listed(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.watch.wiki.PARTS", (1, 2))
    with watched(client, tmp_path, PROJECTS) as wikis:
        (listed,) = lists_of(client, wikis)
        await listed.active()
        for path in PROJECTS[:2]:
            owner = WikiOwner("project", path)
            await Wiki(client, owner).edit_page("home", content="two\n")
        assert set(await listed.active()) == {wiki.name for wiki in wikis}


async def test_project_that_left_the_group_is_on_its_list_no_more(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    await service.add_group("away")
    with watched(client, tmp_path, PROJECTS) as wikis:
        (listed,) = lists_of(client, wikis)
        moved = wikis[0]
        await moved.cycle(ScanScope.EVERYTHING)
        assert moved.name in listed.wikis
        project = await client.project(PROJECTS[0])
        space = await service.ask(project_tables.namespace, "away")
        assert space is not None
        await service.ask(project_tables.transfer_project, project.id, space)
        await moved.cycle(ScanScope.EVERYTHING)
        assert moved.name not in listed.wikis


async def test_wiki_that_did_not_change_counts_as_synced_until_now(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(client, tmp_path, PROJECTS[:1]) as (wiki,):
        await wiki.cycle(ScanScope.EVERYTHING)
        known = wiki._opened.known(wiki.section)
        before = known.memory.health.last_good_at
        assert before is not None
        await wiki.note_unchanged()
        assert known.memory.health.last_good_at == before, "it was noted just now"
        monkeypatch.setattr("wikisync.watch.wiki.FULL_SCAN_S", 0.0)
        await wiki.note_unchanged()
        noted = known.memory.health.last_good_at
        assert noted is not None
        assert noted > before


async def test_wiki_whose_last_cycle_was_not_good_stays_so(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.watch.wiki.FULL_SCAN_S", 0.0)
    with watched(client, tmp_path, PROJECTS[:1]) as (wiki,):
        await wiki.cycle(ScanScope.EVERYTHING)
        known = wiki._opened.known(wiki.section)
        before = known.memory.health.last_good_at
        later = (before or 0.0) + 1.0
        known.remember(health=replace(known.memory.health, last_started_at=later))
        await wiki.note_unchanged()
        assert known.memory.health.last_good_at == before

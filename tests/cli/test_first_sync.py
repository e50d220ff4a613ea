"""What a first sync leaves here on purpose stays known, however that sync ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.bending import bending_proxy
from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.watching import make_workspace
from tests.support.workspaces import Cloned
from wikisync.api.client import Client
from wikisync.errors import Unavailable
from wikisync.sync.run.parts import CycleOptions
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import Synced, WikiCycles, open_workspace
from wikisync.workspace.runner import Runner, ScanScope

PICTURE = "uploads/" + "0123456789abcdef" * 2 + "/p.png"
LEFT = "  here: only here; a first sync uploads it only on request\n"


@dataclass
class Midway:
    """Progress that does something when a step of the cycle begins."""

    step: str
    act: Callable[[], None]
    done: list[str] = field(default_factory=list)

    def start(self, label: str, total: int | None) -> None:
        del total
        if label == self.step and label not in self.done:
            self.done.append(label)
            self.act()

    def advance(self, steps: int = 1) -> None:
        """Nothing is shown."""


@pytest.fixture
async def first(service: EmbeddedService, run: Run, tmp_path: Path) -> Cloned:
    """A folder and a wiki that have never met."""
    pages = {"home": f"![p]({PICTURE})\n", "guide": "a guide\n"}
    await service.add_project("docs/handbook", pages)
    quick = "[sync]\nsettle_ms = 50\n"
    root = make_workspace(tmp_path / "wikis", service.url, more=quick)
    found = Cloned(service, root, run)
    found.write("here.md", "only here\n")
    return found


async def synced(first: Cloned, progress: Midway) -> Synced:
    """A first sync that nobody asked to put pages on the wiki."""
    workspace = find_workspace(first.root)
    service = first.service
    async with Client(service.url, service.token) as client:
        with open_workspace(workspace) as opened:
            section, asked = workspace.config.wikis[0], CycleOptions()
            work = WikiCycles(opened, section, client, asked)
            work.progress = progress
            runner = Runner([work], client)
            await runner.run_to_rest()
    work.synced.failure = runner.wikis[work.name].failure
    return work.synced


def away() -> None:
    raise Unavailable("the service went away")


@pytest.mark.parametrize("words", [("status",), ("status", "--offline")])
async def test_sync_that_failed_midway_still_knows_what_it_left(
    first: Cloned, words: tuple[str, ...]
) -> None:
    """Status said that the next sync puts the page on the wiki, and it did."""
    failed = await synced(first, Midway("attachments", away))
    assert failed.failure is not None
    assert "home.md" in first.files()
    ran = await first.run(*words)
    assert ran.code == 0
    assert LEFT in ran.out
    await first.run("sync")
    assert "here.md" not in await first.wiki()


async def test_page_is_left_in_every_round_of_the_first_sync(first: Cloned) -> None:
    """A page that is saved meanwhile makes another round at once."""
    assert LEFT in (await first.run("status", "--offline")).out
    progress = Midway("pages", lambda: first.write("guide.md", "mine\n"))
    done = await synced(first, progress)
    assert len(done.results) == 2
    assert "here.md" not in await first.wiki()
    assert LEFT in (await first.run("status")).out


async def test_watch_leaves_the_same_in_every_cycle(first: Cloned) -> None:
    workspace = find_workspace(first.root)
    section, service = workspace.config.wikis[0], first.service
    async with Client(service.url, service.token) as client:
        with open_workspace(workspace) as opened:
            watched = WatchedWiki(opened, section, client)
            await watched.cycle(ScanScope.EVERYTHING)
            await watched.cycle(ScanScope.EVERYTHING)
            assert opened.known(section).memory.left_out == frozenset({"here"})
    assert "here.md" not in await first.wiki()


async def test_first_sync_of_an_empty_folder_reads_no_page(first: Cloned) -> None:
    """All texts came with the list."""
    (first.folder / "here.md").unlink()
    async with bending_proxy(first.service.url) as proxy:
        first.configure(first.service.url, str(proxy.url))
        ran = await first.run("sync")

        assert ran.code == 0
        assert first.read("guide.md") == "a guide\n"
        assert not proxy.requests("/wikis/[a-z]+$")
        assert len(proxy.requests("with_content=true")) == 1

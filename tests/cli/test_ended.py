"""A process that ends in the middle of a sync, and what that costs the next one."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.bending import BendingProxy, bending_proxy
from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.watching import make_workspace
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner

PROJECT = WikiOwner("project", "docs/handbook")
PAGES = {f"page-{number}": f"{number}\n" + "text\n" * 8000 for number in range(9)}
"""Texts that are large enough for git to be asked what changed."""
LIST = "with_content=true"
PAGE = r"/wikis/page-\d+$"


@pytest.fixture
async def proxy(service: EmbeddedService) -> AsyncIterator[BendingProxy]:
    await service.add_project(PROJECT.full_path, PAGES)
    async with bending_proxy(service.url) as running:
        yield running


@pytest.fixture
async def root(proxy: BendingProxy, tmp_path: Path) -> Path:
    """A workspace that was never synced."""
    return make_workspace(tmp_path / "work", proxy.url)


async def synced(proxy: BendingProxy, run: Run, root: Path) -> int:
    """Sync to the end; gives how often the whole list was asked for."""
    before = len(proxy.requests(LIST))
    assert (await run("--quiet", "sync", "-C", root)).code == 0
    return len(proxy.requests(LIST)) - before


@pytest.mark.parametrize(
    ("number", "is_edited_there"),
    [(signal.SIGTERM, True), (signal.SIGKILL, True), (signal.SIGKILL, False)],
)
async def test_ended_in_the_middle_of_a_sync_the_next_one_reads_no_list(
    service: EmbeddedService,
    proxy: BendingProxy,
    run: Run,
    root: Path,
    number: signal.Signals,
    *,
    is_edited_there: bool,
) -> None:
    """Each page that was carried over is known to differ from the wiki's mark."""
    lists = [await synced(proxy, run, root) for _ in range(3)]
    assert lists[-1] == 0
    names = [f"page-{number}" for number in range(8)]
    edits = {name: f"{PAGES[name]}edited\n" for name in names}
    for name in names[:4]:
        (root / f"handbook/{name}.md").write_text(edits[name])
    if is_edited_there:
        await service.add_pages(PROJECT, {name: edits[name] for name in names[4:]})
    else:
        edits = {name: edits[name] for name in names[:4]}
    stuck = proxy.bend(PAGE, method="PUT", skip=2, hangs=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", "--quiet", "sync", "-C", str(root)),
        env={**os.environ, "WIKISYNC_TOKEN": service.token},
    )
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(process.wait())
        met = group.create_task(stuck.has_met.wait())
        await asyncio.wait({ended, met}, return_when=asyncio.FIRST_COMPLETED)
        assert met.done(), "it ended before it was stuck"
        process.send_signal(number)
    proxy.straighten()

    assert await synced(proxy, run, root) == 0
    found = {path.stem: path.read_text() for path in (root / "handbook").glob("*.md")}
    assert found == PAGES | edits
    async with Client(service.url, service.token) as client:
        listed = await Wiki(client, PROJECT).poll_pages(with_content=True)
    assert listed is not None
    assert {one.slug: one.content for one in listed.pages} == PAGES | edits

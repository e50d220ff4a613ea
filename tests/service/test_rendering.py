"""Rendered pages: their links, no scripts, their includes; none holds others up."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from wikisync.core.model import Slug, WikiOwner
from wikisync.core.system.processes import Child
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.pages import ShownPage
from wikisync.service.rendering import (
    INCLUDED_BYTES_MAX,
    RenderJob,
    RenderPool,
    included_text,
)
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Rendering
from wikisync.service.slots import NoSlot, Slots


@pytest.fixture
def repository(tmp_path: Path) -> WikiRepository:
    files = {
        "dir/part.adoc": b"part",
        "root.md": b"root",
        "uploads/0f/data.csv": b"a,b",
        "binary.md": b"\0",
        "huge.md": b"x" * (INCLUDED_BYTES_MAX + 1),
    }
    made = WikiRepository(tmp_path / "r.git")
    made.change(lambda _tree: CommitPlan("m", writes=files), Author("n", "e"))
    return made


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("part.adoc", "part"),
        ("part", "part"),
        ("../root.md", "root"),
        ("../uploads/0f/data.csv", "a,b"),
        ("../../root.md", None),
        ("/etc/passwd", None),
        ("../binary.md", None),
        ("../huge.md", None),
        ("none.adoc", None),
    ],
)
def test_include_finds_files_of_the_wiki_only(
    repository: WikiRepository, target: str, text: str | None
) -> None:
    found = included_text(repository.tree(), repository, Slug("dir/page"), target)
    assert found == text


@pytest.fixture
async def pool() -> AsyncIterator[RenderPool]:
    made = RenderPool(Rendering(deadline_s=60.0, processes_max=1))
    yield made
    await made.close()


def job_of(repository: WikiRepository, content: str) -> RenderJob:
    page = ShownPage(
        format="markdown",
        slug="home",
        title="home",
        content=content,
        encoding="UTF-8",
        front_matter={},
    )
    owner = WikiOwner("project", "docs/book")
    return RenderJob(page, repository.tree(), repository, owner, "http://127.0.0.1")


async def test_page_over_the_deadline_is_its_source_and_the_next_is_rendered(
    repository: WikiRepository,
) -> None:
    pool = RenderPool(Rendering(deadline_s=5.0, processes_max=1))
    await stop_process(pool, repository)
    late = await pool.render(job_of(repository, "<b>**x**"), is_stranger=True)
    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)
    await pool.close()

    assert "<code>&lt;b&gt;**x**" in late
    assert "its parser gave no answer in 5 seconds" in late
    assert "<strong>x</strong>" in html


async def test_process_that_died_is_replaced(
    pool: RenderPool, repository: WikiRepository
) -> None:
    process = await stop_process(pool, repository)
    process.kill()
    process.wait()
    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)
    assert "<strong>x</strong>" in html


async def test_process_ends_with_the_caller(
    pool: RenderPool, repository: WikiRepository
) -> None:
    process = await stop_process(pool, repository)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await pool.render(job_of(repository, "x"), is_stranger=True)

    assert process.poll() is not None
    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)
    assert "<strong>x</strong>" in html


async def stop_process(pool: RenderPool, repository: WikiRepository) -> Child:
    """Let the one process of a pool take for ever from now on."""
    await pool.render(job_of(repository, "x"), is_stranger=True)
    [parser] = pool._idle
    [worker] = parser._workers
    process = worker._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    return process


async def test_strangers_have_half_of_the_places() -> None:
    slots = Slots(at_once=2, waiting_max=0, waiting_s=30.0)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(slots.taken(is_stranger=True))
        with pytest.raises(NoSlot):
            await stack.enter_async_context(slots.taken(is_stranger=True))

        await stack.enter_async_context(slots.taken(is_stranger=False))


async def test_who_may_not_wait_is_sent_away_at_once() -> None:
    slots = Slots(at_once=1, waiting_max=1, waiting_s=30.0)
    free = asyncio.Event()
    done: list[str] = []

    async def work(name: str) -> None:
        async with slots.taken(is_stranger=False):
            await free.wait()
            done.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(work("first"))
        group.create_task(work("second"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(NoSlot):
            await work("third")
        free.set()

    assert done == ["first", "second"]


async def test_waiting_ends() -> None:
    slots = Slots(at_once=1, waiting_max=5, waiting_s=0.05)
    async with slots.taken(is_stranger=False):
        with pytest.raises(NoSlot):
            async with slots.taken(is_stranger=False):
                pass

    async with slots.taken(is_stranger=False):
        pass


async def test_who_leaves_while_waiting_gives_the_place_back() -> None:
    slots = Slots(at_once=1, waiting_max=1, waiting_s=30.0)
    async with slots.taken(is_stranger=True):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), slots.taken(is_stranger=False):
                pass
    async with slots.taken(is_stranger=True), AsyncExitStack():
        pass

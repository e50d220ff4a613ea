"""Pages are rendered beside the service, in slots that strangers never have all of."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from wikisync.core.system.processes import Child
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.pages import ShownPage
from wikisync.service.render_pool import RenderJob, RenderPool
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Rendering
from wikisync.service.slots import NoSlot, Slots


@pytest.fixture
async def pool() -> AsyncIterator[RenderPool]:
    made = RenderPool(Rendering(deadline_s=60.0, processes_max=1))
    yield made
    await made.close()


@pytest.fixture
def repository(tmp_path: Path) -> WikiRepository:
    made = WikiRepository(tmp_path / "r.git")
    change = CommitPlan("m", writes={"home.md": b"x", "other.md": b"y"})
    made.change(lambda _tree: change, Author("n", "e"))
    return made


def job_of(repository: WikiRepository, content: str) -> RenderJob:
    page = ShownPage(
        format="markdown",
        slug="home",
        title="home",
        content=content,
        encoding="UTF-8",
        front_matter={},
    )
    return RenderJob(
        page,
        str(repository.path),
        repository.tree().commit or "",
        "project",
        "docs/book",
        "http://127.0.0.1",
    )


async def test_page_is_rendered_with_its_links(
    pool: RenderPool, repository: WikiRepository
) -> None:
    html = await pool.render(job_of(repository, "**b** [o](other)"), is_stranger=True)

    assert "<strong>b</strong>" in html
    assert "/docs/book/-/wikis/other" in html


async def test_page_over_the_deadline_is_its_source_and_the_next_is_rendered(
    repository: WikiRepository,
) -> None:
    pool = RenderPool(Rendering(deadline_s=5.0, processes_max=1))
    await stop_process(pool, repository)
    late = await pool.render(job_of(repository, "<b>**x**"), is_stranger=True)
    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)
    await pool.close()

    assert "<pre>&lt;b&gt;**x**" in late
    assert "took too long" in late
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
    [worker] = pool._idle
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

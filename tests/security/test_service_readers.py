"""Whatever strangers ask for, others are served."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.security.service_readers import ask_and_leave, seconds_of_a_write
from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.system.processes import Child
from wikisync.service.settings import Rendering, Settings

WIKIS = "/api/v4/projects/docs%2Fbook/wikis"
SLOW = f"{WIKIS}/slow?render_html=1"
QUICK = f"{WIKIS}/quick?render_html=1"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A public wiki, and no deadline that ends what takes for ever."""
    rendering = Rendering(
        deadline_s=600.0, processes_max=2, waiting_max=2, waiting_s=600.0
    )
    settings = Settings(rendering=rendering)
    async with embedded_service(tmp_path, settings=settings) as running:
        pages = {"home": "x", "slow": "slow", "quick": "**q**"}
        await running.add_project("docs/book", pages, visibility="public")
        yield running


async def status_of(url: str, token: str | None = None) -> tuple[int, str]:
    """Status and ``Retry-After`` of an answer."""
    headers = {} if token is None else {"PRIVATE-TOKEN": token}
    timeout = aiohttp.ClientTimeout(60)
    async with (
        aiohttp.ClientSession(headers=headers, timeout=timeout) as session,
        session.get(url) as answer,
    ):
        await answer.read()
        return answer.status, answer.headers.get("Retry-After", "")


async def make_slow(service: EmbeddedService) -> Child:
    """Let the next page that is rendered take for ever."""
    await status_of(service.url + QUICK)
    [parser] = service.running.renderer._idle
    [worker] = parser._workers
    process = worker._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    return process


async def test_readers_who_hang_up_keep_nobody_from_writing_or_reading(
    service: EmbeddedService,
) -> None:
    process = await make_slow(service)
    async with asyncio.timeout(60):
        # somebody leaves while the page is being rendered
        while process.poll() is None:
            await ask_and_leave(service.url, SLOW, 40)
    await ask_and_leave(service.url, SLOW, 40)
    status, seconds = await seconds_of_a_write(
        service.url, f"{WIKIS}/home", service.token
    )
    stranger = await status_of(service.url + QUICK)

    # half a second on a machine that does nothing else
    assert (status, seconds < 10) == (200, True)
    assert stranger == (200, "")


async def test_readers_who_wait_leave_a_place_for_somebody_with_a_token(
    service: EmbeddedService,
) -> None:
    await make_slow(service)
    async with asyncio.TaskGroup() as group:
        # one is at work, and one may wait
        asked = [group.create_task(status_of(service.url + SLOW)) for _ in range(3)]
        done, waiting = await asyncio.wait(
            asked, return_when=asyncio.FIRST_COMPLETED, timeout=60
        )
        known = await status_of(service.url + QUICK, service.token)
        for task in waiting:
            task.cancel()

    assert [task.result() for task in done] == [(503, "10")]
    assert known == (200, "")

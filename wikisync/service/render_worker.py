"""Rendering pages beside the service, so that no page holds it up.

A few processes of their own each render one page after the other; a page that takes
longer than the deadline is shown as its source, and the process ends with it.  It ends
as well when the caller leaves.  The next page gets a new one.

Run as a module this is that process: a JSON line in, a JSON line out.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import logging
import os
import signal
import sys
from pathlib import Path
from typing import IO

import msgspec

from wikisync.decoding import json_decoder
from wikisync.model import OwnerKind, WikiOwner
from wikisync.processes import (
    AsyncChild,
    python_worker,
    start_worker_async,
)
from wikisync.service.answers import busy
from wikisync.service.pages import ShownPage
from wikisync.service.places import NoPlace, Places
from wikisync.service.settings import KIB, MIB, Rendering

log = logging.getLogger(__name__)

START_S = 60.0
"""How long the process may take to begin; it loads all of the markup."""
MEMORY_BYTES_MAX = 1024 * MIB
"""Of a process; a page that wants more is shown as its source."""
CHUNK_BYTES = 256 * KIB
RETRY_AFTER_S = 10
_NOTICE = "This page took too long to render, so here is its source."


class RenderJob(msgspec.Struct, frozen=True):
    """One page to be rendered."""

    page: ShownPage
    repository: str
    """Folder of the wiki, as an absolute path."""
    commit: str
    """What the wiki's links and includes are looked up in."""
    kind: OwnerKind
    full_path: str
    service_url: str


_JOBS = json_decoder(RenderJob)
_HTML = json_decoder(str)


class RenderPool:
    """A few processes, each started when it is first wanted."""

    def __init__(self, limits: Rendering) -> None:
        self._limits = limits
        self._places = Places(
            limits.processes_max, limits.waiting_max, limits.waiting_s
        )
        self._idle: list[AsyncChild] = []

    async def render(self, job: RenderJob, *, is_stranger: bool) -> str:
        """The page's HTML, or its escaped source with a notice.

        When cancelled, the process that renders the page is gone.

        Raises:
            Refusal: 503 when too many pages wait to be rendered.
        """
        try:
            async with self._places.taken(is_stranger=is_stranger):
                html = await self._render(job)
        except NoPlace:
            raise busy("too many pages are being rendered", RETRY_AFTER_S) from None
        return escaped_source(job.page.content) if html is None else html

    async def close(self) -> None:
        """End the processes; nothing is being rendered any more."""
        while self._idle:
            await _end(self._idle.pop())

    def _take_idle(self) -> AsyncChild | None:
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
        return None

    async def _render(self, job: RenderJob) -> str | None:
        process = self._take_idle() or await _start()
        is_sound = False
        try:
            async with asyncio.timeout(self._limits.deadline_s):
                answer = await _ask(process, msgspec.json.encode(job))
            is_sound = answer is not None
        except TimeoutError:
            return None
        finally:
            # one that did not answer may answer the next question with it
            if is_sound:
                self._idle.append(process)
            else:
                await _end(process)
        return None if answer is None else _HTML.decode(answer)


def escaped_source(source: str) -> str:
    """What is shown of a page that cannot be rendered."""
    return f"<p><em>{_NOTICE}</em></p>\n<pre>{html.escape(source)}</pre>"


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer jobs until there are no more."""
    from wikisync.service.rendering import render_page
    from wikisync.service.repository import WikiRepository

    answers.write(b"ready\n")
    answers.flush()
    repositories: dict[str, WikiRepository] = {}
    for line in requests:
        job = _JOBS.decode(line)
        repository = repositories.get(job.repository)
        if repository is None:
            repositories.clear()
            repository = WikiRepository(Path(job.repository))
            repositories[job.repository] = repository
        tree = repository.tree()
        if tree.commit != job.commit:
            tree = repository.tree_at(job.commit) or tree
        owner = WikiOwner(job.kind, job.full_path)
        shown = render_page(
            job.page, tree, repository, owner=owner, service_url=job.service_url
        )
        answers.write(msgspec.json.encode(shown.content) + b"\n")
        answers.flush()


async def _start() -> AsyncChild:
    command = python_worker(
        "wikisync.service.render_worker", memory_bytes_max=MEMORY_BYTES_MAX
    )
    process = await start_worker_async(command, stderr=None)
    try:
        async with asyncio.timeout(START_S):
            await _line(process)
    except TimeoutError:
        log.warning("the process that renders pages does not start")
    except BaseException:
        await _end(process)
        raise
    return process


async def _ask(process: AsyncChild, job: bytes) -> bytes | None:
    """The answer to a job, or None when the process died."""
    assert process.stdin is not None, "it was started with a pipe"
    with contextlib.suppress(ConnectionError):
        process.stdin.write(job + b"\n")
        await process.stdin.drain()
    return await _line(process)


async def _line(process: AsyncChild) -> bytes | None:
    """The next line, or None when the process is over."""
    assert process.stdout is not None, "it was started with a pipe"
    line = bytearray()
    while not line.endswith(b"\n"):
        part = await process.stdout.read(CHUNK_BYTES)
        if not part:
            return None
        line += part
    return bytes(line)


async def _end(process: AsyncChild) -> None:
    """Kill a process, and close its pipes."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


if __name__ == "__main__":
    # Ctrl-C is for the service, which ends this process in its own time
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what markup prints by accident must not be taken for an answer
    with os.fdopen(os.dup(1), "wb") as channel:
        os.dup2(2, 1)
        main(sys.stdin.buffer, channel)

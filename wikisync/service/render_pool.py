"""Rendering pages beside the service: a few processes, each a page at a time.

A page over the deadline is shown as its source, and the process ends.
"""

import asyncio
import html
import logging

import msgspec

from wikisync.core.decoding import json_decoder
from wikisync.core.model import OwnerKind
from wikisync.core.system.processes import python_worker
from wikisync.core.system.worker import Worker, WorkerLost, WorkerNotStarted
from wikisync.service.answers import Refusal
from wikisync.service.pages import ShownPage
from wikisync.service.settings import MIB, Rendering
from wikisync.service.slots import NoSlot, Slots

log = logging.getLogger(__name__)

MEMORY_BYTES_MAX = 1024 * MIB
"""Of a process; a page that wants more is shown as its source."""
RETRY_AFTER_S = 10
_NOTICE = "This page took too long to render, so here is its source."


class RenderJob(msgspec.Struct, frozen=True):
    """One page to be rendered."""

    page: ShownPage
    repository: str
    """Folder of the wiki, as an absolute path."""
    commit: str
    """What the wiki's links and includes are resolved in."""
    kind: OwnerKind
    full_path: str
    service_url: str


_HTML = json_decoder(str)


class RenderPool:
    """A few processes, each started when it is first wanted."""

    def __init__(self, limits: Rendering) -> None:
        self._limits = limits
        self._slots = Slots(limits.processes_max, limits.waiting_max, limits.waiting_s)
        self._idle: list[Worker[str]] = []

    async def render(self, job: RenderJob, *, is_stranger: bool) -> str:
        """The page's HTML, or its source with a notice; 503 for too many pages."""
        try:
            async with self._slots.taken(is_stranger=is_stranger):
                worker = self._idle.pop() if self._idle else self._worker()
                rendered = None
                try:
                    rendered = await worker.ask_async(job)
                except WorkerNotStarted:
                    log.warning("the process that renders pages does not start")
                except WorkerLost:
                    pass
                self._idle.append(worker)
        except NoSlot:
            text = "503 Service Unavailable - too many pages are being rendered"
            retry = {"Retry-After": str(RETRY_AFTER_S)}
            raise Refusal(503, {"message": text}, retry) from None
        if rendered is not None:
            return rendered
        source = html.escape(job.page.content)
        return f"<p><em>{_NOTICE}</em></p>\n<pre>{source}</pre>"

    async def close(self) -> None:
        """End the processes."""
        while self._idle:
            await asyncio.to_thread(self._idle.pop().end)

    def _worker(self) -> Worker[str]:
        command = python_worker(
            "wikisync.service.rendering", memory_bytes_max=MEMORY_BYTES_MAX
        )
        seconds_max = self._limits.deadline_s
        return Worker(command, _HTML, wait_seconds_max=seconds_max, stderr=None)

"""The windows that look at a preview, and what each was told last."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from aiohttp import WSCloseCode, web

from wikisync.core.messages import Progress

WINDOWS_MAX = 64
"""Windows that listen at once; more are told to come back later."""
MESSAGE_BYTES_MAX = 1024
"""Of a window's message; it has nothing to say."""
HEARTBEAT_S = 20.0
BEAT_S = 4.0
"""So often a window hears, in an empty word, that the preview runs."""
WORD_S = 12.0
"""So often it hears its news again, also where nothing is new."""
LEAVE_S = 1.0
"""How long a window may take to hear that the preview ends."""


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that there is to say of one page."""

    run: str
    """Of the preview; a page of an earlier run is loaded again."""
    key: str
    """Hash of what the page is made from."""
    frame: str
    """Hash of what of the page only loading it again brings up to date."""
    is_failing: bool
    """The files do not make a page now; what is shown is the last good one."""
    problems: tuple[Mapping[str, str], ...]
    """Each with where, message and hint."""
    file: str
    """The page's file, or empty."""
    is_conflict: bool
    state: str
    """How far the page is on its way to the service; empty when unknown."""
    note: str
    wiki: str
    """How the wiki stands, in a few words; empty when unknown."""
    marks: Mapping[str, str]
    """Output path to state of pages that a person should look at."""
    wait: str
    """How far reading the pages is; empty when it is done."""


class Windows:
    """All windows of one preview."""

    def __init__(self) -> None:
        self._woken: dict[web.WebSocketResponse, asyncio.Event] = {}
        """Each window's connection, with what says that there may be news for it."""

    def __len__(self) -> int:
        return len(self._woken)

    def wake(self) -> None:
        """There may be news for any of them."""
        for woken in self._woken.values():
            woken.set()

    async def serve(
        self, request: web.Request, news: Callable[[], Awaitable[News]]
    ) -> web.WebSocketResponse:
        """Tell a window its news until it goes away."""
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=MESSAGE_BYTES_MAX, compress=False
        )
        # before anything is awaited, or many could come at once
        woken = self._woken[socket] = asyncio.Event()
        try:
            await socket.prepare(request)
            async with asyncio.TaskGroup() as tasks:
                works = (_tell(socket, woken, news), _beat(socket))
                telling = [tasks.create_task(work) for work in works]
                # reading is also what answers the browser's pings
                async for _ in socket:
                    pass
                for task in telling:
                    task.cancel()
        finally:
            del self._woken[socket]
        return socket

    async def leave(self) -> None:
        """Tell all of them that the preview ends."""
        for socket in tuple(self._woken):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await socket.close(code=WSCloseCode.GOING_AWAY)


async def _beat(socket: web.WebSocketResponse) -> None:
    """Say something whatever the site does, until the window closes."""
    with contextlib.suppress(ConnectionError):
        while not socket.closed:
            await asyncio.sleep(BEAT_S)
            await socket.send_str("")


async def _tell(
    socket: web.WebSocketResponse,
    woken: asyncio.Event,
    news: Callable[[], Awaitable[News]],
) -> None:
    """Say what is new whenever something is, until the window closes."""
    last, due_s, loop = b"", 0.0, asyncio.get_running_loop()
    while not socket.closed:
        woken.clear()
        try:
            text = msgspec.json.encode(await news())
            # it may be woken all the time for what other windows show
            if text != last or loop.time() >= due_s:
                await socket.send_str(text.decode())
                last, due_s = text, loop.time() + WORD_S
        except (ConnectionError, Stopped):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(due_s):
                await woken.wait()


class Stopped(Exception):
    """The preview ends while it reads pages."""


class Reading(Progress):
    """How far reading is; written by the thread of the site, read by the loop."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._label = ""
        self._total = 0
        self._done = 0

    def start(self, label: str, total: int | None) -> None:
        """A step begins."""
        self._label, self._total, self._done = label, total or 0, 0

    def advance(self, steps: int = 1) -> None:
        """Some pages are read."""
        self._done += steps
        self.check()

    def stop(self) -> None:
        """End with the page in hand."""
        self._stopped.set()

    def check(self) -> None:
        """Raise ``Stopped`` where nobody waits any more."""
        if self._stopped.is_set():
            raise Stopped

    def line(self) -> str:
        """How far it is, for a person."""
        said = f"{self._label}: {self._done:,} of {self._total:,}"
        return said if self._total else "reading the folder"

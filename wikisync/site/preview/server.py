"""A folder of wikis as a site on this machine, which follows every save.

    async with running_preview(load, cache) as preview:
        print(preview.url)

One thread owns the site (``site``); the loop owns everything else.  A window
says which page it shows and is told what there is to say of it, always the whole of
it and only when it differs from what it was told last: a lost connection loses
nothing, and there is no queue that could grow.

Nothing here is global: a program may run it beside other work, or twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import re
import secrets
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import quote

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from msgspec import Struct

from wikisync.core.model import Problem, WikiOwner
from wikisync.core.system.connections import is_loopback, note_request
from wikisync.core.system.parallel import finish_in_thread
from wikisync.core.system.running import beside
from wikisync.errors import FolderError, SiteError, WikisyncError
from wikisync.folder.replica import LATE
from wikisync.folder.safe_open import opened_below
from wikisync.folder.watch import log_notice
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bodies import BodyDamaged
from wikisync.site.index import bounded_reader
from wikisync.site.manifest import content_type
from wikisync.site.preview import guard
from wikisync.site.preview.editor import Editor
from wikisync.site.preview.following import follow_folders
from wikisync.site.preview.pages import Rendered, SearchIndex
from wikisync.site.preview.routes import WriteRoutes, said
from wikisync.site.preview.site import LiveSite, Load, PageView, held_cache
from wikisync.site.preview.states import Decisions, PageStatus, SyncStatus
from wikisync.site.preview.windows import WINDOWS_MAX, News, Reading, Stopped, Windows
from wikisync.site.preview.writing import KnowAgain, WikiDesk
from wikisync.site.sources import SourceFile

OWN = "/-/preview/"
BODY_BYTES_MAX = 16 * 1024
SHUTDOWN_S = 0.5
"""How long answers under way may take when the preview ends."""
MARKS_MAX = 500
"""Pages marked in the navigation of one window."""
START_WAIT_S = 2.0
"""How long a page may wait for the first look at the folders, before we say that."""
READING_NEWS_S = 0.25
"""Between two words to windows about reading that still goes on."""
STATUS_LOOK_S = 0.25
"""Between two looks at whether the wikis may stand otherwise."""
STATUS_REST = 4.0
"""How much longer than a look at them the rest after it is."""
FOR_EVER = "max-age=31536000, immutable"
"""Of files whose name holds the hash of what is in them."""

P = ParamSpec("P")
T = TypeVar("T")
Notice = Callable[[Problem], None]


class PreviewOptions(Struct, frozen=True):
    """How a preview runs."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""
    is_port_wanted: bool = True
    """Nothing but that port will do; else the next free one is taken."""
    editor: tuple[str, ...] = ()
    """Command that opens a file, without the file."""
    settings: Path | None = None
    """File whose change means that everything is read again."""
    private: Path | None = None
    """The workspace's own folder, where deleted pages are kept; by default the one
    beside each wiki."""
    know_again: KnowAgain | None = None
    is_read_only: bool = False
    """No page can be written in the browser."""
    decisions: Decisions | None = None
    """What a person may decide; None for a folder that is in no workspace."""


USUAL_OPTIONS = PreviewOptions()


@contextlib.asynccontextmanager
async def running_preview(
    load: Load,
    cache: Path,
    options: PreviewOptions = USUAL_OPTIONS,
    *,
    notice: Notice = log_notice,
) -> AsyncIterator[Preview]:
    """Run a preview until the block ends; it answers when the block begins.

    Args:
        load: What is to be shown; called in a thread, and again when it may differ.
        cache: Folder of its own for what the next run can use again; where another
            preview holds it, nothing is kept.
        options: Where it listens, and more.
        notice: Told what a person should know, such as that folders are polled.

    Raises:
        SiteError: the address is not of this machine alone, or the port is taken.
    """
    if not is_loopback(options.host):
        message = f"a preview can only run on this machine, not on {options.host}"
        hint = "omit the host, or publish the site with wikisync build"
        raise SiteError(message, hint=hint)
    preview = Preview(load, options, notice)
    async with preview.listening(), preview.at_work(cache):
        yield preview


class Preview:
    """A preview that runs."""

    def __init__(self, load: Load, options: PreviewOptions, notice: Notice) -> None:
        self._options = options
        self._notice = notice
        self._run = secrets.token_hex(8)
        self._guard = guard.Guard(options.host, options.port, secrets.token_urlsafe(32))
        self._editor = Editor(options.editor)
        self._thread = ThreadPoolExecutor(1, "wikisync-preview")
        self._reading = Reading()
        self._site = LiveSite(load, self._reading)
        searched = self._site.searched
        self._search = SearchIndex(lambda known: self._in_thread(searched, known))
        self._windows = Windows()
        self._ready = asyncio.Event()
        self._changed = asyncio.Event()
        """Files were taken over; there may be pages to read."""
        self._statuses: dict[WikiOwner, SyncStatus] = {}
        """How the wikis that windows show stand, as they were looked at last."""
        self._taken = 0
        """So often files were taken over."""
        # a checkout that was not built anew has no editor yet
        library = resources.files("wikisync.vendor").joinpath("codemirror.js")
        self._is_read_only = options.is_read_only or not library.is_file()
        private, know = options.private, options.know_again
        self._desk = cache(lambda root: WikiDesk(root, private, know))
        asked = self._site, self._in_thread, self._refresh, self._desk
        how = options.decisions, self._editor, self._is_read_only
        self._writing = WriteRoutes(*asked, *how)
        self._scripts: dict[str, bytes] = {}
        """The scripts of our pages, by their addresses."""
        later = [self._own_script(__package__, "desk.js")]
        if not self._is_read_only:
            basis = self._own_script("wikisync.vendor", "codemirror.js")
            modes = self._own_script(__package__, "modes.js", basis)
            imported = (basis, modes, *later)
            later.append(self._own_script(__package__, "write.js", *imported))
        self._live_url = self._own_script(__package__, "live.js", *later)
        self._client_url = self._own_script(__package__, "client.js")

    def _own_script(self, package: str, name: str, *imported: str) -> str:
        """Answer with a script, which imports others; gives its address."""
        script = resources.files(package).joinpath(name).read_bytes()
        if package == __package__:
            # comments and indents are for those who read the file
            script = re.sub(rb"(?m)^\s*//.*\n|^\t+", b"", script)
        for url in imported:
            plain = re.sub(r"-[0-9a-f]+(?=\.js$)", "", url.removeprefix(OWN))
            script = script.replace(f'"./{plain}"'.encode(), f'"{url}"'.encode())
        stem, digest = name.removesuffix(".js"), hashlib.sha256(script).hexdigest()
        url = f"{OWN}{stem}-{digest[:12]}.js"
        self._scripts[url] = script
        return url

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"{self._guard.origin}/"

    @property
    def failure(self) -> WikisyncError | None:
        """Why the files do not make a site just now."""
        return self._site.failure

    async def ready(self) -> None:
        """Wait for the first look at the files to end, well or badly."""
        await self._ready.wait()

    # Its life -----------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Answer on the port; the address is known from then on."""
        app = web.Application(
            middlewares=[note_request, self._guarded], client_max_size=BODY_BYTES_MAX
        )
        app.router.add_get(f"{OWN}events", self._events)
        self._writing.add(app.router, OWN)
        for url, script in self._scripts.items():
            app.router.add_get(url, partial(_script, script))
        app.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_S
        )
        await runner.setup()
        try:
            wanted = self._options.host, self._options.port
            is_wanted = self._options.is_port_wanted
            listening = guard.listening(runner, *wanted, is_wanted=is_wanted)
            async with listening as (host, port):
                self._guard = guard.Guard(host, port, self._guard.token)
                yield
        finally:
            await self._windows.leave()
            await runner.cleanup()
            self._editor.leave()

    @contextlib.asynccontextmanager
    async def at_work(self, cache: Path) -> AsyncIterator[None]:
        """Keep the site in sync with the files."""
        kept = contextlib.ExitStack()
        try:
            self._site.use(await self._in_thread(kept.enter_context, held_cache(cache)))
            async with beside(
                self._follow_files(),
                self._follow_start(),
                self._read_rest(),
                self._follow_status(),
                # the first save would wait for the process that parses
                finish_in_thread(bounded_reader().prepare),
            ):
                yield
        finally:
            self._reading.stop()
            self._thread.submit(kept.close)
            await asyncio.to_thread(self._thread.shutdown)

    async def _follow_files(self) -> None:
        await self._in_thread(self._site.read_inputs)
        settings, refresh = self._options.settings, self._refresh
        look = None if self._is_read_only else self._tell_late
        await follow_folders(self._site, settings, refresh, self._notice, look)

    async def _tell_late(self) -> None:
        message = "a program saved another text than the preview"
        hint = f"it is in the trash: {LATE}"
        for folder in self._site.folders:
            with contextlib.suppress(WikisyncError):
                for file in await finish_in_thread(self._desk(folder).recover):
                    self._notice(Problem("late", file, message, hint))

    async def _refresh(self, paths: frozenset[str] | None) -> None:
        await self._in_thread(self._site.refresh, paths)
        self._ready.set()
        self._changed.set()
        self._taken += 1
        self._windows.wake()

    async def _follow_status(self) -> None:
        """Look at how the wikis stand that windows show, when it may be otherwise."""
        decisions, loop = self._options.decisions, asyncio.get_running_loop()
        seen: object = None
        while decisions is not None:
            rest_s = STATUS_LOOK_S
            now = self._taken, decisions.stamp(), tuple(self._statuses)
            if now != seen and self._statuses and self._windows:
                seen, began_s, before = now, loop.time(), dict(self._statuses)
                for owner in before:
                    status = await finish_in_thread(_status_of, decisions, owner)
                    self._statuses[owner] = status
                if self._statuses != before:
                    self._windows.wake()
                # it takes a second in a large wiki
                rest_s += STATUS_REST * (loop.time() - began_s)
            await asyncio.sleep(rest_s)

    async def _follow_start(self) -> None:
        while not self._ready.is_set():
            await asyncio.sleep(READING_NEWS_S)
            self._windows.wake()

    async def _read_rest(self) -> None:
        """Read what nobody asked for, step by step: whoever asks comes between."""
        loop = asyncio.get_running_loop()
        while True:
            await self._changed.wait()
            self._changed.clear()
            began_s, sent_s = loop.time(), 0.0
            while await self._in_thread(self._site.read_on):
                if loop.time() - sent_s > READING_NEWS_S:
                    sent_s = loop.time()
                    self._windows.wake()
            if sent_s:
                self._windows.wake()
            if loop.time() - began_s > READING_NEWS_S:
                # What many pages left stays in memory.  To examine it takes as long as
                # a save, so the collector does it once, and not after each save.
                gc.unfreeze()
                gc.collect()
                gc.freeze()

    async def _in_thread(
        self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Work in the one thread that the site belongs to."""
        self._reading.check()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))

    # Requests -----------------------------------------------------------------------

    @web.middleware
    async def _guarded(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """Refuse what is not ours, and seal what is answered."""
        reason = self._guard.refusal(request)
        if reason is None and request.method not in guard.SAFE_METHODS:
            reason = self._guard.refusal_of_change(request)
            # a page that is not read yet is not gone
            if reason is None:
                await self._ready.wait()
        try:
            answer = await handler(request) if reason is None else said(403, reason)
        except web.HTTPException as exc:
            answer = said(exc.status, exc.reason)
        except Stopped:
            answer = said(503, "the preview ends", "start it again")
        except (OSError, sqlite3.Error, BodyDamaged) as exc:
            answer = said(500, f"the preview cannot answer: {exc}")
        if not answer.prepared:
            for name, value in guard.HEADERS.items():
                answer.headers.setdefault(name, value)
        return answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if not path or path.endswith("/"):
            path += "index.html"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_WAIT_S):
                await self._ready.wait()
        if not self._ready.is_set():
            return self._own_page(path, "One moment", self._reading.line(), 503)
        if path.startswith(SEARCH_FOLDER):
            content = await self._search.file(path.removeprefix(SEARCH_FOLDER))
            if content is not None:
                return self._rendered(path, Rendered("", content, content_type(path)))
        try:
            found = await self._in_thread(self._site.answer, path)
        except WikisyncError as exc:
            key = (await self._in_thread(self._site.look, path)).key
            if self._is_first_sync:
                line = "This page comes with the first sync."
                return self._own_page(path, "Not synced yet", line, 503, key)
            title = "This page cannot be shown"
            return self._own_page(path, title, exc.message, 500, key)
        if isinstance(found, str):
            return web.Response(status=302, headers={"Location": f"/{quote(found)}"})
        if isinstance(found, SourceFile):
            return await _send_file(request, found, content_type(path))
        return self._rendered(path, found)

    @property
    def _is_first_sync(self) -> bool:
        """Whether nothing was shown yet as the sync has not made a folder."""
        return self._options.decisions is not None and self._site.is_waiting_for_folder

    def _rendered(self, path: str, found: Rendered) -> web.Response:
        if found.type == "text/html":
            status = 200 if found.is_found else 404
            text = found.content.decode()
            return self._page(path, found.key, text, status, found.frame)
        is_asset = path.startswith("-/assets/")
        return web.Response(
            body=found.content,
            content_type=found.type,
            charset="utf-8" if found.type.startswith("text/") else None,
            headers={"Cache-Control": FOR_EVER} if is_asset else None,
        )

    def _page(
        self, path: str, key: str, text: str, status: int, frame: str = ""
    ) -> web.Response:
        """A page with our script in it, and its policy in the header."""
        text, policy = self._guard.page_policy(text)
        write = "" if self._is_read_only else ' data-write="1"'
        script = (
            f'<script src="{self._client_url}" data-at="{escape(path)}"'
            f' data-key="{key}" data-frame="{frame}"'
            f' data-run="{self._run}" data-live="{self._live_url}"{write}'
            f' data-token="{self._guard.token}"></script>'
        )
        head, end, tail = text.rpartition("</body>")
        headers = {"Content-Security-Policy": policy}
        text = head + script + end + tail if end else text + script
        answer = web.Response(text=text, status=status, headers=headers)
        answer.content_type = "text/html"
        return answer

    def _own_page(
        self, path: str, title: str, line: str, status: int, key: str = ""
    ) -> web.Response:
        """A page where the site has none to show."""
        text = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(title)}</title></head><body><main>"
            f"<h1>{escape(title)}</h1><p>{escape(line)}</p></main></body></html>"
        )
        return self._page(path, key, text, status)

    # Windows ------------------------------------------------------------------------

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if "Origin" not in request.headers:
            return said(403, "a window must report its page")
        if len(self._windows) >= WINDOWS_MAX:
            return said(503, "too many windows are open")
        path = request.query.get("at", "")
        return await self._windows.serve(request, lambda: self._news(path))

    async def _news(self, path: str) -> News:
        is_ready = self._ready.is_set()
        look = (
            await self._in_thread(self._site.look, path) if is_ready else PageView("")
        )
        whole, status = SyncStatus(), PageStatus()
        if look.owner is not None and look.slug is not None:
            whole = self._statuses.setdefault(look.owner, whole)
            status = whole.pages.get(look.slug, whole.usual)
        return News(
            run=self._run,
            key=look.key,
            frame=look.frame,
            is_failing=look.is_failing,
            # the page itself says what it waits for
            problems=tuple(
                {"where": one.subject, "message": one.message, "hint": one.hint}
                for one in (() if self._is_first_sync else look.problems)
            ),
            file=look.file,
            is_conflict=bool(look.conflict),
            state=status.state,
            note=status.note,
            wiki=whole.line,
            marks=self._marks(),
            wait=_wait(*look.count) if is_ready else self._reading.line(),
        )

    def _marks(self) -> dict[str, str]:
        """Pages in conflict, held or waiting, by output path."""
        marks = dict.fromkeys(self._site.conflicts(), "conflict")
        for owner, paths in self._site.wikis:
            whole = self._statuses.get(owner, SyncStatus())
            for slug, status in whole.pages.items():
                at = paths.get(slug)
                if at and len(marks) < MARKS_MAX:
                    marks.setdefault(at, status.state)
        return marks


async def _script(content: bytes, _request: web.Request) -> web.Response:
    answer = web.Response(body=content, content_type="text/javascript", charset="utf-8")
    answer.headers["Cache-Control"] = FOR_EVER
    answer.enable_compression()
    return answer


def _wait(read: int, total: int) -> str:
    """How far reading is, for a person; empty when it is done."""
    said = f"read {read:,} of {total:,} pages; titles and links may still change"
    return "" if read == total else said


def _status_of(decisions: Decisions, owner: WikiOwner) -> SyncStatus:
    try:
        return decisions.sync_status(owner)
    except WikisyncError as exc:
        return SyncStatus(exc.message)


class _OpenedFile(web.FileResponse):
    """A file that is sent from its descriptor, while that is open."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it once.

        aiohttp prepares what a handler returns; by then the number of the descriptor
        is nobody's, or another file's.
        """
        is_second = self.prepared
        if is_second:
            return None
        sending = asyncio.create_task(  # noqa: TID251 - outlives who waits
            super().prepare(request)
        )
        try:
            return await asyncio.shield(sending)
        finally:
            # a file that a thread just opens is closed by nobody else; one that is
            # being sent must not wait for a reader when the preview ends
            if self.prepared:
                sending.cancel()


async def _send_file(
    request: web.Request, file: SourceFile, kind: str
) -> web.StreamResponse:
    """Send a file of a wiki, in which no script runs; typed by its published name.

    It may have become a link since the folder was scanned, so what is sent is what was
    opened without following any.
    """
    # the browser's own viewer of these does not work in a sandbox
    is_shown = kind == "application/pdf"
    policy = "frame-ancestors 'none'" if is_shown else guard.ATTACHMENT_POLICY
    headers = {**guard.HEADERS, "Content-Type": kind, "Content-Security-Policy": policy}
    try:
        with opened_below(file.folder, file.name) as descriptor:
            answer = _OpenedFile(f"/dev/fd/{descriptor}", headers=headers)
            await answer.prepare(request)
            return answer
    except (FileNotFoundError, FolderError):
        return said(404, f"{file.name} cannot be read")

"""A watch from start to stop signal, through changes of its configuration; its log."""

import asyncio
import json
import logging
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.settings import ClientSettings
from wikisync.config.sections import FILE_NAME
from wikisync.config.trust import OWN_KEYS, refuse_unagreed
from wikisync.core.layout import LOG_FILE
from wikisync.core.system.file_status import status_at
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.core.system.running import stop_signal
from wikisync.core.terminal import VisibleLines, visible_line
from wikisync.errors import ExitCode, WikisyncError
from wikisync.folder.safe_open import folder_error
from wikisync.folder.workspace import WATCH, holder_of
from wikisync.watch.listen import listening, watch_app
from wikisync.watch.previewing import previewing
from wikisync.watch.run import Watch
from wikisync.watch.systemd import Notifier
from wikisync.workspace.attention import noting_halts
from wikisync.workspace.configured import ConfiguredWorkspace, find_workspace
from wikisync.workspace.failures import REFUSED_RETRY_S, Condition
from wikisync.workspace.folders import ShownFolder
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.runner import CYCLE
from wikisync.workspace.service import Credentials

LOG_BYTES_MAX = 2 * 1024 * 1024
LOG_FILES_KEPT = 3
MESSAGE_CHARS_MAX = 4000

LogFormat = Literal["text", "json"]


class _Lines(VisibleLines):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name
        message = record.getMessage()[:MESSAGE_CHARS_MAX]
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        cycle = f" [{CYCLE.get()}]" if CYCLE.get() else ""
        line = f"{at} {record.levelname}{cycle} {message}"
        return visible_line(line)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "cycle": CYCLE.get(),
            "where": record.name,
            "message": record.getMessage()[:MESSAGE_CHARS_MAX],
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


class _LogFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        make_private_file(Path(self.baseFilename))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name
        """Lose the line: a full disk is no reason for tracebacks on the terminal."""


@contextmanager
def logging_to(private: Path, log_format: LogFormat) -> Iterator[Path]:
    """Write the package's log into the workspace until the block ends; the file."""
    path = private / LOG_FILE
    try:
        make_private_folder(private)
        handler = _LogFile(
            path, maxBytes=LOG_BYTES_MAX, backupCount=LOG_FILES_KEPT, encoding="utf-8"
        )
    except OSError as exc:
        raise folder_error("write", str(exc.filename or path), exc) from exc
    handler.setFormatter(_JsonLines() if log_format == "json" else _Lines())
    handler.setLevel(logging.INFO)
    logger = logging.getLogger("wikisync")
    level = logger.level
    logger.addHandler(handler)
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)
    try:
        yield path
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()


STOP_S = 1.5
"""How long a request under way may hold up the end; what came of it is found out
by the next start."""
PAUSE_MAX_S = 10.0
"""A longer pause that the service asks for is made where it was met, and reported."""
LIMIT_WAIT_MAX_S = 600.0
"""Then a request may be made again; the next cycle that makes it comes within five
minutes, so that one is made every 15 minutes at least."""
DESCRIPTORS = 8192
"""Files and connections that a watch may have open, where the system allows it."""
HELD_SCAN_S = 0.5
ANEW_SCAN_S = 2.0


class WatchRequest(Struct, frozen=True):
    """What a person asks of a watch."""

    excluded: tuple[str, ...] = ()
    adopt: Literal["push", "hold"] = "hold"
    """What a first sync does with pages that are only here."""
    settle_ms: int | None = None
    """How long a saved file must have been left alone; None as configured."""
    has_site: bool = False
    """Whether the published site is kept up to date in any case."""
    has_preview: bool = False
    log_format: LogFormat = "text"
    allows_network_disk: bool = False

    def applied(self, workspace: ConfiguredWorkspace) -> ConfiguredWorkspace:
        """The workspace as it is to be watched; UsageError where no wiki is left."""
        workspace = workspace.without(self.excluded)
        if self.settle_ms is None:
            return workspace
        sync = replace(workspace.config.sync, settle_ms=self.settle_ms)
        return replace(workspace, config=replace(workspace.config, sync=sync))


async def watch_workspace(
    credentials: Credentials, start: Path, request: WatchRequest
) -> None:
    """Watch until a signal ends it; SIGHUP goes on with the new configuration."""
    allow_descriptors()
    workspace, before = request.applied(find_workspace(start)), None
    process, messages = _Process(credentials, request), credentials.messages
    while not process.stopped.is_set():
        try:
            with logging_to(workspace.private, request.log_format):
                following = await process.watch(workspace)
        except KeyboardInterrupt:
            break  # while it waited for a program, in which no loop runs
        except WikisyncError as error:
            if before is None:
                raise
            messages.error(error)
            messages.note("the previous configuration stays in use")
            workspace, before = before, None
        else:
            workspace, before = following, workspace
    messages.note("stopped")


def allow_descriptors() -> None:
    """Raise the limit on open files, which in a shell may be 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if resource.RLIM_INFINITY != soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Process:
    """What stays from one configuration to the next."""

    def __init__(self, credentials: Credentials, request: WatchRequest) -> None:
        self.credentials, self.request = credentials, request
        self.messages = credentials.messages
        self.notifier, self.reload = Notifier(os.environ), asyncio.Event()
        loop = asyncio.get_running_loop()
        # every change is journaled before it is made, so that this is safe
        end = partial(loop.call_later, STOP_S, os._exit, int(ExitCode.DONE))
        self.stopped = stop_signal(end)
        loop.add_signal_handler(signal.SIGHUP, self.reload.set)

    async def watch(self, workspace: ConfiguredWorkspace) -> ConfiguredWorkspace:
        """Watch under one configuration; the one to go on with."""
        refuse_unagreed(workspace.root, workspace.config, OWN_KEYS)
        await self._wait_for_others(workspace)
        if self.stopped.is_set():
            return workspace
        async with AsyncExitStack() as stack:
            stack.enter_context(noting_halts(workspace.root))
            opened = stack.enter_context(
                open_workspace(
                    workspace,
                    allows_network_disk=self.request.allows_network_disk,
                    is_watch=True,
                )
            )
            for notice in opened.notices():
                self.messages.warn(notice)
            settings = ClientSettings(
                rate_limit_pause_max_s=PAUSE_MAX_S, limit_wait_max_s=LIMIT_WAIT_MAX_S
            )
            service = self.credentials.open(workspace, settings)
            client = await stack.enter_async_context(service)
            watch = Watch(
                self.messages,
                opened,
                client,
                self.notifier,
                uploads_new=self.request.adopt == "push",
                publishes=self.request.has_site or workspace.config.site.publish,
            )
            sync = workspace.config.sync
            if sync.listen:
                file, named = sync.hook_secret_file, "[sync] hook_secret_file"
                secret = self.credentials.hook_secret(file, named)
                app = watch_app(secret, watch.note_hook, watch.report)
                url = await stack.enter_async_context(listening(app, sync.listen))
                self.messages.note(f"webhooks and health: {url}")
            if self.request.has_preview:
                shown = ShownFolder(workspace.root, workspace.root)
                section = workspace.config.preview
                preview = await stack.enter_async_context(
                    previewing(shown, self.credentials, section)
                )
                self.messages.note(f"preview: {preview.url}")
            return await self._until_ended(watch, workspace)

    async def _wait_for_others(self, workspace: ConfiguredWorkspace) -> None:
        """Wait until a sync or the like has ended; another watch does not."""
        is_reported = False
        while not self.stopped.is_set():
            holder = holder_of(workspace.private)
            if holder is None or holder.startswith(WATCH):
                return
            if not is_reported:
                self.messages.note(f"waiting for another wikisync to finish: {holder}")
                is_reported = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopped.wait(), HELD_SCAN_S)

    async def _until_ended(
        self, watch: Watch, workspace: ConfiguredWorkspace
    ) -> ConfiguredWorkspace:
        """Run the watch until a signal ends it, or a new configuration is there."""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(watch.run())
            anew = group.create_task(self._begin_anew(watch, workspace))
            stop = group.create_task(self.stopped.wait())
            while True:
                reload = group.create_task(self.reload.wait())
                await asyncio.wait({stop, reload}, return_when=asyncio.FIRST_COMPLETED)
                reload.cancel()
                following = self._reread(workspace)
                if following is not None:
                    break
                self.notifier.ready()
            for task in (working, anew, stop):
                task.cancel()
        return following

    def _reread(self, workspace: ConfiguredWorkspace) -> ConfiguredWorkspace | None:
        """The configuration to go on with; None where the new one is wrong."""
        if self.stopped.is_set():
            self.notifier.stopping()
            return workspace
        self.reload.clear()
        self.notifier.reloading()
        try:
            new = self.request.applied(find_workspace(workspace.root))
            refuse_unagreed(new.root, new.config, OWN_KEYS)
            self.credentials.of_workspace(new)
        except WikisyncError as error:
            self.messages.error(error)
            self.messages.note("the previous configuration stays in use")
            return None
        self.messages.note("reloading the configuration")
        return new

    async def _begin_anew(self, watch: Watch, workspace: ConfiguredWorkspace) -> None:
        """Begin anew with another token after a refusal, or where the state is lost."""
        named = self.credentials.token_file or workspace.config.service.token_file
        path = Path(named) if named else None
        is_asked = bool(workspace.config.service.token_command)
        before = status_at(path)
        tried: object = None
        while True:
            await asyncio.sleep(ANEW_SCAN_S)
            opened, outage, turn = watch.opened, watch.runner.outage, 0.0
            if outage is None or outage.condition is not Condition.REFUSED:
                before = status_at(path)
            elif is_asked:
                turn = (watch.runner.clock() - outage.since) // REFUSED_RETRY_S
            is_lost = opened.state.is_damaged or opened.has_lost_state
            # once for each of them: what is wrong is not taken
            now = (status_at(workspace.root / FILE_NAME), status_at(path), turn)
            if now != tried and (is_lost or turn or status_at(path) != before):
                tried = now
                self.reload.set()

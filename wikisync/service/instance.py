"""A running service's parts together: settings, records, wikis, address.

One thread owns the records' connection, so that the loop never waits for a disk.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from wikisync.core.model import OwnerKind
from wikisync.errors import ServiceError
from wikisync.service.committing import DEFAULT_BRANCH
from wikisync.service.git_process import GitRunner
from wikisync.service.hooks import Deliveries
from wikisync.service.projects.tables import note_write
from wikisync.service.rendering import RenderPool
from wikisync.service.repository import WikiRepository, WikiStorage
from wikisync.service.settings import Limits, Settings
from wikisync.service.tables import Tables

ADMIN = "root"
"""Who is there from the first start on."""


class Service:
    """One embedded service on one data folder."""

    def __init__(self, data: Path, settings: Settings | None = None) -> None:
        self.data = data
        self.settings = settings or Settings()
        """Replaced as a whole to change limits."""
        self.git = GitRunner(self.settings.git)
        self.deliveries = Deliveries(
            self.settings.hook_limits, self.settings.profile.version
        )
        self.records = Records(data / "records.db")
        self.url = "http://127.0.0.1"
        """Where it answers, without a trailing slash; known once it listens."""
        self.first_token: str | None = None
        """The administrator's token, only when this start made it."""
        self.was_open = False
        """Whether others on this machine could read its folder until now."""
        self.renderer = RenderPool(self.settings.rendering)
        self._wikis: dict[tuple[OwnerKind, int], WikiStorage] = {}
        self._codes: dict[int, WikiStorage] = {}
        self.grown: set[WikiRepository] = set()
        """Repositories that changed and may have to be packed."""
        self._copies: asyncio.Queue[int] = asyncio.Queue()
        self._fetches: asyncio.Queue[int] = asyncio.Queue()
        self.purge_wanted = asyncio.Event()
        """What is due shall be removed now and not at the next interval."""

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self.settings.limits

    @property
    def is_free(self) -> bool:
        """Whether it is like the free edition."""
        return not self.settings.profile.is_enterprise

    @property
    def spool(self) -> Path:
        """Folder for bodies on their way in."""
        return self.data / "spool"

    def wiki(self, kind: OwnerKind, owner_id: int) -> WikiStorage:
        """The wiki of a project or group, by the owner's id."""
        key = (kind, owner_id)
        if key not in self._wikis:
            path = self.wiki_folder(owner_id, kind)
            repository = WikiRepository(path, limits=self.limits)
            # a group has no activity
            note = partial(self._note_write, owner_id) if kind == "project" else None
            self._wikis[key] = WikiStorage(repository, note, self.grown.add)
        return self._wikis[key]

    def code(self, project_id: int, first_branch: str = DEFAULT_BRANCH) -> WikiStorage:
        """A project's own repository; the branch counts when it is made."""
        if project_id not in self._codes:
            folder = self.code_folder(project_id)
            repository = WikiRepository(folder, first_branch, self.limits)
            note = partial(self._note_write, project_id)
            self._codes[project_id] = WikiStorage(repository, note, self.grown.add)
        return self._codes[project_id]

    def code_folder(self, project_id: int) -> Path:
        """Where a project's own repository is."""
        return self.data / "repositories" / f"{project_id}.git"

    def wiki_folder(self, owner_id: int, kind: OwnerKind = "project") -> Path:
        """Where the wiki of a project or group is."""
        return self.data / "wikis" / f"{kind}s" / f"{owner_id}.git"

    def uploads_folder(self, project_id: int) -> Path:
        """Where the files sent to a project are."""
        return self.data / "uploads" / str(project_id)

    def avatar_folder(self, project_id: int) -> Path:
        """Where a project's picture is."""
        return self.data / "avatars" / str(project_id)

    def folders_of(self, project_id: int) -> tuple[Path, ...]:
        """Everything of a project that is not in the records."""
        return (
            self.code_folder(project_id),
            self.wiki_folder(project_id),
            self.uploads_folder(project_id),
            self.avatar_folder(project_id),
        )

    def forget(self, project_id: int) -> None:
        """Let go of the repositories of a project that is gone."""
        self._codes.pop(project_id, None)
        self._wikis.pop(("project", project_id), None)

    def imports(self, *, is_fetched: bool) -> asyncio.Queue[int]:
        """Projects to be filled with a repository; a silent server holds up no fork."""
        return self._fetches if is_fetched else self._copies

    async def new_token(self) -> str:
        """A new token for the administrator."""
        user = await self.records.ask(Tables.user_named, ADMIN)
        assert user is not None, "the first start makes the administrator"
        return await self.records.ask(Tables.add_token, user.id)

    async def wait_for_purge(self) -> None:
        """Wait until a purge is wanted, or its interval is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.settings.deletion.purge_interval_s):
                await self.purge_wanted.wait()
        self.purge_wanted.clear()

    async def wait_for_import(self) -> None:
        """Wait until a repository may be filled: at once."""

    def _note_write(self, project_id: int, user_id: int) -> None:
        self.records.note(note_write, user_id, project_id)


log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Records:
    """The tables behind the one thread that owns their connection."""

    def __init__(
        self, path: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="records")
        self._tables: Tables | None = None

    async def open(self) -> None:
        """Connect, making the file if it is new; ServiceError if it is none of ours."""
        await self._run(self._connect)

    async def ask(
        self,
        question: Callable[Concatenate[Tables, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a function of ``Tables`` in its thread, which ends it in any case."""
        tables = self._opened()
        return await self._run(lambda: question(tables, *args, **kwargs))

    def note(
        self,
        change: Callable[Concatenate[Tables, P], None],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Have something noted that nobody waits for; who asks later finds it noted."""
        done = self._thread.submit(change, self._opened(), *args, **kwargs)
        done.add_done_callback(_log_failure)

    def today(self) -> str:
        """The present date, ``YYYY-MM-DD``."""
        return self._now().date().isoformat()

    async def close(self) -> None:
        """Close the connection and end the thread."""
        if self._tables is not None:
            await self._run(self._tables.close)
        self._thread.shutdown(wait=False)

    def _opened(self) -> Tables:
        assert self._tables is not None, "records are open while the service runs"
        return self._tables

    def _connect(self) -> None:
        try:
            self._tables = Tables(self._path, self._now)
        except sqlite3.Error as error:
            raise ServiceError(
                f"cannot use {self._path} as the service's records: {error}",
                hint="choose another --data folder, or restore the file",
            ) from error

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _log_failure(done: Future[None]) -> None:
    error = done.exception()
    if error is not None:
        log.error("the records do not take a note: %r", error)

"""The embedded service for tests: real git, real SQLite, 127.0.0.1, port 0.

Quirks (``quirks.Quirk``; each is named and described there) are
on from the start with ``embedded_service(data, quirks={Quirk.META_ID})``, and are
switched while it runs::

    service.quirks = {Quirk.EMPTY_LIST}     # exactly these
    service.quirks |= {Quirk.NO_ETAG}       # one more
    service.quirks = ()                     # none: a sound service again

A change starts the counts anew: of the faults that only every third request meets
(``quirks.EVERY``), the first request afterwards meets one.  While
``Quirk.ANOTHER_PROJECT`` is on, the methods here that fill and read wikis reach the
other wikis as well.

Webhooks: ``service.hooks = (Hook(url, "secret"),)`` with ``settings.Hook``, also while
it runs, and ``await service.wait_for_hooks()`` until every receiver was told.
Git over HTTP is at ``service.git_url(owner)``, the token in it; ``tests.support.git``
runs git on it, and ``Quirk.NO_GIT`` takes it away.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from tests.support.quirks import Quirk
from tests.support.quirky_app import QuirkyApp
from tests.support.quirky_service import QuirkyService
from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import OwnerKind, Page, WikiOwner
from wikisync.core.system.private import make_private_folder, write_private_file
from wikisync.service import jobs
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.instance import Service
from wikisync.service.loading import LoadedFolder, load_folder
from wikisync.service.repository import WikiStorage
from wikisync.service.server import running_service
from wikisync.service.settings import Hook, Settings
from wikisync.service.tables import Tables

T = TypeVar("T")
Pages = Mapping[str, str] | Iterable[Page]

AUTHOR = Author("Tester", "tester@example.com")
ROOT = 1
"""Id of the administrator."""


class EmbeddedService:
    """A running service with short ways to fill it."""

    def __init__(self, running: Service, token: str) -> None:
        self.running = running
        self.token = token
        """The administrator's token."""

    @property
    def service(self) -> QuirkyService:
        """Its parts, and the faults that can be switched."""
        assert isinstance(self.running, QuirkyService)
        return self.running

    @property
    def url(self) -> str:
        """Base URL, without ``/api/v4``."""
        return self.running.url

    @property
    def headers(self) -> dict[str, str]:
        """The administrator's token as a header."""
        return {"PRIVATE-TOKEN": self.token}

    async def add_project(
        self,
        full_path: str,
        pages: Pages = (),
        *,
        visibility: str = "private",
        wiki_access_level: str = "enabled",
        is_archived: bool = False,
        description: str | None = None,
    ) -> int:
        """A project with pages; gives its id.  Again: its settings change."""
        records = self.running.records
        root = await records.ask(Tables.user_named, "root")
        assert root is not None
        project_id = await records.ask(
            Tables.add_project,
            full_path,
            creator_id=root.id,
            description=description,
            visibility=visibility,
            wiki_access_level=wiki_access_level,
            is_archived=is_archived,
            update=True,
        )
        await self.add_pages(WikiOwner("project", full_path), pages)
        return project_id

    async def add_group(
        self,
        full_path: str,
        pages: Pages = (),
        *,
        wiki: bool = True,
        visibility: str = "private",
        wiki_access_level: str | None = None,
    ) -> int:
        """A group with pages; gives its id.  Again: its settings change."""
        level = wiki_access_level or ("enabled" if wiki else "disabled")
        group_id = await self.running.records.ask(
            Tables.add_group,
            full_path,
            visibility=visibility,
            wiki_access_level=level,
            update=True,
        )
        await self.add_pages(WikiOwner("group", full_path), pages)
        return group_id

    async def add_user(
        self,
        name: str,
        *,
        scopes: tuple[str, ...] = ("api",),
        expires_on: str | None = None,
        is_admin: bool = False,
    ) -> str:
        """A user of that name, if new, and a token for it."""
        records = self.running.records
        user = await records.ask(Tables.add_user, name, is_admin=is_admin)
        return await records.ask(
            Tables.add_token, user.id, scopes=scopes, expires_on=expires_on
        )

    async def revoke(self, token: str) -> None:
        """End a token's life."""
        records = self.running.records
        found = await records.ask(Tables.token_and_user, token)
        assert found is not None
        await records.ask(Tables.update, "token", found[0].id, {"is_revoked": 1})

    async def block(self, name: str) -> None:
        """Shut a user out."""
        records = self.running.records
        user = await records.ask(Tables.user_named, name)
        assert user is not None
        await records.ask(Tables.update, "user", user.id, {"is_blocked": 1})

    async def add_member(self, path: str, user: str, level: int) -> None:
        """Make a user a member of the project or group at ``path``."""
        records = self.running.records
        found = await records.ask(Tables.user_named, user)
        assert found is not None
        kind, owner_id = await self._find(path)
        await records.ask(
            Tables.add_member, kind, owner_id, found.id, AccessLevel(level)
        )

    async def add_pages(self, owner: WikiOwner, pages: Pages) -> None:
        """Commit pages straight into the repository, all in one commit."""
        texts = {f"{slug}.md": text for slug, text in _texts(pages)}
        if not isinstance(pages, Mapping):
            texts = {p.slug + p.format.extensions[0]: p.content for p in pages}
        files = {path: text.encode() for path, text in texts.items()}
        await self.put_files(owner, files)

    async def put_file(self, owner: WikiOwner, path: str, content: bytes) -> None:
        """Commit one file as a git push would, at any path and in any encoding."""
        await self.put_files(owner, {path: content})

    async def put_files(self, owner: WikiOwner, files: Mapping[str, bytes]) -> None:
        """Commit files as one git push would."""
        if files:
            wiki = await self.wiki(owner)
            await wiki.change(lambda _tree: CommitPlan("push", writes=files), AUTHOR)
            wiki.note_write(ROOT)

    async def add_code(
        self, full_path: str, files: Mapping[str, bytes], branch: str = "main"
    ) -> None:
        """Commit files into a project's own repository as a git push would."""
        _kind, project_id = await self._find(full_path)
        service = self.running
        change = CommitPlan("push", writes=files)
        await service.code(project_id, branch).change(lambda _tree: change, AUTHOR)
        await jobs.refresh_code(service, project_id)

    async def ask(self, question: Callable[..., T], *args: Any, **options: Any) -> T:
        """Ask the records directly."""
        return await self.running.records.ask(question, *args, **options)

    async def wait_for_imports(self) -> None:
        """Return when no fork or import is under way any more."""
        for is_fetched in (False, True):
            await self.running.imports(is_fetched=is_fetched).join()

    async def remove_file(self, owner: WikiOwner, path: str) -> None:
        """Commit the removal of a file as a git push would."""
        wiki = await self.wiki(owner)
        change = CommitPlan("push", removes=frozenset({path}))
        await wiki.change(lambda _tree: change, AUTHOR)
        wiki.note_write(ROOT)

    async def files(self, owner: WikiOwner) -> dict[str, bytes]:
        """Every file of a wiki, by its path in the repository."""
        wiki = await self.wiki(owner)
        tree = await asyncio.to_thread(wiki.repository.tree)
        return {file.path: await wiki.read(file.blob) for file in tree.files}

    async def wiki(self, owner: WikiOwner) -> WikiStorage:
        """The storage of a wiki."""
        kind, owner_id = await self._find(owner.full_path, owner.kind)
        return self.running.wiki(kind, owner_id)

    async def load_folder(self, path: Path) -> LoadedFolder:
        """Load a folder as ``serve --load`` does."""
        return await load_folder(self.running, path)

    @property
    def quirks(self) -> frozenset[Quirk]:
        """What it does otherwise than it should."""
        return self.service.quirks

    @quirks.setter
    def quirks(self, quirks: Iterable[Quirk]) -> None:
        self.service.quirks = frozenset(quirks)
        self.service.turns.restart()

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Who is told of edits."""
        return self.running.settings.hooks

    @hooks.setter
    def hooks(self, hooks: Iterable[Hook]) -> None:
        self.running.settings = replace(self.running.settings, hooks=tuple(hooks))

    async def wait_for_hooks(self) -> None:
        """Return when nobody is still to be told of an edit."""
        await self.running.deliveries.waiting.join()

    def git_url(self, owner: WikiOwner, token: str | None = None) -> str:
        """Where git clones a wiki from, with a token, the administrator's if none."""
        scheme, _, rest = self.url.partition("://")
        token = token or self.token
        return f"{scheme}://oauth2:{token}@{rest}/{owner.full_path}.wiki.git"

    def set_deletion(self, **values: Any) -> None:
        """Change how projects are deleted."""
        settings = self.running.settings
        deletion = replace(settings.deletion, **values)
        self.running.settings = replace(settings, deletion=deletion)

    def set_limits(self, **limits: int) -> None:
        """Change limits of ``settings.Limits``."""
        settings = self.running.settings
        self.running.settings = replace(
            settings, limits=replace(settings.limits, **limits)
        )

    async def _find(
        self, path: str, kind: OwnerKind | None = None
    ) -> tuple[OwnerKind, int]:
        records = self.running.records
        if kind != "group":
            project = await records.ask(Tables.project, path, None)
            if project is not None:
                return "project", project.id
        group = await records.ask(Tables.group, path, None)
        assert group is not None, f"no project or group {path}"
        return "group", group.id


@asynccontextmanager
async def embedded_service(
    data: Path, *, settings: Settings | None = None, quirks: Iterable[Quirk] = ()
) -> AsyncIterator[EmbeddedService]:
    """Run a service on ``data / "service"`` while the block lasts."""
    records = data / "service" / "records.db"
    if not records.exists():
        make_private_folder(records.parent)
        write_private_file(records, _empty_records())
    async with running_service(
        data / "service",
        settings=settings,
        service_type=QuirkyService,
        app_type=QuirkyApp,
    ) as running:
        token = running.first_token or await running.new_token()
        service = EmbeddedService(running, token)
        service.quirks = quirks
        yield service


@cache
def _empty_records() -> bytes:
    """Records with nothing in them: their tables take half of a service's start."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.db"
        Tables(path, lambda: datetime.now(UTC)).close()
        return path.read_bytes()


def _texts(pages: Pages) -> Iterable[tuple[str, str]]:
    return pages.items() if isinstance(pages, Mapping) else ()

"""Starting and stopping a service on a data folder, which is its own, and a port."""

import errno
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web

from wikisync.core.system.connections import base_url, listening
from wikisync.core.system.locks import lock, unlock
from wikisync.core.system.private import make_private_folder, private_opener
from wikisync.errors import ServiceError
from wikisync.service.app import App
from wikisync.service.instance import Records, Service
from wikisync.service.jobs import running_jobs
from wikisync.service.loading import LoadedFolder, load_folder
from wikisync.service.settings import Settings
from wikisync.service.tables import Tables

ADMIN = "root"
SHUTDOWN_S = 3.0
"""How long answers under way may take when the service is to stop."""
LINGERING_S = 5.0
"""How long the rest of a refused body is read, so that its sender hears why."""


class RunningService:
    """A service that answers."""

    def __init__(
        self, service: Service, first_token: str | None, *, was_open: bool
    ) -> None:
        self.service = service
        self.first_token = first_token
        """The administrator's token, only when this start made it."""
        self.was_open = was_open
        """Whether others on this machine could read its folder until now."""

    @property
    def url(self) -> str:
        """Where it answers, ``http://127.0.0.1:43121``."""
        return self.service.url

    @property
    def records(self) -> Records:
        """Its users, tokens, groups and projects."""
        return self.service.records

    @property
    def settings(self) -> Settings:
        """Replaced as a whole to change limits."""
        return self.service.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.service.settings = settings

    async def new_token(self) -> str:
        """A new token for the administrator."""
        user = await self.records.ask(Tables.user_named, ADMIN)
        assert user is not None, "the first start makes the administrator"
        return await self.records.ask(Tables.add_token, user.id)

    async def load_folder(self, path: Path) -> LoadedFolder:
        """Load a folder of wikis; again is idempotent.  Raises ServiceError."""
        return await load_folder(self.service, path, creator=ADMIN)


@asynccontextmanager
async def running_service(
    data: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: Settings | None = None,
    service_type: type[Service] = Service,
    app_type: type[App] = App,
) -> AsyncIterator[RunningService]:
    """Run a service until the block ends; ServiceError if folder or port is taken."""
    with locked_folder(data) as was_open:
        service = service_type(data, settings)
        shutil.rmtree(service.spool, ignore_errors=True)
        await service.records.open()
        try:
            first_token = await _first_token(service.records)
            server = web.Server(
                app_type(service),
                access_log=None,
                lingering_time=LINGERING_S,
                max_line_size=service.settings.limits.url_bytes_max,
                max_field_size=service.settings.limits.url_bytes_max,
            )
            runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_S)
            await runner.setup()
            async with AsyncExitStack() as stack:
                stack.push_async_callback(runner.cleanup)
                service.url = await _listen(stack, runner, service, host, port)
                await stack.enter_async_context(running_jobs(service))
                yield RunningService(service, first_token, was_open=was_open)
        finally:
            await service.renderer.close()
            await service.records.close()


@contextmanager
def locked_folder(data: Path) -> Iterator[bool]:
    """Hold a data folder alone, or ServiceError; whether others could read it."""
    try:
        was_open = make_private_folder(data)
        # held open by what is returned
        file = open(data / "lock", "w", opener=private_opener)  # noqa: SIM115
    except OSError as error:
        raise ServiceError(
            f"cannot write to the data folder {data}: {error.strerror}",
            hint="choose another folder with --data",
        ) from error
    with file:
        try:
            lock(file.fileno())
        except BlockingIOError as error:
            raise ServiceError(
                f"the data folder {data} is in use by another wikisync serve",
                hint="stop the other one, or choose another folder with --data",
            ) from error
        try:
            yield was_open
        finally:
            unlock(file.fileno())


async def _first_token(records: Records) -> str | None:
    if await records.ask(Tables.user_named, ADMIN) is not None:
        return None
    user = await records.ask(
        Tables.add_user, ADMIN, name="Administrator", is_admin=True
    )
    return await records.ask(Tables.add_token, user.id)


async def _listen(
    stack: AsyncExitStack,
    runner: web.ServerRunner,
    service: Service,
    host: str,
    port: int,
) -> str:
    limits = service.settings.connections
    try:
        address = await stack.enter_async_context(listening(runner, host, port, limits))
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "name another address with --host"
        if error.errno == errno.EADDRINUSE:
            reason = "something else listens there"
            hint = "name another port with --port, or leave it out for a free one"
        raise ServiceError(
            f"cannot listen on {host} port {port}: {reason}", hint=hint
        ) from error
    return base_url(address)

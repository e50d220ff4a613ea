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
from wikisync.service.instance import ADMIN, Service
from wikisync.service.jobs import running_jobs
from wikisync.service.settings import Settings
from wikisync.service.tables import Tables

SHUTDOWN_S = 3.0
"""How long answers under way may take when the service is to stop."""
LINGERING_S = 5.0
"""How long the rest of a refused body is read, so that its sender hears why."""


@asynccontextmanager
async def running_service(
    data: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: Settings | None = None,
    service_type: type[Service] = Service,
    app_type: type[App] = App,
) -> AsyncIterator[Service]:
    """Run a service until the block ends; ServiceError if folder or port is taken."""
    with locked_folder(data) as was_open:
        service = service_type(data, settings)
        service.was_open = was_open
        shutil.rmtree(service.spool, ignore_errors=True)
        await service.records.open()
        try:
            if await service.records.ask(Tables.user_named, ADMIN) is None:
                await service.records.ask(
                    Tables.add_user, ADMIN, name="Administrator", is_admin=True
                )
                service.first_token = await service.new_token()
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
                yield service
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

"""``wikisync fleet``: sites of very many wikis by workers on several machines."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import click

from wikisync.api.address import ServiceAddress
from wikisync.cli.console import Console
from wikisync.cli.doctor import show_findings
from wikisync.cli.options import flag, folder_option, json_option, token_option
from wikisync.cli.service_command import ServiceCommand, service_options
from wikisync.config.sections import check_address, check_bucket
from wikisync.core.system.parallel import finish_in_thread, plain_errors
from wikisync.core.system.processes import end_server, start_server
from wikisync.errors import ExitCode, ServiceError, UsageError
from wikisync.workspace.discovery import Selection
from wikisync.workspace.sentences import counted
from wikisync.workspace.service import Credentials

if TYPE_CHECKING:
    from wikisync.fleet.rows import Counts, Rows, Shown
    from wikisync.workspace.doctor import Finding

T = TypeVar("T")

HINT = "install wikisync with its extra fleet"
ENDS_WITHIN_S = 60.0
"""A worker that was asked to."""
DATABASE_VARIABLE = "WIKISYNC_DATABASE"

database_option = click.option(
    "--database",
    envvar=DATABASE_VARIABLE,
    metavar="URL",
    required=True,
    help="PostgreSQL, like postgresql://host/wikisync."
    f" [default: ${DATABASE_VARIABLE}]",
)
paths_argument = click.argument("paths", nargs=-1, metavar="[PATH]...")


@click.group("fleet", epilog="Example: wikisync fleet try")
def command() -> None:
    """Keep the sites of very many wikis up to date, on several machines.

    PostgreSQL holds the queue, an S3 bucket the sites and all that is known of the
    wikis.  Pages are only read: two-way sync is for a workspace on a disk.
    """
    # what needs them is imported by the commands below
    try:
        import obstore  # noqa: F401
        import psycopg  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"{exc.name} is not installed", hint=HINT) from exc


def _with_rows(
    database: str, work: Callable[[Rows], Awaitable[T]], *, makes_it: bool = False
) -> T:
    import psycopg

    from wikisync.fleet.rows import Rows

    async def run() -> T:
        # one attempt: who waits for a server at a terminal wants to know why
        async with await psycopg.AsyncConnection.connect(database):
            pass
        async with Rows(database) as rows:
            if not makes_it:
                await rows.settings()
            return await work(rows)

    try:
        return asyncio.run(run())
    except psycopg.Error as exc:
        said = str(exc).strip().partition("\n")[0]
        if isinstance(exc, psycopg.ProgrammingError) and exc.sqlstate is None:
            said = "its URL is wrong"  # the library repeats it, with the password
        raise ServiceError(
            f"cannot use the database: {said}", hint="check --database"
        ) from exc


@command.command(
    "init",
    cls=ServiceCommand,
    epilog="Example: wikisync fleet init https://gitlab.example.com --all"
    " --site s3://pages --state s3://fleet-state",
)
@service_options
@database_option
@click.option(
    "--site", required=True, metavar="S3", help="Bucket for sites of public wikis."
)
@click.option(
    "--state", required=True, metavar="S3", help="Bucket for the workers alone."
)
@click.option(
    "--protected",
    default="",
    metavar="S3",
    help="Bucket for sites of other wikis, which you protect. [default: none is made]",
)
@click.option(
    "--title",
    default="",
    help="Of the page that lists the public wikis. [default: the host of the service]",
)
@click.option(
    "--requests",
    type=click.IntRange(0),
    default=0,
    help="Requests in a minute at most, of all workers. [default: no limit]",
)
@flag(
    "--take-over",
    help="Take the places of another fleet, which is no more; its workers end.",
)
@click.pass_obj
def init(
    console: Console,
    /,
    url: str,
    selection: Selection,
    credentials: Credentials,
    database: str,
    site: str,
    state: str,
    protected: str,
    title: str,
    requests: int,
    *,
    take_over: bool,
) -> int:
    """Make the tables, or change what the fleet works on.

    Workers that run must be started again to see a change.
    """
    from wikisync.fleet.settings import Settings

    del credentials  # workers get theirs
    site, state, protected = places = [
        place.rstrip("/") for place in (site, state, protected)
    ]
    for place in filter(None, places):
        if said := check_bucket(place):
            raise UsageError(f"{place} {said}")
    for one, other in permutations(filter(None, places), 2):
        if f"{one}/".startswith(f"{other}/"):
            raise UsageError(
                f"{one} lies in {other}",
                hint="who reads one would read the other: name places that are apart",
            )
    selection.check()
    address = ServiceAddress.parse(url)
    service, selection = str(address), selection.named(address)
    title = title or urlsplit(service).hostname or service
    fleet = secrets.token_hex(4)
    settings = Settings(
        service, selection, site, state, protected, requests, title, fleet
    )

    async def make(rows: Rows) -> None:
        await rows.make(settings, takes_over=take_over)
        if take_over:  # it may have been drained as it lost them
            await rows.drain(is_draining=False)

    _with_rows(database, make, makes_it=True)
    console.result("the fleet is ready: start workers with wikisync fleet run")
    return ExitCode.DONE


@command.command("run", epilog="Example: wikisync fleet run --slots 4")
@database_option
@token_option
@click.option(
    "--slots",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Wikis at a time.",
)
@folder_option(
    "--folder", help="Folder for copies, which may be lost. [default: a temporary one]"
)
@click.option(
    "--listen",
    default="",
    metavar="HOST:PORT",
    help="Answer Prometheus at this address, below /metrics, and take webhooks below"
    " /hook, which bring the secret of WIKISYNC_HOOK_SECRET.",
)
def run(
    database: str,
    credentials: Credentials,
    slots: int,
    folder: Path | None,
    listen: str,
) -> int:
    """Work until SIGTERM, Ctrl-C or wikisync fleet drain, then end in order."""
    from wikisync.fleet.worker import FleetRunner, work_on_sites

    if listen and (wrong := check_address(listen)):
        raise UsageError(f"--listen {listen} {wrong}")

    async def work(rows: Rows) -> None:
        token = credentials.token((await rows.settings()).service)
        runner = FleetRunner(rows, slots=slots)
        secret = credentials.hook_secret("", "")
        await work_on_sites(rows, runner, token, place, listen=listen, secret=secret)

    with tempfile.TemporaryDirectory(prefix="wikisync-worker-") as name:
        place = folder or Path(name)
        _with_rows(database, work)
    return ExitCode.DONE


@command.command("status", epilog="Example: wikisync fleet status --json")
@database_option
@json_option
@flag("--all", "is_all", help="Show every wiki.")
@click.pass_obj
def status(console: Console, database: str, *, is_all: bool) -> int:
    """Show workers, what is due, and wikis with problems."""
    from msgspec import to_builtins

    from wikisync.fleet.settings import UNPROTECTED

    async def look(rows: Rows) -> tuple[Counts, list[Shown]]:
        return await rows.counts(), await rows.shown()

    counts, wikis = _with_rows(database, look)
    plain = [one for one in wikis if one.problem != UNPROTECTED]
    troubled = [one for one in plain if one.is_failing or one.is_halted or one.problem]
    shown = wikis if is_all else troubled
    if console.as_json:
        console.json(to_builtins(counts) | {"shown": to_builtins(shown)})
    else:
        console.lines(
            f"{counted(counts.wikis, 'wiki')}, {counted(counts.pages, 'page')};"
            f" {counts.due} due, the oldest for {counts.oldest_due_s:.0f} s;"
            f" {counts.halted} halted, {counts.failing} failing"
        )
        if hidden := len(wikis) - len(plain):
            console.lines(f"{counted(hidden, 'wiki')} without a site: {UNPROTECTED}")
        for name, age_s in counts.workers.items():
            also = ": its wikis are free for others" if name in counts.silent else ""
            console.lines(f"worker {name}, seen {age_s:.0f} s ago{also}")
        if counts.is_draining:
            console.lines("the fleet is drained: wikisync fleet drain --end")
        elif len(counts.silent) == len(counts.workers):
            console.lines("no worker runs: start one with wikisync fleet run")
        if shown:
            cells = [[one.path, one.pages, one.place, one.problem] for one in shown]
            console.table(("wiki", "pages", "site", "problem"), cells)
    held = ExitCode.HELD if troubled else ExitCode.DONE
    return ExitCode.HALTED if counts.halted else held


def _again(name: str, line: str) -> None:

    @command.command(name, help=line, epilog=f"Example: wikisync fleet {name}")
    @database_option
    @paths_argument
    @click.pass_obj
    def act(console: Console, database: str, paths: tuple[str, ...]) -> int:
        keys = _with_rows(database, lambda rows: getattr(rows, name)(paths))
        if paths and not keys:
            raise UsageError(
                f"there is no wiki to {name} at {', '.join(paths)}",
                hint="list the wikis: wikisync fleet status --all",
            )
        console.result(f"{counted(len(keys), 'wiki')} to do")
        return ExitCode.DONE


_again("retry", "Work now on the wikis at PATH, or on all that fail.")
_again("approve", "Let halted wikis lose their pages: those at PATH, or all.")


@command.command("drain", epilog="Example: wikisync fleet drain")
@database_option
@flag("--end", help="Let workers work again.")
@click.pass_obj
def drain(console: Console, database: str, *, end: bool) -> int:
    """Let every worker finish its cycles and end, before an upgrade."""
    _with_rows(database, lambda rows: rows.drain(is_draining=not end))
    console.result(
        "workers may be started" if end else "workers end within some seconds"
    )
    return ExitCode.DONE


@command.command("doctor", epilog="Example: wikisync fleet doctor")
@database_option
@json_option
@click.pass_obj
def doctor(console: Console, database: str) -> int:
    """Try what has to hold: the database, the clocks, refused writes in the buckets."""
    from wikisync.fleet.doctor import examine

    async def look(rows: Rows) -> list[Finding]:
        return [one async for one in examine(rows, await rows.settings())]

    return show_findings(console, _with_rows(database, look))


@command.command("try", epilog="Example: wikisync fleet try")
@click.pass_obj
def try_out(console: Console) -> int:
    """Start a whole fleet on this machine with the user guide in it, until Ctrl-C.

    PostgreSQL, an S3 server, the embedded service and two workers; everything lies in
    temporary folders, which are removed at the end.
    """
    # who ends it so leaves no server behind either
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        tempfile.TemporaryDirectory(prefix="wikisync-fleet-") as name,
        ExitStack() as servers,
    ):
        asyncio.run(_tried(console, Path(name), servers))
    return ExitCode.DONE


async def _tried(console: Console, folder: Path, servers: ExitStack) -> None:
    from wikisync.cli.demo import guide_folder  # slow to load
    from wikisync.fleet.parts import bucket_server, database_server
    from wikisync.fleet.rows import Rows
    from wikisync.fleet.settings import Settings
    from wikisync.service.loading import load_folder
    from wikisync.service.server import running_service  # slow to load

    token = folder / "token"
    token.touch(0o600)
    async with (
        running_service(folder / "service") as service,
        AsyncExitStack() as stack,
    ):
        enter = servers.enter_context
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                s3 = finish_in_thread(enter, bucket_server(folder / "s3"))
                storage = group.create_task(s3)
                database = group.create_task(finish_in_thread(enter, database_server()))
                await load_folder(service, guide_folder())
        token.write_text(service.first_token or "")
        server, url = storage.result(), database.result().url
        os.environ |= {**server.environment, DATABASE_VARIABLE: url}
        rows = await stack.enter_async_context(Rows(url))
        selection = Selection(is_all=True)
        settings = Settings(
            service.url, selection, "s3://site", "s3://state", title="wikisync"
        )
        await rows.make(settings)
        async with _two_workers(folder, token):
            # other processes change it
            while (counts := await rows.counts()).due or not counts.wikis:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            console.note("status, from another terminal:")
            console.note(f"wikisync fleet status --database '{url}'")
            console.note("the sites, and the page that lists them:")
            console.result(f"{server.address}/site/index.html")
            for wiki in filter(lambda one: one.place, await rows.shown()):
                place = wiki.place.removeprefix("s3:/")
                console.result(f"{server.address}{place}/index.html")
            await asyncio.Event().wait()


@asynccontextmanager
async def _two_workers(folder: Path, token: Path) -> AsyncIterator[None]:
    words = [sys.executable, "-P", "-m", "wikisync", "fleet", "run", "--token-file"]
    with (folder / "workers.log").open("wb") as log:
        workers = [
            start_server(
                [*words, str(token)], folder=folder, log=log, environment=os.environ
            )
            for _ in range(2)
        ]
    try:
        yield
    finally:
        # both before one is waited for, which would take the wikis of the other
        for worker in workers:
            worker.terminate()
        for worker in workers:
            # the service answers them meanwhile
            await finish_in_thread(end_server, worker, signal.SIGTERM, ENDS_WITHIN_S)

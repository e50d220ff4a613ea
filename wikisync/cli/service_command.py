"""Commands that speak to a service: its URL, its token, dry runs, and what is printed.

The URL is the first word of the command, ``--url``, or ``WIKISYNC_URL``: then a first
word without ``://`` is none.  Only a command that names no service takes it from the
workspace, so that a token of a workspace never goes to another service.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from wikisync.api.address import ServiceAddress, shown_address
from wikisync.api.client import Client
from wikisync.api.exchange import Request
from wikisync.cli.console import Console
from wikisync.cli.options import (
    Decorated,
    decorated,
    flag,
    joined,
    json_option,
    token_option,
)
from wikisync.core.model import WikiOwner
from wikisync.core.terminal import one_line
from wikisync.errors import ExitCode, UsageError
from wikisync.workspace import configured
from wikisync.workspace.discovery import Selection
from wikisync.workspace.sentences import fields
from wikisync.workspace.service import URL_VARIABLE, Credentials

ADDRESS = "import_url"
"""The one attribute that may hold a password."""

WORKSPACE = "wikisync.workspace"
"""Under this name a command's context keeps the workspace that named its service."""
SECRET_KEYS = frozenset({"runners_token"})

Columns = Mapping[str, Callable[[Any], object]]
"""Head to what is shown of a record under it."""

T = TypeVar("T")


class ServiceCommand(click.Command):
    """A command whose first word may be the service's URL."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a URL in the first place as ``--url``."""
        words = word_places(self, args)
        if not words or names_url(args):
            return super().parse_args(ctx, args)
        first = args[words[0]]
        needed = sum(
            isinstance(one, click.Argument) and one.required for one in self.params
        )
        # a page's address may stand for its path, where the service is known already
        is_path = "://" not in first or len(words) <= needed
        is_known = isinstance(self, WorkspaceCommand) and is_in_workspace()
        if not (is_path and (os.environ.get(URL_VARIABLE) or is_known)):
            args = ["--url", first, *args[: words[0]], *args[words[0] + 1 :]]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The words of the usage line, the URL among them."""
        options, *arguments = super().collect_usage_pieces(ctx)
        return [options, "[URL]", *arguments]


class WorkspaceCommand(ServiceCommand):
    """The same, where the service may be that of the current workspace."""


def names_url(args: list[str]) -> bool:
    """Whether a command line names the service with ``--url``."""
    return any(word == "--url" or word.startswith("--url=") for word in args)


def word_places(command: click.Command, args: list[str]) -> list[int]:
    """Where the words are that belong to no option, up to ``--``."""
    valued = {
        name
        for option in command.params
        if isinstance(option, click.Option) and not (option.is_flag or option.count)
        for name in option.opts
    }
    places, place = [], 0
    while place < len(args) and args[place] != "--":
        word = args[place]
        if not word.startswith("-") or word == "-":
            places.append(place)
        place += 2 if word in valued else 1
    return places


def _require_url(
    ctx: click.Context, _option: click.Parameter, value: str | None
) -> Any:
    if ctx.resilient_parsing:
        return value
    if not value and isinstance(ctx.command, WorkspaceCommand) and is_in_workspace():
        workspace = ctx.meta[WORKSPACE] = configured.find_workspace(Path())
        value = workspace.config.service.url
    if not value:
        raise UsageError(
            "no service is given",
            hint=f"give its URL, like https://gitlab.example.com, or set"
            f" {URL_VARIABLE}",
        )
    if "://" not in value:
        shown = shown_address(value)
        # as git writes an address: HOST:PATH
        host = re.sub(r":(?!\d+$)[^]:]*$", "", shown.partition("/")[0])
        raise UsageError(
            f"{shown} is not the URL of a service: the scheme is missing",
            hint=f"give the URL, like https://{host}, or set {URL_VARIABLE}",
        )
    return value


url_option = click.option(
    "--url",
    envvar=URL_VARIABLE,
    callback=_require_url,
    is_eager=True,
    metavar="URL",
    help=f"URL of the service. [default: the first argument, or ${URL_VARIABLE}]",
)
"""The option behind the first word of a ``ServiceCommand``."""


selection_options = joined(
    "selection",
    Selection,
    click.option(
        "--project",
        "projects",
        multiple=True,
        metavar="PATH",
        help="Wiki of this project; repeatable.",
    ),
    click.option(
        "--group",
        "groups",
        multiple=True,
        metavar="PATH",
        help="Wiki of this group; repeatable.",
    ),
    flag(
        "--all",
        "is_all",
        help="With --group: all wikis below it. Alone: all wikis you can see.",
    ),
    click.option(
        "--exclude",
        "excluded",
        multiple=True,
        metavar="PATH",
        help="Skip the wiki of PATH and the wikis below it; repeatable.",
    ),
)
"""The options that name wikis of a service."""


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The service's URL, a token, and wikis, given to the command as ``selection``."""
    return decorated(command, [url_option, selection_options, token_option])


class Connection(Struct, frozen=True):
    """Which service to speak to, and how to show what comes of it."""

    console: Console
    url: str
    credentials: Credentials
    is_dry_run: bool = False
    workspace: configured.ConfiguredWorkspace | None = None
    """The workspace that named the service."""
    owner: WikiOwner | None = None
    """The wiki that a command on one means."""


# -- the workspace it is run in ----------------------------------------------------


def is_in_workspace() -> bool:
    """Whether the current folder is, or lies in, a workspace."""
    return configured.workspace_above(Path()) is not None


def wiki_here() -> WikiOwner | None:
    """The wiki of the current folder, or the only one of the workspace."""
    ctx = click.get_current_context(silent=True)
    workspace = ctx.meta.get(WORKSPACE) if ctx else None
    if workspace is None:
        return None
    wikis = workspace.config.wikis
    current = Path.cwd()
    at = [
        wiki
        for wiki in wikis
        if current.is_relative_to((workspace.root / wiki.folder).resolve())
    ]
    found = at or (wikis if len(wikis) == 1 else ())
    return found[0].owner if found else None


def project_here() -> str | None:
    """The project of that wiki."""
    owner = wiki_here()
    return owner.full_path if owner and owner.kind == "project" else None


# -- commands made of functions ----------------------------------------------------


def path_argument(name: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """A project or group, which its address on the service may name as well."""

    def path_of(ctx: click.Context, _option: click.Parameter, value: str) -> str:
        return ServiceAddress.parse(ctx.params["url"]).path_of(value)

    return click.argument(name, callback=path_of, **settings)


def connect(url: str, credentials: Credentials, *, dry_run: bool = False) -> Connection:
    """What the options of every command on a service come to."""
    ctx = click.get_current_context()
    return Connection(ctx.obj, url, credentials, dry_run, ctx.meta.get(WORKSPACE))


def command_of(
    group: click.Group,
    *parameters: Callable[..., Any],
    name: str = "",
    text: str = "",
    is_write: bool = False,
    where: Callable[..., Connection] = connect,
    wiki: Sequence[Callable[..., Any]] = (),
    kind: type[click.Command] = WorkspaceCommand,
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command on a service, with its own parameters first.

    Without a name and a text they are those of the function: ``_run_show`` is ``show``.
    ``where`` makes its connection, also of the options that name a wiki.
    """

    def made(run: Callable[..., int | None]) -> click.Command:
        help_text = text or run.__doc__ or ""
        shown = name or run.__name__.removeprefix("_run_").replace("_", "-")
        common = [*wiki, url_option, token_option, json_option]
        if is_write:
            common.append(
                flag("--dry-run", help="Print the request without sending it.")
            )
        options = [*parameters, joined("connection", where, *common)]
        command = group.command(shown, cls=kind, help=help_text, short_help=help_text)
        return command(decorated(run, options))

    return made


# -- requests ----------------------------------------------------------------------


class NotSent(Exception):
    """A dry run came to its first request that would change something."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.path)
        self.request = request


def speak(connection: Connection, operate: Callable[[Client], Awaitable[T]]) -> T:
    """Open a client, do the operation, and close it again; a dry run exits here."""

    def keep(request: Request) -> None:
        raise NotSent(request)

    async def spoken() -> T:
        token = token_of(connection)
        before_write = keep if connection.is_dry_run else None
        notify = connection.console.note
        async with Client(
            connection.url, token, before_write=before_write, notify=notify
        ) as client:
            return await operate(client)

    try:
        return asyncio.run(spoken())
    except NotSent as kept:
        show_request(connection, kept.request)
        raise click.exceptions.Exit(ExitCode.DONE) from None


def token_of(connection: Connection) -> str | None:
    """The token for the service, from the workspace if that named it."""
    if connection.workspace is None:
        return connection.credentials.token(connection.url)
    return connection.credentials.of_workspace(connection.workspace)


def show_request(connection: Connection, request: Request) -> None:
    """Print what would be sent: method, path, query and body."""
    import json

    body = json.loads(request.json) if request.json is not None else None
    if isinstance(body, dict) and isinstance(body.get(ADDRESS), str):
        body[ADDRESS] = _without_password(body[ADDRESS])
    if connection.console.as_json:
        shown = fields(request, "method path query")
        form = [list(field) for field in request.form_fields]
        connection.console.json(shown | {"json": body, "form": form})
        return
    query = f"?{request.query}" if request.query else ""
    lines = [f"{request.method} {request.path}{query}"]
    if body is not None:
        lines.append(json.dumps(body, ensure_ascii=False, indent=2))
    lines += [f"{name}={value}" for name, value in request.form_fields]
    connection.console.result("\n".join(lines))
    connection.console.note("nothing was sent (--dry-run)")


def _without_password(address: str) -> str:
    """An address for the screen: a password or a token in it shows as stars."""
    before, at, after = address.partition("?")[0].rpartition("@")
    scheme, separator, _user = before.partition("://")
    shown = f"{scheme}{separator}***{at}{after}" if at else after
    return f"{shown}?***" if "?" in address else shown


# -- records -----------------------------------------------------------------------


def as_plain(record: object) -> Any:
    """A record as JSON values, without secrets and without what is absent."""
    import msgspec

    sent = getattr(record, "sent", None)
    plain = sent or msgspec.to_builtins(record)
    if not isinstance(plain, dict):
        return plain
    return {
        key: value
        for key, value in plain.items()
        if key not in SECRET_KEYS and (sent or value is not None)
    }


def show_records(
    connection: Connection, columns: Columns, records: Sequence[Any], total: int | None
) -> None:
    """Print a list for people or for programs."""
    console = connection.console
    if connection.console.as_json:
        console.json([as_plain(record) for record in records])
        return
    rows = [[show(record) for show in columns.values()] for record in records]
    console.table(list(columns), rows)
    if total is None or total != len(records):
        of = f" of {total}" if total is not None else ""
        console.note(f"the first {len(records)}{of}; --limit 0 shows all")


def report(connection: Connection, result: object, line: str) -> None:
    """Print what came of a change: a line for people, the record for programs."""
    if connection.console.as_json:
        connection.console.json(as_plain(result))
    else:
        connection.console.result(one_line(line, None))

"""``wikisync project list|show|users|...``: everything that only reads."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from wikisync.api.address import ServiceAddress
from wikisync.api.client import Client
from wikisync.api.listing import Listing
from wikisync.api.projects import Projects
from wikisync.cli import attributes
from wikisync.cli.console import Console
from wikisync.cli.options import decorated
from wikisync.cli.service_command import (
    Connection,
    WorkspaceCommand,
    connection_options,
    named_by,
    project_here,
    speak,
)
from wikisync.contract.routes import Endpoint
from wikisync.core.messages import Progress
from wikisync.errors import UsageError
from wikisync.workspace.service import Credentials

ROWS_SHOWN = 100
PROJECT = click.argument("project", required=True, default=project_here)
"""The project that is read; else that of the workspace's wiki."""
NAMED = frozenset({"project", "group", "source"})
"""Arguments that name a project or a group."""
SECRET_KEYS = frozenset({"runners_token"})

Columns = Mapping[str, Callable[[Any], object]]
"""Head to what is shown of a record under it."""

PROJECT_COLUMNS: Columns = {
    "id": lambda project: project.id,
    "path": lambda project: project.path_with_namespace,
    "visibility": lambda project: project.visibility,
    "stars": lambda project: project.star_count,
    "active": lambda project: (project.last_activity_at or "")[:10],
    "description": lambda project: project.description,
}
USER_COLUMNS: Columns = {
    "id": lambda user: user.id,
    "username": lambda user: user.username,
    "name": lambda user: user.name,
    "state": lambda user: user.state,
}
GROUP_COLUMNS: Columns = {
    "id": lambda group: group.id,
    "path": lambda group: group.full_path,
    "name": lambda group: group.full_name or group.name,
}
STARRER_COLUMNS: Columns = {
    "id": lambda starrer: starrer.user.id,
    "username": lambda starrer: starrer.user.username,
    "name": lambda starrer: starrer.user.name,
    "since": lambda starrer: starrer.starred_since,
}


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


async def collect(
    listing: Listing[Any], limit: int | None, progress: Progress
) -> tuple[list[Any], int | None]:
    """Records of a list up to a limit, and how many there are if that is known."""
    total = await listing.total()
    ends = [end for end in (total, limit) if end is not None]
    progress.start("read the list", min(ends) if ends else None)
    records: list[Any] = []
    async for record in listing:
        if limit is not None and len(records) >= limit:
            return records, total
        records.append(record)
        progress.advance()
    return records, len(records)


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


def show_list(
    connection: Connection,
    endpoint: Endpoint,
    columns: Columns,
    about: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    """Read a list with the options given and print it."""
    values = attributes.read_values(endpoint, options)
    limit = options["limit"]
    if limit is None and not connection.console.as_json:
        limit = ROWS_SHOWN

    async def read(client: Client) -> tuple[list[Any], int | None]:
        listing = getattr(Projects(client), endpoint)(*about, **values)
        with connection.console.progress() as progress:
            return await collect(listing, limit or None, progress)

    records, total = speak(connection, read)
    show_records(connection, columns, records, total)


def with_paths(connection: Connection, options: dict[str, Any]) -> Connection:
    """Take the projects and groups named as arguments by their paths."""
    address = ServiceAddress.parse(connection.url)
    options |= {name: address.path_of(options[name]) for name in NAMED & options.keys()}
    return connection


def _listing(
    run: Callable[..., int | None],
    arguments: Sequence[Callable[..., Any]],
    endpoints: Iterable[Endpoint],
    name: str = "",
    text: str = "",
) -> click.Command:
    limit = click.option(
        "--limit",
        type=click.IntRange(0),
        default=None,
        help=f"Maximum number of records; 0 for all; {ROWS_SHOWN} unless --json is"
        f" given.",
    )
    parameters = [*arguments, *attributes.parameter_options(endpoints), limit]
    return command_of(run, parameters, name=name, text=text, takes_newer=True)


def command_of(
    run: Callable[..., int | None],
    parameters: Sequence[Callable[..., Any]],
    *,
    name: str = "",
    text: str = "",
    is_write: bool = False,
    takes_newer: bool = False,
    prepare: Callable[[Connection, dict[str, Any]], Connection] = with_paths,
    kind: type[click.Command] = WorkspaceCommand,
) -> click.Command:
    """A command on a service, with its own parameters before the common ones.

    Without a name and a text they are those of ``run``: ``_run_show`` is ``show``.
    ``prepare`` makes of connection and options what ``run`` gets.
    """

    @click.pass_obj
    def callback(
        console: Console,
        /,
        url: str,
        credentials: Credentials,
        *,
        dry_run: bool = False,
        **options: Any,
    ) -> int | None:
        connection = Connection(console, url, credentials, dry_run, named_by())
        return run(prepare(connection, options), **options)

    callback.__doc__ = text = text or run.__doc__ or ""
    name = name or run.__name__.removeprefix("_run_").replace("_", "-")
    decorators = [
        click.command(name, cls=kind, short_help=text),
        *parameters,
        *([attributes.newer_option()] if takes_newer else []),
        *connection_options(is_write=is_write),
    ]
    made = decorated(callback, decorators)
    assert isinstance(made, click.Command), "the outermost decorator makes one"
    return made


# -- the commands ------------------------------------------------------------------


def _run_list(
    connection: Connection,
    *,
    user: str | None,
    contributed_by: str | None,
    starred_by: str | None,
    **options: Any,
) -> None:
    """List projects: all you can see, or those of one user."""
    lists: list[tuple[str | None, Endpoint]] = [
        (user, Endpoint.USER_LIST),
        (contributed_by, Endpoint.CONTRIBUTED_LIST),
        (starred_by, Endpoint.STARRED_LIST),
    ]
    named = [(who, endpoint) for who, endpoint in lists if who is not None]
    if len(named) > 1:
        raise UsageError(
            "only one of --user, --contributed-by and --starred-by can be given",
            hint="remove all but one",
        )
    endpoint = named[0][1] if named else Endpoint.LIST
    about = [who for who, _ in named]
    show_list(connection, endpoint, PROJECT_COLUMNS, about, options)


def _read_one(
    connection: Connection, endpoint: Endpoint, project: str, options: Mapping[str, Any]
) -> Any:
    values = attributes.read_values(endpoint, options)
    return speak(
        connection,
        lambda client: getattr(Projects(client), endpoint)(project, **values),
    )


def _run_show(connection: Connection, project: str, **options: Any) -> None:
    """Show the details of PROJECT."""
    plain = as_plain(_read_one(connection, Endpoint.SHOW, project, options))
    if connection.console.as_json:
        connection.console.json(plain)
    else:
        rows = [[key, _cell(held)] for key, held in plain.items() if held is not None]
        connection.console.table(["field", "value"], rows)


def _cell(value: object) -> object:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value


def _run_languages(connection: Connection, project: str, **options: Any) -> None:
    """Show the languages of PROJECT's files."""
    languages = _read_one(connection, Endpoint.LANGUAGES, project, options)
    if connection.console.as_json:
        connection.console.json(languages)
    else:
        rows = [[name, f"{share:.2f}"] for name, share in languages.items()]
        connection.console.table(["language", "per cent"], rows)


def commands() -> list[click.Command]:
    """Every command that reads."""
    whose = [
        click.option("--user", metavar="USER", help="Projects in USER's namespace."),
        click.option(
            "--contributed-by",
            metavar="USER",
            help="Projects that USER contributed to.",
        ),
        click.option(
            "--starred-by", metavar="USER", help="Projects that USER starred."
        ),
    ]
    return [
        _listing(
            _run_list,
            whose,
            [
                Endpoint.LIST,
                Endpoint.USER_LIST,
                Endpoint.CONTRIBUTED_LIST,
                Endpoint.STARRED_LIST,
            ],
        ),
        command_of(
            _run_show,
            [PROJECT, *attributes.parameter_options([Endpoint.SHOW])],
            takes_newer=True,
        ),
        command_of(_run_languages, [PROJECT]),
        *(
            _listing(_lister(endpoint, columns), [PROJECT], [endpoint], name, text)
            for name, endpoint, text, columns in _LISTS
        ),
    ]


_LISTS = (
    ("users", Endpoint.USERS, "List the users of PROJECT.", USER_COLUMNS),
    ("groups", Endpoint.GROUPS, "List the groups above PROJECT.", GROUP_COLUMNS),
    (
        "share-locations",
        Endpoint.SHARE_LOCATIONS,
        "List the groups that PROJECT can be shared with.",
        GROUP_COLUMNS,
    ),
    ("starrers", Endpoint.STARRERS, "List who starred PROJECT.", STARRER_COLUMNS),
    ("forks", Endpoint.FORK_LIST, "List the forks of PROJECT.", PROJECT_COLUMNS),
)


def _lister(endpoint: Endpoint, columns: Columns) -> Callable[..., None]:
    def run(connection: Connection, project: str, **options: Any) -> None:
        show_list(connection, endpoint, columns, [project], options)

    return run

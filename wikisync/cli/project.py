"""``wikisync project``: the projects of a service.

Options of filters and attributes come from ``contract.parameters`` by ``attributes``.
"""

import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from wikisync.api.client import Client, Listing
from wikisync.api.projects import Deletion, Projects, Toggle
from wikisync.cli import service_command
from wikisync.cli.attributes import parameter_options, read_values
from wikisync.cli.options import InputPath, flag, give_examples
from wikisync.cli.service_command import Columns, Connection, path_argument, report
from wikisync.contract.routes import Endpoint
from wikisync.core.terminal import one_line
from wikisync.errors import ExitCode, UsageError

ROWS_SHOWN = 100
Given = Mapping[str, Any]
"""Values of options from the table of parameters."""
READ = path_argument("project", required=True, default=service_command.project_here)
"""The project that is read; else that of the workspace's wiki."""
PROJECT = path_argument("project")
GROUP = path_argument("group")
YES = flag("-y", "--yes", help="Do not ask for confirmation.")

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


@click.group(
    "project",
    epilog="Example: wikisync project list https://gitlab.example.com --membership",
)
def command() -> None:
    """List, show and change projects.

    PROJECT is a full path like docs/handbook, or a numeric id.  The service is the
    first argument, --url or $WIKISYNC_URL. In a workspace, both are known, but commands
    that change a project still need PROJECT.
    """


read = partial(service_command.command_of, command)
write = partial(service_command.command_of, command, is_write=True)


def _ask(connection: Connection, operate: Callable[[Projects], Awaitable[Any]]) -> Any:
    """Do one operation on projects."""
    return service_command.speak(connection, lambda client: operate(Projects(client)))


def confirm(question: str, unasked: str) -> None:
    """Ask a question on the terminal; anything but yes ends the command."""
    if not sys.stdin.isatty():
        raise UsageError(unasked, hint="add --yes, or check first with --dry-run")
    click.confirm(question, abort=True, err=True)


# -- what only reads ---------------------------------------------------------------


def show_list(
    connection: Connection,
    endpoint: Endpoint,
    columns: Columns,
    about: Sequence[str],
    given: Given,
    limit: int | None,
) -> None:
    """Read a list with the options given, up to its limit, and print it."""
    values = read_values(endpoint, given)
    if limit is None and not connection.console.as_json:
        limit = ROWS_SHOWN

    async def collect(client: Client) -> tuple[list[Any], int | None]:
        """The records, and how many there are if that is known."""
        listing: Listing[Any] = getattr(Projects(client), endpoint)(*about, **values)
        with connection.console.progress() as progress:
            total = await listing.total()
            ends = [end for end in (total, limit or None) if end is not None]
            progress.start("read the list", min(ends) if ends else None)
            records: list[Any] = []
            async for record in listing:
                if limit and len(records) >= limit:
                    return records, total
                records.append(record)
                progress.advance()
            return records, len(records)

    records, total = service_command.speak(connection, collect)
    service_command.show_records(connection, columns, records, total)


LIMIT = click.option(
    "--limit",
    type=click.IntRange(0),
    default=None,
    help=f"Maximum number of records; 0 for all; {ROWS_SHOWN} unless --json is given.",
)


@read(
    click.option("--user", metavar="USER", help="Projects in USER's namespace."),
    click.option(
        "--contributed-by", metavar="USER", help="Projects that USER contributed to."
    ),
    click.option("--starred-by", metavar="USER", help="Projects that USER starred."),
    LIMIT,
    parameter_options(
        Endpoint.LIST,
        Endpoint.USER_LIST,
        Endpoint.CONTRIBUTED_LIST,
        Endpoint.STARRED_LIST,
    ),
)
def _run_list(
    connection: Connection,
    *,
    user: str | None,
    contributed_by: str | None,
    starred_by: str | None,
    limit: int | None,
    given: Given,
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
    show_list(connection, endpoint, PROJECT_COLUMNS, about, given, limit)


def _list_command(name: str, endpoint: Endpoint, text: str, columns: Columns) -> None:
    @read(READ, LIMIT, parameter_options(endpoint), name=name, text=text)
    def run(
        connection: Connection, project: str, limit: int | None, given: Given
    ) -> None:
        show_list(connection, endpoint, columns, [project], given, limit)


_list_command("users", Endpoint.USERS, "List the users of PROJECT.", USER_COLUMNS)
_list_command(
    "groups", Endpoint.GROUPS, "List the groups above PROJECT.", GROUP_COLUMNS
)
_list_command(
    "share-locations",
    Endpoint.SHARE_LOCATIONS,
    "List the groups that PROJECT can be shared with.",
    GROUP_COLUMNS,
)
_list_command(
    "starrers", Endpoint.STARRERS, "List who starred PROJECT.", STARRER_COLUMNS
)
_list_command(
    "forks", Endpoint.FORK_LIST, "List the forks of PROJECT.", PROJECT_COLUMNS
)


@read(READ, parameter_options(Endpoint.SHOW))
def _run_show(connection: Connection, project: str, given: Given) -> None:
    """Show the details of PROJECT."""
    values = read_values(Endpoint.SHOW, given)
    plain = service_command.as_plain(
        _ask(connection, lambda p: p.show_project(project, **values))
    )
    if connection.console.as_json:
        connection.console.json(plain)
    else:
        rows = [[key, _cell(held)] for key, held in plain.items() if held is not None]
        connection.console.table(["field", "value"], rows)


def _cell(value: object) -> object:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value


@read(READ)
def _run_languages(connection: Connection, project: str) -> None:
    """Show the languages of PROJECT's files."""
    languages = _ask(connection, lambda p: p.show_languages(project))
    if connection.console.as_json:
        connection.console.json(languages)
    else:
        rows = [[name, f"{share:.2f}"] for name, share in languages.items()]
        connection.console.table(["language", "per cent"], rows)


# -- what writes -------------------------------------------------------------------


def _line(project: Any, verb: str) -> str:
    address = f" {project.web_url}" if project.web_url else ""
    return f"{verb} project {project.path_with_namespace} (id {project.id}){address}"


@write(
    click.option(
        "--user-id", type=int, metavar="NUMBER", help="Owner; for administrators."
    ),
    parameter_options(Endpoint.CREATE, Endpoint.CREATE_FOR_USER),
)
def _run_create(connection: Connection, *, user_id: int | None, given: Given) -> None:
    """Create a project."""
    endpoint = Endpoint.CREATE if user_id is None else Endpoint.CREATE_FOR_USER
    values = read_values(endpoint, given)
    owner = [] if user_id is None else [user_id]
    made = _ask(connection, lambda p: getattr(p, endpoint)(*owner, **values))
    if made.import_status in {"scheduled", "started"}:
        connection.console.note(
            f"the service is still filling its repository; see import_status in"
            f" wikisync project show {made.path_with_namespace}"
        )
    report(connection, made, _line(made, "created"))


@write(PROJECT, parameter_options(Endpoint.EDIT))
def _run_edit(connection: Connection, project: str, given: Given) -> None:
    """Change attributes of PROJECT; the others stay."""
    values = read_values(Endpoint.EDIT, given)
    edited = _ask(connection, lambda p: p.edit_project(project, **values))
    report(connection, edited, _line(edited, "edited"))


@write(
    PROJECT,
    flag("--wait", help="Wait until the fork is complete."),
    parameter_options(Endpoint.FORK),
)
def _run_fork(
    connection: Connection, project: str, *, wait: bool, given: Given
) -> None:
    """Fork PROJECT into your namespace or another."""
    values = read_values(Endpoint.FORK, given)
    fork = _ask(connection, lambda p: p.fork_project(project, wait=wait, **values))
    if not wait and fork.import_status in {"scheduled", "started"}:
        connection.console.note(
            "the service is still copying; use --wait to wait until it is complete"
        )
    report(connection, fork, _line(fork, "forked into"))


@write(PROJECT)
def _run_restore(connection: Connection, project: str) -> None:
    """Cancel the deletion of PROJECT."""
    kept = _ask(connection, lambda p: p.restore_project(project))
    report(connection, kept, _line(kept, "restored"))


def _toggle_command(name: str, text: str, done: str, was_done: str) -> None:
    endpoint = Endpoint[name.upper()]

    @write(PROJECT, name=name, text=text)
    def run(connection: Connection, project: str) -> None:
        toggled: Toggle = _ask(connection, lambda p: getattr(p, endpoint)(project))
        plain = {
            "changed": toggled.has_changed,
            "project": toggled.project and service_command.as_plain(toggled.project),
        }
        word = done if toggled.has_changed else was_done
        report(connection, plain, f"project {project}: {word}")


_toggle_command("star", "Star PROJECT.", "starred", "was already starred")
_toggle_command("unstar", "Unstar PROJECT.", "no longer starred", "was not starred")
_toggle_command(
    "archive", "Make PROJECT read-only.", "archived", "was already archived"
)
_toggle_command(
    "unarchive",
    "Make PROJECT writable again.",
    "no longer archived",
    "was not archived",
)


@write(
    PROJECT,
    flag("--permanently", help="Delete immediately, without the service's delay."),
    YES,
    parameter_options(Endpoint.DELETE),
)
def _run_delete(
    connection: Connection, project: str, *, permanently: bool, yes: bool, given: Given
) -> None:
    """Delete PROJECT, or mark it for deletion if the service delays deletions."""
    if not connection.is_dry_run and not yes:
        found = _ask(connection, lambda p: p.show_project(project))
        shown = f"{found.path_with_namespace} (id {found.id})"
        confirm(
            f"Delete project {shown} with everything in it"
            f"{', immediately and permanently' if permanently else ''}?",
            f"deleting project {shown} needs confirmation",
        )
    values = read_values(Endpoint.DELETE, given)

    async def delete(projects: Projects) -> Deletion:
        if permanently:
            return await projects.delete_project_permanently(project)
        return await projects.delete_project(project, **values)

    deletion: Deletion = _ask(connection, delete)
    words = {
        "removed": "removed",
        "accepted": "being removed by the service",
        "scheduled": "marked for deletion; wikisync project restore cancels the"
        " deletion",
    }
    plain = {
        "state": deletion.state,
        "project": deletion.project and service_command.as_plain(deletion.project),
    }
    report(connection, plain, f"project {project}: {words[deletion.state]}")


async def _group_id(projects: Projects, group: str) -> int:
    if group.isascii() and group.isdigit():
        return int(group)
    return (await projects.client.group(group)).id


@write(PROJECT, GROUP, parameter_options(Endpoint.SHARE, leave_out="group_id"))
def _run_share(connection: Connection, project: str, group: str, given: Given) -> None:
    """Share PROJECT with GROUP, given by path or id."""
    values = read_values(Endpoint.SHARE, given)

    async def share(projects: Projects) -> Any:
        group_id = await _group_id(projects, group)
        return await projects.share_project(project, group_id=group_id, **values)

    shared = _ask(connection, share)
    report(connection, shared, f"shared project {project} with group {group}")


@write(PROJECT, GROUP)
def _run_unshare(connection: Connection, project: str, group: str) -> None:
    """Stop sharing PROJECT with GROUP, given by path or id."""

    async def unshare(projects: Projects) -> dict[str, object]:
        group_id = await _group_id(projects, group)
        await projects.unshare_project(project, group_id)
        return {"group_id": group_id}

    done = _ask(connection, unshare)
    line = f"project {project} is no longer shared with group {group}"
    report(connection, done, line)


@write(PROJECT, click.argument("file", type=InputPath("file")))
def _run_upload(connection: Connection, project: str, file: Path) -> None:
    """Upload FILE for issues and comments of PROJECT; prints its Markdown link."""
    with connection.console.progress() as progress:
        uploaded = _ask(
            connection, lambda p: p.upload_file(project, file, progress=progress)
        )
    report(connection, uploaded, uploaded.markdown)


@write(
    PROJECT,
    click.argument("file", type=InputPath("file"), required=False),
    flag("--remove", help="Remove the avatar."),
)
def _run_avatar(
    connection: Connection, project: str, file: Path | None, *, remove: bool
) -> None:
    """Set the avatar of PROJECT to FILE, or remove it."""
    if remove == (file is not None):
        raise UsageError(
            "give either a file or --remove",
            hint="give an image file, or add --remove to remove the avatar",
        )

    async def set_or_remove(projects: Projects) -> Any:
        if file is None:
            return await projects.remove_avatar(project)
        return await projects.set_avatar(project, file)

    avatar = _ask(connection, set_or_remove)
    what = avatar.avatar_url or ("removed" if remove else "set")
    report(connection, avatar, f"avatar of project {project}: {what}")


@write(PROJECT, path_argument("source"))
def _run_import_members(connection: Connection, project: str, source: str) -> int:
    """Add the members of project SOURCE to PROJECT."""
    imported = _ask(connection, lambda p: p.import_project_members(project, source))
    for name, reason in imported.refused.items():
        connection.console.warn(one_line(f"{name} was not imported: {reason}", None))
    is_whole = imported.status == "success"
    line = f"not all members of project {source} were imported"
    if is_whole:
        line = f"imported the members of project {source} into project {project}"
    report(connection, imported, line)
    return ExitCode.DONE if is_whole else ExitCode.HELD


give_examples(
    command,
    "project {} https://gitlab.example.com {}",
    "docs/handbook",
    {
        "avatar": "docs/handbook logo.png",
        "create": "--name Handbook --path handbook",
        "edit": "docs/handbook --topics wiki,docs",
        "fork": "docs/handbook --namespace-path drafts --wait",
        "import-members": "docs/handbook docs/website",
        "list": "--membership",
        "share": "docs/handbook readers --group-access reporter",
        "unshare": "docs/handbook readers",
        "upload": "docs/handbook logo.png",
    },
)

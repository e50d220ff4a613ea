"""``wikisync serve admin``: people, groups, topics and deletion in a data folder.

Works on the records themselves, also while the service runs on them: SQLite
lets both in, one write at a time, and the service keeps no copies.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import click
from msgspec.structs import asdict

from wikisync.cli.attributes import ROLES
from wikisync.cli.console import Console
from wikisync.cli.options import flag, give_examples, json_option
from wikisync.core.system.private import keep_private
from wikisync.errors import ServiceError, UsageError, command_line
from wikisync.service.loading import PATH_PART
from wikisync.service.removal import remove, to_remove
from wikisync.service.rows import User
from wikisync.service.tables import Tables

SCOPES = ("api", "read_api", "read_user", "read_repository", "write_repository")
LISTED = ("users", "tokens", "groups", "members", "topics")
TOPIC_CHARS_MAX = 255

_data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Data folder of the service.",
)
_expires = click.option(
    "--expires", "expires_on", metavar="DATE", help="Last valid day, YYYY-MM-DD."
)
_visibility = click.Choice(["private", "internal", "public"])


@click.group("admin", epilog="Example: wikisync serve admin add-user ann --data ./data")
def command() -> None:
    """Manage users, tokens, groups, members and topics, even while the service runs."""


def _command(name: str) -> Callable[[Callable[..., None]], click.Command]:

    def made(run: Callable[..., None]) -> click.Command:
        return command.command(name)(_data_option(click.pass_obj(run)))

    return made


@_command("add-user")
@click.argument("username")
@click.option("--name", default="", help="Display name.")
@click.option("--email", default="", help="Email address for commits.")
@flag("--admin", "is_admin", help="Make the user an administrator.")
@flag("--private-profile", help="Hide the user's projects from others.")
def add_user(
    console: Console,
    *,
    data: Path,
    username: str,
    name: str,
    email: str,
    is_admin: bool,
    private_profile: bool,
) -> None:
    """Add a user with a personal namespace."""
    with opened(data) as tables:
        check_path(username, "username")
        if tables.user_named(username) is not None:
            raise ServiceError(
                f"user {username} already exists",
                hint=_admin("add-token", data, username),
            )
        user = tables.add_user(username, name=name, email=email, is_admin=is_admin)
        if private_profile:
            tables.update("user", user.id, {"has_private_profile": 1})
    console.result(f"user: {user.username}")


def _switch(name: str, shown: str, text: str) -> None:
    @_command(name)
    @click.argument("username")
    def run(console: Console, *, data: Path, username: str) -> None:
        with opened(data) as tables:
            user = find_user(tables, username)
            tables.update("user", user.id, {"is_blocked": int(name == "block")})
        console.result(f"{shown}: {username}")

    run.help = text


_switch(
    *("block", "blocked"),
    "Block a user: requests with the user's tokens are rejected (403).",
)
_switch("unblock", "unblocked", "Unblock a user; the user's tokens work again.")


@_command("add-token")
@click.argument("username")
@click.option("--name", default="wikisync", show_default=True, help="Description.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=("api",),
    show_default=True,
    help="Scope of the token; repeatable.",
)
@_expires
def add_token(
    console: Console,
    *,
    data: Path,
    username: str,
    name: str,
    scopes: tuple[str, ...],
    expires_on: str | None,
) -> None:
    """Create a token for a user and print it once."""
    check_day(expires_on)
    with opened(data) as tables:
        user = find_user(tables, username)
        secret = tables.add_token(
            user.id, name=name, scopes=scopes, expires_on=expires_on
        )
    console.result(f"token: {secret}")
    console.note("save the token: it is not stored and will not be shown again")


@_command("revoke")
@click.argument("token_id", type=int)
def revoke(console: Console, *, data: Path, token_id: int) -> None:
    """Revoke a token, given by its number in the list of tokens."""
    with opened(data) as tables:
        if not tables.update("token", token_id, {"is_revoked": 1}):
            raise ServiceError(
                f"there is no token {token_id}", hint=_admin("list", data, "tokens")
            )
    console.result(f"revoked: {token_id}")


@_command("add-group")
@click.argument("path")
@click.option("--name", default="", help="Display name.")
@click.option("--description", default="", help="Description.")
@click.option("--visibility", type=_visibility, default="private", show_default=True)
def add_group(
    console: Console,
    *,
    data: Path,
    path: str,
    name: str,
    description: str,
    visibility: str,
) -> None:
    """Add a group and its missing parent groups."""
    for part in path.split("/"):
        check_path(part, "path")
    with opened(data) as tables:
        tables.add_group(
            path, name=name, description=description, visibility=visibility, update=True
        )
    console.result(f"group: {path}")


@_command("add-member")
@click.argument("path")
@click.argument("username")
@click.argument("role", type=click.Choice(ROLES))
@_expires
def add_member(
    console: Console,
    *,
    data: Path,
    path: str,
    username: str,
    role: str,
    expires_on: str | None,
) -> None:
    """Add a user to a group or project, or change the user's role."""
    check_day(expires_on)
    with opened(data) as tables:
        member = find_user(tables, username).id, ROLES[role]
        owner = tables.group(path, None) or tables.project(path, None)
        if owner is None:
            raise ServiceError(
                f"there is no group or project {path}",
                hint=_admin("add-group", data, path),
            )
        tables.add_member(owner.kind, owner.id, *member, expires_on=expires_on)
    console.result(f"member: {username} is {role} of {path}")


@_command("add-topic")
@click.argument("name")
def add_topic(console: Console, *, data: Path, name: str) -> None:
    """Add a topic and print its id, for the filter topic_id."""
    name = name.strip()
    if not 0 < len(name) <= TOPIC_CHARS_MAX or not name.isprintable():
        raise UsageError(
            f"{name!r} cannot be a topic",
            hint=f"use 1 to {TOPIC_CHARS_MAX} characters on one line",
        )
    with opened(data) as tables:
        topic_id = tables.add_topic(name)
    console.result(f"topic: {topic_id}")


@_command("delete")
@click.argument("path")
@flag("-y", "--yes", "is_yes", help="Delete; do not only show it.")
def delete(console: Console, *, data: Path, path: str, is_yes: bool) -> None:
    """Delete a project, or a group with everything below it, permanently.

    Without --yes, the command only shows what it would delete.
    """
    with opened(data) as tables:
        goal = to_remove(tables, path)
        if goal is None:
            raise ServiceError(
                f"there is no group or project {path}",
                hint=_admin("list", data, "groups"),
            )
        for line in goal.lines:
            console.result(line)
        if not is_yes:
            console.note("nothing was removed; run it again with --yes to delete")
            return
        remove(tables, data, goal)
    console.note("deleted permanently; there is no copy")


@_command("list")
@click.argument("what", type=click.Choice(LISTED))
@json_option
def list_records(console: Console, *, data: Path, what: str) -> None:
    """List users, tokens, groups, members or topics."""
    with opened(data) as tables:
        rows = listed(tables, what)
    if console.as_json:
        console.json(rows)
    elif rows:
        console.table(list(rows[0]), [list(row.values()) for row in rows])


def listed(tables: Tables, what: str) -> list[dict[str, object]]:
    """The rows of a list, without any secret."""
    if what == "users":
        return [asdict(user) for user in tables.users()]
    if what == "tokens":
        rows = [asdict(token) for token in tables.tokens()]
        return [row | {"scopes": sorted(row["scopes"])} for row in rows]
    if what == "groups":
        return [
            {"id": group.id, "path": group.full_path, "visibility": group.visibility}
            for group in tables.groups(None)
        ]
    if what == "topics":
        return tables.topics()
    return tables.memberships()


def _admin(act: str, data: Path, *words: str) -> str:
    return command_line("serve", "admin", act, "--data", data, *words)


@contextmanager
def opened(data: Path) -> Iterator[Tables]:
    """The records of a data folder that is there."""
    import sqlite3

    file = data / "records.db"
    if not file.is_file():
        raise ServiceError(
            f"there is no service in {data}",
            hint=f"create one with {command_line('serve', '--data', data)}",
        )
    keep_private(data)
    try:
        tables = Tables(file, lambda: datetime.now(UTC))
        try:
            yield tables
        finally:
            tables.close()
    except sqlite3.OperationalError as error:
        raise ServiceError(
            f"cannot change the records in {data}: {error}",
            hint="try again in a moment, or stop the service first",
        ) from error
    except sqlite3.DatabaseError as error:
        raise ServiceError(
            f"cannot use {file} as the service's records: {error}",
            hint="choose another --data folder, or restore the file",
        ) from error


def find_user(tables: Tables, username: str) -> User:
    """The user of that name."""
    user = tables.user_named(username)
    if user is None:
        raise ServiceError(
            f"there is no user {username}",
            hint="add it with wikisync serve admin add-user",
        )
    return user


def check_path(part: str, what: str) -> None:
    """Refuse what cannot be a part of an address."""
    if not PATH_PART.fullmatch(part):
        raise UsageError(
            f"{what}: {part!r} is not a name",
            hint="use letters, digits, '_', '-' and '.'",
        )


def check_day(text: str | None) -> None:
    """Refuse what is not a date."""
    try:
        date.fromisoformat(text or "2000-01-01")
    except ValueError as error:
        raise UsageError(
            f"--expires: {text!r} is not a date", hint="write it as 2027-12-31"
        ) from error


give_examples(
    command,
    "serve admin {} --data ./data {}",
    "ann",
    {
        "add-group": "docs/team",
        "add-member": "docs ann developer",
        "add-token": "ann --scope read_api",
        "add-topic": "wiki",
        "delete": "docs/handbook --yes",
        "list": "users",
        "revoke": "2",
    },
)

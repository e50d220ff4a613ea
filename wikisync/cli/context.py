"""Where a command meets the service: URL, token, client, and which wikis are meant.

The token comes from ``--token-file`` or ``WIKISYNC_TOKEN`` and from nowhere else:
a token on the command line would be in every process list and shell history.

Wikis that are named must be there; wikis that are found by looking around are
left out with a note where they are switched off, hidden or empty.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct, field

from wikisync.cli.service_command import token_option, url_option
from wikisync.errors import UsageError
from wikisync.model import Problem, WikiOwner

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.api.project_schema import ProjectRecord
    from wikisync.api.schema import GroupRecord
    from wikisync.cli.console import Console

TOKEN_VARIABLE = "WIKISYNC_TOKEN"  # noqa: S105 - the variable's name
TOKEN_FILE_BYTES_MAX = 4096

SKIPPED = "wiki-skipped"
"""Code of the notes about wikis that were found but cannot or need not be had."""

Command = TypeVar("Command", bound=Callable[..., Any])


class Selection(Struct, frozen=True):
    """Which wikis a command line asks for."""

    projects: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_all: bool = False
    """With groups: everything below them; alone: everything there is."""

    def check(self) -> None:
        """Refuse a selection of nothing.

        Raises:
            UsageError: neither a project, a group nor everything is named.
        """
        if not (self.projects or self.groups or self.is_all):
            raise UsageError(
                "no wiki is named",
                hint="add --project PATH, --group PATH, --group PATH --all for all"
                " wikis below a group, or --all for every wiki you can see",
            )


class FoundWiki(Struct, frozen=True):
    """One wiki to work on."""

    owner: WikiOwner
    id: int
    title: str
    web_url: str
    """Address of the project or group for people, or empty."""
    visibility: str
    description: str
    is_named: bool
    """Asked for by name, so that its absence is an error."""
    placeholders: Mapping[str, str] = field(default_factory=dict)
    """What only the service tells of the values of placeholders in pages."""


class Found(Struct):
    """What a selection led to."""

    wikis: list[FoundWiki] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)

    def add(self, wiki: FoundWiki) -> None:
        """Add a wiki unless it is there already; being named counts more."""
        if all(known.owner != wiki.owner for known in self.wikis):
            self.wikis.append(wiki)


def service_options(command: Command) -> Command:
    """The service's URL and the options that name a token and wikis."""
    decorators: list[Callable[..., Any]] = [
        url_option(),
        click.option(
            "--project",
            "projects",
            multiple=True,
            metavar="PATH",
            help="Wiki of this project; may be given again.",
        ),
        click.option(
            "--group",
            "groups",
            multiple=True,
            metavar="PATH",
            help="Wiki of this group; may be given again.",
        ),
        click.option(
            "--all",
            "is_all",
            is_flag=True,
            help="With --group: every wiki below it. Alone: every wiki you can see.",
        ),
        token_option(),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def read_token(
    token_file: Path | None,
    console: Console,
    *,
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """The token from the file named, or from the environment; None for neither.

    Raises:
        UsageError: the file cannot be read or holds no token.  The message never
            repeats what the file holds.
    """
    environment = os.environ if environment is None else environment
    if token_file is None:
        return environment.get(TOKEN_VARIABLE, "").strip() or None
    try:
        with token_file.open("rb") as file:
            is_open_to_others = os.fstat(file.fileno()).st_mode & (
                stat.S_IRGRP | stat.S_IROTH
            )
            content = file.read(TOKEN_FILE_BYTES_MAX + 1)
    except OSError as exc:
        raise UsageError(
            f"the token file {token_file} cannot be read: {exc.strerror}",
            hint=f"name a file that you can read, or set {TOKEN_VARIABLE}",
        ) from exc
    if is_open_to_others:
        console.warn(
            f"others can read the token file {token_file}; run: chmod 600 {token_file}"
        )
    return _token_in(content, token_file)


def _token_in(content: bytes, token_file: Path) -> str:
    try:
        token = content.decode("ascii").strip()
    except UnicodeDecodeError:
        token = ""
    if not token or len(token.split()) != 1 or len(content) > TOKEN_FILE_BYTES_MAX:
        raise UsageError(
            f"the token file {token_file} does not hold one token",
            hint="put nothing but the token into it, on one line",
        )
    return token


def open_client(url: str, token_file: Path | None, console: Console) -> Client:
    """A client for the service at this URL, still to be entered.

    Raises:
        UsageError: the URL or the token cannot be one.
    """
    from wikisync.api.client import Client

    return Client(url, read_token(token_file, console))


async def find_wikis(client: Client, selection: Selection) -> Found:
    """The wikis that a selection means, each once, named ones first.

    Raises:
        NotFound: a named project or group does not exist or is hidden.
        RemoteError: in its other kinds.
    """
    selection.check()
    found = Found()
    for path in selection.projects:
        found.add(
            _of_project(
                await client.project(client.address.path_of(path)), is_named=True
            )
        )
    for path in selection.groups:
        group = await client.group(client.address.path_of(path))
        # asked for with everything below it, a group may well have no wiki itself
        _look_at_group(group, found, is_named=not selection.is_all)
        if selection.is_all:
            await _find_below(client, group, found)
    if selection.is_all and not selection.groups:
        await _find_everything(client, found)
    return found


async def _find_below(client: Client, group: GroupRecord, found: Found) -> None:
    async for below in client.group_descendants(group.id):
        _look_at_group(below, found)
    await _look_at_projects(client.group_projects(group.id), found)


async def _find_everything(client: Client, found: Found) -> None:
    async for group in client.groups():
        _look_at_group(group, found)
    await _look_at_projects(client.projects(), found)


def _look_at_group(group: GroupRecord, found: Found, *, is_named: bool = False) -> None:
    wiki = _of_group(group, is_named=is_named)
    if group.wiki_access_level == "disabled" and not is_named:
        found.skipped.append(skipped(wiki.owner, "its wiki is switched off"))
    else:
        found.add(wiki)


async def _look_at_projects(
    projects: AsyncIterator[ProjectRecord], found: Found
) -> None:
    async for project in projects:
        wiki = _of_project(project)
        is_off = project.wiki_access_level == "disabled" or (
            project.wiki_access_level is None and project.wiki_enabled is False
        )
        if is_off and all(known.owner != wiki.owner for known in found.wikis):
            found.skipped.append(skipped(wiki.owner, "its wiki is switched off"))
        elif not is_off:
            found.add(wiki)


def skipped(owner: WikiOwner, reason: str) -> Problem:
    """A note that a wiki which was only found by looking around is left out."""
    return Problem(SKIPPED, str(owner), f"left out: {reason}")


def _of_project(project: ProjectRecord, *, is_named: bool = False) -> FoundWiki:
    namespace = project.namespace
    is_in_group = namespace is not None and namespace.kind == "group"
    return FoundWiki(
        owner=WikiOwner("project", project.path_with_namespace),
        id=project.id,
        title=project.name or project.path_with_namespace,
        web_url=project.web_url,
        visibility=project.visibility or "private",
        description=project.description or "",
        is_named=is_named,
        placeholders={
            "project_id": str(project.id),
            "default_branch": project.default_branch or "",
            "group_name": namespace.name if namespace and is_in_group else "",
        },
    )


def _of_group(group: GroupRecord, *, is_named: bool = False) -> FoundWiki:
    return FoundWiki(
        owner=WikiOwner("group", group.full_path),
        id=group.id,
        title=group.name or group.full_path,
        web_url=group.web_url,
        visibility=group.visibility or "private",
        description=group.description or "",
        is_named=is_named,
    )

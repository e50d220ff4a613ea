"""``wikisync project``: the projects of a service; here everything that writes.

Options of filters and attributes come from ``contract.parameters`` by ``attributes``;
``project_lists`` reads.
"""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from wikisync.api.projects import Deletion, Projects, Toggle
from wikisync.cli import project_lists
from wikisync.cli.attributes import parameter_options, read_values
from wikisync.cli.options import InputPath, flag, give_examples
from wikisync.cli.project_lists import as_plain, command_of
from wikisync.cli.service_command import Connection, speak
from wikisync.contract.routes import Endpoint
from wikisync.core.terminal import one_line
from wikisync.errors import ExitCode, UsageError

Operate = Callable[["Projects"], Awaitable[Any]]

PROJECT = click.argument("project")
YES = flag("-y", "--yes", help="Do not ask for confirmation.")

DONE_WORDS = {
    Endpoint.STAR: ("starred", "was already starred"),
    Endpoint.UNSTAR: ("no longer starred", "was not starred"),
    Endpoint.ARCHIVE: ("archived", "was already archived"),
    Endpoint.UNARCHIVE: ("no longer archived", "was not archived"),
}
"""What a switch became, and what it was already."""


def change(connection: Connection, operate: Operate) -> Any:
    """Do one operation on projects."""
    return speak(connection, lambda client: operate(Projects(client)))


def report(connection: Connection, result: object, line: str) -> None:
    """Print what came of a change: a line for people, the record for programs."""
    if connection.console.as_json:
        connection.console.json(as_plain(result))
    else:
        connection.console.result(one_line(line, None))


def _line(project: Any, verb: str) -> str:
    address = f" {project.web_url}" if project.web_url else ""
    return f"{verb} project {project.path_with_namespace} (id {project.id}){address}"


def _run_create(connection: Connection, *, user_id: int | None, **options: Any) -> None:
    """Create a project."""
    endpoint = Endpoint.CREATE if user_id is None else Endpoint.CREATE_FOR_USER
    values = read_values(endpoint, options)
    owner = [] if user_id is None else [user_id]
    made = change(connection, lambda p: getattr(p, endpoint)(*owner, **values))
    if made.import_status in {"scheduled", "started"}:
        connection.console.note(
            f"the service is still filling its repository; see import_status in"
            f" wikisync project show {made.path_with_namespace}"
        )
    report(connection, made, _line(made, "created"))


def _run_edit(connection: Connection, project: str, **options: Any) -> None:
    """Change attributes of PROJECT; the others stay."""
    values = read_values(Endpoint.EDIT, options)
    edited = change(connection, lambda p: p.edit_project(project, **values))
    report(connection, edited, _line(edited, "edited"))


def _run_fork(
    connection: Connection, project: str, *, wait: bool, **options: Any
) -> None:
    """Fork PROJECT into your namespace or another."""
    values = read_values(Endpoint.FORK, options)
    fork = change(connection, lambda p: p.fork_project(project, wait=wait, **values))
    if not wait and fork.import_status in {"scheduled", "started"}:
        connection.console.note(
            "the service is still copying; use --wait to wait until it is complete"
        )
    report(connection, fork, _line(fork, "forked into"))


def _run_restore(connection: Connection, project: str) -> None:
    """Cancel the deletion of PROJECT."""
    kept = change(connection, lambda p: p.restore_project(project))
    report(connection, kept, _line(kept, "restored"))


def _toggle_command(name: str, endpoint: Endpoint, text: str) -> click.Command:
    def run(connection: Connection, project: str) -> None:
        toggled: Toggle = change(connection, lambda p: getattr(p, endpoint)(project))
        word = DONE_WORDS[endpoint][0 if toggled.has_changed else 1]
        plain = {
            "changed": toggled.has_changed,
            "project": toggled.project and as_plain(toggled.project),
        }
        report(connection, plain, f"project {project}: {word}")

    return command_of(run, [PROJECT], name=name, text=text, is_write=True)


def _run_delete(
    connection: Connection,
    project: str,
    *,
    permanently: bool,
    yes: bool,
    **options: Any,
) -> None:
    """Delete PROJECT, or mark it for deletion if the service delays deletions."""
    if not connection.is_dry_run and not yes:
        _confirm_deletion(connection, project, permanently=permanently)
    values = read_values(Endpoint.DELETE, options)

    async def delete(projects: Projects) -> Deletion:
        if permanently:
            return await projects.delete_project_permanently(project)
        return await projects.delete_project(project, **values)

    deletion: Deletion = change(connection, delete)
    words = {
        "removed": "removed",
        "accepted": "being removed by the service",
        "scheduled": "marked for deletion; wikisync project restore cancels the"
        " deletion",
    }
    plain = {
        "state": deletion.state,
        "project": deletion.project and as_plain(deletion.project),
    }
    report(connection, plain, f"project {project}: {words[deletion.state]}")


def _confirm_deletion(
    connection: Connection, project: str, *, permanently: bool
) -> None:
    found = change(connection, lambda p: p.show_project(project))
    shown = f"{found.path_with_namespace} (id {found.id})"
    confirm(
        f"Delete project {shown} with everything in it"
        f"{', immediately and permanently' if permanently else ''}?",
        f"deleting project {shown} needs confirmation",
    )


def confirm(question: str, unasked: str) -> None:
    """Ask a question on the terminal; anything but yes ends the command."""
    if not sys.stdin.isatty():
        raise UsageError(unasked, hint="add --yes, or check first with --dry-run")
    click.confirm(question, abort=True, err=True)


async def _group_id(projects: Projects, group: str) -> int:
    if group.isascii() and group.isdigit():
        return int(group)
    return (await projects.client.group(group)).id


def _run_share(
    connection: Connection, project: str, group: str, **options: Any
) -> None:
    """Share PROJECT with GROUP, given by path or id."""
    values = read_values(Endpoint.SHARE, options)

    async def share(projects: Projects) -> Any:
        group_id = await _group_id(projects, group)
        return await projects.share_project(project, group_id=group_id, **values)

    shared = change(connection, share)
    report(connection, shared, f"shared project {project} with group {group}")


def _run_unshare(connection: Connection, project: str, group: str) -> None:
    """Stop sharing PROJECT with GROUP, given by path or id."""

    async def unshare(projects: Projects) -> dict[str, object]:
        group_id = await _group_id(projects, group)
        await projects.unshare_project(project, group_id)
        return {"group_id": group_id}

    done = change(connection, unshare)
    line = f"project {project} is no longer shared with group {group}"
    report(connection, done, line)


def _run_upload(connection: Connection, project: str, file: Path) -> None:
    """Upload FILE for issues and comments of PROJECT; prints its Markdown link."""
    with connection.console.progress() as progress:
        uploaded = change(
            connection, lambda p: p.upload_file(project, file, progress=progress)
        )
    report(connection, uploaded, uploaded.markdown)


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

    avatar = change(connection, set_or_remove)
    what = avatar.avatar_url or ("removed" if remove else "set")
    report(connection, avatar, f"avatar of project {project}: {what}")


def _run_import_members(connection: Connection, project: str, source: str) -> int:
    """Add the members of project SOURCE to PROJECT."""
    imported = change(connection, lambda p: p.import_project_members(project, source))
    for name, reason in imported.refused.items():
        connection.console.warn(one_line(f"{name} was not imported: {reason}", None))
    is_whole = imported.status == "success"
    line = f"not all members of project {source} were imported"
    if is_whole:
        line = f"imported the members of project {source} into project {project}"
    report(connection, imported, line)
    return ExitCode.DONE if is_whole else ExitCode.HELD


def commands() -> list[click.Command]:
    """Every command that writes."""
    group = click.argument("group")
    wait = flag("--wait", help="Wait until the fork is complete.")
    file = click.argument("file", type=InputPath("file"))
    user_id = click.option(
        "--user-id", type=int, metavar="NUMBER", help="Owner; for administrators."
    )
    permanently = flag(
        "--permanently", help="Delete immediately, without the service's delay."
    )
    picture = click.argument("file", type=InputPath("file"), required=False)
    remove = flag("--remove", help="Remove the avatar.")
    create = parameter_options([Endpoint.CREATE, Endpoint.CREATE_FOR_USER])
    access = parameter_options([Endpoint.SHARE], leave_out=["group_id"])
    write = partial(command_of, is_write=True)
    return [
        write(_run_create, [user_id, *create], takes_newer=True),
        write(
            _run_edit, [PROJECT, *parameter_options([Endpoint.EDIT])], takes_newer=True
        ),
        write(
            _run_fork,
            [PROJECT, *parameter_options([Endpoint.FORK]), wait],
            takes_newer=True,
        ),
        _toggle_command("star", Endpoint.STAR, "Star PROJECT."),
        _toggle_command("unstar", Endpoint.UNSTAR, "Unstar PROJECT."),
        _toggle_command("archive", Endpoint.ARCHIVE, "Make PROJECT read-only."),
        _toggle_command(
            "unarchive", Endpoint.UNARCHIVE, "Make PROJECT writable again."
        ),
        write(
            _run_delete,
            [PROJECT, permanently, *parameter_options([Endpoint.DELETE]), YES],
            takes_newer=True,
        ),
        write(_run_restore, [PROJECT]),
        write(_run_share, [PROJECT, group, *access], takes_newer=True),
        write(_run_unshare, [PROJECT, group]),
        write(_run_upload, [PROJECT, file]),
        write(_run_avatar, [PROJECT, picture, remove]),
        write(_run_import_members, [PROJECT, click.argument("source")]),
    ]


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


for _made in (*project_lists.commands(), *commands()):
    command.add_command(_made)
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

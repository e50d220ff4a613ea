"""``wikisync status``: what is not in sync, what waits for a person, and since when."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import click
from msgspec.structs import replace

from wikisync.cli.console import Console
from wikisync.cli.options import exclude_option, flag, json_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.config import WikiSection
from wikisync.core.system.parallel import WIKIS_AT_ONCE, gather
from wikisync.errors import Unagreed, WikisyncError
from wikisync.folder.workspace import WATCH, holder_of
from wikisync.watch.report import read_health
from wikisync.workspace.configured import ConfiguredWorkspace, find_workspace
from wikisync.workspace.failures import is_of_all
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.service import Credentials
from wikisync.workspace.status import (
    WikiStatus,
    exit_code_of,
    headline,
    is_well,
    notes_of_watch,
    rows,
    scan,
    status_as_json,
)


@click.command(name="status", epilog="Example: wikisync status handbook")
@click.argument("wikis", nargs=-1, metavar="[WIKI]...")
@workspace_option
@flag("--offline", help="Check the folders only; do not contact the service.")
@json_option
@exclude_option
@token_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    wikis: tuple[str, ...],
    credentials: Credentials,
    excluded: tuple[str, ...],
    *,
    offline: bool,
) -> int:
    """Show what is not in sync and what needs your decision.

    WIKI is a folder of the workspace or a full path; the default is all wikis. The
    command changes nothing and also works while `wikisync watch` runs. Without the
    service it uses the folders alone.
    """
    workspace = find_workspace(start).without(excluded)
    chosen = workspace.wikis(wikis) if wikis else workspace.synced
    with open_workspace(
        workspace, is_read_only=True, allows_network_disk=True
    ) as opened:
        found = asyncio.run(_scan(opened, chosen, credentials, offline=offline))
        notices = list(opened.notices())
    _show(console, workspace, found, notices)
    return exit_code_of(found)


async def _scan(
    opened: OpenWorkspace,
    wikis: Sequence[WikiSection],
    credentials: Credentials,
    *,
    offline: bool,
) -> list[WikiStatus]:
    client, unseen = None, None
    async with AsyncExitStack() as stack:
        if not offline:
            service = credentials.open(opened.workspace)
            try:
                client = await stack.enter_async_context(service)
            except Unagreed:
                raise
            except WikisyncError as error:
                unseen = error
        away: dict[int, WikisyncError] = {}  # what wikis met, by their places

        async def one(at: int) -> WikiStatus:
            section = wikis[at]
            if client is None or opened.known(section).memory.paused is not None:
                return await scan(opened, section, None, unseen=unseen)
            if away:
                return await scan(opened, section, None, unseen=away[min(away)])
            status = await scan(opened, section, client)
            failure = status.unseen
            if failure is not None and await is_of_all(client, failure):
                away[at] = failure
            return status

        found = await gather(range(len(wikis)), one, in_flight=WIKIS_AT_ONCE)
    if not away:
        return found
    first = min(away)
    failure = _met_by(wikis[first], away[first])
    return [
        replace(status, unseen=failure)
        if at != first and status.unseen in away.values()
        else status
        for at, status in enumerate(found)
    ]


def _met_by(section: WikiSection, failure: WikisyncError) -> WikisyncError:
    """What keeps the other wikis from being asked: its words name another wiki."""
    return WikisyncError(
        f"as {section.folder}, which was checked first: {failure.message}",
        hint=failure.hint,
    )


def _show(
    console: Console,
    workspace: ConfiguredWorkspace,
    found: Sequence[WikiStatus],
    notices: Sequence[str],
) -> None:
    holder = holder_of(workspace.private)
    if console.as_json:
        answer = {
            "workspace": str(workspace.root),
            "held_by": holder,
            "wikis": [status_as_json(one) for one in found],
        }
        console.json(answer)
        return
    for notice in notices:
        console.warn(notice)
    if holder is not None:
        is_watch = holder.startswith(WATCH)
        console.note(holder if is_watch else f"another wikisync is running: {holder}")
        for line in notes_of_watch(read_health(workspace.private), time.time()):
            console.lines(line)
    for status in found:
        _show_wiki(console, status)
    unchecked = (one.unseen for one in found if one.failure is None and one.unseen)
    for hint in dict.fromkeys(error.hint for error in unchecked if error.hint):
        console.note(f"hint: {hint}")


def _show_wiki(console: Console, status: WikiStatus) -> None:
    if console.quiet and is_well(status):
        return
    is_green = is_well(status) and status.unseen is None
    console.state(headline(status), is_well=is_green)
    for row in rows(status):
        console.lines(f"  {row.sentence}")
    if status.failure is not None:
        console.error(status.failure)

"""``wikisync sync``: carry edits both ways, once."""

import asyncio
from pathlib import Path
from typing import Any

import click

from wikisync.cli.console import Console
from wikisync.cli.options import (
    exclude_option,
    flag,
    json_option,
    network_disk_option,
    workspace_option,
)
from wikisync.cli.service_command import token_option
from wikisync.cli.sync_report import report_sync
from wikisync.errors import UsageError
from wikisync.sync.decide.narrowing import Direction
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.sync_run import SyncRequest, sync_workspace


@click.command(
    name="sync",
    epilog="Example: wikisync sync --dry-run\n\nwikisync sync handbook/home.md",
)
@click.argument("pages", nargs=-1, metavar="[PAGE]...")
@workspace_option
@flag("--dry-run", help="Show what would be done; change nothing.")
@flag("--pull", "is_pull", help="Only download; write nothing to the wikis.")
@flag("--push", "is_push", help="Only upload; write nothing to the folders.")
@flag("--wait", "waits", help="Wait until deletions of missing pages are confirmed.")
@click.option(
    "--adopt",
    type=click.Choice(["push", "hold"]),
    help="First sync: upload pages that exist only locally, or hold them.",
)
@json_option
@network_disk_option
@exclude_option
@token_option
@click.pass_obj
def command(
    console: Console, /, pages: tuple[str, ...], start: Path, **options: Any
) -> int:
    """Sync the workspace's folders and their wikis in both directions.

    PAGE is a page's file or FOLDER/SLUG, or a folder with all pages below it; the
    default is all pages.  Edits of both sides are merged; if they overlap, the page is
    held until you resolve its conflict file. A change that would delete or change many
    pages at once waits for your approval.
    """
    direction = _direction(is_pull=options["is_pull"], is_push=options["is_push"])
    workspace = find_workspace(start).without(options["excluded"])
    request = SyncRequest(
        direction=direction,
        is_dry_run=options["dry_run"],
        waits=options["waits"],
        adopt=options["adopt"],
        allows_network_disk=options["network_disk"],
    )
    run = asyncio.run(sync_workspace(workspace, pages, request, options["credentials"]))
    report_sync(console, run.wikis, run.problems, is_dry_run=request.is_dry_run)
    return run.exit_code


def _direction(*, is_pull: bool, is_push: bool) -> Direction:
    if is_pull and is_push:
        raise UsageError(
            "--pull and --push cannot be used together",
            hint="omit both to sync in both directions",
        )
    if is_pull:
        return Direction.PULL
    return Direction.PUSH if is_push else Direction.BOTH

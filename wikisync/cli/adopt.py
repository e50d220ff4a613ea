"""``wikisync adopt``: take the workspace's folders, and their wikis, as they are."""

import asyncio
from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import flag, network_disk_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.cli.sync_report import report_sync
from wikisync.errors import ExitCode, command_line
from wikisync.workspace.adopting import adopt_workspace, planned_adoptions
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.service import Credentials


@click.command(
    name="adopt", epilog="Example: wikisync adopt\n\nwikisync adopt handbook --yes"
)
@click.argument("wikis", nargs=-1, metavar="[WIKI]...")
@workspace_option
@flag("-y", "--yes", "is_yes", help="Do not ask for confirmation.")
@network_disk_option
@token_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    wikis: tuple[str, ...],
    credentials: Credentials,
    *,
    is_yes: bool,
    network_disk: bool,
) -> int:
    """Accept the workspace's folders as they are: nothing counts as deleted.

    Use this after a workspace was emptied, restored or assembled by hand. The next sync
    downloads pages that only the wiki has and uploads pages that only the folder has.
    It deletes nothing on either side.

    A folder whose wiki in wikisync.toml is another one than before is synced with that
    one from now on: equal pages are in sync, different ones are held, and pages that
    exist only here are uploaded only if you agree. The command shows what the next sync
    would do and asks for confirmation, unless --yes is given. WIKI limits which
    wikis may become others; the folders of all wikis are accepted.
    """
    workspace = find_workspace(start)
    planning = planned_adoptions(workspace, workspace.wikis(wikis), credentials)
    adoptions = asyncio.run(planning)
    for one in adoptions:
        console.note(str(one))
        report_sync(console, [one.planned], is_dry_run=True)
    if adoptions and not (is_yes or console.ask("adopt these wikis?")):
        console.note("nothing was changed; run it again with --yes to make the change")
        return ExitCode.DONE
    adopt_workspace(workspace, adoptions, allows_network_disk=network_disk)
    console.note(
        f"{workspace.root} is accepted as it is; the next sync deletes nothing. To see"
        f" what it will do, run: {command_line('sync', '-C', workspace.root)} --dry-run"
    )
    return ExitCode.DONE

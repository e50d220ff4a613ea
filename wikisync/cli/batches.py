"""``wikisync approve`` and ``refuse``: what a person says about a batch that is held.

It may be said while another process holds the workspace, which carries it out.
"""

import asyncio
from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import workspace_option
from wikisync.cli.service_command import token_option
from wikisync.cli.sync_report import report_sync
from wikisync.config import WikiSection
from wikisync.errors import ExitCode, UsageError
from wikisync.folder.workspace import holder_of
from wikisync.sync.decide.safety import Batch, Decision
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.deciding import note_decision
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import sync_pages
from wikisync.workspace.syncing import exit_code_of


def decision_command(name: str, decision: Decision, text: str) -> click.Command:
    """The command by which a person makes this decision."""

    @click.command(name, help=text, epilog=f"Example: wikisync {name} handbook:1")
    @click.argument("batch")
    @workspace_option
    @token_option
    @click.pass_obj
    def command(
        console: Console, start: Path, batch: str, credentials: Credentials
    ) -> int:
        return decide_batch(console, start, batch, decision, credentials)

    return command


def decide_batch(
    console: Console,
    start: Path,
    name: str,
    decision: Decision,
    credentials: Credentials,
) -> int:
    """Note what a person says about a batch, and sync its wiki."""
    workspace = find_workspace(start)
    holder = holder_of(workspace.private)
    with open_workspace(workspace, is_held=holder is None) as opened:
        section, batch = _waiting_batch(opened, name)
        note_decision(opened.known(section), batch, decision)
        console.note(f"{section.folder}:{batch.id} is {decision}: {batch}")
        if holder is not None:
            console.note(f"the running wikisync applies it ({holder})")
            return ExitCode.DONE
        return asyncio.run(_sync(console, opened, section, credentials))


def _waiting_batch(opened: OpenWorkspace, name: str) -> tuple[WikiSection, Batch]:
    """The batch that a person names ``FOLDER:ID``, or ``ID`` where that is clear."""
    folder, _, number = name.rpartition(":")
    every = [
        (section, batch)
        for section in opened.workspace.config.wikis
        for batch in opened.known(section).memory.batches
    ]
    wikis = opened.workspace.wikis([folder] if folder else [])
    found = [
        one for one in every if one[0] in wikis and str(one[1].id) == number.strip()
    ]
    waiting = [one for one in every if one[1].decision is Decision.WAITING]
    meant = [one for one in found if one in waiting]
    if len(meant) == 1:
        return meant[0]
    why = f"no batch {name} is waiting for approval"
    if meant:
        why = f"{name} is ambiguous: several wikis have a batch with this number"
    elif found:
        why = f"{name} is {found[0][1].decision} already"
    held = "; ".join(f"{one.folder}:{batch.id} ({batch})" for one, batch in waiting)
    hint = f"held batches: {held}" if held else "no batch is held; see wikisync status"
    raise UsageError(why, hint=hint)


async def _sync(
    console: Console,
    opened: OpenWorkspace,
    section: WikiSection,
    credentials: Credentials,
) -> int:
    done = await sync_pages(opened, [(section, None)], credentials)
    report_sync(console, done, is_dry_run=False)
    return exit_code_of(done)


approve = decision_command(
    "approve",
    Decision.APPROVED,
    """Approve a batch that was held because it deletes or changes many pages.

    BATCH is FOLDER:ID as shown by `wikisync status`, or the ID alone if it is unique.
    The approval covers exactly the texts in the batch; later edits need a new approval.
    """,
)
refuse = decision_command(
    "refuse",
    Decision.REFUSED,
    """Reject a held batch; pages that it would delete are restored.

    BATCH is FOLDER:ID as shown by `wikisync status`, or the ID alone if it is unique.
    Rejected edits are not synced until their text changes.
    """,
)

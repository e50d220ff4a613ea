"""What a person decides of a workspace: approve, refuse, pause, resume, adopt, undo."""

import asyncio

import click

from wikisync.cli import options
from wikisync.cli.console import Console
from wikisync.cli.sync import report_sync
from wikisync.config.sections import WikiSection
from wikisync.errors import ExitCode, UsageError, command_line
from wikisync.folder.workspace import holder_of
from wikisync.sync.decide.safety import Batch, Decision
from wikisync.workspace.attention import named_problem
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.deciding import note_decision
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.repairing import Undo, adopt_workspace, planned_adoptions
from wikisync.workspace.repairing import undo as undo_sync
from wikisync.workspace.sentences import counted, local_time
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import exit_code_of, sync_pages


def decision_command(name: str, decision: Decision, text: str) -> click.Command:
    """The command by which a person makes this decision."""

    @click.command(name, help=text, epilog=f"Example: wikisync {name} handbook:1")
    @click.argument("batch")
    @options.workspace_option
    @options.token_option
    @click.pass_obj
    def command(
        console: Console,
        workspace: ConfiguredWorkspace,
        batch: str,
        credentials: Credentials,
    ) -> int:
        holder = holder_of(workspace.private)
        with open_workspace(workspace, is_held=holder is None) as opened:
            section, held = _waiting_batch(opened, batch)
            note_decision(opened.known(section), held, decision)
            console.note(f"{section.folder}:{held.id} is {decision}: {held}")
            if holder is not None:
                console.note(f"the running wikisync applies it ({holder})")
                return ExitCode.DONE
            done = asyncio.run(sync_pages(opened, [(section, None)], credentials))
        report_sync(console, done, is_dry_run=False)
        return exit_code_of(done)

    return command


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


REASON_CHARS_MAX = 500
"""A longer reason is cut."""


@click.command(name="pause", epilog='Example: wikisync pause handbook "the big move"')
@click.argument("wiki", required=False)
@click.argument("reason", default="")
@options.workspace_option
@click.pass_obj
def pause(
    console: Console, workspace: ConfiguredWorkspace, wiki: str | None, reason: str
) -> int:
    """Pause WIKI until `resume`: it is not read, written or checked for deletions.

    WIKI is a folder of the workspace or a full path; the default is all wikis. A
    running watch applies the pause immediately.
    """
    wanted = workspace.wikis([wiki] if wiki else [])
    reason = " ".join(reason.split())[:REASON_CHARS_MAX]
    with open_workspace(workspace, is_held=False) as opened:
        for section in wanted:
            opened.known(section).remember(paused=reason)
            console.note(
                f"{section.folder}: paused; to resume, run:"
                f" {command_line('resume', section.folder)}"
            )
    return 0


@click.command(name="resume", epilog="Example: wikisync resume handbook")
@click.argument("wiki", required=False)
@options.workspace_option
@click.pass_obj
def resume(console: Console, workspace: ConfiguredWorkspace, wiki: str | None) -> int:
    """Resume the sync of WIKI, or of every paused wiki of the workspace."""
    with open_workspace(workspace, is_held=False) as opened:
        for section in workspace.wikis([wiki] if wiki else []):
            known = opened.known(section)
            was_paused = known.memory.paused is not None
            known.remember(paused=None)
            what = "resumed" if was_paused else "was not paused"
            console.note(f"{section.folder}: {what}")
    return 0


@click.command(
    name="adopt", epilog="Example: wikisync adopt\n\nwikisync adopt handbook --yes"
)
@click.argument("wikis", nargs=-1, metavar="[WIKI]...")
@options.workspace_option
@options.flag("-y", "--yes", "is_yes", help="Do not ask for confirmation.")
@options.network_disk_option
@options.token_option
@click.pass_obj
def adopt(
    console: Console,
    workspace: ConfiguredWorkspace,
    wikis: tuple[str, ...],
    credentials: Credentials,
    *,
    is_yes: bool,
    allows_network_disk: bool,
) -> None:
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
    planning = planned_adoptions(workspace, workspace.wikis(wikis), credentials)
    adoptions = asyncio.run(planning)
    for one in adoptions:
        console.note(str(one))
        report_sync(console, [one.planned], is_dry_run=True)
    if adoptions and not (is_yes or console.ask("adopt these wikis?")):
        console.note("nothing was changed; run it again with --yes to make the change")
        return
    adopt_workspace(workspace, adoptions, allows_network_disk=allows_network_disk)
    console.note(
        f"{workspace.root} is accepted as it is; the next sync deletes nothing. To see"
        f" what it will do, run: {command_line('sync', '-C', workspace.root)} --dry-run"
    )


@click.command(
    name="undo", epilog="Example: wikisync undo\n\nwikisync undo handbook --yes"
)
@click.argument("wiki", required=False)
@options.workspace_option
@options.flag("-y", "--yes", "is_yes", help="Do not ask for confirmation.")
@options.json_option
@options.token_option
@click.pass_obj
def undo(
    console: Console,
    workspace: ConfiguredWorkspace,
    wiki: str | None,
    credentials: Credentials,
    *,
    is_yes: bool,
) -> int:
    """Undo the last sync of WIKI, here and on the wiki.

    WIKI is a folder of the workspace; the default is the wiki that a sync changed last.
    Pages get the text and the name that both sides had before that sync, new pages are
    moved to the trash, and removed pages are restored. Pages that were edited since are
    listed and not changed. The command shows what it would do and asks for
    confirmation, unless --yes is given. Run it again to undo the undo.
    """
    given = workspace, wiki, credentials
    planned = asyncio.run(undo_sync(*given))
    if planned is None:
        console.note("there is no sync to undo")
        return ExitCode.DONE
    steps = planned.steps
    if not console.as_json:
        count = counted(len(planned.sync.steps), "page")
        at = local_time(planned.sync.at)
        console.note(f"{planned.section.folder}: the sync of {at} changed {count}")
        if steps:
            console.lines(*map(str, steps))
        console.problems(named_problem(planned.section, one) for one in planned.left)
    is_wanted = is_yes or (
        not console.as_json and bool(steps) and bool(console.ask("undo this sync?"))
    )
    done = None
    if is_wanted and steps:
        holder = holder_of(workspace.private)
        done = asyncio.run(undo_sync(*given, planned=planned))
        if holder is not None:
            console.note(f"the running wikisync carries it to the wiki ({holder})")
    else:
        console.note(
            "nothing was changed"
            + ("" if is_wanted else "; run it again with --yes to make the change")
        )
    return _report_undo(console, planned, done)


def _report_undo(console: Console, planned: Undo, done: Undo | None) -> int:
    synced = [done.synced] if done is not None and done.synced is not None else []
    code = exit_code_of(synced)
    if console.as_json:
        is_done = bool(synced) and not synced[0].failure
        shown = done or planned
        pages = [
            {"page": step.name, "to": step.was or None, "what": str(step).split()[0]}
            for step in shown.steps
        ]
        left = [{"page": page.subject, "why": page.message} for page in shown.left]
        answer = {"wiki": shown.section.folder, "sync": shown.sync.at}
        console.json(answer | {"is_done": is_done, "pages": pages, "left": left})
    else:
        new = [one for one in (done or planned).left if one not in planned.left]
        console.problems(named_problem(planned.section, one) for one in new)
        report_sync(console, synced, is_dry_run=False)
    if done is not None and done.left:
        return code or ExitCode.HELD
    return code

"""``wikisync sync``, and what is said of the wikis that a sync went through."""

import asyncio
from collections.abc import Sequence

import click
from msgspec.structs import replace

from wikisync.cli import options
from wikisync.cli.console import Console
from wikisync.cli.options import flag
from wikisync.core.model import Problem
from wikisync.errors import UsageError, WikisyncError, command_line
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import describe
from wikisync.workspace import attention, sentences
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.opening import Synced
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import SyncRequest, sync_workspace


@click.command(
    name="sync",
    epilog="Example: wikisync sync --dry-run\n\nwikisync sync handbook/home.md",
)
@click.argument("pages", nargs=-1, metavar="[PAGE]...")
@options.workspace_option
@flag("--pull", "is_pull", help="Only download; write nothing to the wikis.")
@flag("--push", "is_push", help="Only upload; write nothing to the folders.")
@options.joined(
    "request",
    SyncRequest,
    flag("--dry-run", "is_dry_run", help="Show what would be done; change nothing."),
    flag(
        "--wait", "waits", help="Wait until deletions of missing pages are confirmed."
    ),
    click.option(
        "--adopt",
        type=click.Choice(["push", "hold"]),
        help="First sync: upload pages that exist only locally, or hold them.",
    ),
    options.network_disk_option,
)
@options.json_option
@options.exclude_option
@options.token_option
@click.pass_obj
def command(
    console: Console,
    /,
    pages: tuple[str, ...],
    workspace: ConfiguredWorkspace,
    credentials: Credentials,
    excluded: tuple[str, ...],
    *,
    request: SyncRequest,
    is_pull: bool,
    is_push: bool,
) -> int:
    """Sync the workspace's folders and their wikis in both directions.

    PAGE is a page's file or FOLDER/SLUG, or a folder with all pages below it; the
    default is all pages.  Edits of both sides are merged; if they overlap, the page is
    held until you resolve its conflict file. A change that would delete or change many
    pages at once waits for your approval.
    """
    if is_pull or is_push:
        direction = Direction.PULL if is_pull else Direction.PUSH
        request = replace(request, direction=direction)
    if is_pull and is_push:
        raise UsageError(
            "--pull and --push cannot be used together",
            hint="omit both to sync in both directions",
        )
    workspace = workspace.without(excluded)
    run = asyncio.run(sync_workspace(workspace, pages, request, credentials))
    report_sync(console, run.wikis, run.problems, is_dry_run=request.is_dry_run)
    return run.exit_code


WAITING_SHOWN_MAX = 10
"""Pages that wait, each shown in a line of its own; ``status`` shows all."""

COUNTS = ("pulled", "pushed", "merged", "renamed", "removed")


def report_sync(
    console: Console,
    done: Sequence[Synced],
    beside: Sequence[Problem] = (),
    *,
    is_dry_run: bool,
) -> None:
    """Print what came of every wiki, and problems that are of no single one."""
    if console.as_json:
        wikis = [wiki_as_json(wiki) for wiki in done]
        problems = sentences.problems_as_json(beside)
        console.json({"wikis": wikis, "problems": problems})
        _show_failures(console, done)
        return
    for wiki in done:
        for note in wiki.all_notes:
            console.note(attention.problem_sentence(wiki.section, note))
        for absent in wiki.absent:
            console.note(str(absent))
        console.problems(
            attention.named_problem(wiki.section, one) for one in wiki.problems
        )
        is_shown = bool(wiki.results) or wiki.paused is not None
        is_idle = wiki.paused is None and not _done(wiki)
        if is_shown and not (console.quiet and is_idle):
            if is_dry_run and wiki.results:
                title = [f"{wiki.section.folder}:"] if len(done) > 1 else []
                console.lines(*title, *(_plan_lines(wiki) or [str(wiki.last.plan)]))
            else:
                console.lines(f"{wiki.section.folder}: {_summary(wiki)}")
        _show_waiting(console, wiki, is_dry_run=is_dry_run)
    console.problems(beside)
    _show_failures(console, done)


def _show_waiting(console: Console, wiki: Synced, *, is_dry_run: bool) -> None:
    folder = wiki.section.folder
    for batch in wiki.last.batches:
        console.warn(attention.batch_sentence(folder, batch))
    if is_dry_run:
        return  # its lines are in the plan
    for held in wiki.last.held:
        console.warn(attention.held_sentence(folder, held))
    for one in wiki.last.waiting[:WAITING_SHOWN_MAX]:
        console.note(f"{folder}/{one.slug}: {one.reason}")
    if (more := len(wiki.last.waiting) - WAITING_SHOWN_MAX) > 0:
        console.note(f"and {sentences.counted(more, 'page')} more; see wikisync status")
    for slug, notice in wiki.notices[:WAITING_SHOWN_MAX]:
        console.note(f"{folder}/{slug}: {notice}")
    if (more := len(wiki.notices) - WAITING_SHOWN_MAX) > 0:
        console.note(f"and {sentences.counted(more, 'page')} more; see wikisync log")
    if wiki.last.next_scan_s is not None:
        again = max(1, round(wiki.last.next_scan_s))
        console.note(f"run it again in {again} s, or wait with: wikisync sync --wait")


def _show_failures(console: Console, done: Sequence[Synced]) -> None:
    for wiki in done:
        if wiki.failure is not None:
            message = wiki.failure.message
            if wiki.section.folder not in message:
                message = f"{wiki.section.folder}: {message}"
            console.error(WikisyncError(message, hint=wiki.failure.hint))


def _plan_lines(wiki: Synced) -> list[str]:
    """One for each action, whatever is in its page's name."""
    return [describe(action) for action in wiki.last.plan.actions]


def _summary(wiki: Synced) -> str:
    if wiki.paused is not None:
        because = f" ({wiki.paused})" if wiki.paused else ""
        resume = command_line("resume", wiki.section.folder)
        return f"paused{because}; to resume, run: {resume}"
    pages = sentences.counted(wiki.last.pages, "page")
    return f"{pages}, {', '.join(_done(wiki)) or 'nothing to do'}"


def _done(wiki: Synced) -> list[str]:
    """What was done, and how much waits; empty where that is nothing."""
    counts = {name: wiki.count(name) for name in COUNTS}
    words = [f"{number} {name}" for name, number in counts.items() if number]
    if fetched := wiki.count("attachments"):
        words.append(f"{sentences.counted(fetched, 'attachment')} fetched")
    if wiki.last.held:
        words.append(f"{len(wiki.last.held)} held")
    if wiki.last.waiting:
        words.append(f"{len(wiki.last.waiting)} waiting")
    asked = sum(len(batch.members) for batch in wiki.last.batches)
    if asked:
        words.append(f"{asked} waiting for your approval")
    if wiki.problems and not words:
        words.append(sentences.counted(len(wiki.problems), "problem"))
    return words


def wiki_as_json(wiki: Synced) -> dict[str, object]:
    """One wiki for programs."""
    failure = wiki.failure
    return {
        **sentences.fields(wiki.section, "kind path folder"),
        "paused": wiki.paused,
        "pages": wiki.last.pages if wiki.results else None,
        **{name: wiki.count(name) for name in COUNTS},
        "attachments_fetched": wiki.count("attachments"),
        "plan": _plan_lines(wiki),
        "held": [
            {
                "page": one.slug,
                "reason": str(one.reason),
                "detail": one.detail,
                "conflict": bool(one.conflict_file),
                "conflict_file": one.conflict_file or None,
            }
            for one in wiki.last.held
        ],
        "waiting": [
            {"page": one.slug, "reason": str(one.reason)} for one in wiki.last.waiting
        ],
        "batches": [sentences.batch_as_json(batch) for batch in wiki.last.batches],
        "problems": sentences.problems_as_json(wiki.problems),
        "notes": sentences.problems_as_json(wiki.all_notes),
        "absent": sentences.problems_as_json(wiki.absent),
        "error": sentences.fields(failure, "message hint") if failure else None,
        "next_look_s": wiki.last.next_scan_s,
    }

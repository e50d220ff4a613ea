"""What ``wikisync sync`` says of the wikis it went through, to people and programs."""

from __future__ import annotations

from collections.abc import Sequence

from wikisync.cli.console import Console
from wikisync.errors import WikisyncError
from wikisync.model import Problem
from wikisync.workspace.attention import (
    batch_sentence,
    held_sentence,
    named_problem,
    problem_sentence,
)
from wikisync.workspace.outcomes import (
    is_idle,
    plan_lines,
    summary,
    wiki_as_json,
)
from wikisync.workspace.sentences import counted, problem_as_json
from wikisync.workspace.syncing import Synced

WAITING_SHOWN_MAX = 10
"""Pages that wait, each shown in a line of its own; ``status`` shows all."""

LINKS_STAY = (
    "links to renamed pages are not changed; run: wikisync check, which lists broken"
    " links"
)


def report_sync(
    console: Console,
    done: Sequence[Synced],
    beside: Sequence[Problem] = (),
    *,
    as_json: bool,
    is_dry_run: bool,
) -> None:
    """Print what came of every wiki, and problems that are of no single one."""
    if as_json:
        wikis = [wiki_as_json(wiki) for wiki in done]
        problems = [problem_as_json(problem) for problem in beside]
        answer = {"wikis": wikis, "problems": problems}
        console.json(answer)
        _show_failures(console, done)
        return
    for wiki in done:
        for note in wiki.all_notes:
            console.note(problem_sentence(wiki.section, note))
        for absent in wiki.absent:
            console.note(str(absent))
        console.problems(named_problem(wiki.section, one) for one in wiki.problems)
        is_shown = bool(wiki.results) or wiki.paused is not None
        if is_shown and not (console.quiet and is_idle(wiki)):
            if is_dry_run and wiki.results:
                title = [f"{wiki.section.folder}:"] if len(done) > 1 else []
                console.lines(*title, *(plan_lines(wiki) or [str(wiki.last.plan)]))
            else:
                console.lines(f"{wiki.section.folder}: {summary(wiki)}")
        if wiki.has_moves:
            console.note(f"{wiki.section.folder}: {LINKS_STAY}")
        _show_waiting(console, wiki, is_dry_run=is_dry_run)
    console.problems(beside)
    _show_failures(console, done)


def _show_waiting(console: Console, wiki: Synced, *, is_dry_run: bool) -> None:
    folder = wiki.section.folder
    for batch in wiki.batches:
        console.warn(batch_sentence(folder, batch))
    if is_dry_run:
        return  # its lines are in the plan
    for held in wiki.held:
        console.warn(held_sentence(folder, held))
    for one in wiki.waiting[:WAITING_SHOWN_MAX]:
        console.note(f"{folder}/{one.slug}: {one.reason}")
    if (more := len(wiki.waiting) - WAITING_SHOWN_MAX) > 0:
        console.note(f"and {counted(more, 'page')} more; see wikisync status")
    for slug, notice in wiki.notices[:WAITING_SHOWN_MAX]:
        console.note(f"{folder}/{slug}: {notice}")
    if (more := len(wiki.notices) - WAITING_SHOWN_MAX) > 0:
        console.note(f"and {counted(more, 'page')} more; see wikisync log")
    if wiki.results and wiki.last.next_scan_s is not None:
        again = max(1, round(wiki.last.next_scan_s))
        console.note(f"run it again in {again} s, or wait with: wikisync sync --wait")


def _show_failures(console: Console, done: Sequence[Synced]) -> None:
    for wiki in done:
        if wiki.failure is not None:
            message = wiki.failure.message
            if wiki.section.folder not in message:
                message = f"{wiki.section.folder}: {message}"
            console.error(WikisyncError(message, hint=wiki.failure.hint))

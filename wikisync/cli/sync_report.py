"""What ``wikisync sync`` says of the wikis it went through, to people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wikisync.cli.attention import batch_sentence, held_sentence
from wikisync.cli.sentences import counted, problem_as_json
from wikisync.cli.syncing import Synced
from wikisync.errors import WikisyncError, command_line

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.model import Problem
    from wikisync.sync.safety import Batch

COUNTS = ("pulled", "pushed", "merged", "renamed", "removed")
WAITING_SHOWN_MAX = 10
"""Pages that wait, each told in a line of its own; ``status`` tells all."""


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
        import json

        wikis = [wiki_as_json(wiki) for wiki in done]
        problems = [problem_as_json(problem) for problem in beside]
        answer = {"wikis": wikis, "problems": problems}
        console.result(json.dumps(answer, ensure_ascii=False, indent=2))
        _show_failures(console, done)
        return
    for wiki in done:
        for note in wiki.notes:
            console.note(note_sentence(wiki.section.folder, note))
        for absent in wiki.absent:
            console.note(str(absent))
        console.problems(wiki.problems)
        if wiki.results or wiki.paused is not None:
            if is_dry_run and wiki.results:
                title = [f"{wiki.section.folder}:"] if len(done) > 1 else []
                console.told(*title, *(_plan_lines(wiki) or [str(wiki.last.plan)]))
            else:
                console.told(f"{wiki.section.folder}: {summary(wiki)}")
        _show_waiting(console, wiki, is_dry_run=is_dry_run)
    console.problems(beside)
    _show_failures(console, done)


def _plan_lines(wiki: Synced) -> list[str]:
    """One for each action, whatever is in its page's name."""
    from wikisync.sync.plan import describe

    return [describe(action) for action in wiki.last.plan.actions]


def _show_waiting(console: Console, wiki: Synced, *, is_dry_run: bool) -> None:
    folder = wiki.section.folder
    for batch in wiki.batches:
        console.warn(told_batch(folder, batch))
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
    if wiki.results and wiki.last.next_look_s is not None:
        again = max(1, round(wiki.last.next_look_s))
        console.note(f"run it again in {again} s, or wait with: wikisync sync --wait")


def told_batch(folder: str, batch: Batch) -> str:
    """One sentence on what a brake holds, with a next step that can be taken now."""
    from wikisync.sync.safety import NO_ID

    if batch.id != NO_ID:
        return batch_sentence(folder, batch)
    return f"{folder}: {batch}; the next sync will ask for your approval"


def _show_failures(console: Console, done: Sequence[Synced]) -> None:
    for wiki in done:
        if wiki.failure is not None:
            message = wiki.failure.message
            if wiki.section.folder not in message:
                message = f"{wiki.section.folder}: {message}"
            console.error(WikisyncError(message, hint=wiki.failure.hint))


def summary(wiki: Synced) -> str:
    """What was done, in a line."""
    if wiki.paused is not None:
        because = f" ({wiki.paused})" if wiki.paused else ""
        resume = command_line("resume", wiki.section.folder)
        return f"paused{because}; to resume, run: {resume}"
    counts = {name: wiki.count(name) for name in COUNTS}
    words = [f"{number} {name}" for name, number in counts.items() if number]
    if fetched := wiki.count("attachments"):
        words.append(f"{counted(fetched, 'attachment')} fetched")
    if wiki.held:
        words.append(f"{len(wiki.held)} held")
    if wiki.waiting:
        words.append(f"{len(wiki.waiting)} waiting")
    asked = sum(len(batch.members) for batch in wiki.batches)
    if asked:
        words.append(f"{asked} waiting for your approval")
    if wiki.problems and not words:
        words.append(counted(len(wiki.problems), "problem"))
    pages = counted(wiki.last.pages, "page")
    return f"{pages}, {', '.join(words) or 'nothing to do'}"


def wiki_as_json(wiki: Synced) -> dict[str, object]:
    """One wiki for programs."""
    failure = wiki.failure
    return {
        "kind": wiki.section.kind,
        "path": wiki.section.path,
        "folder": wiki.section.folder,
        "paused": wiki.paused,
        "pages": wiki.last.pages if wiki.results else None,
        **{name: wiki.count(name) for name in COUNTS},
        "attachments_fetched": wiki.count("attachments"),
        "plan": _plan_lines(wiki) if wiki.results else [],
        "held": [
            {
                "page": one.slug,
                "reason": str(one.reason),
                "detail": one.detail,
                "conflict": bool(one.conflict_file),
                "conflict_file": one.conflict_file or None,
            }
            for one in wiki.held
        ],
        "waiting": [
            {"page": one.slug, "reason": str(one.reason)} for one in wiki.waiting
        ],
        "batches": [batch_as_json(batch) for batch in wiki.batches],
        "problems": [problem_as_json(problem) for problem in wiki.problems],
        "notes": [problem_as_json(note) for note in wiki.notes],
        "absent": [problem_as_json(problem) for problem in wiki.absent],
        "error": error_as_json(failure) if failure else None,
        "next_look_s": wiki.last.next_look_s if wiki.results else None,
    }


def note_sentence(folder: str, note: Problem) -> str:
    """One line on a wiki that a person may want to act on."""
    step = f"; {note.hint}" if note.hint else ""
    return f"{folder}: {note.message}{step}"


def batch_as_json(batch: Batch) -> dict[str, object]:
    """What a brake holds, for programs."""
    return {
        "id": batch.id or None,
        "kind": batch.kind.name.lower().replace("_", "-"),
        "pages": [member.slug for member in batch.members],
        "sentence": str(batch),
    }


def error_as_json(error: WikisyncError) -> dict[str, object]:
    """Why a wiki could not go on, for programs."""
    return {"message": error.message, "hint": error.hint}

"""What came of a sync, in sentences and for programs."""

from __future__ import annotations

from wikisync.errors import WikisyncError, command_line
from wikisync.sync.decide.plan import describe
from wikisync.sync.decide.safety import Batch
from wikisync.workspace.sentences import counted, problem_as_json
from wikisync.workspace.syncing import Synced

COUNTS = ("pulled", "pushed", "merged", "renamed", "removed")


def plan_lines(wiki: Synced) -> list[str]:
    """One for each action, whatever is in its page's name."""
    return [describe(action) for action in wiki.last.plan.actions]


def summary(wiki: Synced) -> str:
    """What was done, in a line."""
    if wiki.paused is not None:
        because = f" ({wiki.paused})" if wiki.paused else ""
        resume = command_line("resume", wiki.section.folder)
        return f"paused{because}; to resume, run: {resume}"
    pages = counted(wiki.last.pages, "page")
    return f"{pages}, {', '.join(_done(wiki)) or 'nothing to do'}"


def is_idle(wiki: Synced) -> bool:
    """Whether nothing was done, and nothing is to be said of it."""
    return wiki.paused is None and not _done(wiki)


def _done(wiki: Synced) -> list[str]:
    """What was done, and how much waits; empty where that is nothing."""
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
    return words


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
        "plan": plan_lines(wiki) if wiki.results else [],
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
        "notes": [problem_as_json(note) for note in wiki.all_notes],
        "absent": [problem_as_json(problem) for problem in wiki.absent],
        "error": error_as_json(failure) if failure else None,
        "next_look_s": wiki.last.next_scan_s if wiki.results else None,
    }


def batch_as_json(batch: Batch) -> dict[str, object]:
    """What a safety stop holds, for programs."""
    return {
        "id": batch.id or None,
        "kind": batch.kind,
        "pages": [member.slug for member in batch.members],
        "sentence": str(batch),
    }


def error_as_json(error: WikisyncError) -> dict[str, object]:
    """Why a wiki could not go on, for programs."""
    return {"message": error.message, "hint": error.hint}

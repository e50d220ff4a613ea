"""Counts, problems and batches, as people and as programs read them."""

from __future__ import annotations

from wikisync.core.model import Problem
from wikisync.errors import WikisyncError
from wikisync.sync.decide.safety import Batch

OTHER_FOLDER = (
    "its folder is not the folder of the last sync; the next sync accepts it as it is,"
    " deletes nothing, and holds pages that differ"
)
"""Said of a wiki by what changes nothing."""


def counted(number: int, what: str) -> str:
    """``1 page``, ``2 pages``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def with_hint(sentence: object, hint: str | None) -> str:
    """A sentence with its hint in brackets, where there is one."""
    return f"{sentence} ({hint})" if hint else str(sentence)


def problem_as_json(problem: Problem) -> dict[str, str]:
    """One problem for programs."""
    return {
        "code": problem.code,
        "subject": problem.subject,
        "message": problem.message,
        "hint": problem.hint,
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

"""Counts and problems, as people and as programs read them."""

from __future__ import annotations

from wikisync.model import Problem

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

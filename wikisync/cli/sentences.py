"""Counts and problems, as people and as programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wikisync.model import Problem

OTHER_FOLDER = (
    "its folder is another one than at the last sync; the next sync takes it as it is,"
    " removes nothing, and holds what differs"
)
"""Said of a wiki by what only looks."""


def counted(number: int, what: str) -> str:
    """``1 page``, ``2 pages``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def problem_as_json(problem: Problem) -> dict[str, str]:
    """One problem for programs."""
    return {
        "code": problem.code,
        "subject": problem.subject,
        "message": problem.message,
        "hint": problem.hint,
    }

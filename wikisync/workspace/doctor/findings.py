"""What ``doctor`` found out: one sentence each, with the next step."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from wikisync.errors import WikisyncError


class Grade(StrEnum):
    """How bad it is."""

    FINE = "fine"
    LOOK = "look"
    """A person may want to do something about it."""
    WRONG = "wrong"
    """Something cannot work like this."""


class Finding(Struct, frozen=True):
    """One thing that was checked."""

    grade: Grade
    sentence: str
    next_step: str = ""
    """What a person does about it, or empty."""

    @classmethod
    def of(
        cls, error: WikisyncError, grade: Grade = Grade.WRONG, *, at: str = ""
    ) -> Finding:
        """What an error says, of a wiki where ``at`` names one."""
        sentence = f"{at}: {error.message}" if at else error.message
        return cls(grade, sentence, error.hint or "")

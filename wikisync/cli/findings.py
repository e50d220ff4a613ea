"""What ``doctor`` found out: one sentence each, with the next step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How bad it is."""

    FINE = "fine"
    LOOK = "look"
    """A person may want to do something about it."""
    WRONG = "wrong"
    """Something cannot work like this."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    grade: Grade
    sentence: str
    next_step: str = ""
    """What a person does about it, or empty."""

"""Typed reading of request parameters, with the service's own error texts.

Pure: takes the raw values of query, JSON or form merged into one mapping and
gives typed ones.  Problems are collected and refused together by ``check``,
before anything is looked up (service-behaviour.md 2.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from wikisync.service.answers import bad_parameters

E = TypeVar("E", bound=StrEnum)

_TRUE = frozenset({"true", "t", "1", "on", "yes", "y"})
_FALSE = frozenset({"false", "f", "0", "off", "no", "n"})


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a multipart body, already on disk."""

    name: str
    """As the sender calls it, unclean."""
    path: Path
    size: int
    """In bytes."""


class Parameters:
    """The parameters of one request; each read notes what is wrong with it."""

    def __init__(self, raw: Mapping[str, object]) -> None:
        self._raw = raw
        self._problems: list[str] = []

    def has(self, name: str) -> bool:
        """Whether the parameter was sent with a value."""
        return self._raw.get(name) is not None

    def required_text(self, name: str) -> str:
        """A text that must be sent, though it may be empty."""
        if name not in self._raw:
            self._problems.append(f"{name} is missing")
        return self.text(name) or ""

    def text(self, name: str) -> str | None:
        """A text, or None when absent or null."""
        match self._raw.get(name):
            case None:
                return None
            case str() as text:
                return text
            case bool() as flag:
                return "true" if flag else "false"
            case int() | float() as number:
                return str(number)
            case _:
                self._invalid(name)
                return None

    def boolean(self, name: str, *, default: bool = False) -> bool:
        """A yes or no in any of the service's spellings."""
        match self._raw.get(name):
            case None | "":
                return default
            case bool() as flag:
                return flag
            case 0 | 1 as number:
                return bool(number)
            case str() as word if word.lower() in _TRUE:
                return True
            case str() as word if word.lower() in _FALSE:
                return False
            case _:
                self._invalid(name)
                return default

    def maybe_boolean(self, name: str) -> bool | None:
        """A yes or no, or None when absent."""
        if self._raw.get(name) in {None, ""}:
            return None
        return self.boolean(name)

    def integer(self, name: str) -> int | None:
        """A whole number, or None when absent."""
        match self._raw.get(name):
            case None | "":
                return None
            case int() as number if not isinstance(number, bool):
                return number
            case str() as text if _is_integer(text):
                return int(text)
            case _:
                self._invalid(name)
                return None

    def number(self, name: str, *, default: int, least: int, most: int) -> int:
        """A count of at least ``least``; more than ``most`` means ``most``."""
        value = self.integer(name)
        if value is None:
            return default
        if value < least:
            self._problems.append(f"{name} has a value not allowed")
            return default
        return min(value, most)

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        """One of some words."""
        value = self.text(name)
        if value is None:
            return default
        if value not in choices:
            self.refuse_value(name)
            return default
        return value

    def member(self, name: str, kind: type[E], allowed: frozenset[E]) -> E | None:
        """One of some values of an enumeration, or None when absent."""
        value = self.text(name)
        if value is None:
            return None
        if value not in {word.value for word in allowed}:
            self.refuse_value(name)
            return None
        return kind(value)

    def required_file(self, name: str) -> SentFile | None:
        """A file of a multipart body; None only when ``check`` will refuse."""
        match self._raw.get(name):
            case SentFile() as file:
                return file
            case None if name not in self._raw:
                self._problems.append(f"{name} is missing")
            case _:
                self._invalid(name)
        return None

    def at_least_one_of(self, *names: str) -> None:
        """Demand one of several parameters."""
        if not any(self.has(name) for name in names):
            every = ", ".join(names)
            self._problems.append(
                f"{every} are missing, at least one parameter must be provided"
            )

    def refuse_value(self, name: str) -> None:
        """Note a value that is none of the allowed ones."""
        self._problems.append(f"{name} does not have a valid value")

    def check(self) -> None:
        """Refuse the request if anything read so far was wrong."""
        if self._problems:
            raise bad_parameters(self._problems)

    def _invalid(self, name: str) -> None:
        self._problems.append(f"{name} is invalid")


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    # longer ones are no ids, and int() would refuse the very long
    return digits.isascii() and digits.isdigit() and len(digits) < 19

"""Reading one table of TOML: types, limits, and what to say where they fail.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from wikisync.config.sections import Check, OptionValue, is_right

T = TypeVar("T")

HIDDEN_NAME = r"(?i)tok|pass|secret|key|pat\b"
HIDDEN_VALUE = r"gl[a-z]{2,8}-|[A-Za-z0-9_-]{20,}"
SHOWN_CHARS_MAX = 60


class Table:
    """One table of the file; what is read is ticked off, what is wrong collected."""

    def __init__(
        self, values: Mapping[str, object], path: str, problems: list[str]
    ) -> None:
        self._values = values
        self.path = path
        """How messages call it: ``wiki[1]``."""
        self._problems = problems
        self._known: list[str] = []

    def has(self, *keys: str) -> bool:
        """Whether the file sets one of the keys."""
        return any(key in self._values for key in keys)

    def complain(self, key: str, problem: str) -> None:
        """Something is wrong with a key, or with the table itself."""
        self._problems.append(f"{self._at(key)}: {problem}")

    def table(self, key: str) -> Table:
        """A table inside this one, empty where it is absent."""
        value = self._take(key, dict, "a table")
        return Table(value or {}, self._at(key), self._problems)

    def tables(self, key: str) -> list[Table]:
        """An array of tables."""
        found = self._take(key, list, f"tables: write [[{key}]]") or []
        tables: list[Table] = []
        for index, value in enumerate(found):
            path = f"{self._at(key)}[{index}]"
            if isinstance(value, dict):
                tables.append(Table(value, path, self._problems))
            else:
                self._problems.append(f"{path}: expected a table: write [[{key}]]")
        return tables

    def text(
        self, key: str, default: str, check: Check = is_right, *, example: str = ""
    ) -> str:
        """A string that passes its check; one with an example must be there."""
        value = self._take(key, str, "a string")
        if value is None:
            if example and not self.has(key):
                self.complain(key, f"is missing, like {example}")
            return default
        problem = check(value)
        if problem:
            self._refuse(key, problem)
            return default
        return value

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self._take(key, int, "a whole number")
        if value is None:
            return default
        if not low <= value <= high:
            self._refuse(key, f"must be from {low} to {high}")
            return default
        return value

    def flag(self, key: str, *, is_on: bool) -> bool:
        """True or false."""
        value = self._take(key, bool, "true or false")
        return is_on if value is None else value

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        """One of a few words."""
        value = self._take(key, str, "a string")
        if value is None or value in choices:
            return value or default
        words = " or ".join(f'"{word}"' for word in choices)
        self._refuse(key, f"must be {words}{nearest(value, choices)}")
        return default

    def command(self, key: str) -> tuple[str, ...]:
        """A command line, as one string or as a list of its words."""
        self._known.append(key)
        value = self._values.get(key, "")
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return tuple(value)
        if not isinstance(value, str):
            self._refuse(key, "expected a string or a list of strings")
            return ()
        if not value:
            return ()
        import shlex

        try:
            return tuple(shlex.split(value))
        except ValueError:
            self._refuse(key, "has a quote that is not closed")
            return ()

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self._take(key, list, "a list of strings") or []
        if not all(isinstance(one, str) for one in found):
            self._refuse(key, "expected a list of strings")
            return ()
        return tuple(found)

    def options(self, key: str) -> Mapping[str, OptionValue]:
        """A flat table for somebody else to check."""
        options: dict[str, OptionValue] = {}
        for name, value in (self._take(key, dict, "a table") or {}).items():
            plain = tuple(value) if isinstance(value, list) else value
            items = plain if isinstance(plain, tuple) else (plain,)
            if all(isinstance(item, str | int | float | bool) for item in items):
                options[name] = cast("OptionValue", plain)
            else:
                self.complain(f"{key}.{name}", "expected a simple value or a list")
        return options

    def refuse_the_rest(self) -> bool:
        """Every key that nobody asked for is a problem; whether there was one."""
        unknown = [key for key in self._values if key not in self._known]
        for key in unknown:
            if key != "token":
                self._refuse(key, f"unknown key{nearest(key, self._known)}")
        return bool(unknown)

    def _take(self, key: str, kind: type[T], words: str) -> T | None:
        self._known.append(key)
        if key not in self._values:
            return None
        value = self._values[key]
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        self._refuse(key, f"expected {words}")
        return None

    def _refuse(self, key: str, problem: str) -> None:
        shown = shown_value(key, self._values[key])
        self._problems.append(f"{self._at(key)}{shown}: {problem}")

    def _at(self, key: str) -> str:
        shown = key if re.fullmatch(r"[A-Za-z0-9_.-]+", key) else _quoted(key)
        return f"{self.path}.{shown}" if self.path and key else self.path or shown


def shown_value(key: str, value: object) -> str:
    """`` = value`` for a message, unless it is long or could be a secret."""
    if isinstance(value, dict | list) or re.search(HIDDEN_NAME, key):
        return ""
    text = _quoted(value)
    if re.search(HIDDEN_VALUE, text) or "@" in text or len(text) > SHOWN_CHARS_MAX:
        return ""
    return f" = {text}"


def _quoted(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def nearest(word: str, words: Sequence[str]) -> str:
    """A question whether the nearest word was meant; empty where none is near."""
    import difflib

    found = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return f' (did you mean "{found[0]}"?)' if found else ""

r"""``.wikisyncignore``: which pages and files a person keeps out of the sync.  Pure.

The file lies at the top of a wiki's folder and says what ``.gitignore`` would:

- a line is a pattern; blank lines and lines that start with ``#`` are not;
- ``*`` and ``?`` stand for any characters and any character but ``/``, ``[a-z]``
  and ``[!a-z]`` for one of a set, ``\`` before a character takes its meaning away;
- ``**/`` in front stands for any folders, ``/**`` at the end for all within, and
  ``/**/`` between for any number of folders;
- a pattern with ``/`` at its start or inside counts from the top, any other at
  every depth; with ``/`` at its end it means folders only;
- ``!`` in front takes what an earlier line ignored back in; of several lines the
  last one counts; nothing in an ignored folder can be taken back.

A page that becomes ignored is not deleted anywhere: it is out of the sync.  What is
left out by its name alone (``ignore``) is reported, which a pattern ends, and ``!``
takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from msgspec import Struct

from wikisync.core.model import Problem, folders_above

IGNORE_FILE = ".wikisyncignore"
FILE_BYTES_MAX = 64 * 1024
"""A longer file is not read."""
PATTERNS_MAX = 500
PATTERN_CHARS_MAX = 300
ANY_FOLDERS_MAX = 3
"""How often ``**`` may stand in one pattern; each multiplies the work."""


class _Rule(Struct, frozen=True):
    regex: re.Pattern[str]
    is_negated: bool
    is_for_folders: bool


class Patterns(Struct, frozen=True):
    """What a pattern file says."""

    rules: tuple[_Rule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules)

    def is_ignored(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the last pattern that fits this path itself ignores it."""
        return self._last(path, is_folder=is_folder) is False

    def takes_back(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the last pattern that fits this path itself begins with ``!``."""
        return self._last(path, is_folder=is_folder) is True

    def _last(self, path: str, *, is_folder: bool) -> bool | None:
        for rule in reversed(self.rules):
            if rule.is_for_folders and not is_folder:
                continue
            if rule.regex.fullmatch(path):
                return rule.is_negated
        return None

    @property
    def takings_back(self) -> Patterns:
        """The patterns that begin with ``!`` alone, which leave nothing out."""
        return Patterns(tuple(rule for rule in self.rules if rule.is_negated))

    def hides(self, path: str) -> bool:
        """Whether a file is ignored, by itself or with a folder it is in."""
        if not self.rules:
            return False
        return any(
            self.is_ignored(folder, is_folder=True) for folder in folders_above(path)
        ) or self.is_ignored(path)


NO_PATTERNS = Patterns()


def pattern_of(path: str) -> str:
    """The pattern that fits this path and no other."""
    escaped = re.sub(r"[*?\[\\]", r"\\\g<0>", path)
    return "/" + re.sub(r"[ \t]\Z", r"\\\g<0>", escaped)


def patterns_of_only(folders: Collection[str]) -> str:
    """The text of a pattern file that leaves out all but some folders."""
    steps: dict[str, None] = {}
    for folder in sorted(folders):
        parts = folder.split("/")
        above = ["/".join(parts[:count]) for count in range(len(parts) + 1)]
        if set(above[:-1]) & set(folders):
            continue  # one above it is there whole
        for outer, inner in pairwise(above):
            steps[f"{pattern_of(outer)}/*".replace("//", "/")] = None
            steps[f"!{pattern_of(inner)}/"] = None
    return "".join(f"{step}\n" for step in steps)


def parse_patterns(text: str) -> tuple[Patterns, tuple[Problem, ...]]:
    """Read a pattern file; a line that is no pattern is a problem."""
    rules: list[_Rule] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), 1):
        pattern = line.rstrip(" \t")
        if pattern.endswith("\\") and len(pattern) < len(line):
            pattern += " "  # a space behind a backslash counts
        if not pattern or pattern.startswith("#"):
            continue
        wrong = _what_is_wrong(pattern, len(rules))
        if wrong:
            subject = f"{IGNORE_FILE}, line {number}"
            problems.append(
                Problem("ignore-pattern", subject, wrong, "change or remove the line")
            )
        else:
            rules.append(_rule(pattern))
    return Patterns(tuple(rules)), tuple(problems)


def _what_is_wrong(pattern: str, count: int) -> str:
    if len(pattern) > PATTERN_CHARS_MAX:
        return f"is longer than {PATTERN_CHARS_MAX} characters"
    if pattern.count("**") > ANY_FOLDERS_MAX:
        return f"has ** more than {ANY_FOLDERS_MAX} times"
    if count >= PATTERNS_MAX:
        return f"is one pattern more than {PATTERNS_MAX}"
    if not pattern.strip("!/"):
        return "names nothing"
    return ""


def _rule(pattern: str) -> _Rule:
    is_negated = pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    is_for_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    is_anchored = "/" in pattern
    parts = [part for part in pattern.split("/") if part]
    if not is_anchored:
        parts.insert(0, "**")
    regex = ""
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == "**":
            regex += ".+" if is_last else "(?:[^/]+/)*"
        else:
            regex += _name_regex(part) + ("" if is_last else "/")
    return _Rule(re.compile(regex, re.DOTALL), is_negated, is_for_folders)


def _name_regex(part: str) -> str:
    """One name, in linear time: every ``*`` but the last takes the first fit."""
    runs: list[str] = [""]
    for char in _chars(part):
        if char != "*":
            runs[-1] += char
        elif runs[-1] or len(runs) == 1:
            runs.append("")
    first, *between = runs
    if not between:
        return first
    *middle, last = between
    shortest = "".join(f"(?>[^/]*?{run})" for run in middle)
    return f"{first}{shortest}[^/]*{last}"


def _chars(part: str) -> Iterator[str]:
    """``*`` or the regular expression for one character, in order."""
    index = 0
    while index < len(part):
        char = part[index]
        end = 0
        if char == "[":
            # the first character of a set may be a bracket; some never end
            first = index + 1 + (part[index + 1 : index + 2] in {"!", "^"})
            end = max(part.find("]", first + 1), 0)
        if char == "\\" and index + 1 < len(part):
            index += 1
            yield re.escape(part[index])
        elif end:
            yield _set(part[index + 1 : end])
            index = end
        else:
            yield "*" if char == "*" else "[^/]" if char == "?" else re.escape(char)
        index += 1


def _set(inner: str) -> str:
    is_negated = inner[0] in "!^"
    chars = inner[1:] if is_negated else inner
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", chars)
    try:
        re.compile(f"[{escaped}]")
    except re.error:  # a range that runs backwards fits nothing
        return "(?!)"
    return f"(?!/)[{'^' if is_negated else ''}{escaped}]"

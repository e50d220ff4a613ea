r"""Which files in a wiki's folder are none of wikisync's business.  Pure.

By their names, at any depth: hidden things, by-products of editors and office programs,
half-made downloads, what desktops leave behind, our own notes and conflict files, and
what ``foreign.toml`` lists.  What is left out so is reported, which a pattern ends.

By the patterns of a person, in ``.wikisyncignore`` at the top of a wiki's folder, which
says what ``.gitignore`` would:

- a line is a pattern; blank lines and lines that start with ``#`` are not;
- ``*`` and ``?`` stand for any characters and any character but ``/``, ``[a-z]``
  and ``[!a-z]`` for one of a set, ``\`` before a character takes its meaning away;
- ``**/`` in front stands for any folders, ``/**`` at the end for all within, and
  ``/**/`` between for any number of folders;
- a pattern with ``/`` at its start or inside counts from the top, any other at
  every depth; with ``/`` at its end it means folders only;
- ``!`` in front takes back in what an earlier line ignored, or what is left out by its
  name; of several lines the last one counts; nothing in an ignored folder can be taken
  back.

A page that becomes ignored is not deleted anywhere: it is out of the sync.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import translate
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, convert

from wikisync.core.model import EXTENSIONS, Problem, folders_above, split_extension
from wikisync.core.packaged import packaged_toml

CONFLICT_MARK = ".conflict"
"""What a conflict file has between the page's name and its extension."""

ATTENTION = "wikisync-attention"
"""Name, in any case, of the page that lists for a person what waits for them."""

UPLOADS = "uploads"
"""Folder of the attachments, at the top of a wiki; nothing in it is a page."""

CONFIG_FILE = "wikisync.toml"
"""At the top of a folder that is a workspace; it may say where the token is."""

_LOCKS = (
    r"\.\#(?P<name>.+)",  # emacs
    r"\.~lock\.(?P<name>.+)\#",  # LibreOffice
    r"~\$(?P<name>.+)",  # office programs
    r"\.(?P<name>.+)\.sw[a-z]",  # vim
)
_LOCKS_BEGIN = (".", "~")


class Folders(Struct, frozen=True, forbid_unknown_fields=True):
    """Folders of one kind."""

    who: str
    """Who makes them, as the subject of a sentence."""
    names: tuple[str, ...]
    """Patterns of the shell; of two names with ``/``, the first one has the second."""
    folds_case: bool = False
    """Whether who makes them takes upper and lower case for the same."""


class Names(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of files that one program gives."""

    who: str
    pattern: str
    """A regular expression for the whole name; of a copy, for its stem or its end."""
    example: str
    is_sure: bool = True
    """False where people give such names as well, so that the texts must be alike."""


class Stubs(Struct, frozen=True, forbid_unknown_fields=True):
    """Files that one program leaves in the place of others."""

    who: str
    endings: tuple[str, ...]
    """What comes behind the name of the other file; a dot may come in front of it."""
    of_folders: bool = False
    """Whether the other one may be a folder, or have a name without a dot."""
    of_pages: bool = False
    """Whether people make such files of anything else, too."""
    drops_extension: bool = False
    """Whether it may come in the place of the other file's extension."""


class Foreign(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole list."""

    folders: tuple[Folders, ...]
    files: tuple[Names, ...]
    copies: tuple[Names, ...]
    weak_copies: tuple[Names, ...]
    copy_of: Names
    stubs: tuple[Stubs, ...]


FOREIGN = convert(packaged_toml(__package__, "foreign.toml"), Foreign)
"""Names that other programs and systems give to what they keep in a folder; the page
``folder/other-programs`` of the guide shows them."""

_EXTENSIONS = [one for known in EXTENSIONS.values() for one in known]
_FILE = re.compile(rf"""(?aisx)
      .*~                 # backup of an editor
    | .*\.sw.             # vim's swap file
    | 4913                # vim's test whether it may write
    | \#.*\#              # emacs's auto-save
    | ~\$.*               # owner file of an office program
    | {"|".join(file.pattern for file in FOREIGN.files)}
    | {ATTENTION}\.md
    | .*{re.escape(CONFLICT_MARK)}(?:{"|".join(map(re.escape, _EXTENSIONS))})
    """)
_MAKERS = tuple(folders.who for folders in FOREIGN.folders for _ in folders.names)
# one search: most folders are nobody's
_FOLDER = re.compile(
    "|".join(
        f"((?i:{shell}))" if folders.folds_case else f"({shell})"
        for folders in FOREIGN.folders
        for shell in map(translate, folders.names)
    )
)
_MAY_BE_COPY = re.compile(
    # each begins with one character and not a class: then the search skips fast
    r"onfli|case clash|конфл|競合|冲突|衝突|충돌|ขัดแย้ง|strid|bercanggah"
    r"|çak[ıi]ş|~| [2-9]\.| \d\d\.|\(\d\d?\)\.|\.orig|\.bak|\.osync|\.path[12]\."
    r"|\.(?:base|local|remote|backup)[._]|_(?:base|local|remote|backup)[._]"
    r"|-(?:desktop|laptop|win|minwinpc)-|-(?:pc|laptop|mbp)[-.]|macbook|imac"
    r"|mac[ -](?:mini|studio)|copy|copi[ae]|cópia|kopi|kopya|копия|副本|コピー"
)
"""Something of each of them is in it, in small letters; it is not in most names."""
_STUBS = {ending: stubs for stubs in FOREIGN.stubs for ending in stubs.endings}
STUB_BYTES_MAX = 1
"""A file of an unknown program is a stub only where it has no more than this."""
_NAMES_KNOWN_MAX = 1 << 16


class Stub(NamedTuple):
    """A file that stands for another one, whose content is kept elsewhere."""

    who: str
    """Who leaves such files."""
    names: tuple[str, ...]
    """Of the other file; more than one where the stub does not tell its extension."""
    is_sure: bool = True
    """Whether its name is enough, whatever is in it."""


def is_ignored_file(name: str) -> bool:
    """Whether a file of this name is never read, written, moved or removed."""
    return name.startswith(".") or _FILE.fullmatch(name) is not None


def is_ignored_folder(name: str) -> bool:
    """Whether nothing below a folder of this name is scanned."""
    return name.startswith(".")


@lru_cache(_NAMES_KNOWN_MAX)
def folder_maker(name: str) -> str | None:
    """Who makes folders of this name, or of ``above/name``, for its own purposes."""
    found = _FOLDER.match(name)
    return _MAKERS[found.lastindex - 1] if found and found.lastindex else None


@lru_cache(_NAMES_KNOWN_MAX)
def may_be_copy(name: str) -> bool:
    """Whether it is worth asking ``copied_by`` about a page's file of this name."""
    return _MAY_BE_COPY.search(name.lower()) is not None


def copiers(stem: str) -> Iterator[tuple[str, str, bool]]:
    """Who gives such stems to copies of files that were changed in two places.

    Yields each program, the stem beside which it counts, with the same extension, or
    ``""``; and whether the names are enough, whatever the texts are.
    """
    # compiled when they are needed, and kept by ``re``: few folders have a copy
    for names in FOREIGN.copies:
        if re.fullmatch(names.pattern, stem):
            yield names.who, "", True
    if (prefix := re.match(FOREIGN.copy_of.pattern, stem)) is not None:
        yield FOREIGN.copy_of.who, stem[prefix.end() :], FOREIGN.copy_of.is_sure
    for end in range(len(stem) - 1, 0, -1):
        for names in FOREIGN.weak_copies:
            if re.compile(names.pattern).fullmatch(stem, end):
                yield names.who, stem[:end], names.is_sure


def stub_of(name: str) -> Stub | None:
    """What a file of this name stands for, if it is a stub."""
    inner, _, ending = name.rpartition(".")
    inner = inner.removeprefix(".")
    is_page = split_extension(inner) is not None
    stubs = _STUBS.get(ending)
    if stubs is None:
        # an editor's lock file has no text either
        is_stub = is_page and not is_ignored_file(name)
        return Stub("a cloud drive", (inner,), is_sure=False) if is_stub else None
    if stubs.drops_extension and inner and not is_page:
        return Stub(stubs.who, tuple(inner + extension for extension in _EXTENSIONS))
    if stubs.of_folders:
        is_stub = bool(inner)
    else:
        is_stub = is_page if stubs.of_pages else "." in inner
    return Stub(stubs.who, (inner,)) if is_stub else None


def locked_name(name: str) -> str | None:
    """The file in the same folder that this lock file says is open in an editor."""
    patterns = _LOCKS if name[:1] in _LOCKS_BEGIN else ()
    found = (re.fullmatch(pattern, name, re.DOTALL) for pattern in patterns)
    return next((each["name"] for each in found if each), None)


# -- patterns of a person ----------------------------------------------------------

IGNORE_FILE = ".wikisyncignore"
IGNORE_FILE_BYTES_MAX = 64 * 1024
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

"""Merging front matter key by key.  Pure.

Each key with its value is one thing that a side may change: two values of one key
are a conflict, also where both sides began the block.  But of two times at which the
page was changed, the later one is right for what comes of both.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct

_KEYS = {
    "---": re.compile(
        r"(?P<key>[^\s#:'\"\[\]{}&*!|>%@`,-][^:#]*|\"[^\"]*\"|'[^']*'):\s"
    ),
    "+++": re.compile(r"(?P<key>\[+[^\[\]]+\]+|[\w.\"'-]+)\s*(?:=|$)"),
}
"""A line that begins a key, by the fence of the block: YAML, TOML."""
_CHANGED_AT = re.compile(
    r"(?:date|time|last)*(?:updated?|modified|modification|mod|changed?|edit(?:ed)?|"
    r"revised|saved?|touched)(?:at|on|date|time|timestamp)*|"
    r"(?:file)?mtime|date|time|timestamp"
)
"""Keys, without case and marks, whose value says when the page was changed."""
STAMP_CHARS_MAX = 80
"""Longer keys and values say no time."""
_WHO = re.compile(r"\s(?:on|by|from)\s")
_COMMENT = re.compile(r"(?=\s#)")
_SECONDS = re.compile(r"(\d{10})(?:\.?(\d{3,9}))?")
_ZONE = re.compile(r"\s?(?:Z|[+-]\d\d:?\d\d)\Z")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_FORMS = (
    *(
        day + time
        for day in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")
        for time in ("", " %H:%M", " %H:%M:%S")
    ),
    "%A, %B %d %Y, %I:%M:%S %p",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
)
"""Beside those of ISO 8601, or without its leading zeros."""


class _Block(Struct, frozen=True):
    """One side's front matter; ``entries`` is empty where it has none."""

    fence: str
    entries: dict[str, str]
    """Key to the lines of its entry.  What comes before the first key has no name."""


def merge_metadata(base: str, local: str, remote: str) -> str | None:
    """The blocks of both sides as one, or None where they clash."""
    if local == remote or remote == base:
        return local
    if local == base:
        return remote
    if not (local and remote):
        # one side removed what the other one edited
        return None
    old, mine, theirs = (_block(one) for one in (base, local, remote))
    if old is None or mine is None or theirs is None or mine.fence != theirs.fence:
        return None
    entries: list[str] = []
    for key in _order(mine, theirs):
        here, there = mine.entries.get(key, ""), theirs.entries.get(key, "")
        merged = _merge_entry(old.entries.get(key, ""), here, there)
        if merged is None:
            merged = _later(key, here, there)
        if merged is None:
            return None
        entries.append(merged)
    return f"{mine.fence}\n{''.join(entries)}{mine.fence}\n"


def differs_in_time_only(old: str, new: str) -> bool:
    """Whether two texts of a page differ, and in times of a change alone."""
    before, after = front_matter_of(old), front_matter_of(new)
    if before == after or old[len(before) :] != new[len(after) :]:
        return False
    was, now = _block(before), _block(after)
    if was is None or now is None or list(was.entries) != list(now.entries):
        return False
    return all(
        entry == now.entries[key] or _later(key, entry, now.entries[key]) is not None
        for key, entry in was.entries.items()
    )


def _merge_entry(base: str, local: str, remote: str) -> str | None:
    if local.rstrip() == remote.rstrip() or remote.rstrip() == base.rstrip():
        return local
    return remote if local.rstrip() == base.rstrip() else None


def _later(key: str, local: str, remote: str) -> str | None:
    """The later of two times of a change, or None where they are something else."""
    if max(map(len, (local, remote))) > STAMP_CHARS_MAX:
        return None
    if not _CHANGED_AT.fullmatch(re.sub(r"[\W_]", "", key).casefold()):
        return None
    mine, theirs = (
        _moment(*_COMMENT.split(entry[len(key) :], maxsplit=1))
        for entry in (local, remote)
    )
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return None
    return max((mine[1], local), (theirs[1], remote))[1]


def _moment(value: str, comment: str = "") -> tuple[str, datetime] | None:
    """The form of a time with the comment behind it, and the time; None for another."""
    text = _WHO.split(value.lstrip(" \t:=").strip().strip("\"'"), maxsplit=1)[0]
    if found := _SECONDS.fullmatch(text):
        seconds, rest = found.groups(default="")
        parts = timedelta(seconds=int(seconds), microseconds=int(f"{rest:0<6}"[:6]))
        epoch = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC
        return f"{len(rest)} digits{comment}", epoch + parts
    for form in _FORMS:
        with suppress(ValueError):
            time = datetime.strptime(_ORDINAL.sub("", text), form)  # noqa: DTZ007 - compared with one of its form alone
            # a short month's name may be its whole one
            return form.replace("%B", "%b") + comment, time
    shown = _ZONE.sub("", text) if ":" in text else text
    with suppress(ValueError):
        time = datetime.fromisoformat(shown + text[len(shown) :].strip())
        return f"{re.sub('[0-9]+', '0', shown)} {time.tzinfo is None}{comment}", time
    return None


def _order(mine: _Block, theirs: _Block) -> Sequence[str]:
    """Our keys in our order, each key of theirs alone behind the one before it."""
    keys = list(mine.entries)
    before: str | None = None
    for key in theirs.entries:
        if key not in mine.entries:
            at = keys.index(before) + 1 if before in keys else len(keys)
            keys.insert(at, key)
        before = key
    return keys


def _block(text: str) -> _Block | None:
    """A block taken apart; None where it has no keys, or one of them twice."""
    if not text:
        return _Block("", {})
    fence, *lines = text.splitlines()
    starts = _KEYS.get(fence.strip())
    if starts is None or not lines:
        return None
    entries: dict[str, str] = {}
    key = ""
    is_table = False
    for line in lines[:-1]:
        found = (
            None if is_table and not line.startswith("[") else starts.match(f"{line}\n")
        )
        if found:
            key = found["key"].strip()
            is_table = fence.startswith("+") and key.startswith("[")
            if key in entries:
                return None
        entries[key] = entries.get(key, "") + f"{line}\n"
    return _Block(fence.strip(), entries) if any(entries) else None


# -- the block of metadata with which a page may begin: YAML, TOML or JSON -------


_FRONT_MATTER = re.compile(
    r"(?P<mark>---|\+\+\+|;;;)[ \t]*\r?\n.*?^(?P=mark)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)


def front_matter_of(text: str) -> str:
    """The block at the text's start with its closing line, or empty."""
    found = _FRONT_MATTER.match(text)
    return found.group() if found else ""


def with_front_matter(text: str, known: str) -> str:
    """A text from a service that strips front matter, with the block we know of."""
    block = front_matter_of(known)
    if not block or front_matter_of(text):
        return text
    gap = known[len(block) :]
    blank = gap[: len(gap) - len(gap.lstrip("\r\n"))]
    return block + blank + text.lstrip("\r\n")

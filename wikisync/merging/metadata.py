"""Merging front matter key by key.  Pure.

Each key with its value is one thing that a side may change: two values of one key
are a conflict, also where both sides began the block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_KEYS = {
    "---": re.compile(
        r"(?P<key>[^\s#:'\"\[\]{}&*!|>%@`,-][^:#]*|\"[^\"]*\"|'[^']*'):\s"
    ),
    "+++": re.compile(r"(?P<key>\[+[^\[\]]+\]+|[\w.\"'-]+)\s*(?:=|$)"),
}
"""A line that begins a key, by the fence of the block: YAML, TOML."""


class _Block(Struct, frozen=True):
    """One side's front matter; ``entries`` is empty where it has none."""

    fence: str
    entries: dict[str, str]
    """Key to the lines of its entry.  What comes before the first key has no name."""


def merge_metadata(base: str, local: str, remote: str) -> str | None:
    """The blocks of both sides as one, or None where they clash.

    Args:
        base: A block as ``front_matter_of`` gives it; empty where there is none.
        local: The block here; line ends are line feeds.
        remote: The block on the wiki.
    """
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
        merged = _merge_entry(
            old.entries.get(key, ""),
            mine.entries.get(key, ""),
            theirs.entries.get(key, ""),
        )
        if merged is None:
            return None
        entries.append(merged)
    return f"{mine.fence}\n{''.join(entries)}{mine.fence}\n"


def _merge_entry(base: str, local: str, remote: str) -> str | None:
    if local.rstrip() == remote.rstrip() or remote.rstrip() == base.rstrip():
        return local
    return remote if local.rstrip() == base.rstrip() else None


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

"""Saves from an editor that still shows a text we have replaced since.

Pure.  Such a save looks like an edit that takes back everything that came from the
wiki.  It is recognised by its nearness: less of it differs from a text that we replaced
than from the one we wrote last (``docs/sync.md`` "Writing files").  It is then an edit
of the older text, and merged as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wikisync.merging.diff import changes
from wikisync.sync.decide.ledger import Replaced

_WORD = re.compile(r"\w+|\W")
WORDS_MAX = 20_000
"""Words on one side of a change beyond which all of it counts as changed."""


STALE_TEXTS_MAX = 8
"""Replacements of a page that a save is compared with, the newest first."""
WINDOW_S = 3600.0
"""A save is taken for one of an older text only so long after a text was replaced:
whoever takes back what the wiki brought earlier means it."""


def stale_ancestor(
    text: str, replaced: Sequence[Replaced], now: float
) -> Replaced | None:
    """The replacement that a save knows nothing of, or None.

    A text that this guard has merged once and that is saved once more is meant.
    """
    if not replaced or now - replaced[0].at > WINDOW_S:
        return None
    if any(one.is_stale and one.replaced == text for one in replaced):
        return None
    written = replaced[0].written
    nearest = min(replaced, key=lambda one: _distance(text, one.replaced))
    is_stale = _distance(text, nearest.replaced) < _distance(text, written)
    return nearest if is_stale else None


def _distance(one: str, other: str) -> int:
    """How many characters of either text the other lacks, by lines, then words.

    Lines alone would take a word mended in a line that came from the wiki for that
    line added once more: one line away from the old text, two from the new one.
    """
    mine, theirs = one.splitlines(), other.splitlines()
    return sum(
        _word_distance(
            "\n".join(mine[change.old_start : change.old_end]),
            "\n".join(theirs[change.new_start : change.new_end]),
        )
        for change in changes(mine, theirs)
    )


def _word_distance(one: str, other: str) -> int:
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    if not mine or not theirs or max(len(mine), len(theirs)) > WORDS_MAX:
        return len(one) + len(other)
    return sum(
        sum(map(len, mine[change.old_start : change.old_end]))
        + sum(map(len, theirs[change.new_start : change.new_end]))
        for change in changes(mine, theirs)
    )

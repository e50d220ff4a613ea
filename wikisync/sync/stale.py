"""Saves from an editor that still shows a text we have replaced since.

Pure.  Such a save looks like an edit that takes back everything that came from the
wiki.  It is told by its nearness: fewer of its lines differ from a text that we
replaced than from the one we wrote last (``sync.md`` 3.9).  It is then an edit
of the older text, and merged as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from wikisync.sync.diff import changes
from wikisync.sync.ledger import Replaced


def stale_ancestor(text: str, replaced: Sequence[Replaced]) -> Replaced | None:
    """The replacement that a save knows nothing of, or None.

    A text that this guard has merged once and that is saved once more is meant.

    Args:
        text: What was saved.
        replaced: The page's last replacements, the newest first.
    """
    if not replaced or any(one.is_stale and one.replaced == text for one in replaced):
        return None
    written = replaced[0].written
    nearest = min(replaced, key=lambda one: _distance(text, one.replaced))
    is_stale = _distance(text, nearest.replaced) < _distance(text, written)
    return nearest if is_stale else None


def _distance(one: str, other: str) -> int:
    """How many lines of either text the other lacks."""
    return sum(
        change.old_end - change.old_start + change.new_end - change.new_start
        for change in changes(one.splitlines(), other.splitlines())
    )

"""The versions of one page, with what is different between neighbours.

Pure but for their texts, which a git repository has.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest
from pathlib import Path

from wikisync.core.versions import Version, iso_time
from wikisync.merging.diff import changes, word_changes
from wikisync.site.addresses import HISTORY_FOLDER
from wikisync.site.context import VersionContext
from wikisync.site.model import SourcePage

DIFF_CHARS_MAX = 20_000
"""Shown of what is different between two versions."""
COMMIT_DIGITS = 8
_TAGS = {"-": "del", "+": "ins"}


def history_path(url: str, page: SourcePage, history: int) -> str | None:
    """Output path of the versions of a page; None where there is nothing to compare."""
    return HISTORY_FOLDER + url if history and page.dates.count > 1 else None


def shown_versions(
    rows: Sequence[Version], count: int, texts: Path
) -> list[VersionContext]:
    """The newest versions of a page, each compared with the one before it."""
    # git's library is slow to load, and many sites show no versions
    from wikisync.core.git_log import read_blobs

    contents = read_blobs(texts, [row.blob for row in rows])
    shown = []
    for row, new, old in zip_longest(
        rows[:count], contents[:count], contents[1 : count + 1]
    ):
        html, is_cut = "", False
        if new is not None and old is not None:
            html, is_cut = difference(old, new)
        shown.append(
            VersionContext(
                kind=row.kind,
                changed=iso_time(row.at),
                by=row.author,
                was=row.was,
                commit=row.commit[:COMMIT_DIGITS],
                added=row.added,
                removed=row.removed,
                html=html,
                is_cut=is_cut,
            )
        )
    return shown


def difference(old: str, new: str) -> tuple[str, bool]:
    """What is different between two texts, as HTML, and whether there is more."""
    parts: list[str] = []
    size = 0
    for hunk in _hunks(old.splitlines(), new.splitlines()):
        size += len(hunk)
        if size > DIFF_CHARS_MAX:
            return "".join(parts), True
        parts.append(f'<div class="diff" dir="auto">{hunk}</div>')
    return "".join(parts), False


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for hunk in changes(old, new):
        before = filter(None, new[max(hunk.new_start - 1, 0) : hunk.new_start])
        after = filter(None, new[hunk.new_end : hunk.new_end + 1])
        was = "\n".join(old[hunk.old_start : hunk.old_end])
        now = "\n".join(new[hunk.new_start : hunk.new_end])
        pieces = [f"{escape(line)}\n" for line in before]
        for sign, text in word_changes(was, now):
            tag = _TAGS.get(sign)
            pieces.append(f"<{tag}>{escape(text)}</{tag}>" if tag else escape(text))
        yield "".join([*pieces, *(f"\n{escape(line)}" for line in after)])

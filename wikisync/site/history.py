"""The versions of one page, with what is different between neighbours.

Pure but for their texts, which a git repository has.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from html import escape
from itertools import zip_longest
from pathlib import Path

from wikisync.core.versions import Version, iso_time
from wikisync.merging.diff import Hunk, changes, word_changes
from wikisync.site.context import VersionContext

DIFF_CHARS_MAX = 20_000
"""Shown of what is different between two versions."""
COMMIT_DIGITS = 8
COUNTS_CACHED = 1024
"""A list of changes is made up to three times in one build."""
_TAGS = {"-": "<del>{}</del>", "+": "<ins>{}</ins>", "": "{}"}


def shown_versions(
    rows: Sequence[Version], count: int, texts: Path
) -> list[VersionContext]:
    """The newest versions of a page, each compared with the one before it."""
    # git's library is slow to load, and many sites show no versions
    from wikisync.core.git_log import read_blobs

    found = read_blobs(texts, [row.blob for row in rows])
    contents = [None if text is None else text.splitlines() for text in found]
    shown = []
    for row, new, old in zip_longest(
        rows[:count], contents[:count], contents[1 : count + 1]
    ):
        html, is_cut, hunks = "", False, list[Hunk]()
        if new is not None and old is not None:
            html, is_cut, hunks = difference(old, new)
        added, removed = _counted(hunks)
        shown.append(
            VersionContext(
                kind=row.kind,
                changed=iso_time(row.at),
                by=row.author,
                was=row.was,
                commit=row.commit[:COMMIT_DIGITS],
                added=added,
                removed=removed,
                html=html,
                is_cut=is_cut,
            )
        )
    return shown


def line_counts(texts: Path, old: str, blob: str) -> tuple[int, int] | None:
    """Lines added and removed between two texts by git's ids; None without these."""
    with suppress(LookupError):
        return _line_counts(texts, old, blob) if old else (0, 0)
    return None


@lru_cache(COUNTS_CACHED)
def _line_counts(texts: Path, old: str, blob: str) -> tuple[int, int]:
    from wikisync.core.git_log import has_blobs, read_blobs  # slow to load: see above

    was, now = read_blobs(texts, [old, blob])
    if was is None or now is None:
        if has_blobs(texts, [old, blob]):
            return 0, 0  # too large to be compared
        raise LookupError(old, blob)  # it may be there the next time
    return _counted(changes(was.splitlines(), now.splitlines()))


def _counted(hunks: Sequence[Hunk]) -> tuple[int, int]:
    return (
        sum(one.new_end - one.new_start for one in hunks),
        sum(one.old_end - one.old_start for one in hunks),
    )


def difference(was: Sequence[str], now: Sequence[str]) -> tuple[str, bool, list[Hunk]]:
    """What differs between the lines of two texts, as HTML; if there is more; where."""
    parts, size, hunks = list[str](), 0, changes(was, now)
    for hunk in hunks:
        before = now[max(hunk.new_start - 1, 0) : hunk.new_start]
        after = now[hunk.new_end : hunk.new_end + 1]
        old = "\n".join(was[hunk.old_start : hunk.old_end])
        new = "\n".join(now[hunk.new_start : hunk.new_end])
        pieces = [escape(before[0], quote=False), "\n"] if any(before) else []
        words = list(word_changes(old, new))
        if [sign for sign, _ in words] == ["-", "+"]:
            words.insert(1, ("", "\n"))
        pieces += [_TAGS[sign].format(escape(it, quote=False)) for sign, it in words]
        if any(after):
            pieces += "\n", escape(after[0], quote=False)
        size += sum(map(len, pieces))
        if size > DIFF_CHARS_MAX:
            return "".join(parts), True, hunks
        parts += ['<div class="diff" dir="auto">', *pieces, "</div>"]
    return "".join(parts), False, hunks

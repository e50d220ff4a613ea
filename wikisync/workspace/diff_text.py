"""Two texts as a unified difference, with changed words coloured on a terminal."""

import re
from collections.abc import Iterator, Sequence

from wikisync.core.terminal import visible, visible_line
from wikisync.merging.diff import Hunk, changes

CONTEXT_LINES = 3
"""Equal lines shown around a change."""
WORDS_MAX = 5_000
"""Words of one change beyond which its lines are coloured whole."""

RED, GREEN, CYAN, BOLD, RESET = (f"\x1b[{code}m" for code in (31, 32, 36, 1, 0))
_WORD = re.compile(r"\w+|\n|[^\S\n]+|[^\w\s]")


def unified(
    old: str, new: str, names: tuple[str, str], *, is_coloured: bool = False
) -> str:
    """The lines of ``diff -u``; empty where the texts are equal."""
    if old == new:
        return ""
    if is_coloured:
        old, new = visible(old), visible(new)
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    lines = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    if is_coloured:
        lines = [f"{BOLD}{visible_line(line.rstrip())}{RESET}\n" for line in lines]
    # changes whose contexts would touch stand in one hunk
    hunks: list[list[Hunk]] = []
    for change in changes(before, after):
        if hunks and change.old_start - hunks[-1][-1].old_end <= 2 * CONTEXT_LINES:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    for hunk in hunks:
        lines += _hunk_lines(hunk, before, after, is_coloured=is_coloured)
    return "".join(lines)


def _hunk_lines(
    hunk: Sequence[Hunk],
    before: Sequence[str],
    after: Sequence[str],
    *,
    is_coloured: bool,
) -> Iterator[str]:
    start = max(0, hunk[0].old_start - CONTEXT_LINES)
    end = min(len(before), hunk[-1].old_end + CONTEXT_LINES)
    new_start = hunk[0].new_start - (hunk[0].old_start - start)
    new_end = hunk[-1].new_end + (end - hunk[-1].old_end)
    label = f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"
    yield f"{CYAN}{label}{RESET}\n" if is_coloured else f"{label}\n"
    done = start
    for change in hunk:
        yield from (_line(" ", line) for line in before[done : change.old_start])
        removed = before[change.old_start : change.old_end]
        added = after[change.new_start : change.new_end]
        if is_coloured:
            yield from _coloured(removed, added)
        else:
            yield from (_line("-", line) for line in removed)
            yield from (_line("+", line) for line in added)
        done = change.old_end
    yield from (_line(" ", line) for line in before[done:end])


def _range(start: int, end: int) -> str:
    """Lines are counted from one; of none the line before is named."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return f"{sign}{line}"
    return f"{sign}{line}\n\\ No newline at end of file\n"


def _coloured(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """The lines of one change, what is not the same in them in bold."""
    old, new = _WORD.findall("".join(removed)), _WORD.findall("".join(added))
    old_marks: set[int] = set()
    new_marks: set[int] = set()
    if removed and added and max(len(old), len(new)) <= WORDS_MAX:
        for change in changes(old, new):
            old_marks |= set(range(change.old_start, change.old_end))
            new_marks |= set(range(change.new_start, change.new_end))
    yield from _painted("-", RED, old, old_marks)
    yield from _painted("+", GREEN, new, new_marks)


def _painted(
    sign: str, colour: str, words: Sequence[str], marks: set[int]
) -> Iterator[str]:
    line: list[str] = []
    for index, word in enumerate(words):
        if word == "\n":
            yield f"{colour}{sign}{''.join(line)}{RESET}\n"
            line = []
        elif index in marks:
            line.append(f"{BOLD}{word}{RESET}{colour}")
        else:
            line.append(word)
    if line:
        ending = "\\ No newline at end of file"
        yield f"{colour}{sign}{''.join(line)}{RESET}\n{ending}\n"

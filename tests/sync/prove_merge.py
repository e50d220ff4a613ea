"""``make prove-merge``: no merge writes a sentence that nobody wrote.

    python -m tests.sync.prove_merge [--paragraphs 1000] [--seed 0]

Counts, beside git's merge of the same texts: of two edits in one sentence, cell, value
or line of code, how many are merged (none may be); of two edits in different sentences
of a long paragraph, how many are merged to what both persons would expect (at least
95 %), and how many to something else (none may be); of lines added beside what the
other side removed, how many are merged otherwise than by git (none may be).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tests.sync.edited_twice import (
    TwoEdits,
    beside_deletions,
    in_one_place,
    long_paragraphs,
)
from wikisync.merging.merge import merge

MERGED_MIN = 0.95
"""Of edits in different sentences."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paragraphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    one = count(in_one_place())
    many = count(long_paragraphs(options.paragraphs, options.seed))
    beside = count(map(as_git, beside_deletions(options.paragraphs, options.seed)))
    print("| two edits | texts | merged | held | merged to another text | git merges |")
    print("|---|--:|--:|--:|--:|--:|")
    print(row("in one sentence, cell, value or line of code", one))
    print(row("in different sentences of a long paragraph", many))
    print(row("a line added beside what the other side removed", beside))
    is_good = not one["merged"] and not one["other"] and not many["other"]
    is_good &= not beside["other"] and beside["merged"] == beside["git"]
    return 0 if is_good and many["merged"] >= MERGED_MIN * many["texts"] else 1


def row(name: str, counts: Counter[str]) -> str:
    """One line of the table."""
    names = ("texts", "merged", "held", "other", "git")
    return f"| {name} | " + " | ".join(str(counts[key]) for key in names) + " |"


def count(cases: Iterable[TwoEdits]) -> Counter[str]:
    """What became of the texts."""
    counts: Counter[str] = Counter()
    for case in cases:
        counts["texts"] += 1
        counts[outcome(case)] += 1
        counts["git"] += merge_of_git(*case.texts) is not None
    return counts


def outcome(case: TwoEdits) -> str:
    """``merged``, ``held``, or ``other`` where the text is not the expected one."""
    merged = merge(*case.texts, page_format=case.page_format)
    if merged.text is None:
        return "held"
    if not case.expected or merged.text.split() == case.expected.split():
        return "merged"
    return "other"


def as_git(case: TwoEdits) -> TwoEdits:
    """The same, where nothing but git's text is expected."""
    return replace(case, expected=merge_of_git(*case.texts) or "nothing")


def merge_of_git(*texts: str) -> str | None:
    """What git makes of base, text here and text there; None where it conflicts."""
    with tempfile.TemporaryDirectory() as folder:
        base, local, remote = (Path(folder, name) for name in ("base", "here", "wiki"))
        for file, text in zip((base, local, remote), texts, strict=True):
            file.write_text(text, encoding="utf-8")
        command = ["git", "merge-file", "-p", "-q", str(local), str(base), str(remote)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.model import Format
from wikisync.sync import merge as module
from wikisync.sync.conflict import MARKER, Clash
from wikisync.sync.merge import code_lines, merge

BASE = "one\ntwo\nthree\nfour\nfive\n"


def lines(*words: str) -> str:
    return "".join(f"{word}\n" for word in words)


TABLE = [
    (
        "edits far apart are both taken",
        *("a b c d e", "A b c d e", "a b c d E", "A b c d E"),
    ),
    ("edits in neighbouring lines are both taken", "a b c", "A b c", "a B c", "A B c"),
    ("the same edit on both sides is taken once", "a b", "a X", "a X", "a X"),
    ("the same insertion on both sides is taken once", "a b", "a X b", "a X b", None),
    ("a deletion and an edit elsewhere", "a b c d", "a c d", "a b c D", "a c D"),
    ("the same line edited differently clashes", "a b c", "a X c", "a Y c", ""),
    ("a line edited here and deleted there clashes", "a b c", "a X c", "a c", ""),
    ("both insert: the wiki's text is first", "a b", "a L b", "a R b", "a R L b"),
    ("both append: the wiki's text is first", "a", "a L", "a R", "a R L"),
    ("what both inserted alike is not doubled", "a", "a S L", "a S R", "a S R L"),
    ("an insertion beside an edited line", "a b c", "a L b c", "a B c", "a L B c"),
    ("an insertion inside a deleted range clashes", "a b c d", "a d", "a b X c d", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_lines(base: str, local: str, remote: str, expected: str | None) -> None:
    """One letter is one line; an empty result is a clash."""
    wanted = local if expected is None else expected
    merged = merge(*(lines(*text.split()) for text in (base, local, remote)))
    assert merged.text == (lines(*wanted.split()) if wanted else None)


def test_both_insertions_are_counted_for_a_notice() -> None:
    assert merge("a\nb\n", "a\nL\nb\n", "a\nR\nb\n").kept_both == 1
    assert merge("a\nb\n", "a\nL\nb\n", "a\nb\nR\n").kept_both == 0


def test_keeping_both_insertions_can_be_switched_off() -> None:
    merged = merge("a\nb\n", "a\nL\nb\n", "a\nR\nb\n", keeps_both=False)
    assert merged.pieces == ("a\n", Clash("", "L\n", "R\n"), "b\n")


def test_clash_shows_only_what_really_clashes() -> None:
    merged = merge("t\na\nb\nz\n", "T\na\nL\ny\nz\n", "t\na\nR\ny\nz\n")
    assert merged.pieces[-2:] == (Clash("b\n", "L\n", "R\n"), "y\nz\n")


WORDS = [
    (
        "different words of one line are both taken",
        *("the old dog sleeps\n", "the young dog sleeps\n", "the old dog runs\n"),
        "the young dog runs\n",
    ),
    ("the same word clashes", "an old dog\n", "a young dog\n", "a big dog\n", None),
    ("words side by side clash", "a bc d\n", "a bX d\n", "a bc! d\n", None),
    (
        "two words inserted at one point clash",
        *("a b\n", "a x b\n", "a y b\n", None),
    ),
    (
        "a word edited in a paragraph that the other side removed clashes",
        *("p one\n\np two\n", "p two\n", "p one more\n\np two\n", None),
    ),
    (
        "different cells of one table row are both taken",
        *("| a | b |\n", "| A | b |\n", "| a | B |\n", "| A | B |\n"),
    ),
    (
        "a cell added to a row that the other side edits clashes",
        *("| a | b |\n", "| a | b | c |\n", "| A | b |\n", None),
    ),
    (
        "words are not merged across two rows of a table",
        *("| a | b |\n| c | d |\n", "| A | b |\n| c | D |\n"),
        *("| a | B |\n| C | d |\n", None),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [row[1:] for row in WORDS],
    ids=[row[0] for row in WORDS],
)
def test_words(base: str, local: str, remote: str, expected: str | None) -> None:
    assert merge(base, local, remote).text == expected


CODE = [
    (Format.MARKDOWN, "```sh\n", "```\n"),
    (Format.MARKDOWN, "~~~~\n", "~~~~\n"),
    (Format.ASCIIDOC, "----\n", "----\n"),
    (Format.ASCIIDOC, "|===\n", "|===\n"),
    (Format.ORG, "#+BEGIN_SRC sh\n", "#+END_SRC\n"),
    (Format.RDOC, "text\n\n  ", "\n"),
]


@pytest.mark.parametrize(("page_format", "before", "after"), CODE)
def test_words_of_code_are_never_merged(
    page_format: Format, before: str, after: str
) -> None:
    """Two edits of one line of code make a line that nobody ever ran."""
    base, local, remote = (
        f"{before}{text}\n{after}"
        for text in ("rm old dir", "rm -r old dir", "rm old x")
    )
    assert merge(base, local, remote, page_format=page_format).text is None
    plain = [text.removeprefix(before) for text in (base, local, remote)]
    if page_format is not Format.RDOC:
        assert merge(*plain, page_format=Format.CREOLE).text is not None


def test_front_matter_counts_as_code() -> None:
    text = ["---\n", "title: a b\n", "---\n", "a b\n", "---\n"]
    assert code_lines(text, Format.MARKDOWN) == [True, True, True, False, False]


def test_fence_is_closed_only_by_its_own_kind() -> None:
    text = ["````\n", "```\n", "~~~\n", "````\n", "text\n"]
    assert code_lines(text, Format.MARKDOWN) == [True, True, True, True, False]


def test_line_ends_of_the_folder_win() -> None:
    merged = merge("a\nb\nc\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n")
    assert merged.text == "A\r\nb\r\nC\r\n"


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [
        ("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC", "A\nb\nC"),
        ("a\nb\nc", "A\nb\nc\n", "a\nb\nc", "A\nb\nc\n"),
        ("a\nb\nc", "A\nb\nc\n", "a\nB\nc", "A\nB\nc\n"),
    ],
)
def test_final_newline_follows_the_side_that_changed_it(
    base: str, local: str, remote: str, expected: str
) -> None:
    assert merge(base, local, remote).text == expected


@pytest.mark.parametrize("side", [0, 1])
def test_text_with_a_marker_line_clashes_as_a_whole(side: int) -> None:
    sides = ["A\nb\nc\n", "a\nb\nC\n"]
    sides[side] += f"{MARKER} conflict 1 of 1: here %%%%\n"
    assert merge("a\nb\nc\n", *sides).pieces == (Clash("a\nb\nc\n", *sides),)


def test_text_with_a_marker_line_is_never_put_into_a_bundle() -> None:
    """A bundle in a bundle could not be read back."""
    local = f"X\nb\n{MARKER} conflict 1 of 1: here %%%%\n"
    assert merge("a\nb\n", local, "Y\nb\n").pieces == (
        Clash("a\nb\n", local, "Y\nb\n"),
    )


def test_merge_never_makes_a_marker_line_of_two_halves() -> None:
    assert merge("x y\n", "%%%% y\n", "x wikisync\n").text is None
    assert merge("x y\n", "%%% y\n", "x wikisync\n").text == "%%% wikisync\n"


def test_fault_in_the_merger_holds_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look counts lines, and knows nothing of how they got there."""
    monkeypatch.setattr(module, "_regions", lambda *_, **__: iter(()))
    texts = ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    assert merge(*texts).pieces == (Clash(*texts),)


def test_fault_among_the_words_holds_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_merge_tokens", lambda base, *_: base)
    texts = ("the old dog sleeps\n", "the new dog sleeps\n", "the old dog runs\n")
    assert merge(*texts).pieces == (Clash(*texts),)


def test_line_moved_here_and_deleted_there_is_held() -> None:
    merged = merge("m\na\nb\nc\n", "a\nb\nc\nm\n", "a\nb\nc\n")
    assert merged.text is None


# -- properties --------------------------------------------------------------------

TEXT = st.lists(
    st.sampled_from(["a", "b", "c d", "", "| e |", "```", "f g h"]), max_size=8
).map(lambda words: lines(*words))


@given(TEXT, TEXT)
def test_one_side_alone_is_taken_as_it_is(base: str, edited: str) -> None:
    assert merge(base, edited, base).text == edited
    assert merge(base, base, edited).text == edited
    assert merge(base, edited, edited).text == edited


@given(TEXT, TEXT, TEXT)
def test_sides_can_change_places(base: str, local: str, remote: str) -> None:
    """But for the order of two texts inserted at one place."""
    there = merge(base, local, remote, keeps_both=False)
    back = merge(base, remote, local, keeps_both=False)
    assert there.text == back.text
    both, swapped = merge(base, local, remote), merge(base, remote, local)
    assert Counter(both.text or "") == Counter(swapped.text or "")


@given(TEXT, TEXT, TEXT)
def test_every_line_that_a_side_added_is_there(
    base: str, local: str, remote: str
) -> None:
    merged = merge(base, local, remote)
    if merged.text is not None:
        words = set(merged.text.split())
        added = (set(local.split()) | set(remote.split())) - set(base.split())
        assert added <= words


@given(TEXT, TEXT, TEXT)
def test_pieces_of_a_clash_hold_all_of_both_sides(
    base: str, local: str, remote: str
) -> None:
    pieces = merge(base, local, remote).pieces
    mine = "".join(p.local if isinstance(p, Clash) else p for p in pieces)
    theirs = "".join(p.remote if isinstance(p, Clash) else p for p in pieces)
    old = set(base.split())
    assert set(local.split()) - old <= set(mine.split())
    assert set(remote.split()) - old <= set(theirs.split())


# -- git as the oracle -------------------------------------------------------------

needs_git = pytest.mark.skipif(
    shutil.which("git") is None, reason="git merge-file is the oracle here"
)


def merge_of_git(folder: Path, *texts: str) -> str | None:
    names = []
    for name, text in zip(("base", "local", "remote"), texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
        names.append(str(folder / name))
    base, local, remote = names
    command = ["git", "merge-file", "-p", "-q", local, base, remote]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else None


def edited(text: list[str], rng: random.Random) -> list[str]:
    """A page with two to five lines changed, inserted or removed."""
    text = list(text)
    for _ in range(rng.randint(2, 5)):
        place = rng.randrange(len(text))
        new = [f"new {rng.random()}\n"]
        text[place : place + rng.choice((0, 1))] = rng.choice((new, new, []))
    return text


@needs_git
@pytest.mark.parametrize("seed", range(40))
def test_whatever_git_merges_is_merged_alike(seed: int, tmp_path: Path) -> None:
    """Ours may settle more than git's (side by side, words), never other than it."""
    rng = random.Random(seed)
    base = [f"line {rng.randint(0, 60)}\n" for _ in range(60)]
    texts = ["".join(text) for text in (base, edited(base, rng), edited(base, rng))]
    by_git = merge_of_git(tmp_path, *texts)
    if by_git is not None:
        assert merge(texts[0], texts[1], texts[2]).text == by_git


@pytest.mark.parametrize(
    ("base", "local", "remote"),
    [
        ("![p](/red.png)", "![p](/blue.png)", "![p](uploads/0a/red.png)"),
        ("![p](red.png)", "![p](blue.png)", "![p](red.jpg)"),
        (
            "on https://example.com/a?b=1",
            "on https://example.com/a?b=2",
            "on https://example.org/a?b=1",
        ),
        ("until 2026-11-22", "until 2026-12-22", "until 2026-11-23"),
        ("takes 1.5 s", "takes 2.5 s", "takes 1.7 s"),
    ],
)
def test_two_edits_of_what_is_written_without_a_space_clash(
    base: str, local: str, remote: str
) -> None:
    """Put together of both, it would be a name, address or number of nobody's."""
    assert merge(f"{base}\n", f"{local}\n", f"{remote}\n").text is None


def test_words_around_a_name_are_merged() -> None:
    base = "see ![p](red.png) and more\n"
    local, remote = base.replace("red", "blue"), base.replace("more", "others")
    assert merge(base, local, remote).text == "see ![p](blue.png) and others\n"

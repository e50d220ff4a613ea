import random
import shutil
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sync.edited_twice import (
    TwoEdits,
    beside_deletions,
    in_one_place,
    long_paragraphs,
)
from tests.sync.prove_merge import merge_of_git, outcome
from wikisync.core.model import Format
from wikisync.merging import merge as module
from wikisync.merging.conflict import MARKER, Clash
from wikisync.merging.merge import merge
from wikisync.merging.units import Kind, kinds

BASE = "one\ntwo\nthree\nfour\nfive\n"


def lines(*words: str) -> str:
    return "".join(f"{word}\n" for word in words)


def items(*words: str) -> str:
    """A list, each item a line."""
    return "".join(f"- {word}\n" for word in words)


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
    """One letter is one list item; an empty result is a clash."""
    wanted = local if expected is None else expected
    merged = merge(*(items(*text.split()) for text in (base, local, remote)))
    assert merged.text == (items(*wanted.split()) if wanted else None)


def test_clash_shows_only_what_really_clashes() -> None:
    merged = merge("t\na\nb\nz\n", "T\na\nL\ny\nz\n", "t\na\nR\ny\nz\n")
    assert merged.pieces[-2:] == (Clash("b\n", "L\n", "R\n"), "y\nz\n")


def test_what_both_append_without_an_end_clashes_alone() -> None:
    """The rest of the page would be doubled by who keeps both."""
    texts = ["# A\n\nwords\n" + more for more in ("", "\nfrom here", "\nfrom there")]
    clash = Clash("", "from here\n", "from there\n")
    assert merge(*texts).pieces == ("# A\n\nwords\n\n", clash)


PARAGRAPH = "Take 5 mg twice. Rest for a day.\nDrink a lot. Call us.\n"

UNITS = [
    (
        "two sentences of one line are both taken",
        *(PARAGRAPH, PARAGRAPH.replace("5", "6"), PARAGRAPH.replace("a day", "two")),
        PARAGRAPH.replace("5", "6").replace("a day", "two"),
    ),
    (
        "sentences of neighbouring lines are both taken",
        *(PARAGRAPH, PARAGRAPH.replace("a day", "two")),
        *(PARAGRAPH.replace("Drink", "Eat"),),
        PARAGRAPH.replace("a day", "two").replace("Drink", "Eat"),
    ),
    (
        "two words of one sentence clash",
        *("The old dog sleeps.\n", "The young dog sleeps.\n", "The old dog runs.\n"),
        None,
    ),
    (
        "a sentence over two lines that both sides edit clashes",
        *("The old\ndog sleeps.\n", "The young\ndog sleeps.\n"),
        *("The old\ndog runs.\n", None),
    ),
    (
        "a sentence that is wrapped anew takes an edit of its words",
        *("Old dogs\nsleep. He is\nours.\n", "Old\ndogs sleep.\nHe is ours.\n"),
        *("Old dogs\nsleep. He was\nours.\n", "Old\ndogs sleep.\nHe was\nours.\n"),
    ),
    (
        "a sentence added to the line and one edited are both taken",
        *("One. Two words.\n", "One. Two words. Three.\n", "One more. Two words.\n"),
        "One more. Two words. Three.\n",
    ),
    (
        "sentences added at one place inside a line clash",
        *("Alpha one.\n", "Alpha one. Beta.\n", "Alpha one. Gamma.\n", None),
    ),
    (
        "a sentence joined to the one that the other side edits clashes",
        *("One dog. Two cats.\n", "One dog and two cats.\n", "One dog. Ten cats.\n"),
        None,
    ),
    (
        "a word edited in a paragraph that the other side removed clashes",
        *("p one\n\np two\n", "p two\n", "p one more\n\np two\n", None),
    ),
    (
        "cells of one row with a cell between them are both taken",
        *("| a | b | c |\n", "| A | b | c |\n", "| a | b | C |\n", "| A | b | C |\n"),
    ),
    (
        "neighbouring cells of one row clash",
        *("| a | b | c |\n", "| A | b | c |\n", "| a | B | c |\n", None),
    ),
    (
        "a cell keeps a bar that is escaped",
        *("| a \\| x | b | c |\n", "| A \\| x | b | c |\n", "| a \\| x | b | C |\n"),
        "| A \\| x | b | C |\n",
    ),
    (
        "a row whose cells are aligned anew takes an edit of a cell",
        *("|a|b|c|\n", "| a | b | c |\n", "|a|b|C|\n", "| a | b |C|\n"),
    ),
    (
        "a cell added to a row that the other side edits clashes",
        *("| a | b |\n", "| a | b | c |\n", "| A | b |\n", None),
    ),
    (
        "two rows of a table are both taken",
        *("| a | b |\n| c | d |\n", "| A | b |\n| c | d |\n"),
        *("| a | b |\n| c | D |\n", "| A | b |\n| c | D |\n"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [row[1:] for row in UNITS],
    ids=[row[0] for row in UNITS],
)
def test_units(base: str, local: str, remote: str, expected: str | None) -> None:
    assert merge(base, local, remote).text == expected
    swapped = merge(base, remote, local).text
    assert "".join((swapped or "").split()) == "".join((expected or "").split())


CODE = [
    (Format.MARKDOWN, "```sh\n", "```\n"),
    (Format.MARKDOWN, "~~~~\n", "~~~~\n"),
    (Format.MARKDOWN, "- item\n\n  ```\n  ", "  ```\n"),
    (Format.MARKDOWN, "- ```\n  ", "  ```\n"),
    (Format.MARKDOWN, "> ```\n> ", "> ```\n"),
    (Format.MARKDOWN, "text\n\n    ", "\n"),
    (Format.MARKDOWN, "<pre>\n", "</pre>\n"),
    (Format.MARKDOWN, "<div>\n", "</div>\n"),
    (Format.MARKDOWN, "$$\n", "$$\n"),
    (Format.MARKDOWN, "<!--\n", "-->\n"),
    (Format.ASCIIDOC, "----\n", "----\n"),
    (Format.ASCIIDOC, "|===\n", "|===\n"),
    (Format.ASCIIDOC, "[source]\n", "\n"),
    (Format.ASCIIDOC, "[source]\n.Title\n----\n", "----\n"),
    (Format.ASCIIDOC, "text\n\n ", "\n"),
    (Format.ORG, "#+BEGIN_SRC sh\n", "#+END_SRC\n"),
    (Format.ORG, ": ", "\n"),
    (Format.ORG, ":LOGBOOK:\n", ":END:\n"),
    (Format.RDOC, "text\n\n  ", "\n"),
]


@pytest.mark.parametrize(("page_format", "before", "after"), CODE)
def test_code_is_never_divided(page_format: Format, before: str, after: str) -> None:
    """Two edits of one line of code make a line that nobody ever ran."""
    base, local, remote = (
        f"{before}{text}\n{after}text below\n"
        for text in ("Run it. Then stop.", "Run this. Then stop.", "Run it. Then go.")
    )
    assert merge(base, local, remote, page_format=page_format).text is None
    plain = [
        text[len(before) : text.index("\n", len(before)) + 1]
        for text in (base, local, remote)
    ]
    merged = merge(plain[0], plain[1], plain[2], page_format=page_format)
    assert merged.text == "Run this. Then go.\n"


def test_lines_of_code_side_by_side_clash() -> None:
    base, local, remote = (f"```\n{text}\n```\n" for text in ("a\nb", "A\nb", "a\nB"))
    assert merge(base, local, remote).text is None


def test_code_appended_by_both_sides_is_kept() -> None:
    base, block = "text\n", "\n```\n{}\n```\n"
    merged = merge(base, base + block.format("L"), base + block.format("R"))
    assert merged.text == base + block.format("R") + block.format("L")


METADATA = [
    ("other keys", "a: 1\nb: 2\n", "a: 9\nb: 2\n", "a: 1\nb: 9\n", "a: 9\nb: 9\n"),
    ("one key", "a: 1\n", "a: 2\n", "a: 3\n", None),
    ("a key alike", "a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 2\nb: 3\n", "a: 2\nb: 3\n"),
    ("keys added", "a: 1\n", "a: 1\nb: 1\n", "a: 1\nc: 1\n", "a: 1\nc: 1\nb: 1\n"),
    ("a key added by both", "a: 1\n", "a: 1\nb: 1\n", "a: 1\nb: 2\n", None),
    ("a key removed", "a: 1\nb: 1\n", "b: 1\n", "a: 1\nb: 2\n", "b: 2\n"),
    ("a key removed and edited", "a: 1\nb: 1\n", "b: 1\n", "a: 2\nb: 1\n", None),
    (
        "items of one list",
        *("t:\n- a\n- b\n", "t:\n- A\n- b\n", "t:\n- a\n- b\n- c\n", None),
    ),
    (
        "a list and another key",
        *("t:\n- a\nu: 1\n", "t:\n- a\n- b\nu: 1\n", "t:\n- a\nu: 2\n"),
        "t:\n- a\n- b\nu: 2\n",
    ),
    (
        "the later of two time stamps",
        *("updated: 2024-05-01 10:00\n", "updated: 2024-05-02 09:30\n"),
        *("updated: 2024-05-02 09:31\n", "updated: 2024-05-02 09:31\n"),
    ),
    (
        "the later of two moments in two zones",
        *("mtime: 2024-05-01T10:00:00Z\n", "mtime: 2024-05-02T11:00:00+02:00\n"),
        *("mtime: 2024-05-02T10:00:00+00:00\n", "mtime: 2024-05-02T10:00:00+00:00\n"),
    ),
    (
        "time stamps that both sides added",
        *("a: 1\n", "a: 1\nlastmod: '2024-05-03'\n", "a: 1\nlastmod: '2024-05-02'\n"),
        "a: 1\nlastmod: '2024-05-03'\n",
    ),
    (
        "time stamps in milliseconds, with the name of the machine",
        *("date modified: 0\n", "date modified: 1714558005123 on A\n"),
        *("date modified: 1714558005124 on B\n", "date modified: 1714558005124 on B\n"),
    ),
    (
        "time stamps in words",
        *("modified: \n", "modified: Thursday, May 2nd 2024, 9:30:00 am\n"),
        *("modified: Wednesday, May 1st 2024, 9:30:00 pm\n",),
        "modified: Thursday, May 2nd 2024, 9:30:00 am\n",
    ),
    (
        "time stamps of a program, with its comment",
        *("file.mtime: 0\n", "file.mtime: 2024-05-02 # auto\n"),
        *("file.mtime: 2024-05-01 # auto\n", "file.mtime: 2024-05-02 # auto\n"),
    ),
    (
        "time stamps with comments of two persons",
        *("changed: 0\n", "changed: 2024-05-02 # mine\n"),
        *("changed: 2024-05-01 # theirs\n", None),
    ),
    (
        "time stamps without leading zeros",
        *("revised: 0\n", "revised: 2024-10-01\n", "revised: 2024-9-30\n"),
        "revised: 2024-10-01\n",
    ),
    (
        "time stamps with short names of months",
        *("updated: 0\n", "updated: May 31, 2024\n", "updated: Jun 1, 2024\n"),
        "updated: Jun 1, 2024\n",
    ),
    (
        "time stamps of two forms",
        *("updated: 0\n", "updated: 2024-05-02\n", "updated: 2024-05-02 10:00\n"),
        None,
    ),
    ("a number is no time stamp", "date: 1\n", "date: 2\n", "date: 3\n", None),
    (
        "what a person planned is no time of a change",
        *("due: 2024-05-01\n", "due: 2024-05-02\n", "due: 2024-05-03\n", None),
    ),
    (
        "time stamps and another key that clashes",
        *("updated: 2024-05-01\na: 1\n", "updated: 2024-05-02\na: 2\n"),
        *("updated: 2024-05-03\na: 3\n", None),
    ),
    ("no keys at all", "one\n", "two\n", "three\n", None),
]


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [row[1:] for row in METADATA],
    ids=[row[0] for row in METADATA],
)
def test_front_matter_is_merged_by_its_keys(
    base: str, local: str, remote: str, expected: str | None
) -> None:
    page = "---\n{}---\ntext\n"
    merged = merge(*(page.format(one) for one in (base, local, remote)))
    assert merged.text == (page.format(expected) if expected else None)


def test_time_stamps_that_differ_below_front_matter_clash() -> None:
    stamps = (f"updated: 2024-05-0{day}\n" for day in "123")
    assert merge(*stamps).text is None


def test_time_stamps_do_not_settle_a_page_whose_text_clashes() -> None:
    page = "---\nupdated: 2024-05-0{}\n---\n{}\n"
    merged = merge(page.format(1, "a"), page.format(2, "b"), page.format(3, "c"))
    assert merged.text is None


def test_toml_keeps_the_later_of_two_time_stamps() -> None:
    page = '+++\nupdated = "2024-05-0{}T10:00:00Z"\n+++\ntext\n'
    assert merge(*map(page.format, (1, 3, 2))).text == page.format(3)


def test_front_matter_begun_by_both_sides_with_one_key_clashes() -> None:
    local, remote = (f"---\ntitle: {name}\n---\n\ntext\n" for name in "AB")
    merged = merge("text\n", local, remote)
    assert merged.pieces[0] == Clash("", "---\ntitle: A\n---\n", "---\ntitle: B\n---\n")


def test_toml_tables_are_one_entry_each() -> None:
    page = "+++\na = 1\n[x]\nb = {}\n[y]\nb = {}\n+++\n"
    merged = merge(page.format(1, 1), page.format(2, 1), page.format(1, 2))
    assert merged.text == page.format(2, 2)


def test_fence_is_closed_only_by_its_own_kind() -> None:
    text = ["````\n", "```\n", "~~~\n", "````\n", "text\n"]
    code = Kind.VERBATIM
    assert kinds(text, Format.MARKDOWN) == [code, code, code, code, Kind.OPENING]


def test_byte_order_mark_of_the_folder_is_no_edit_of_the_first_line() -> None:
    mine = "\ufeff" + BASE.replace("four", "FOUR")
    theirs = BASE.replace("one", "ONE")
    merged = BASE.replace("one", "ONE").replace("four", "FOUR")
    assert merge(BASE, mine, theirs).text == "\ufeff" + merged
    assert merge(BASE, theirs, mine).text == merged


def test_line_ends_of_the_folder_win() -> None:
    merged = merge("a\nb\nc\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n")
    assert merged.text == "A\r\nb\r\nC\r\n"


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [
        ("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC", "A\nb\nC"),
        ("a\nb\nc", "A\nb\nc\n", "a\nb\nc", "A\nb\nc\n"),
        ("a\n\nb\n\nc", "A\n\nb\n\nc\n", "a\n\nB\n\nc", "A\n\nB\n\nc\n"),
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


def test_fault_in_the_merger_holds_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look counts lines, and knows nothing of how they got there."""
    monkeypatch.setattr(module, "_regions", lambda *_, **__: iter(()))
    texts = ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    assert merge(*texts).pieces == (Clash(*texts),)


def test_fault_among_the_units_holds_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_rewrapped", lambda *_: "Half of one ")
    texts = ("A b. C d. E f.\n", "A x. C d. E f.\n", "A b. C d. E y.\n")
    assert merge(*texts).pieces == (Clash(*texts),)


def test_line_moved_here_and_deleted_there_is_held() -> None:
    merged = merge("m\na\nb\nc\n", "a\nb\nc\nm\n", "a\nb\nc\n")
    assert merged.text is None


PARAGRAPHS = [
    f"Paragraph {at} says what was decided about {at}.\n\n" for at in range(30)
]


@pytest.mark.parametrize(("kept", "is_held"), [(2, True), (4, False)])
def test_side_that_kept_next_to_nothing_clashes_with_an_edit_of_the_rest(
    kept: int, is_held: bool
) -> None:
    """It may be another page that was begun under the name."""
    base = "".join(PARAGRAPHS)
    cut = "".join(PARAGRAPHS[:kept]) + "Something else. " * 60 + "\n"
    edited = "HERE.\n\n" + base
    for sides in ((edited, cut), (cut, edited)):
        merged = merge(base, *sides)
        assert (merged.text is None) is is_held


def test_deletions_that_leave_next_to_nothing_together_clash() -> None:
    base = "".join(PARAGRAPHS)
    merged = merge(base, "".join(PARAGRAPHS[:16]), "".join(PARAGRAPHS[15:]))
    assert merged.text is None
    merged = merge(base, "".join(PARAGRAPHS[:18]), "".join(PARAGRAPHS[12:]))
    assert merged.text == "".join(PARAGRAPHS[12:18])


def test_word_that_one_side_exchanged_everywhere_is_no_other_text() -> None:
    base = "".join(PARAGRAPHS[:8])
    merged = merge(base, base.replace("decided", "agreed"), f"{base}\n\nHERE.\n")
    assert merged.text == base.replace("decided", "agreed") + "\n\nHERE.\n"


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
    """But for the order of two texts that both sides inserted at one place.

    The wiki's text is first, so the other order is another text.  It may run into the
    paragraph or the fence of the first one, which is a conflict, and rightly so.
    """
    there, back = merge(base, local, remote).text, merge(base, remote, local).text
    if there is not None and back is not None:
        assert Counter(there) == Counter(back)
    elif there != back:
        old, mine, theirs = (Counter(one.split("\n")) for one in (base, local, remote))
        assert mine - old
        assert theirs - old


@pytest.mark.parametrize(
    ("base", "first", "second"),
    [("", "a\n\n", "b\nc\n"), ("a\n\n", "a\n\nb\n", "a\n\n```\n")],
    ids=["a paragraph ends", "a fence opens"],
)
def test_two_insertions_that_go_together_in_one_order_are_held_in_the_other(
    base: str, first: str, second: str
) -> None:
    merged = base + first.removeprefix(base) + second.removeprefix(base)
    assert merge(base, second, first).text == merged
    assert merge(base, first, second).text is None


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
def test_whatever_git_merges_is_merged_alike(seed: int) -> None:
    """Ours may settle more than git's (side by side, words), never other than it."""
    rng = random.Random(seed)
    base = [f"line {rng.randint(0, 60)}\n" for _ in range(60)]
    texts = ["".join(text) for text in (base, edited(base, rng), edited(base, rng))]
    by_git = merge_of_git(*texts)
    if by_git is not None:
        assert merge(texts[0], texts[1], texts[2]).text == by_git


@needs_git
def test_line_added_beside_a_deletion_is_merged_as_git_does() -> None:
    """What was added belongs to a text that the other side removed."""
    texts = [case.texts for case in beside_deletions(80)]
    assert [merge(*one).text for one in texts] == [merge_of_git(*one) for one in texts]


LOG = "# log\n\n" + "".join(f"Entry {at}: something was decided.\n\n" for at in "1234")


@pytest.mark.parametrize(
    ("local", "remote"),
    [
        (f"{LOG}HERE.\n", ""),
        (f"{LOG}HERE.\n", "Moved to [log 2024](log-2024).\n"),
        (f"{LOG}HERE.\n", "# log\n\nNew year, new log.\n"),
        (f"{LOG}HERE.\n", LOG[: LOG.index("Entry 3")]),
        (LOG.replace("log\n\n", "log\n\nHERE.\n\n"), "# log\n\nNew year, new log.\n"),
        ("One. Two. Three. HERE.\n", "One. Two.\n"),
        ("One two.\nThree four.\n\nHERE\n", "One two.\n"),
    ],
)  # fmt: skip
def test_line_added_to_what_the_other_side_removed_is_held(
    local: str, remote: str
) -> None:
    base = local.partition("HERE")[0].rstrip() + "\n"
    base = LOG if base.startswith("#") else base
    assert merge(base, local, remote).text is None
    assert merge(base, remote, local).text is None


@pytest.mark.parametrize(
    ("base", "local", "remote"),
    [
        ("![p](/red.png)", "![p](/blue.png)", "![p](uploads/0a/red.png)"),
        ("![p](red.png)", "![p](blue.png)", "![p](red.jpg)"),
        (
            "See ![p](a.png). (One. Two.)",
            "See ![p](a.png). (I. Two.)",
            "See ![p](a.png). (One. II.)",
        ),
        ("Run `a. B c` now", "Run `x. B c` now", "Run `a. B y` now"),
        (
            "Ask Dr. Smith of St. Mary",
            "Ask Dr. Jones of St. Mary",
            "Ask Dr. Smith of St. Anne",
        ),
        ("Am 1. Mai um 2 Uhr", "Am 1. Juni um 2 Uhr", "Am 1. Mai um 3 Uhr"),
        ("Say e.g. This or that", "Say i.e. This or that", "Say e.g. This or all"),
        (
            "on https://example.com/a?b=1",
            "on https://example.com/a?b=2",
            "on https://example.org/a?b=1",
        ),
        ("until 2026-11-22", "until 2026-12-22", "until 2026-11-23"),
        ("takes 1.5 s", "takes 2.5 s", "takes 1.7 s"),
    ],
)
def test_two_edits_of_one_sentence_clash(base: str, local: str, remote: str) -> None:
    """Put together of both, it would be a name, number or claim of nobody's."""
    assert merge(f"{base}\n", f"{local}\n", f"{remote}\n").text is None


# -- as persons edit ---------------------------------------------------------------


@pytest.mark.parametrize("case", list(in_one_place()), ids=lambda case: case.texts[1])
def test_no_merge_writes_a_sentence_that_nobody_wrote(case: TwoEdits) -> None:
    assert merge(*case.texts, page_format=case.page_format).text is None


def test_edits_of_different_sentences_are_merged() -> None:
    outcomes = Counter(map(outcome, long_paragraphs(60)))
    assert outcomes["other"] == 0
    assert outcomes["merged"] >= 57

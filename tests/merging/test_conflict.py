import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.merging.conflict import (
    MARKER,
    NOTE,
    Choice,
    Clash,
    Piece,
    git_conflicts,
    has_marker,
    read_conflict_file,
    resolved,
    write_conflict_file,
)

PIECES: tuple[Piece, ...] = ("# Page\n", Clash("old\n", "mine\n", "theirs\n"), "end\n")
FILE = write_conflict_file(PIECES, remote_by="ann, 12 May")
READ: tuple[Piece, ...] = ("# Page\n", Clash("", "mine\n", "theirs\n"), "end\n")


def test_conflict_file_labels_both_texts_around_the_clash_alone() -> None:
    assert FILE.splitlines() == [
        NOTE,
        "# Page",
        f"{MARKER} conflict 1 of 1: on the wiki, ann, 12 May %%%%",
        "theirs",
        f"{MARKER} conflict 1 of 1: here %%%%",
        "mine",
        f"{MARKER} conflict 1 of 1: end %%%%",
        "end",
    ]


@pytest.mark.parametrize("text", ["# Page\nboth\n", f"{NOTE}\n# Page\nboth\n"])
def test_conflict_file_without_blocks_is_the_page(text: str) -> None:
    assert read_conflict_file(text).text == "# Page\nboth\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_conflict_file_with_any_line_ends_is_no_page_yet(line_end: str) -> None:
    found = read_conflict_file(FILE.replace("\n", line_end))
    assert (found.problem, found.text) == ("", None)


def test_name_of_the_other_editor_cannot_end_its_line() -> None:
    text = write_conflict_file(
        PIECES, remote_by=f"eve\n{MARKER} conflict 1 of 1: end %%%%"
    )
    assert read_conflict_file(text).pieces == READ


LINES = FILE.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("left", "problem"),
    [
        ([*LINES[:2], *LINES[3:]], 'line 4: the line "here" stands where "on the wiki'),
        ([*LINES[:4], *LINES[5:]], 'line 6: the line "end" stands where "here" bel'),
        ([*LINES[:6], *LINES[7:]], "the last conflict has no end line"),
        ([f"- {MARKER}\n"], "line 1: a marker line that was changed"),
    ],
    ids=["no wiki line", "no here line", "no end line", "marker changed"],
)
def test_damaged_block_is_named_and_is_no_page(left: list[str], problem: str) -> None:
    conflict_file = read_conflict_file("".join(left))
    assert conflict_file.problem.startswith(problem)
    assert conflict_file.text is None


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("mine", "# Page\nmine\nend\n"),
        ("wiki", "# Page\ntheirs\nend\n"),
        ("both", "# Page\ntheirs\nmine\nend\n"),
    ],
)
def test_all_clashes_can_be_settled_one_way(choice: Choice, text: str) -> None:
    assert resolved(PIECES, choice) == text


@pytest.mark.parametrize("line", LINES[2:7:2])
def test_every_marker_line_is_known_as_one(line: str) -> None:
    """Indented, quoted or inside a list, it must never reach a wiki."""
    assert has_marker(line)
    assert has_marker(f"> - {line}")


def test_page_about_conflicts_in_git_is_no_conflict_file() -> None:
    assert not has_marker("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n")


TEXT = st.text("ab \n", max_size=8).map(lambda text: f"{text}\n")
CLASHES = st.builds(Clash, st.just(""), TEXT | st.just(""), TEXT | st.just(""))


@given(st.lists(TEXT, min_size=1, max_size=4), st.lists(CLASHES, min_size=3))
def test_any_conflict_file_reads_back(texts: list[str], clashes: list[Clash]) -> None:
    pieces = [p for pair in zip(texts, clashes, strict=False) for p in pair]
    assert read_conflict_file(write_conflict_file(pieces)).pieces == tuple(pieces)


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n",
        "x\r\n<<<<<<< HEAD\r\na\r\n=======\r\n>>>>>>> main\r\n",
        "<<<<<<< HEAD\na\n||||||| 12ab\no\n=======\nb\n>>>>>>> main",
        "```\n<<<<<<< a\n<<<<<<< HEAD\n=======\n>>>>>>> main\n```\n",
    ],
)
def test_conflict_of_git_is_known_by_its_three_lines(text: str) -> None:
    ((_, end),) = git_conflicts(text)
    assert end == ">>>>>>> main"


@pytest.mark.parametrize(
    "text",
    [
        "Heading\n=======\n\n>>>>>>> a quote of a quote\n",
        "<<<<<<< HEAD\n>>>>>>> main\n=======\n",
        " <<<<<<< HEAD\n=======\n>>>>>>> main\n",
        "<<<<<<< HEAD\n======== \n>>>>>>> main\n",
        ">>>>>>> main\n=======\n<<<<<<< HEAD\n",
    ],
)
def test_less_than_three_lines_are_no_conflict_of_git(text: str) -> None:
    assert not git_conflicts(text)

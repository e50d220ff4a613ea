from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.merging import diff
from wikisync.merging.diff import Hunk, changes, word_changes

FEW = st.text("abc", max_size=14)
MANY = st.text("abcdefghijklmnop", max_size=30)


def patched(old: str, new: str, found: list[Hunk]) -> str:
    """The old text with every change put in."""
    parts, done = [], 0
    for one in found:
        parts += [old[done : one.old_start], new[one.new_start : one.new_end]]
        done = one.old_end
    return "".join([*parts, old[done:]])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("abc", "abc", []),
        ("", "a", [Hunk(0, 0, 0, 1)]),
        ("a", "", [Hunk(0, 1, 0, 0)]),
        ("abc", "axc", [Hunk(1, 2, 1, 2)]),
        ("abcd", "xabcdy", [Hunk(0, 0, 0, 1), Hunk(4, 4, 5, 6)]),
        ("aabb", "aab", [Hunk(3, 4, 3, 3)]),
    ],
)
def test_changes_are_found(old: str, new: str, expected: list[Hunk]) -> None:
    assert changes(old, new) == expected


@given(st.one_of(FEW, MANY), st.one_of(FEW, MANY))
def test_changes_put_into_the_old_text_give_the_new(old: str, new: str) -> None:
    assert patched(old, new, changes(old, new)) == new


@given(FEW, FEW)
def test_between_two_changes_something_is_equal(old: str, new: str) -> None:
    found = changes(old, new)
    for before, after in pairwise(found):
        gap = slice(before.old_end, after.old_start)
        same = slice(before.new_end, after.new_start)
        assert old[gap] == new[same] != ""


def test_moved_unique_element_does_not_tear_its_surroundings() -> None:
    """The longest run of anchors stays, the one element moves."""
    assert len(changes("abcdefX", "Xabcdef")) == 2


def test_search_that_takes_too_long_changes_the_whole_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diff, "EDITS_MAX", 2)
    assert changes("aabbaabb", "bbaabbaa") == [Hunk(0, 8, 0, 8)]


@pytest.mark.parametrize(
    ("old", "new", "signs"),
    [
        ("Say hello to all", "Say hello to one", " -+"),
        ("same", "same", " "),
        ("Say it and go, the first of two", "Write both <b>and</b> more", "-+"),
        ("a b c d e", "f b g h i", "-+"),
        ("开发团队的流程", "开发团队的工作流程", " + "),
        ("次の手順をまとめた", "次の作業手順をまとめた", " + "),
        ("サーバーの設定です。", "メールを送る前に。", "-+"),
    ],
)
def test_texts_that_share_a_word_here_and_there_are_read_one_after_the_other(
    old: str, new: str, signs: str
) -> None:
    found = list(word_changes(old, new))
    assert "".join(sign or " " for sign, _ in found) == signs
    assert "".join(text for sign, text in found if sign != "+") == old
    assert "".join(text for sign, text in found if sign != "-") == new

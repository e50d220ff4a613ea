"""The words of the house: what a file's name says of it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wikisync.core import model

PARTS = st.sampled_from(
    [
        *("a", ".", "/", "-", "İ", "K"),
        *(e for every in model.EXTENSIONS.values() for e in every),
    ]
)


def longest_extension(name: str) -> tuple[str, model.Format] | None:
    """The rule itself, tried with every extension there is."""
    fitting = [
        (name[: -len(extension)], known)
        for known, extensions in model.EXTENSIONS.items()
        for extension in extensions
        if name.lower().endswith(extension) and name[: -len(extension)]
    ]
    named = [found for found in fitting if not found[0].endswith("/")]
    return min(named, key=lambda found: len(found[0]), default=None)


@given(st.lists(PARTS, max_size=6).map("".join), st.booleans())
@example(name="dir/a.rst.txt", is_upper=True)
@example(name="dir/.rst.txt", is_upper=False)
def test_longest_extension_wins(name: str, is_upper: bool) -> None:
    name = name.upper() if is_upper else name

    assert model.split_extension(name) == longest_extension(name)


@pytest.mark.parametrize(
    ("path", "above"), [("a", []), ("a/b", ["a"]), ("a/b/c", ["a/b", "a"]), ("", [])]
)
def test_folders_above_come_the_nearest_first(path: str, above: list[str]) -> None:
    assert list(model.folders_above(path)) == above


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "\n\n", "\r\n", "\r", "a", "a\n", "a\n\n", "a\n\n\n"),
        *("a\r\n", "a\r\nb\n", "a\r\n\n", "a\nb", "a\rb\n", "naïve\n", "\n\na\n"),
    ],
)
def test_folded_digest_is_known_exactly_where_folding_changes_the_text(
    text: str,
) -> None:
    state = model.Page(model.Slug("a"), model.Format.ORG, text).state("7")
    folded = model.fold_text(text)
    assert state.folded == (None if folded == text else model.digest_of(folded))
    assert (state.digest, state.identity) == (model.digest_of(text), "7")
    assert state.size == len(text.encode())


def test_a_text_of_nothing_but_a_mark_and_blanks_is_blank() -> None:
    assert [
        model.is_blank(text) for text in ("", "\ufeff", "\ufeff\r\n", "\ufeffa")
    ] == [*(True, True, True, False)]

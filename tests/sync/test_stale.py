"""Saves from windows that show a text which was replaced since."""

from wikisync.sync.decide.ledger import Replaced
from wikisync.sync.run.merging import WINDOW_S, stale_ancestor

OLD = "one\ntwo\nthree\n"
NEW = "one\ntwo\nthree\nfour from the wiki\nfive from the wiki\n"
OLDER = "one\n"
NOW = 60.0
"""A minute after everything that was replaced."""


def ring(*pairs: tuple[str, str], is_stale: bool = False) -> list[Replaced]:
    """Replacements, the newest first."""
    return [Replaced(old, new, 0.0, is_stale=is_stale) for old, new in pairs]


def test_a_save_of_the_old_window_belongs_to_the_text_it_showed() -> None:
    replaced = ring((OLD, NEW))
    assert stale_ancestor("one\ntwo, edited\nthree\n", replaced, NOW) == replaced[0]


def test_a_word_mended_in_a_line_from_the_wiki_is_no_stale_save() -> None:
    """By lines it is nearer to the old text, and the line would be there twice."""
    replaced = ring((OLD, OLD + "for fron the wiki\n"))
    assert stale_ancestor(OLD + "four from the wiki\n", replaced, NOW) is None


def test_a_long_paragraph_in_an_old_window_is_a_stale_save() -> None:
    """What a save brings itself is as far from either text."""
    save = "one\ntwo\n" + "a long paragraph of its own " * 40 + "\nthree\n"
    replaced = ring((OLD, OLD + "four\n"))
    assert stale_ancestor(save, replaced, NOW) == replaced[0]


def test_an_edit_as_near_to_both_is_taken_as_meant() -> None:
    """In doubt a person's save is what they wanted."""
    assert stale_ancestor("one\ntwo\n", ring(("one\n", "two\n")), NOW) is None


def test_the_nearest_of_several_replaced_texts_is_the_ancestor() -> None:
    replaced = ring((OLD, NEW), (OLDER, OLD))
    assert stale_ancestor("one\nagain\n", replaced, NOW) == replaced[1]


def test_a_save_that_was_merged_once_and_comes_again_is_meant() -> None:
    save = "one\ntwo, edited\nthree\n"
    replaced = ring((save, NEW), is_stale=True)
    assert stale_ancestor(save, replaced, NOW) is None


def test_taking_back_what_came_an_hour_ago_is_meant() -> None:
    """An editor window of a month ago is none; somebody takes the line out."""
    replaced = ring((OLD, NEW))
    assert stale_ancestor(OLD, replaced, WINDOW_S) == replaced[0]
    assert stale_ancestor(OLD, replaced, WINDOW_S + 1) is None

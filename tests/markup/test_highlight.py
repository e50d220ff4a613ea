"""Code in colours."""

import html
import re

import pytest

from wikisync.markup.filters.code import CODE_CHARS_MAX, highlight

CODE = 'def f(x):\n    return "<b>" + x  # & more\n\n\n'


@pytest.mark.parametrize("language", ["python", "ruby", "html", "console", "yaml"])
def test_text_of_the_code_never_changes(language: str) -> None:
    coloured = highlight("\n" + CODE, language)
    assert coloured is not None
    assert html.unescape(re.sub(r"</?span[^>]*>", "", coloured)) == "\n" + CODE


@pytest.mark.parametrize("language", ["nonsense", "plaintext", "text", "", "a b"])
def test_unknown_and_plain_languages_stay_plain(language: str) -> None:
    assert highlight(CODE, language) is None


def test_case_of_a_language_does_not_matter() -> None:
    assert highlight(CODE, "Python") == highlight(CODE, "python")


def test_long_code_stays_plain() -> None:
    assert highlight("x" * (CODE_CHARS_MAX + 1), "python") is None


def test_code_that_is_no_text_stays_plain() -> None:
    assert highlight("x = 1\0", "python") is None

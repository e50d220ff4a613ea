"""What an author is told of a page's file, with the line."""

import pytest

from wikisync.core.model import Problem
from wikisync.errors import SiteError
from wikisync.site.preview.checks import located, page_checks


def where(text: str) -> list[str]:
    """The lines that are complained about."""
    return [problem.subject for problem in page_checks("a.md", text.encode())]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A page\n",
        "---\n",
        "---\n\nA rule at the top.\n",
        "---\ntitle: A page\n---\ntext",
        "---\r\ntitle: A page\r\n---\r\ntext",
        "---\n# a comment\n\ntags:\n- one\n- two\ntext: |\n  block\n---\ntext",
        "+++\ntitle = 1\n+++\n",
    ],
)
def test_what_is_right_is_not_complained_about(text: str) -> None:
    assert where(text) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\ntitle: A\nno key\n---\n", 3),
        ("---\nno key\n---\n", 2),
        ("---\n- a list\n---\n", 2),
        ("---\na: 1\n\n# fine\nb = 2\n---\n", 5),
        ("---\r\na: 1\r\nno key\r\n---\r\n", 3),
        ("---\ntitle: A\n\nAnd no end.\n", 1),
    ],
)
def test_front_matter_that_is_none_is_told_with_its_line(text: str, line: int) -> None:
    assert where(text) == [f"a.md:{line}"]


def test_the_wrong_line_is_shown_but_not_all_of_a_long_one() -> None:
    (problem,) = page_checks("a.md", f"---\n{'x' * 500}\n---\n".encode())
    assert "xxx" in problem.message
    assert len(problem.message) < 200


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    (problem,) = page_checks("a.md", b"one\n\ntwo \xe9\n")
    assert problem.subject == "a.md:3"
    assert "byte 9" in problem.message


def test_an_error_is_told_by_its_file_and_line() -> None:
    found = located(SiteError("/t/page.html:3: 'x' is undefined", hint="look there"))
    assert found == Problem(
        "failed", "/t/page.html:3", "'x' is undefined", "look there"
    )


def test_an_error_without_a_place_is_told_as_it_is() -> None:
    assert located(SiteError("no such theme")) == Problem("failed", "", "no such theme")

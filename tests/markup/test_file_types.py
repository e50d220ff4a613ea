"""Names under which files of strangers are published."""

import pytest

from wikisync.markup import file_types


@pytest.mark.parametrize(
    ("name", "inert"),
    [
        ("a.png", "a.png"),
        ("A.PNG", "A.PNG"),
        ("a.html", "a-html.txt"),
        ("a.php.png", "a-php.png"),
        ("a.step", "a-step.txt"),
        ("a.b.step", "a.b-step.txt"),
        ("a", "a.txt"),
        ("a.", "a-.txt"),
        (".png", "-png.txt"),
        ("page.html.gz", "page-html.gz"),
        ("a.svg.zip", "a-svg.zip"),
    ],
)
def test_name_is_kept_or_becomes_that_of_a_text(name: str, inert: str) -> None:
    assert file_types.inert_name(name) == inert
    assert file_types.inert_name(inert) == inert


def test_what_opens_is_not_what_is_saved() -> None:
    assert not file_types.OPENED.keys() & file_types.SAVED.keys()
    assert [
        file_types.may_open(name) for name in ("a.pdf", "a.zip", "a.svg", "a", "png")
    ] == [*(True, False, False, False, False)]


def test_type_follows_the_extension_alone() -> None:
    assert (
        file_types.file_type("x.HTML")
        == file_types.file_type("x")
        == "application/octet-stream"
    )
    assert (file_types.file_type("x.SVG"), file_types.is_drawing("x.SVG")) == (
        "image/svg+xml",
        True,
    )
    assert file_types.file_extension(".htaccess") == ""


@pytest.mark.parametrize("name", ["Node.js", "ASP.NET", "v1.2", "notes.md", "a.svg"])
def test_usual_name_of_a_page_is_no_program(name: str) -> None:
    assert file_types.without_run_names(name) == name

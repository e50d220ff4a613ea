"""Pages with letters that run from right to left."""

from tests.support.markup import render


def test_outermost_blocks_of_such_a_page_find_their_own_direction() -> None:
    html = render("# שלום\n\nEnglish\n\n> - a\n\n<p dir='ltr'>b</p>\n").html
    assert '<h1 dir="auto" id="שלום">' in html
    assert '<p dir="auto">English</p>' in html
    assert '<blockquote dir="auto">\n<ul>' in html
    assert '<p dir="ltr">' in html


def test_other_pages_stay_as_they_are() -> None:
    assert "dir=" not in render("# Ä 字\n\nEnglish\n").html

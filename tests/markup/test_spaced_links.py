"""Links with spaces in what a parser has written."""

import pytest

from wikisync.markup.markdown import link_spaced


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ("<p>[x](a b)</p>", '<p><a href="a%20b">x</a></p>'),
        ("![x](a b.png)", '<img src="a%20b.png" alt="x" />'),
        ("[x](a b &quot;t&quot;)", '<a href="a%20b" title="t">x</a>'),
        ("[x](ä &amp; b)", '<a href="%C3%A4%20&amp;%20b">x</a>'),
    ],
)
def test_target_with_spaces_is_a_link(html: str, linked: str) -> None:
    assert link_spaced(html) == linked


@pytest.mark.parametrize(
    "html",
    [
        "<code>[x](a b)</code>",
        "<pre><b>[x](a b)</b></pre>",
        '<a href="y">[x](a b)</a>',
        '<span data-math-style="inline">[x](a b)</span>',
        "[x](a &quot;b&quot; c)",
        "[x](a b&quot; onclick=&quot;x)",
        "[x](a\nb)",
        "[<em>x</em>](a b)",
        "[x](ab)",
    ],
)
def test_anything_else_stays_as_it_is(html: str) -> None:
    assert link_spaced(html) == html


def test_text_behind_code_is_looked_at_again() -> None:
    html = "<code>a</code> <abbr>[x](a b)</abbr>"
    assert '<a href="a%20b">' in link_spaced(html)

import pytest

from wikisync.core.model import Format, Page, Slug
from wikisync.markup.context import ParseContext
from wikisync.markup.page import parse_page
from wikisync.markup.source import to_html

FOREIGN = [Format.TEXTILE, Format.CREOLE, Format.MEDIAWIKI, Format.POD]


@pytest.mark.parametrize("page_format", FOREIGN)
def test_source_is_shown_with_a_notice(page_format: Format) -> None:
    page = Page(Slug("home"), page_format, "h1. <b>Title</b>")
    html = "".join(parse_page(page).parts)
    assert "in a format that is not rendered" in html
    assert "h1. &lt;b&gt;Title&lt;/b&gt;" in html


def test_plain_text_needs_no_notice() -> None:
    page = Page(Slug("home"), Format.PLAINTEXT, "text")
    assert "not rendered" not in "".join(parse_page(page).parts)


def test_text_is_shown_as_it_stands() -> None:
    html = to_html('a  <b>\n & "c"', ParseContext(Slug("home")))
    assert html == "<pre>a  &lt;b&gt;\n &amp; &quot;c&quot;</pre>\n"

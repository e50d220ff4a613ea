"""Sanitised HTML as tokens."""

import pytest

from tests.support.markup import load_cases, sanitize
from wikisync.markup.record import LinkRef
from wikisync.markup.tokens import Document, format_attributes

HTML = '<p>a<b title="x>y">c</b><br>d</p><ul><li>e</li></ul>'


@pytest.mark.parametrize("case", load_cases("sanitise_cases.json"))
def test_joined_tokens_are_the_text_they_came_from(case: dict[str, str]) -> None:
    html = sanitize(case["in"])
    assert "".join(Document(html).html) == html


def test_text_of_an_element_is_plain() -> None:
    document = Document('<p>a &amp; <b>b</b><img src="x" alt="&lt;c&gt;"></p>')
    assert document.text(1) == "a & b<c>"


def test_replaced_element_takes_its_links_along() -> None:
    document = Document('<p><a href="x">y</a></p>')
    document.links[3] = LinkRef("link", "x")
    document.replace(1, "<hr>")
    assert document.pieces() == (("<hr>",), ())


def test_attributes_are_read_and_written() -> None:
    tag = '<a href="x&amp;y" title="a &quot;b&quot;" download="">'
    attributes = Document(tag).attributes(1)
    assert attributes == {"href": "x&y", "title": 'a "b"', "download": ""}
    assert f"<a{format_attributes(attributes)}>" == (
        '<a href="x&amp;y" title="a &quot;b&quot;" download>'
    )

"""What AsciiDoc's parser writes has a style in the default theme."""

import re

import pytest

from tests.support.markup import render
from wikisync.core.model import Format
from wikisync.site.theme import load_theme

BLOCKS = """= Doc

.Title
====
x
====

.Side
****
x
****

NOTE: x

[quote, Somebody, A book]
____
x
____

[verse, Somebody]
____
x
____

[source,ruby]
----
puts 1 # <1>
----
<1> x

[horizontal]
A:: b
"""
STYLED = [
    *("title", "exampleblock", "sidebarblock", "quoteblock", "verseblock"),
    *("attribution", "admonitionblock", "conum", "colist", "hdlist"),
]


def styles(name: str = "documents.css") -> str:
    theme = load_theme("default")
    return theme.assets()[theme.asset_path(name)].decode()


@pytest.mark.parametrize("name", STYLED)
def test_class_that_a_page_bears_has_a_style(name: str) -> None:
    html = render(BLOCKS, Format.ASCIIDOC).html
    assert name in {
        word for found in re.findall(r'class="([^"]*)"', html) for word in found.split()
    }
    assert re.search(rf"\.{name}\b", styles())


def test_contents_of_asciidoc_have_a_titled_frame() -> None:
    html = render("= Doc\n:toc:\n\n== A\n\nx\n", Format.ASCIIDOC).html
    assert 'id="toctitle"' in html
    assert "#toc {" in styles()
    assert "#toctitle {" in styles()


@pytest.mark.parametrize("kind", ["note", "tip", "important", "warning", "caution"])
def test_callout_has_its_icon(kind: str) -> None:
    html = render(f"{kind.upper()}: x", Format.ASCIIDOC).html
    assert f'<i class="fa icon-{kind}" title="{kind.title()}">' in html
    sheet = styles("theme.css")
    for name in ("admonitionblock", "markdown-alert") if kind == "note" else (kind,):
        rule = re.search(rf"\.{name}\b[^{{}}]*{{--tone: [^;]*; --icon: \d", sheet)
        assert rule is not None
    assert ".markdown-alert-title::before, .admonitionblock i::before {" in sheet

"""What pages try on their readers; nothing of it may reach the HTML.

The snippets are our own, after the kinds that are known.  Each passes the whole
pipeline; the result is read as a browser would read its tags and attributes.
"""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from tests.security.attack_texts import SOURCES
from tests.support.markup import render
from wikisync.core.model import Format
from wikisync.markup.links import LINK_SCHEMES, scheme_of

FORBIDDEN_TAGS = frozenset(
    [
        *("applet", "base", "button", "embed", "form", "frame", "frameset", "iframe"),
        *("link", "meta", "object", "script", "select", "style", "template"),
        *("textarea", "title", "xmp", "noscript", "portal", "foreignobject", "use"),
    ]
)
URL_ATTRIBUTES = frozenset(
    [
        *("href", "src", "action", "formaction", "cite", "poster", "data", "srcset"),
        *("background", "ping", "xlink:href", "longdesc", "usemap", "manifest"),
    ]
)


class Reader(HTMLParser):
    """Notes whatever could run or load something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FORBIDDEN_TAGS:
            self.found.append(f"<{tag}>")
        self.found += [
            f"<{tag} {name}={value!r}>" for name, value in attrs if is_bad(name, value)
        ]


def is_bad(name: str, value: str | None) -> bool:
    """Whether an attribute can run a script or reach a forbidden scheme."""
    if name.startswith("on") or name in {"srcdoc", "srcset", "ping", "accesskey"}:
        return True
    if name == "style":
        return not (value or "").startswith("text-align: ")
    if name == "id":
        return value == "search"
    if name not in URL_ATTRIBUTES:
        return False
    scheme = scheme_of(value or "")
    return bool(scheme) and scheme not in LINK_SCHEMES


@pytest.mark.parametrize(("page_format", "text"), SOURCES)
def test_nothing_that_runs_is_left(page_format: Format, text: str) -> None:
    page = render(text, page_format, pages=["home"])
    assert "page-not-rendered" not in {problem.code for problem in page.problems}
    reader = Reader()
    reader.feed(page.html)
    reader.close()
    assert reader.found == []


def test_reader_of_these_tests_sees_what_it_looks_for() -> None:
    reader = Reader()
    reader.feed("<script></script><a href=' javascript:x' onclick=y style=z>x</a>")
    assert len(reader.found) == 4


def test_address_of_a_hostile_index_is_checked_again() -> None:
    """Whatever answers for links cannot put a script into a page."""
    from wikisync.core.model import AttachmentPath, Page, Slug
    from wikisync.markup.links import LinkIndex
    from wikisync.markup.page import parse_page
    from wikisync.markup.resolve import finish_page

    class HostileUrls:
        def page(self, slug: Slug, fragment: str) -> str:
            return f"javascript:{slug}{fragment}"

        def attachment(self, path: AttachmentPath) -> str:
            return f"data:{path}"

        def missing(self, target: str) -> str | None:
            return f"vbscript:{target}"

    text = "[a](home) [b](nope) ![c](uploads/a/b.png) ![d](uploads/x/y.png)"
    parsed = parse_page(Page(Slug("home"), Format.MARKDOWN, text))
    links = LinkIndex([Slug("home")], [AttachmentPath("uploads/a/b.png")])
    reader = Reader()
    reader.feed(finish_page(parsed, links, HostileUrls()).html)
    assert reader.found == []

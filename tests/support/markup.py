"""Words for tests of markup: one page in, its HTML out, and HTML by its meaning."""

import json
import re
from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from wikisync.core.model import AttachmentPath, Format, Page, Slug
from wikisync.markup.context import SIGN
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions, ParsedPage, RenderedPage
from wikisync.markup.resolve import finish_page
from wikisync.markup.sanitize import sanitize_tokens

CASES = Path(__file__).resolve().parent.parent / "markup" / "cases"
INLINE = frozenset(
    [
        *("a", "abbr", "b", "bdo", "cite", "code", "del", "em", "i", "img", "input"),
        *("ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub"),
        *("sup", "tt", "var"),
    ]
)
VOID = frozenset({"br", "hr", "img", "input", "wbr"})
SPACES = re.compile(r"[ \t\n\r\f]+")
"""What HTML takes for a space: a no-break space is none."""
AFTER_INLINE = re.compile(rf"</?(?:{'|'.join(INLINE)})\b|<!--")


def load_cases(name: str) -> list[dict[str, Any]]:
    """One of the files of own snippets beside the tests."""
    loaded: list[dict[str, Any]] = json.loads((CASES / name).read_text("utf-8"))
    return loaded


def load_fixtures(name: str) -> list[tuple[str, str, str]]:
    """Title, source and HTML of each block of a text file beside the tests."""
    text = (CASES / name).read_text("utf-8").removesuffix("\n")
    return [(*block.split("\n-----\n"),) for block in text.split("\n=====\n")]  # type: ignore[misc]


class PlainUrls:
    """Addresses that show what was asked for."""

    def page(self, slug: Slug, fragment: str) -> str:
        return f"/{slug}.html#{fragment}" if fragment else f"/{slug}.html"

    def attachment(self, path: AttachmentPath) -> str:
        return f"/files/{path}"

    def missing(self, target: str) -> str | None:
        return None if target.startswith("nowhere") else f"/missing/{target}"


def parse(
    text: str,
    page_format: Format = Format.MARKDOWN,
    slug: str = "home",
    options: MarkupOptions | None = None,
) -> ParsedPage:
    """Phase A of a text."""
    page = Page(Slug(slug), page_format, text)
    return parse_page(page, options or MarkupOptions())


def render(
    text: str,
    page_format: Format = Format.MARKDOWN,
    *,
    slug: str = "home",
    pages: Iterable[str] = (),
    attachments: Iterable[str] = (),
    headings: Mapping[str, Iterable[str]] | None = None,
    web_url: str = "",
    options: MarkupOptions | None = None,
) -> RenderedPage:
    """Both phases of a text among some pages and attachments."""
    index = LinkIndex(
        [Slug(page) for page in pages],
        [AttachmentPath(path) for path in attachments],
        {Slug(name): frozenset(ids) for name, ids in (headings or {}).items()},
        web_url=web_url,
    )
    parsed = parse(text, page_format, slug, options)
    return finish_page(parsed, index, PlainUrls(), lambda: text)


def sanitize(html: str, page_format: Format = Format.MARKDOWN) -> str:
    """Safe HTML of what a parser gives."""
    return "".join(sanitize_tokens(html, page_format).html)


class ShapeReader(HTMLParser):
    """Collects what HTML says: tags with sorted attributes, comments, and words."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shape: list[str] = []
        self._text = ""
        self._in_code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.flush(is_inline=tag in INLINE)
        self._in_code += tag == "pre"
        # the signs of boxes are for our filter: the service's parser writes none
        attrs = sorted(attr for attr in attrs if attr[0] != SIGN)
        written = "".join(f" {name}={value or ''!r}" for name, value in attrs)
        self.shape.append(f"<{tag}{written}>")

    def handle_endtag(self, tag: str) -> None:
        self.flush(is_inline=tag in INLINE)
        self._in_code -= tag == "pre" and self._in_code > 0
        if tag not in VOID:
            self.shape.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_comment(self, data: str) -> None:
        self.flush(is_inline=True)
        self.shape.append(f"<!--{data}-->")

    def flush(self, *, is_inline: bool) -> None:
        """Spaces count in code, and elsewhere but next to a block."""
        text, self._text = self._text, ""
        if not self._in_code:
            text = SPACES.sub(" ", text)
            after_block = bool(self.shape) and not AFTER_INLINE.match(self.shape[-1])
            text = text if is_inline else text.rstrip(" ")
            text = text.lstrip(" ") if after_block or not self.shape else text
        if text:
            self.shape.append(text)


def shape(html: str) -> list[str]:
    """HTML as a list that is equal for HTML of equal meaning."""
    reader = ShapeReader()
    reader.feed(html)
    reader.close()
    reader.flush(is_inline=False)
    return reader.shape

"""markdown-it-py with the rules of the dialect, as one function from text to HTML."""

from __future__ import annotations

import functools
import re

import mdurl
from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock

from wikisync.markup.glfm.block import GlfmBlock
from wikisync.markup.glfm.inline import GlfmInline
from wikisync.markup.glfm.lines import LINES
from wikisync.markup.glfm.renderer import GlfmRenderer
from wikisync.markup.glfm.rules import add_rules
from wikisync.markup.glfm.tasks import SIGNS
from wikisync.markup.lines import LineMap

PLAIN_URL = re.compile(r"[A-Za-z0-9\-_.!~*'();/?:@&=+$,#]*")
IPV6_START = re.compile(r"[a-z]+://\[[0-9a-fA-F:]+(?:%25[a-zA-Z0-9]+)?\]")
NESTING_MAX = 100
"""Blocks in blocks; deeper ones are dropped by the engine."""


def parse(source: str, lines: LineMap | None = None, *, has_signs: bool = False) -> str:
    """HTML of a markdown text, not yet safe; with ``lines`` links bear theirs."""
    env: dict[str, object] = {SIGNS: has_signs}
    if lines is not None:
        env[LINES] = lines
    html: str = engine().render(source, env)
    return html


def encode_url(url: str) -> str:
    """An address with everything percent-encoded that no address can hold."""
    if PLAIN_URL.fullmatch(url):
        return url
    found = IPV6_START.match(url)
    host = found[0] if found else ""
    return host + mdurl.encode(url[len(host) :])


@functools.cache
def engine() -> MarkdownIt:
    """The configured engine: making one costs as much as a small page."""
    return make_engine(GlfmBlock())


def make_engine(block: ParserBlock) -> MarkdownIt:
    """The engine with all rules around a parser of blocks."""
    markdown = MarkdownIt(
        "commonmark",
        renderer_cls=GlfmRenderer,
    )
    markdown.block = block
    markdown.inline = GlfmInline()
    # new parsers have every rule on; the preset turns off what it does not know
    markdown.configure("commonmark", {"maxNesting": NESTING_MAX})
    # a link that must not be followed loses its address later, not its form
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    # no host becomes punycode: the service keeps what the page says
    markdown.normalizeLink = encode_url  # type: ignore[method-assign]
    add_rules(markdown)
    return markdown

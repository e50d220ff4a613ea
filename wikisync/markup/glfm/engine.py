"""markdown-it-py with the rules of the dialect, as one function from text to HTML."""

import functools
import re
from collections.abc import Callable
from typing import Any, Literal

import mdurl
from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from msgspec import Struct

from wikisync.markup.glfm.autolink import bare_email, bare_url, bare_www, bracketed
from wikisync.markup.glfm.block import GlfmBlock
from wikisync.markup.glfm.footnote import RENDERED, definition, mention, move_to_end
from wikisync.markup.glfm.inline import GlfmInline
from wikisync.markup.glfm.leaves import fenced, html, lone_pipe, pipe_table, tag
from wikisync.markup.glfm.lists import description, list_block
from wikisync.markup.glfm.quotes import alert, blockquote, fenced_quote
from wikisync.markup.glfm.reference import definitions
from wikisync.markup.glfm.renderer import GlfmRenderer, rule
from wikisync.markup.glfm.spans import code, escaped, math_inline, render_math, wikilink
from wikisync.markup.glfm.tasks import SIGNS, find_tasks, render_box
from wikisync.markup.glfm.texts import continuation, hide_spaces, show_spaces

PLAIN_URL = re.compile(r"[A-Za-z0-9\-_.!~*'();/?:@&=+$,#]*")
IPV6_START = re.compile(r"[a-z]+://\[[0-9a-fA-F:]+(?:%25[a-zA-Z0-9]+)?\]")
NESTING_MAX = 100
"""Blocks in blocks; deeper ones are dropped by the engine."""


def parse(source: str, *, has_signs: bool = False) -> str:
    """HTML of a markdown text, not yet safe."""
    html: str = engine().render(source, {SIGNS: has_signs})
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
    markdown = MarkdownIt("commonmark", renderer_cls=GlfmRenderer)
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


# The library's own rule is replaced by one of the same name. Emphasis, code and the
# like that are the library's are not named here.


class Rule(Struct, frozen=True):
    """One rule of a chain."""

    name: str
    function: Callable[..., object]
    where: Literal["at", "before", "after"] = "at"
    """At the rule of its own name, or beside another one."""
    other: str = ""
    ends: tuple[str, ...] = ()
    """Blocks that a block of this kind ends."""


_TEXT = ("paragraph", "reference")
_QUOTE = (*_TEXT, "blockquote")
_ALL = (*_QUOTE, "list")
CORE = (
    Rule("hide_spaces", hide_spaces, "before", "block"),
    Rule("show_spaces", show_spaces, "after", "block"),
    Rule("continuation", continuation, "before", "inline"),
    Rule("footnote_tail", move_to_end, "after", "inline"),
    # when all definitions are known
    Rule("tasks", find_tasks, "before", "inline"),
    Rule("bare_email", bare_email, "after", "inline"),
)
BLOCK = (
    Rule("list", list_block, ends=_QUOTE),
    Rule("blockquote", blockquote, ends=_ALL),
    Rule("fence", fenced, ends=_ALL),
    # the library asks for tables first; but a line that begins a list, a quote or a
    # heading is no row of headings, whatever stands below it
    Rule("pipe_table", pipe_table, "before", "lheading", _TEXT),
    Rule("lone_pipe", lone_pipe, "before", "paragraph", ("blockquote",)),
    # these three begin with the same sign
    Rule("alert", alert, "before", "blockquote", _ALL),
    Rule("fenced_quote", fenced_quote, "before", "alert", _ALL),
    Rule("html_block", html, ends=_QUOTE),
    Rule("reference", definitions),
    # a paragraph that it ends is the term
    Rule("description", description, "before", "pipe_table", _TEXT),
    Rule("footnote_def", definition, "before", "reference", _QUOTE),
)
INLINE = (
    Rule("backticks", code),
    # the library's own still breaks lines
    Rule("escaped", escaped, "before", "escape"),
    Rule("math_inline", math_inline, "before", "escape"),
    Rule("html_inline", tag),
    # notes in the text (``^[...]``) are not the service's
    Rule("footnote_ref", mention, "after", "image"),
    # they win over links in brackets
    Rule("wikilink", wikilink, "before", "link"),
    Rule("bare_www", bare_www, "after", "entity"),
    Rule("bare_url", bare_url, "after", "bare_www"),
    Rule("autolink", bracketed),
)
"""In this order: a later rule may stand beside an earlier one."""


def add_rules(md: MarkdownIt) -> None:
    """Make the service's dialect of the library's."""
    md.disable("table")
    # ``~~struck~~`` and ``~struck~``; three tildes are text
    md.options["strikethrough_single_tilde"] = True
    md.enable("strikethrough")
    chains: tuple[tuple[Any, tuple[Rule, ...]], ...] = (
        (md.core.ruler, CORE),
        (md.block.ruler, BLOCK),
        (md.inline.ruler, INLINE),
    )
    for ruler, rules in chains:
        for one in rules:
            beside = (one.other,) if one.other else ()
            add = getattr(ruler, one.where)
            add(*beside, one.name, one.function, {"alt": list(one.ends)})
    for name, render in RENDERED.items():
        md.add_render_rule(name, rule(render))
    md.add_render_rule("math_inline", rule(render_math))
    md.add_render_rule("task_box", render_box)

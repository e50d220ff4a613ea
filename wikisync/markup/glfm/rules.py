"""All rules of the dialect, and where each stands in the chains of markdown-it.

The library's own rule is replaced by one of the same name.  Emphasis, code and the
like that are the library's are not named here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from markdown_it import MarkdownIt
from msgspec import Struct

from wikisync.markup.glfm.alert import alert
from wikisync.markup.glfm.autolink import bare_email, bare_url, bare_www, bracketed
from wikisync.markup.glfm.blockquote import blockquote
from wikisync.markup.glfm.code import code
from wikisync.markup.glfm.continuation import continuation
from wikisync.markup.glfm.description import description
from wikisync.markup.glfm.escape import escaped
from wikisync.markup.glfm.fence import fenced
from wikisync.markup.glfm.footnote import RENDERED, definition, mention, move_to_end
from wikisync.markup.glfm.html import html, tag
from wikisync.markup.glfm.lines import number_links
from wikisync.markup.glfm.list import list_block
from wikisync.markup.glfm.math import math_inline, render_math
from wikisync.markup.glfm.quote import fenced_quote
from wikisync.markup.glfm.reference import definitions
from wikisync.markup.glfm.renderer import rule
from wikisync.markup.glfm.spaces import hide_spaces, show_spaces
from wikisync.markup.glfm.table import lone_pipe, pipe_table
from wikisync.markup.glfm.tasks import find_tasks, render_box
from wikisync.markup.glfm.wikilink import wikilink


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
    # when all texts are parsed
    Rule("lines", number_links, "after", "text_join"),
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

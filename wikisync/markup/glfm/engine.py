"""markdown-it-py with the rules of the dialect, as one function from text to HTML."""

# ruff: noqa: ARG002 - the renderer's base class calls every rule with the same four

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import mdurl
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, normalizeReference, unescapeAll
from markdown_it.parser_block import ParserBlock
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from msgspec import Struct

from wikisync.markup.context import MARKED_ESCAPES
from wikisync.markup.glfm import inline, leaves
from wikisync.markup.glfm.autolink import bare_email, bare_url, bare_www, bracketed
from wikisync.markup.glfm.block import LAZY_SPACES, GlfmBlock, ask_by_start
from wikisync.markup.glfm.footnote import RENDERED, definition, mention, move_to_end
from wikisync.markup.glfm.lists import description, find_tasks, list_block, render_box
from wikisync.markup.glfm.quotes import alert, blockquote, fenced_quote
from wikisync.markup.tokens import escape

# -- white space in blocks -------------------------------------------------------


# markdown-it leaves it in and takes it out where plain text goes on; what stands in
# code, formulas, tags and titles keeps it there. To the service's parser only a lazy
# line, on which a container of the paragraph ends, keeps what no container takes of it.

INDENTED = re.compile(r"\n[ \t]+")


def continuation(state: StateCore) -> None:
    """Begin each line of running text at its first character."""
    kept = state.env[LAZY_SPACES]
    for token in state.tokens:
        if token.type == "inline" and "\n" in token.content:
            token.content = INDENTED.sub("\n", token.content)
            if kept and token.map is not None:
                texts = enumerate(token.content.split("\n"), token.map[0])
                token.content = "\n".join(
                    kept.get(line, "") + text for line, text in texts
                )


# To the service's parser they are text there. While blocks are searched for other
# characters stand in for them.

WIDE = (
    "\x0b\x0c\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
FIRST_STANDIN = 0xFFF00
"""Of a private plane: a page that uses these characters itself keeps its spaces as
markdown-it has them."""
STANDINS = {ord(wide): FIRST_STANDIN + position for position, wide in enumerate(WIDE)}
MEANT = {standin: wide for wide, standin in STANDINS.items()}
HIDDEN = "spaces"
"""Key of the environment: whether there are stand-ins."""
TAKEN = re.compile(f"[{chr(min(MEANT))}-{chr(max(MEANT))}]")


def hide_spaces(state: StateCore) -> None:
    """Put stand-ins in their positions."""
    # one search for each is ten times as fast as one for all of them
    has_wide = any(wide in state.src for wide in WIDE)
    state.env[HIDDEN] = has_wide and TAKEN.search(state.src) is None
    if state.env[HIDDEN]:
        state.src = state.src.translate(STANDINS)


def show_spaces(state: StateCore) -> None:
    """Put them back into all that blocks hold."""
    if not state.env[HIDDEN]:
        return
    state.src = state.src.translate(MEANT)
    for token in state.tokens:
        token.content = token.content.translate(MEANT)
        token.info = token.info.translate(MEANT)
        for child in token.children or ():
            child.content = child.content.translate(MEANT)
    links = state.env.get("references", {})
    state.env["references"] = {
        normalizeReference(label.translate(MEANT)): {
            part: value.translate(MEANT) if isinstance(value, str) else value
            for part, value in link.items()
        }
        for label, link in links.items()
    }


# -- HTML in the shape of the service's own parser --------------------------------


ALIGN = "text-align:"
SPACES = " \t\n\x0b\x0c\r"
TEXT_TYPES = frozenset(
    {"text", "code_inline", "text_special", "escaped", "math_inline"}
)


def rule(render: Callable[[Sequence[Token], int], str]) -> Callable[..., str]:
    """A rule of the library's renderer that needs the tokens alone."""
    return lambda _self, tokens, idx, _options, _env: render(tokens, idx)


class GlfmRenderer(RendererHTML):
    """markdown-it's renderer where the service's HTML differs.

    Method names are token types; the base class calls them by name.
    """

    s_open = rule(lambda _tokens, _idx: "<del>")
    s_close = rule(lambda _tokens, _idx: "</del>")
    th_open = td_open = rule(lambda tokens, idx: cell(tokens[idx]))

    def text(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Text; most of it holds nothing to escape."""
        return escapeHtml(tokens[idx].content)

    def renderToken(  # noqa: N802 - overridden
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A tag; the end tag is most often all there is to say."""
        token = tokens[idx]
        # code has no tags around its content
        if (
            token.hidden
            and token.nesting == -1
            and idx + 1 < len(tokens)
            and tokens[idx + 1].nesting == 0
        ):
            return "\n"
        if token.nesting == -1 and not token.attrs and not token.hidden:
            return f"</{token.tag}>\n" if token.block else f"</{token.tag}>"
        return super().renderToken(tokens, idx, options, env)

    def fence(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A code block; language and the rest of its info as attributes."""
        token = tokens[idx]
        info = unescapeAll(token.info).strip(SPACES)
        words = re.split(f"[{SPACES}]+", info, maxsplit=1) if info else ()
        attributes = f' lang="{escape(words[0])}"' if words else ""
        if words and words[0] == "math":
            attributes += ' data-math-style="display"'
        elif len(words) > 1 and words[1].strip():
            attributes += f' data-meta="{escape(words[1].strip())}"'
        return f"<pre{attributes}><code>{escape(token.content)}</code></pre>\n"

    def escaped(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A character behind a backslash, which keeps some from being a reference."""
        character = tokens[idx].content
        if character not in MARKED_ESCAPES:
            return escape(character)
        return f"<span data-escaped-char>{escape(character)}</span>"

    def renderInlineAsText(  # noqa: N802 - overridden
        self, tokens: Sequence[Token] | None, options: OptionsDict, env: EnvType
    ) -> str:
        """Alternative text of a picture."""
        out: list[str] = []
        for token in tokens or ():
            if token.type in TEXT_TYPES:
                out.append(token.content)
            elif token.type in {"softbreak", "hardbreak"}:
                out.append(" ")
            elif token.type == "image":
                out.append(self.renderInlineAsText(token.children, options, env))
        return "".join(out)


def cell(token: Token) -> str:
    """Start tag of a table cell, with its alignment as an attribute."""
    style = str(token.attrs.get("style", ""))
    if style.startswith(ALIGN):
        return f'<{token.tag} align="{escape(style.removeprefix(ALIGN))}">'
    return f"<{token.tag}>"


# -- the engine -------------------------------------------------------------------

PLAIN_URL = re.compile(r"[A-Za-z0-9\-_.!~*'();/?:@&=+$,#]*")
IPV6_START = re.compile(r"[a-z]+://\[[0-9a-fA-F:]+(?:%25[a-zA-Z0-9]+)?\]")
NESTING_MAX = 100
"""Blocks in blocks; deeper ones are dropped by the engine."""


def parse(source: str) -> str:
    """HTML of a markdown text, not yet safe."""
    html: str = engine().render(source)
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
    markdown = make_engine(GlfmBlock())
    ask_by_start(markdown.block.ruler)
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
    Rule("fence", leaves.fenced, ends=_ALL),
    # the library asks for tables first; but a line that begins a list, a quote or a
    # heading is no row of headings, whatever stands below it
    Rule("pipe_table", leaves.pipe_table, "before", "lheading", _TEXT),
    Rule("lone_pipe", leaves.lone_pipe, "before", "paragraph", ("blockquote",)),
    # these three begin with the same sign
    Rule("alert", alert, "before", "blockquote", _ALL),
    Rule("fenced_quote", fenced_quote, "before", "alert", _ALL),
    Rule("html_block", leaves.html, ends=_QUOTE),
    Rule("reference", leaves.definitions),
    # a paragraph that it ends is the term
    Rule("description", description, "before", "pipe_table", _TEXT),
    Rule("footnote_def", definition, "before", "reference", _QUOTE),
)
INLINE = (
    Rule("backticks", inline.code),
    Rule("strikethrough", inline.struck),
    # the library's own still breaks lines
    Rule("escaped", inline.escaped, "before", "escape"),
    Rule("math_inline", inline.math_inline, "before", "escape"),
    Rule("html_inline", leaves.tag),
    # notes in the text (``^[...]``) are not the service's
    Rule("footnote_ref", mention, "after", "image"),
    # they win over links in brackets
    Rule("wikilink", inline.wikilink, "before", "link"),
    Rule("bare_www", bare_www, "after", "entity"),
    Rule("bare_url", bare_url, "after", "bare_www"),
    Rule("autolink", bracketed),
)
"""In this order: a later rule may stand beside an earlier one."""


def make_engine(block: ParserBlock) -> MarkdownIt:
    """The engine with all rules around a parser of blocks."""
    markdown = MarkdownIt("commonmark", renderer_cls=GlfmRenderer)
    markdown.block = block
    markdown.inline = inline.GlfmInline()
    # new parsers have every rule on; the preset turns off what it does not know
    markdown.configure("commonmark", {"maxNesting": NESTING_MAX})
    # a link that must not be followed loses its address later, not its form
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    # no host becomes punycode: the service keeps what the page says
    markdown.normalizeLink = encode_url  # type: ignore[method-assign]
    markdown.disable("table")
    # ``~~struck~~`` and ``~struck~``; three tildes are text
    markdown.options["strikethrough_single_tilde"] = True
    markdown.enable("strikethrough")
    chains: tuple[tuple[Any, tuple[Rule, ...]], ...] = (
        (markdown.core.ruler, CORE),
        (markdown.block.ruler, BLOCK),
        (markdown.inline.ruler, INLINE),
    )
    for ruler, rules in chains:
        for one in rules:
            beside = (one.other,) if one.other else ()
            add = getattr(ruler, one.where)
            add(*beside, one.name, one.function, {"alt": list(one.ends)})
    for name, render in RENDERED.items():
        markdown.add_render_rule(name, rule(render))
    markdown.add_render_rule("math_inline", rule(inline.render_math))
    markdown.add_render_rule("task_box", rule(render_box))
    return markdown

"""HTML of markdown tokens in the shape of the service's own parser."""

# ruff: noqa: ARG002 - the base class calls every rule with the same four values

import re
from collections.abc import Callable, Sequence

from markdown_it.common.utils import escapeHtml, unescapeAll
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from wikisync.markup.context import MARKED_ESCAPES
from wikisync.markup.tokens import escape

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

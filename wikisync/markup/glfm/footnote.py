"""Footnotes by mdit-py-plugins, with the service's HTML: names, not numbers, as ids."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin

from wikisync.markup.tokens import escape


def footnote_rule(md: MarkdownIt) -> None:
    """Enable ``[^name]``; notes in the text (``^[...]``) are not the service's."""
    md.use(footnote_plugin, inline=False)
    md.add_render_rule("footnote_ref", render_ref)
    md.add_render_rule("footnote_block_open", render_block_open)
    md.add_render_rule("footnote_block_close", render_block_close)
    md.add_render_rule("footnote_open", render_open)
    md.add_render_rule("footnote_close", render_close)
    md.add_render_rule("footnote_anchor", render_anchor)


def name_of(token: Token) -> str:
    """Id of a note without its prefix."""
    return escape(str(token.meta["label"]))


def ref_name(token: Token) -> str:
    """Id of one mention of a note: the second one ends in ``-2``."""
    number = token.meta.get("subId", 0)
    return f"{name_of(token)}-{number + 1}" if number > 0 else name_of(token)


def render_ref(
    self: RendererProtocol,  # noqa: ARG001 - the renderer's signature
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """The raised number in the text."""
    token = tokens[idx]
    return (
        f'<sup class="footnote-ref"><a href="#fn-{name_of(token)}"'
        f' id="fnref-{ref_name(token)}" data-footnote-ref>'
        f"{token.meta['id'] + 1}</a></sup>"
    )


def render_block_open(*_: object) -> str:
    """Start of the notes at the page's end."""
    return '<section class="footnotes" data-footnotes>\n<ol>\n'


def render_block_close(*_: object) -> str:
    """End of the notes."""
    return "</ol>\n</section>\n"


def render_open(
    self: RendererProtocol,  # noqa: ARG001
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """Start of one note."""
    return f'<li id="fn-{name_of(tokens[idx])}">\n'


def render_close(*_: object) -> str:
    """End of one note."""
    return "</li>\n"


def render_anchor(
    self: RendererProtocol,  # noqa: ARG001
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """The link from a note back to one of its mentions."""
    token = tokens[idx]
    number = token.meta["id"] + 1
    mention = token.meta["subId"] + 1
    label = f"{number}-{mention}" if mention > 1 else str(number)
    raised = f'<sup class="footnote-ref">{mention}</sup>' if mention > 1 else ""
    space = " " if tokens[idx - 1].type in {"inline", "footnote_anchor"} else ""
    end = "\n" if tokens[idx + 1].type == "footnote_close" else ""
    return (
        f'{space}<a href="#fnref-{ref_name(token)}" class="footnote-backref"'
        f' data-footnote-backref data-footnote-backref-idx="{label}"'
        f' aria-label="Back to reference {label}">↩{raised}</a>{end}'
    )

"""``[text](page with spaces)``, which is no link in CommonMark but is in a wiki."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

SPACED = re.compile(
    r"(?P<bang>!?)\[(?P<text>[^\[\]\n]*+)\]\("
    r"(?P<target>[^\s()<>\"'\[\]][^()<>\n\"\[\]]*[ ][^()<>\n\"\[\]]*?)"
    r"(?:[ ]+\"(?P<title>[^\"\n]*+)\")?[ ]*\)"
)


def spaced_link_rule(md: MarkdownIt) -> None:
    """Try after links and pictures have said no."""
    md.inline.ruler.after("image", "spaced_link", spaced_link)


def spaced_link(state: StateInline, silent: bool) -> bool:
    """A link or picture whose target holds spaces; its text is no markdown."""
    if state.src[state.pos] not in "[!" or state.linkLevel > 0:
        return False
    match = SPACED.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        href = state.md.normalizeLink(match["target"].strip())
        title = {"title": match["title"]} if match["title"] else {}
        if match["bang"]:
            token = state.push("image", "img", 0)
            token.attrs = {"src": href, "alt": "", **title}
            token.children = []
            state.md.inline.parse(match["text"], state.md, state.env, token.children)
        else:
            token = state.push("link_open", "a", 1)
            token.attrs = {"href": href, **title}
            state.push("text", "", 0).content = match["text"]
            state.push("link_close", "a", -1)
    state.pos = match.end()
    return True

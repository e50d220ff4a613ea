"""Alerts: ``> [!note] Title`` with five kinds, as a quote or a fenced quote."""

from __future__ import annotations

import re

from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from wikisync.markup.glfm.blockquote import blockquote, is_quoted
from wikisync.markup.glfm.state import GlfmState

ALERT = re.compile(
    r"[ \t]+\[!(note|tip|important|caution|warning)\][ \t]*([^\n]*)", re.IGNORECASE
)


def alert(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A quote whose first line names a kind; the rest is a quote without it.

    The line of the kind is no paragraph, so the line below it is never lazy.
    """
    assert isinstance(state, GlfmState)
    if not is_quoted(state, start_line):
        return False
    position = state.bMarks[start_line] + state.tShift[start_line]
    match = ALERT.fullmatch(state.src, position + 1, state.eMarks[start_line])
    if match is None:
        return False
    if silent:
        return True
    first = len(state.tokens)
    next_line = start_line + 1
    is_inside = state.sCount[next_line] >= state.blkIndent
    if next_line < end_line and is_inside and is_quoted(state, next_line):
        blockquote(state, next_line, end_line, silent=False)
    else:
        state.push("blockquote_open", "blockquote", 1)
        state.push("blockquote_close", "blockquote", -1)
        state.line = next_line
    mark_alert(state, first, match[1].lower(), match[2].strip())
    state.tokens[first].map = [start_line, state.line]
    return True


def mark_alert(state: StateBlock, first: int, kind: str, title: str) -> None:
    """Turn the quote that begins at token ``first`` into an alert."""
    opening, closing = state.tokens[first], state.tokens[-1]
    for token in (opening, closing):
        token.tag = "div"
        token.type = token.type.replace("blockquote", "alert")
    opening.attrs = {"class": f"markdown-alert markdown-alert-{kind}"}
    paragraph = Token("alert_title_open", "p", 1, level=opening.level + 1, block=True)
    paragraph.attrs = {"class": "markdown-alert-title"}
    text = Token("inline", "", 0, level=opening.level + 2, block=True)
    text.children = [
        Token("text", "", 0, content=unescapeAll(title) or kind.capitalize())
    ]
    end = Token("alert_title_close", "p", -1, level=opening.level + 1, block=True)
    state.tokens[first + 1 : first + 1] = [paragraph, text, end]

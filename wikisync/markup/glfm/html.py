"""Raw HTML, where the service's parser is not of CommonMark's mind.

    - a
    <img src="b.png">

A tag alone on its line is part of the paragraph above it.  Where that paragraph is in
a container and the line is not, the tag begins a block of its own after the container;
later versions of CommonMark take it for a lazy line.  And a raw link is no link to the
parser: addresses inside it become links of their own.
"""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.html_block import HTML_SEQUENCES, html_block
from markdown_it.rules_inline import StateInline, html_inline

CUT_OFF = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*")
LONE_TAG = HTML_SEQUENCES[-1][0]


def html(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A block of HTML, or whether one ends what is above it."""
    if (
        silent
        and _is_outside(state, start_line)
        and not state.is_code_block(start_line)
    ):
        position = state.bMarks[start_line] + state.tShift[start_line]
        if LONE_TAG.search(state.src[position : state.eMarks[start_line]]):
            return True
    if state.eMarks[start_line] == len(state.src) and is_cut_off(state, start_line):
        return False
    return html_block(state, start_line, end_line, silent)


def is_cut_off(state: StateBlock, line: int) -> bool:
    """Whether the page ends with the name of a tag, which then begins no block."""
    position = state.bMarks[line] + state.tShift[line]
    return CUT_OFF.fullmatch(state.src, position) is not None


def tag(state: StateInline, silent: bool) -> bool:
    """A tag in running text."""
    level = state.linkLevel
    is_tag = html_inline(state, silent)
    state.linkLevel = level
    return is_tag


def _is_outside(state: StateBlock, line: int) -> bool:
    """Whether the line is in what is above only if it goes on a paragraph."""
    is_below = state.sCount[line] < state.blkIndent
    return is_below or state.parentType in {"blockquote", "table"}

"""What stands right below the definition of a link, as ``[a]: b`` is one.

To the service's parser the definition is the beginning of a paragraph, from which it is
taken away in the end.  So the line below goes on with that paragraph, unless it is one
that ends a paragraph: it is no code, no item that counts from three, and three dashes
are text.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, lheading, paragraph, reference

UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*")
CODE_INDENT = 4


def reference_rule(md: MarkdownIt) -> None:
    """Replace the library's rule."""
    md.block.ruler.at("reference", definition)


def definition(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """One definition, and the paragraph below it that it is part of."""
    if not reference(state, start_line, end_line, silent):
        return False
    line = state.line
    if silent or line >= end_line or state.isEmpty(line):
        return True
    if not _goes_on(state, line, end_line):
        return True
    return lheading(state, line, end_line, False) or paragraph(
        state, line, end_line, False
    )


def is_underline(state: StateBlock, line: int) -> bool:
    """Whether a line makes the paragraph above it in its container a heading."""
    if state.is_code_block(line) or state.sCount[line] < state.blkIndent:
        return False
    place = state.bMarks[line] + state.tShift[line]
    return UNDERLINE.fullmatch(state.src, place, state.eMarks[line]) is not None


def _goes_on(state: StateBlock, line: int, end_line: int) -> bool:
    """Whether a line is part of the paragraph that ends above it."""
    place = state.bMarks[line] + state.tShift[line]
    if is_underline(state, line):
        return True
    is_code = state.sCount[line] - state.blkIndent >= CODE_INDENT
    if state.src[place] == "[" and not is_code:
        return False  # it may be a definition itself
    parent, state.parentType = state.parentType, "paragraph"
    rules = state.md.block.ruler.getRules("paragraph")
    is_ended = not is_code and any(rule(state, line, end_line, True) for rule in rules)
    state.parentType = parent
    return not is_ended

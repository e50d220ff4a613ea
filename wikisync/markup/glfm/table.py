"""Tables with pipes; markdown-it's own rule, which limits the cells it adds."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table

from wikisync.markup.glfm.reference import is_underline


def table_rule(md: MarkdownIt) -> None:
    """Enable tables, and let a line that is only a pipe end one.

    The library asks for them first; but a line that begins a list, a quote or a heading
    is no row of headings, whatever stands below it.
    """
    md.disable("table")
    block = md.block.ruler
    ended = ["paragraph", "reference"]
    block.before("lheading", "pipe_table", pipe_table, {"alt": ended})
    block.before("paragraph", "lone_pipe", lone_pipe, {"alt": ["blockquote"]})


def pipe_table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A table, unless the line of dashes underlines a heading."""
    below = start_line + 1
    if below < end_line and is_underline(state, below):
        return False
    return table(state, start_line, end_line, silent)


def lone_pipe(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:
    """Whether a row has no cell at all; the service's parser takes none there."""
    if not silent or state.parentType != "table":
        return False
    place = state.bMarks[start_line] + state.tShift[start_line]
    return state.src[place : state.eMarks[start_line]].strip() == "|"

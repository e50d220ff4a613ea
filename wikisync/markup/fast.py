"""comrak, the parser that the service itself uses, to the shape of our own engine.

Installed by the extra ``fast``.  The service sets these options; what its own
wrapper adds to the parser (the third state of tasks) is added here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from wikisync.markup.lines import ATTRIBUTE, LineMap

COLUMNS_UNCOUNTED_MAX = 64
"""A table with fewer columns cannot grow much by its missing cells."""
CELLS_MAX = 200_000
"""The parser fills every short row; a page of 11 KB can ask for two million cells."""
SQUARE_MAX = 500
"""More of what costs square time than any page that a person writes has."""
MARK = "\ufdd0"
"""Stands behind a box of the third state; a character that no text may hold."""
CELL_MARK = "\ufdd1"
"""The same behind a box that is alone in a cell."""
THIRD_STATE = re.compile(
    r"^((?:[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+)+\[~\])(?=[ \t]|$)", re.MULTILINE
)
MARKED_TASK = re.compile(
    r'<li class="task-list-item"><input type="checkbox"'
    r' class="task-list-item-checkbox" checked="" disabled="" /> '
    rf"(?P<lead>\n<p>)?{MARK}[ ]?"
    r"(?P<text>(?:[^<\n]|<(?!/li>|/p>)|\n(?!</?(?:ul|ol|p|pre|blockquote|div|table"
    r"|dl|hr|h[1-6]|li)\b))*+)"
)
TASK_STRUCK = (
    r'<li class="inapplicable task-list-item"><input type="checkbox"'
    r' class="task-list-item-checkbox" data-inapplicable="" disabled="" /> '
    r"\g<lead><s>\g<text></s>"
)
THIRD_STATE_CELL = re.compile(
    r"(?:(?<=\|)|^[ \t>]*+)[ \t]*+\[~\](?=[ \t]*(?:\||$))", re.MULTILINE
)
"""A cell that holds nothing but such a box, or a text that could be one."""
MARKED_CELL = re.compile(rf'(?<=[dh"]>)\[~\]{CELL_MARK}(?=</t[dh]>)')
CELL_BOX = (
    '\n<input type="checkbox" class="task-list-item-checkbox"'
    ' data-inapplicable="" disabled="" /> '
)
POSITION = ' data-sourcepos="'
LINKS = ("<a", "<img")
DELIMITER_ROW = re.compile(r"^[ \t>]*+[|:-][|:\- \t]*+$", re.MULTILINE)


def parse(source: str, lines: LineMap | None = None) -> str:
    """HTML of a markdown text, not yet safe.

    Args:
        source: the text.
        lines: makes links and pictures bear the page's lines; None: they do not.

    Raises:
        ImportError: the extra ``fast`` is not installed.
    """
    render = renderer()
    if lines is not None:
        render = functools.partial(render_with_lines, lines)
    if "[~]" not in source or MARK in source or CELL_MARK in source:
        return render(source)
    marked = THIRD_STATE.sub(rf"\1 {MARK}", source)
    if "|" in marked:
        marked = THIRD_STATE_CELL.sub(rf"\g<0>{CELL_MARK}", marked)
    html = MARKED_TASK.sub(TASK_STRUCK, render(marked))
    html = MARKED_CELL.sub(CELL_BOX, html).replace(CELL_MARK, "")
    return html.replace(f"{MARK} ", "").replace(MARK, "")


def render_with_lines(lines: LineMap, source: str) -> str:
    """What the parser gives, with lines on links and pictures alone.

    The parser marks every element; the rest would cost more in the steps behind.
    """
    pieces = renderer(with_positions=True)(source).split(POSITION)
    before = pieces[0]
    out = [before]
    for piece in pieces[1:]:
        position, _, behind = piece.partition('"')
        if before.endswith(LINKS):
            line = position.partition(":")[0]
            if line.isdecimal():
                out.append(f' {ATTRIBUTE}="{lines.line_of(int(line[:9]))}"')
        out.append(behind)
        before = behind
    return "".join(out)


def is_installed() -> bool:
    """Whether the extra is there."""
    try:
        renderer()
    except ImportError:
        return False
    return True


def is_costly(source: str) -> bool:
    """Whether a page is of a kind that this parser takes far too long for.

    Its time is square in the number of description items, of formulas that are
    not closed and of addresses that are not; our own engine's is not.
    """
    return (
        source.count("\n:") + source.count("\n :") > SQUARE_MAX
        or source.count("$`") - source.count("`$") > SQUARE_MAX
        or source.count("<") - source.count(">") > SQUARE_MAX
        or is_too_wide(source)
    )


def is_too_wide(source: str) -> bool:
    """Whether a table of the page could grow beyond all reason in this parser."""
    if source.count("|") <= COLUMNS_UNCOUNTED_MAX:
        return False
    widest = max(
        (row[0].count("|") for row in DELIMITER_ROW.finditer(source)), default=0
    )
    if widest <= COLUMNS_UNCOUNTED_MAX:
        return False
    return widest * source.count("\n") > CELLS_MAX


@functools.cache
def renderer(*, with_positions: bool = False) -> Callable[[str], str]:
    """The parser with the service's options; raises ``ImportError``."""
    import comrak

    extensions = comrak.ExtensionOptions()
    for name in (
        *("alerts", "autolink", "cjk_friendly_emphasis", "description_lists"),
        *("footnotes", "math_code", "math_dollars", "multiline_block_quotes"),
        *("strikethrough", "table", "tasklist", "wikilinks_title_before_pipe"),
    ):
        setattr(extensions, name, True)
    reading = comrak.ParseOptions()
    for name in ("relaxed_autolinks", "relaxed_tasklist_matching", "tasklist_in_table"):
        setattr(reading, name, True)
    writing = comrak.RenderOptions()
    for name in (
        *("escaped_char_spans", "full_info_string", "github_pre_lang"),
        *("tasklist_classes", "unsafe_"),
    ):
        setattr(writing, name, True)
    writing.sourcepos = with_positions

    def render(source: str) -> str:
        html: str = comrak.render_markdown(source, extensions, reading, writing)
        return html

    return render

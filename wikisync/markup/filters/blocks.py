"""Blocks: tables, lists of headings, footnotes, the direction of texts, task boxes."""

import re
from collections.abc import Sequence
from html import unescape
from urllib.parse import unquote

from wikisync.core.model import Format
from wikisync.errors import RenderError
from wikisync.markup.context import SIGN
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import BLOCKS, Document, Draft, escape

FRAME = '<div class="table-wrap" role="group" aria-label="Table" tabindex="0">'
"""A group, since regions with equal names are landmarks that confuse."""


def filter_tables(draft: Draft) -> None:
    """Frame every outer table that holds data; refuse a page with too many cells."""
    document = draft.document
    cells = len(document.starts.get("td", ())) + len(document.starts.get("th", ()))
    if cells > draft.options.table_cells_max:
        raise RenderError(
            f"the page has {cells} table cells,"
            f" more than {draft.options.table_cells_max}"
        )
    framed_until = -1
    for index in document.starts.get("table", ()):
        # Asciidoctor sets admonitions, callouts and some lists as bare tables.
        if draft.page.format is Format.ASCIIDOC and document.html[index] == "<table>":
            document.html[index] = '<table role="presentation">'
            continue
        draft.features.add("table")
        if index > framed_until:
            framed_until = document.close[index]
            document.html[index] = FRAME + document.html[index]
            document.html[document.close[index]] = "</table></div>"


TAG_TEXT = re.compile(r"\s*(?:\[\[_toc_\]\]|\[toc\])\s*", re.IGNORECASE)
WIKILINK = re.compile(
    r'\s*<a (?=[^>]*data-wikilink)(?=[^>]*href="_toc_")[^>]*>_toc_</a>\s*',
    re.IGNORECASE,
)

ENTRIES_MAX = 20_000
"""Of all lists of a page together: many tags times many headings have no end."""


def filter_toc(draft: Draft) -> None:
    """Put the list of headings where the page asks for it, unless that is too much."""
    document = draft.document
    contents: str | None = None
    entries_left = ENTRIES_MAX
    for index in document.starts.get("p", ()):
        if document.close[index] - index > len("[<a></a>]"):
            continue
        inner = document.inner(index)
        if TAG_TEXT.fullmatch(inner) or WIKILINK.fullmatch(inner):
            if contents is not None and len(draft.toc) > entries_left:
                return
            if contents is None:
                contents = toc_html(draft.toc)
            entries_left -= len(draft.toc)
            document.replace(index, contents)


def toc_html(entries: Sequence[TocEntry]) -> str:
    """Headings as nested lists, in the service's shape; empty without headings."""
    if not entries:
        return ""
    out: list[str] = ['<ul class="section-nav">']
    levels: list[int] = []
    for entry in entries:
        if levels and entry.level > levels[-1]:
            out.append("<ul>")
            levels.append(entry.level)
        else:
            while len(levels) > 1 and entry.level <= levels[-2]:
                levels.pop()
                out.append("</li></ul>")
            out.append("</li>" if levels else "")
            levels[-1:] = [entry.level]
        out.append(f'<li><a href="#{escape(entry.id)}">{escape(entry.text)}</a>')
    out.append("</li></ul>" * len(levels))
    return "".join(out)


# The service's parser writes ids as addresses are written; they become what an address
# means, as the ids of headings are.
#
# The service's parser shows each of two notes of one name, with one id; a page has an
# id once, so the first keeps it.

NOTE_ID = re.compile(r' id="(fn[^"]*)"')


def filter_footnotes(draft: Draft) -> None:
    """Mark the section of footnotes and the links to and from them for themes."""
    document = draft.document
    for index in document.starts.get("section", ()):
        if "data-footnotes" in document.html[index]:
            draft.features.add("footnote")
            document.html[index] = (
                '<section class="footnotes" role="doc-endnotes" data-footnotes>'
            )
    for index in document.starts.get("a", ()):
        tag = document.html[index]
        if " data-footnote-ref" in tag:
            document.html[index] = tag.replace("<a ", '<a role="doc-noteref" ', 1)
        elif " data-footnote-backref" in tag:
            document.html[index] = tag.replace(
                "<a ", '<a class="footnote-backref" role="doc-backlink" ', 1
            )
    # each id of a note, and of a mention of one, stays with the first that has it
    seen: set[str] = set()
    for name in () if document.is_own else ("li", "a"):
        for index in document.starts.get(name, ()):
            found = NOTE_ID.search(document.html[index])
            if found is None:
                continue
            name_of_note = escape(unquote(unescape(found[1])))
            written = f' id="{name_of_note}"' if name_of_note not in seen else ""
            document.html[index] = document.html[index].replace(found[0], written, 1)
            seen.add(name_of_note)


RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
DIRECTED = (
    *("p", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("ul", "ol", "dl", "blockquote", "table", "details"),
)


def filter_direction(draft: Draft) -> None:
    """Let browsers find the direction of each outermost block of such a page.

    The service marks every page; where all letters run one way that says nothing.
    """
    document = draft.document
    if document.is_ascii or not any(
        not text.isascii() and RIGHT_TO_LEFT.search(text) for text in document.html[::2]
    ):
        return
    for name in DIRECTED:
        for index in document.starts.get(name, ()):
            tag = document.html[index]
            is_outermost = index not in document.parents
            if is_outermost and tag.startswith(f"<{name}") and " dir=" not in tag:
                document.html[index] = f'<{name} dir="auto"{tag[len(name) + 1 :]}'


# -- boxes of tasks --------------------------------------------------------------
#
# The parser ticks a box for any sign.  As in the service, ``[~]`` is a third state, and
# no other sign but ``x`` makes a box.  Of Org, whose parser leaves them, texts in front
# of items become boxes.

ORG_BOX = re.compile(r"\s*\[([ xX-])\](?=\s|$)")
LABEL_CHARS_MAX = 120
TASK = 'class="task-list-item"'
THIRD_STATE = 'class="inapplicable task-list-item"'
ENDS_RUN = BLOCKS - {"br"}
DONE = (" checked", "Done")
OPEN = ("", "To do")
INAPPLICABLE = (" data-inapplicable", "Not applicable")
"""The attribute and the name of a box's state."""


def filter_tasks(draft: Draft) -> None:
    """Give every box a label: its state and its item's text."""
    document = draft.document
    if draft.page.format is Format.ORG:
        read_org_boxes(draft)
    for index in document.starts.get("input", ()):
        if not document.html[index]:
            continue
        attributes = document.attributes(index)
        sign = attributes.get(SIGN, "~" if "data-inapplicable" in attributes else "x")
        if sign not in {"~", "x", "X"}:
            document.html[index] = escape(f"[{sign}]")
            continue
        draft.features.add("task")
        if sign == "~":
            document.html[index] = box_html(draft, index, INAPPLICABLE)
            draft.struck.extend(struck_run(document, index))
        else:
            state = DONE if "checked" in attributes else OPEN
            document.html[index] = box_html(draft, index, state)


def box_html(draft: Draft, index: int, state: tuple[str, str]) -> str:
    """A box and its label: the state, and the text behind the box or of the item.

    The text goes up to the next list or the end.
    """
    document = draft.document
    is_item = document.names[index] == "li"
    end = document.close[index if is_item else document.parents[index]]
    for inside in range(index + 2, end, 2):
        if document.names[inside] in {"ul", "ol", "input"}:
            end = inside
            break
    attribute, name = state
    words = document.text_between(index + 1, end - 1).split()
    text = " ".join(words)[:LABEL_CHARS_MAX]
    return (
        f'<input type="checkbox" class="task-list-item-checkbox" disabled{attribute}'
        f' aria-label="{escape(f"{name}: {text}" if text else name)}">'
    )


def struck_run(document: Document, index: int) -> list[tuple[int, int]]:
    """The indices of the tags around what is struck of an item: its text to a block."""
    html, names, close = document.html, document.names, document.close
    item = document.parents[index]
    if names[item] != "li":
        return []
    html[item] = html[item].replace(TASK, THIRD_STATE, 1)
    start, end = index, index + 2
    # to the first tag that begins a block or ends the item
    while names[end][0] != "/" and ENDS_RUN.isdisjoint(names[end : close[end] + 1 : 2]):
        end = close[end] + 2
    if names[end] == "p" and not "".join(html[start + 1 : end]).strip():
        start, end = end, close[end]
    if not "".join(html[start + 1 : end]).strip():
        return []
    html[start + 1] = html[start + 1].lstrip()
    html[end - 1] = html[end - 1].rstrip()
    return [(start, end)]


def strike_tasks(draft: Draft) -> None:
    """Strike the texts of items that do not apply, when nothing else changes them."""
    document = draft.document
    html, names = document.html, document.names
    for start, end in draft.struck:
        html[start] += " <s>" if names[start] == "input" else "<s>"
        html[end] = ("</s>" if names[end][0] == "/" else "</s>\n") + html[end]


def read_org_boxes(draft: Draft) -> None:
    """Make boxes of ``[ ]``, ``[X]`` and, partly done, ``[-]`` that begin items."""
    document = draft.document
    for index in document.starts.get("li", ()):
        found = ORG_BOX.match(document.html[index + 1])
        if found is None:
            continue
        draft.features.add("task")
        document.html[index + 1] = document.html[index + 1][found.end() :]
        box = box_html(draft, index, DONE if found[1] in "xX" else OPEN)
        document.html[index] = f'<li class="task-list-item">{box}'
        parent = document.parents[index]
        if document.html[parent] in {"<ul>", "<ol>"}:
            document.html[parent] = document.html[parent][:-1] + ' class="task-list">'

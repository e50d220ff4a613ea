"""Blocks: tables, the list of headings, footnotes, the direction of their text."""

import re
from collections.abc import Sequence
from html import unescape
from urllib.parse import unquote

from wikisync.core.model import Format
from wikisync.errors import RenderError
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import Draft, escape

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
    for name in ("li", "a"):
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
BLOCKS = (
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
    for name in BLOCKS:
        for index in document.starts.get(name, ()):
            tag = document.html[index]
            is_outermost = index not in document.parents
            if is_outermost and tag.startswith(f"<{name}") and " dir=" not in tag:
                document.html[index] = f'<{name} dir="auto"{tag[len(name) + 1 :]}'

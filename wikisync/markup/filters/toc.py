"""``[[_TOC_]]`` and ``[TOC]``, alone in a paragraph: the page's list of headings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wikisync.markup.draft import Draft
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import escape

TAG_TEXT = re.compile(r"\s*(?:\[\[_toc_\]\]|\[toc\])\s*", re.IGNORECASE)
WIKILINK = re.compile(
    r'\s*<a (?=[^>]*data-wikilink)(?=[^>]*href="_toc_")[^>]*>_toc_</a>\s*',
    re.IGNORECASE,
)

ENTRIES_MAX = 20_000
"""Of all lists of a page together: many tags times many headings have no end."""


def filter_toc(draft: Draft) -> None:
    """Put the list of headings where the page asks for it.

    The first list is always there; a tag whose list would be too much stays a tag.
    """
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

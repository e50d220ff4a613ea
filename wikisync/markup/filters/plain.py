"""Plain text of the page and of each section, for search and summaries."""

from __future__ import annotations

import html as entities

from wikisync.markup.draft import Draft
from wikisync.markup.record import Section
from wikisync.markup.tokens import BLOCKS

BREAKS = BLOCKS | {f"/{name}" for name in BLOCKS}


def filter_plain(draft: Draft) -> None:
    """Note the page's text; changes nothing.  Runs before texts are rewritten."""
    document = draft.document
    bounds = [0]
    bounds += [document.close[place] + 1 for place in draft.heading_places]
    ends = [*draft.heading_places, len(document.html)]
    texts = [words(draft, *between) for between in zip(bounds, ends, strict=True)]
    if texts[0]:
        draft.sections.append(Section("", "", texts[0]))
    for entry, text in zip(draft.toc, texts[1:], strict=True):
        draft.sections.append(Section(entry.id, entry.text, text))
    whole = [f"{section.heading} {section.text}".strip() for section in draft.sections]
    draft.text = "\n".join(filter(None, whole))


def words(draft: Draft, start: int, end: int) -> str:
    """Text between two places with single spaces.

    Pictures count by their alternative text, marks of footnotes not at all.
    """
    document = draft.document
    pieces: list[str] = []
    marks_end = start
    for place in range(start, end):
        if place < marks_end:
            continue
        if not place % 2:
            pieces.append(document.html[place])
            continue
        name = document.names[place]
        if name in BREAKS:
            pieces.append(" ")
        elif name == "img":
            pieces.append(entities.escape(document.attributes(place).get("alt", "")))
        elif name == "a" and " data-footnote-" in document.html[place]:
            marks_end = document.close[place]
    return " ".join(entities.unescape("".join(pieces)).split())

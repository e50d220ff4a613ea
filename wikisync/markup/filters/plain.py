"""Plain text of the page and of each section, for search and summaries."""

import html as entities

from wikisync.markup.draft import Draft
from wikisync.markup.record import Section
from wikisync.markup.tokens import BLOCKS

GAPS = dict.fromkeys(BLOCKS | {f"/{name}" for name in BLOCKS}, " ")


def filter_plain(draft: Draft) -> None:
    """Note the page's text; changes nothing.  Runs before texts are rewritten."""
    document = draft.document
    bounds = [0]
    bounds += [document.close[index] + 1 for index in draft.heading_indices]
    ends = [*draft.heading_indices, len(document.html)]
    pieces = text_pieces(draft)
    texts = [
        " ".join(entities.unescape("".join(pieces[start:end])).split())
        for start, end in zip(bounds, ends, strict=True)
    ]
    if texts[0]:
        draft.sections.append(Section("", "", texts[0]))
    for entry, text in zip(draft.toc, texts[1:], strict=True):
        draft.sections.append(Section(entry.id, entry.text, text))
    whole = [f"{section.heading} {section.text}".strip() for section in draft.sections]
    draft.text = "\n".join(filter(None, whole))


def text_pieces(draft: Draft) -> list[str]:
    """The page's tokens as text: spaces for tags that part words, nothing for others.

    Pictures count by their alternative text, marks of footnotes not at all.
    """
    document = draft.document
    pieces = document.html.copy()
    pieces[1::2] = [GAPS.get(name, "") for name in document.names[1::2]]
    for index in document.starts.get("img", ()):
        pieces[index] = entities.escape(document.attributes(index).get("alt", ""))
    for index in document.starts.get("a", ()):
        if " data-footnote-" in document.html[index]:
            end = document.close[index]
            pieces[index:end] = [""] * (end - index)
    return pieces

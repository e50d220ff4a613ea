"""Footnotes: the classes that the sanitiser takes from the section and its links.

The service's parser writes ids as addresses are written; they become what an address
means, as the ids of headings are.

The service's parser shows each of two notes of one name, with one id; a page has an
id once, so the first keeps it.
"""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote

from wikisync.markup.draft import Draft
from wikisync.markup.tokens import escape

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
    drop_second_ids(draft)


def drop_second_ids(draft: Draft) -> None:
    """Leave each id of a note, and of a mention of one, to the first that has it."""
    document = draft.document
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

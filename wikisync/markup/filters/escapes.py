"""Escaped characters: their marks have done their work once texts are finished."""

from __future__ import annotations

from wikisync.markup.draft import Draft

MARK = "<span data-escaped-char"


def filter_escapes(draft: Draft) -> None:
    """Take the marks away; the characters stay."""
    document = draft.document
    for index in document.starts.get("span", ()):
        if document.html[index].startswith(MARK):
            document.html[index] = ""
            document.html[document.close[index]] = ""

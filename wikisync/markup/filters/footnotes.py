"""Footnotes: the classes that the sanitiser takes from the section and its links."""

from __future__ import annotations

from wikisync.markup.draft import Draft


def filter_footnotes(draft: Draft) -> None:
    """Mark the section of footnotes and the links to and from them for themes."""
    document = draft.document
    for place in document.starts.get("section", ()):
        if "data-footnotes" in document.html[place]:
            draft.features.add("footnote")
            document.html[place] = (
                '<section class="footnotes" role="doc-endnotes" data-footnotes>'
            )
    for place in document.starts.get("a", ()):
        tag = document.html[place]
        if " data-footnote-ref" in tag:
            document.html[place] = tag.replace("<a ", '<a role="doc-noteref" ', 1)
        elif " data-footnote-backref" in tag:
            document.html[place] = tag.replace(
                "<a ", '<a class="footnote-backref" role="doc-backlink" ', 1
            )

"""Ids of headings by the service's rule, links to them, and the list of them."""

from __future__ import annotations

import re
import unicodedata

from wikisync.markup.draft import Draft
from wikisync.markup.links import page_id
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import Document, escape

LEVELS = {f"h{level}": level for level in range(1, 7)}
DROPPED = re.compile(r"[^a-z0-9 _-]+")
"""What an id of an ASCII text does not hold; the general rule is in ``id_of``."""
KEPT_CATEGORIES = ("L", "M", "N")


def filter_headings(draft: Draft) -> None:
    """Give every heading an id and a link, and note it for the table of contents.

    An id that the format's parser wrote stays, so that its own references hit, and
    so do those of anchors and footnotes: no two elements get the same one.
    """
    document = draft.document
    known, taken = known_ids(document)
    counts: dict[str, int] = {}
    draft.ids |= known
    indices = sorted(
        index for name in LEVELS for index in document.starts.get(name, ())
    )
    for index in indices:
        text = heading_text(document, index)
        given = page_id(document.attributes(index).get("id", ""))
        identity = given if given and given not in taken else ""
        identity = identity or free_id(id_of(text), taken, counts)
        taken.add(identity)
        rewrite_heading(draft, index, identity, text)
    draft.ids |= taken


def known_ids(document: Document) -> tuple[set[str], set[str]]:
    """Write every id and anchor name that is not a heading's as ``page_id`` has it.

    Of elements that have the same id the first one keeps it.

    Returns:
        The ids and anchor names that fragments can mean, and of these the ids that
        no heading has.
    """
    known: set[str] = set()
    anchors: set[str] = set()
    html = document.html
    for index in range(1, len(html), 2):
        tag = html[index]
        # most tags have no attribute at all
        if "=" not in tag or (" id=" not in tag and " name=" not in tag):
            continue
        attributes = document.attributes(index)
        for name in ("id", "name"):
            if given := attributes.get(name):
                identity = page_id(given)
                known.add(identity)
                if document.names[index] not in LEVELS:
                    old, new = (f' {name}="{escape(one)}"' for one in (given, identity))
                    if name == "id":
                        new = "" if identity in anchors else new
                        anchors.add(identity)
                    document.html[index] = document.html[index].replace(old, new, 1)
    return known, anchors


def heading_text(document: Document, index: int) -> str:
    """A heading's plain text without the marks of footnotes."""
    end = document.close[index]
    if "sup" not in document.names[index:end]:
        return document.text_between(index, end)
    pieces: list[str] = []
    start = index
    for inside in range(index + 2, end, 2):
        if document.names[inside] == "sup" and inside >= start:
            after = document.close[inside]
            if any("data-footnote-ref" in tag for tag in document.html[inside:after]):
                pieces.append(document.text_between(start, inside - 1))
                start = after + 1
    pieces.append(document.text_between(start, end))
    return "".join(pieces)


def id_of(text: str) -> str:
    """The service's id for a heading's text.

    Lower case; letters, marks, numbers, hyphens and connectors stay, a space
    becomes a hyphen, everything else goes; runs of hyphens are not joined.
    """
    text = text.strip().lower()
    if text.isascii():
        return DROPPED.sub("", text).replace(" ", "-")
    kept = []
    for character in text:
        if character == " ":
            kept.append("-")
        elif character.isalnum() or character in "-_":
            kept.append(character)
        elif not character.isascii():
            category = unicodedata.category(character)
            if category[0] in KEPT_CATEGORIES or category == "Pc":
                kept.append(character)
    return "".join(kept)


def free_id(wanted: str, taken: set[str], counts: dict[str, int]) -> str:
    """The wanted id, or the first of ``wanted-1``, ``wanted-2`` that is free.

    ``counts`` remembers where the search for a text ended, so that a page of
    equal headings costs linear time.
    """
    if wanted not in taken:
        return wanted
    number = counts.get(wanted, 0) + 1
    while f"{wanted}-{number}" in taken:
        number += 1
    counts[wanted] = number
    return f"{wanted}-{number}"


def rewrite_heading(draft: Draft, index: int, identity: str, text: str) -> None:
    """Write the id and the link into a heading, and note the heading."""
    document = draft.document
    name = document.names[index]
    label = draft.filled(" ".join(text.split()))
    draft.toc.append(TocEntry(LEVELS[name], identity, label))
    draft.heading_indices.append(index)
    tag = f'<{name} id="{escape(identity)}">' if identity else f"<{name}>"
    document.html[index] = tag
    if draft.options.anchors and identity and not holds_link(document, index):
        document.html[document.close[index]] = (
            f'<a class="anchor" href="#{escape(identity)}"'
            f' aria-label="Link to heading: {escape(label)}"></a></{name}>'
        )


def holds_link(document: Document, index: int) -> bool:
    """Whether a heading has a link to itself that its parser has written."""
    end = document.close[index]
    return "a" in document.names[index:end] and any(
        document.names[inside] == "a"
        and "anchor" in document.attributes(inside).get("class", "").split()
        for inside in range(index + 2, end, 2)
    )

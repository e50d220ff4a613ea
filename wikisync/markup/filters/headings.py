"""Ids of headings by the service's rule, links to them, and the list of them."""

import re
import unicodedata
from urllib.parse import quote_plus, unquote, unquote_plus

from wikisync.core.model import Format
from wikisync.markup.filters.links import LINKS
from wikisync.markup.links import page_id
from wikisync.markup.placeholders import Filler
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import Document, Draft, escape, format_attributes

LEVELS = {f"h{level}": level for level in range(1, 7)}
DROPPED = re.compile(r"[^a-z0-9 _-]+")
"""What an id of an ASCII text does not hold; the general rule is in ``id_of``."""
KEPT_CATEGORIES = ("L", "M", "N")


def filter_headings(draft: Draft) -> None:
    """Give every heading an id and a link, and note it for the table of contents.

    Ids that the parser wrote, also of anchors and footnotes, stay: references hit them.
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
        attributes = {} if document.is_own else document.attributes(index)
        identity = page_id(attributes.get("id", ""))
        if not identity or identity in taken:
            identity = free_id(id_of(text), taken, counts)
        taken.add(identity)
        rewrite_heading(draft, index, identity, text)
    draft.ids |= taken


def known_ids(document: Document) -> tuple[set[str], set[str]]:
    """Write every id and anchor name that is not a heading's as ``page_id`` has it.

    Of elements that have the same id the first one keeps it.  Gives the ids and anchor
    names that fragments can mean, and of these the ids that no heading has.
    """
    known: set[str] = set()
    anchors: set[str] = set()
    html = document.html
    for index in () if document.is_own else range(1, len(html), 2):
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

    Lower case; letters, marks, numbers, hyphens and connectors stay, spaces become
    hyphens, all else goes; hyphens are not joined.
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

    ``counts`` notes where the search ended: equal headings cost linear time.
    """
    if wanted not in taken:
        return wanted
    number = counts.get(wanted, 0) + 1
    while f"{wanted}-{number}" in taken:
        number += 1
    counts[wanted] = number
    return f"{wanted}-{number}"


def rewrite_heading(draft: Draft, index: int, identity: str, text: str) -> None:
    """Write the id and the link into a heading; note it, unless it has no text."""
    document = draft.document
    name = document.names[index]
    label = " ".join(text.split())
    if (values := draft.options.placeholders) and "%{" in label:
        label = Filler(values).text(label)
    if label:
        draft.toc.append(TocEntry(LEVELS[name], identity, label))
        draft.heading_indices.append(index)
    tag = f'<{name} id="{escape(identity)}">' if identity else f"<{name}>"
    document.html[index] = tag
    end = document.close[index]
    # its parser may have written a link to itself into it
    has_link = "a" in document.names[index:end] and any(
        document.names[inside] == "a"
        and "anchor" in document.attributes(inside).get("class", "").split()
        for inside in range(index + 2, end, 2)
    )
    has_link = has_link or document.is_within(index, LINKS)
    if draft.options.anchors and identity and not has_link:
        document.html[end] = (
            f'<a class="anchor" href="#{escape(identity)}"'
            f' aria-label="Link to heading: {escape(label)}"></a></{name}>'
        )


# The parsers leave them as the service writes them, ``href="*Heading"`` and
# ``href="#label-My+Title"``: which id a heading has is known only here, after
# ``filter_headings``.

COOKIE = re.compile(r"\[(?:#[A-Z0-9]|[0-9]*/[0-9]*|[0-9]*%)\]")
"""A priority or a count of tasks, which is no part of a heading's name in Org."""
NUMBER = re.compile(r"^[0-9]+(?:\.[0-9]+)* ")
LABEL = "#label-"
LABEL_CODE = re.compile(r"-([2-7][0-9A-F]|[89A-F][0-9A-F])")
"""A character that a label encodes as an address does with ``%`` and two digits."""


WRITTEN = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "–": "--", "—": "--", "…": "..."}
)
"""What RDoc's labels have instead of the signs that it shows."""


def filter_heading_links(draft: Draft) -> None:
    """Lead them to their heading, or to the id that it has on another page."""
    if draft.page.format is Format.ORG:
        lead_org_links(draft)
    elif draft.page.format is Format.RDOC:
        lead_labels(draft)


def lead_labels(draft: Draft) -> None:
    """Write the ids of headings instead of the labels that RDoc gives them."""
    document = draft.document
    ids = {label_of(entry.text): entry.id for entry in reversed(draft.toc)}
    for index in document.starts.get("a", ()):
        if LABEL not in document.html[index]:
            continue
        attributes = document.attributes(index)
        page, _, label = attributes["href"].partition(LABEL)
        own = None if page else ids.get(label)
        identity = own or id_of(unquote_plus(LABEL_CODE.sub(r"%\1", label)))
        attributes["href"] = f"{page}#{identity}"
        document.html[index] = f"<a{format_attributes(attributes)}>"


def label_of(text: str) -> str:
    """The label that RDoc gives a heading, without ``label-`` in front."""
    text = text.translate(WRITTEN)
    return quote_plus(text, safe="*").replace("%", "-").removeprefix("-")


def lead_org_links(draft: Draft) -> None:
    """One that shows its address goes without the star."""
    document = draft.document
    headings: dict[str, str] | None = None
    for index in document.starts.get("a", ()):
        if 'href="*' not in document.html[index]:
            continue
        attributes = document.attributes(index)
        written = attributes["href"]
        if headings is None:
            headings = headings_by_name(draft.toc)
        name = name_of(unquote(written[1:]))
        # One that is not there is reported as a heading, not as a page.
        attributes["href"] = f"#{headings.get(name, name)}"
        document.html[index] = f"<a{format_attributes(attributes)}>"
        if document.text(index) in (written, unquote(written)):
            document.html[index + 1] = document.html[index + 1].removeprefix("*")


def headings_by_name(toc: list[TocEntry]) -> dict[str, str]:
    """Ids of the first heading of each name, which its number is no part of."""
    found: dict[str, str] = {}
    for entry in toc:
        found.setdefault(name_of(entry.text), entry.id)
    for entry in toc:
        found.setdefault(name_of(NUMBER.sub("", entry.text)), entry.id)
    return found


def name_of(text: str) -> str:
    """What texts have in common that name the same heading."""
    return id_of(" ".join(COOKIE.sub(" ", text).split()))

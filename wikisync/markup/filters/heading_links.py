"""Links to headings by their text: ``[[*Heading]]`` of Org, labels of RDoc.

The parsers leave them as the service writes them, ``href="*Heading"`` and
``href="#label-My+Title"``: which id a heading has is known only here, after
``filter_headings``.
"""

from __future__ import annotations

import re
from urllib.parse import quote_plus, unquote, unquote_plus

from wikisync.markup.draft import Draft
from wikisync.markup.filters.headings import id_of
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import format_attributes
from wikisync.model import Format

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
    match draft.page.format:
        case Format.ORG:
            lead_org_links(draft)
        case Format.RDOC:
            lead_labels(draft)
        case _:
            pass


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

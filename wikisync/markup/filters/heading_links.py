"""Links of an Org page to its headings by their text, ``[[*Heading]]``.

Its parser leaves them as the service writes them, ``href="*Heading"``: which id a
heading has is known only here, after ``filter_headings``.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from wikisync.markup.draft import Draft
from wikisync.markup.filters.headings import id_of
from wikisync.markup.record import TocEntry
from wikisync.markup.tokens import format_attributes
from wikisync.model import Format

COOKIE = re.compile(r"\[(?:#[A-Z0-9]|[0-9]*/[0-9]*|[0-9]*%)\]")
"""A priority or a count of tasks, which is no part of a heading's name in Org."""
NUMBER = re.compile(r"^[0-9]+(?:\.[0-9]+)* ")


def filter_heading_links(draft: Draft) -> None:
    """Lead them to their heading; one that shows its address goes without the star."""
    if draft.page.format is not Format.ORG:
        return
    document = draft.document
    headings: dict[str, str] | None = None
    for place in document.starts.get("a", ()):
        if 'href="*' not in document.html[place]:
            continue
        attributes = document.attributes(place)
        written = attributes["href"]
        if headings is None:
            headings = headings_by_name(draft.toc)
        name = name_of(unquote(written[1:]))
        # One that is not there is reported as a heading, not as a page.
        attributes["href"] = f"#{headings.get(name, name)}"
        document.html[place] = f"<a{format_attributes(attributes)}>"
        if document.text(place) in (written, unquote(written)):
            document.html[place + 1] = document.html[place + 1].removeprefix("*")


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

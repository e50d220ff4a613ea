"""``![alt](x.png){width=50% height=20px}``: sizes written behind a picture."""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft
from wikisync.markup.tokens import format_attributes

BRACES = re.compile(r"\{([^{}\n<>]{1,98})\}")
SIZE = re.compile(
    r"(width|height)=(?:&quot;|\")?(\d{1,4}(?:%|px)?)(?![\w%])(?:&quot;|\")?"
)


def filter_picture_sizes(draft: Draft) -> None:
    """Move sizes into the picture; braces that hold none stay as text."""
    document = draft.document
    for place in document.starts.get("img", ()):
        match = BRACES.match(document.html[place + 1])
        if match is None or not document.html[place]:
            continue
        sizes = dict(SIZE.findall(match[1]))
        if not sizes:
            continue
        attributes = {**document.attributes(place), **sizes}
        document.html[place] = f"<img{format_attributes(attributes)}>"
        document.html[place + 1] = document.html[place + 1][match.end() :]

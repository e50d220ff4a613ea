"""``![alt](x.png){width=50% .float-left}``: size and side behind a picture."""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft
from wikisync.markup.tokens import format_attributes

BRACES = re.compile(r"\{([^{}\n<>]{1,98})\}")
SIZE = re.compile(
    r"(width|height)=(?:&quot;|\")?(\d{1,4}(?:%|px)?)(?![\w%])(?:&quot;|\")?"
)
FLOAT = re.compile(r"(?:^|\s)\.(float-(?:left|right|none))(?=\s|$)")


def filter_picture_sizes(draft: Draft) -> None:
    """Move both into the picture; braces that hold neither stay as text."""
    document = draft.document
    for index in document.starts.get("img", ()):
        match = BRACES.match(document.html[index + 1])
        if match is None or not document.html[index]:
            continue
        found = dict(SIZE.findall(match[1]))
        side = FLOAT.search(match[1])
        if side is not None:
            found["class"] = side[1]
        if not found:
            continue
        attributes = {**document.attributes(index), **found}
        document.html[index] = f"<img{format_attributes(attributes)}>"
        document.html[index + 1] = document.html[index + 1][match.end() :]

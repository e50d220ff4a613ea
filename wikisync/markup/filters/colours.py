"""Colour chips: `` `#F00` ``, ``rgb(...)`` and ``hsl(...)`` alone in code.

A backslash in front of one keeps it without a chip.
"""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft

NUMBER = r"-?\d{1,3}(?:\.\d{1,3})?"
SEPARATOR = r"\s{0,4},\s{0,4}"
COLOUR = re.compile(
    r"#(?:[0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})"
    rf"|rgba?\(\s?{NUMBER}%?(?:{SEPARATOR}{NUMBER}%?){{2,3}}\s?\)"
    rf"|hsla?\(\s?{NUMBER}(?:deg)?(?:{SEPARATOR}{NUMBER}%?){{2,3}}\s?\)",
    re.IGNORECASE,
)
CHARS_MAX = 60


def filter_colours(draft: Draft) -> None:
    """Put a chip behind each colour.

    The colour goes into a presentation attribute of a drawing, since the page's
    policy forbids style attributes.
    """
    document = draft.document
    for index in document.starts.get("code", ()):
        end = document.close[index]
        text = document.html[index + 1].strip()
        if end - index != 2 or len(text) > CHARS_MAX or not document.html[index]:
            continue
        if text[:1] == "\\" and COLOUR.fullmatch(text, 1):
            document.html[index + 1] = text[1:]  # escaped: the colour alone
        elif COLOUR.fullmatch(text):
            document.html[end] = (
                '<svg class="colour-chip" width="12" height="12" aria-hidden="true">'
                f'<rect width="12" height="12" fill="{text}"></rect></svg></code>'
            )

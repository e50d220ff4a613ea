"""Direction of a text: pages with right-to-left letters say so block by block."""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft

RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
BLOCKS = (
    *("p", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("ul", "ol", "dl", "blockquote", "table", "details"),
)


def filter_direction(draft: Draft) -> None:
    """Let browsers find the direction of each outermost block of such a page.

    The service marks every page; where all letters run one way that says nothing.
    """
    document = draft.document
    if document.is_ascii or not any(
        not text.isascii() and RIGHT_TO_LEFT.search(text) for text in document.html[::2]
    ):
        return
    for name in BLOCKS:
        for index in document.starts.get(name, ()):
            tag = document.html[index]
            is_outermost = index not in document.parents
            if is_outermost and tag.startswith(f"<{name}") and " dir=" not in tag:
                document.html[index] = f'<{name} dir="auto"{tag[len(name) + 1 :]}'

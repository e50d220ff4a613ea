"""Inline diffs: ``{+ new +}``, ``[+ new +]``, ``{- old -}`` and ``[- old -]``."""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft

NOT_IN = frozenset({"pre", "code", "tt"})
DIFF = re.compile(
    r"\{(?P<sign>[+-])(?P<braced>(?:(?!(?P=sign)\}).){1,500})(?P=sign)\}"
    r"|\[(?P<mark>[+-])(?P<bracketed>(?:(?!(?P=mark)\]).){1,500})(?P=mark)\]",
    re.DOTALL,
)
NAMES = {"+": "addition", "-": "deletion"}


def filter_inline_diff(draft: Draft) -> None:
    """Mark both kinds in running text; brackets of one kind must match."""
    document = draft.document
    whole = document.all_text()
    if "}" not in whole and "]" not in whole:
        return
    for index in document.texts_outside(NOT_IN):
        text = document.html[index]
        if "+}" in text or "-}" in text or "+]" in text or "-]" in text:
            document.html[index] = DIFF.sub(marked, text)


def marked(match: re.Match[str]) -> str:
    """One diff; its text is HTML already."""
    name = NAMES[match["sign"] or match["mark"]]
    text = match["braced"] or match["bracketed"]
    return f'<span class="idiff left right {name}">{text}</span>'

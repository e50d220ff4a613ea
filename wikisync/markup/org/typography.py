"""Signs that an Org text names or puts together, as characters.  Pure."""

import re
from collections.abc import Mapping
from html import unescape
from html.entities import name2codepoint

from wikisync.core.packaged import packaged_rows
from wikisync.markup.tokens import escape_marks

SPECIAL = re.compile(
    r"(?<!-)-{2,3}(?!-)|(?<!\.)\.{3}(?!\.)|(?<!\.)(?<!\. )\. \. \.(?!\.| \.)|``|''|\"|'"
)
"""Longer rows of dashes and dots stay as they are."""
OPENS_BEHIND = frozenset(" \t\n([{<-–—/\u00a0“‘\"'")


class Typography:
    """Turns straight signs into the printer's."""

    def html_of(self, text: str, before: str, after: str) -> str:
        """A piece of text as HTML."""
        around = f"{before}{text}{after}"

        def replace(found: re.Match[str]) -> str:
            previous = around[found.start()]
            following = around[found.end() + 1]
            return _sign(found[0], previous, following)

        return escape_marks(SPECIAL.sub(replace, text))


def _sign(mark: str, previous: str, following: str) -> str:
    opens = previous in OPENS_BEHIND and not following.isspace()
    match mark:
        case "---":
            return "—"
        case "--":
            return "–"
        case "..." | ". . .":
            return "…"
        case "``":
            return "“"
        case "''":
            return "”"
        case '"':
            return "“" if opens else "”"
        case _:
            return "‘" if opens and not following.isdigit() else "’"


NOT_OF_ORG = frozenset({"and", "or", "part"})

ENTITIES: Mapping[str, str] = {
    **{
        name: chr(point)
        for name, point in name2codepoint.items()
        if name not in NOT_OF_ORG
    },
    **{
        name: unescape(sign)
        for sign, *names in packaged_rows(__package__, "entities.txt")
        for name in names
    },
}
"""By the name behind the backslash.

Only those of HTML 4 and Org: the later names of HTML 5 are words, such as
``target`` and ``map``, which stand behind backslashes in paths.
"""

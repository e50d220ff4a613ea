"""``%{project_path}`` and the like, filled in where the options say with what.

Addresses are filled in before the sanitiser, which must see the address that
will stand there and refuses hosts with braces; texts when headings have their
ids, which the service makes from what the page says.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Mapping

from wikisync.markup.draft import Draft
from wikisync.markup.placeholders import Filler
from wikisync.markup.tokens import escape

NOT_IN = frozenset({"pre", "code", "tt"})
FORMULA = " data-math-style"
ADDRESS = re.compile(
    r"(?P<start><(?:a|img)\s[^<>]*?(?<=\s)(?:href|src)=)(?P<quote>[\"'])"
    r"(?P<url>[^\"'<>]*%[^\"'<>]*)(?P=quote)"
)


def filter_placeholders(draft: Draft) -> None:
    """Fill them into running text.

    A backslash in front, code and formulas keep a placeholder as it is.
    """
    if draft.options.placeholders is None:
        return
    filler = Filler(draft.options.placeholders)
    document = draft.document
    for index in document.texts_outside(NOT_IN):
        text = document.html[index]
        if "%{" in text and not (index and FORMULA in document.html[index - 1]):
            document.html[index] = filler.html(text)


def fill_addresses(html: str, values: Mapping[str, str]) -> str:
    """HTML of a parser with the addresses of links and pictures filled in."""
    filler = Filler(values)

    def filled(match: re.Match[str]) -> str:
        url = filler.url(entities.unescape(match["url"]))
        return f'{match["start"]}"{escape(url)}"'

    return ADDRESS.sub(filled, html)

"""The next part of a list: ``Link`` first, ``X-Next-Page`` else.  Pure.

Only the query of a link is taken: its host is the one the service is
configured with, which behind a proxy is not the one that answers
(``service-behaviour`` 1.2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

COUNT_DIGITS_MAX = 16

_LINK = r"<([^<>]*)>([^<]*)"
_REL = r"(?i);\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))"


def next_query(headers: Mapping[str, str], query: str) -> str | None:
    """The query of the next part, or None where this was the last.

    Args:
        headers: of the answer, by their names in lower case.
        query: the encoded query that was asked.
    """
    if links := headers.get("link", ""):
        for target, parameters in re.findall(_LINK, links):
            found = re.findall(_REL, parameters)
            relations = " ".join(quoted or bare for quoted, bare in found)
            if "next" in relations.lower().split():
                return str(target).partition("#")[0].partition("?")[2]
    page = headers.get("x-next-page", "").strip()
    if not page.isascii() or not page.isdigit():
        return None
    asked = parse_qsl(query, keep_blank_values=True)
    kept = [pair for pair in asked if pair[0] != "page"]
    return urlencode([*kept, ("page", page)], quote_via=quote)


def total_of(headers: Mapping[str, str]) -> int | None:
    """Records in the whole list; None where the service does not count them."""
    text = headers.get("x-total", "").strip()
    is_count = text.isascii() and text.isdigit() and len(text) < COUNT_DIGITS_MAX
    return int(text) if is_count else None


def encode_query(values: Mapping[str, str | int | bool | None]) -> str:
    """A percent-encoded query; None is left out, booleans are ``true``/``false``."""
    pairs = [
        (name, _shown(value)) for name, value in values.items() if value is not None
    ]
    return urlencode(pairs, quote_via=quote)


def _shown(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

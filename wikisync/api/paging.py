"""The next part of a list: ``Link`` first, ``X-Next-Page`` else.  Pure.

Only the query of a link is taken: its host is the one the service is
configured with, which behind a proxy is not the one that answers
(``docs/service.md`` "Paging").

A proxy may drop both headers.  The part is then not taken for the whole list unless it
is too small to be one of several: ``made_query`` asks for what follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

COUNT_DIGITS_MAX = 16
PART_RECORDS_MIN = 20
"""The service gives at least so many records in a part that is not the last, whatever
it is asked for, unless it is asked for fewer."""

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


def says_end(headers: Mapping[str, str]) -> bool:
    """Whether headers that lead to no next part say that this was the last."""
    return "link" in headers or "x-next-page" in headers


def may_go_on(query: str, records: int) -> bool:
    """Whether a part with so many records may be one of several, by its size."""
    asked = dict(parse_qsl(query)).get("per_page", "")
    least = int(asked) if asked.isascii() and asked.isdigit() else PART_RECORDS_MIN
    return records >= max(1, min(least, PART_RECORDS_MIN))


def made_query(query: str, last_id: int | None) -> str | None:
    """The query of the part behind one that names none.

    Args:
        query: the encoded query that was asked.
        last_id: of the last record in the part.

    Returns:
        None where only a link of the service could lead on: keyset paging in another
        order than by id.
    """
    asked = parse_qsl(query, keep_blank_values=True)
    values = dict(asked)
    if values.get("pagination") == "keyset":
        if values.get("order_by", "id") != "id" or last_id is None:
            return None
        name = "id_after" if values.get("sort") == "asc" else "id_before"
        value = str(last_id)
    else:
        page = values.get("page", "")
        is_number = page.isascii() and page.isdigit() and len(page) < COUNT_DIGITS_MAX
        name, value = "page", str(int(page) + 1 if is_number else 2)
    kept = [pair for pair in asked if pair[0] not in {"id_after", "id_before", name}]
    return urlencode([*kept, (name, value)], quote_via=quote)


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

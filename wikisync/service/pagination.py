"""Pagination of lists, with the service's headers.  Pure.

Rules: ``docs/service.md`` "Paging".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from msgspec import Struct

from wikisync.service.parameters import Parameters
from wikisync.service.settings import Limits

R = TypeVar("R")


class Window(Struct, frozen=True):
    """Which part of a list is asked for; the first page is 1."""

    page: int
    per_page: int


def read_window(parameters: Parameters, limits: Limits) -> Window:
    """Read ``page`` and ``per_page``; a page before the first means the first."""
    page = parameters.integer("page")
    per_page = parameters.number(
        "per_page", default=limits.per_page_default, least=1, most=limits.per_page_max
    )
    return Window(max(page or 1, 1), per_page)


def paginate(
    rows: Sequence[R],
    window: Window,
    *,
    url: str,
    parameters: Mapping[str, object],
    counted_rows_max: int,
) -> tuple[Sequence[R], dict[str, str]]:
    """The rows of the window, and the headers that lead to the others.

    Args:
        rows: the whole list.
        window: the part wanted; past the end it is empty.
        url: address of the list, without its query.
        parameters: every parameter of the request, repeated in the links.
        counted_rows_max: longer lists get no totals, as counting is dear.
    """
    start = (window.page - 1) * window.per_page
    part = rows[start : start + window.per_page]
    pages = max(1, -(-len(rows) // window.per_page))
    previous = window.page - 1 if window.page > 1 else None
    following = window.page + 1 if window.page < pages else None
    is_counted = len(rows) <= counted_rows_max
    links = {
        "prev": previous,
        "next": following,
        "first": 1,
        "last": pages if is_counted else None,
    }
    headers = {
        "X-Page": str(window.page),
        "X-Per-Page": str(window.per_page),
        "X-Next-Page": str(following or ""),
        "X-Prev-Page": str(previous or ""),
        "Link": ", ".join(
            f'<{_address(url, parameters, window.per_page, page)}>; rel="{name}"'
            for name, page in links.items()
            if page is not None
        ),
    }
    if is_counted:
        headers["X-Total"] = str(len(rows))
        headers["X-Total-Pages"] = str(pages)
    return part, headers


def _address(
    url: str, parameters: Mapping[str, object], per_page: int, page: int
) -> str:
    own = {"page": str(page), "per_page": str(per_page)}
    return address(url, {**parameters, **own})


def address(url: str, parameters: Mapping[str, object]) -> str:
    """A list's address with its parameters, as a link leads to it."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        # a token in the query must not come back in a header that proxies log
        if name in {"private_token", "access_token"}:
            continue
        match value:
            case Mapping():
                pairs += [(f"{name}[{key}]", str(part)) for key, part in value.items()]
            case list() | tuple():
                pairs += [(f"{name}[]", str(part)) for part in value]
            case _:
                pairs.append((name, str(value)))
    return f"{url}?{urlencode(pairs)}"


def keyset_headers(
    ids: Sequence[int],
    *,
    url: str,
    parameters: Mapping[str, object],
    is_descending: bool,
) -> dict[str, str]:
    """The header that leads on from a page of ids, unless it was empty."""
    if not ids:
        return {}
    bound = "id_before" if is_descending else "id_after"
    link = address(url, {**parameters, bound: ids[-1]})
    return {"Link": f'<{link}>; rel="next"'}

"""Which operation a request means: raw path and method to a route.  Pure.

Works on the percent-encoded path, so that ``%2F`` inside an id or a slug is not
a separator; each segment is decoded once.  ``{slug}`` and ``{path}`` also take
raw slashes, as the real service does (``docs/service.md`` "Endpoints").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from wikisync.service.answers import Refusal, bad_parameters

H = TypeVar("H")

GREEDY = frozenset({"slug", "path", "full_path"})
"""Names of segments that may hold raw slashes."""


class Match(Struct, Generic[H], frozen=True):
    """A route that fits, with its segments decoded."""

    target: H
    segments: Mapping[str, str]


class OtherMethods(Struct, frozen=True):
    """The path exists, but not for this method."""

    allowed: tuple[str, ...]


class RouteTable(Generic[H]):
    """Routes in the order in which they are tried."""

    def __init__(self, routes: Sequence[tuple[str, str, H]]) -> None:
        self._routes = [
            (method, _pattern(template), target) for method, template, target in routes
        ]

    def match(self, method: str, raw_path: str) -> Match[H] | OtherMethods | None:
        """The route for a request; HEAD is answered where GET is.

        Raises:
            Refusal: a segment is not UTF-8 or holds a NUL.
        """
        wanted = "GET" if method == "HEAD" else method
        allowed: dict[str, None] = {}
        for route_method, pattern, target in self._routes:
            fit = pattern.fullmatch(raw_path)
            if fit is None:
                continue
            if route_method == wanted:
                segments = fit.groupdict().items()
                return Match(target, {name: decode(text) for name, text in segments})
            allowed |= {route_method: None, "OPTIONS": None}
            if route_method == "GET":
                allowed["HEAD"] = None
        return OtherMethods(tuple(sorted(allowed))) if allowed else None


def decode(text: str) -> str:
    """Percent-decode one segment, strictly.

    Raises:
        Refusal: not UTF-8, or a NUL in it.
    """
    try:
        decoded = unquote_to_bytes(text.encode("utf-8", "surrogateescape")).decode()
    except UnicodeDecodeError:
        raise malformed() from None
    if "\0" in decoded:
        raise malformed()
    return decoded


def malformed() -> Refusal:
    """Text that is not UTF-8, or holds a NUL byte."""
    return bad_parameters(["the request holds invalid UTF-8 or a NUL byte"])


def _pattern(template: str) -> re.Pattern[str]:
    def segment(name: str) -> str:
        return f"(?P<{name}>.+?)" if name in GREEDY else f"(?P<{name}>[^/]+)"

    # every second part is a name
    parts = re.split(r"\{(\w+)\}", template)
    parts[0::2] = map(re.escape, parts[0::2])
    parts[1::2] = map(segment, parts[1::2])
    # one trailing slash is tolerated; inside a slug it is dropped by look-up
    return re.compile("".join(parts) + "/?", re.DOTALL)

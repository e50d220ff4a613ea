"""Which operation a request means, found by aiohttp's router.

The router matches ``%2F`` and ``%25`` encoded, so that a slash inside an id or a slug
is no separator; each segment is decoded once.  ``{slug}`` and ``{path}`` also take raw
slashes, as the real service does (``docs/service.md`` "Endpoints").
"""

import re
from collections.abc import Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar, cast
from urllib.parse import unquote_to_bytes

from aiohttp import web
from msgspec import Struct

from wikisync.service.answers import Refusal, bad_parameters

H = TypeVar("H")

GREEDY = frozenset({"slug", "path", "full_path"})
"""Names of segments that may hold raw slashes."""
_SLASH_AT_END = "_"


class OtherMethods(Struct, frozen=True):
    """The path exists, but not for this method."""

    allowed: tuple[str, ...]


Found: TypeAlias = tuple[H, Mapping[str, str]]
"""The target of a route, with the segments of its path decoded."""


class Router(Generic[H]):
    """Routes by method and template, the more particular ones first."""

    def __init__(self, routes: Sequence[tuple[str, str, H]]) -> None:
        self._dispatcher = web.UrlDispatcher()
        self._targets: dict[web.AbstractRoute, H] = {}
        for method, template, target in routes:
            resource = self._dispatcher.add_resource(_pattern(template))
            # HEAD is answered where GET is
            for name in ("GET", "HEAD") if method == "GET" else (method,):
                self._targets[resource.add_route(name, _unused)] = target

    async def match(self, request: web.BaseRequest) -> Found[H] | OtherMethods | None:
        """What fits a request, None for no such path; 400 for a malformed one."""
        # it reads only the method and the path, which both classes have
        found = await self._dispatcher.resolve(cast(web.Request, request))
        match found.http_exception:
            case None:
                _check(request.rel_url.raw_path)
                segments = {
                    name: text for name, text in found.items() if name != _SLASH_AT_END
                }
                return self._targets[found.route], segments
            case web.HTTPMethodNotAllowed() as error:
                return OtherMethods(tuple(sorted(error.allowed_methods | {"OPTIONS"})))
            case _:
                return None


def malformed() -> Refusal:
    """Text that is not UTF-8, or holds a NUL byte."""
    return bad_parameters(["the request holds invalid UTF-8 or a NUL byte"])


def _check(raw_path: str) -> None:
    # aiohttp leaves encoded bytes that are not UTF-8 as they are
    try:
        path = unquote_to_bytes(raw_path.encode("utf-8", "surrogateescape")).decode()
    except UnicodeDecodeError:
        raise malformed() from None
    if "\0" in path:
        raise malformed()


async def _unused(_request: web.Request) -> web.StreamResponse:
    raise AssertionError("the router only finds; the service answers")


def _pattern(template: str) -> str:
    def segment(name: re.Match[str]) -> str:
        kind = "(?s:.+?)" if name[1] in GREEDY else "[^/]+"
        return f"{{{name[1]}:{kind}}}"

    # one trailing slash is tolerated; inside a slug it is dropped by the lookup
    return re.sub(r"\{(\w+)\}", segment, template) + f"{{{_SLASH_AT_END}:/?}}"

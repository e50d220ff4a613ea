"""What lets a page of another origin call the API from a browser (CORS).

The real service lets every origin in, without its cookies: a token is the caller's
own and never sent by the browser itself.  Only the API is open in this way.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from aiohttp import web

from wikisync.api.routes import API_PREFIX

EXPOSED = (
    "Link",
    "X-Total",
    "X-Total-Pages",
    "X-Per-Page",
    "X-Page",
    "X-Next-Page",
    "X-Prev-Page",
    "X-Request-Id",
    "ETag",
)
"""Headers of answers that scripts of another origin may read."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PREFLIGHT_S = 7200
"""How long a browser may keep what a preflight said."""


def answer_preflight(request: web.BaseRequest) -> web.Response | None:
    """The answer to a browser that asks before it sends; None for other requests.

    Which paths there are and who may call them is not checked: the answer to the
    request that follows says it.
    """
    wanted = request.headers.get("Access-Control-Request-Method")
    if request.method != "OPTIONS" or wanted is None or not _is_from_afar(request):
        return None
    response = web.Response()
    if wanted.upper() in METHODS:
        add_cross_origin(request, response.headers)
        asked = request.headers.get("Access-Control-Request-Headers")
        if asked:
            response.headers["Access-Control-Allow-Headers"] = asked
    return response


def add_cross_origin(
    request: web.BaseRequest, headers: MutableMapping[str, str]
) -> None:
    """Add to an answer's headers what lets scripts of another origin read it."""
    if _is_from_afar(request):
        headers.update(
            {
                "Access-Control-Allow-Origin": "*",
                "Access-Control-Allow-Methods": ", ".join(METHODS),
                "Access-Control-Expose-Headers": ", ".join(EXPOSED),
                "Access-Control-Max-Age": str(PREFLIGHT_S),
            }
        )
    if _is_of_api(request):
        # also without an origin, or a cache would give this answer to one
        held = headers.get("Vary")
        headers["Vary"] = f"{held}, Origin" if held else "Origin"


def _is_from_afar(request: web.BaseRequest) -> bool:
    return _is_of_api(request) and "Origin" in request.headers


def _is_of_api(request: web.BaseRequest) -> bool:
    return request.rel_url.raw_path.startswith(API_PREFIX + "/")

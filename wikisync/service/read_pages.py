"""Pages for a browser, only to be read: where *Edit* and *View* of a website lead.

The real service has its web interface at these addresses.  What is shown here is the
page as ``render_html`` gives it, to whoever may read the wiki; a token may stand in the
query (``?private_token=``).
"""

from contextlib import suppress
from html import escape

from aiohttp import web
from msgspec.structs import replace

from wikisync.core.decoding import json_decoder
from wikisync.core.model import OwnerKind
from wikisync.service import attachments, wikis
from wikisync.service.answers import Refusal, unmatched_route
from wikisync.service.call import Call
from wikisync.service.pages import ShownPage

_SHOWN = json_decoder(ShownPage)
HOME = "home"
EDIT = "/edit"
_POLICY = (
    "default-src 'none'; img-src 'self' data: https:; media-src 'self';"
    " style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{color-scheme: light dark; background: canvas}}
body {{max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui}}
img {{max-width: 100%}}
pre, .table-wrap {{overflow-x: auto}}
</style>
</head>
<body>
<header>{path}: to be read. To edit it, change its file in a synced folder, or use git
or the API.</header>
<main>
{heading}{content}
</main>
</body>
</html>
"""


async def show(call: Call, kind: OwnerKind) -> web.StreamResponse:
    """``GET .../-/wikis/:path``: a file as it is, or a page; else 404."""
    path, owner = call.segments.get("path", HOME), call.segments["full_path"]
    if "path" in call.segments:
        with suppress(Refusal):
            return await attachments.show_file(call, kind)
    segments = {"id": owner, "slug": path.removesuffix(EDIT)}
    asked = replace(call, segments=segments, raw={**call.raw, "render_html": "true"})
    try:
        answer = await wikis.show_page(asked, kind)
    except Refusal as refusal:
        if refusal.status in {401, 403, 404}:
            raise unmatched_route() from None
        raise
    if answer.status != 200:
        return answer
    assert isinstance(answer.body, bytes)
    page = _SHOWN.decode(answer.body)
    title = escape(page.title)
    heading = "" if page.content.startswith("<h1") else f"<h1>{title}</h1>\n"
    text = _PAGE.format(
        title=title, path=escape(owner), heading=heading, content=page.content
    )
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    return web.Response(text=text, content_type="text/html", headers=headers)

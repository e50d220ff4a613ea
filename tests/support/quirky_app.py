"""A service whose requests and answers have quirks while they are on.

``answer`` wraps a whole request and makes the faults that need nothing of the
wiki; ``handle`` wraps one handler, whose parameters and JSON it bends.
"""

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
from aiohttp import hdrs, web
from msgspec.structs import replace

from tests.support.page_ids import page_ids
from tests.support.quirks import Quirk, Quirks, Turns
from tests.support.quirky_service import OTHER_PROJECT_ID, QuirkyService
from wikisync.core.decoding import json_decoder
from wikisync.markup.frontmatter import split_front_matter
from wikisync.service import answers, attachments, git_http, identity, wikis
from wikisync.service.access import Operation
from wikisync.service.call import Call, Caller
from wikisync.service.instance import Service
from wikisync.service.offers import Target
from wikisync.service.projects import reading
from wikisync.service.repository import WikiStorage
from wikisync.service.server import App

CUT_TEXT_BYTES = 1024 * 1024
"""Where lists cut a page's text under ``truncates-list-content``."""
MAINTENANCE_S = 60
RETRY_AFTER_S = 1
RESERVED_TITLES = ("pages", "templates", "new", "git_access", "-")
FOREIGN_PAGE: Mapping[str, object] = {
    "format": "wikitext",
    "slug": "legacy/foreign",
    "title": "foreign",
}
"""The page that ``extra-formats`` adds to lists."""
MALFORMED: Mapping[str, object] = {"title": None, "format": None}
"""What ``malformed-entries`` says of the first page of a list."""
NAMELESS_ENTRY: Mapping[str, object] = {"format": "markdown", "title": "Nowhere"}
"""The entry that it adds."""
FOREIGN_TEXT = "a page in a format that nobody here has heard of\n"
BEND_PAGES: Quirks = frozenset(
    {
        Quirk.EXTRA_FORMATS,
        Quirk.MALFORMED_ENTRIES,
        Quirk.META_ID,
        Quirk.STRIPS_FRONT_MATTER,
        Quirk.TRUNCATES_LIST_CONTENT,
    }
)
"""Those that change pages on their way out."""

_PAGES = json_decoder(list[dict[str, object]])
_RECORD = json_decoder(dict[str, object])
_COLLISION_BODY = {"message": {"title": [answers.COLLISION]}}
_READS = frozenset({"GET", "HEAD"})
_BAD_GATEWAY = "<html><head><title>502 Bad Gateway</title></head></html>"
_SIGN_IN = (
    "<!DOCTYPE html><html><head><title>Sign in</title></head>"
    "<body><form method=post><input name=user></form></body></html>"
)

Handle = Callable[[Quirks, Call, Target], Awaitable[web.StreamResponse]]


# requests as a whole


class QuirkyApp(App):
    """What answers every request to a quirky service."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        assert isinstance(service, QuirkyService)
        self._quirky = service

    async def answer(
        self, request: web.BaseRequest, request_id: str
    ) -> web.StreamResponse:
        """Answer a request, or fail before or after it was done."""
        on, turns = self._quirky.quirks, self._quirky.turns
        if self._quirky.latency_s:
            await asyncio.sleep(self._quirky.latency_s)
        early = _answer_instead(on, turns, request)
        if early is not None:
            return early
        if Quirk.NO_ETAG in on and request.method in _READS:
            response = await super().answer(_unconditional(request), request_id)
            if not response.prepared:
                response.headers.popall(hdrs.ETAG, None)
        else:
            response = await super().answer(request, request_id)
        if not _is_api(request):
            return response
        if request.method not in _READS:
            return _lose(on, turns, request, response)
        return _cut(on, turns, request, response)

    async def handle(self, call: Call, target: Target) -> web.StreamResponse:
        """What the target's handler answers, with parameters and answer altered.

        Raises:
            Refusal: as the handler, and for what only quirks refuse.
        """
        on = self._quirky.quirks
        function = getattr(target.handler, "func", target.handler)
        handle = _HANDLES.get(function) if on else None
        if handle is None:
            return await super().handle(call, target)
        return await handle(on, call, target)


def _answer_instead(
    on: Quirks, turns: Turns, request: web.BaseRequest
) -> web.Response | None:
    """The answer of a request that is not carried out at all, or None."""
    if Quirk.SIGN_IN_PAGE in on:
        return web.Response(text=_SIGN_IN, content_type="text/html")
    if Quirk.NOT_FOUND in on:
        return answers.refusal_answer(answers.unmatched_route())
    if Quirk.TOKEN_REVOKED in on:
        text = "Token was revoked. You have to re-authorize from the user."
        return answers.refusal_answer(answers.dead_token(text))
    if not _is_api(request):
        return None
    if Quirk.RATE_LIMITED in on and turns.is_next(Quirk.RATE_LIMITED):
        return web.Response(status=429, text="Retry later\n")
    if Quirk.RATE_LIMITED_TELLING in on and turns.is_next(Quirk.RATE_LIMITED_TELLING):
        return web.Response(status=429, text="Retry later\n", headers=_rate_limit())
    if request.method in _READS:
        if Quirk.FAILS_READS in on and turns.is_next(Quirk.FAILS_READS):
            return _bad_gateway()
        return None
    if Quirk.MAINTENANCE in on:
        text = "GitLab Maintenance: system is in maintenance mode"
        return answers.json_answer(
            {"message": text}, status=503, headers={"Retry-After": str(MAINTENANCE_S)}
        )
    if Quirk.FAILS_BEFORE_WRITE in on and turns.is_next(Quirk.FAILS_BEFORE_WRITE):
        return _server_error()
    # a storage that cannot be read cannot be written either
    if Quirk.EMPTY_LIST in on and request.method == "POST":
        return _server_error()
    return None


def _rate_limit() -> dict[str, str]:
    reset = datetime.now(UTC) + timedelta(seconds=RETRY_AFTER_S)
    return {
        "RateLimit-Limit": "60",
        "RateLimit-Name": "throttle_authenticated_api",
        "RateLimit-Observed": "61",
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": str(int(reset.timestamp())),
        "RateLimit-ResetTime": format_datetime(reset, usegmt=True),
        "Retry-After": str(RETRY_AFTER_S),
    }


def _lose(
    on: Quirks, turns: Turns, request: web.BaseRequest, response: web.StreamResponse
) -> web.StreamResponse:
    """The answer of a write, if it was done."""
    if response.status >= 400:
        return response
    if Quirk.FAILS_AFTER_WRITE in on and turns.is_next(Quirk.FAILS_AFTER_WRITE):
        return _bad_gateway()
    if Quirk.DROPS_ANSWERS in on and turns.is_next(Quirk.DROPS_ANSWERS):
        _hang_up(request, at_once=True)
    return response


def _cut(
    on: Quirks, turns: Turns, request: web.BaseRequest, response: web.StreamResponse
) -> web.StreamResponse:
    if Quirk.CUT_BODIES not in on or not isinstance(response, web.Response):
        return response
    body = response.body if isinstance(response.body, bytes) else b""
    if len(body) < 2 or request.method == "HEAD" or not turns.is_next(Quirk.CUT_BODIES):
        return response
    return _CutAnswer(request, response, body)


class _CutAnswer(web.StreamResponse):
    """An answer that breaks off in the middle."""

    def __init__(
        self, request: web.BaseRequest, whole: web.Response, body: bytes
    ) -> None:
        super().__init__(status=whole.status, headers=whole.headers)
        self.content_length = len(body)
        self._sent = body[: len(body) // 2]
        self._of = request

    async def write_eof(self, data: bytes = b"") -> None:  # noqa: ARG002
        """Send the half of it, and hang up."""
        await self.write(self._sent)
        _hang_up(self._of, at_once=False)


def _hang_up(request: web.BaseRequest, *, at_once: bool) -> None:
    transport = request.transport
    if transport is None:
        return
    # what was written before is still sent, unless nothing shall be
    if at_once:
        transport.abort()
    else:
        transport.close()


def _bad_gateway() -> web.Response:
    return web.Response(status=502, text=_BAD_GATEWAY, content_type="text/html")


def _server_error() -> web.Response:
    return answers.json_answer({"message": "500 Internal Server Error"}, status=500)


def _is_api(request: web.BaseRequest) -> bool:
    return request.rel_url.raw_path.startswith("/api/")


def _unconditional(request: web.BaseRequest) -> web.BaseRequest:
    """The request without ``If-None-Match``: what it knows is not what is shown."""
    headers = request.headers.copy()
    headers.popall(hdrs.IF_NONE_MATCH, None)
    return request.clone(headers=headers)


# requests to one handler


async def _token(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    if Quirk.SILENT_TOKENS in on:
        raise answers.unmatched_route()
    return await target.handler(call)


async def _git(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    if Quirk.NO_GIT in on:
        raise answers.unmatched_route()
    return await target.handler(call)


async def _project(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    response = await target.handler(call)
    if Quirk.ANOTHER_PROJECT not in on:
        return response
    record = _RECORD.decode(_body(response))
    return answers.json_answer(
        {**record, "id": int(str(record["id"])) + OTHER_PROJECT_ID}
    )


async def _file(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    if Quirk.FILES_NEED_SESSION in on:
        await call.caller()
        # the real route knows browser sessions only, so any token is nobody
        if await attachments.readable_owner(call, Caller()) is None:
            location = {"Location": attachments.SIGN_IN_PATH}
            return web.Response(status=302, headers=location)
    return await target.handler(call)


async def _list(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    if not on & (BEND_PAGES | {Quirk.HALF_LIST}):
        return await target.handler(call)
    response = await target.handler(replace(call, request=_unconditional(call.request)))
    if isinstance(response, answers.PartsAnswer):
        body = b"".join([part async for part in response.parts])
    else:
        body = _body(response)
    pages = _PAGES.decode(body)
    if Quirk.HALF_LIST in on:
        pages = pages[::2]
    ids = await _ids(on, call, [str(page["slug"]) for page in pages])
    # without the tag of the list as it should be
    return answers.bytes_answer(await asyncio.to_thread(_altered_list, on, pages, ids))


async def _show(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    if Quirk.EXTRA_FORMATS in on and call.segments["slug"] == FOREIGN_PAGE["slug"]:
        call.values()
        await _enter(call, Operation.READ)
        page = {**FOREIGN_PAGE, "content": FOREIGN_TEXT, "encoding": "UTF-8"}
        return answers.json_answer(page)
    return await _page_answer(on, call, target)


async def _create(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    values = call.values()
    await _enter(call, Operation.WRITE)
    _check_new_title(on, values["title"])
    raw = {**call.raw, "content": _altered_text(on, values["content"])}
    return await _page_answer(on, replace(call, raw=raw), target)


async def _edit(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    values = call.values()
    wiki = await _enter(call, Operation.WRITE)
    title = values.get("title")
    raw = dict(call.raw)
    if title is not None:
        _check_new_title(on, title)
    if values.get("content") is not None:
        raw["content"] = _altered_text(on, values["content"])
    if Quirk.FORMAT_DEFAULT in on and not values.get("format"):
        raw["format"] = "markdown"
    tree = await wiki.tree()
    page = None if tree is None else tree.find(call.segments["slug"])
    if page is not None and (altered := _altered_title(on, title, page.slug)):
        raw["title"] = altered
    try:
        return await _page_answer(on, replace(call, raw=raw), target)
    except answers.Refusal as refusal:
        is_renamed = Quirk.NULL_RENAME in on and refusal.body == _COLLISION_BODY
        is_changed = (
            Quirk.LAST_COMMIT_SHA in on and refusal.body == answers.changed().body
        )
        if is_renamed or is_changed:
            # the real service did not edit, and does not say why
            raise answers.Refusal(200, None) from None
        raise


_HANDLES: Mapping[object, Handle] = {
    identity.show_token: _token,
    git_http.show_references: _git,
    git_http.upload_pack: _git,
    git_http.receive_pack: _git,
    reading.show_project: _project,
    wikis.show_for_browser: _file,
    wikis.list_pages: _list,
    wikis.show_page: _show,
    wikis.create_page: _create,
    wikis.edit_page: _edit,
}


async def _enter(call: Call, operation: Operation) -> WikiStorage:
    """The wiki, for who may do this; refused as by the handler itself."""
    _caller, _owner, wiki = await call.wiki(operation)
    return wiki


async def _page_answer(on: Quirks, call: Call, target: Target) -> web.StreamResponse:
    """The handler's answer, its page altered."""
    response = await target.handler(call)
    if not on & BEND_PAGES:
        return response
    page = _RECORD.decode(_body(response))
    ids = await _ids(on, call, [str(page["slug"])])
    return answers.json_answer(_altered_page(on, page, ids), status=response.status)


async def _ids(on: Quirks, call: Call, slugs: Sequence[str]) -> Mapping[str, int]:
    """``wiki_page_meta_id`` by slug."""
    if Quirk.META_ID not in on:
        return {}
    _caller, owner, _wiki = await call.wiki(Operation.READ)
    return await call.service.records.ask(page_ids, call.kind, owner.id, slugs)


def _body(response: web.StreamResponse) -> bytes:
    assert isinstance(response, web.Response), "what is altered is JSON"
    assert isinstance(response.body, bytes), "JSON is bytes by now"
    return response.body


def _altered_title(on: Quirks, title: str | None, slug: str) -> str | None:
    """The title that an edit of the page ``slug`` asks for."""
    if title is None and Quirk.CONTENT_ONLY_MOVES in on:
        return "/" + slug.rpartition("/")[2]
    if title is not None and "/" not in title and Quirk.LEAF_TITLE_MOVES in on:
        return "/" + title
    return title


def _check_new_title(on: Quirks, title: str) -> None:
    """Refuse a title that is reserved."""
    name = title.strip().strip("/").lower()
    if Quirk.RESERVED_TITLES in on and name in RESERVED_TITLES:
        names = ", ".join(RESERVED_TITLES)
        raise answers.invalid(
            "title", f"is a reserved name. Reserved names are: {names}"
        )


def _altered_text(on: Quirks, text: str) -> str:
    """The text that is stored when this one is sent."""
    if Quirk.REFUSES_EMPTY in on and not text.strip():
        raise answers.invalid("content", "can't be blank")
    if Quirk.NORMALISES_LINE_ENDS in on:
        text = text.replace("\r\n", "\n")
    if Quirk.NORMALISES_UNICODE in on:
        text = unicodedata.normalize("NFC", text)
    if Quirk.ADDS_FINAL_NEWLINE in on and not text.endswith("\n"):
        text += "\n"
    return text


def _altered_list(
    on: Quirks, listed: Sequence[Mapping[str, object]], ids: Mapping[str, int]
) -> bytes:
    pages = [_altered_page(on, page, ids) for page in listed]
    for page in pages:
        content = page.get("content")
        if Quirk.TRUNCATES_LIST_CONTENT in on and isinstance(content, str):
            cut = content.encode()[:CUT_TEXT_BYTES]
            page["content"] = cut.decode("utf-8", "ignore")
    if Quirk.EXTRA_FORMATS in on:
        pages.append(dict(FOREIGN_PAGE))
        if any("content" in page for page in pages[:-1]):
            pages[-1]["content"] = FOREIGN_TEXT
    if Quirk.MALFORMED_ENTRIES in on:
        pages = [{**page, **MALFORMED} for page in pages[:1]] + pages[1:]
        pages.append(dict(NAMELESS_ENTRY))
    return msgspec.json.encode(pages)


def _altered_page(
    on: Quirks, page: Mapping[str, object], ids: Mapping[str, int]
) -> dict[str, object]:
    altered = dict(page)
    if Quirk.META_ID in on:
        altered["wiki_page_meta_id"] = ids.get(str(page["slug"]))
    if Quirk.STRIPS_FRONT_MATTER in on and isinstance(page.get("content"), str):
        altered["content"] = split_front_matter(str(page["content"])).body
        altered.pop("front_matter", None)
    return altered

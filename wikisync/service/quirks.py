"""Quirks: what other services and bad days do, imitated on purpose for tests.

Every quirk is a name that ``serve --quirk`` takes, and is off in normal service.
The functions here are given the quirks that are on and a value, and give the
value bent; each is called at one place.  ``meet_quirks`` stands around every
request and makes the faults that need nothing of the wiki.

The numbers Q1 to Q16 are those of ``docs/service.md`` "Quirks".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum

import msgspec
from aiohttp import web

from wikisync.decoding import json_decoder
from wikisync.markup.frontmatter import split_front_matter
from wikisync.service.answers import (
    COLLISION,
    Refusal,
    dead_token,
    invalid,
    json_answer,
    null_answer,
    unmatched_route,
)
from wikisync.service.tree import PageFile, WikiTree

EVERY = 3
"""The first and then every third request of its kind meets an occasional fault."""
CUT_TEXT_BYTES = 1024 * 1024
"""Where lists cut a page's text under ``truncates-list-content``."""
OTHER_PROJECT_ID = 1_000_000
"""Added to the ids of projects under ``another-project``."""
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

_PAGES = json_decoder(list[dict[str, object]])
_RECORD = json_decoder(dict[str, object])


class Quirk(StrEnum):
    """What the service does otherwise than it should."""

    # pages
    EMPTY_LIST = "empty-list"
    """Lists are empty and pages 404, as when the git storage fails (Q1)."""
    HALF_LIST = "half-list"
    """Every second page is missing from lists, though it can be read."""
    FORMAT_DEFAULT = "format-default"
    """An edit without a format makes the page markdown (Q2)."""
    CONTENT_ONLY_MOVES = "content-only-moves"
    """An edit without a title moves the page to the root (Q3)."""
    LEAF_TITLE_MOVES = "leaf-title-moves"
    """An edit with a title of one part moves the page to the root (Q3)."""
    KEEPS_BELOW = "keeps-below"
    """A rename leaves the pages below where they are (Q4)."""
    EXACT_CASE = "exact-case"
    """``Foo`` does not find ``foo``, and both may be there (Q5)."""
    EXTRA_FORMATS = "extra-formats"
    """Lists hold a page in a format that nobody knows (Q7)."""
    MALFORMED_ENTRIES = "malformed-entries"
    """Lists have an entry without a slug, and ``null`` in that of the first page."""
    STRIPS_FRONT_MATTER = "strips-front-matter"
    """Texts are shown without their front matter (Q8)."""
    TRUNCATES_LIST_CONTENT = "truncates-list-content"
    """Lists cut texts at 1 MiB and do not say so (Q9)."""
    REFUSES_EMPTY = "refuses-empty"
    """A page must have a text (Q10)."""
    SMALL_LIMITS = "small-limits"
    """Titles to 60 bytes, texts to 64 KiB, attachments to 256 KiB (Q10)."""
    RESERVED_TITLES = "reserved-titles"
    """``pages``, ``templates``, ``new`` and others are no titles (Q10)."""
    ACTIVITY_STANDS_STILL = "activity-stands-still"
    """Wiki edits do not move the project's ``last_activity_at`` (Q14)."""
    META_ID = "meta-id"
    """Answers carry ``wiki_page_meta_id``, the same through renames (Q15)."""
    LAST_COMMIT_SHA = "last-commit-sha"
    """An edit whose ``last_commit_sha`` is not the page's answers ``null`` (Q12)."""
    NULL_RENAME = "null-rename"
    """A rename onto another page answers 200 ``null``."""
    NORMALISES_LINE_ENDS = "normalises-line-ends"
    """CRLF becomes LF in what is stored."""
    ADDS_FINAL_NEWLINE = "adds-final-newline"
    """What is stored ends with a line end."""
    NORMALISES_UNICODE = "normalises-unicode"
    """What is stored is in NFC."""
    NO_ETAG = "no-etag"
    """No answer has an entity tag."""
    FILES_NEED_SESSION = "files-need-session"
    """The file route sends tokens to the sign-in page; attachments come by git."""
    NO_GIT = "no-git"
    """Wikis cannot be cloned."""
    SILENT_TOKENS = "silent-tokens"
    """Tokens tell nothing of themselves, as before 15.5."""
    HOOKS_WITHOUT_VERSION = "hooks-without-version"
    """Webhooks do not name the commit (Q13)."""
    LOSES_HOOKS = "loses-hooks"
    """Every third webhook is not sent."""
    REPEATS_HOOKS = "repeats-hooks"
    """Every third webhook is sent twice."""

    # faults
    RATE_LIMITED = "rate-limited"
    """Every third request is answered 429 without ``Retry-After`` (Q16)."""
    RATE_LIMITED_TELLING = "rate-limited-telling"
    """Every third request is answered 429, and when to come again."""
    MAINTENANCE = "maintenance"
    """Writes are answered 503."""
    FAILS_BEFORE_WRITE = "fails-before-write"
    """Every third write is answered 500 and not done."""
    FAILS_AFTER_WRITE = "fails-after-write"
    """Every third write is done and answered 502."""
    DROPS_ANSWERS = "drops-answers"
    """Every third write is done and its connection closed without an answer."""
    FAILS_READS = "fails-reads"
    """Every third read is answered 502."""
    CUT_BODIES = "cut-bodies"
    """Every third read breaks off in the middle."""
    SIGN_IN_PAGE = "sign-in-page"
    """Everything is answered with a proxy's sign-in page, 200 and HTML."""
    NOT_FOUND = "not-found"
    """Everything is answered 404."""
    TOKEN_REVOKED = "token-revoked"  # noqa: S105 - the name of a quirk
    """Every token is answered 401, as if just revoked."""
    ANOTHER_PROJECT = "another-project"
    """Other projects stand at the same paths: other ids, other wikis."""


Quirks = frozenset[Quirk]

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


class Turns:
    """Whose turn it is to meet a fault that not every request meets."""

    def __init__(self) -> None:
        self._seen: Counter[Quirk] = Counter()

    def is_next(self, quirk: Quirk) -> bool:
        """Whether this request meets the fault; each call is one request."""
        self._seen[quirk] += 1
        return self._seen[quirk] % EVERY == 1

    def restart(self) -> None:
        """Let the next request be the first again."""
        self._seen.clear()


# what is asked for


def bend_title(on: Quirks, title: str | None, slug: str) -> str | None:
    """The title that an edit of the page ``slug`` asks for."""
    if title is None and Quirk.CONTENT_ONLY_MOVES in on:
        return "/" + slug.rpartition("/")[2]
    if title is not None and "/" not in title and Quirk.LEAF_TITLE_MOVES in on:
        return "/" + title
    return title


def check_new_title(on: Quirks, title: str) -> None:
    """Refuse a title that is reserved."""
    name = title.strip().strip("/").lower()
    if Quirk.RESERVED_TITLES in on and name in RESERVED_TITLES:
        names = ", ".join(RESERVED_TITLES)
        raise invalid("title", f"is a reserved name. Reserved names are: {names}")


def bend_text(on: Quirks, text: str) -> str:
    """The text that is stored when this one is sent."""
    if Quirk.REFUSES_EMPTY in on and not text.strip():
        raise invalid("content", "can't be blank")
    if Quirk.NORMALISES_LINE_ENDS in on:
        text = text.replace("\r\n", "\n")
    if Quirk.NORMALISES_UNICODE in on:
        text = unicodedata.normalize("NFC", text)
    if Quirk.ADDS_FINAL_NEWLINE in on and not text.endswith("\n"):
        text += "\n"
    return text


# what is seen


def bend_tree(on: Quirks, tree: WikiTree) -> WikiTree:
    """The files among which pages are looked for."""
    if Quirk.EMPTY_LIST in on:
        return WikiTree(None, ())
    if Quirk.EXACT_CASE in on:
        return WikiTree(tree.commit, tree.files, tree.pages, folds_case=False)
    return tree


def bend_listing(on: Quirks, pages: Sequence[PageFile]) -> Sequence[PageFile]:
    """The pages that a list names."""
    return pages[::2] if Quirk.HALF_LIST in on else pages


def bend_list(on: Quirks, body: bytes, ids: Mapping[str, int]) -> bytes:
    """A list's JSON as it is sent.

    Args:
        on: the quirks.
        body: the JSON as it should be.
        ids: ``wiki_page_meta_id`` by slug.
    """
    pages = [bend_page(on, page, ids) for page in _PAGES.decode(body)]
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


def bend_page(
    on: Quirks, page: Mapping[str, object], ids: Mapping[str, int]
) -> dict[str, object]:
    """One page as it is sent."""
    bent = dict(page)
    if Quirk.META_ID in on:
        bent["wiki_page_meta_id"] = ids.get(str(page["slug"]))
    if Quirk.STRIPS_FRONT_MATTER in on and isinstance(page.get("content"), str):
        bent["content"] = split_front_matter(str(page["content"])).body
        bent.pop("front_matter", None)
    return bent


def foreign_page(on: Quirks, slug: str) -> Mapping[str, object] | None:
    """The page that ``extra-formats`` adds, if it is the one asked for."""
    if Quirk.EXTRA_FORMATS not in on or slug != FOREIGN_PAGE["slug"]:
        return None
    return {**FOREIGN_PAGE, "content": FOREIGN_TEXT, "encoding": "UTF-8"}


def hook_count(on: Quirks, turns: Turns) -> int:
    """How many times the next webhook is sent."""
    if Quirk.LOSES_HOOKS in on and turns.is_next(Quirk.LOSES_HOOKS):
        return 0
    return 1 + (Quirk.REPEATS_HOOKS in on and turns.is_next(Quirk.REPEATS_HOOKS))


# requests as a whole


async def meet_quirks(
    on: Quirks,
    turns: Turns,
    request: web.BaseRequest,
    go_on: Callable[[], Awaitable[web.StreamResponse]],
) -> web.StreamResponse:
    """Answer a request, or fail before or after it was done.

    Args:
        on: the quirks.
        turns: counts the requests that may meet a fault.
        request: to any route.
        go_on: does what the request asks for.

    Raises:
        Refusal: as ``go_on``, and 401 or 404 of our own.
    """
    early = _answer_instead(on, turns, request)
    if early is not None:
        return early
    try:
        response = await go_on()
    except Refusal as refusal:
        if Quirk.NULL_RENAME in on and refusal.body == _COLLISION_BODY:
            raise null_answer() from None
        raise
    if _is_api(request) and _is_write(request):
        return _lose(on, turns, request, response)
    if Quirk.ANOTHER_PROJECT in on and isinstance(response, web.Response):
        _rename_project(request, response)
    return response


async def cut_answer(
    on: Quirks, turns: Turns, request: web.BaseRequest, response: web.Response
) -> web.StreamResponse:
    """Break a read's answer off in the middle, if it is its turn."""
    body = response.body if isinstance(response.body, bytes) else b""
    if Quirk.CUT_BODIES not in on or not _is_api(request) or _is_write(request):
        return response
    if len(body) < 2 or request.method == "HEAD" or not turns.is_next(Quirk.CUT_BODIES):
        return response
    part = web.StreamResponse(status=response.status, headers=response.headers)
    part.content_length = len(body)
    await part.prepare(request)
    await part.write(body[: len(body) // 2])
    _hang_up(request, at_once=False)
    return part


_COLLISION_BODY = {"message": {"title": [COLLISION]}}
_PROJECT = re.compile(r"/api/v4/projects/[^/]+/?")
_READS = frozenset({"GET", "HEAD"})
_BAD_GATEWAY = "<html><head><title>502 Bad Gateway</title></head></html>"
_SIGN_IN = (
    "<!DOCTYPE html><html><head><title>Sign in</title></head>"
    "<body><form method=post><input name=user></form></body></html>"
)


def _answer_instead(
    on: Quirks, turns: Turns, request: web.BaseRequest
) -> web.Response | None:
    """The answer of a request that is not carried out at all, or None."""
    if Quirk.SIGN_IN_PAGE in on:
        return web.Response(text=_SIGN_IN, content_type="text/html")
    if Quirk.NOT_FOUND in on:
        raise unmatched_route()
    if Quirk.TOKEN_REVOKED in on:
        raise dead_token("Token was revoked. You have to re-authorize from the user.")
    if not _is_api(request):
        return None
    if Quirk.RATE_LIMITED in on and turns.is_next(Quirk.RATE_LIMITED):
        return web.Response(status=429, text="Retry later\n")
    if Quirk.RATE_LIMITED_TELLING in on and turns.is_next(Quirk.RATE_LIMITED_TELLING):
        return web.Response(status=429, text="Retry later\n", headers=_rate_limit())
    if not _is_write(request):
        if Quirk.FAILS_READS in on and turns.is_next(Quirk.FAILS_READS):
            return _bad_gateway()
        return None
    if Quirk.MAINTENANCE in on:
        text = "GitLab Maintenance: system is in maintenance mode"
        return json_answer(
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
    """The answer of a write that was done."""
    if Quirk.FAILS_AFTER_WRITE in on and turns.is_next(Quirk.FAILS_AFTER_WRITE):
        return _bad_gateway()
    if Quirk.DROPS_ANSWERS in on and turns.is_next(Quirk.DROPS_ANSWERS):
        _hang_up(request, at_once=True)
    return response


def _rename_project(request: web.BaseRequest, response: web.Response) -> None:
    if response.status != 200 or not _PROJECT.fullmatch(request.rel_url.raw_path):
        return
    body = response.body if isinstance(response.body, bytes) else b"{}"
    record = _RECORD.decode(body)
    if isinstance(record.get("id"), int):
        record["id"] = int(str(record["id"])) + OTHER_PROJECT_ID
        response.body = msgspec.json.encode(record)


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
    return json_answer({"message": "500 Internal Server Error"}, status=500)


def _is_api(request: web.BaseRequest) -> bool:
    return request.rel_url.raw_path.startswith("/api/")


def _is_write(request: web.BaseRequest) -> bool:
    return request.method not in _READS

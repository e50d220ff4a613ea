"""Answers other than success: statuses and the service's words to errors.  Pure.

The only module that knows what a status means (``docs/service.md`` "Errors").
"""

import re
from collections.abc import Mapping
from html import unescape
from http import HTTPStatus
from typing import TypeVar

import msgspec

from wikisync import errors
from wikisync.api.exchange import (
    NOT_THE_API_HINT,
    PROXY_HINT,
    Answer,
    PermissionLacked,
    Purpose,
    UnknownRoute,
    not_the_api,
    violation,
)
from wikisync.core.decoding import json_decoder
from wikisync.core.terminal import CHARS_MAX, one_line

MESSAGE_DEPTH_MAX = 4
TITLE_WITHIN_BYTES = 16 * 1024
TITLE_CHARACTERS_MAX = 100
NAMESPACE_PREFIX = "project_namespace."
NAMELESS_FIELDS = frozenset({"base", "error"})
NEW_ACCESS = (
    "create a personal access token with the scope read_api (api for writing) and"
)
AUTHENTICATION_HINT = f"{NEW_ACCESS} set WIKISYNC_TOKEN to it"
TOKEN_HINT = f"{AUTHENTICATION_HINT}, or set token_file in wikisync.toml"
ACCESS_SOURCES = "WIKISYNC_TOKEN, the token file or token_command"
"""Where a token may have come from; the variable does not count beside a file that
the command names."""
WRITE_ROLE_HINT = (
    "writing needs the role Developer, deleting Maintainer; "
    "an archived project is read-only"
)
PROJECT_ROLE_HINT = (
    "editing a project needs the role Maintainer; archiving, deleting and restoring "
    "it Owner; an archived project is read-only"
)
GROUP_WIKI_HINT = (
    "group wikis need a paid tier of the service, version 13.5 or newer, "
    "and can be disabled in the group's settings"
)
IMPORT_HINT = (
    "omit import_url, or ask the administrator of the service; wikisync serve allows"
    " imports with --allow-imports-from HOST"
)
LIMIT_HINT = "wait and try again, or use this token in fewer programs"

E = TypeVar("E", bound=errors.RemoteError)
_FIELDS = json_decoder(dict[str, object])


def error_of(
    answer: Answer, purpose: Purpose, *, retry_after_s: float | None = None
) -> errors.RemoteError:
    """The error that an answer with a status other than success stands for."""
    status = answer.status
    wish = f"; it asks to wait {in_words(retry_after_s)}" if retry_after_s else ""
    if _is_of_gateway(answer, purpose):
        return _refused_in_front(answer, purpose)
    if status == HTTPStatus.UNAUTHORIZED:
        return _unauthorized(answer, purpose)
    if status == HTTPStatus.FORBIDDEN:
        return _forbidden(answer, purpose)
    if status == HTTPStatus.NOT_FOUND:
        return _not_found(answer, purpose)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return errors.RateLimited(
            f"cannot {purpose.action}: too many requests; {_quoted(answer)}{wish}",
            url=answer.url,
            status=status,
            retry_after_s=retry_after_s,
            hint=LIMIT_HINT,
            is_write=purpose.is_write,
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _TRANSIENT:
        text = said(answer)
        why = f"; it says: {text}" if text else ""
        name = one_line(answer.headers.get("x-request-id", ""))
        also = f"; find it in the service's log as request {name}" if name else ""
        return errors.Unavailable(
            f"cannot {purpose.action}: the service failed with {_named(status)}"
            f"{why}{wish}",
            url=answer.url,
            status=status,
            hint=f"try again later{also}",
        )
    if status >= HTTPStatus.BAD_REQUEST:
        return _rejected(answer, purpose)
    return violation(answer, purpose, f"unexpected status {_named(status)}")


def _made(
    kind: type[E], answer: Answer, purpose: Purpose, reason: str, hint: str | None
) -> E:
    return kind(
        f"cannot {purpose.action}: {reason}; {_quoted(answer)}",
        url=answer.url,
        status=answer.status,
        hint=hint,
    )


def _is_of_gateway(answer: Answer, purpose: Purpose) -> bool:
    """Whether a refusal is none that the service gives: its API refuses in JSON."""
    if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return True
    if answer.status not in _REFUSED_IN_FRONT:
        return False
    if purpose.about == "attachment" and not purpose.is_write:
        # git's side and the file route refuse in plain text, too
        return "html" in answer.content_type
    return not _fields(answer)


def _refused_in_front(answer: Answer, purpose: Purpose) -> errors.RefusedInFront:
    shown = _title_of(answer) or said(answer)
    what = f"{shown} ({_named(answer.status)})" if shown else _named(answer.status)
    hint = "a gateway, a filter or a sign-in page answered instead of the service"
    if purpose.is_write:
        hint += "; if it refuses only this change, the text may look like an attack"
    return errors.RefusedInFront(
        f"cannot {purpose.action}: a gateway in front of the service refused it:"
        f" {what}",
        url=answer.url,
        status=answer.status,
        hint=f"{hint}; this is not about the token: ask the administrator of the"
        f" gateway",
        what=what,
        is_write=purpose.is_write,
    )


def _title_of(answer: Answer) -> str:
    if "html" not in answer.content_type:
        return ""
    body = bytes(answer.body[:TITLE_WITHIN_BYTES]).decode("utf-8", "replace")
    found = re.search(r"<title\b[^>]*>([^<]*)", body, re.IGNORECASE)
    return one_line(unescape(found[1]))[:TITLE_CHARACTERS_MAX] if found else ""


def is_unknown_route(answer: Answer) -> bool:
    """Whether the service knows no such path, rather than no such object."""
    return answer.status == HTTPStatus.NOT_FOUND and (
        _fields(answer).get("error") == "404 Not Found"
    )


def said(answer: Answer) -> str:
    """What the service said in an error, on one line; empty for web pages."""
    if not answer.is_json:
        if answer.content_type != "text/plain":
            return ""
        return one_line(bytes(answer.body[: 4 * CHARS_MAX]).decode("utf-8", "replace"))
    fields = _fields(answer)
    described = [fields.get("error_description"), fields.get("message")]
    for value in (*described, fields.get("error")):
        if value:
            return one_line(_flattened(value))
    return ""


_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
_REFUSED_IN_FRONT = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.NOT_ACCEPTABLE,
    }
)

_PROJECT_COLLISION = (
    "it conflicts with something that already exists",
    "choose another name, path or namespace, or check what exists first",
)

_REFUSALS: Mapping[int, tuple[str, str]] = {
    HTTPStatus.METHOD_NOT_ALLOWED: (
        "the service does not allow it at this address",
        "",
    ),
    HTTPStatus.CONFLICT: (
        "it conflicts with another change",
        "check the page and repeat the change",
    ),
    HTTPStatus.GONE: (
        "the service no longer has this API",
        "wikisync uses version 4 of the API; ask the administrator of the service",
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "it is too large for the service",
        "make it smaller, or ask the administrator of the service to raise its limit",
    ),
    HTTPStatus.REQUEST_URI_TOO_LONG: (
        "its address is too long for the service",
        "give the page a shorter title or fewer directories",
    ),
}


def _rejected(answer: Answer, purpose: Purpose) -> errors.RemoteError:
    if "html" in answer.content_type and answer.status == HTTPStatus.BAD_REQUEST:
        return not_the_api(answer, purpose)
    reason, hint = _REFUSALS.get(answer.status, ("the service refused it", ""))
    if answer.status == HTTPStatus.CONFLICT and purpose.about == "project":
        reason, hint = _PROJECT_COLLISION
    if "moved project" in said(answer).lower():
        reason = "the project was moved to another path"
        hint = f"use its new path; see it with wikisync project show {purpose.owner}"
    return _made(errors.Rejected, answer, purpose, reason, hint or None)


def _unauthorized(answer: Answer, purpose: Purpose) -> errors.AuthenticationFailed:
    text = said(answer).lower()
    if not purpose.has_token:
        reason, hint = "no token is set, and the service requires one", TOKEN_HINT
    elif "expired" in text or "revoked" in text:
        is_expired = "expired" in text
        reason = "the token has expired" if is_expired else "the token was revoked"
        hint = f"create a new token and replace the old one in: {ACCESS_SOURCES}"
    else:
        reason = "the service does not know this token"
        hint = f"check {ACCESS_SOURCES}; or {NEW_ACCESS} put it there"
    return _made(errors.AuthenticationFailed, answer, purpose, reason, hint)


def _forbidden(answer: Answer, purpose: Purpose) -> errors.PermissionDenied:
    if _fields(answer).get("error") == "insufficient_granular_scope":
        named = ", ".join(re.findall(r"\[([^\[\]]+)\]", said(answer)))
        either = f"the permission {named} or " if named else ""
        return _made(
            PermissionLacked,
            answer,
            purpose,
            f"the token lacks the permission {named}".rstrip(),
            f"create a token with {either}the scope {_least(purpose)} and replace the"
            f" old one in: {ACCESS_SOURCES}",
        )
    return _made(
        errors.PermissionDenied, answer, purpose, *_forbidden_because(answer, purpose)
    )


def _forbidden_because(answer: Answer, purpose: Purpose) -> tuple[str, str]:
    fields = _fields(answer)
    if fields.get("error") == "insufficient_scope":
        return _scope_missing(str(fields.get("scope") or ""), purpose)
    if "import source" in said(answer).lower():
        return "the service does not allow imports from URLs", IMPORT_HINT
    if "account" in said(answer).lower():
        return (
            "the account of this token is blocked",
            "ask the administrator of the service",
        )
    if purpose.is_write and not purpose.has_token:
        return "no token is set, and changes require one", TOKEN_HINT
    if purpose.is_write:
        return (
            "this token may not change it",
            PROJECT_ROLE_HINT if purpose.about == "project" else WRITE_ROLE_HINT,
        )
    if purpose.about in {"wiki", "page"} and purpose.owner_kind == "group":
        return "its wiki is not available", GROUP_WIKI_HINT
    if purpose.about in {"wiki", "page"}:
        return (
            "its wiki is disabled or hidden from this token",
            "enable the wiki in the project's settings, or use a member's token",
        )
    return "this token may not see it", "use a token of a member"


def _scope_missing(named: str, purpose: Purpose) -> tuple[str, str]:
    """The service names its scopes for reading whatever was asked; one has those."""
    least = _least(purpose)
    scopes = [
        scope
        for scope in one_line(named).split()
        if not (purpose.is_write and scope.startswith("read_"))
    ]
    wanted = least if least in scopes or not scopes else scopes[0]
    lacked = (
        f"a scope (any of: {' '.join(scopes)})"
        if len(scopes) > 1
        else f"the scope {wanted}"
    )
    hint = f"create a token with the scope {wanted} and replace the old one in"
    return f"the token lacks {lacked}", f"{hint}: {ACCESS_SOURCES}"


def _least(purpose: Purpose) -> str:
    return "api" if purpose.is_write else "read_api"


def _not_found(answer: Answer, purpose: Purpose) -> errors.RemoteError:
    text = said(answer).lower()
    if not answer.is_json and purpose.about != "attachment":
        return not_the_api(answer, purpose)
    refusal = _owner_missing(answer, purpose, text)
    if refusal is None:
        reason, hint = _missing(answer, purpose, text)
        refusal = f"cannot {purpose.action}: {reason}", hint
    message, hint = refusal
    kind = UnknownRoute if is_unknown_route(answer) else errors.NotFound
    return kind(message, url=answer.url, status=answer.status, hint=hint)


def _owner_missing(
    answer: Answer, purpose: Purpose, text: str
) -> tuple[str, str] | None:
    """What to say, in a whole sentence, where the owner or user is not there."""
    is_owner_missing = "project" in text or "group" in text
    is_page = "wiki page" in text or (purpose.about == "page" and not is_owner_missing)
    if purpose.about == "attachment" or is_unknown_route(answer) or is_page:
        return None
    is_named = text not in _VAGUE and "project" not in text
    if not purpose.owner or (purpose.about == "project" and is_named):
        return None
    kind = "user" if purpose.about == "user" else purpose.owner_kind or "project"
    missing = f"{kind} {purpose.owner}"
    if purpose.others and "project" not in text:
        missing += f" or {purpose.others}"
    hint = (
        "check its path; the token may also not be allowed to see it"
        if purpose.has_token
        else "check its path; if it is private, set WIKISYNC_TOKEN"
    )
    return f"{missing} does not exist or is hidden", hint


def _missing(answer: Answer, purpose: Purpose, text: str) -> tuple[str, str]:
    if purpose.about == "attachment":
        # the web side names no object in its errors
        return "there is no such file", "check the pages that link to it"
    if is_unknown_route(answer):
        if purpose.owner_kind == "group" and purpose.about in {"wiki", "page"}:
            return "this service has no group wikis", GROUP_WIKI_HINT
        hint = PROXY_HINT if "/" in purpose.owner else NOT_THE_API_HINT
        return "the service knows no such address", hint
    if purpose.about == "page" or "wiki page" in text:
        return "there is no such page", "list the pages to see the slugs"
    if purpose.about == "project" and text not in _VAGUE:
        return (
            f"the service answers: {said(answer)}",
            "check the names and ids given; this token may also not see them",
        )
    return "the service does not have it", NOT_THE_API_HINT


_VAGUE = frozenset({"", "404 not found", "not found"})


def _quoted(answer: Answer) -> str:
    text = said(answer)
    return f"it says: {text}" if text else f"status {answer.status}"


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _fields(answer: Answer) -> Mapping[str, object]:
    if not answer.is_json:
        return {}
    try:
        return _FIELDS.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _flattened(value: object, depth: int = 0) -> str:
    """A message in any of its shapes as one sentence; ``base`` names no field."""
    if depth > MESSAGE_DEPTH_MAX:
        return "…"
    if isinstance(value, list):
        return ", ".join(_flattened(part, depth + 1) for part in value)
    if not isinstance(value, Mapping):
        return str(value)
    parts = [
        (name, _flattened(part, depth + 1))
        for name, part in value.items()
        # the service says of a project's namespace what it says of the project
        if value.get(str(name).removeprefix(NAMESPACE_PREFIX)) != part
        or not str(name).startswith(NAMESPACE_PREFIX)
    ]
    return "; ".join(
        text if name in NAMELESS_FIELDS else f"{name} {text}" for name, text in parts
    )


def in_words(seconds: float) -> str:
    """A time to wait for people: seconds below two minutes, else larger units."""
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"

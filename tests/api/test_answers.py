"""What each status and each body of the service becomes."""

import json
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from wikisync import errors
from wikisync.api import exchange
from wikisync.api.refusals import error_of, said
from wikisync.contract.schema import WikiPageRecord
from wikisync.errors import (
    AuthenticationFailed,
    NotFound,
    PermissionDenied,
    ProtocolViolation,
    RateLimited,
    RefusedInFront,
    Rejected,
    RemoteError,
    Unavailable,
)

URL = "https://gitlab.example.com/api/v4/x"
JSON = "application/json"
LIST = exchange.Purpose("list the pages of project a/b", "wiki", "project", "a/b")
GROUP_LIST = exchange.Purpose("list the pages of group g", "wiki", "group", "g")
PAGE = exchange.Purpose("read page home of project a/b", "page", "project", "a/b")
EDIT = replace(PAGE, action="edit page home of project a/b", is_write=True)
PROJECT = exchange.Purpose("read project a/b", "project", "project", "a/b")
PROJECT_OR_GROUP = replace(PROJECT, others="group 5")
SERVICE = exchange.Purpose("read the version")


def answer(status: int, body: object, content_type: str = JSON) -> exchange.Answer:
    encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
    return exchange.Answer(status, {"content-type": content_type}, encoded, URL)


@pytest.mark.parametrize(
    ("purpose", "text", "sentence", "hint"),
    [
        (LIST, "404 Project Not Found", "project a/b", "may also not be allowed"),
        (
            replace(LIST, has_token=False),
            "404 Project Not Found",
            "project a/b",
            "if it is private, set WIKISYNC_TOKEN",
        ),
        (PAGE, "404 Project Not Found", "project a/b", "check its path"),
        (PROJECT, "404 Not Found", "project a/b", "check its path"),
        (GROUP_LIST, "404 Group Not Found", "group g", "check its path"),
        (PROJECT_OR_GROUP, "404 Not Found", "project a/b or group 5", "check its path"),
    ],
)
def test_missing_owner_is_named_once_in_one_sentence(
    purpose: exchange.Purpose, text: str, sentence: str, hint: str
) -> None:
    failed = error_of(answer(404, {"message": text}), purpose)
    assert type(failed) is NotFound
    assert failed.message == f"{sentence} does not exist or is hidden"
    assert hint in (failed.hint or "")


PURPOSES = {
    "list": LIST,
    "group list": GROUP_LIST,
    "page": PAGE,
    "edit": EDIT,
    "edit without a token": replace(EDIT, has_token=False),
    "project": PROJECT,
    "new project": replace(PROJECT, is_write=True),
    "service": SERVICE,
    "service without a token": replace(SERVICE, has_token=False),
}
KINDS = {**vars(errors), **vars(exchange)}


def refusal_of(block: str) -> tuple[Any, ...]:
    """What was asked for, status and body of the answer; our error and next step."""
    asked, failed, *hint = block.split("\n  ")
    purpose, status, body = re.split(r" (\d+) ", asked, maxsplit=1)
    kind, reason = failed.split(": ", 1)
    hints = [one.removeprefix("hint: ") for one in hint]
    return PURPOSES[purpose], int(status), body.encode(), KINDS[kind], reason, *hints


REFUSALS = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "block", re.split(r"\n(?=\S)", REFUSALS.replace("\n    ", " ").strip())
)
def test_statuses_become_errors_that_say_what_to_do(block: str) -> None:
    purpose, status, body, kind, reason, *hints = refusal_of(block)

    failed = error_of(answer(status, body), purpose)

    assert type(failed) is kind
    assert failed.message.startswith(f"cannot {purpose.action}: ")
    assert reason in failed.message
    assert all(hint in (failed.hint or "") for hint in hints)
    assert (failed.status, failed.url) == (status, URL)


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (404, b"<html>nginx", ProtocolViolation, "not a GitLab-compatible API"),
        (400, b"<html>nginx", ProtocolViolation, "not a GitLab-compatible API"),
        (413, b"<html>nginx", Rejected, "too large for the service; status 413"),
        (502, b"<html>nginx", Unavailable, "failed with 502 Bad Gateway"),
    ],
)
def test_web_pages_in_place_of_errors_are_not_quoted(
    status: int, body: bytes, kind: type[RemoteError], message: str
) -> None:
    failed = error_of(answer(status, body, "text/html; charset=utf-8"), LIST)
    assert type(failed) is kind
    assert message in failed.message
    assert "nginx" not in failed.message


BLOCKED = b"<html><head><TITLE>\n Request &amp; Rejected </TITLE></head><body>no</body>"
GIT = exchange.Purpose(
    "read the git repository of the wiki of project a/b", "attachment"
)


@pytest.mark.parametrize("purpose", [LIST, EDIT, SERVICE, GIT])
@pytest.mark.parametrize("status", [401, 403, 405, 406, 407])
def test_a_refusal_that_is_no_json_is_of_something_in_front(
    status: int, purpose: exchange.Purpose
) -> None:
    """It says nothing of the token, which a person would change in vain."""
    failed = error_of(answer(status, BLOCKED, "text/html; charset=utf-8"), purpose)

    assert isinstance(failed, RefusedInFront)
    assert isinstance(failed, Unavailable)
    name = f"{status} {HTTPStatus(status).phrase}"
    assert failed.message == (
        f"cannot {purpose.action}: a gateway in front of the service refused it:"
        f" Request & Rejected ({name})"
    )
    assert failed.is_write is purpose.is_write
    assert "not about the token" in (failed.hint or "")


@pytest.mark.parametrize(
    ("body", "content_type", "what"),
    [
        (b"", "", "403 Forbidden"),
        (b"", "application/json", "403 Forbidden"),
        (b"<html>nginx", "text/html", "403 Forbidden"),
        (b"<title></title>", "text/html", "403 Forbidden"),
        (b"<title>\x1b[1mA\xff</title>", "text/html", "[1mA\ufffd (403 Forbidden)"),
        (b"denied", "text/plain", "denied (403 Forbidden)"),
        (b"[]", "application/json", "403 Forbidden"),
    ],
)
def test_what_refused_is_named_as_far_as_it_says(
    body: bytes, content_type: str, what: str
) -> None:
    failed = error_of(answer(403, body, content_type), LIST)
    assert isinstance(failed, RefusedInFront)
    assert failed.message.endswith(f"in front of the service refused it: {what}")


@pytest.mark.parametrize(
    ("status", "kind"), [(401, AuthenticationFailed), (403, PermissionDenied)]
)
def test_git_refuses_in_plain_text(status: int, kind: type[RemoteError]) -> None:
    failed = error_of(answer(status, b"HTTP Basic: Access denied", "text/plain"), GIT)
    assert type(failed) is kind


def test_a_failure_tells_how_long_the_service_asks_to_wait() -> None:
    failed = error_of(answer(503, b"", "text/html"), LIST, retry_after_s=3600.0)
    assert failed.message.endswith("; it asks to wait 60 minutes")


def test_a_rate_limit_as_plain_text_is_quoted_and_keeps_its_pause() -> None:
    failed = error_of(
        answer(429, b"Retry later\n", "text/plain"), LIST, retry_after_s=7.0
    )

    assert isinstance(failed, RateLimited)
    assert failed.retry_after_s == 7.0
    assert failed.message.endswith("it says: Retry later; it asks to wait 7 s")


def test_a_failure_names_the_request_in_the_log_of_the_service() -> None:
    crashed = answer(500, {"message": "500"})
    crashed = replace(crashed, headers={**crashed.headers, "x-request-id": "01ABC"})
    assert "request 01ABC" in (error_of(crashed, LIST).hint or "")


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"", JSON, ""),
        (b"null", JSON, ""),
        (b"[1]", JSON, ""),
        (b"{", JSON, ""),
        (b'{"message":"\xff"}', JSON, ""),
        (b"[" * 100_000, JSON, ""),
        (b'{"message":null,"error":"e"}', JSON, "e"),
        (b'{"message":5}', JSON, "5"),
        (b'{"message":{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}}', JSON, "a b c d e …"),
        (b'{"message":"a\\n\\u001b[31mb\\u202e  c"}', JSON, "a [31mb c"),
        (b"a\xffb\r\n", "text/plain", "a�b"),
        (b"x" * 1000, "text/plain", "x" * 299 + "…"),
        (b"{}", "application/problem+json", ""),
        (b"x", "image/png", ""),
        (b"x", "", ""),
    ],
)
def test_words_of_the_service_are_one_safe_line(
    body: bytes, content_type: str, text: str
) -> None:
    assert said(answer(400, body, content_type)) == text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the answer is empty"),
        (b"null", "another shape: expected `array`, got `null`"),
        (b"{}", "another shape: expected `array`, got `object`"),
        (b'[{"slug":"a"},{"format":"org"}]', "required field `slug` - at `$[1]`"),
        (b'[{"slug":7}]', "expected `str`, got `int` - at `$[0].slug`"),
        (b'[{"slug":"\xff"}]', "the JSON is not UTF-8"),
        (b"[}", "the JSON is wrong: invalid character"),
        (b'[{"slug":"a","front_matter":' + b'{"a":' * 100_000, "nested too deep"),
    ],
)
def test_a_success_of_the_wrong_shape_is_named(body: bytes, message: str) -> None:
    with pytest.raises(ProtocolViolation) as failed:
        exchange.decode(answer(200, body), tuple[WikiPageRecord, ...], LIST)
    assert message in failed.value.message
    assert URL in failed.value.message


@pytest.mark.parametrize("content_type", [JSON, "text/html", ""])
def test_a_success_without_a_body_is_empty(content_type: str) -> None:
    with pytest.raises(ProtocolViolation, match="the answer is empty"):
        exchange.decode(answer(200, b"", content_type), list[WikiPageRecord], LIST)


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", ""])
def test_a_success_that_is_not_json_is_no_api(content_type: str) -> None:
    with pytest.raises(ProtocolViolation, match="not a GitLab-compatible API"):
        exchange.decode(answer(200, b"[]", content_type), list[WikiPageRecord], LIST)


@pytest.mark.parametrize(
    "content_type", ["text/plain; charset=utf-8", "application/octet-stream", ""]
)
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_records_are_read_though_a_proxy_took_their_content_type(
    content_type: str, kind: type[bytes | bytearray]
) -> None:
    """Long answers grow in an array of bytes."""
    body = kind(b' [{"slug":"a"}]')
    unmarked = replace(answer(200, b"", content_type), body=body)
    found = exchange.decode(unmarked, list[WikiPageRecord], LIST)
    assert [page.slug for page in found] == ["a"]


def test_a_web_page_is_no_record_whatever_it_holds() -> None:
    with pytest.raises(ProtocolViolation, match="not a GitLab-compatible API"):
        exchange.decode(
            answer(200, b'[{"slug":"a"}]', "text/html"), list[WikiPageRecord], LIST
        )


@pytest.mark.parametrize("size", [1, 10, 15, 17, 18])
def test_json_that_ends_early_is_cut(size: int) -> None:
    whole = b'[{"slug":"a/b \xc3\xa9"}]'
    with pytest.raises(exchange.CutAnswer) as cut:
        exchange.decode(answer(200, whole[:size]), list[WikiPageRecord], LIST)
    said = f"cannot {LIST.action}: the response was truncated after {size} bytes"
    assert (cut.value.message, cut.value.status) == (said, 200)
    assert cut.value.url == URL


def test_unknown_keys_are_ignored_and_absent_ones_survive() -> None:
    body = [{"slug": "a", "format": "creole", "new_key": {"deep": [1]}}]
    (page,) = exchange.decode(answer(200, body), list[WikiPageRecord], LIST)
    assert page == WikiPageRecord(slug="a", format="creole")


def test_records_are_decoded_one_by_one() -> None:
    records = exchange.decode_each(
        answer(200, [{"slug": "a"}, {"slug": 5}]), WikiPageRecord, LIST
    )

    assert next(records).slug == "a"
    with pytest.raises(ProtocolViolation, match="another shape"):
        next(records)


@pytest.mark.parametrize("body", [b"null", b"{}", b"[]", b'"home"', b'{"slug":null}'])
def test_a_write_answered_without_a_page_is_a_refusal(body: bytes) -> None:
    """Success with ``null`` is how the service answers a rename onto a page."""
    with pytest.raises(Rejected, match="did not return the page") as failed:
        exchange.decode_written(answer(200, body), WikiPageRecord, EDIT)
    assert "another page may have that title" in (failed.value.hint or "")


def test_a_write_answered_with_half_a_page_may_have_been_made() -> None:
    with pytest.raises(exchange.CutAnswer) as failed:
        exchange.decode_written(answer(200, b'{"slug":'), WikiPageRecord, EDIT)
    assert "may have been made" in (failed.value.hint or "")


def test_a_written_page_is_its_record() -> None:
    body = {"slug": "a", "content": "x"}
    page = exchange.decode_written(answer(201, body), WikiPageRecord, EDIT)
    assert msgspec.to_builtins(page)["content"] == "x"

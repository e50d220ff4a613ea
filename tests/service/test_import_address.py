"""Addresses of imports: what is refused, and what is shown of the others."""

from __future__ import annotations

import pytest

from wikisync.service.import_address import (
    ADDRESS_CHARS_MAX,
    address_problem,
    is_same_server,
    shown,
    without_user,
)

SCHEMES = frozenset({"http", "https"})
INVALID = "is blocked: URI is invalid"
HOSTLESS = "is blocked: Hostname or IP address invalid"
SCHEME = "is blocked: Only allowed schemes are http, https"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://example.com/x.git", None),
        ("HTTPS://example.com/x.git", None),
        ("http://u:p@127.0.0.1:8080/x.git?a=b", None),
        ("http://[::1]/x.git", None),
        ("http://[::1/x.git", INVALID),
        ("http://example.com:port/x", INVALID),
        ("http://example.com:99999/x", INVALID),
        ("http://example.com/\r\nHost: x", INVALID),
        ("http://exa\tmple.com/", INVALID),
        ("http://example.com/a b", INVALID),
        ("http://example.com/\x00", INVALID),
        ("http://example.com/" + "x" * ADDRESS_CHARS_MAX, INVALID),
        ("example.com/x.git", INVALID),
        ("/etc", INVALID),
        ("http:///x.git", HOSTLESS),
        ("http://user:p@/x.git", HOSTLESS),
        ("file:///etc", SCHEME),
        ("ssh://git@example.com/x", SCHEME),
        ("javascript:alert(1)", SCHEME),
    ],
)
def test_address_is_refused_in_the_services_words(
    address: str, problem: str | None
) -> None:
    assert address_problem(address, SCHEMES) == problem


def test_folder_needs_no_host() -> None:
    assert address_problem("file:///srv/x.git", {"file"}) is None


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://example.com/x.git", "https://example.com/x.git"),
        ("https://u:secret@example.com:1/x.git", "https://example.com:1/x.git"),
        ("https://secret@example.com/x", "https://example.com/x"),
        ("https://u:se@secret@example.com/x", "https://example.com/x"),
        ("https://example.com/x?token=secret#secret", "https://example.com/x"),
        ("http://[::1", ""),
        ("12", ""),
    ],
)
def test_shown_address_holds_no_secret(address: str, text: str) -> None:
    assert shown(address) == text


@pytest.mark.parametrize(
    ("address", "bare", "user"),
    [
        ("http://h/x?a=b", "http://h/x?a=b", None),
        ("http://u:p%40%2F@h/x", "http://h/x", ("u", "p@/")),
        ("http://token@h/x", "http://h/x", ("token", "")),
        ("http://:p@h/x#f", "http://h/x", ("", "p")),
    ],
)
def test_user_and_password_are_taken_out_and_decoded(
    address: str, bare: str, user: tuple[str, str] | None
) -> None:
    assert without_user(address) == (bare, user)


@pytest.mark.parametrize(
    ("address", "other", "is_same"),
    [
        ("http://h/x", "http://h/y.git", True),
        ("http://h:8080/x", "http://h:8080/y", True),
        ("http://h/x", "https://h/x", True),
        ("http://h:80/x", "https://h:443/x", True),
        ("https://H/x", "https://h/x", True),
        ("https://h/x", "http://h/x", False),
        ("http://h/x", "http://h:8080/x", False),
        ("http://h/x", "https://h:8443/x", False),
        ("http://h/x", "http://other/x", False),
        ("http://h/x", "http://h.other/x", False),
        ("http://h/x", "http://[::1", False),
    ],
)
def test_password_is_for_the_same_server_only(
    address: str, other: str, is_same: bool
) -> None:
    assert is_same_server(address, other) is is_same

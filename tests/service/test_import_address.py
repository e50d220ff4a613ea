"""Addresses of imports: what is refused, and what is shown of the others."""

import pytest

from wikisync.service import import_fetch

SCHEMES = frozenset({"http", "https"})
INVALID = "is blocked: URI is invalid"
HOSTLESS = "is blocked: Hostname or IP address invalid"
DENIED = (
    "is blocked: Requests to hosts and IP addresses not on the Allow List are denied"
)
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
        ("http://example.com/" + "x" * import_fetch.ADDRESS_CHARS_MAX, INVALID),
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
    assert import_fetch.address_problem(address, SCHEMES) == problem


def test_folder_needs_no_host() -> None:
    assert import_fetch.address_problem("file:///srv/x.git", {"file"}) is None


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
    assert import_fetch.shown(address) == text


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
    assert import_fetch.without_user(address) == (bare, user)


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("https://git.example.com/x.git", True),
        ("http://GIT.example.com:8080/x.git", True),
        ("http://127.0.0.1:8080/x.git", True),
        ("http://u:p@127.0.0.1:8080/x.git", True),
        ("https://[::1]/x.git", True),
        ("http://127.0.0.1/x.git", False),
        ("http://127.0.0.1:8081/x.git", False),
        ("http://2130706433:8080/x.git", False),
        ("http://git.example.com.evil.example/x.git", False),
        ("http://git.example.com@evil.example/x.git", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("http://localhost/x.git", False),
    ],
)
def test_only_servers_that_are_named_may_be_asked(
    address: str, is_allowed: bool
) -> None:
    hosts = {"Git.example.com", "127.0.0.1:8080", "::1"}
    problem = import_fetch.address_problem(address, SCHEMES, hosts)
    assert problem == (None if is_allowed else DENIED)

"""Which addresses lead to one server."""

import pytest

from wikisync.core.origin import Origin, is_same_origin, origin_of


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Example.com/a", ("https", "example.com", 443)),
        ("http://example.com:80", ("http", "example.com", 80)),
        ("http://user:word@example.com:8080/", ("http", "example.com", 8080)),
        ("https://[::1]:1/", ("https", "::1", 1)),
        ("https://example.com:0/", ("https", "example.com", 0)),
    ],
)
def test_origin_has_scheme_host_and_port(
    address: str, origin: tuple[str, str, int]
) -> None:
    assert origin_of(address) == Origin(*origin)


@pytest.mark.parametrize(
    "address",
    [
        *("", "/relative", "//example.com/", "file:///etc/passwd"),
        *("git://example.com/x", "https://", "https://example.com:port/"),
        *("https://example.com:99999/", "https://[::1"),
        *("https://evil.example\\@example.com/", "https://exam\tple.com/"),
        *("https://example.com/\n", "https://example.com /"),
    ],
)
def test_address_that_can_be_read_in_two_ways_is_of_no_server(address: str) -> None:
    assert origin_of(address) is None
    assert not is_same_origin(address, address)

"""Web addresses: which server one leads to, and which may be written.  Pure.

The one place that decides whether two addresses lead to the same server, and whether an
address that a service sent may stand in a site, on a terminal or in a file.
"""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Scheme, host and port: what browsers mean by an origin."""

    scheme: str
    host: str
    """In lower case; an IPv6 address without its brackets."""
    port: int


def origin_of(address: str) -> Origin | None:
    """The origin of an http or https address; None for anything else.

    Addresses that libraries read in different ways have none: those with spaces,
    control characters (``urlsplit`` drops some silently) or backslashes.
    """
    if not address.isprintable() or " " in address or "\\" in address:
        return None
    # a service sends thousands that begin alike, and no path has a say in it
    end = address.find("/", len("https://"))
    return _origin(address if end < 0 else address[:end])


@lru_cache
def _origin(address: str) -> Origin | None:
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname
    except ValueError:
        return None
    usual_port = DEFAULT_PORTS.get(parts.scheme)
    if usual_port is None or not host:
        return None
    return Origin(parts.scheme, host, usual_port if port is None else port)


def web_address(address: str) -> str:
    """An address that somebody sent, if it is one of http or https; else empty."""
    return address if origin_of(address) else ""


def is_same_origin(address: str, other: str) -> bool:
    """Whether both addresses have one scheme, host and port."""
    ours = origin_of(address)
    return ours is not None and ours == origin_of(other)

"""Addresses that repositories are imported from: checked, and shown.  Pure.

An address may hold a password or a token.  ``shown`` is the only form of it
that may stand in an answer, an error or a log.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from wikisync.origin import origin_of

ADDRESS_CHARS_MAX = 2048
_BLOCKED = "is blocked: "
_NOT_ALLOWED = "Requests to hosts and IP addresses not on the Allow List are denied"
HOSTLESS = frozenset({"file"})


def address_problem(
    address: str, schemes: Collection[str], hosts: Collection[str] | None = None
) -> str | None:
    """What is wrong with an address, in the service's words; None if nothing.

    Args:
        address: as it was sent.
        schemes: those that are allowed.
        hosts: servers that are allowed, ``name`` or ``name:port``; None for all.
    """
    parts = _parts(address)
    if parts is None:
        return f"{_BLOCKED}URI is invalid"
    if parts.scheme not in schemes:
        allowed = ", ".join(sorted(schemes))
        return f"{_BLOCKED}Only allowed schemes are {allowed}"
    if not parts.hostname:
        if parts.scheme in HOSTLESS:
            return None
        return f"{_BLOCKED}Hostname or IP address invalid"
    origin = origin_of(address)
    names = {parts.hostname, f"{parts.hostname}:{origin.port if origin else ''}"}
    if hosts is not None and names.isdisjoint(host.lower() for host in hosts):
        return f"{_BLOCKED}{_NOT_ALLOWED}"
    return None


def shown(address: str) -> str:
    """An address without user, password, query and fragment.

    What cannot be taken apart is not shown at all.
    """
    parts = _parts(address)
    if parts is None:
        return ""
    bare = parts._replace(netloc=_host(parts), query="", fragment="")
    return urlunsplit(bare)


def has_query(address: str) -> bool:
    """Whether a query is part of an address."""
    parts = _parts(address)
    return parts is not None and bool(parts.query)


def without_user(address: str) -> tuple[str, tuple[str, str] | None]:
    """An address to ask for, and the user and password that were in it."""
    parts = _parts(address)
    assert parts is not None, "an address was checked when it was sent"
    bare = urlunsplit(parts._replace(netloc=_host(parts), fragment=""))
    if parts.username is None and parts.password is None:
        return bare, None
    return bare, (unquote(parts.username or ""), unquote(parts.password or ""))


def _host(parts: SplitResult) -> str:
    # a password may hold an @ of its own, so the last one ends it
    return parts.netloc.rpartition("@")[2]


def _parts(address: str) -> SplitResult | None:
    """The address taken apart; None for what is no address.

    ``urlsplit`` drops tabs and line ends silently, and those forge requests.
    """
    if len(address) > ADDRESS_CHARS_MAX or not address.isprintable() or " " in address:
        return None
    try:
        parts = urlsplit(address)
        # read for what it raises where the port is no number
        _port = parts.port
    except ValueError:
        return None
    return parts if parts.scheme else None

"""Addresses that repositories are imported from: checked, and shown.  Pure.

An address may hold a password or a token.  ``shown`` is the only form of it
that may stand in an answer, an error or a log.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from wikisync.origin import DEFAULT_PORTS, origin_of

ADDRESS_CHARS_MAX = 2048
_BLOCKED = "is blocked: "
HOSTLESS = frozenset({"file"})
LOCALHOST = "localhost"
_TRANSLATED = (ip_network("64:ff9b::/96"), ip_network("::/96"))
"""NAT64, and the IPv6 addresses that were once compatible with IPv4."""
_OWN = (ip_network("64:ff9b:1::/48"), ip_network("fec0::/10"))
"""NAT64 of one's own network, and site-local addresses."""


def address_problem(
    address: str, schemes: Collection[str], *, allows_private: bool = True
) -> str | None:
    """What is wrong with an address, in the service's words; None if nothing.

    A name is not resolved here: what it means is seen when it is fetched from.

    Args:
        address: as it was sent.
        schemes: those that are allowed.
        allows_private: whether it may be of this machine or a private network.
    """
    parts = _parts(address)
    if parts is None:
        return f"{_BLOCKED}URI is invalid"
    if parts.scheme not in schemes:
        allowed = ", ".join(sorted(schemes))
        return f"{_BLOCKED}Only allowed schemes are {allowed}"
    if not parts.hostname and parts.scheme not in HOSTLESS:
        return f"{_BLOCKED}Hostname or IP address invalid"
    network = blocked_network(parts.hostname or "")
    if network is not None and not allows_private:
        return f"{_BLOCKED}Requests to {network} are not allowed"
    return None


def blocked_network(host: str) -> str | None:
    """The network that a host is in, if it is not one for imports; None for a name.

    An IPv4 address is found in every IPv6 address that leads to one: mapped,
    translated (NAT64), 6to4 and Teredo.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return LOCALHOST
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    inner = [address, *_ipv4_inside(address)]
    if any(one.is_loopback or one.is_unspecified for one in inner):
        return LOCALHOST
    if any(one.is_link_local for one in inner):
        return "the link local network"
    is_own = any(address in network for network in _OWN)
    if is_own or any(not one.is_global or one.is_multicast for one in inner):
        return "the local network"
    return None


def _ipv4_inside(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in _TRANSLATED):
        found.append(IPv4Address(address.packed[-4:]))
    return [one for one in found if one is not None]


def shown(address: str) -> str:
    """An address without user, password, query and fragment.

    What cannot be taken apart is not shown at all.
    """
    parts = _parts(address)
    if parts is None:
        return ""
    bare = parts._replace(netloc=_host(parts), query="", fragment="")
    return urlunsplit(bare)


def without_user(address: str) -> tuple[str, tuple[str, str] | None]:
    """An address to ask for, and the user and password that were in it."""
    parts = _parts(address)
    assert parts is not None, "an address was checked when it was sent"
    bare = urlunsplit(parts._replace(netloc=_host(parts), fragment=""))
    if parts.username is None and parts.password is None:
        return bare, None
    return bare, (unquote(parts.username or ""), unquote(parts.password or ""))


def is_same_server(address: str, other: str) -> bool:
    """Whether a password for one address is for another, too.

    The same server, or the same host where it begins to encrypt.
    """
    ours, theirs = origin_of(address), origin_of(other)
    if ours is None or theirs is None or ours.host != theirs.host:
        return False
    if ours == theirs:
        return True
    is_encrypted = theirs.scheme == "https" and ours.scheme == "http"
    return is_encrypted and theirs.port in {DEFAULT_PORTS["https"], ours.port}


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

"""The HTTP proxy between this machine and the service, from the environment.

``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` as curl reads them, in
lower case first.  As in Go, a service on this machine is never asked through a proxy.
"""

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from msgspec import Struct

from wikisync.api.address import ServiceAddress
from wikisync.errors import UsageError


class Proxy(Struct, frozen=True):
    """Where to connect to instead of the service."""

    variable: str
    """The environment variable that names it."""
    url: str
    """Scheme, host and port; without user information."""
    address: str
    """The URL with its user information, for git's library; never shown."""
    headers: Mapping[str, str]
    """What the proxy asks for: name and password, where its URL has them."""


def proxy_for(address: ServiceAddress) -> Proxy | None:
    """The proxy that the environment names for a service, or None."""
    if address.is_loopback:
        return None
    return named_proxy(address.scheme, f"{address.host}:{address.port}")


def named_proxy(scheme: str, host: str) -> Proxy | None:
    """The proxy that the environment names for a host; or UsageError, no password."""
    if proxy_bypass(host):
        return None
    variables = getproxies_environment()
    kind = scheme if scheme in variables else "all"
    if kind not in variables:
        return None
    text, variable = variables[kind], f"{kind.upper()}_PROXY"
    try:
        # without a scheme it is HTTP, as curl takes it
        parts = urlsplit(text if "://" in text else f"http://{text}")
        _ = parts.port
    except ValueError:
        raise _unusable(variable, "is not a URL") from None
    if not parts.hostname:
        raise _unusable(variable, "names no host")
    if parts.scheme not in {"http", "https"}:
        raise _unusable(variable, f"has the scheme {parts.scheme}")
    login, at, authority = parts.netloc.rpartition("@")
    encoded = b64encode(unquote(login).encode()).decode()
    return Proxy(
        variable=variable,
        url=f"{parts.scheme}://{authority}",
        address=f"{parts.scheme}://{login}{at}{authority}",
        headers={"Proxy-Authorization": f"Basic {encoded}"} if at else {},
    )


def _unusable(variable: str, reason: str) -> UsageError:
    return UsageError(
        f"the proxy in {variable} cannot be used: its value {reason}",
        hint=f"set {variable} to a URL like http://proxy.example.com:3128, or add the"
        f" service's host to NO_PROXY",
    )

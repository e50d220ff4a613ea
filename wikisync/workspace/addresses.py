"""What an address from the clipboard leads to: a service, or a wiki on one.

Which part of it is the service is found by asking, always without the token: a token
never goes to an address that is not this API.
"""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from msgspec import Struct

from wikisync import errors
from wikisync.api.address import ServiceAddress, shown_address
from wikisync.api.client import Client
from wikisync.api.settings import ClientSettings

ATTEMPTS_MAX = 2
"""How often a service is asked that nobody has seen yet."""
SUBPATHS_MAX = 3
"""Folders of an address below which a service is searched for."""

Notify = Callable[[str], None] | None
"""Hears a sentence where something is waited for."""


class Target(Struct, frozen=True):
    """What an address leads to."""

    service: str
    """Base URL of the service as it stands in a configuration."""
    path: str = ""
    """Path of the project or group whose page it is; empty for the service itself."""


async def find_target(url: str, notify: Notify = None) -> Target:
    """The service that an address belongs to, and the wiki that it names."""
    bare = url.partition("?")[0].partition("#")[0]
    if "/-/" not in bare:
        root = str(ServiceAddress.parse(bare)).rstrip("/")
        if await probe(root, notify) is not None:
            return Target(root)
    for service, path in addresses_in(bare):
        root = str(ServiceAddress.parse(service)).rstrip("/")
        if await probe(root, notify) is not None:
            return Target(root, path)
    raise errors.UsageError(
        f"{shown_address(url)} does not answer as a GitLab-compatible service",
        hint="give the address that you open in the browser before you sign in,"
        " like https://gitlab.example.com, or that of a wiki",
    )


def may_name_wiki(url: str) -> bool:
    """Whether an address has a path, which may be that of a project or group."""
    return bool(urlsplit(url).path.strip("/"))


async def probe(url: str, notify: Notify) -> str | None:
    """The version at this address, empty if it is kept back; None for no service."""
    async with client_at(url, None, notify) as client:
        try:
            return (await client.version()).version
        except errors.AuthenticationFailed:
            return ""
        except errors.RefusedInFront as error:
            if error.status and error.status < HTTPStatus.BAD_REQUEST:
                return None  # so does the service's web side with an unknown address
            raise
        except (errors.NotFound, errors.ProtocolViolation):
            return None


def addresses_in(url: str) -> Sequence[tuple[str, str]]:
    """What an address may be made of: a service, and a path on it.

    >>> addresses_in("https://h/git/docs/handbook")[0]
    ('https://h', 'git/docs/handbook')
    """
    parts = urlsplit(url)
    names = [name for name in parts.path.partition("/-/")[0].split("/") if name]
    found = []
    for count in range(min(len(names), SUBPATHS_MAX + 1)):
        path = "/".join(names[count:]).removesuffix(".git").removesuffix(".wiki")
        service = "/".join([f"{parts.scheme}://{parts.netloc}", *names[:count]])
        found.append((service, path.removeprefix("groups/")))
    return found


def client_at(url: str, token: str | None, notify: Notify) -> Client:
    """A client for a service that nobody has seen yet, still to be entered."""
    settings = ClientSettings(attempts_max=ATTEMPTS_MAX)
    return Client(url, token, settings=settings, notify=notify)

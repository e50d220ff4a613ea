"""Where the service is: its base URL, taken apart once and checked.  Pure.

Paths come percent-encoded from ``routes`` and stay so: libraries that normalise a URL
take ``%2F`` and ``..`` apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from wikisync.contract.routes import API_PREFIX, encode_segment
from wikisync.core.model import WikiOwner
from wikisync.core.origin import DEFAULT_PORTS, is_same_origin
from wikisync.errors import UsageError

if TYPE_CHECKING:
    from yarl import URL

EXAMPLE = "https://gitlab.example.com"
EXAMPLE_PATH = "docs/handbook"
LOOPBACK_HOSTS = ("localhost", "127.", "[::1]")
_PLAIN = re.compile(
    r"https?://[a-z0-9][a-z0-9.-]*(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
    r"(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*/*"
)
"""Addresses that are normal as they stand, which are most.  For them alone yarl need
not be loaded; it takes longer than asking such a service."""


class ServiceAddress(Struct, frozen=True):
    """The root of a service; holds no user information, query or fragment."""

    scheme: str
    host: str
    """In ASCII and lower case; an IPv6 address without its brackets."""
    port: int
    authority: str
    """Host and port as a request names them: without the scheme's own port."""
    path: str
    """The sub-path it lives under, percent-encoded, without a trailing slash."""

    @classmethod
    def parse(cls, text: str) -> ServiceAddress:
        """Read a base URL as people write it, with or without ``/api/v4``; UsageError.

        The message never repeats user information.
        """
        text = text.strip()
        parts = urlsplit(text if _PLAIN.fullmatch(text) else _normal(text))
        usual_port = DEFAULT_PORTS[parts.scheme]
        return cls(
            scheme=parts.scheme,
            host=parts.hostname or "",
            port=usual_port if parts.port is None else parts.port,
            authority=parts.netloc.removesuffix(f":{usual_port}"),
            path=parts.path.rstrip("/").removesuffix(API_PREFIX).rstrip("/"),
        )

    @property
    def origin(self) -> str:
        """The address without its sub-path."""
        return f"{self.scheme}://{self.authority}"

    def url(self, path: str, query: str = "") -> str:
        """The URL of an encoded path; ``path`` starts with a slash."""
        return f"{self}{path}?{query}" if query else f"{self}{path}"

    def wiki_file(self, owner: WikiOwner, path: str) -> str:
        """Where the web side serves a file of a wiki: not part of the API."""
        prefix = "/groups/" if owner.kind == "group" else "/"
        return self.url(
            f"{prefix}{encode_path(owner.full_path)}/-/wikis/{encode_path(path)}"
        )

    def path_of(self, text: str) -> str:
        """The path or number of a project or group, as people give it; or UsageError.

        That may be the address of one of its pages on this service.
        """
        text = text.strip()
        if "://" in text:
            return self._path_of_page(text)
        path = text.strip("/")
        if not path or not path.isprintable():
            raise UsageError(
                f"{path or 'an empty path'} names no project or group",
                hint=f"give it with its namespace, like {EXAMPLE_PATH}",
            )
        return path

    def _path_of_page(self, text: str) -> str:
        url = _parsed(text)
        root = f"{self.path}/"
        page = url.raw_path.removeprefix(root)
        path = page.partition("/-/")[0].strip("/")
        path = path.removesuffix(".git").removesuffix(".wiki").removeprefix("groups/")
        is_api = f"/{page}/".startswith(f"{API_PREFIX}/")
        path = "" if is_api else unquote(path)
        is_here = self.is_same_origin(str(url)) and url.raw_path.startswith(root)
        if is_here and path:
            return path
        raise UsageError(
            f"{shown_address(text)} is not the address of a project or group on {self}",
            hint=f"give only its path, like {path or EXAMPLE_PATH}",
        )

    @property
    def is_loopback(self) -> bool:
        """Whether the service runs on this machine."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")

    def is_same_origin(self, other: str) -> bool:
        """Whether a URL leads to this very scheme, host and port."""
        return is_same_origin(str(self), other)

    def __str__(self) -> str:
        return self.origin + self.path


def encode_path(path: str) -> str:
    """Percent-encode each segment of a path and keep its slashes."""
    return "/".join(encode_segment(segment) for segment in path.split("/"))


def _normal(text: str) -> str:
    if not text:
        raise UsageError(
            "the URL of the service is empty", hint=f"give it like {EXAMPLE}"
        )
    if "://" not in text:
        scheme = "http" if text.startswith(LOOPBACK_HOSTS) else "https"
        raise UsageError(
            f"{shown_address(text)} has no scheme",
            hint=f"write {scheme}://{shown_address(text)}",
        )
    url = _parsed(text)
    if url.scheme not in {"http", "https"}:
        raise UsageError(
            f"{shown_address(text)} is neither http nor https",
            hint=f"give the service's web address, like {EXAMPLE}",
        )
    if url.user is not None or url.password is not None:
        raise UsageError(
            f"{shown_address(text)} contains a user name or a password, which could"
            " leak",
            hint="remove it from the URL and set WIKISYNC_TOKEN",
        )
    if url.raw_query_string or url.raw_fragment or "/-/" in url.raw_path:
        raise UsageError(
            f"{shown_address(text)} is the address of a page, not of the service",
            hint=f"give only the service, like {url.origin()}, "
            "and name the wiki with --project or --group",
        )
    return f"{url.scheme}://{url.raw_authority}{url.raw_path}"


def _parsed(text: str) -> URL:
    from yarl import URL

    try:
        url = URL(text)
        host = url.raw_host
    except ValueError as exc:
        raise UsageError(
            f"{shown_address(text)} is not a URL", hint=f"give it like {EXAMPLE}"
        ) from exc
    if not host or any(character.isspace() for character in text):
        raise UsageError(
            f"{shown_address(text)} names no host", hint=f"give it like {EXAMPLE}"
        )
    return url


def shown_address(text: str) -> str:
    """What a person gave as an address, without its query and all up to its last @.

    A password may hold a slash.
    """
    bare = text.partition("?")[0].partition("#")[0]
    scheme, separator, rest = bare.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"

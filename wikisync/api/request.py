"""One request as a value, before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from wikisync.api.address import ServiceAddress
from wikisync.api.answers import Purpose
from wikisync.api.secret import Secret
from wikisync.contract.routes import Method
from wikisync.core.version import __version__

if TYPE_CHECKING:
    from aiohttp import FormData

TOKEN_HEADER = "PRIVATE-TOKEN"  # noqa: S105 - the header's name, not a token

OpenForm = Callable[[], "AbstractAsyncContextManager[FormData]"]


class Request(Struct, frozen=True):
    """What to ask and what for."""

    method: Method
    path: str
    """Percent-encoded, ``/api/v4`` included, as ``routes`` makes it."""
    purpose: Purpose
    query: str = ""
    """Percent-encoded."""
    json: bytes | None = None
    """An encoded JSON body."""
    form: OpenForm | None = None
    """A multipart body, opened anew for every attempt."""
    form_fields: tuple[tuple[str, str], ...] = ()
    """What the multipart body holds, files by their names: for messages."""
    etag: str | None = None
    """Answer 304 when the answer is still this one."""
    is_git: bool = False
    """Whether the path is one that git asks for, outside the API; it only reads."""
    packets: bytes | None = None
    """What git's protocol asks, as the body of a POST."""
    bytes_max: int | None = None
    """Largest answer, decompressed; the client's by default."""
    waits: bool = True
    """Whether it is worth waiting for where the service limits requests."""
    late_attempts_max: int | None = None
    """How often it is made where no answer comes in time; the client's by default."""
    may_change_nothing: bool = False
    """Whether a 304 is an answer: it was so already."""

    @property
    def is_write(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET" and not self.is_git

    @property
    def may_be_unchanged(self) -> bool:
        """Whether a 304 is an answer to it."""
        return self.etag is not None or self.may_change_nothing


def headers_of(
    request: Request, address: ServiceAddress, token: Secret | None
) -> dict[str, str]:
    """The headers of a request; those of its body are the network's."""
    headers = {"User-Agent": f"wikisync/{__version__}", "Accept": "application/json"}
    if request.is_git or (
        request.purpose.about == "attachment" and not request.is_write
    ):
        headers["Accept"] = "*/*"
    if address.is_loopback:
        # packing costs more than it saves where nothing leaves the machine
        headers["Accept-Encoding"] = "identity"
    if token is not None and request.is_git:
        # git's side of the service knows passwords only
        headers["Authorization"] = f"Basic {token.reveal_login()}"
    elif token is not None:
        headers[TOKEN_HEADER] = token.reveal()
    if request.json is not None:
        headers["Content-Type"] = "application/json"
    if request.packets is not None:
        headers["Content-Type"] = "application/x-git-upload-pack-request"
    if request.etag is not None:
        headers["If-None-Match"] = request.etag
    return headers

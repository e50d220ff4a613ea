"""One request as a value, before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from wikisync.api.answers import Purpose
from wikisync.api.routes import Method

if TYPE_CHECKING:
    from aiohttp import FormData

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
    """Whether the path is one that git asks for, outside the API."""
    may_change_nothing: bool = False
    """Whether a 304 is an answer: it was so already."""

    @property
    def is_write(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET"

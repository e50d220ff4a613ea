"""Exchanges with one service: the first reads of a command alone, then a pool.

Everything is done once here; ``client`` repeats.  Rules that hold on both ways:

- the token goes to the service's own scheme, host and port and nowhere else;
- URLs are sent as they were encoded, byte for byte.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from wikisync.api.address import ServiceAddress
from wikisync.api.answers import Answer, Purpose, error_of
from wikisync.api.request import Request
from wikisync.api.retry import Clock, PassingFailure, parse_retry_after
from wikisync.api.secret import Secret
from wikisync.api.settings import ClientSettings
from wikisync.errors import RateLimited, RemoteError, Unavailable

if TYPE_CHECKING:
    from wikisync.api.first_reads import FirstReads
    from wikisync.api.pool import Pool

ERROR_BYTES_MAX = 64 * 1024
"""How much of an error's body is read."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})

log = logging.getLogger(__name__)

LoadNetwork = Callable[[], None]
"""Loads aiohttp, which takes longer than what most commands ask for."""


class Session:
    """What is asked of one service and answered by it."""

    def __init__(
        self,
        address: ServiceAddress,
        token: Secret | None,
        settings: ClientSettings,
        clock: Clock,
        load_network: LoadNetwork | None = None,
    ) -> None:
        self._address = address
        self._token = token
        self._settings = settings
        self._clock = clock
        self._load_network = load_network
        self._first: FirstReads | None = None
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._is_open = False

    async def open(self) -> None:
        """Get ready; nothing is sent."""
        self._is_open = True
        if self._load_network is None or self._settings.proxies_from_environment:
            await self._opened_pool()
            return
        from wikisync.api.first_reads import FirstReads

        self._first = FirstReads(
            self._address, self._token, self._settings, self._clock
        )

    async def close(self) -> None:
        """Close every connection; requests in flight end with an error."""
        self._is_open = False
        if self._first is not None:
            await self._first.close()
        if self._pool is not None:
            await self._pool.close()
        self._pool = None

    async def exchange(self, request: Request) -> Answer:
        """Send one request and read its whole answer.

        Redirects of reads are followed inside the service.

        Returns:
            A success, or a 304 where the request allows one.

        Raises:
            PassingFailure: it may be over when the request is made again.
            RemoteError: it will not.
        """
        if self._first is not None and self._first.takes(request):
            answer = await self._first.read(request)
            if answer is not None:
                return answer
        pool = await self._opened_pool()
        return await pool.exchange(request)

    async def read_file(
        self, url: str, purpose: Purpose
    ) -> AsyncGenerator[bytes, None]:
        """Bytes of a file on the web side, in chunks; follows no redirect.

        Raises:
            PassingFailure: it may be over when the file is asked again.
            NotFound: the service answers with something else than the file.
            RemoteError: in its other kinds.
        """
        pool = await self._opened_pool()
        async with aclosing(pool.read_file(url, purpose)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _opened_pool(self) -> Pool:
        """The connections for all but the first reads."""
        async with self._opening:
            if self._pool is None:
                assert self._is_open, "the client is used outside its async with"
                if self._load_network is not None:
                    self._load_network()
                from wikisync.api.pool import Pool

                first = self._first
                pool = Pool(
                    self._address,
                    self._token,
                    self._settings,
                    self._clock,
                    is_known_host=first is not None and first.has_answered,
                )
                await pool.open()
                self._pool = pool
                if first is not None:
                    await first.end()
        return self._pool


def log_answer(
    request: Request, url: str, status: int, headers: Mapping[str, str], seconds: float
) -> None:
    """Note how long the service took, and its name for the request."""
    log.debug(
        "%s %s -> %d in %.0f ms %s",
        request.method,
        url,
        status,
        seconds * 1000,
        headers.get("x-request-id", ""),
    )


def failure_of(
    answer: Answer, purpose: Purpose, token: Secret | None
) -> RemoteError | PassingFailure:
    """What an answer without success is raised as; its body may echo our token."""
    body = bytes(answer.body)
    answer = replace(answer, body=token.redact_bytes(body) if token else body)
    after_s = parse_retry_after(answer.headers, now=datetime.now(UTC))
    error = error_of(answer, purpose, retry_after_s=after_s)
    if isinstance(error, RateLimited | Unavailable):
        return PassingFailure(error, after_s=after_s)
    return error

"""Waiting for what another process or thread does, which tells nobody of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

LOOK_S = 0.01


async def until(
    is_so: Callable[[], Awaitable[bool] | bool],
    within_s: float = 120.0,
    *,
    look_s: float = LOOK_S,
) -> None:
    """Look again and again whether something is so.

    Raises:
        TimeoutError: it never was.
    """
    async with asyncio.timeout(within_s):
        while True:
            answer = is_so()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(look_s)

"""Work beside the loop, and the shield around an effect and its record."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections.abc import Callable, Coroutine
from typing import TypeVar

from wikisync.errors import FolderError, WikisyncError

log = logging.getLogger(__name__)

T = TypeVar("T")
ResultT = TypeVar("ResultT")

THREAD_CHARS_MIN = 100_000
"""Work on shorter texts is done before a thread could begin with it."""
FINISH_TIMEOUT_S = 10.0
"""How long an interrupted batch may take to come to its end."""
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""What no other page will survive either."""


async def on_texts(work: Callable[[], T], *texts: str) -> T:
    """Compare, merge or take texts apart beside the loop, where they are long.

    Everything else goes on meanwhile; cancelled, the work comes to its end in vain.
    """
    if max(map(len, texts), default=0) < THREAD_CHARS_MIN:
        return work()
    return await asyncio.to_thread(work)


async def finish(work: Coroutine[None, None, T]) -> T:
    """Run work that must not stop half way, also when the caller is cancelled.

    The cancellation is raised once the work has ended, or after
    ``FINISH_TIMEOUT_S``; the work is then left to the next cycle, which finds by
    comparing what it did.
    """
    ended = asyncio.Event()
    is_left = False

    async def run() -> T:
        try:
            return await work
        except WikisyncError as error:
            if not is_left:
                raise
            # nobody waits for it any more, and the next cycle sees what came of it
            log.info("failed after it was interrupted: %s", error.message)
            raise asyncio.CancelledError from error
        finally:
            ended.set()

    try:
        return await asyncio.shield(run())
    except asyncio.CancelledError:
        is_left = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_TIMEOUT_S):
                await ended.wait()
        raise


def is_disk_error(error: FolderError) -> bool:
    """Whether the disk itself refuses, so that no other page can be written."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in DISK_ERRORS

"""The search index of a preview, made when somebody searches.

It takes most of a second in a large wiki, and a save would wait as long: so it is
made beside the thread that the site belongs to.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from wikisync.core.system.parallel import finish_in_thread
from wikisync.site.search import SearchDocument, build_shards


class Searched(Struct, frozen=True):
    """What an index is made from."""

    digest: bytes
    """Hash of all of it."""
    documents: tuple[SearchDocument, ...]


class SearchIndex:
    """The files of the index as they were asked for last."""

    def __init__(self, look: Callable[[bytes], Awaitable[Searched | None]]) -> None:
        """``look`` tells what there is to search; None if its hash is this one."""
        self._look = look
        self._digest = b""
        self._shards: Mapping[str, bytes] = {}
        self._lock = asyncio.Lock()

    async def file(self, name: str) -> bytes | None:
        """A file of the index of all that is there now; None where it has none."""
        # a window asks for several files at once
        async with self._lock:
            searched = await self._look(self._digest)
            if searched is not None:
                self._shards = await finish_in_thread(build_shards, searched.documents)
                self._digest = searched.digest
        return self._shards.get(name)

"""What is known of a wiki, in a bucket: objects that are never overwritten.

``<key>/<generation>.<claim>`` is the store of the wiki's copy (``site.mirror``),
packed; ``<key>/files/<digest>`` are its files.  The row of the wiki names the object
that is true, and a worker that has it unpacked already trusts what lies in its folder.
Where the rows are older than the bucket, restored from yesterday, the newest object is
true.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from wikisync.core.model import digest_of
from wikisync.core.system.parallel import each
from wikisync.core.system.private import make_private_folder
from wikisync.errors import PreconditionFailed
from wikisync.fleet.rows import Row
from wikisync.site.bucket import AT_ONCE, Bucket
from wikisync.site.mirror import FILES, STORE

log = logging.getLogger(__name__)

MARK = "state"
"""Names the object that a folder holds unpacked; absent while a cycle changes it."""
KEPT = 2
"""Newest objects of a wiki that stay."""


class States:
    """The state of one wiki, in a folder of a worker and the bucket; or SiteError."""

    def __init__(self, folder: Path, bucket: Bucket, key: str) -> None:
        """Name where they are; nothing is read."""
        self.folder, self._bucket = folder, bucket
        self._prefix = f"{key}/"

    async def restore(self, row: Row) -> int:
        """Make the folder hold the state of a wiki; its generation."""
        mark = self.folder / MARK
        held = mark.read_text() if mark.exists() else ""
        mark.unlink(missing_ok=True)
        if held and held == row.state:
            return row.generation
        for path in (STORE, f"{STORE}-wal", f"{STORE}-shm"):
            (self.folder / path).unlink(missing_ok=True)
        make_private_folder(self.folder / FILES)
        names = self._states(await self._bucket.etags(self._prefix))
        name = row.state
        if names and (not name or order(names[-1])[0] > row.generation):
            name = names[-1]
            log.warning("%s: its newest state %s is not its row's", row.key, name)
        if not name:
            return row.generation
        found = await self._bucket.read(self._prefix + name)
        try:
            store = await asyncio.to_thread(zlib.decompress, found[0] if found else b"")
        except zlib.error:  # a storage may lose a part, too
            log.warning("%s: the state %s is lost; it is read anew", row.key, name)
            return order(name)[0]
        await asyncio.to_thread((self.folder / STORE).write_bytes, store)
        wanted = await self._bucket.etags(f"{self._prefix}files/")
        here = {path.name for path in (self.folder / FILES).iterdir()}

        async def fetch(path: str) -> None:
            file = await self._bucket.read(path)
            if file is not None:
                target = self.folder / FILES / path.rpartition("/")[2]
                await asyncio.to_thread(_write, target, file[0])

        missing = [path for path in wanted if path.rpartition("/")[2] not in here]
        await each(missing, fetch, in_flight=AT_ONCE)
        return order(name)[0]

    async def keep(self, generation: int, claim: int) -> str:
        """Put the state that the folder holds into the bucket; its name.

        Raises:
            PreconditionFailed: there is such an object, of a claim before a restore.
        """
        known = await self._bucket.etags(f"{self._prefix}files/")

        async def put(file: Path) -> None:
            path = f"{self._prefix}files/{file.name}"
            if path not in known:
                content = await asyncio.to_thread(file.read_bytes)
                with suppress(PreconditionFailed):  # named by its bytes
                    await self._bucket.put(path, content, "")

        files = self.folder / FILES
        here = [*files.iterdir()] if files.is_dir() else []
        await each(here, put, in_flight=AT_ONCE)
        name = f"{generation}.{claim}"
        packed = await asyncio.to_thread(self._pack)
        await self._bucket.put(self._prefix + name, packed, "")
        return name

    def trust(self, name: str) -> None:
        """Note that the folder holds this state."""
        (self.folder / MARK).write_text(name)

    async def tidy(self) -> None:
        """Remove old states; the newest stay, for rows that were restored."""
        paths = await self._bucket.etags(self._prefix)
        for name in self._states(paths)[:-KEPT]:
            await self._bucket.remove(self._prefix + name, paths[self._prefix + name])

    async def clear(self) -> None:
        """Remove everything of a wiki that is no more."""
        for path, etag in (await self._bucket.etags(self._prefix)).items():
            await self._bucket.remove(path, etag)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    def _states(self, paths: Iterable[str]) -> list[str]:
        """The names of the wiki's states, the oldest first."""
        names = (path.removeprefix(self._prefix) for path in paths)
        return sorted((name for name in names if "/" not in name), key=order)

    def _pack(self) -> bytes:
        """The store as one file, whatever of it is in a journal."""
        copy = self.folder / f"{STORE}.copy"
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.folder / STORE)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        content = copy.read_bytes()
        copy.unlink()
        return zlib.compress(content, 3)


def _write(file: Path, content: bytes) -> None:
    """Write a file that its bytes name; what the storage damaged is read anew."""
    if digest_of(content) == file.name:
        file.write_bytes(content)


def order(name: str) -> tuple[int, int]:
    """Generation and claim of a state by its name."""
    generation, _, claim = name.partition(".")
    return int(generation), int(claim)

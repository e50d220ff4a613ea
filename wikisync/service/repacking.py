"""Packing of repositories in the background, so that their files stay few.

Every change to a repository adds loose objects, a file each.  Once there are some
thousands of them, git packs them; once there are some packs, git packs all into one.
No reader and no write waits for it: git removes a loose object or an old pack only when
a complete pack is on the disk, and a reader that misses an object opens new packs.
Unreachable objects stay, because a change that is under way may be about to use them.
Without a git executable repositories stay as they are.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import suppress
from pathlib import Path

from wikisync.service.answers import PlainRefusal
from wikisync.service.git_process import GitFailed, GitInput, GitRunner, find_git
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Packing

log = logging.getLogger(__name__)

PACK_LOOSE = ("repack", "-d", "-q")
PACK_ALL = ("repack", "-a", "-d", "-k", "-q")
"""``-k``: unreachable objects stay."""
_LEFTOVERS = (".tmp-*", "tmp_*")
"""Names of files that an interrupted git leaves beside packs."""
_SAMPLE = ("00", "40", "80", "c0")
"""Folders of loose objects; ids are evenly distributed over all 256."""
LEFTOVER_AGE_S = 3600.0
"""A file of that name which is older belongs to no process any more."""


class Repacking:
    """The repositories that wait to be packed, and the packing of one after another."""

    def __init__(self, git: GitRunner, limits: Packing) -> None:
        self._git = git
        self._limits = limits
        self._waiting: asyncio.Queue[WikiRepository] = asyncio.Queue()
        self._asked: set[Path] = set()
        self._left: dict[Path, int] = {}
        """Loose objects that an attempt in vain left, by repository."""

    def note_change(self, repository: WikiRepository) -> None:
        """Pack a repository soon if it has gathered many loose objects."""
        path = repository.path
        # a repository that could not be packed is tried again much later
        most = self._limits.loose_objects_max + self._left.get(path, 0)
        if path in self._asked or loose_objects(path) <= most or find_git() is None:
            return
        self._asked.add(path)
        self._waiting.put_nowait(repository)

    async def run(self) -> None:
        """Pack what waits, for ever."""
        while True:
            repository = await self._waiting.get()
            path = repository.path
            self._left.pop(path, None)
            try:
                await self.pack(repository)
            except (GitFailed, PlainRefusal, OSError) as error:
                # one repository's trouble must not end the packing of all others
                log.warning("%s cannot be packed: %s", path.name, error)
                self._left[path] = loose_objects(path)
            self._asked.discard(path)
            # for changes that came meanwhile
            self.note_change(repository)
            self._waiting.task_done()

    async def wait_until_idle(self) -> None:
        """Wait until no repository waits to be packed."""
        await self._waiting.join()

    async def pack(self, repository: WikiRepository) -> None:
        """Pack loose objects, and all packs into one where there are many.

        When cancelled or killed, every object is still there, at worst twice.

        Raises:
            GitFailed: git could not, or took too long.
            PlainRefusal: too many git processes run already.
            OSError: the repository's folder cannot be read.
        """
        await asyncio.to_thread(_remove_leftovers, repository.path)
        packs = list((_objects(repository.path) / "pack").glob("pack-*.pack"))
        command = PACK_ALL if len(packs) >= self._limits.packs_max else PACK_LOOSE
        given = GitInput(memory_bytes_max=self._limits.memory_bytes_max)
        try:
            await self._git.run(command, repository.path, _ignore, given)
        finally:
            # else it holds the removed packs open, and their room on the disk
            await asyncio.to_thread(repository.close_packs)


def loose_objects(repository: Path) -> int:
    """About how many objects a repository has loose, from a sample of their folders."""
    found = 0
    for name in _SAMPLE:
        with (
            suppress(FileNotFoundError),
            os.scandir(_objects(repository) / name) as here,
        ):
            found += sum(1 for _ in here)
    return found * (256 // len(_SAMPLE))


def _objects(repository: Path) -> Path:
    return repository / "objects"


def _remove_leftovers(repository: Path) -> None:
    old = time.time() - LEFTOVER_AGE_S
    for pattern in _LEFTOVERS:
        for path in (_objects(repository) / "pack").glob(pattern):
            if path.stat().st_mtime < old:
                path.unlink(missing_ok=True)


async def _ignore(_chunk: bytes) -> None:
    """Git is asked to be quiet."""

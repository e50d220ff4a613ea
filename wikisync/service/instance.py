"""A running service's parts in one place: settings, records, wikis, address.

No state is kept anywhere else; two services in one process do not meet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from wikisync.model import OwnerKind
from wikisync.service.answers import invalid
from wikisync.service.editing import Change
from wikisync.service.pages import PageCache
from wikisync.service.records import Records
from wikisync.service.repository import Author, GitRefused, WikiRepository
from wikisync.service.settings import Settings
from wikisync.service.tree import WikiTree


class Service:
    """One embedded service on one data folder."""

    def __init__(self, data: Path, settings: Settings | None = None) -> None:
        self.data = data
        self.settings = settings or Settings()
        """Replaced as a whole to change limits or switch a fault."""
        self.records = Records(data / "records.db")
        self.url = "http://127.0.0.1"
        """Where it answers, without a trailing slash; known once it listens."""
        self.pages = PageCache(self.settings.limits.page_cache_bytes_max)
        self._wikis: dict[tuple[OwnerKind, int], WikiStorage] = {}

    @property
    def spool(self) -> Path:
        """Folder for bodies on their way in."""
        return self.data / "spool"

    def wiki(self, kind: OwnerKind, owner_id: int) -> WikiStorage:
        """The wiki of a project or group, by the owner's id."""
        key = (kind, owner_id)
        if key not in self._wikis:
            path = self.data / "wikis" / f"{kind}s" / f"{owner_id}.git"
            self._wikis[key] = WikiStorage(WikiRepository(path))
        return self._wikis[key]


class WikiStorage:
    """A wiki's repository for coroutines: git in threads, one write at a time."""

    def __init__(self, repository: WikiRepository) -> None:
        self.repository = repository
        self._writing = asyncio.Lock()

    async def tree(self, version: str | None = None) -> WikiTree | None:
        """The files now, or at a commit; None for a commit that is not there."""
        if version is None:
            return await asyncio.to_thread(self.repository.tree)
        return await asyncio.to_thread(self.repository.tree_at, version)

    async def read(self, blob: bytes) -> bytes:
        """A file's content by its object id."""
        return await asyncio.to_thread(self.repository.read, blob)

    async def change(
        self,
        decide: Callable[[WikiTree], Change],
        author: Author,
        *,
        branch: str | None = None,
    ) -> tuple[Change, WikiTree]:
        """Decide on the present tree and commit, while nobody else writes.

        When cancelled, the commit is made whole or not at all.

        Raises:
            Refusal: ``decide`` refused, or git did (400 with git's words).
        """
        decided: list[Change] = []

        def decide_once(tree: WikiTree) -> Change:
            decided.append(decide(tree))
            return decided[-1]

        # waiting here and not in the threads keeps one busy wiki from taking
        # every thread there is
        async with self._writing:
            try:
                tree = await asyncio.to_thread(
                    self.repository.change, decide_once, author, branch=branch
                )
            except GitRefused as error:
                raise invalid("base", str(error)) from error
        return decided[-1], tree

"""Repositories for coroutines: git runs in threads, one write at a time."""

import asyncio
from collections.abc import Awaitable, Callable

from wikisync.service.answers import invalid, unreadable
from wikisync.service.committing import Author, GitRefused
from wikisync.service.editing import CommitPlan
from wikisync.service.repository import WikiRepository
from wikisync.service.tree import WikiTree
from wikisync.service.tree_walk import TreeTooLarge


class WikiStorage:
    """One repository: a wiki's, or a project's own."""

    def __init__(
        self,
        repository: WikiRepository,
        note_write: Callable[[int], None] | None,
        note_change: Callable[[WikiRepository], None],
    ) -> None:
        self.repository = repository
        self._note_write = note_write
        self._note_change = note_change
        self._writing = asyncio.Lock()

    def note_write(self, user_id: int) -> None:
        """Record that this user wrote, which is activity in a project."""
        if self._note_write is not None:
            self._note_write(user_id)

    async def tree(self, version: str | None = None) -> WikiTree | None:
        """The files now, or at a commit (None: not there); 503 for too many of them."""
        try:
            if version is None:
                return await asyncio.to_thread(self.repository.tree)
            return await asyncio.to_thread(self.repository.tree_at, version)
        except TreeTooLarge as error:
            raise unreadable(str(error)) from error

    async def read(self, blob: bytes) -> bytes:
        """A file's content by its object id."""
        return await asyncio.to_thread(self.repository.read, blob)

    async def change(
        self,
        decide: Callable[[WikiTree], CommitPlan],
        author: Author,
        *,
        branch: str | None = None,
    ) -> tuple[CommitPlan, WikiTree]:
        """Decide on the present tree and commit, while nobody else writes.

        When cancelled, the commit is made whole or not at all.  Raises what ``decide``
        refused, or 400 with git's words.
        """
        decided: list[CommitPlan] = []

        def decide_once(tree: WikiTree) -> CommitPlan:
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
            except TreeTooLarge as error:
                raise unreadable(str(error)) from error
        self._note_change(self.repository)
        return decided[-1], tree

    async def make(self) -> None:
        """Let there be a repository, though nothing is in it."""
        if not self.repository.path.exists():
            async with self._writing:
                await asyncio.to_thread(self.repository.ensure)

    async def receive(
        self, push: Callable[[], Awaitable[bytes]]
    ) -> tuple[bytes, WikiTree | None, WikiTree | None]:
        """Let git write by itself, while nobody else does.

        Gives what ``push`` gave, and the files before and after it; None where they
        cannot be read, which a push may mend.
        """
        async with self._writing:
            before = await asyncio.to_thread(self._readable_tree)
            report = await push()
            await asyncio.to_thread(self.repository.adopt_branch)
            after = await asyncio.to_thread(self._readable_tree)
        self._note_change(self.repository)
        return report, before, after

    def _readable_tree(self) -> WikiTree | None:
        try:
            return self.repository.tree()
        except TreeTooLarge:
            return None

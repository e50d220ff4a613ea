"""Carrying a plan out on the local side, and recording what was really done.

Pages flow from readers (several in flight) through a short queue to one writer,
which puts them into the folder in batches.  A batch and its record in the base
are one unit that an interrupt waits for; whatever else is cut short leaves
complete files, and the next cycle finds them equal and adopts them.

One page that fails becomes a problem and the rest goes on.  A disk that takes
nothing, a refused token or a service that stays away ends the cycle.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct, field

from wikisync.errors import (
    AuthenticationFailed,
    FolderError,
    NotFound,
    PreconditionFailed,
    RateLimited,
    RemoteError,
    Unavailable,
    WikisyncError,
)
from wikisync.model import Digest, Page, Problem, Slug, Snapshot
from wikisync.progress import Progress
from wikisync.sync.flow import each, finish, plain_errors
from wikisync.sync.plan import (
    Adopt,
    BasePage,
    DeleteLocal,
    DropRecord,
    Plan,
    Pull,
    Write,
)
from wikisync.sync.replica import Replica
from wikisync.sync.state import Agreed, PackedText, WikiState

log = logging.getLogger(__name__)

BATCH_PAGES = 256
BATCH_CHARS = 8 * 1024 * 1024
"""A batch is written when it has this many pages or this much text."""
UNAVAILABLE_MAX = 5
"""Reads that may fail in a row before the service counts as gone."""

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""What no other page will survive either."""


Prepare = Callable[[Page, Digest], Awaitable[Page]]
"""Takes a page from the wiki before it replaces the text of a digest here, and gives
it in the form that the folder wants; what it replaces can be kept then."""


class Outcome(Struct):
    """What was done so far; counts pages."""

    written: int = 0
    removed: int = 0
    problems: list[Problem] = field(default_factory=list)
    slugs: list[Slug] = field(default_factory=list)
    """Pages that were written."""


class _Fetched(Struct, frozen=True):
    """A page on its way from the wiki to the folder."""

    page: Page
    expected: Digest | None


class Apply:
    """One plan, two replicas and the base they agree in."""

    def __init__(
        self,
        remote: Replica,
        local: Replica,
        state: WikiState,
        *,
        seen: Snapshot,
        progress: Progress,
        reads_max: int,
        prepare: Prepare | None = None,
    ) -> None:
        """Prepare to carry out a plan.

        Args:
            remote: Where pages come from.
            local: Where they go.
            state: The base that learns of it.
            seen: The look at the remote that the plan was made on.
            progress: Told of every batch.
            reads_max: Reads in flight.
            prepare: Called before a text is replaced, see ``Prepare``.
        """
        self._remote = remote
        self._local = local
        self._state = state
        self._seen = seen
        self._progress = progress
        self._reads_max = reads_max
        self._prepare = prepare
        self._failures_in_row = 0
        self.outcome = Outcome()

    async def run(self, plan: Plan) -> Outcome:
        """Write, record, and remove last, and only if nothing else failed.

        Cancelled, it leaves complete files and a base that knows them, but for
        the batch whose time ran out.

        Raises:
            FolderError: the disk takes no more.
            RemoteError: the service is gone, or refuses the token.
        """
        await self.write_pages(plan)
        await self.record_equal_pages(plan)
        if self.outcome.problems and plan.deletes:
            plan = self._without_waiting(plan)
        await self.remove_pages(plan.deletes)
        return self.outcome

    def _without_waiting(self, plan: Plan) -> Plan:
        """The plan without the removals that wait for what went wrong."""
        from wikisync.sync.troubles import put_off, waiting_removals

        problems = self.outcome.problems
        last = {one.subject for one in self._state.troubles()}
        failed = {Slug(one.subject) for one in problems}
        seen = self._seen.texts
        waiting = waiting_removals(
            plan,
            problems,
            self._state,
            {slug: seen[slug].content for slug in failed & seen.keys()},
            # a page that is gone was still there when it went wrong the last time
            lambda error, _: error in last,
        )
        plan, told = put_off(plan, waiting)
        self.outcome.problems += told
        return plan

    # -- pages from the wiki to the folder ---------------------------------------

    async def write_pages(self, plan: Plan) -> None:
        """Write what the plan creates and updates here, in batches."""
        if not plan.writes:
            return
        self._progress.start("pages", len(plan.writes))
        queue: asyncio.Queue[_Fetched | None] = asyncio.Queue(self._reads_max)
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read_pages(plan.writes, queue))
                group.create_task(self._write_batches(queue))

    async def _read_pages(
        self, writes: tuple[Write, ...], queue: asyncio.Queue[_Fetched | None]
    ) -> None:
        async def read(action: Write) -> None:
            page = self._seen.texts.get(action.slug) or await self._read(action.slug)
            if page is not None:
                expected = action.local if isinstance(action, Pull) else None
                await queue.put(_Fetched(page, expected))

        await each(writes, read, in_flight=self._reads_max)
        await queue.put(None)

    async def _read(self, slug: Slug) -> Page | None:
        """One page from the wiki, or None and a problem."""
        try:
            page = await self._remote.read(slug)
        except (AuthenticationFailed, RateLimited):
            raise
        except Unavailable as error:
            self._failures_in_row += 1
            if self._failures_in_row >= UNAVAILABLE_MAX:
                raise
            self._fail("page-unavailable", slug, error.message, "run it again")
            return None
        except NotFound as error:
            self._fail("page-missing", slug, error.message, error.hint or "")
            return None
        except RemoteError as error:
            self._fail("page-unreadable", slug, error.message, error.hint or "")
            return None
        self._failures_in_row = 0
        return page

    async def _write_batches(self, queue: asyncio.Queue[_Fetched | None]) -> None:
        batch: list[_Fetched] = []
        chars = 0
        while (fetched := await queue.get()) is not None:
            batch.append(fetched)
            chars += len(fetched.page.content)
            if len(batch) >= BATCH_PAGES or chars >= BATCH_CHARS:
                await finish(self._write_batch(batch))
                batch, chars = [], 0
        await finish(self._write_batch(batch))

    async def _write_batch(self, batch: list[_Fetched]) -> None:
        """Write pages and record those that are really there."""
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._written(batch))
                packing = group.create_task(asyncio.to_thread(_packed, batch))
        agreed: list[Agreed] = []
        for fetched, result, text in zip(
            batch, writing.result(), packing.result(), strict=True
        ):
            page = fetched.page
            if isinstance(result, Page):
                log.info("pulled %s", page.slug)
                agreed.append(Agreed(self._agreed_on(page, result), text))
            else:
                self._fail_write(page.slug, result)
        self._state.record(agreed, is_step=True)
        self.outcome.written += len(agreed)
        self.outcome.slugs += [one.page.slug for one in agreed]
        self._progress.advance(len(agreed))

    async def _written(self, batch: list[_Fetched]) -> Sequence[Page | WikisyncError]:
        pages = [(fetched.page, fetched.expected) for fetched in batch]
        if self._prepare is not None:
            pages = [
                (
                    page if expected is None else await self._prepare(page, expected),
                    expected,
                )
                for page, expected in pages
            ]
        return await self._local.write_pages(pages)

    def _agreed_on(self, theirs: Page, mine: Page) -> BasePage:
        remote = theirs.digest
        local = remote if mine.content == theirs.content else mine.digest
        seen = self._seen.pages.get(theirs.slug)
        return BasePage(
            theirs.slug,
            theirs.format,
            local,
            remote,
            remote_identity=seen.identity if seen else "",
            size=seen.size if seen else None,
        )

    def _fail_write(self, slug: Slug, error: WikisyncError) -> None:
        if isinstance(error, PreconditionFailed):
            self._fail("page-changed", slug, error.message, "run it again")
        else:
            self._fail("page-unwritable", slug, error.message, error.hint or "")

    # -- the base alone ----------------------------------------------------------

    async def record_equal_pages(self, plan: Plan) -> None:
        """Note what both sides hold already, and forget what neither holds."""
        for batch in _batches(plan):
            adopted = [a for a in batch if isinstance(a, Adopt)]
            dropped = [a.slug for a in batch if isinstance(a, DropRecord)]
            agreed = [await self._agreed(action) for action in adopted]
            self._state.record(filter(None, agreed), dropped)

    async def _agreed(self, action: Adopt) -> Agreed | None:
        """What both sides hold; None where it changed on both meanwhile."""
        page = self._seen.texts.get(action.slug)
        if page is None:
            page = await self._read_equal(action)
        if page is None:
            return None
        # without a size the brake for shrunken pages would not know this one
        size = len(page.content.encode("utf-8", "surrogatepass"))
        base = BasePage(
            action.slug, action.format, action.local, action.remote, size=size
        )
        return Agreed(base, PackedText.of(page.content))

    async def _read_equal(self, action: Adopt) -> Page | None:
        """The text that both sides held, from the side that still has it.

        A text of one side alone would be the ancestor that makes the other side win.
        """
        with suppress(NotFound, FolderError):
            page = await self._local.read(action.slug)
            if page.digest == action.local:
                return page
        try:
            page = await self._remote.read(action.slug)
        except NotFound as error:
            self._fail("page-missing", action.slug, error.message, "run it again")
            return None
        if page.digest == action.remote:
            return page
        self._fail("page-changed", action.slug, "was saved meanwhile", "run it again")
        return None

    # -- removals ----------------------------------------------------------------

    async def remove_pages(self, deletes: tuple[DeleteLocal, ...]) -> None:
        """Remove pages here, one after the other."""
        for action in deletes:
            await finish(self._remove(action))

    async def _remove(self, action: DeleteLocal) -> None:
        try:
            await self._local.delete(action.slug, expected=action.local)
        except (PreconditionFailed, FolderError) as error:
            self._fail_write(action.slug, error)
            return
        log.info("removed %s", action.slug)
        self._state.record(dropped=[action.slug], is_step=True)
        self.outcome.removed += 1

    def _fail(self, code: str, subject: str, message: str, hint: str) -> None:
        log.info("problem with %s: %s", subject, message)
        self.outcome.problems.append(Problem(code, subject, message, hint))


def is_disk_error(error: FolderError) -> bool:
    """Whether the disk itself refuses, so that no other page can be written."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in DISK_ERRORS


def _packed(batch: list[_Fetched]) -> list[PackedText]:
    return [PackedText.of(fetched.page.content) for fetched in batch]


def _batches(plan: Plan) -> Iterator[list[Adopt | DropRecord]]:
    actions = [a for a in plan.actions if isinstance(a, Adopt | DropRecord)]
    for start in range(0, len(actions), BATCH_PAGES):
        yield actions[start : start + BATCH_PAGES]

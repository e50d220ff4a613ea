"""What came of calls whose answer was lost: find out, do not repeat.

An intent is noted before a call that cannot simply be made twice.  One that is still
there at the start of a cycle says that the process died, or the line broke, while the
call was under way; the wiki shows whether it came through (``docs/sync.md`` "Crashes").
Comparing alone would lose no text, but would hold pages and make them twice.
"""

from __future__ import annotations

import logging
from typing import assert_never

from msgspec.structs import replace

from wikisync.core.model import Page, Slug, digest_of, temporary_name
from wikisync.errors import NotFound, PreconditionFailed, ProtocolViolation, Rejected
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import Agreed, Intent, WriteKind
from wikisync.sync.decide.plan import BasePage
from wikisync.sync.run.parts import Cycle

log = logging.getLogger(__name__)


async def settle_intents(cycle: Cycle) -> None:
    """Find out what came of every intent, note it, and forget the intent.

    Raises:
        RemoteError: the wiki cannot be asked; the intents stay.
    """
    for intent in cycle.state.intents():
        await _Settling(cycle, intent).run()


class _Settling:
    def __init__(self, cycle: Cycle, intent: Intent) -> None:
        self._cycle = cycle
        self._intent = intent
        self._is_known = True
        """What came of it; else the next cycle asks again."""

    async def run(self) -> None:
        intent = self._intent
        log.info("checking the result of: %s %s", intent.operation, intent.slug)
        match intent.operation:
            case WriteKind.CREATE:
                await self._create()
            case WriteKind.REPLACE:
                await self._replace()
            case WriteKind.MOVE:
                await self._move()
            case WriteKind.DELETE:
                await self._delete()
            case WriteKind.REBASE:
                await self._rebase()
            case WriteKind.UPLOAD:
                log.info("%s may have been uploaded without being used", intent.slug)
            case _:
                assert_never(intent.operation)
        if self._is_known:
            self._cycle.state.settle(intent.id)

    async def _create(self) -> None:
        """Adopt the page if it was made, under whatever name the service gave it."""
        intent = self._intent
        # Found by its text, since the service may have given it another name.
        held = await self._held(intent.slug)
        if held is None or not self._is_sent(held):
            slug = await self._unowned()
            if slug is None:
                return
            held = Page(slug, intent.format, intent.text)
            self._cycle.state.record_alias(intent.slug, slug)
        self._agree(held)

    async def _unowned(self) -> Slug | None:
        """The one page of this text that no record owns, if there is just one."""
        base = self._cycle.state.base()
        there = await self._cycle.remote.snapshot()
        found = [
            slug
            for slug, page in there.pages.items()
            if slug not in base and page.digest == self._intent.after
        ]
        if not there.is_complete or len(found) != 1:
            return None
        here = await self._cycle.local.snapshot()
        # a page of its own here is no page that was made for another name
        return None if found[0] in here.pages else found[0]

    async def _replace(self) -> None:
        # Another text there is an edit, or the one before: comparing finds out which.
        held = await self._held(self._intent.slug)
        if held is not None and self._is_sent(held):
            self._agree(held)

    async def _move(self) -> None:
        intent = self._intent
        base = self._cycle.state.base()
        if intent.slug not in base or intent.target in base:
            return
        moved = await self._held(intent.target)
        # Under neither name: it is between the two writes of a rename, or gone.  The
        # temporary name shows which.
        if moved is None and await self._held(intent.slug) is None:
            await self._finish()
            return
        is_there = moved is not None and moved.digest == intent.before
        if is_there and await self._held(intent.slug) is None:
            self._cycle.state.record(renamed={intent.slug: intent.target}, is_step=True)

    async def _finish(self) -> None:
        """Give a page its new name that was left under the temporary one.

        Where the service refuses that, the page gets its old name back.  A page that
        is under no name may be one that the service hides by mistake: nobody else
        would finish its rename.
        """
        intent = self._intent
        left = await self._held(temporary_name(intent.slug, intent.target))
        if left is None:
            self._is_known = False
            return
        log.warning("finishing the rename of %s to %s", intent.slug, intent.target)
        try:
            await self._cycle.remote.move(
                left.slug, intent.target, expected=left.digest
            )
        except (Rejected, PreconditionFailed):
            await self._give_back(left)
        else:
            self._cycle.state.record(renamed={intent.slug: intent.target}, is_step=True)

    async def _give_back(self, left: Page) -> None:
        """Give a page its old name back, or leave it where another page took that."""
        try:
            await self._cycle.remote.move(
                left.slug, self._intent.slug, expected=left.digest
            )
        except PreconditionFailed:
            self._is_known = False
        except Rejected as error:
            log.warning("%s stays: %s", left.slug, error.message)

    async def _delete(self) -> None:
        if await self._held(self._intent.slug) is None:
            self._cycle.state.record(dropped=[self._intent.slug], is_step=True)

    async def _rebase(self) -> None:
        """A merge that reached the folder: what it was merged with is agreed on."""
        intent = self._intent
        try:
            page = await self._cycle.local.read(intent.slug)
        except NotFound:
            return
        if page.digest == intent.after:
            rebase(self._cycle.state, intent)

    def _is_sent(self, held: Page) -> bool:
        """Whether the wiki has what was sent; links to files are other ones there."""
        return digest_of(held.content) == self._intent.after

    def _agree(self, held: Page) -> None:
        """Agree on what was sent; whatever the wiki has by now is an edit of it."""
        intent = self._intent
        agreed = BasePage.agreed(
            replace(held, format=intent.format),
            local=intent.after,
            known=self._cycle.state.base().get(held.slug),
        )
        self._cycle.state.record([Agreed.of(agreed, intent.text)], is_step=True)

    async def _held(self, slug: Slug) -> Page | None:
        try:
            return await self._cycle.remote.read(slug)
        except (NotFound, ProtocolViolation):
            return None


def rebase(state: WikiState, intent: Intent) -> None:
    """Take the wiki's text that was merged as the one both sides agreed on."""
    agreed = BasePage.agreed(
        Page(intent.slug, intent.format, intent.text),
        remote=intent.before,
        known=state.base().get(intent.slug),
    )
    with state.together():
        state.record([Agreed.of(agreed, intent.text)], is_step=True)
        state.note_replaced_there(intent.slug, intent.text, intent.format)

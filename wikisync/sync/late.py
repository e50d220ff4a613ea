"""Saves that reached a file only after it had been replaced.

An editor that had the file open writes into what came out of the swap (``folder.limbo``
finds it there).  Such a save is an edit of the text that was replaced.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from wikisync.errors import NotFound
from wikisync.model import Format, LateSave, Page, Slug, digest_of
from wikisync.sync.ledger import Agreed, PackedText
from wikisync.sync.replica import LocalReplica
from wikisync.sync.stale import STALE_TEXTS_MAX
from wikisync.sync.state import WikiState
from wikisync.sync.tally import Tally


class LateSaves:
    """Brings late saves into the pages of one wiki's folder."""

    def __init__(
        self,
        local: LocalReplica,
        state: WikiState,
        tally: Tally,
        clock: Callable[[], float],
    ) -> None:
        self._local = local
        self._state = state
        self._tally = tally
        self._clock = clock

    async def take(self, late: LateSave) -> None:
        """Bring one save into its page; acknowledged, its text is in the trash."""
        try:
            page = await self._local.read(late.slug)
        except NotFound:
            page = Page(late.slug, self._format_of(late.slug), late.text)
            await self._local.write(page, expected=None)
        else:
            await self._merge(page, late)
        await self._local.acknowledge(late)
        self._tally.merged += 1

    def _format_of(self, slug: Slug) -> Format:
        known = self._state.base().get(slug)
        return known.format if known else Format.MARKDOWN

    async def _merge(self, page: Page, late: LateSave) -> None:
        """Take the page and the base back to before we replaced the text.

        The cycle decides about both edits as if it saw them for the first time.
        """
        if late.text == page.content:
            return
        texts = self._state.replaced(late.slug, STALE_TEXTS_MAX)
        replaced = [one for one in texts if one.is_written]
        if not replaced:
            # nothing tells what it was an edit of
            self._tell(late.slug)
            return
        text = late.text
        if page.content != replaced[0].written:
            # saved once more since; that text is the newer one
            ancestor = replaced[0].replaced
            from wikisync.sync.merge import merge

            again = merge(ancestor, text, page.content, page_format=page.format)
            if again.text is None:
                self._tell(late.slug)
                return
            text = again.text
        kept = self._state.remember_replaced(
            late.slug, page.content, text, self._clock()
        )
        # the base first: until the page follows, both sides hold the same text
        self._go_back(page, replaced[0].replaced)
        await self._local.write(replace(page, content=text), expected=page.digest)
        self._state.confirm_replaced([kept])

    def _tell(self, slug: Slug) -> None:
        self._tally.tell(
            "late-save",
            slug,
            "saved while it was being written; that text is in the trash",
            f"see it with: wikisync restore {slug} --list",
        )

    def _go_back(self, page: Page, text: str) -> None:
        """Take an earlier text as the last one agreed on."""
        known = self._state.base().get(page.slug)
        if known is None:
            return
        digest = digest_of(text)
        earlier = replace(known, local=digest, remote=digest)
        self._state.record([Agreed(earlier, PackedText.of(text))])

"""Saves that reached a file only after it had been replaced.

A program that had the file open writes into what came out of the swap
(``folder.limbo`` finds it there), once or for hours.  Such a save is an edit of the
text that the file held before, whatever became of the page since.
"""

from __future__ import annotations

from msgspec.structs import replace

from wikisync.errors import FolderError, NotFound, PreconditionFailed, command_line
from wikisync.model import Format, LateSave, Page, Problem, Slug, digest_of
from wikisync.sync.decide.ledger import Agreed, PackedText
from wikisync.sync.run.flow import on_texts
from wikisync.sync.run.parts import Cycle

TOLD = (
    "a program kept writing to its file after the file was replaced; the program's text"
    " is in the trash"
)
IN_THE_TRASH = "written by a program while its file was replaced"
"""Why the text is in the trash."""


class LateSaves:
    """Brings late saves into the pages of one wiki's folder."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle

    async def take(self, late: LateSave) -> None:
        """Bring one save into its page, or into the trash, and say so.

        One that could not be taken is given again.

        Raises:
            FolderError: the disk takes no more.
        """
        from wikisync.sync.run.pull import is_disk_error

        try:
            if late.text is None:
                self._tell(late.slug, "find it in .wikisync/trash")
            else:
                await self._take(late, late.text)
            await self._cycle.local.acknowledge(late)
        except PreconditionFailed as error:
            self._cycle.tally.supersede(late.slug, error)
        except FolderError as error:
            if is_disk_error(error):
                raise
            self._cycle.tally.fail("page-unwritable", late.slug, error)

    async def _take(self, late: LateSave, text: str) -> None:
        slug, before = self._edited(late)
        try:
            page = await self._cycle.local.read(slug)
        except NotFound:
            self._remember(slug, text, text)
            page = Page(slug, self._format_of(slug), text)
            await self._cycle.local.write(page, expected=None)
            self._cycle.tally.merged += 1
            return
        if text == page.content:
            self._remember(slug, text, text)
        elif before is None or not await self._merge(page, before, text):
            await self._cycle.local.keep(slug, text, IN_THE_TRASH)
            self._remember(slug, text, page.content)
            name = f"{self._cycle.local.name}/{slug}"
            self._tell(slug, f"see it with: {command_line('restore', name, '--list')}")

    def _edited(self, late: LateSave) -> tuple[Slug, str | None]:
        """The page, by the name it has now, and the text that was edited, if known."""
        if late.before is None:
            return late.slug, None
        agreed = self._cycle.state.text(late.slug)
        if agreed is not None and digest_of(agreed) == late.before:
            return late.slug, agreed
        return self._cycle.state.replaced_text(late.slug, late.before) or (
            late.slug,
            None,
        )

    def _format_of(self, slug: Slug) -> Format:
        known = self._cycle.state.base().get(slug)
        return known.format if known else Format.MARKDOWN

    async def _merge(self, page: Page, before: str, text: str) -> bool:
        """Bring both edits together; False where that is a person's to do.

        A page that nobody edited since is taken back to before we replaced its text,
        and the cycle decides about both edits as if it saw them for the first time.
        """
        known = self._cycle.state.base().get(page.slug)
        is_in_sync = known is not None and known.local == page.digest
        if not is_in_sync:
            from wikisync.sync.decide.merge import merge

            late, now = text, page.content
            again = await on_texts(
                lambda: merge(before, late, now, page_format=page.format), late, now
            )
            if again.text is None:
                return False
            self._remember(page.slug, text, again.text)
            text = again.text
        else:
            # a save from an old window may replace it before it is looked at
            self._remember(page.slug, text, text)
        kept = self._remember(page.slug, page.content, text)
        if is_in_sync:
            # the base first: until the page follows, both sides hold the same text
            self._go_back(page.slug, before)
        await self._cycle.local.write(replace(page, content=text), expected=page.digest)
        self._cycle.state.confirm_replaced([kept])
        self._cycle.tally.merged += 1
        return True

    def _remember(self, slug: Slug, old: str, new: str) -> int:
        """Know a text again, for the next save of the program is an edit of it."""
        return self._cycle.state.remember_replaced(slug, old, new, self._cycle.clock())

    def _tell(self, slug: Slug, step: str) -> None:
        # the cycle may come to nothing
        self._cycle.note_new({slug: TOLD})
        self._cycle.tally.warn(
            Problem(
                "late-save",
                slug,
                TOLD,
                step,
                is_once=True,
            )
        )

    def _go_back(self, slug: Slug, text: str) -> None:
        """Take an earlier text as the last one agreed on."""
        known = self._cycle.state.base()[slug]
        digest = digest_of(text)
        earlier = replace(known, local=digest, remote=digest)
        self._cycle.state.record([Agreed(earlier, PackedText.of(text))])

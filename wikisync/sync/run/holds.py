"""Conflict files: written beside the page, read back when a person has saved them.

A held page is touched on neither side (``docs/sync.md`` "Conflicts").  Its conflict
file is brought up to date, but never over the work of somebody who has begun.
"""

import logging
from collections.abc import Mapping, Sequence, Set

from msgspec.structs import replace

from wikisync.core.model import NO_FILE, ConflictFile, Digest, Page, Slug, digest_of
from wikisync.errors import (
    FolderError,
    NotFound,
    PlaceTaken,
    PreconditionFailed,
    command_line,
)
from wikisync.merging import conflict
from wikisync.merging.merge import merge
from wikisync.sync.decide import ledger
from wikisync.sync.decide.plan import BasePage, HoldReason, MoveLocal, Plan
from wikisync.sync.run.parts import Cycle, Decided, MergedPage, on_texts

log = logging.getLogger(__name__)

WITH_CONFLICT_FILE = frozenset(
    {HoldReason.EDITED_BOTH, HoldReason.EDITED_OLDER, HoldReason.CREATED_BOTH}
)
"""Reasons that come with a conflict file; the others have no second text."""

UNWRITTEN = "its conflict file could not be written"
UNWRITTEN_HINT = "see what wikisync sync says"
"""A sync alone tries to write it, and has the reason."""

IN_ITS_PLACE = "another conflict file was where its own belongs"

SETTLED = "the wiki's text when its conflict was resolved"


class Holds:
    """The conflict files of one wiki's folder."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._state, self._local, self._tally = cycle.state, cycle.local, cycle.tally
        self._saved_again: set[Slug] = set()
        """Pages to be settled by the next cycle, whatever the plan makes of them."""

    # -- what a person saved -----------------------------------------------------

    async def take_resolved(self) -> frozenset[Slug]:
        """Make conflict files that were saved without marker lines the pages."""
        settled: set[Slug] = set()
        for slug, record in self._state.conflict_files().items():
            if not (record.has_file and self._cycle.options.writes_here(slug)):
                continue
            try:
                file = await self._local.conflict_file(slug)
            except FolderError:
                continue  # ``show`` reports what is in the way
            if file is None or digest_of(file.text) == record.conflict_file:
                continue
            if file.lock:
                # its next save would make the file anew, as one of no conflict
                self._warn_open(slug, file)
                continue
            conflict_file = await _read(file.text)
            if conflict_file.text is None:
                if conflict_file.problem:
                    self._tally.warn(
                        "conflict-unclear",
                        slug,
                        f"its conflict file is not resolved: {conflict_file.problem}",
                        "keep or remove whole blocks with their marker lines",
                    )
                continue
            taken = digest_of(file.text)
            try:
                if await self.settle(slug, record, conflict_file.text, taken):
                    settled.add(slug)
            except NotFound as error:
                # the plan says what becomes of it, and another cycle at once would find
                # no more than this one
                log.info("%s cannot be settled now: %s", slug, error.message)
            except PreconditionFailed as error:
                self._tally.supersede(slug, error)
                self._saved_again.add(slug)
            except FolderError as error:
                self._tally.fail("page-unwritable", slug, error)
        return frozenset(settled)

    def _warn_open(self, slug: Slug, file: ConflictFile) -> None:
        self._tally.warn(
            "conflict-open",
            slug,
            f"{file.path} is open in an editor ({file.lock}); waiting until it is"
            f" closed",
            "save it and close it in the editor",
        )

    async def settle(
        self,
        slug: Slug,
        record: ledger.ConflictFileRecord,
        text: str,
        taken: Digest | None = None,
    ) -> Page | None:
        """Write the page, and take the wiki's text of then as agreed on.

        A page whose file was removed comes back.  None where it has to be settled once
        more; NotFound where its name may be another page's by now.
        """
        try:
            page: Page | None = await self._local.read(slug)
        except NotFound:
            if slug not in self._state.base() or await self._renamed_here(record):
                raise
            page = None
        saved = text
        if page is not None and page.content not in {record.local, text}:
            # edited beside its conflict file: both are edits of what the page was then
            mine, before = page.content, record.local
            made_of, wanted = page.format, text
            again = await on_texts(
                lambda: merge(before, mine, wanted, page_format=made_of), mine, wanted
            )
            pieces = again.pieces
            shown = _lines(before) | _lines(record.remote)
            if not (_lines(before) & _lines(mine) and shown & _lines(wanted)):
                # perhaps another page that has got the name, or its conflict file
                pieces = (conflict.Clash(before, mine, wanted),)
            if again.text is None or pieces is not again.pieces:
                await self._ask_again(page, record, pieces, taken)
                return None
            text = again.text
        return await self._write(slug, record, page, text, saved, taken)

    async def _write(
        self,
        slug: Slug,
        record: ledger.ConflictFileRecord,
        page: Page | None,
        text: str,
        saved: str,
        taken: Digest | None,
    ) -> Page:
        """Carry a settlement out: ``saved`` is what the conflict file says."""
        # the page is written first: a crash in between leaves both texts to be merged
        # again, never a push of one over the other
        remote = record.remote
        after = Page(slug, page.format if page else record.format, text)
        if remote != text:
            # the push replaces it, and the wiki's history is not at hand here; before
            # the page's own text, which is the first that a person wants back
            await self._local.keep(slug, remote, SETTLED)
        # kept also where it stays as it is: a text that a person chose is no save
        # from an old window any more
        if page is None:
            await self._local.write(after, expected=None)
        else:
            old, now = page.content, self._cycle.clock()
            kept = self._state.remember_replaced(slug, old, text, now)
            if old != text:
                await self._local.write(after, expected=page.digest)
            self._state.confirm_replaced([kept])
        # agreed is what the person saw: a later edit there is merged, not pushed over
        agreed = BasePage.agreed(
            Page(slug, record.format, remote),
            remote=record.wiki_digest,
            known=self._state.base().get(slug),
        )
        with self._state.together():
            self._state.record([ledger.Agreed.of(agreed, remote)])
            self._state.note_replaced_there(slug, remote, record.format)
        try:
            await self._local.remove_conflict(slug, expected=taken)
        except PreconditionFailed:
            # saved once more, by somebody who saw what was taken
            assert taken is not None
            self._state.record_conflict_file(
                slug, replace(record, conflict_file=taken, local=saved)
            )
            raise
        self._state.drop_conflict_file(slug)
        log.info("resolved %s", slug)
        return after

    async def _renamed_here(self, record: ledger.ConflictFileRecord) -> Slug | None:
        """The new page that has exactly the text that the conflict was about."""
        local = digest_of(record.local)
        base = self._state.base()
        there = (await self._local.snapshot()).pages
        found = [slug for slug in there.keys() - base if there[slug].digest == local]
        return found[0] if len(found) == 1 else None

    # -- what is held now --------------------------------------------------------

    async def follow(self, plan: Plan) -> None:
        """Bring conflict files of renamed pages along: a person's work is in them."""
        # these have the new names
        conflict_files = self._state.conflict_files()
        for old, new in {pair for move in plan.moves for pair in move.renamed}:
            if new not in conflict_files or old in conflict_files:
                continue
            try:
                file = await self._local.conflict_file(old)
                if file is None or await self._local.conflict_file(new) is not None:
                    continue
                # in this order: a crash leaves it twice, and never not at all
                await self._local.write_conflict(
                    new, conflict_files[new].format, file.text, expected=NO_FILE
                )
                await self._local.remove_conflict(old, expected=digest_of(file.text))
            except (FolderError, PreconditionFailed) as error:
                log.info("the conflict file of %s stays: %s", old, error.message)

    async def clear_names(self, plan: Plan) -> None:
        """Remove conflict files from the places beside which held pages are renamed."""
        # each would pass for the settlement of that page, which nobody made
        known = self._state.conflict_files()
        for old, new in _renamed_there(plan):
            if old not in known or new in known:
                continue
            try:
                file = await self._local.conflict_file(new)
                if file is not None:
                    await self._warn_over(new, file.text, IN_ITS_PLACE)
                    taken = digest_of(file.text)
                    await self._local.remove_conflict(new, expected=taken)
            except (PreconditionFailed, FolderError) as error:
                self._tally.lost_names.add(new)
                self._tally.supersede(new, error)

    async def remove_settled(self, decided: Decided) -> None:
        """Remove the conflict files of pages that are held no more."""
        # Only of pages that were asked for.  Whether a page is settled, the whole plan
        # says: one that is left out of this cycle waits as before.  To be done before
        # another page gets the name.
        known = self._state.conflict_files()
        pairs = _renamed_there(decided.plan)
        # Names that other pages get here, and whose own pages are gone for that: a
        # conflict file that is left of them would pass for the settlement of another.
        given_away = {new for _, new in pairs} - {old for old, _ in pairs}
        # Pages that wait, and those of which this cycle found out nothing; where a
        # rename is left out, or failed, its conflict file has the old name.
        plan = decided.whole
        waiting = {one.slug for one in plan.held} | {one.slug for one in plan.skipped}
        waiting |= decided.superseded
        renamed = [pair for move in plan.moves for pair in move.renamed]
        waiting |= {old for old, new in renamed if new in waiting}
        waiting |= self._saved_again
        for slug in sorted(known.keys() & given_away | known.keys() - waiting):
            if not self._cycle.options.writes_here(slug):
                continue
            record = known[slug]
            try:
                beside, file = await self._file_of(slug, record)
                if file is not None and file.lock and slug not in given_away:
                    self._warn_open(slug, file)
                    continue
                await self._take_work(
                    slug, record, beside, file, is_given_away=slug in given_away
                )
                # where there was none, there may be one by now: a person's
                if file is not None:
                    taken = digest_of(file.text)
                    await self._local.remove_conflict(beside, expected=taken)
            except PreconditionFailed as error:
                self._tally.supersede(slug, error)
            except FolderError as error:
                self._tally.fail("conflict-unclear", slug, error)
            else:
                self._state.drop_conflict_file(slug)

    async def _file_of(
        self, slug: Slug, record: ledger.ConflictFileRecord
    ) -> tuple[Slug, ConflictFile | None]:
        """A conflict file, and the page beside which it is: its own, or as moved."""
        file = await self._local.conflict_file(slug) if record.has_file else None
        if record.has_file and file is None:
            # it went with its page, as the folder of both did
            renamed = await self._renamed_here(record)
            if renamed is not None:
                return renamed, await self._local.conflict_file(renamed)
        return slug, file

    async def _take_work(
        self,
        slug: Slug,
        record: ledger.ConflictFileRecord,
        beside: Slug,
        file: ConflictFile | None,
        *,
        is_given_away: bool,
    ) -> None:
        """Do not let a person's work in a conflict file go silently."""
        # Settled, it becomes the page, or the one that the file was renamed to.  What
        # can become no page is named, with how to get at it.
        if file is None or digest_of(file.text) == record.conflict_file:
            return
        settled = (await _read(file.text)).text
        renamed = await self._renamed_here(record)
        if settled is not None and renamed is not None:
            page = await self._local.read(renamed)
            if page.content != record.local:
                raise PreconditionFailed(f"{renamed} was saved since it was renamed")
            kept = self._state.remember_replaced(
                renamed, page.content, settled, self._cycle.clock()
            )
            after = Page(renamed, page.format, settled)
            await self._local.write(after, expected=page.digest)
            self._state.confirm_replaced([kept])
            self._tally.superseded += 1  # the plan has the text of before
            return
        try:
            is_page = settled == (await self._local.read(slug)).content
        except NotFound:
            is_page = False
            if settled is not None and not is_given_away:
                taken = digest_of(file.text)
                await self._write(slug, record, None, settled, settled, taken)
                self._tally.superseded += 1  # the plan may have the wiki's text
                return
        if not is_page:
            what = (
                "its conflict is over, and your text in the conflict file was not used"
            )
            await self._warn_over(beside, file.text, what)

    async def _warn_over(self, slug: Slug, text: str, what: str) -> None:
        """Name a conflict file that went to the trash, and how to get at its text."""
        is_settled = (await _read(text)).text is not None
        message = f"{what}; the file is in the trash"
        # the cycle may come to nothing
        self._cycle.note_new({slug: message})
        self._tally.warn(
            "conflict-over",
            slug,
            message,
            f"{'restore its text' if is_settled else 'see its text'}: "
            + command_line(
                "restore",
                f"{self._local.name}/{slug}",
                "--conflict",
                # with marker lines in it, it is printed only
                *([] if is_settled else ["--dry-run"]),
            ),
            is_once=True,
        )

    async def show(
        self, decided: Decided, *, writes: bool
    ) -> Mapping[Slug, str | FolderError]:
        """Write conflict files of held pages; their paths, or what is in the way."""
        show = self._show if writes else self._shown
        shown: dict[Slug, str | FolderError] = {}
        for action in decided.plan.held:
            merged = decided.merges.get(action.slug)
            if action.slug in self._tally.lost_names:
                continue  # it stands beside the page's old name
            if action.reason in WITH_CONFLICT_FILE and merged is not None:
                try:
                    path = await show(merged)
                    if path:
                        shown[action.slug] = path
                except PreconditionFailed as error:
                    self._tally.supersede(action.slug, error)
                except FolderError as error:
                    shown[action.slug] = error
        return shown

    async def _shown(self, merged: MergedPage) -> str:
        known = self._state.conflict_files(merged.slug).get(merged.slug)
        if known is None:
            return ""
        file = await self._local.conflict_file(merged.slug)
        if not known.has_file:
            raise FolderError(UNWRITTEN, hint=UNWRITTEN_HINT)
        return "" if file is None else file.path

    async def _show(self, merged: MergedPage) -> str:
        """Bring a conflict file up to date unless a person works on it or hid it."""
        slug = merged.slug
        known = self._state.conflict_files(slug).get(slug)
        remote = merged.remote.content
        is_seen = known is not None and known.remote == remote
        at = known.at if known is not None and is_seen else self._cycle.clock()
        label = ledger.remote_label(at)
        pieces = merged.result.pieces
        text = await on_texts(
            lambda: conflict.write_conflict_file(pieces, remote_by=label), remote
        )
        record = ledger.ConflictFileRecord(
            *(merged.remote.format, digest_of(text), merged.local.content, remote),
            *(at, merged.remote.digest),
        )
        there: Digest | None = None
        path = ""
        try:
            found = await self._local.conflict_file(slug)
            there = None if found is None else digest_of(found.text)
            path = "" if found is None else found.path
            if known is not None and known.has_file:
                is_open = (
                    found is not None and found.lock and there != record.conflict_file
                )
                if is_open or there not in {known.conflict_file, record.conflict_file}:
                    return path
            # At this point nobody has settled the file: it is as we wrote it, missing,
            # or of another conflict, which is named before it goes.
            if there != record.conflict_file:
                if found is not None and (known is None or not known.has_file):
                    # first: after the end of the process nobody knows of that file
                    await self._warn_over(slug, found.text, IN_ITS_PLACE)
                path = await self._local.write_conflict(
                    slug,
                    merged.local.format,
                    text,
                    expected=NO_FILE if there is None else there,
                )
        except FolderError as error:
            if known is None or not known.has_file or isinstance(error, PlaceTaken):
                record = replace(record, conflict_file=ledger.NO_DIGEST)
                self._state.record_conflict_file(slug, record)
            raise
        # after the file: a record without its file would pass for a hidden one
        if known is None or replace(known, at=record.at) != record:
            self._state.record_conflict_file(slug, record)
        return path

    async def _ask_again(
        self,
        page: Page,
        record: ledger.ConflictFileRecord,
        pieces: Sequence[conflict.Piece],
        taken: Digest | None,
    ) -> None:
        """Show the clash between what was settled and what was saved meanwhile."""
        # the record keeps the old file's digest, so that this one counts as a person's
        # work: the settlement stands in it and nowhere else
        text = await on_texts(
            lambda: conflict.write_conflict_file(pieces, remote_by="your resolution"),
            page.content,
        )
        await self._local.write_conflict(page.slug, page.format, text, expected=taken)
        self._state.record_conflict_file(page.slug, replace(record, local=page.content))
        self._tally.warn(
            "conflict-again",
            page.slug,
            "the page was edited while its conflict was being settled",
            "resolve the conflict file again",
            is_once=True,
        )


def _lines(text: str) -> Set[str]:
    return set(text.split("\n")) - {""}


async def _read(text: str) -> conflict.MergedText:
    return await on_texts(lambda: conflict.read_conflict_file(text), text)


def _renamed_there(plan: Plan) -> Sequence[tuple[Slug, Slug]]:
    """What pages that were renamed on the wiki were called, and are."""
    renamed = [m.renamed for m in plan.moves if isinstance(m, MoveLocal)]
    return [pair for pairs in renamed for pair in pairs]

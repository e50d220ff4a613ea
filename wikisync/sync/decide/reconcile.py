"""The decision: what base, local and remote together say must be done.

Pure.  No clock, no order of events and no guess enters.  First each side's renames are
matched (``renames``), so that a *record* of the base stands for one page under up to
three names.  Then every record gets its row of the table of ``docs/sync.md``
"Decisions", and every page without a record its row of the small one.  What is renamed
and edited gets two actions, the rename first.

Rules that hold everywhere: an edit or a rename beats a deletion; the wiki's new name
beats ours; a name that another page has on the other side is never written over, its
page is held; what cannot be seen is left alone.  Absence is not deletion: a page
missing from an incomplete snapshot is *unseen*, and without a base nothing is removed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from wikisync.core.model import (
    Format,
    PageState,
    Slug,
    Snapshot,
    folders_above,
    is_dashed,
)
from wikisync.sync.decide import plan
from wikisync.sync.decide.renames import NOTHING_TAKEN, RemoteNames, Taken, renames


class _Record(Struct, frozen=True):
    """A page of the base and the names it has now; None where it is gone."""

    agreed: plan.BasePage
    local: Slug | None
    remote: Slug | None

    @property
    def slug(self) -> Slug:
        return self.agreed.slug

    @property
    def is_renamed_here(self) -> bool:
        return self.local not in {None, self.slug}

    @property
    def is_renamed_there(self) -> bool:
        return self.remote not in {None, self.slug}


def reconcile(
    base: plan.Base,
    local: Snapshot,
    remote: Snapshot,
    taken: tuple[Taken, Taken] = (NOTHING_TAKEN, NOTHING_TAKEN),
    changed: Collection[Slug] | None = None,
) -> plan.Plan:
    """Decide one cycle."""
    if changed is None:
        changed = changed_pages(base, local, remote)
    table = _Table(base, local, remote, taken, changed)
    return plan.Plan.from_actions(table.actions())


class _Table:
    def __init__(
        self,
        base: plan.Base,
        local: Snapshot,
        remote: Snapshot,
        taken: tuple[Taken, Taken],
        changed: Collection[Slug],
    ) -> None:
        self._taken = taken
        self._changed = changed
        self._base = base
        self._local = local
        self._remote = remote
        self._records = self._matched()
        self._clashing = {
            slug: sides
            for slug, record in self._records.items()
            if any(sides := self._clashes_of(record))
        }
        self._files = {r.remote: r.local for r in self._records.values() if r.remote}
        self._moves: dict[Slug, plan.MoveRemote | plan.Hold | plan.Skip | None] = {}

    @cached_property
    def _names(self) -> RemoteNames:
        return RemoteNames(self._remote)

    @cached_property
    def _by_local(self) -> Mapping[Slug | None, Slug]:
        return {record.local: slug for slug, record in self._records.items()}

    @cached_property
    def _by_remote(self) -> Mapping[Slug | None, Slug]:
        return {record.remote: slug for slug, record in self._records.items()}

    def _matched(self) -> dict[Slug, _Record]:
        """The records to decide on: of all pages where any was renamed."""
        # A rename may carry others along, or want their names.  Without one, what did
        # not change needs no decision.
        base, local, remote = self._base, self._local, self._remote
        taken_here, taken_there = self._taken
        here = renames(base, local, taken_here.renamed, is_wiki=False)
        there = renames(base, remote, taken_there.renamed, is_wiki=True)
        # Each new name goes to one record at most, and a name of the base only where
        # its own page got another one.  So on each side no two records share a name.
        # What stands under a name that was taken again waits for the next cycle, to
        # which it is new.
        return {
            slug: _Record(
                base[slug],
                here.get(slug, slug if slug in local.pages else None),
                there.get(slug, slug if slug in remote.pages else None),
            )
            for slug in (base if here or there else self._changed)
        }

    def _clashes_of(self, record: _Record) -> tuple[bool, bool]:
        """Whether the new name here, and the one there, is another page's."""
        # a file gives its new name up where the wiki gave its page another one
        there = record.is_renamed_there and (
            record.remote in self._local.pages and record.remote != record.local
        )
        here = record.is_renamed_here and (
            record.local in self._remote.pages and record.local != record.remote
        )
        # Of a record that does not clash we know from here on: the wiki's new name is
        # free here or its own file has it; and a new name of its file that is taken on
        # the wiki does not count, since the wiki's new name is the one that it gets.
        return here and (there or not record.is_renamed_there), there

    def actions(self) -> Iterator[plan.Action]:
        """Decide: the renames on the wiki first, for they move other pages too."""
        clear = [r for slug, r in self._records.items() if slug not in self._clashing]
        # in a fixed order: the plan must not hang on the order of a mapping
        clear.sort(key=lambda record: (record.slug.count("/"), record.slug))
        self._plan_moves(clear)
        # All renames on the wiki are planned now, so ``_names.now`` gives each page the
        # name that it has after this cycle, and no row below changes it.
        moved: set[Slug] = set()
        for record in clear:
            # A page that nobody touched needs no row, unless a rename planned above
            # carries it along: then its file or its record follows.
            if self._moves or not self._is_untouched(record):
                found = list(self._record(record))
                moved |= {
                    record.slug
                    for one in found
                    if isinstance(one, plan.MoveLocal | plan.MoveRemote)
                }
                yield from found
                yield from self._with_namesake(record, found)
        for slug in self._clashing:
            yield self._clash(slug, moved)
        for slug in sorted(self._unrecorded()):
            if (action := self._created(slug)) is not None:
                yield action

    def _with_namesake(
        self, record: _Record, found: Sequence[plan.Action]
    ) -> Iterator[plan.Hold]:
        """Hold what took the name of a page, too, where that one cannot get its own."""
        is_taken = any(record.slug in side.renamed for side in self._taken)
        waits = all(isinstance(one, plan.Hold | plan.Skip) for one in found)
        if is_taken and waits and all(one.slug != record.slug for one in found):
            yield plan.Hold(record.slug, plan.HoldReason.NAME_TAKEN)

    def _unrecorded(self) -> set[Slug]:
        # the new name of a record that clashes is one: both sides have a page there,
        # and they meet as two pages that were created
        # A name of the base stays its record's, also where both pages are gone: what
        # comes back under it is that page again, and no new one.
        owned: set[Slug | None] = set(self._base)
        for slug, record in self._records.items():
            here, there = self._clashing.get(slug, (False, False))
            owned |= {None if here else record.local, None if there else record.remote}
        local, remote = self._local, self._remote
        seen = {*local.pages, *remote.pages, *local.unreadable, *remote.unreadable}
        return seen - owned

    def _is_untouched(self, record: _Record) -> bool:
        agreed, slug = record.agreed, record.slug
        if not record.local == record.remote == slug:
            return False
        mine, theirs = self._local.pages[slug], self._remote.pages[slug]
        unreadable = slug in self._local.unreadable or slug in self._remote.unreadable
        return (
            not unreadable
            and mine.digest == agreed.local
            and theirs.digest == agreed.remote
            and mine.format is theirs.format is agreed.format
        )

    # -- records -----------------------------------------------------------------

    def _record(self, record: _Record) -> Iterator[plan.Action]:
        skipped = self._unknown(record)
        if skipped is not None:
            yield skipped
            return
        # At this point nothing about the record is a guess: where a side lacks the
        # page, its snapshot is complete and the page not among what it could not read;
        # and the new name of a page that both sides have could be found on the
        # other side.
        if record.local is None and record.remote is None:
            yield plan.DropRecord(record.slug)
        elif record.local is None:
            yield from self._gone_here(record)
        elif record.remote is None:
            yield from self._gone_there(record)
        else:
            yield from self._on_both(record, record.local, record.remote)

    def _unknown(self, record: _Record) -> plan.Skip | None:
        """Leave a page alone while it, or the name it goes to, cannot be seen."""
        here: Slug | None = None
        there: Slug | None = None
        if record.local is None or record.slug in self._local.unreadable:
            here = record.slug
        elif record.is_renamed_here and record.local != record.remote:
            there = record.local
        if record.remote is None or record.slug in self._remote.unreadable:
            there = record.slug
        elif record.is_renamed_there and record.local != record.remote:
            here = record.remote
        return self._unseen(record.slug, here, there)

    def _unseen(
        self, slug: Slug, here: Slug | None, there: Slug | None
    ) -> plan.Skip | None:
        """Leave a page alone while a name it has on one side cannot be seen there."""
        # absent from an incomplete snapshot is not absent, and a text that cannot be
        # read may be any text
        local, remote = self._local, self._remote
        if here in local.unreadable:
            return plan.Skip(slug, plan.SkipReason.UNREADABLE_HERE)
        if there in remote.unreadable:
            return plan.Skip(slug, plan.SkipReason.UNREADABLE_THERE)
        if here is not None and here not in local.pages and not local.is_complete:
            return plan.Skip(slug, plan.SkipReason.UNSEEN_HERE)
        if there is not None and there not in remote.pages and not remote.is_complete:
            return plan.Skip(slug, plan.SkipReason.UNSEEN_THERE)
        return None

    def _gone_here(self, record: _Record) -> Iterator[plan.Action]:
        # ``_record`` asked: the file is gone for certain, and the page is not.
        assert record.remote is not None
        theirs = self._remote.pages[record.remote]
        name = self._names.now(record.remote)
        is_edited = not _is_same(theirs, record.agreed.remote_state)
        if not is_edited and not record.is_renamed_there:
            # The wiki has exactly what was agreed on, under the old name: whoever
            # removed the file had seen this text.  Of two twins the service may remove
            # the other one (Q5).
            twin = self._names.is_twin(record.remote)
            hold = plan.Hold(record.slug, plan.HoldReason.CASE_TWIN)
            yield (
                hold if twin else plan.DeleteRemote(name, theirs.digest, theirs.format)
            )
            return
        # Somebody did something to the page that whoever removed the file did not see:
        # it comes back.  The new file makes the record of its name; another one ends.
        if name != record.slug:
            yield plan.DropRecord(record.slug)
        notice = (
            plan.Notice.EDIT_BEATS_DELETE_HERE
            if is_edited
            else plan.Notice.RENAME_BEATS_DELETE_HERE
        )
        yield plan.CreateLocal(name, theirs.format, theirs.digest, notice)

    def _gone_there(self, record: _Record) -> Iterator[plan.Action]:
        # The page is gone for certain, and the file is not.
        assert record.local is not None
        mine = self._local.pages[record.local]
        is_edited = not _is_same(mine, record.agreed.local_state)
        if not is_edited and not record.is_renamed_here:
            # not renamed, so the file's name is the record's, which the action needs
            yield plan.DeleteLocal(record.slug, mine.digest)
            return
        notice = (
            plan.Notice.EDIT_BEATS_DELETE_THERE
            if is_edited
            else plan.Notice.RENAME_BEATS_DELETE_THERE
        )
        action = self._create_remote(mine, notice)
        # A page that is held or left alone keeps its record: without it the file would
        # be a new page in the next cycle, and nothing would say that it was deleted.
        if isinstance(action, plan.CreateRemote) and record.is_renamed_here:
            yield plan.DropRecord(record.slug)
        yield action

    def _on_both(
        self, record: _Record, here: Slug, there: Slug
    ) -> Iterator[plan.Action]:
        move = self._moves.get(record.slug)
        if isinstance(move, plan.Hold | plan.Skip):
            # the text waits with the name: under which one it would be sent is open
            yield move
            return
        # At this point both sides have the page, and ``name`` is what the wiki calls it
        # after the renames of this plan.  In the folder that name is free, or the
        # file's own: ``_clashes_of`` saw to that for a rename that was made on the
        # wiki, and ``_move`` for one of this plan that carries the page along.
        mine, theirs = self._local.pages[here], self._remote.pages[there]
        name = self._names.now(there)
        if move is not None:
            yield move
            if name != here:
                # A later rename of this plan takes the page along from the name that
                # this one gives it; the next cycle sees where it is, and follows.
                return
        elif name == here != record.slug:
            yield plan.Rebind(record.slug, name)
        elif is_dashed(here, name):
            # the file keeps the name that its writer gave it
            yield plan.Rebind(record.slug, name, file=here)
        elif name != here:
            yield plan.MoveLocal(here, name, record.slug, mine.digest)
        if (action := self._text(record, name, mine, theirs)) is not None:
            yield action

    def _text(
        self, record: _Record, name: Slug, mine: PageState, theirs: PageState
    ) -> plan.Action | None:
        agreed = record.agreed
        is_mine = not _is_same(mine, agreed.local_state)
        is_theirs = not _is_same(theirs, agreed.remote_state)
        if not (is_mine or is_theirs):
            return None
        is_doubtful = any(record.slug in side.doubtful for side in self._taken)
        if not (is_mine or is_doubtful):
            # the file holds the agreed text: what is replaced, the wiki had before
            return plan.Pull(name, theirs.format, mine.digest, theirs.digest)
        if (is_theirs or is_doubtful) and mine.has_same_text(theirs):
            # whichever page that is, it is the same one on both sides
            return plan.Adopt(name, mine.format, mine.digest, theirs.digest)
        if is_doubtful:
            return plan.Hold(name, plan.HoldReason.CREATED_BOTH)
        if record.remote is not None and self._names.is_twin(record.remote):
            return plan.Hold(name, plan.HoldReason.CASE_TWIN)
        # From here on our text is to reach the wiki, at once or as part of a merge, and
        # the service finds this very page under its name.
        if is_theirs:
            return _merge(agreed.format, name, mine, theirs)
        # the wiki has the agreed text: what is replaced, the folder had before
        if not mine.format.is_writable:
            return plan.Skip(name, plan.SkipReason.READ_ONLY)
        return plan.Push(name, mine.format, mine.digest, theirs.digest)

    # -- names on the wiki -------------------------------------------------------

    def _plan_moves(self, records: Sequence[_Record]) -> None:
        """Rename on the wiki what was renamed here, unless the wiki renamed it too."""
        # A rename takes the pages below along.  So it comes before those of pages below
        # it, which then start from where it brings them, and before those of pages that
        # go below its old name, which it would take along otherwise.
        waiting = {
            r.slug: r
            for r in records
            if r.is_renamed_here
            and r.remote == r.slug
            and not is_dashed(r.local or "", r.slug)
            and self._unknown(r) is None
        }
        # Each round takes at least one out of ``waiting``, so this ends; and each
        # rename starts from the names that the ones before it have left (``_names``).
        while waiting:
            ready = [r for r in waiting.values() if not _waits(r, waiting)]
            # two pages that each go below the other's old name: one must be first
            for record in ready or [next(iter(waiting.values()))]:
                del waiting[record.slug]
                self._moves[record.slug] = self._move(record)

    def _move(self, record: _Record) -> plan.MoveRemote | plan.Hold | plan.Skip | None:
        """One rename; None where another one brought the page to its place."""
        there, here = record.remote, record.local
        # by ``_plan_moves``: the wiki has the page under the record's name, its file
        # has another one, and nothing about either is a guess
        assert there is not None
        assert here is not None
        now = self._names.now(there)
        if now == here:
            return None  # a rename of the page above it did the same to both
        theirs = self._remote.pages[there]
        if not theirs.format.is_writable:
            return plan.Skip(record.slug, plan.SkipReason.READ_ONLY)
        if self._names.is_twin(there):
            return plan.Hold(record.slug, plan.HoldReason.CASE_TWIN, here)
        moves = self._names.moves_of(now, here)
        # so no file is in the way of what follows a rename on the wiki
        if moves is None or not all(
            new not in self._local.pages or self._files.get(self._names.was(old)) == new
            for old, new in moves.items()
        ):
            return plan.Hold(record.slug, plan.HoldReason.NAME_TAKEN, here)
        self._names.rename(moves)
        carried = tuple(sorted(moves.keys() - {now}))
        turn = len(self._moves)
        return plan.MoveRemote(
            now, here, record.slug, theirs.format, theirs.digest, carried, turn
        )

    def _clash(self, slug: Slug, moved: Collection[Slug]) -> plan.Action:
        """Keep a page whose new name is taken; drop its record where it is gone."""
        record = self._records[slug]
        here, there = self._clashing[slug]
        is_gone = (here or record.local is None) and (there or record.remote is None)
        unreadable = self._local.unreadable | self._remote.unreadable
        is_known = self._local.is_complete and self._remote.is_complete
        # Where the record clashes on a side, both sides have a page under its new name
        # there, and these two meet as created pages (``_unrecorded``).  If the other
        # side has nothing of the record either, no page is left that it stands for.
        if is_gone and is_known and slug not in unreadable:
            return plan.DropRecord(slug)
        if self._gets_free(slug, moved):
            name = record.local if here else record.remote
            return plan.Skip(slug, plan.SkipReason.NAME_IN_USE, name)
        if here:
            return plan.Hold(slug, plan.HoldReason.NAME_TAKEN, record.local)
        file = record.local if record.is_renamed_here else None
        return plan.Hold(slug, plan.HoldReason.NAME_TAKEN, record.remote, file)

    def _gets_free(self, slug: Slug, moved: Collection[Slug]) -> bool:
        """Whether the page that has its new name on the other side leaves that name."""
        # it may wait for a third one in turn, until the last of them is renamed now
        passed: set[Slug] = set()
        sides = self._clashing[slug]
        while self._clashing.get(slug) == sides and slug not in passed:
            passed.add(slug)
            record = self._records[slug]
            other = (
                self._by_remote.get(record.local)
                if sides == (True, False)
                else self._by_local.get(record.remote)
            )
            if other is None or sides == (True, True):
                return False
            slug = other
        return slug in moved

    # -- pages without a record --------------------------------------------------

    def _created(self, slug: Slug) -> plan.Action | None:
        mine, theirs = self._local.pages.get(slug), self._remote.pages.get(slug)
        skipped = self._unseen(slug, slug, slug)
        if skipped is not None:
            return skipped
        # At this point both sides were seen, and one of them at least has the page: an
        # unreadable one is skipped, and ``_unrecorded`` lists no other names.
        if mine is not None and theirs is not None:
            if mine.has_same_text(theirs):
                return plan.Adopt(slug, mine.format, mine.digest, theirs.digest)
            # without a text that both once had, neither is an edit of the other
            return plan.Hold(slug, plan.HoldReason.CREATED_BOTH)
        if mine is not None:
            return self._create_remote(mine)
        assert theirs is not None
        return plan.CreateLocal(self._names.now(slug), theirs.format, theirs.digest)

    def _create_remote(
        self, mine: PageState, notice: plan.Notice | None = None
    ) -> plan.CreateRemote | plan.Hold | plan.Skip:
        if not mine.format.is_writable:
            return plan.Skip(mine.slug, plan.SkipReason.READ_ONLY)
        if not self._names.take(mine.slug):
            return plan.Hold(mine.slug, plan.HoldReason.CASE_TWIN)
        return plan.CreateRemote(mine.slug, mine.format, mine.digest, notice)


def _waits(record: _Record, waiting: Mapping[Slug, _Record]) -> bool:
    """Whether a page above this one's old or new name is still to be renamed."""
    assert record.local is not None
    above = {*folders_above(record.slug), *folders_above(record.local)} - {record.slug}
    return any(folder in waiting for folder in above)


def _is_same(seen: PageState, agreed: PageState) -> bool:
    return seen.digest == agreed.digest and seen.format is agreed.format


def _merge(
    agreed: Format, name: Slug, mine: PageState, theirs: PageState
) -> plan.Merge | plan.Hold:
    """Merge the texts in the format that one side gave the page, if one did."""
    if mine.format not in {agreed, theirs.format} and theirs.format is not agreed:
        return plan.Hold(name, plan.HoldReason.FORMATS)
    merged = theirs.format if mine.format is agreed else mine.format
    if not merged.is_writable:
        return plan.Hold(name, plan.HoldReason.EDITED_BOTH)
    return plan.Merge(name, merged, mine.digest, theirs.digest)


def changed_pages(
    base: plan.Base, here: Snapshot, there: Snapshot
) -> dict[Slug, plan.BasePage]:
    """Pages that either side does not hold, under their names, as was agreed."""
    # Of a page that is not among them no row of the table says that anything is to do,
    # and nothing new is known.  One loop over thousands of pages, so it calls nothing.
    mine, theirs = here.pages, there.pages
    unreadable = here.unreadable | there.unreadable
    found: dict[Slug, plan.BasePage] = {}
    for slug, page in base.items():
        local, remote = mine.get(slug), theirs.get(slug)
        if (
            local is None
            or remote is None
            or local.digest != page.local
            or remote.digest != page.remote
            or not local.format is remote.format is page.format
            or (local.identity and local.identity != page.local_identity)
            or (remote.identity and remote.identity != page.remote_identity)
            or slug in unreadable
        ):
            found[slug] = page
    return found

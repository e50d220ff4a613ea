"""A side that goes back in time: restored from a backup, or pushed over by force.

Pure.  To the table it looks like many edits and deletions on the wiki.  It is
recognised by its history, which lacks the commit of the last sync; and where git says
nothing, by pages that return to texts which both sides agreed on before.  Then whatever
would be taken back here waits for a person.  A folder over which an older copy was put
is recognised by its texts alone, and what it would take back on the wiki waits, too.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from wikisync.core.model import Digest, PageState, Slug, Snapshot
from wikisync.sync.decide.plan import (
    Action,
    Base,
    CreateRemote,
    DeleteLocal,
    DeleteRemote,
    Hold,
    Merge,
    MoveLocal,
    MoveRemote,
    Plan,
    Pull,
    Push,
    Rebase,
    Skip,
    SkipReason,
)

SentBack: TypeAlias = Push | Merge | MoveRemote | CreateRemote | DeleteRemote
REWOUND_PAGES_MIN = 3
"""Fewer pages that return to an earlier text are reverts that somebody made, as far as
the texts alone can show."""


class NotAgreed(Struct, frozen=True):
    """What the wiki has otherwise than was agreed on, of the pages of a plan."""

    texts: Mapping[Slug, PageState] = {}
    """What it has of pages with another text or format, by their records; also of pages
    that wait, such as one whose new name is taken."""
    shown: frozenset[Slug] = frozenset()
    """Those of them whose text a conflict file shows."""
    missing: frozenset[Slug] = frozenset()
    files: Mapping[Slug, Slug] = {}
    """Records of pages that are to be renamed here, by their names of now: by these
    they go where the rename has to wait."""

    def records_in(self, plan: Plan) -> Mapping[Slug, Slug]:
        """Records of a plan's pages that go by other names, what waits included."""
        return {**self.files, **plan.records}


class Rewinding(Struct, frozen=True):
    """What a side that went back in time would take back on the other."""

    returned: frozenset[Slug] = frozenset()
    """Pages that have an earlier text on the wiki, by their records."""
    missing: frozenset[Slug] = frozenset()
    renamed: Mapping[MoveLocal, MoveRemote] = {}
    """Pages that have an earlier name on it: what would be done here, and there."""
    seen: NotAgreed = NotAgreed()
    """Whether the wiki went back or not."""
    records: Mapping[Slug, Slug] = {}
    """``NotAgreed.records_in`` the plan."""
    sent: frozenset[Action] = frozenset()
    renamed_there: Mapping[MoveRemote, MoveLocal] = {}
    """Pages that have an earlier name in it: what would be done there, and here."""

    def takes_back(self, action: Action) -> bool:
        """Whether an action is part of it, or keeps back what is."""
        if isinstance(action, Pull | Merge) or self.waits(action):
            return self._record_of(action) in self.returned
        if isinstance(action, MoveLocal):
            return action in self.renamed
        is_gone = action.slug in self.missing
        return is_gone and isinstance(action, DeleteLocal | Hold | Skip)

    def waits(self, action: Action) -> bool:
        """Whether a page is left alone whose text on the wiki is another one."""
        # not one in conflict: there a person is asked already what becomes of it
        is_left = isinstance(action, Hold | Skip)
        is_asked = self._record_of(action) in self.seen.shown
        return is_left and not is_asked and self.there(action) is not None

    def there(self, action: Action) -> PageState | None:
        """What the wiki has of a page, where that is not what was agreed on."""
        return self.seen.texts.get(self._record_of(action))

    def rebase(self, action: Action) -> Rebase:
        """What keeps the newer text of a page that waits."""
        theirs = self.there(action)
        assert theirs is not None, "a page that waits has another text on the wiki"
        record = self._record_of(action)
        return Rebase(record, theirs.slug, theirs.format, theirs.digest)

    def _record_of(self, action: Action) -> Slug:
        return self.records.get(action.slug, action.slug)

    def put_back(self, action: Pull | Merge) -> Push:
        """What puts the newer text of a page back on the wiki."""
        names = {move.target: move.slug for move in self.renamed}
        slug = names.get(action.slug, action.slug)
        return Push(slug, action.format, action.local, action.remote)

    def bring_back(self, action: Push | Merge, base: Base) -> Pull:
        """What puts the newer text of a page back in the folder."""
        names = {move.slug: move.target for move in self.renamed_there.values()}
        theirs, known = self.there(action), base.get(self._record_of(action))
        newer = theirs or known
        page_format = newer.format if newer else action.format
        slug = names.get(action.slug, action.slug)
        return Pull(slug, page_format, action.local, action.remote)


NO_REWINDING = Rewinding()


def may_take_back(action: Action) -> bool:
    """Whether an action would take a text, a name or a page back here."""
    if isinstance(action, Skip):
        return action.reason is SkipReason.GONE_THERE
    return isinstance(action, Pull | Merge | MoveLocal | DeleteLocal)


def not_agreed(
    plan: Plan, base: Base, there: Snapshot, shown: Mapping[Slug, Digest]
) -> NotAgreed:
    """What the wiki has otherwise than was agreed on."""
    records = plan.records
    renamed = {old: new for new, old in records.items()}
    renamed |= {hold.slug: hold.target for hold in plan.held if hold.target}
    renamed |= {skip.slug: skip.target for skip in plan.skipped if skip.target}
    here = [move for move in plan.moves if isinstance(move, MoveLocal)]
    moved = {move.record: move.target for move in here}
    found: dict[Slug, PageState] = {}
    in_conflict: set[Slug] = set()
    for action in plan.actions:
        record = records.get(action.slug, action.slug)
        if record not in base or not isinstance(action, Pull | Merge | Hold | Skip):
            continue
        # under the old name of what was renamed on the wiki, nothing or another page
        name = record if record in there.pages else renamed.get(record, record)
        # one that only follows its parent to a name of ours is not there yet
        name = moved[record] if moved.get(record) in there.pages else name
        theirs, agreed = there.pages.get(name), base[record]
        if theirs is not None and (
            theirs.digest != agreed.remote or theirs.format is not agreed.format
        ):
            found[record] = theirs
            is_shown = theirs.digest == shown.get(action.slug)
            if is_shown and not isinstance(action, Pull):
                in_conflict.add(record)
    missing = {one.slug for one in plan.actions if isinstance(one, DeleteLocal)}
    missing |= {s.slug for s in plan.skipped if s.reason is SkipReason.GONE_THERE}
    files = {move.slug: move.record for move in here}
    return NotAgreed(found, frozenset(in_conflict), frozenset(missing), files)


def rewinding_of(
    plan: Plan,
    seen: NotAgreed,
    earlier: Mapping[Slug, Collection[Digest]],
    *,
    is_known: bool = False,
) -> Rewinding:
    """Whether the wiki went back in time, by what a plan would bring from it.

    ``earlier`` has, by records, texts that pages had before the agreed one.
    ``is_known``: it was found before and is not decided yet, so one page suffices.
    """
    returned = {
        record
        for record, one in seen.texts.items()
        if one.digest in earlier.get(record, ())
    }
    brought = brought_pages(plan, seen)
    found = len(returned & brought)
    is_most = found >= REWOUND_PAGES_MIN and 2 * found >= len(brought)
    if not (is_most or (is_known and returned)):
        return NO_REWINDING
    return Rewinding(frozenset(returned), seen.missing)


def folder_rewinding_of(
    plan: Plan,
    here: Snapshot,
    earlier: Mapping[Slug, Collection[Digest]],
    texts: Collection[Digest] = (),
    *,
    is_known: bool = False,
) -> Rewinding:
    """Whether the folder went back in time, by what a plan would send from it.

    As ``rewinding_of``; a new page with none of ``texts``, which pages had or have, is
    nobody's copy.
    """
    edits = [one for one in plan.actions if isinstance(one, Push | Merge)]
    records, files = plan.records, plan.files

    def has_one(slug: Slug, texts: Collection[Digest]) -> bool:
        mine = here.pages.get(slug)
        return mine is not None and (mine.digest in texts or mine.folded in texts)

    returned = [
        edit
        for edit in edits
        if has_one(
            files.get(edit.slug, edit.slug),
            earlier.get(records.get(edit.slug, edit.slug), ()),
        )
    ]
    is_most = len(returned) >= REWOUND_PAGES_MIN and 2 * len(returned) >= len(edits)
    if not (is_most or (is_known and returned)):
        return NO_REWINDING
    moves = [one for one in plan.moves if isinstance(one, MoveRemote)]
    others = [
        one
        for one in plan.actions
        if isinstance(one, DeleteRemote)
        or (isinstance(one, CreateRemote) and has_one(one.slug, texts))
    ]
    back = {
        move: MoveLocal(move.target, move.slug, move.record, file.digest)
        for move in moves
        if not move.carried and (file := here.pages.get(move.target))
    }
    sent = frozenset[Action]([*returned, *moves, *others])
    return Rewinding(sent=sent, renamed_there=back)


def rewinding_by_history(
    plan: Plan, seen: NotAgreed, base: Base, there: Snapshot
) -> Rewinding:
    """All that would be taken back, where the history says that the wiki went back."""
    moves = [one for one in plan.moves if isinstance(one, MoveLocal)]
    renamed = renamed_back(moves, base, there)
    return Rewinding(frozenset(seen.texts), seen.missing, renamed)


def brought_pages(plan: Plan, seen: NotAgreed) -> frozenset[Slug]:
    """Pages of which the wiki's texts come here, or will as soon as they can."""
    # a held page may have waited for long, and so is no sign of what happened now
    records = seen.records_in(plan)
    held = {records.get(one.slug, one.slug) for one in plan.held}
    return frozenset(seen.texts.keys() - held)


def renamed_back(
    moves: Sequence[MoveLocal], base: Base, there: Snapshot
) -> Mapping[MoveLocal, MoveRemote]:
    """What puts the name of each page back on the wiki instead."""
    return {
        move: MoveRemote(
            move.target,
            move.slug,
            move.record,
            base[move.record].format,
            there.pages[move.target].digest,
            turn=turn,
        )
        for turn, move in enumerate(moves)
        # another one only follows a rename that was made here
        if move.target in there.pages
    }

"""Safety stops: when a plan would do so much that a person must say yes.

Pure.  An outage of the service's storage looks exactly like a wiki that somebody
emptied (list ``200 []``, reads ``404``); only the share of what would go can
distinguish them (``docs/sync.md`` "Safety stop"). A stop holds one class of actions as
a *batch* that a person approves or refuses once, and everything else goes on.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from types import UnionType

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Digest, Slug, Snapshot, removals_max, some_of
from wikisync.sync.decide.plan import (
    Action,
    Adopt,
    Base,
    CreateLocal,
    CreateRemote,
    DeleteLocal,
    DeleteRemote,
    Hold,
    Merge,
    MoveLocal,
    MoveRemote,
    Notice,
    Plan,
    Pull,
    Push,
    Skip,
    SkipReason,
)
from wikisync.sync.decide.rewinding import (
    NO_REWINDING,
    Rewinding,
    SentBack,
    may_take_back,
)

REMOVALS_WITHIN_S = 3600.0
EMPTIED_PAGES_MIN = 3
"""So many pages that are gone from a directory that is left empty may be on a disk that
is away."""
CHANGE_SHARE = 0.40
"""Edits of one side in one cycle up to this share of the pages go through ..."""
CHANGE_PAGES = 20
"""... and so do these few, whatever the share."""
SHRINK_BYTES_MIN = 200
"""A page smaller than this may become as small as it likes ..."""
SHRINK_SHARE = 0.90
"""... a larger one may not lose this share of its text unasked."""
NAMES_SHOWN_MAX = 10
NO_ID = 0


class BatchKind(StrEnum):
    """What a batch holds."""

    DELETES_HERE = "deletes-here"
    DELETES_THERE = "deletes-there"
    CHANGES_HERE = "changes-here"
    CHANGES_THERE = "changes-there"
    SHRUNK_HERE = "shrunk-here"
    SHRUNK_THERE = "shrunk-there"
    EMPTIED = "emptied"
    REWOUND = "rewound"
    REWOUND_THERE = "rewound-there"


_WOULD_BE = {
    BatchKind.DELETES_HERE: "removed here because they are missing on the wiki",
    BatchKind.DELETES_THERE: "deleted on the wiki because their files are missing here",
    BatchKind.CHANGES_HERE: "changed here because many pages changed on the wiki at"
    " once",
    BatchKind.CHANGES_THERE: "changed on the wiki because many files changed here at"
    " once",
    BatchKind.SHRUNK_HERE: "changed here because nearly all of their text was removed"
    " on the wiki",
    BatchKind.SHRUNK_THERE: "changed on the wiki because nearly all of their text was"
    " removed here",
    BatchKind.EMPTIED: "deleted on the wiki, or written here, because their directory"
    " here is empty, as if its disk were not mounted",
    BatchKind.REWOUND: "reverted, renamed back or removed here because the wiki"
    " returned to an older state, as after a restored backup or a forced push",
    BatchKind.REWOUND_THERE: "reverted, renamed back, added or removed on the wiki"
    " because the folder returned to an older state, as after an older copy was put"
    " over it",
}
ALL_KINDS = frozenset(BatchKind)
APPROVED_BY_UNDO = (
    BatchKind.DELETES_THERE,
    BatchKind.CHANGES_THERE,
    BatchKind.SHRUNK_THERE,
    BatchKind.EMPTIED,
    BatchKind.REWOUND_THERE,
)
"""What the wiki has to follow in where a person takes a sync back."""
NOTHING_REMOVED: Mapping[BatchKind, frozenset[Slug]] = {}


class Decision(StrEnum):
    """What a person said about a batch."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


class Member(Struct, frozen=True, order=True, array_like=True):
    """One page of a batch; a later text of it is not what was decided on."""

    slug: Slug
    digest: Digest
    """Of the text that would be removed, or would be written."""


class Batch(Struct, frozen=True):
    """Actions of one kind that a person decides on together."""

    id: int
    """Given once, never again for this wiki; what ``approve`` and ``refuse`` name.
    ``NO_ID`` in a dry run that finds a batch of which no cycle has asked yet."""
    kind: BatchKind
    members: tuple[Member, ...]
    tracked: int
    """The fewest pages that the base knew while the batch waits: pages that come to
    it meanwhile make no removal a smaller one."""
    decision: Decision = Decision.WAITING

    @property
    def share(self) -> str:
        """How many pages it holds, of how many: ``3 of 20 pages``."""
        held = len(self.members)
        # pages that came meanwhile are held, too, and not counted in ``tracked``
        return f"{held} of {max(held, self.tracked)} pages"

    @property
    def names(self) -> str:
        """The first of its pages, and how many more there are."""
        return some_of([member.slug for member in self.members], NAMES_SHOWN_MAX)

    def __str__(self) -> str:
        return f"{self.share} would be {_WOULD_BE[self.kind]}: {self.names}"


_REASONS = {
    Decision.WAITING: SkipReason.IN_BATCH,
    Decision.REFUSED: SkipReason.CHANGE_REFUSED,
}


class _Stopped(Struct, frozen=True):
    """A plan after the safety stops."""

    plan: Plan
    batches: tuple[Batch, ...]
    """What waits, and what was decided and is still to be done: the new memory."""
    skipped: tuple[Skip, ...] = ()
    """The differences that stay for it, each with its reason."""


def hold_batches(
    plan: Plan,
    base: Base,
    memory: Sequence[Batch] = (),
    *,
    shrunk: frozenset[Slug] = frozenset(),
    emptied: frozenset[Slug] = frozenset(),
    rewinding: Rewinding = NO_REWINDING,
    removed: Mapping[BatchKind, frozenset[Slug]] = NOTHING_REMOVED,
    kinds: Collection[BatchKind] = ALL_KINDS,
    last_id: int = 0,
) -> _Stopped:
    """Take out of a plan what a person must say yes to.

    What was approved goes through, as long as the text is the one that was approved.  A
    deletion that was refused turns round: the page comes back; so does the newer text
    of a page that the wiki set back.  Any other refusal holds until the text changes.
    A waiting batch takes in what joins its class, and is withdrawn when the class is
    small enough.

    Args:
        plan: The plan of this cycle.
        base: The base it was made on.
        memory: The batches of the cycle before, with what a person decided.
        shrunk: What ``shrunk_pages`` found.
        emptied: Pages whose directory here is empty, as if a disk were away.
        rewinding: What a wiki that went back in time would take back.
        removed: By kind, pages that were removed unasked within the last hour.
        kinds: What is held at all; the rest goes through.
        last_id: The highest id ever given, for batches that are forgotten.
    """
    last_id = max((last_id, *(batch.id for batch in memory)))
    outcome: dict[Action, list[Action]] = {one: [one] for one in plan.actions}
    batches: list[Batch] = []
    skipped: dict[Slug, Skip] = {}
    special = _special(plan, base, memory, emptied, rewinding)
    for kind in (one for one in BatchKind if one in kinds):
        found = {
            _member(action, base, kind, rewinding): action
            for action in plan.actions
            if kind is special.get(action)
            or (action not in special and _is_of(action, kind, shrunk))
        }
        known = [batch for batch in memory if batch.kind is kind]
        asked = [*_decided_batches(known, found)]
        # What was decided comes first: the rest of the class is what no person was
        # asked about yet, and its limit is its own.
        settled = {member for batch in asked for member in batch.members}
        rest = [member for member in found if member not in settled]
        waiting = next((b for b in known if b.decision is Decision.WAITING), None)
        tracked = min(len(base), waiting.tracked) if waiting else len(base)
        if _is_too_much(kind, rest, tracked, removed.get(kind, frozenset())):
            number = waiting.id if waiting else last_id + 1
            asked.append(Batch(number, kind, tuple(sorted(rest)), tracked))
            last_id = max(last_id, number)
        for batch in asked:
            for action in (found[member] for member in batch.members):
                # An action may be in two batches, as an edit that removes nearly all of
                # its page; it goes ahead where both are approved.
                if batch.decision is not Decision.APPROVED:
                    outcome[action] = _instead_of(action, batch, base, rewinding)
                    if not outcome[action]:
                        reason = _REASONS[batch.decision]
                        skipped[action.slug] = Skip(action.slug, reason)
        batches += asked
    actions = [action for left in outcome.values() for action in left]
    return _Stopped(Plan.from_actions(actions), tuple(batches), tuple(skipped.values()))


def removed_unasked(stopped: _Stopped) -> Mapping[BatchKind, frozenset[Slug]]:
    """By kind, pages that a plan removes without a person's yes."""
    approved = {member.slug for batch in stopped.batches for member in batch.members}
    deletes = [one for one in stopped.plan.removals if one.slug not in approved]
    here = {one.slug for one in deletes if isinstance(one, DeleteLocal)}
    there = {one.slug for one in deletes if isinstance(one, DeleteRemote)}
    found = {BatchKind.DELETES_HERE: here, BatchKind.DELETES_THERE: there}
    return {kind: frozenset(slugs) for kind, slugs in found.items() if slugs}


def approved_pages(batches: Sequence[Batch]) -> frozenset[Slug]:
    """Pages whose actions a person said yes to."""
    return frozenset(
        member.slug
        for batch in batches
        if batch.decision is Decision.APPROVED
        for member in batch.members
    )


def decide(
    memory: Sequence[Batch], number: int, decision: Decision
) -> tuple[Batch, ...]:
    """The memory with one waiting batch decided; KeyError where there is none."""
    if not any(b.id == number and b.decision is Decision.WAITING for b in memory):
        raise KeyError(number)
    return tuple(
        replace(batch, decision=decision) if batch.id == number else batch
        for batch in memory
    )


def shrunk_pages(
    plan: Plan, base: Base, local: Snapshot, remote: Snapshot
) -> frozenset[Slug]:
    """Pages whose new text is nearly nothing, where the sizes are known."""
    names = plan.records
    pushed = {a.slug: a.local for a in plan.actions if isinstance(a, Push)}
    pulled = {a.slug: a.remote for a in plan.actions if isinstance(a, Pull)}
    found: set[Slug] = set()
    for texts, side in ((pushed, local), (pulled, remote)):
        # by their texts: a page has its old name until the plan is carried out
        wanted = set(texts.values())
        sizes = {p.digest: p.size for p in side.pages.values() if p.digest in wanted}
        for slug, digest in texts.items():
            before = base.get(names.get(slug, slug))
            if before is not None and _is_shrunk(before.size, sizes.get(digest)):
                found.add(slug)
    return frozenset(found)


def _is_shrunk(before: int | None, after: int | None) -> bool:
    if before is None or after is None or before < SHRINK_BYTES_MIN:
        return False
    return before - after >= before * SHRINK_SHARE


def changes_max(tracked: int) -> int:
    """How many pages one side may have edited in one cycle unasked."""
    return max(CHANGE_PAGES, int(tracked * CHANGE_SHARE))


def _special(
    plan: Plan,
    base: Base,
    memory: Sequence[Batch],
    emptied: frozenset[Slug],
    rewinding: Rewinding,
) -> Mapping[Action, BatchKind]:
    """Actions that a batch of one kind holds, however few they are."""
    # what was decided stays so, whether the side still seems to have gone back
    decided, decided_there = (
        {
            member: batch.decision
            for batch in memory
            if batch.kind is kind and batch.decision is not Decision.WAITING
            for member in batch.members
        }
        for kind in (BatchKind.REWOUND, BatchKind.REWOUND_THERE)
    )
    found: dict[Action, BatchKind] = {}
    for action in plan.actions:
        said, waits = None, rewinding.waits(action)
        if waits or may_take_back(action):
            said = decided.get(_member(action, base, BatchKind.REWOUND, rewinding))
        # a page that waits follows the wiki later without our doing
        is_decided = said is not None and not (waits and said is Decision.APPROVED)
        if is_decided or rewinding.takes_back(action):
            found[action] = BatchKind.REWOUND
        elif action in rewinding.sent or (
            isinstance(action, SentBack)
            and _member(action, base, BatchKind.REWOUND_THERE, rewinding)
            in decided_there
        ):
            found[action] = BatchKind.REWOUND_THERE
        elif isinstance(action, MoveLocal):
            if action.target in emptied:
                found[action] = BatchKind.EMPTIED
        elif isinstance(action, DeleteRemote | CreateLocal) and action.slug in emptied:
            found[action] = BatchKind.EMPTIED
    return {**found, **_followers(plan, found)}


def _followers(
    plan: Plan, found: Mapping[Action, BatchKind]
) -> Mapping[Action, BatchKind]:
    """What follows a rename that a batch holds, under the name that it would give."""
    moves = MoveLocal | MoveRemote
    names = {one.target: k for one, k in found.items() if isinstance(one, moves)}
    return {
        action: names[action.slug]
        for action in plan.actions
        if isinstance(action, Adopt | Pull | Merge | Push) and action.slug in names
    }


def _is_of(action: Action, kind: BatchKind, shrunk: frozenset[Slug]) -> bool:
    is_shrinking = kind in {BatchKind.SHRUNK_HERE, BatchKind.SHRUNK_THERE}
    is_one = isinstance(action, _ACTIONS.get(kind, ()))
    return is_one and (not is_shrinking or action.slug in shrunk)


_ACTIONS: Mapping[BatchKind, type | UnionType] = {
    BatchKind.DELETES_HERE: DeleteLocal,
    BatchKind.DELETES_THERE: DeleteRemote,
    BatchKind.CHANGES_HERE: Pull | Merge,
    BatchKind.CHANGES_THERE: Push | Merge,
    BatchKind.SHRUNK_HERE: Pull,
    BatchKind.SHRUNK_THERE: Push,
}
"""Of the other kinds ``_special`` says what they hold."""


def _is_too_much(
    kind: BatchKind, members: Sequence[Member], tracked: int, removed: frozenset[Slug]
) -> bool:
    match kind:
        case BatchKind.DELETES_HERE | BatchKind.DELETES_THERE:
            # what went within the hour counts as removed, and as pages that there were
            before = removed - {member.slug for member in members}
            limit = removals_max(tracked + len(before))
            return bool(members) and len(members) + len(before) > limit
        case BatchKind.CHANGES_HERE | BatchKind.CHANGES_THERE:
            return len(members) > changes_max(tracked)
        case _:
            return bool(members)


def _member(
    action: Action, base: Base, kind: BatchKind, rewinding: Rewinding
) -> Member:
    theirs = rewinding.there(action) if kind is BatchKind.REWOUND else None
    match action:
        case Pull() | Merge() | Hold() | Skip() if theirs is not None:
            # Asked about is the wiki's text: a later one of it is an edit.  The name is
            # the wiki's, too: that of the plan may change while the page waits.
            return Member(theirs.slug, theirs.digest)
        case Hold() | Skip():
            return Member(action.slug, base[action.slug].local)
        case DeleteLocal(slug, digest) | DeleteRemote(slug, digest):
            return Member(slug, digest)
        case MoveRemote() | Pull() | CreateLocal():
            return Member(action.slug, action.remote)
        case MoveLocal() | Adopt() | CreateRemote() | Push() | Merge():
            return Member(action.slug, action.local)
        case _:
            raise AssertionError(f"no safety stop holds {action}")


def _decided_batches(
    known: Sequence[Batch], found: Mapping[Member, Action]
) -> Iterator[Batch]:
    """Decided batches, with those of their members that are still in the plan."""
    for batch in known:
        members = tuple(member for member in batch.members if member in found)
        if members and batch.decision is not Decision.WAITING:
            yield replace(batch, members=members)


def _instead_of(
    action: Action, batch: Batch, base: Base, rewinding: Rewinding
) -> list[Action]:
    if rewinding.waits(action):
        if batch.decision is Decision.REFUSED:
            return [action, rewinding.rebase(action)]
        return [action]
    if batch.decision is not Decision.REFUSED:
        return []
    kind, notice = batch.kind, Notice.DELETION_REFUSED
    match action:
        case Push() | Merge() if kind is BatchKind.REWOUND_THERE:
            # what only follows a rename is no older text, and waits for the old name
            is_older = action in rewinding.sent
            return [rewinding.bring_back(action, base)] if is_older else []
        case MoveRemote() if action in rewinding.renamed_there:
            return [rewinding.renamed_there[action]]
        case Pull() | Merge() if kind is BatchKind.REWOUND:
            return [rewinding.put_back(action)]
        case MoveLocal() | Adopt() | Pull() | Merge() | Push() if (
            kind is BatchKind.EMPTIED
        ):
            return [action]
        case MoveLocal():
            return [rewinding.renamed[action]] if action in rewinding.renamed else []
        case Hold(slug) | Skip(slug):
            return [CreateRemote(slug, base[slug].format, base[slug].local, notice)]
        case DeleteLocal(slug, mine):
            return [CreateRemote(slug, base[slug].format, mine, notice)]
        case DeleteRemote(slug, theirs, page_format):
            return [CreateLocal(slug, page_format, theirs, notice)]
        case CreateLocal():
            return [action]
        case _:
            return []

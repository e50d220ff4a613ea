"""The filters of a plan that stop it until a person decides (see ``filters``).

``safety`` and ``rewinding`` decide by values; here they get what the state knows, and
the batches of this cycle become the memory of the next.  A text that only a pointer
would replace is kept from it, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from wikisync.core.model import Digest, Slug, Snapshot, digest_of
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import narrowing
from wikisync.sync.decide.decided import STALE_TEXTS_MAX, Decided
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import (
    Action,
    BasePage,
    CreateLocal,
    CreateRemote,
    DeleteRemote,
    Hold,
    HoldReason,
    Merge,
    MoveLocal,
    Plan,
    Pull,
    Push,
    Send,
)
from wikisync.sync.decide.rewinding import (
    NO_REWINDING,
    REWOUND_PAGES_MIN,
    Rewinding,
    brought_pages,
    folder_rewinding_of,
    renamed_back,
    rewinding_by_history,
    rewinding_of,
)
from wikisync.sync.decide.safety import (
    CHANGE_PAGES,
    EMPTIED_PAGES_MIN,
    REMOVALS_WITHIN_S,
    BatchKind,
    Decision,
    Member,
    hold_batches,
    removed_unasked,
    shrunk_pages,
)
from wikisync.sync.run.parts import Cycle
from wikisync.sync.run.sightings import pointers

REWOUND = BatchKind.REWOUND


async def emptied_pages(cycle: Cycle, decided: Decided) -> frozenset[Slug]:
    """Pages to be deleted on the wiki whose directory here is left empty.

    Also those to be written below it, or renamed into it: a disk that comes back would
    hide them, and then they would seem to be deleted here, or their old files to be
    edited.  A directory that a person was asked about stays such a one while a page
    that they were asked about is missing, whatever somebody saves there meanwhile.
    Held pages count, too, though both sides may never have agreed on them.
    """
    known, plan, base = cycle.state, decided.plan, decided.base
    kinds = (CreateLocal, DeleteRemote)
    missing = {a.slug: a.format for a in plan.actions if isinstance(a, kinds)}
    moves = [move for move in plan.moves if isinstance(move, MoveLocal)]
    missing |= {move.target: base[move.record].format for move in moves}
    if not missing:
        return frozenset()
    formats = {slug: page.format for slug, page in known.conflict_files().items()}
    formats |= {slug: page.format for slug, page in base.items()}
    records = formats.keys() - decided.here.pages.keys()
    # of a disk that is known to be away, pages may go on the wiki meanwhile
    away = records & {
        member.slug
        for one in known.memory.batches
        if one.kind is BatchKind.EMPTIED and one.decision is Decision.WAITING
        for member in one.members
    }
    least = 1 if away else EMPTIED_PAGES_MIN
    if len(records) < least:
        return frozenset()
    missing |= {slug: formats[slug] for slug in records}
    found = await cycle.local.emptied(missing.items())
    gone = found & records | away
    if len(gone) < least:
        return frozenset()
    disks = {slug.partition("/")[0] for slug in gone}
    found = frozenset(slug for slug in found if slug.partition("/")[0] in disks)
    asked = tuple({f"{slug.rpartition('/')[0]}/" for slug in away})
    return found | {slug for slug in missing if slug.startswith(asked)}


async def stop(cycle: Cycle, decided: Decided) -> None:
    """Hold what must have a person's yes, and remember what they are asked."""
    known, plan, base, now = cycle.state, decided.plan, decided.base, cycle.clock()
    here, there, rewinding = decided.here, decided.there, decided.rewinding
    shrunk = shrunk_pages(plan, base, here, there)
    is_asked = bool(known.memory.batches or rewinding.sent or shrunk)
    is_small = len(plan.actions) <= CHANGE_PAGES
    if is_small and not is_asked and all(isinstance(a, Push) for a in plan.actions):
        return  # a few edits made here
    # a name that could not be put back at once is one to be put back still
    refused = {
        member
        for one in known.memory.batches
        if one.kind is REWOUND and one.decision is Decision.REFUSED
        for member in one.members
    }
    moves = [one for one in plan.moves if isinstance(one, MoveLocal)]
    moves = [one for one in moves if Member(one.slug, one.local) in refused]
    renamed = {**renamed_back(moves, base, there), **rewinding.renamed}
    stopped = hold_batches(
        plan,
        base,
        known.memory.batches,
        shrunk=shrunk,
        emptied=await emptied_pages(cycle, decided),
        rewinding=replace(rewinding, renamed=renamed),
        kinds=cycle.options.stops,
        removed=known.removed_since(now - REMOVALS_WITHIN_S) if plan.removals else {},
        last_id=known.memory.last_batch,
    )
    decided.batches = stopped.batches
    known.note_removed(removed_unasked(stopped), now)
    known.record_batches(stopped.batches)
    if any(batch.kind is REWOUND for batch in stopped.batches):
        known.keep_replaced()
    plan = narrowing.without_twins(stopped.plan, there.pages)
    decided.plan = Plan.from_actions([*plan.actions, *stopped.skipped])


async def leave_taken_back(cycle: Cycle, decided: Decided) -> None:
    """Merge nothing with the texts of a side that went back in time.

    Merged with an older text, a page would lose what that lacks; what is in conflict
    with it stays so, or is held once the merge would be clean.
    """
    plan, seen, asked = decided.plan, decided.seen, cycle.state.memory.batches
    is_small = len(plan.actions) < REWOUND_PAGES_MIN
    if is_small and not (decided.is_set_back or seen.texts or seen.missing or asked):
        return
    folder = _folder_rewinding(cycle.state, plan, decided.base, decided.here)
    rewinding = decided.rewinding = replace(
        _rewinding(cycle.state, decided),
        seen=seen,
        records=seen.records_in(plan),
        sent=folder.sent,
        renamed_there=folder.renamed_there,
    )
    unmerged: set[Action] = {
        merge
        for merge in plan.merges
        if rewinding.takes_back(merge) and merge.remote != decided.shown.get(merge.slug)
    }
    unmerged |= {a for a in rewinding.sent if isinstance(a, Push | Merge)}
    decided.unmerged = frozenset(unmerged)
    decided.plan = plan.map(lambda a: None if a in unmerged else a)


def _folder_rewinding(
    known: WikiState, plan: Plan, base: Mapping[Slug, BasePage], here: Snapshot
) -> Rewinding:
    """What a folder that went back in time would take back on the wiki.

    What a person restored by a command of ours is no sign of it.
    """
    decisions = {
        batch.decision
        for batch in known.memory.batches
        if batch.kind is BatchKind.REWOUND_THERE
    }
    records = plan.records
    edits = [one for one in plan.actions if isinstance(one, Push | Merge)]
    edited = {records.get(one.slug, one.slug): one.local for one in edits}
    is_known = bool(decisions - {Decision.APPROVED})
    if len(edited) < REWOUND_PAGES_MIN and not is_known:
        return NO_REWINDING
    earlier = known.earlier(
        slug
        for slug, digest in edited.items()
        if slug in base and not _is_restored(known, base[slug], digest)
    )
    texts: frozenset[Digest] = frozenset()
    if any(isinstance(one, CreateRemote) for one in plan.actions):
        texts = known.earlier_texts() | {page.local for page in base.values()}
    found = folder_rewinding_of(plan, here, earlier, texts, is_known=is_known)
    if Decision.APPROVED in decisions:
        # the texts decide what comes of an older one that a person agreed to
        sent = (one for one in found.sent if not isinstance(one, Merge))
        return replace(found, sent=frozenset(sent))
    return found


def _is_restored(known: WikiState, agreed: BasePage, digest: Digest) -> bool:
    """Whether commands of ours alone put a text in the agreed one's place."""
    for one in known.replaced(agreed.slug, STALE_TEXTS_MAX):
        if digest_of(one.written) != digest:
            return False
        digest = digest_of(one.replaced)
        if digest == agreed.local:
            return True
    return False


def _rewinding(known: WikiState, decided: Decided) -> Rewinding:
    """What a wiki that went back in time would take back, by what this plan brings.

    Texts of before are only a sign where the history is not known: somebody may take
    back any number of pages.  One page is enough while a person has not decided.
    """
    plan, seen = decided.plan, decided.seen
    said = {one.decision for one in known.memory.batches if one.kind is REWOUND}
    if decided.is_set_back is False:
        return NO_REWINDING
    if decided.is_set_back and Decision.APPROVED not in said:
        return rewinding_by_history(plan, seen, decided.base, decided.there)
    is_known = bool(said - {Decision.APPROVED})
    may_be = is_known or len(brought_pages(plan, seen)) >= REWOUND_PAGES_MIN
    if not (seen.texts and may_be):
        return NO_REWINDING
    return rewinding_of(plan, seen, known.earlier(seen.texts), is_known=is_known)


async def hold_pointers(cycle: Cycle, decided: Decided) -> None:
    """Hold texts that only a pointer would replace.

    A text comes back here with the files of git.  One on the wiki is a person's to put
    back, who may also take the text of the other side (``resolve``).
    """
    plan, here, there = decided.plan, decided.here, decided.there
    ours = {a.slug: a.local for a in plan.actions if isinstance(a, Send | Merge)}
    for held in plan.held:
        if held.reason is HoldReason.CREATED_BOTH and held.slug in here.pages:
            ours[held.slug] = here.pages[held.slug].digest
    theirs = {a.slug: a.remote for a in plan.actions if isinstance(a, Pull)}
    records = plan.records
    found: dict[Slug, HoldReason] = {}
    for side, digests, seen in ((Side.LOCAL, ours, here), (Side.REMOTE, theirs, there)):
        small = await pointers(cycle, digests, seen, side) if digests else {}
        for slug, text in small.items():
            if text != cycle.state.text(records.get(slug, slug)):
                found[slug] = HoldReason.POINTER
    if found:
        decided.plan = narrowing.holding(plan, found, Send | Pull | Merge | Hold)

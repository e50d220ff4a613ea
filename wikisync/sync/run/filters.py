"""What changes the plan of a cycle before it is carried out, in its order.

Each filter leaves an action, takes it out or puts another one in its place; the order
is ``FILTERS``, with the reason of each.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec.structs import replace

from wikisync.core import model
from wikisync.core.mentions import mentioned_attachments
from wikisync.errors import NotFound, ProtocolViolation
from wikisync.merging.conflict import git_conflicts, has_marker
from wikisync.merging.metadata import differs_in_time_only
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import narrowing, safety
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.rewinding import (
    NO_REWINDING,
    REWOUND_PAGES_MIN,
    Rewinding,
    brought_pages,
    folder_rewinding_of,
    not_agreed,
    renamed_back,
    rewinding_by_history,
    rewinding_of,
)
from wikisync.sync.run.merging import STALE_TEXTS_MAX, merge
from wikisync.sync.run.parts import Cycle, Decided, FolderMatch
from wikisync.sync.run.removals import pointers, seen_again, wait_for_absences

SAME_TEXT_MAX = 4
"""Times that one text of a page may be sent within ten minutes."""
REFUSAL_S = 900.0
"""A page that the service refused is not sent again as it is for so long."""


async def leave_ignored(_cycle: Cycle, decided: Decided) -> None:
    """Do nothing about pages that are kept out of the sync here."""
    if ignored := decided.ignored:
        decided.plan = decided.plan.map(lambda a: None if a.slug in ignored else a)


async def leave_copies(_cycle: Cycle, decided: Decided) -> None:
    """Report copies that other programs made; put no new one on the wiki."""
    copies, here = decided.here.copies, decided.here
    if not copies:
        return
    decided.plan = narrowing.without_copies(decided.plan, copies.keys())
    left = [
        one.slug for one in decided.plan.skipped if one.reason is plans.SkipReason.COPY
    ]
    problems = tuple(copies[slug] for slug in left if slug in copies)
    decided.here = replace(here, problems=(*here.problems, *problems))


async def compare_history(cycle: Cycle, decided: Decided) -> None:
    """Find out what the wiki has otherwise than was agreed on, and since when."""
    files = cycle.state.conflict_files()
    decided.shown = {slug: file.wiki_digest for slug, file in files.items()}
    decided.seen = not_agreed(decided.plan, decided.base, decided.there, decided.shown)
    # Whether the history lacks the last sync is asked where the wiki would take
    # something back, now or later: one request, and a second one for another commit.
    seen, earlier = decided.seen, cycle.state.memory.head
    is_renamed = any(isinstance(move, plans.MoveLocal) for move in decided.plan.moves)
    is_less = seen.texts.keys() - seen.shown or seen.missing or is_renamed
    if not earlier or not is_less:
        return
    head = await cycle.remote.head()
    if head not in {"", earlier}:
        is_after = await cycle.remote.follows(head, earlier)
        head = "" if is_after is None else head
        decided.is_set_back = None if is_after is None else not is_after
    decided.head, decided.is_unanswered = head, not head


async def leave_unasked(cycle: Cycle, decided: Decided) -> None:
    """Put nothing on the wiki that a first sync left here."""
    options, left = cycle.options, cycle.state.memory.left_out
    if left is None:
        return
    if not decided.base and cycle.state.memory.health.last_good_at is None:
        left = frozenset(action.slug for action in decided.plan.sends)
    # who names a page asks for it
    left = frozenset(
        one for one in left if not model.is_named(one, options.pages or ())
    )
    if left:
        decided.plan = narrowing.without_creates(decided.plan, left)


async def wait_for_editors(cycle: Cycle, decided: Decided) -> None:
    """Leave alone what is open in an editor; what is so for long waits for a person."""
    state, now, busy = cycle.state, cycle.clock(), decided.here.busy
    if not (busy or state.sightings(Side.EDITOR)):
        return
    seen = seen_again(state.sightings(Side.EDITOR), busy.keys(), now)
    state.record_sightings(Side.EDITOR, seen)
    span_s = cycle.options.patience.editor_span_s
    long = [slug for slug, one in seen.items() if now - one.first_at >= span_s]
    decided.plan = narrowing.around_editors(decided.plan, busy, long)


async def hold_futile(cycle: Cycle, decided: Decided) -> None:
    """Hold what the service refused as it is, and what it gets over and over."""
    refused: Mapping[model.Slug, model.Digest] = {}
    state, now = cycle.state, cycle.clock()
    if not cycle.options.tries_again:
        refusals = state.memory.refusals.items()
        # not one of a clock that was ahead: it would hold the page until that time
        refused = {s: one.local for s, one in refusals if 0 <= now - one.at < REFUSAL_S}
    # What was sent so often, something must be changing back.  Texts that differ only
    # in the times of their changes are the same here: two machines whose editors write
    # them would send a page to each other for ever.  Not those that both sides agree
    # on: a picture in them is another one.
    files = {slug: file for file, slug in _sent_files(decided.plan).items()}
    looping: set[tuple[model.Slug, model.Digest]] = set()
    for action in decided.plan.actions:
        known = decided.base.get(action.slug)
        if not isinstance(action, plans.Push) or (
            known and (action.format, action.local) == (known.format, known.local)
        ):
            continue
        if state.times_sent(action.slug, None, now) < SAME_TEXT_MAX:
            continue
        is_looping = state.times_sent(action.slug, action.local, now) >= SAME_TEXT_MAX
        if not is_looping and (page := await cycle.page_here(files[action.slug])):
            agreed = state.text(action.slug) or ""
            is_looping = differs_in_time_only(agreed, page.content)
        if is_looping:
            looping.add((action.slug, action.local))
    if refused or looping:
        decided.plan = narrowing.without_futile(decided.plan, refused, looping)


async def hold_texts(cycle: Cycle, decided: Decided) -> None:
    """Hold what would be sent with marker lines of a conflict in it, or without text.

    The latter where the service refuses that.
    """
    # Git's markers may be what a page is about: they count where the agreed text does
    # not have them, and a person does not ask for the page by its name.  A note that
    # was just made waits for its text; a page that lost its text is a person's to
    # decide.
    plan, takes_empty = decided.plan, cycle.state.memory.capabilities.takes_empty
    if not plan.sends:
        return

    def is_sought(text: str) -> bool:
        is_marked = has_marker(text) or git_conflicts(text)
        return bool(is_marked) or (not takes_empty and model.is_blank(text))

    sent, records = _sent_files(plan), plan.records
    found: dict[model.Slug, plans.HoldReason] = {}
    for file in await cycle.local.having(sent, is_sought):
        slug, page = sent[file], await cycle.page_here(file)
        if page is None:
            continue
        text, agreed = page.content, cycle.state.text(records.get(slug, slug)) or ""
        if has_marker(text):
            found[slug] = plans.HoldReason.MARKER
        elif model.is_blank(text) and not takes_empty:
            found[slug] = plans.HoldReason.EMPTY
        elif slug in (cycle.options.pages or ()):
            continue  # a folder's name says nothing of the markers in one page
        elif not git_conflicts(text) <= git_conflicts(agreed):
            found[slug] = plans.HoldReason.GIT_MARKER
    empty = {
        slug: plans.Skip(slug, plans.SkipReason.EMPTY)
        for slug, reason in found.items()
        if reason is plans.HoldReason.EMPTY
    }
    if found:
        plan = plan.instead(plans.CreateRemote, empty)
        decided.plan = narrowing.holding(plan, found)


def _sent_files(plan: plans.Plan) -> Mapping[model.Slug, model.Slug]:
    """The pages to be sent, by what their files are called before its renames."""
    before = plan.files
    return {before.get(one.slug, one.slug): one.slug for one in plan.sends}


async def narrow(cycle: Cycle, decided: Decided) -> None:
    """Leave out what a person did not ask for."""
    options, decided.whole = cycle.options, decided.plan
    if options.is_partial:
        plan = narrowing.in_direction(decided.plan, options.direction)
        decided.plan = narrowing.only_pages(plan, options.pages)


REWOUND = safety.BatchKind.REWOUND


async def emptied_pages(cycle: Cycle, decided: Decided) -> frozenset[model.Slug]:
    """Pages to be deleted on the wiki whose directory here is left empty."""
    # Also those to be written below it, or renamed into it: a disk that comes back
    # would hide them, and then they would seem to be deleted here, or their old files
    # to be edited.  A directory that a person was asked about stays such a one while a
    # page that they were asked about is missing, whatever somebody saves there
    # meanwhile.  Held pages count, too, though both sides may never have agreed on
    # them.
    known, plan, base = cycle.state, decided.plan, decided.base
    kinds = (plans.CreateLocal, plans.DeleteRemote)
    missing = {a.slug: a.format for a in plan.actions if isinstance(a, kinds)}
    moves = [move for move in plan.moves if isinstance(move, plans.MoveLocal)]
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
        if one.kind is safety.BatchKind.EMPTIED
        and one.decision is safety.Decision.WAITING
        for member in one.members
    }
    least = 1 if away else safety.EMPTIED_PAGES_MIN
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
    if not (plan.actions or known.memory.batches or rewinding.sent):
        return
    shrunk = safety.shrunk_pages(plan, base, here, there)
    is_asked = known.memory.batches or rewinding.sent or shrunk
    is_small = len(plan.actions) <= safety.CHANGE_PAGES and not is_asked
    if is_small and all(isinstance(a, plans.Push) for a in plan.actions):
        return  # a few edits made here
    # a name that could not be put back at once is one to be put back still
    refused = {
        member
        for one in known.memory.batches
        if one.kind is REWOUND and one.decision is safety.Decision.REFUSED
        for member in one.members
    }
    moves = [one for one in plan.moves if isinstance(one, plans.MoveLocal)]
    moves = [one for one in moves if safety.Member(one.slug, one.local) in refused]
    agreed = {safety.BatchKind.DELETES_HERE} if cycle.options.allows_emptying else set()
    renamed = {**renamed_back(moves, base, there), **rewinding.renamed}
    stopped = safety.hold_batches(
        plan,
        base,
        known.memory.batches,
        shrunk=shrunk,
        emptied=await emptied_pages(cycle, decided),
        rewinding=replace(rewinding, renamed=renamed),
        kinds=safety.ALL_KINDS - agreed,
        removed=known.removed_since(now - safety.REMOVALS_WITHIN_S)
        if plan.removals
        else {},
        last_id=known.memory.last_batch,
    )
    decided.batches = stopped.batches
    known.note_removed(safety.removed_unasked(stopped), now)
    known.record_batches(stopped.batches)
    if any(batch.kind is REWOUND for batch in stopped.batches):
        known.keep_replaced()
    plan = narrowing.without_twins(stopped.plan, there.pages, here.pages)
    decided.plan = plans.Plan.from_actions([*plan.actions, *stopped.skipped])


async def leave_taken_back(cycle: Cycle, decided: Decided) -> None:
    """Merge nothing with the texts of a side that went back in time."""
    # merged with an older text, a page would lose what that lacks; what is in conflict
    # with it stays so, or is held once the merge would be clean
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
    unmerged: set[plans.Action] = {
        merge
        for merge in plan.merges
        if rewinding.takes_back(merge) and merge.remote != decided.shown.get(merge.slug)
    }
    unmerged |= {a for a in rewinding.sent if isinstance(a, plans.Push | plans.Merge)}
    decided.unmerged = frozenset(unmerged)
    decided.plan = plan.map(lambda a: None if a in unmerged else a)


def _folder_rewinding(
    known: WikiState, plan: plans.Plan, base: plans.Base, here: model.Snapshot
) -> Rewinding:
    """What a folder that went back in time would take back on the wiki."""
    # what a person restored by a command of ours is no sign of it
    decisions = {
        batch.decision
        for batch in known.memory.batches
        if batch.kind is safety.BatchKind.REWOUND_THERE
    }
    records = plan.records
    edits = [one for one in plan.actions if isinstance(one, plans.Push | plans.Merge)]
    edited = {records.get(one.slug, one.slug): one.local for one in edits}
    is_known = bool(decisions - {safety.Decision.APPROVED})
    if len(edited) < REWOUND_PAGES_MIN and not is_known:
        return NO_REWINDING
    earlier = known.earlier(
        slug
        for slug, digest in edited.items()
        if slug in base and not _is_restored(known, base[slug], digest)
    )
    texts: frozenset[model.Digest] = frozenset()
    if any(isinstance(one, plans.CreateRemote) for one in plan.actions):
        texts = known.earlier_texts() | {page.local for page in base.values()}
    found = folder_rewinding_of(plan, here, earlier, texts, is_known=is_known)
    if safety.Decision.APPROVED in decisions:
        # the texts decide what comes of an older one that a person agreed to
        sent = (one for one in found.sent if not isinstance(one, plans.Merge))
        return replace(found, sent=frozenset(sent))
    return found


def _is_restored(
    known: WikiState, agreed: plans.BasePage, digest: model.Digest
) -> bool:
    """Whether commands of ours alone put a text in the agreed one's place."""
    for one in known.replaced(agreed.slug, STALE_TEXTS_MAX):
        if model.digest_of(one.written) != digest:
            return False
        digest = model.digest_of(one.replaced)
        if digest == agreed.local:
            return True
    return False


def _rewinding(known: WikiState, decided: Decided) -> Rewinding:
    """What a wiki that went back in time would take back, by what this plan brings."""
    # Texts of before are only a sign where the history is not known: somebody may take
    # back any number of pages.  One page is enough while a person has not decided.
    plan, seen = decided.plan, decided.seen
    said = {one.decision for one in known.memory.batches if one.kind is REWOUND}
    if decided.is_set_back is False:
        return NO_REWINDING
    if decided.is_set_back and safety.Decision.APPROVED not in said:
        return rewinding_by_history(plan, seen, decided.base, decided.there)
    is_known = bool(said - {safety.Decision.APPROVED})
    may_be = is_known or len(brought_pages(plan, seen)) >= REWOUND_PAGES_MIN
    if not (seen.texts and may_be):
        return NO_REWINDING
    return rewinding_of(plan, seen, known.earlier(seen.texts), is_known=is_known)


async def hold_pointers(cycle: Cycle, decided: Decided) -> None:
    """Hold texts that only a pointer would replace."""
    # A text comes back here with the files of git.  One on the wiki is a person's to
    # put back, who may also take the text of the other side (``resolve``).
    plan, here, there = decided.plan, decided.here, decided.there
    ours = {
        a.slug: a.local for a in plan.actions if isinstance(a, plans.Send | plans.Merge)
    }
    for held in plan.held:
        if held.reason is plans.HoldReason.CREATED_BOTH and held.slug in here.pages:
            ours[held.slug] = here.pages[held.slug].digest
    theirs = {a.slug: a.remote for a in plan.actions if isinstance(a, plans.Pull)}
    records = plan.records
    found: dict[model.Slug, plans.HoldReason] = {}
    for side, digests, seen in ((Side.LOCAL, ours, here), (Side.REMOTE, theirs, there)):
        small = await pointers(cycle, digests, seen, side) if digests else {}
        for slug, text in small.items():
            if text and text != cycle.state.text(records.get(slug, slug)):
                found[slug] = plans.HoldReason.POINTER
    if found:
        decided.plan = narrowing.holding(
            plan, found, plans.Send | plans.Pull | plans.Merge | plans.Hold
        )


log = logging.getLogger(__name__)


async def send_changed_files(cycle: Cycle, decided: Decided) -> None:
    """Send pages again whose files changed here, though their texts are agreed on."""
    # The wiki has another upload then (``linking``). Where that would undo what
    # somebody did with the picture on the wiki, or meanwhile here, the page waits for a
    # person.
    # files beside the pages change by other events, which take a whole scan
    linked = None if decided.here.is_partial else cycle.linked
    outdated = frozenset() if linked is None else await linked.outdated()
    cycle.tally.outdated = outdated
    if not outdated:
        return
    plan, here, there = decided.plan, decided.here, decided.there
    pages = sorted(there.pages.keys() & outdated - {one.slug for one in plan.actions})
    more: list[plans.Action] = []
    outcomes: dict[plans.Action, plans.Hold | None] = {}
    if cycle.options.folder is FolderMatch.OTHER:
        # In a folder that may be an older copy the picture is the older one as well.
        # The pages are met as new ones, with the link that each side has.
        cycle.state.record(dropped=pages)
        texts = {slug: text for slug, text in there.texts.items() if slug not in pages}
        decided.there = replace(there, texts=texts)
        more += [plans.Hold(slug, plans.HoldReason.CREATED_BOTH) for slug in pages]
    else:
        pulls = (one for one in plan.actions if isinstance(one, plans.Pull))
        for pull in (one for one in pulls if one.slug in outdated):
            try:
                theirs = there.texts.get(pull.slug)
                theirs = theirs or await cycle.remote.read(pull.slug)
            except (NotFound, ProtocolViolation) as error:
                # without its text nothing can be decided; the next cycle tries again
                log.info("%s is left alone: %s", pull.slug, error.message)
                outcomes[pull] = None
                continue
            if await _hides_a_change(cycle, theirs):
                outcomes[pull] = plans.Hold(pull.slug, plans.HoldReason.CREATED_BOTH)
        more += [
            plans.Push(slug, mine.format, mine.digest, there.pages[slug].digest)
            for slug in pages
            if (mine := here.pages.get(slug))
        ]
    left = plan.map(lambda action: outcomes.get(action, action))
    decided.plan = plans.Plan.from_actions([*left.actions, *more])


async def _hides_a_change(cycle: Cycle, theirs: model.Page) -> bool:
    """Whether an attachment that was changed here is no more in the wiki's text."""
    # somebody put another one there, and taking that would hide the one of here
    mine = mentioned_attachments(cycle.state.text(theirs.slug) or "")
    known = cycle.state.attachments()
    gone = set(mine) - set(mentioned_attachments(theirs.content))
    found = await cycle.local.attachments(gone & known.keys())
    return any(file.digest != known[path].digest for path, file in found.items())


FILTERS: Sequence[Callable[[Cycle, Decided], Awaitable[None]]] = (
    leave_ignored,
    # Before all others, which decide about these pages, too.
    send_changed_files,
    leave_copies,
    # What the wiki has of a page is decided on while its history tells how it came to
    # that, also where the page is left out from here on and changed later.
    compare_history,
    # What waits or is not wanted is no sign of a side that went back in time, and its
    # texts need not be read.
    leave_unasked,
    wait_for_editors,
    hold_futile,
    # Before the merges: none of them may take an older text in.
    leave_taken_back,
    hold_pointers,
    merge,
    # The texts are known now that would be sent.
    hold_texts,
    # Counts also removals that are not certain yet.
    stop,
    wait_for_absences,
    # Last: a page that is left out of this cycle does not count as settled.
    narrow,
)
"""Carried out one after the other, each on what the one before it left."""
NOTING = frozenset({send_changed_files, wait_for_editors, merge, stop})
"""Those that add to a plan, or note something."""

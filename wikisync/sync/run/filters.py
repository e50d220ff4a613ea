"""What changes the plan of a cycle before it is carried out, in its order.

``reconcile`` says what would bring both sides together.  Each filter leaves an action,
takes it out or puts another one in its place; the order is ``FILTERS``, with the
reason of each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.core.model import Digest, Slug, Snapshot, is_blank
from wikisync.errors import FolderError, NotFound
from wikisync.merging.conflict import git_conflicts, has_any_marker, has_marker
from wikisync.merging.metadata import differs_in_time_only
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import narrowing
from wikisync.sync.decide.decided import Decided, MergedPage
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import (
    Action,
    BasePage,
    CreateRemote,
    HoldReason,
    Merge,
    MoveLocal,
    Plan,
    Push,
    Skip,
    SkipReason,
)
from wikisync.sync.decide.rewinding import (
    NO_REWINDING,
    NotAgreed,
    Rewinding,
    not_agreed,
)
from wikisync.sync.decide.safety import Batch, approved_pages
from wikisync.sync.run import changed_files
from wikisync.sync.run.merging import merge_texts
from wikisync.sync.run.options import FolderMatch
from wikisync.sync.run.parts import Cycle
from wikisync.sync.run.sightings import UNCERTAIN, Absences, seen_again
from wikisync.sync.run.stopping import (
    emptied_pages,
    what_goes_back,
    with_safety_stops,
    without_pointers,
)

SAME_TEXT_MAX = 4
"""Times that one text of a page may be sent within ten minutes."""
REFUSAL_S = 900.0
"""A page that the service refused is not sent again as it is for so long."""


class Draft(Struct):
    """A decision under way: what the filters have made of a plan so far."""

    cycle: Cycle
    base: Mapping[Slug, BasePage]
    """What both sides held, under the names of now."""
    here: Snapshot
    there: Snapshot
    plan: Plan
    absences: Absences
    ignored: frozenset[Slug]
    """Pages whose absence in the folder means nothing."""
    shown: Mapping[Slug, Digest] = field(default_factory=dict)
    """What conflict files show of the wiki's texts."""
    seen: NotAgreed = NotAgreed()
    """What the wiki has otherwise than was agreed on."""
    is_set_back: bool | None = None
    """Whether the wiki's history lacks the last sync; None where it is not known."""
    head: str = ""
    """The wiki's newest commit, where the plan made it worth asking."""
    is_unanswered: bool = False
    """Nobody could say whether the wiki went back in time."""
    rewinding: Rewinding = NO_REWINDING
    """What a side that went back in time would take back."""
    unmerged: frozenset[Action] = frozenset()
    """What of it is not merged."""
    merges: Mapping[Slug, MergedPage] = field(default_factory=dict)
    superseded: frozenset[Slug] = frozenset()
    batches: tuple[Batch, ...] = ()
    whole: Plan = Plan()
    """What is known, whoever asks."""

    @property
    def decided(self) -> Decided:
        """What came of it."""
        waits = any(skip.reason in UNCERTAIN for skip in self.plan.skipped)
        return Decided(
            self.plan,
            self.whole,
            self.here,
            self.there,
            self.merges,
            self.batches,
            self.superseded,
            self.absences.due_s if waits else None,
            self.head,
            self.is_unanswered,
        )


async def leave_ignored(draft: Draft) -> None:
    """Do nothing about pages that are kept out of the sync here."""
    ignored = draft.ignored
    draft.plan = draft.plan.map(lambda a: None if a.slug in ignored else a)


async def send_changed_files(draft: Draft) -> None:
    """Send pages again whose files changed here, or hold them."""
    cycle, plan = draft.cycle, draft.plan
    # files beside the pages change by other events, which take a whole scan
    linked = None if draft.here.is_partial else cycle.linked
    outdated = frozenset() if linked is None else await linked.outdated()
    cycle.tally.outdated = outdated
    if not outdated:
        return
    if cycle.options.folder is FolderMatch.OTHER:
        draft.plan, draft.there = changed_files.held_in_other_folder(
            cycle, plan, outdated, draft.there
        )
        return
    plan = await changed_files.held_where_both_changed(
        cycle, plan, outdated, draft.there
    )
    draft.plan = changed_files.sent_again(plan, outdated, draft.here, draft.there)


async def leave_copies(draft: Draft) -> None:
    """Report copies that other programs made, and do not put them on the wiki.

    Not those that are on the wiki already: they are pages as all others.
    """
    copies, here = draft.here.copies, draft.here
    draft.plan = narrowing.without_copies(draft.plan, copies.keys())
    left = [one.slug for one in draft.plan.skipped if one.reason is SkipReason.COPY]
    problems = tuple(copies[slug] for slug in left if slug in copies)
    draft.here = replace(here, problems=(*here.problems, *problems))


async def compare_history(draft: Draft) -> None:
    """Find out what the wiki has otherwise than was agreed on, and since when."""
    files = draft.cycle.state.conflict_files()
    draft.shown = {slug: file.wiki_digest for slug, file in files.items()}
    draft.seen = not_agreed(draft.plan, draft.base, draft.there, draft.shown)
    draft.is_set_back = await _is_set_back(draft)


async def _is_set_back(draft: Draft) -> bool | None:
    """Whether the wiki's history lacks the last sync.

    Asked where the wiki would take something back, now or later: one request, and
    a second one where its newest commit is another.  None where that is not known.
    """
    seen, earlier = draft.seen, draft.cycle.state.memory.head
    is_renamed = any(isinstance(move, MoveLocal) for move in draft.plan.moves)
    if not earlier or not (
        seen.texts.keys() - seen.shown or seen.missing or is_renamed
    ):
        return None
    draft.head = await draft.cycle.remote.head()
    draft.is_unanswered = not draft.head
    if draft.head in {"", earlier}:
        return None
    is_after = await draft.cycle.remote.follows(draft.head, earlier)
    draft.is_unanswered = is_after is None
    return None if is_after is None else not is_after


async def leave_unasked(draft: Draft) -> None:
    """Put nothing on the wiki that a first sync left here."""
    options, left = draft.cycle.options, draft.cycle.state.memory.left_out
    if left is None:
        return
    if not draft.base:
        left = frozenset(action.slug for action in draft.plan.sends)
    # who names a page asks for it
    left -= options.pages or frozenset()
    if left:
        draft.plan = narrowing.without_creates(draft.plan, left)


async def wait_for_editors(draft: Draft) -> None:
    """Leave alone what is open in an editor; what is so for long waits for a person."""
    state, now, busy = draft.cycle.state, draft.cycle.clock(), draft.here.busy
    seen = seen_again(state.sightings(Side.EDITOR), busy.keys(), now)
    state.record_sightings(Side.EDITOR, seen)
    span_s = draft.cycle.options.patience.editor_span_s
    long = [slug for slug, one in seen.items() if now - one.first_at >= span_s]
    draft.plan = narrowing.around_editors(draft.plan, busy, long)


async def hold_futile(draft: Draft) -> None:
    """Hold what the service refused as it is, and what it gets over and over."""
    refused: Mapping[Slug, Digest] = {}
    if not draft.cycle.options.tries_again:
        refused = refused_texts(draft.cycle.state, draft.cycle.clock())
    looping = await _looping(draft, draft.plan, draft.base)
    draft.plan = narrowing.without_futile(draft.plan, refused, looping)


def refused_texts(known: WikiState, now: float) -> Mapping[Slug, Digest]:
    """Texts that the service refused so lately that they are not sent as they are."""
    return {
        slug: one.local
        for slug, one in known.memory.refusals.items()
        if now - one.at < REFUSAL_S
    }


async def _looping(
    draft: Draft, plan: Plan, base: Mapping[Slug, BasePage]
) -> frozenset[tuple[Slug, Digest]]:
    """Texts that were sent so often that something must be changing them back.

    Texts that differ only in the times of their changes are the same here: two
    machines whose editors write them would send a page to each other for ever.
    Not those that both sides agree on: a picture in them is another one.
    """
    state, now = draft.cycle.state, draft.cycle.clock()
    files = {slug: file for file, slug in _sent_files(plan).items()}
    found: set[tuple[Slug, Digest]] = set()
    for action in plan.actions:
        if not isinstance(action, Push) or _is_agreed(action, base):
            continue
        is_looping = state.times_sent(action.slug, action.local, now) >= SAME_TEXT_MAX
        if not is_looping and state.times_sent(action.slug, None, now) >= SAME_TEXT_MAX:
            is_looping = await _is_only_later(draft, action.slug, files[action.slug])
        if is_looping:
            found.add((action.slug, action.local))
    return frozenset(found)


def _is_agreed(action: Push, base: Mapping[Slug, BasePage]) -> bool:
    known = base.get(action.slug)
    return known is not None and (
        (action.format, action.local) == (known.format, known.local)
    )


async def _is_only_later(draft: Draft, slug: Slug, file: Slug) -> bool:
    """Whether a page says nothing new but when it was changed."""
    try:
        text = (await draft.cycle.local.read(file)).content
    except (NotFound, FolderError):
        return False  # its turn will say what is wrong
    return differs_in_time_only(draft.cycle.state.text(slug) or "", text)


async def leave_taken_back(draft: Draft) -> None:
    """Merge nothing with the texts of a side that went back in time.

    Merged with an older text, a page would lose what that lacks; what is in conflict
    with it stays so, or is held once the merge would be clean.
    """
    rewinding = draft.rewinding = what_goes_back(
        draft.cycle.state,
        draft.plan,
        draft.base,
        draft.there,
        draft.seen,
        here=draft.here,
        is_set_back=draft.is_set_back,
    )
    unmerged: set[Action] = {
        merge
        for merge in draft.plan.merges
        if rewinding.takes_back(merge) and merge.remote != draft.shown.get(merge.slug)
    }
    unmerged |= {a for a in rewinding.sent if isinstance(a, Push | Merge)}
    draft.unmerged = frozenset(unmerged)
    draft.plan = draft.plan.map(lambda a: None if a in unmerged else a)


async def hold_pointers(draft: Draft) -> None:
    """Hold texts that only a pointer would replace."""
    draft.plan = await without_pointers(
        draft.cycle, draft.plan, draft.here, draft.there
    )


async def merge(draft: Draft) -> None:
    """Find out what comes of the merges."""
    plan, draft.merges, draft.superseded = await merge_texts(
        draft.cycle, draft.plan, draft.there
    )
    draft.plan = Plan.from_actions([*plan.actions, *draft.unmerged])


async def hold_markers(draft: Draft) -> None:
    """Hold pages that would be sent with marker lines of a conflict in them.

    Git's may be what a page is about: they count where the agreed text does not have
    them, and a person does not ask for the page by its name.
    """
    cycle, plan = draft.cycle, draft.plan
    if not plan.sends:
        return
    sent, records = _sent_files(plan), plan.records
    found: dict[Slug, HoldReason] = {}
    for file in await cycle.local.having(sent, has_any_marker):
        slug = sent[file]
        try:
            text = (await cycle.local.read(file)).content
        except (NotFound, FolderError):
            continue  # its turn will say what is wrong
        agreed = cycle.state.text(records.get(slug, slug)) or ""
        if has_marker(text):
            found[slug] = HoldReason.MARKER
        elif slug in (cycle.options.pages or ()):
            continue
        elif not git_conflicts(text) <= git_conflicts(agreed):
            found[slug] = HoldReason.GIT_MARKER
    draft.plan = narrowing.holding(plan, found)


async def hold_empty(draft: Draft) -> None:
    """Send no text that says nothing, where the service refuses those.

    A note that was just made waits for its text; a page that lost its text is a
    person's to decide.
    """
    cycle, plan = draft.cycle, draft.plan
    if cycle.state.memory.capabilities.takes_empty or not plan.sends:
        return
    sent = _sent_files(plan)
    empty = {sent[file] for file in await cycle.local.having(sent, is_blank)}
    held = {
        one.slug: HoldReason.EMPTY
        for one in plan.sends
        if isinstance(one, Push) and one.slug in empty
    }
    draft.plan = narrowing.holding(plan, held).map(
        lambda a: (
            Skip(a.slug, SkipReason.EMPTY)
            if isinstance(a, CreateRemote) and a.slug in empty
            else a
        )
    )


def _sent_files(plan: Plan) -> Mapping[Slug, Slug]:
    """The pages to be sent, by what their files are called before its renames."""
    before = plan.files
    return {before.get(one.slug, one.slug): one.slug for one in plan.sends}


async def stop(draft: Draft) -> None:
    """Hold what must have a person's yes."""
    cycle = draft.cycle
    draft.plan, draft.batches = with_safety_stops(
        cycle.state,
        draft.plan,
        draft.base,
        draft.here,
        draft.there,
        emptied=await emptied_pages(
            cycle.local, draft.plan, draft.base, draft.here, cycle.state
        ),
        rewinding=draft.rewinding,
        stops=cycle.options.stops,
        now=cycle.clock(),
    )


async def wait_for_absences(draft: Draft) -> None:
    """Put removals off until it is certain that a page is gone.

    Of a file that is missing it is where a person said yes to the deletion on the wiki.
    """
    waiting, said = draft.absences.waiting, approved_pages(draft.batches)
    waiting = {
        slug: reason
        for slug, reason in waiting.items()
        if reason is not SkipReason.GONE_HERE or slug not in said
    }
    if draft.cycle.options.folder is FolderMatch.SHARED:
        removed = [one.slug for one in draft.plan.removals]
        waiting = dict.fromkeys(removed, SkipReason.SHARED)
    draft.plan = narrowing.without_removals(draft.plan, waiting)


async def narrow(draft: Draft) -> None:
    """Leave out what a person did not ask for."""
    options, draft.whole = draft.cycle.options, draft.plan
    plan = narrowing.in_direction(draft.plan, options.direction)
    draft.plan = narrowing.only_pages(plan, options.pages)


FILTERS: Sequence[Callable[[Draft], Awaitable[None]]] = (
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
    hold_markers,
    hold_empty,
    # Counts also removals that are not certain yet.
    stop,
    wait_for_absences,
    # Last: a page that is left out of this cycle does not count as settled.
    narrow,
)
"""Carried out one after the other, each on what the one before it left."""

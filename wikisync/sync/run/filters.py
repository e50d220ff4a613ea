"""What changes the plan of a cycle before it is carried out, in its order.

``reconcile`` says what would bring both sides together.  Each filter leaves an action,
takes it out or puts another one in its place; the order is ``FILTERS``, with the
reason of each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec.structs import replace

from wikisync.core.model import Digest, Slug, is_blank
from wikisync.errors import FolderError, NotFound
from wikisync.merging.conflict import git_conflicts, has_any_marker, has_marker
from wikisync.merging.metadata import differs_in_time_only
from wikisync.sync.decide import narrowing
from wikisync.sync.decide.decided import Decided
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import (
    BasePage,
    CreateRemote,
    HoldReason,
    MoveLocal,
    Plan,
    Push,
    Skip,
    SkipReason,
)
from wikisync.sync.decide.rewinding import not_agreed
from wikisync.sync.decide.safety import approved_pages
from wikisync.sync.run.changed_files import send_changed_files
from wikisync.sync.run.merging import merge
from wikisync.sync.run.options import FolderMatch
from wikisync.sync.run.parts import Cycle
from wikisync.sync.run.sightings import seen_again
from wikisync.sync.run.stopping import hold_pointers, leave_taken_back, stop

SAME_TEXT_MAX = 4
"""Times that one text of a page may be sent within ten minutes."""
REFUSAL_S = 900.0
"""A page that the service refused is not sent again as it is for so long."""


async def leave_ignored(_cycle: Cycle, decided: Decided) -> None:
    """Do nothing about pages that are kept out of the sync here."""
    if ignored := decided.ignored:
        decided.plan = decided.plan.map(lambda a: None if a.slug in ignored else a)


async def leave_copies(_cycle: Cycle, decided: Decided) -> None:
    """Report copies that other programs made, and do not put them on the wiki.

    Not those that are on the wiki already: they are pages as all others.
    """
    copies, here = decided.here.copies, decided.here
    if not copies:
        return
    decided.plan = narrowing.without_copies(decided.plan, copies.keys())
    left = [one.slug for one in decided.plan.skipped if one.reason is SkipReason.COPY]
    problems = tuple(copies[slug] for slug in left if slug in copies)
    decided.here = replace(here, problems=(*here.problems, *problems))


async def compare_history(cycle: Cycle, decided: Decided) -> None:
    """Find out what the wiki has otherwise than was agreed on, and since when."""
    files = cycle.state.conflict_files()
    decided.shown = {slug: file.wiki_digest for slug, file in files.items()}
    decided.seen = not_agreed(decided.plan, decided.base, decided.there, decided.shown)
    decided.is_set_back = await _is_set_back(cycle, decided)


async def _is_set_back(cycle: Cycle, decided: Decided) -> bool | None:
    """Whether the wiki's history lacks the last sync.

    Asked where the wiki would take something back, now or later: one request, and
    a second one where its newest commit is another.  None where that is not known.
    """
    seen, earlier = decided.seen, cycle.state.memory.head
    is_renamed = any(isinstance(move, MoveLocal) for move in decided.plan.moves)
    if not earlier or not (
        seen.texts.keys() - seen.shown or seen.missing or is_renamed
    ):
        return None
    decided.head = await cycle.remote.head()
    decided.is_unanswered = not decided.head
    if decided.head in {"", earlier}:
        return None
    is_after = await cycle.remote.follows(decided.head, earlier)
    decided.is_unanswered = is_after is None
    return None if is_after is None else not is_after


async def leave_unasked(cycle: Cycle, decided: Decided) -> None:
    """Put nothing on the wiki that a first sync left here."""
    options, left = cycle.options, cycle.state.memory.left_out
    if left is None:
        return
    if not decided.base:
        left = frozenset(action.slug for action in decided.plan.sends)
    # who names a page asks for it
    left -= options.pages or frozenset()
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
    refused: Mapping[Slug, Digest] = {}
    if not cycle.options.tries_again:
        lately = cycle.clock() - REFUSAL_S
        refusals = cycle.state.memory.refusals.items()
        refused = {slug: one.local for slug, one in refusals if one.at > lately}
    looping = await _looping(cycle, decided.plan, decided.base)
    if refused or looping:
        decided.plan = narrowing.without_futile(decided.plan, refused, looping)


async def _looping(
    cycle: Cycle, plan: Plan, base: Mapping[Slug, BasePage]
) -> frozenset[tuple[Slug, Digest]]:
    """Texts that were sent so often that something must be changing them back.

    Texts that differ only in the times of their changes are the same here: two
    machines whose editors write them would send a page to each other for ever.
    Not those that both sides agree on: a picture in them is another one.
    """
    state, now = cycle.state, cycle.clock()
    files = {slug: file for file, slug in _sent_files(plan).items()}
    found: set[tuple[Slug, Digest]] = set()
    for action in plan.actions:
        known = base.get(action.slug)
        if not isinstance(action, Push) or (
            known and (action.format, action.local) == (known.format, known.local)
        ):
            continue
        is_looping = state.times_sent(action.slug, action.local, now) >= SAME_TEXT_MAX
        if not is_looping and state.times_sent(action.slug, None, now) >= SAME_TEXT_MAX:
            is_looping = await _is_only_later(cycle, action.slug, files[action.slug])
        if is_looping:
            found.add((action.slug, action.local))
    return frozenset(found)


async def _is_only_later(cycle: Cycle, slug: Slug, file: Slug) -> bool:
    """Whether a page says nothing new but when it was changed."""
    try:
        text = (await cycle.local.read(file)).content
    except (NotFound, FolderError):
        return False  # its turn will say what is wrong
    return differs_in_time_only(cycle.state.text(slug) or "", text)


async def hold_markers(cycle: Cycle, decided: Decided) -> None:
    """Hold pages that would be sent with marker lines of a conflict in them.

    Git's may be what a page is about: they count where the agreed text does not have
    them, and a person does not ask for the page by its name.
    """
    plan = decided.plan
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
    if found:
        decided.plan = narrowing.holding(plan, found)


async def hold_empty(cycle: Cycle, decided: Decided) -> None:
    """Send no text that says nothing, where the service refuses those.

    A note that was just made waits for its text; a page that lost its text is a
    person's to decide.
    """
    plan = decided.plan
    if cycle.state.memory.capabilities.takes_empty or not plan.sends:
        return
    sent = _sent_files(plan)
    empty = {sent[file] for file in await cycle.local.having(sent, is_blank)}
    held = {
        one.slug: HoldReason.EMPTY
        for one in plan.sends
        if isinstance(one, Push) and one.slug in empty
    }
    decided.plan = narrowing.holding(plan, held).map(
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


async def wait_for_absences(cycle: Cycle, decided: Decided) -> None:
    """Put removals off until it is certain that a page is gone.

    Of a file that is missing it is where a person said yes to the deletion on the wiki.
    """
    if not decided.plan.removals:
        return
    waiting, said = decided.absences.waiting, approved_pages(decided.batches)
    waiting = {
        slug: reason
        for slug, reason in waiting.items()
        if reason is not SkipReason.GONE_HERE or slug not in said
    }
    if cycle.options.folder is FolderMatch.SHARED:
        removed = [one.slug for one in decided.plan.removals]
        waiting = dict.fromkeys(removed, SkipReason.SHARED)
    decided.plan = narrowing.without_removals(decided.plan, waiting)


async def narrow(cycle: Cycle, decided: Decided) -> None:
    """Leave out what a person did not ask for."""
    options, decided.whole = cycle.options, decided.plan
    if options.is_partial:
        plan = narrowing.in_direction(decided.plan, options.direction)
        decided.plan = narrowing.only_pages(plan, options.pages)


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
    hold_markers,
    hold_empty,
    # Counts also removals that are not certain yet.
    stop,
    wait_for_absences,
    # Last: a page that is left out of this cycle does not count as settled.
    narrow,
)
"""Carried out one after the other, each on what the one before it left."""
NOTING = frozenset({send_changed_files, wait_for_editors, merge, stop})
"""Those that add to a plan, or note something."""

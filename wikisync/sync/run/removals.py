"""Absence is not deletion: how often, and for how long, a page must be missing.

A list can be wrong (a storage error is ``200 []``, Q1), so a page is removed only after
several complete scans over some time lacked it and the service said "not found" each
time (``docs/sync.md`` "Absence").  A page that may have been renamed to one whose text
cannot be read, or whose text is in one that cannot be carried over, waits for that one.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from wikisync.core.contents import POINTER_BYTES_MAX, is_pointer
from wikisync.core.model import Digest, Problem, Slug, Snapshot, removals_max, some_of
from wikisync.core.system.parallel import each
from wikisync.errors import NotFound, RemoteError, WikisyncError
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.ledger import Side, Sighting
from wikisync.sync.decide.narrowing import without_removals
from wikisync.sync.decide.safety import approved_pages
from wikisync.sync.replica import Replica
from wikisync.sync.run.parts import READS_MAX, Absences, Cycle, Decided, FolderMatch

CONTROL_READS_MAX = 3
"""Listed pages that are tried before the service counts as out of order."""


def seen_again(
    known: Mapping[Slug, Sighting], slugs: Collection[Slug], now: float
) -> dict[Slug, Sighting]:
    """The memory after one more scan: a page that is back is forgotten."""
    return {
        # a clock that was set back makes the first time worthless: count anew
        slug: Sighting(one.count + 1, one.first_at, now)
        if (one := known.get(slug)) and one.first_at <= now
        else Sighting(1, now, now)
        for slug in slugs
    }


def is_certain(sighting: Sighting, scans: int, span_s: float) -> bool:
    """Whether something was seen often enough and for long enough."""
    return sighting.count >= scans and sighting.last_at - sighting.first_at >= span_s


async def watch_absences(
    cycle: Cycle, plan: plans.Plan, here: Snapshot, there: Snapshot
) -> Absences:
    """Count this scan, and say which removals must wait."""
    # the wiki is asked for every page that would be removed here; of so many that the
    # safety stop holds them anyway, for one
    known, now, options = cycle.state, cycle.clock(), cycle.options
    patience = options.patience
    gone_there = [a.slug for a in plan.actions if isinstance(a, plans.DeleteLocal)]
    forgotten = [a.slug for a in plan.actions if isinstance(a, plans.DropRecord)]
    gone_here = [a.slug for a in plan.actions if isinstance(a, plans.DeleteRemote)]
    # gone here all the same where the wiki's list lacks them, too, perhaps wrongly
    unseen = {s.slug for s in plan.skipped if s.reason is plans.SkipReason.UNSEEN_THERE}
    missing = [*forgotten, *(unseen - here.pages.keys())]
    doubted = await _doubted(cycle, there, [*gone_there, *forgotten])
    new_here = await _new_unread(cycle, plan, here, Side.LOCAL)
    new_there = await _new_unread(cycle, plan, there, Side.REMOTE)
    unread = seen_again(known.sightings(Side.UNREAD), new_here | new_there, now)
    known.record_sightings(Side.UNREAD, unread)
    waiting: dict[Slug, plans.SkipReason] = {}
    due: list[float] = []
    # A doubted scan of the wiki empties the memory of its side, so that an absence is
    # certain only after scans in a row in which the service denied the page.
    there_now, here_now = [] if doubted else gone_there, [*gone_here, *missing]
    remote = patience.remote_scans, patience.remote_span_s
    local = patience.local_scans, patience.local_span_s
    for side, new, slugs, reason, (scans, span_s) in (
        (Side.REMOTE, new_there, there_now, plans.SkipReason.GONE_THERE, remote),
        (Side.LOCAL, new_here, here_now, plans.SkipReason.GONE_HERE, local),
    ):
        # What another machine saw says nothing of what is here.
        is_shared = options.folder is FolderMatch.SHARED
        before = {} if is_shared else known.sightings(side)
        seen = seen_again(before, slugs, now)
        known.record_sightings(side, seen)
        for slug, one in seen.items():
            if slug in missing:
                continue
            if not is_certain(one, scans, span_s):
                waiting[slug] = reason
                left = max(0.0, one.first_at + span_s - now)
                due.append(left / max(1, scans - one.count))
            # certain by now, unless a page that cannot be read came at the same time or
            # later: it may be this one under another name
            elif any(unread[another].first_at >= one.first_at for another in new):
                waiting[slug] = plans.SkipReason.MAY_BE_UNREAD
    return Absences(waiting, doubted, min(due, default=None))


async def wait_for_absences(cycle: Cycle, decided: Decided) -> None:
    """Put removals off until it is certain that a page is gone."""
    # of a file that is missing it is where a person said yes to the deletion on the
    # wiki
    if not decided.plan.removals:
        return
    waiting, said = decided.absences.waiting, approved_pages(decided.batches)
    waiting = {
        slug: reason
        for slug, reason in waiting.items()
        if reason is not plans.SkipReason.GONE_HERE or slug not in said
    }
    if cycle.options.folder is FolderMatch.SHARED:
        removed = [one.slug for one in decided.plan.removals]
        waiting = dict.fromkeys(removed, plans.SkipReason.SHARED)
    decided.plan = without_removals(decided.plan, waiting)


async def _new_unread(
    cycle: Cycle, plan: plans.Plan, seen: Snapshot, side: Side
) -> frozenset[Slug]:
    """New pages of one side whose text cannot be read, or is not sent."""
    # A page that was gone at the same scan, or before, may have been renamed to one.  A
    # pointer of the wiki counts also when it has been written here.
    known = cycle.state
    creation = plans.CreateRemote if side is Side.LOCAL else plans.CreateLocal
    may_be = {one.slug for one in plan.actions if isinstance(one, creation)}
    may_be |= known.sightings(Side.UNREAD).keys()
    digests = {slug: seen.pages[slug].digest for slug in may_be & seen.pages.keys()}
    new = (seen.unreadable - seen.ignored).union(seen.copies) - known.base().keys()
    return new.union(await pointers(cycle, digests, seen, side))


async def pointers(
    cycle: Cycle, digests: Mapping[Slug, Digest], seen: Snapshot, side: Side
) -> dict[Slug, str]:
    """Those of the texts that are only pointers, by the pages that get them.

    Empty is one that may have been: another text is in its place since the scan.
    """
    known = cycle.state
    wanted = set(digests.values())
    small = {
        page.digest: page.slug
        for page in (seen.pages.values() if wanted else ())
        if page.digest in wanted and (page.size or 0) <= POINTER_BYTES_MAX
    }
    found: dict[Slug, str] = {}
    for slug, digest in digests.items():
        if digest not in small:
            continue
        # a short text of the wiki comes along with the scan that finds it new
        page = seen.texts.get(small[digest])
        if page is None and side is Side.LOCAL:
            page = await cycle.page_here(small[digest])
            if page is None:
                continue
        text = page.content if page else known.text(small[digest]) or ""
        if page and page.digest != digest and side is Side.LOCAL:
            text = found[slug] = ""
        if is_pointer(text.encode("utf-8", "replace")):
            found[slug] = text
    return found


async def _doubted(
    cycle: Cycle, there: Snapshot, missing: Collection[Slug]
) -> Slug | None:
    """A page whose absence the service does not stand by."""
    if not missing:
        return None
    asked = sorted(missing)
    if len(asked) > removals_max(len(cycle.state.base())):
        asked = asked[:1]
    liar = await still_there(cycle, asked)
    if liar is None and there.pages and not await is_answering(cycle.remote, there):
        return asked[0]
    return liar


async def still_there(cycle: Cycle, slugs: Sequence[Slug]) -> Slug | None:
    """A slug that the service does not deny, or None where it denies all."""
    found: list[Slug] = []

    async def ask(slug: Slug) -> None:
        try:
            await cycle.remote.read(slug)
        except NotFound:
            return
        except RemoteError:
            pass  # no answer is no denial
        found.append(slug)

    await each(slugs, ask, in_flight=READS_MAX)
    return min(found, default=None)


async def is_answering(remote: Replica, seen: Snapshot) -> bool:
    """Whether a page that must exist can be read."""
    # more than one is tried, because a case twin is never found under its own slug
    known = sorted(seen.pages, key=lambda slug: (slug.count("/"), slug))
    for slug in known[:CONTROL_READS_MAX]:
        try:
            await remote.read(slug)
        except RemoteError:
            continue
        return True
    return False


TEXTS_COMPARED_MAX = 20
"""Pages with an error whose texts are compared with those of removed pages."""
OF_ONE_PAGE = frozenset({"page-unwritable", "page-unreadable", "page-refused"})
"""Errors that say nothing of other pages, unlike a service that does not answer."""


def lasting(
    known: WikiState, plan: plans.Plan, *, is_wiki_seen: bool = True
) -> tuple[Problem, ...]:
    """Errors of the last cycle about what is still to be done, and is not held.

    A plan without a scan of the wiki does not show that a page is in sync by now.
    """
    troubles = known.memory.troubles
    if not troubles:
        return ()
    waiting = {
        str(a.slug) for a in plan.actions if isinstance(a, plans.Hold | plans.Skip)
    }
    missing = set(known.mentions()) - known.attachments_here()
    undone = {str(a.slug) for a in plan.actions} | missing
    return tuple(
        one
        for one in troubles
        if one.subject not in waiting and (one.subject in undone or not is_wiki_seen)
    )


async def waiting_removals(
    cycle: Cycle, decided: Decided, errors: Sequence[Problem]
) -> Mapping[Slug, Sequence[Problem]]:
    """Pages that may not be removed or forgotten yet, with the errors behind each."""
    # the text of a page with an error counts from the side where it could not be
    # carried over, as far as it can be had
    plan, known = decided.plan, cycle.state
    goings = [one for one in plan.actions if isinstance(one, _Going)]
    if not goings or not errors:
        return {}
    sent, texts = {one.slug for one in plan.sends}, dict[Slug, str]()
    for error in errors[:TEXTS_COMPARED_MAX]:
        slug = Slug(error.subject)
        if slug not in sent and slug in decided.there.texts:
            texts[slug] = decided.there.texts[slug].content
        elif error.code != "page-unreadable":
            side: Replica = cycle.local if slug in sent else cycle.remote
            with suppress(WikisyncError):
                texts[slug] = (await side.read(slug)).content
    failed = {a.slug: a for a in plan.actions if isinstance(a, _Coming | plans.Send)}
    lines = {slug: frozenset(_lines(text)) for slug, text in texts.items()}
    sightings = {**known.sightings(Side.LOCAL), **known.sightings(Side.REMOTE)}

    def is_older(error: Slug, absence: Slug) -> bool:
        logged, seen = known.events(1, error), sightings.get(absence)
        return bool(logged) and (seen is None or logged[0].at < seen.first_at)

    def waits(going: _Going, error: Problem) -> bool:
        action = failed.get(Slug(error.subject))
        if error.code not in OF_ONE_PAGE or action is None:
            return True
        other = plans.Send if isinstance(going, plans.DeleteLocal) else _Coming
        if isinstance(action, other) and not isinstance(going, plans.DropRecord):
            return False  # what is gone on one side did not go to the other one
        if action.slug not in lines:
            return not is_older(action.slug, going.slug)
        own = _lines(known.text(going.slug) or "")
        return 2 * len(lines[action.slug].intersection(own)) >= max(1, len(own))

    found = {
        one.slug: [error for error in errors if waits(one, error)] for one in goings
    }
    return {slug: behind for slug, behind in found.items() if behind}


_Going = plans.Delete | plans.DropRecord
_Coming = plans.Write | plans.Merge


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {""}


def put_off(
    plan: plans.Plan, waiting: Mapping[Slug, Sequence[Problem]]
) -> tuple[plans.Plan, tuple[Problem, ...]]:
    """The plan with these removals waiting for their errors, and what is said of it."""
    removed = [one.slug for one in plan.removals if one.slug in waiting]
    if not removed:
        return plan, ()
    plan = without_removals(plan, dict.fromkeys(removed, plans.SkipReason.TROUBLE))
    is_one = len(removed) == 1
    behind = (error.subject for slug in removed for error in waiting[slug])
    wrong = some_of(dict.fromkeys(behind))
    problem = Problem(
        "removals-postponed",
        "1 page" if is_one else f"{len(removed)} pages",
        f"{'its' if is_one else 'their'} deletion waits until the problems with"
        f" {wrong} are fixed ({some_of(removed)})",
        "fix the other problems, then run it again",
    )
    return plan, (problem,)

"""One cycle: look at both sides, decide, brake, carry out, record.

The story of ``docs/sync.md`` "A cycle" for a pull.  The only effects are those of the
two replicas and of the base; deciding is ``reconcile``'s, stopping is ``safety``'s.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from msgspec import Struct

from wikisync.errors import Halted
from wikisync.model import Problem, Slug, WikiOwner
from wikisync.progress import Progress, SilentProgress
from wikisync.sync.absence import confirm_absences
from wikisync.sync.apply import Apply
from wikisync.sync.attachments import AttachmentFetch
from wikisync.sync.frame import (
    look,
    note_health,
    note_told,
    refuse_other,
    remember_tag,
)
from wikisync.sync.plan import Hold, Plan, Skip, SkipReason
from wikisync.sync.reconcile import Policy, reconcile
from wikisync.sync.replica import AttachmentFolder, Replica
from wikisync.sync.safety import brake_of
from wikisync.sync.state import State

log = logging.getLogger(__name__)

READS_MAX = 8
"""Reads in flight for one wiki."""


_OTHER_HINT = "see what to do about it: wikisync sync"


class CycleResult(Struct, frozen=True):
    """What one cycle found and did."""

    plan: Plan
    written: int
    """Pages put into the folder."""
    removed: int
    """Pages removed from the folder."""
    unchanged: int
    """Pages of the wiki that nothing was done about."""
    attachments: int
    """Attachments fetched."""
    problems: tuple[Problem, ...]
    """Everything that a person may have to look at, what is held included."""
    absent: tuple[Problem, ...] = ()
    """Attachments that the wiki itself lacks; no trouble of the cycle."""

    @property
    def pages(self) -> int:
        """How many pages the wiki has."""
        return self.written + self.unchanged


async def pull_wiki(
    remote: Replica,
    local: AttachmentFolder,
    state: State,
    *,
    owner: WikiOwner,
    policy: Policy = Policy.PULL,
    remote_id: str = "",
    allow_emptying: bool = False,
    progress: Progress | None = None,
    reads_max: int = READS_MAX,
    clock: Callable[[], float] = time.time,
) -> CycleResult:
    """Bring the wiki's pages and attachments into the local replica.

    Interrupted, it leaves complete files and a base that knows them; running it
    again finishes the work.

    ``remote_id`` is the service's id of the project or group.  ``allow_emptying`` is
    a person's yes to removing more pages than the safety stop lets.

    Raises:
        Halted: another wiki than last time has this path; or more pages would be
            removed than the safety stop lets, and everything else is done.
        WikisyncError: the cycle could not go on.
    """
    progress = progress or SilentProgress()
    started_at = clock()
    known = state.wiki(owner)
    problems: list[Problem] = []
    refuse_other(known, owner, remote_id, _OTHER_HINT)
    progress.start("list", None)
    base = known.base()
    here, there = await look(local, remote)
    there = await confirm_absences(remote, there, base, reads_max=reads_max)
    plan = reconcile(base, here, there, policy)
    brake = None if allow_emptying else brake_of(plan, base)
    allowed = plan if brake is None else plan.without_deletes()
    applied = Apply(
        remote, local, known, seen=there, progress=progress, reads_max=reads_max
    )
    outcome = await applied.run(allowed)
    fetch = AttachmentFetch(
        remote, local, known, progress=progress, reads_max=reads_max
    )
    await fetch.run()
    if brake is not None:
        raise Halted(
            f"{brake} are missing from the wiki of {owner}; none was removed here",
            hint="check the wiki; if they were deleted on purpose, run the same"
            " command again with --allow-emptying",
        )
    # what waits for a person is no trouble of the cycle
    trouble = (*here.problems, *there.problems, *outcome.problems, *fetch.problems)
    note_health(known, trouble, here, there, started_at=started_at, now=clock())
    known.record_troubles(tuple(outcome.problems))
    note_told(known, {Slug(one.subject): one.message for one in trouble}, clock())
    problems += (*here.problems, *there.problems, *_waiting(plan), *outcome.problems)
    if not problems:
        remember_tag(known, there)
    return CycleResult(
        plan=plan,
        written=outcome.written,
        removed=outcome.removed,
        unchanged=len(there.pages) - outcome.written,
        attachments=fetch.fetched,
        problems=(*problems, *fetch.problems),
        absent=tuple(fetch.absent),
    )


_QUIET = {
    SkipReason.UNREADABLE_HERE,  # each replica reports its own unreadable pages
    SkipReason.UNREADABLE_THERE,
}


def _waiting(plan: Plan) -> list[Problem]:
    """What the plan leaves to a person, as problems."""
    found: list[Problem] = []
    for action in plan.actions:
        log.debug("planned: %s", action)
        match action:
            case Hold():
                hint = "make both texts equal, or save your copy under another name"
                found.append(Problem("page-held", action.slug, action.reason, hint))
            case Skip() if action.reason not in _QUIET:
                found.append(Problem("page-skipped", action.slug, action.reason))
            case _:
                pass
    return found

"""How all wikis of a daemon fare together: who is asked for, who waits, and how long.

Errors make a wiki wait, alone where it is the wiki's trouble, with all wikis of the
service where the service is away.  The error alone does not say which: one wiki can
answer 500 for weeks.  So the service is asked for something that needs no wiki.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from wikisync.errors import (
    OF_SERVICE,
    OWN_TROUBLE,
    AuthenticationFailed,
    Halted,
    PermissionDenied,
    RateLimited,
    RemoteError,
    WikisyncError,
)
from wikisync.watch.daemon.wiki_status import (
    Condition,
    CycleOutcome,
    Outage,
    Why,
    WikiStatus,
)
from wikisync.watch.daemon.work import guarded
from wikisync.workspace.attention import LASTING_HINT, LASTING_TRIES, lasting

log = logging.getLogger(__name__)

HINT_MAX_S = 15.0
"""Between two hints of a wiki where nothing happens.  An edit on the service is to be
here within 20 s: this, its jitter, the answer, and the cycle."""
IDLE_S = 3600.0
"""A wiki in which nothing happened for so long is idle."""
HINTS_APART_S = 1.0
"""Between two hints of many idle wikis: the service limits what a token may ask."""
IDLE_RANGE = 4.0
"""For them, the longest time between two hints of one wiki grows so many times."""
HOOKED_HINT_S = 600.0
"""Between two hints of a wiki with webhooks; these report no push by git.  At the most,
also of one that a list of active projects has."""
HINT_RANGE = 3.0
"""Hints come so many times more often while something happens ..."""
HINT_LEAST_S = 1.0
"""... but never more often than this ..."""
SCANS_APART = 50.0
"""... or so that scans of the wiki, one a hint, would take more of the time than one
part in this."""
COSTLY_RANGE = 4.0
"""Hints that cost as much as many others come so many times less often at rest."""
SCAN_MIN_S = 60.0
"""Between two scans at a wiki for which the service has no hint; they grow alike."""
FULL_SCAN_S = 600.0
"""The whole wiki is scanned at least so often; one whose hints are exact, the more
rarely the longer nothing happened in it ..."""
FULL_SCAN_GROWTH = 6.0
"""... after so many times as long ..."""
FULL_SCAN_MAX_S = 6 * 3600.0
"""... but at least so often."""
BACK_OFF_MIN_S = 2.0
BACK_OFF_MAX_S = 300.0
REFUSED_RETRY_S = 900.0
"""After a refused token, and after whatever the service asks for at the most."""
RATE_LIMIT_S = 60.0
"""After "too many requests" that do not say how long to wait."""
RESTLESS_S = 5.0
"""How long a wiki waits that still has something to do after its turn."""
JITTER = 0.2
OPEN_HINT = "close it in the editor; the wiki's changes then arrive immediately"

OnStatus = Callable[[WikiStatus], None]
"""Called after each change of a wiki's condition or problem."""
IsAway = Callable[[WikisyncError], Awaitable[bool]]
"""Asks the service whether an error that one wiki met is that of all wikis."""
OnOutage = Callable[[Outage | None], None]
"""Called when all wikis have to wait, and with None when they need not any more."""


class Schedule:
    """What a daemon knows of its wikis, and what follows for when they are due."""

    def __init__(
        self,
        names: Iterable[str],
        *,
        clock: Callable[[], float],
        chance: random.Random,
        hint_max_s: float = HINT_MAX_S,
        on_status: OnStatus | None = None,
        on_outage: OnOutage | None = None,
        is_away: IsAway | None = None,
    ) -> None:
        """Ask for a first cycle of each of these wikis; see ``Daemon``."""
        self.clock = clock
        self._chance = chance
        self.hint_max_s = hint_max_s
        self._on_status = on_status or _ignore
        self._on_outage = on_outage or _ignore
        self._is_away = is_away
        self.wake = asyncio.Event()
        """Set when something may be due earlier than was thought."""
        self.trouble: Outage | None = None
        """Why all wikis wait."""
        now = clock()
        self.by_name: Mapping[str, WikiStatus] = {
            name: WikiStatus(name, asked_at=now, moved_at=now) for name in names
        }

    # -- asking ------------------------------------------------------------------

    def ask(self, name: str | None, why: Why) -> None:
        """Ask for a cycle of one wiki, or of all; many askings are one."""
        for wiki_status in self._named(name):
            self.ask_quietly(wiki_status, why)
            self._quicken(wiki_status)

    def ask_quietly(self, wiki_status: WikiStatus, why: Why) -> None:
        """Ask for a cycle of a wiki where nothing is known to happen."""
        if not wiki_status.asked:
            wiki_status.asked_at = self.clock()
        wiki_status.asked.add(why)
        self.wake.set()

    def hear(self, name: str) -> None:
        """A webhook reported an edit of this wiki."""
        for wiki_status in self._named(name):
            wiki_status.heard_at = self.clock()
            wiki_status.has_hooks = True
        self.ask(name, Why.WIKI)

    def retry(self) -> None:
        """Forget all waiting: the machine woke up, or a person knows better."""
        if self.trouble is not None:
            self.trouble.until = 0.0
        for wiki_status in self.by_name.values():
            wiki_status.not_before = 0.0
            self.ask_quietly(wiki_status, Why.EVERYTHING)
        self._quicken_unlisted()

    def _quicken(self, wiki_status: WikiStatus) -> None:
        """Something happens: hints are asked for at short intervals again."""
        wiki_status.hint_s, wiki_status.moved_at = 0.0, self.clock()
        wiki_status.quickened.set()

    def _quicken_unlisted(self) -> None:
        """Something may have happened; the next list says in which of its wikis."""
        for wiki_status in self.by_name.values():
            if not wiki_status.is_listed:
                self._quicken(wiki_status)
            elif wiki_status.is_due:
                wiki_status.quickened.set()

    def _named(self, name: str | None) -> Sequence[WikiStatus]:
        if name is None:
            return tuple(self.by_name.values())
        wiki_status = self.by_name.get(name)
        return () if wiki_status is None else (wiki_status,)

    def hint_range_s(self, wiki_status: WikiStatus) -> tuple[float, float]:
        """Between two hints, at least while something happens, and at most."""
        if not wiki_status.has_hints:
            return SCAN_MIN_S, FULL_SCAN_S
        if wiki_status.has_hooks:
            return HOOKED_HINT_S, HOOKED_HINT_S
        most_s, idle_s = self.hint_max_s, self.clock() - wiki_status.moved_at
        if wiki_status.is_listed:
            most_s = max(most_s, HOOKED_HINT_S)
        elif idle_s >= IDLE_S:
            shared_s = len(self.by_name) * HINTS_APART_S
            most_s = min(max(most_s, shared_s), most_s * IDLE_RANGE)
        if wiki_status.has_costly_hints and not wiki_status.is_listed:
            return most_s, most_s * COSTLY_RANGE
        least_s = max(self.hint_max_s / HINT_RANGE, HINT_LEAST_S)
        return min(max(least_s, wiki_status.scan_s * SCANS_APART), most_s), most_s

    # -- waiting -----------------------------------------------------------------

    def ready_at(self, wiki_status: WikiStatus) -> float:
        """When its next cycle may begin."""
        starts_at = wiki_status.not_before
        if self.trouble is not None:
            starts_at = max(starts_at, self.trouble.until)
        return max(starts_at, wiki_status.waits_since())

    def note_pause(self, wiki_status: WikiStatus, *, is_paused: bool) -> None:
        """Take up that a person paused a wiki, or lets it go on."""
        if is_paused:
            if wiki_status.condition is not Condition.PAUSED:
                self.wake.set()  # it is asked again sooner than anything is due
            self._set(wiki_status, Condition.PAUSED)
        elif wiki_status.condition is Condition.PAUSED:
            self._set(wiki_status, Condition.STARTING)
            self.ask(wiki_status.name, Why.EVERYTHING)

    # -- what came of a cycle ----------------------------------------------------

    def succeeded(
        self, wiki_status: WikiStatus, outcome: CycleOutcome, why: Why
    ) -> None:
        """Say when a wiki is due again after a cycle that ended well."""
        now = self.clock()
        wiki_status.failures, wiki_status.failure, wiki_status.not_before = 0, None, 0.0
        wiki_status.last_good_at = now
        wiki_status.outcome = outcome
        if why is not Why.FOLDER:
            wiki_status.full_scan = now
            wiki_status.scan_s = now - wiki_status.began_at
        if not outcome.is_quiet:
            self._quicken(wiki_status)
        if outcome.has_more:
            self.ask_quietly(wiki_status, Why.EVERYTHING)
            wiki_status.not_before = now + RESTLESS_S
        wiki_status.due_at = wiki_status.full_scan + _full_scan_s(wiki_status)
        if outcome.next_scan_s is not None:
            # absences count only in scans of both sides
            wiki_status.due_at = min(
                wiki_status.due_at, now + max(outcome.next_scan_s, 1.0)
            )
        wiki_status.unsettled = wiki_status.unsettled + 1 if outcome.problem else 0
        if outcome.problem:
            again_s = self._back_off_s(wiki_status.unsettled)
            wiki_status.due_at = min(wiki_status.due_at, now + again_s)
        self._service_answered(wiki_status.began_at)
        problem, hint = outcome.problem, outcome.hint
        if outcome.needs_person:
            condition = Condition.NEEDS_PERSON
        elif problem:
            condition = Condition.PARTLY
        elif outcome.open_here:
            condition, problem, hint = Condition.OPEN, outcome.open_here, OPEN_HINT
        else:
            condition = Condition.IN_SYNC
        self._set(wiki_status, condition, problem, hint)

    def note_long(self, wiki_status: WikiStatus) -> None:
        """Note that a cycle takes long; how the wiki is shows when it ends."""
        if wiki_status.condition in {Condition.IN_SYNC, Condition.OPEN}:
            self._set(wiki_status, Condition.SYNCING)

    def note_unchanged(self, wiki_status: WikiStatus) -> bool:
        """Note that a wiki has not moved since a hint before; whether all is well."""
        is_open = wiki_status.asked or wiki_status.is_working
        if is_open or wiki_status.failures or wiki_status.unsettled:
            return False
        wiki_status.last_good_at = self.clock()
        return True

    async def is_of_service(self, error: WikisyncError) -> bool:
        """Whether the other wikis would meet this error, too."""
        if not isinstance(error, OF_SERVICE):
            return False
        if isinstance(error, RateLimited):
            # the client knows whether several wikis met it
            return error.is_everywhere
        if self._is_away is None:
            return True
        try:
            return await guarded("the service", self._is_away(error))
        except WikisyncError:
            return True

    def failed(
        self,
        wiki_status: WikiStatus,
        error: WikisyncError,
        why: Why,
        *,
        is_of_service: bool,
    ) -> None:
        """Let the wiki wait, or all of them where it is the service's trouble."""
        self.ask_quietly(wiki_status, why)
        self._count(wiki_status, error)
        now = self.clock()
        if isinstance(error, RateLimited) and not is_of_service:
            wiki_status.not_before = now + limit_s(error)
            self._service_answered(wiki_status.began_at)
            self._set(wiki_status, Condition.LIMITED, error.message, error.hint or "")
            return
        if is_of_service:
            wiki_status.not_before = now + self._back_off_s(wiki_status.failures)
            self.service_failed(error)
            return
        if isinstance(error, OF_SERVICE):
            # it answered just now when it was asked about this
            self._service_answered(now)
        elif isinstance(error, RemoteError):
            self._service_answered(wiki_status.began_at)
        log.error("%s: %s", wiki_status.name, error.message)
        match error:
            case PermissionDenied() | AuthenticationFailed():
                wiki_status.not_before = now + REFUSED_RETRY_S
                condition = Condition.REFUSED
            case Halted():
                wiki_status.not_before = now + BACK_OFF_MAX_S
                condition = Condition.NEEDS_PERSON
            case _:
                wiki_status.not_before = now + self._back_off_s(wiki_status.failures)
                condition = Condition.FAILING
        problem, hint = error.message, error.hint or ""
        if isinstance(error, OWN_TROUBLE) and wiki_status.failures >= LASTING_TRIES:
            problem, hint = lasting(problem), LASTING_HINT
        self._set(wiki_status, condition, problem, hint)

    def _count(self, wiki_status: WikiStatus, error: WikisyncError) -> None:
        if not wiki_status.failures:
            wiki_status.failing_since = self.clock()
        wiki_status.failures += 1
        wiki_status.failure = error

    # -- the service -------------------------------------------------------------

    def service_failed(self, error: WikisyncError) -> None:
        """All wikis wait; of many that fail together, the first one counts."""
        now, before = self.clock(), self.trouble
        if before is not None and now < before.until:
            return
        failures = before.failures + 1 if before else 1
        match error:
            case AuthenticationFailed():
                condition, wait_s = Condition.REFUSED, REFUSED_RETRY_S
            case RateLimited():
                condition, wait_s = Condition.LIMITED, limit_s(error)
            case _:
                condition, wait_s = Condition.OFFLINE, self._back_off_s(failures)
        self.trouble = Outage(
            condition,
            error.message,
            error.hint or "",
            since=before.since if before else now,
            failed_at=now,
            until=now + wait_s,
            failures=failures,
            before=before.before if before else self._conditions(),
        )
        for wiki_status in self.by_name.values():
            if wiki_status.condition is not Condition.PAUSED:
                wiki_status.condition = condition
        if before is None or before.condition is not condition:
            log.error("%s", error.message)
            self._on_outage(self.trouble)
        else:
            log.info("still %s: %s", condition.value, error.message)

    def _service_answered(self, began_at: float) -> None:
        """Let every wiki go on, and ask soon for what happened meanwhile."""
        # what began before the failure says nothing of the service now
        if self.trouble is None or began_at < self.trouble.failed_at:
            return
        lost, self.trouble = self.trouble, None
        for wiki_status in self.by_name.values():
            if wiki_status.condition is lost.condition:
                wiki_status.condition = lost.before[wiki_status.name]
        self._quicken_unlisted()
        log.info("the service is back after %.0f s", self.clock() - lost.since)
        self.wake.set()
        self._on_outage(None)

    def _conditions(self) -> Mapping[str, Condition]:
        return {one.name: one.condition for one in self.by_name.values()}

    def _back_off_s(self, failures: int) -> float:
        """Full jitter below a limit that doubles, never less than the least."""
        limit = min(BACK_OFF_MAX_S, BACK_OFF_MIN_S * 2 ** min(failures, 16))
        return self._chance.uniform(BACK_OFF_MIN_S, limit)

    def _set(
        self,
        wiki_status: WikiStatus,
        condition: Condition,
        problem: str = "",
        hint: str = "",
    ) -> None:
        now_is = condition, problem, hint
        if (wiki_status.condition, wiki_status.problem, wiki_status.hint) != now_is:
            wiki_status.condition, wiki_status.problem, wiki_status.hint = now_is
            self._on_status(wiki_status)


def _full_scan_s(wiki_status: WikiStatus) -> float:
    """From one whole scan of a wiki to the next."""
    if not wiki_status.has_exact_hints:
        return FULL_SCAN_S
    rest_s = wiki_status.full_scan - wiki_status.moved_at
    return min(max(rest_s * FULL_SCAN_GROWTH, FULL_SCAN_S), FULL_SCAN_MAX_S)


def limit_s(error: RateLimited) -> float:
    """How long to wait after a limit: as it asks, but one try is made in time."""
    return min(error.retry_after_s or RATE_LIMIT_S, REFUSED_RETRY_S)


def _ignore(wiki_status: object) -> None:
    """Nobody listens."""
    del wiki_status

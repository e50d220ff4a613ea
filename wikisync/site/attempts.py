"""How long a build tries pages that go over a limit, and when it tries them again.

A page that takes too long costs its time for nothing, and one who may write pages may
write many.  So each page is first given a quick attempt, whose time grows with its
length and is several times what a sound page needs.  Then those that did not end
get the whole time, one after the other, as long as the budget of the site lasts; the
rest are shown as source at once.  So pages that end in a quick attempt are rendered
whatever lies beside them.

A breach is remembered until a time, and not for good: the machine may be faster then,
or have more memory.  Until then it costs nothing, and a build with nothing to do stays
one.
"""

import time
from collections.abc import Callable

from wikisync.markup.context import PAGE_SECONDS_MAX

BUDGET_SECONDS = 60.0
"""Of processor time, for the attempts of one build that end in a breach."""
QUICK_SECONDS = 1.0
QUICK_SECONDS_PER_CHARACTER = 20e-6
"""The slowest parsers (docutils, Asciidoctor in quickjs) take half of it or less."""
RESTART_SECONDS = 0.5
"""What an attempt costs besides: a new process for the next page."""
SOON_S = 3600.0
"""Until a page is tried again for which there was no time."""
LATER_S = 7 * 86_400.0
"""Until one is tried again that took all that it may of the processor's time."""


class Attempts:
    """The attempts of one build, or of a preview from one save to the next."""

    def __init__(
        self,
        budget_seconds: float = BUDGET_SECONDS,
        *,
        retries: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._budget = budget_seconds
        self._left = budget_seconds
        self._retries = retries
        self._clock = clock

    @property
    def has_time(self) -> bool:
        """Whether another page may take its full time."""
        return self._left > 0

    def renew(self) -> None:
        """Begin again with the whole budget."""
        self._left = self._budget

    def quick_seconds(self, text: str) -> float:
        """What the first attempt of a page may take."""
        seconds = QUICK_SECONDS + QUICK_SECONDS_PER_CHARACTER * len(text)
        return min(seconds, PAGE_SECONDS_MAX)

    def failed(self, seconds: float, *, is_slow: bool) -> float:
        """Count an attempt that took its seconds for nothing; when the next may be."""
        if seconds:
            self._left -= seconds + RESTART_SECONDS
        return self._clock() + (SOON_S if is_slow else LATER_S)

    def is_due(self, retry_at: float) -> bool:
        """Whether a page with a breach is to be tried again; 0: it has none."""
        if not retry_at:
            return False
        now = self._clock()
        # a clock that was set back must not put it off for years
        return self._retries or not now < retry_at <= now + LATER_S

    def refusal(self) -> str:
        """What is said of a page that gets no full attempt."""
        return (
            f"it is slow to parse, and the limit of {self._budget:g} seconds for slow"
            f" pages is used up"
        )

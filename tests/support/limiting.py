"""Limits on requests, as something in front of a service has them."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class TokenBucket:
    """So many requests a second on average, and some more at once."""

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    accepted: int = 0
    refused: int = 0
    _left: float = -1.0
    _at: float = 0.0

    def refuses(self) -> bool:
        """Count one more request; whether it is too much."""
        now = self.clock()
        if self._left < 0:
            self._left, self._at = self.burst, now
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        is_refused = self._left < 1
        if is_refused:
            self.refused += 1
        else:
            self._left -= 1
            self.accepted += 1
        return is_refused


@dataclass(slots=True)
class FixedWindow:
    """So many requests in each minute."""

    quota: int
    clock: Callable[[], float] = time.monotonic
    period_s: float = 60.0
    accepted: int = 0
    refused: int = 0
    _window: int = -1
    _used: int = 0

    @property
    def left_s(self) -> float:
        """Seconds to the end of the window."""
        return self.period_s - self.clock() % self.period_s

    @property
    def remaining(self) -> int:
        """Requests that are left in it."""
        return max(0, self.quota - self._used)

    def refuses(self) -> bool:
        """Count one more request; whether it is too much."""
        window = int(self.clock() // self.period_s)
        if window != self._window:
            self._window, self._used = window, 0
        self._used += 1
        is_refused = self._used > self.quota
        self.refused += is_refused
        self.accepted += not is_refused
        return is_refused

    def headers(self) -> dict[str, str]:
        """What an answer says of it, in seconds from now."""
        return {
            "ratelimit-limit": str(self.quota),
            "ratelimit-remaining": str(self.remaining),
            "ratelimit-reset": str(max(1, round(self.left_s))),
        }

"""Time that passes only when somebody sleeps."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class FakeTime:
    """A clock and its sleep."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now

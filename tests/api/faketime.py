"""Time that passes only when somebody sleeps."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from wikisync.api.address import ServiceAddress
from wikisync.api.budget import Budget, Sleep
from wikisync.api.settings import ClientSettings


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


def budget_at(
    clock: Callable[[], float],
    *,
    wall: Callable[[], float] | None = None,
    sleep: Sleep = asyncio.sleep,
    settings: ClientSettings | None = None,
) -> Budget:
    """The budget of a client on a clock that a test has."""
    address = ServiceAddress.parse("https://gitlab.example.com")
    return Budget(
        address,
        settings or ClientSettings(),
        clock=clock,
        wall=wall or clock,
        sleep=sleep,
        random=lambda: 0.5,
    )

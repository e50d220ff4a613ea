"""The cases by their names: one function each, which plays it."""

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.instances.stage import Play, Verdict, staged

Played = Callable[[Play], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One case."""

    part: str
    name: str
    play: Played
    is_short: bool
    """Played by ``make test`` as well."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one."""

    case: Case
    seen: str
    verdict: Verdict


CASES: list[Case] = []


def case(part: str, name: str, *, short: bool = False) -> Callable[[Played], Played]:
    """Have this function play a case."""

    def add(play: Played) -> Played:
        CASES.append(Case(part, name, play, short))
        return play

    return add


async def play(case: Case) -> Result:
    """Play a case on a stage of its own."""
    with tempfile.TemporaryDirectory(prefix="wikisync-") as scratch:
        async with staged(Path(scratch)) as stage:
            await case.play(stage)
            return Result(case, stage.seen, stage.verdict)

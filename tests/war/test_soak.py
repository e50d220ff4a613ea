"""The short form of ``make soak``, and proof that its verdict sees what it should."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.war.account import Account
from tests.war.prove_soak import LIMITS, LOOSE_MAX, Sample, Soak
from tests.war.prove_war import Outcome

FLAT = Sample(0, 80.0, 30.0, 20.0, 9.0, 60.0, 2.0, 5.0, 0.1, 0.0, 100.0, 3.0)


def soaked(samples: list[Sample], *odd: str) -> Soak:
    return Soak(Path("unused"), 1, 60.0, 2.0, samples=samples, odd=list(odd))


def growing(name: str, by: float) -> list[Sample]:
    """An hour in which one figure grows by so much in 1,000 edits."""
    return [
        replace(FLAT, edits=15 * n, **{name: getattr(FLAT, name) + by * 15 * n / 1000})
        for n in range(120)
    ]


def faults(soak: Soak, account: Account | None = None) -> list[str]:
    outcome = Outcome(1, Path("unused"), account=account or Account())
    return soak.faults(outcome)


@pytest.mark.slow
def test_a_short_soak_is_sound(tmp_path: Path) -> None:
    soak = Soak(tmp_path / "soak", 1, 0.15, 0.1, pages=12)

    outcome = soak.run()

    assert soak.faults(outcome) == []
    assert outcome.markers > 5
    assert outcome.kills["service"] >= 2
    assert outcome.account.in_sync
    assert (tmp_path / "soak" / "copy" / "site").exists()


@pytest.mark.parametrize("name", LIMITS)
def test_what_grows_with_the_edits_is_a_fault(name: str) -> None:
    slope = LIMITS[name] * 1.1

    found = faults(soaked(growing(name, slope)))

    assert found == [
        f"{name} grows by {slope:.1f} in 1,000 edits (limit {LIMITS[name]:g})"
    ]
    assert faults(soaked(growing(name, LIMITS[name] * 0.9))) == []


def test_a_few_samples_say_nothing_about_growth() -> None:
    assert faults(soaked(growing("watch", 1000.0)[:10])) == []


def test_everything_else_that_is_wrong_is_a_fault() -> None:
    crowded = soaked([FLAT, replace(FLAT, loose=LOOSE_MAX + 1.0)], "watch ended")
    account = Account(lost={"mk1x"}, different=["handbook/home"])

    assert faults(crowded, account) == [
        "lost: mk1x",
        "different: handbook/home",
        "watch ended",
        f"{LOOSE_MAX + 1} loose objects in a repository",
    ]

from __future__ import annotations

import pytest

from wikisync.model import Digest, Format, Slug
from wikisync.sync.plan import BasePage, DeleteLocal, Plan
from wikisync.sync.safety import brake_of, removals_max

D = Digest("d" * 64)


def tracked(count: int) -> dict[Slug, BasePage]:
    slugs = [Slug(f"page-{number:04d}") for number in range(count)]
    return {slug: BasePage(slug, Format.MARKDOWN, D, D) for slug in slugs}


def removing(count: int) -> Plan:
    return Plan.from_actions([DeleteLocal(slug, D) for slug in tracked(count)])


@pytest.mark.parametrize(
    ("pages", "removals"),
    [(0, 0), (1, 0), (2, 1), (4, 3), (30, 3), (40, 4), (1000, 100)],
)
def test_removals_that_pass_unasked(pages: int, removals: int) -> None:
    assert removals_max(pages) == removals


@pytest.mark.parametrize("pages", [1, 2, 4, 30, 40, 1000])
def test_brake_starts_at_one_more_than_passes(pages: int) -> None:
    base, limit = tracked(pages), removals_max(pages)
    assert brake_of(removing(limit), base) is None
    assert brake_of(removing(limit + 1), base) is not None


def test_brake_names_pages_and_counts() -> None:
    brake = brake_of(removing(12), tracked(12))
    assert brake is not None
    assert str(brake).startswith("12 of 12 pages (page-0000, page-0001, ")
    assert str(brake).endswith("page-0009 and 2 more)")


def test_file_that_was_never_agreed_on_pulls_no_brake() -> None:
    """What an interrupted pull left behind is ours, and not a page at risk."""
    stray = Plan.from_actions([DeleteLocal(Slug(f"stray-{n}"), D) for n in range(9)])
    assert brake_of(stray, tracked(4)) is None

"""The engine on real parts against every quirk of the service (``docs/service.md``).

Persons edit both sides, the quirk does its worst for some cycles, the service is
sound again, and everything comes to rest: no text lost, nothing deleted that nobody
deleted, both sides equal but for what is held.
"""

from pathlib import Path

import pytest

from tests.support.pair import Pair, paired
from tests.support.quirks import Quirk

PAGES = {
    "home": "# Home\n\nfirst\n\nsecond\n\nthird\n",
    "guide": "# Guide\n\nbegin\n\nend\n",
    "guide/first": "# First\n\nstep one\n",
    "guide/second": "# Second\n\nstep two\n",
    "notes": "---\ntitle: Notes\n---\n\n# Notes\n\nalpha\n\nomega\n",
    "old": "# Old\n\nto be deleted on the wiki\n",
    "older": "# Older\n\nto be deleted here\n",
}

HOOKS = {Quirk.HOOKS_WITHOUT_VERSION, Quirk.LOSES_HOOKS, Quirk.REPEATS_HOOKS}
ELSEWHERE = {Quirk.ANOTHER_PROJECT, Quirk.STRIPS_FRONT_MATTER}
"""One has a test below; a service that begins to strip front matter looks like one on
which somebody removed it (``test_stripping``)."""
LASTING = sorted(set(Quirk) - HOOKS - ELSEWHERE)


async def live(pair: Pair) -> None:
    """A day's work on both sides."""
    pair.save("home", PAGES["home"].replace("first", "first, edited here"))
    await pair.edit("home", PAGES["home"].replace("third", "third, edited there"))
    pair.save("notes", PAGES["notes"].replace("alpha", "alpha, edited here"))
    await pair.edit("guide", PAGES["guide"].replace("end", "end, edited there"))
    pair.save("fresh", "# Fresh\n\nmade here\n")
    await pair.edit("strange", "# Strange\n\nmade there\n")
    (pair.folder / "guide" / "first.md").rename(pair.folder / "guide" / "start.md")
    await pair.erase("old")
    pair.remove("older")


@pytest.mark.parametrize("quirk", LASTING)
async def test_nothing_is_lost_under_a_quirk(quirk: Quirk, tmp_path: Path) -> None:
    async with paired(tmp_path, PAGES) as pair:
        await pair.rest()
        await live(pair)
        await pair.suffer([quirk], 5)
        pair.approve_all()
        result = await pair.rest()
        here, there = pair.texts(), await pair.wiki_texts()
    held = {str(one.slug) for one in result.held}
    assert (
        not {
            slug
            for slug in here.keys() | there.keys()
            if here.get(slug) != there.get(slug)
        }
        - held
    )
    both = "\n".join([*here.values(), *there.values()])
    for said in (
        "first, edited here",
        "third, edited there",
        "alpha, edited here",
        "end, edited there",
        "made here",
        "made there",
        "step one",
        "step two",
        "title: Notes",
    ):
        assert said in both, (said, pair.problems)
    assert "guide/second" in here
    assert "guide/second" in there


@pytest.mark.parametrize(
    "quirk", [Quirk.EMPTY_LIST, Quirk.HALF_LIST, Quirk.NOT_FOUND, Quirk.SIGN_IN_PAGE]
)
async def test_a_broken_service_deletes_no_page_here(
    quirk: Quirk, tmp_path: Path
) -> None:
    """However long it lasts."""
    async with paired(tmp_path, PAGES) as pair:
        await pair.rest()
        await pair.suffer([quirk], 8)
        assert pair.texts() == PAGES


@pytest.mark.parametrize("quirk", [Quirk.EMPTY_LIST, Quirk.HALF_LIST, Quirk.NOT_FOUND])
async def test_a_rename_that_waits_for_a_sound_service_stays_one(
    quirk: Quirk, tmp_path: Path
) -> None:
    """No page under both names, no file that is for ever called otherwise."""
    async with paired(tmp_path, PAGES) as pair:
        await pair.rest()
        (pair.folder / "guide").rename(pair.folder / "manual")
        await pair.suffer([quirk], 3)
        await pair.rest()
        moved = {name.replace("guide/", "manual/"): PAGES[name] for name in PAGES}
        assert pair.texts() == moved
        assert await pair.wiki_texts() == moved

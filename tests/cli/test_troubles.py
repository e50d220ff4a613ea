"""One page with a lasting error: what waits for it, and what a person reads of it."""

from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.workspaces import FILES, PAGES, Cloned

BLOCKED = "plans/2027"
"""A page of the wiki that cannot be written here."""
WAITS = (
    f"1 page: its deletion waits until the problems with {BLOCKED} are fixed (guide)"
)


@pytest.fixture
async def blocked(cloned: Cloned) -> Cloned:
    """A file where a page needs a folder, and a page that is surely removed."""
    (cloned.folder / "plans").write_text("a list\n")
    await cloned.remove("guide")
    await cloned.run("sync")
    await cloned.run("sync")
    cloned.age_sightings(100)
    await cloned.edit({BLOCKED: f"{PAGES['guide']}and more\n"})
    return cloned


async def test_removal_waits_as_sync_and_status_say(blocked: Cloned) -> None:
    """It said that pages change while they are carried over, and they did not."""
    ran = await blocked.run("sync")
    ran.ended(3, f"warning: handbook/{BLOCKED}: cannot open plans", WAITS)
    assert "pages change" not in ran.err
    assert ran.err.count("guide") == 1
    assert "guide.md" in blocked.files()
    ran = await blocked.run("sync", "--dry-run")
    ran.ended(3, WAITS)
    assert "remove  guide" not in ran.out
    # nothing that the folder tells says that the page came meanwhile
    ran = await blocked.run("status", "--offline")
    assert ran.code == 3
    assert f"  {BLOCKED}: cannot open plans" in ran.out
    ran = await blocked.run("status")
    assert ran.code == 3
    assert f"  {BLOCKED}: new on the wiki; the next sync tries again\n" in ran.out
    assert "  guide: its deletion waits until" in ran.out
    assert f"  {BLOCKED}: cannot open plans" in ran.out
    assert f"  {WAITS}" in ran.out
    # a sync of another page forgets no error
    blocked.write("home.md", "edited\n")
    await blocked.run("sync", "handbook/home.md")
    ran = await blocked.run("status")
    assert (ran.code, WAITS in ran.out) == (3, True)


async def test_removal_follows_when_the_error_is_mended(blocked: Cloned) -> None:
    await blocked.run("sync")
    (blocked.folder / "plans").unlink()
    assert (await blocked.run("sync")).code == 0
    assert blocked.files().keys() == (FILES.keys() - {"guide.md"}) | {f"{BLOCKED}.md"}
    assert (await blocked.run("status")).code == 0


async def test_error_that_went_away_is_over_for_status(blocked: Cloned) -> None:
    """Nobody has to sync first to learn that nothing is left to mend."""
    await blocked.run("sync")
    await blocked.remove(BLOCKED)
    ran = await blocked.run("status")
    assert ran.code == 0
    assert BLOCKED not in ran.out
    assert "guide: deleted on the wiki; the next sync moves it to the trash" in ran.out


async def test_page_that_waits_keeps_no_removal_back(cloned: Cloned) -> None:
    """Its conflict file is half settled: that says nothing of any other page."""
    cloned.write("home.md", "mine\n")
    await cloned.edit({"home": "theirs\n"})
    await cloned.remove("guide")
    await cloned.run("sync")
    await cloned.run("sync")
    cloned.age_sightings(100)
    note, _, blocks = cloned.read("home.conflict.md").partition("\n")
    cloned.write("home.conflict.md", f"{note}\n{blocks.partition('%%%%')[2]}")
    (await cloned.run("sync")).ended(3, "home: its conflict file is not resolved")
    assert "guide.md" not in cloned.files()


async def test_page_that_is_listed_wrongly_stops_no_other(cloned: Cloned) -> None:
    """The whole wiki stopped, and the page was named by its place in the answer."""
    cloned.service.quirks = {Quirk.MALFORMED_ENTRIES}
    await cloned.edit({"home": "theirs\n"})
    cloned.write("team/rules.md", "be kinder\n")
    ran = await cloned.run("sync")
    ran.ended(3, "guide: the service lists it wrongly: expected `str`, got `null`")
    assert "entry 5 of the list of pages (Nowhere): the service lists" in ran.err
    assert cloned.read("home.md") == "theirs\n"
    assert (await cloned.wiki())["team/rules.md"] == "be kinder\n"


async def test_page_that_is_listed_wrongly_is_not_gone(cloned: Cloned) -> None:
    await cloned.remove("team/people")
    cloned.service.quirks = {Quirk.MALFORMED_ENTRIES}
    await cloned.run("sync")
    await cloned.sync_later()
    assert cloned.files() == FILES
    assert (await cloned.run("status")).code == 3


async def test_init_knows_a_wiki_that_lists_a_page_wrongly(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", PAGES)
    service.quirks = {Quirk.MALFORMED_ENTRIES}
    root, project = tmp_path / "wikis", ("--project", "docs/handbook")
    ran = await run("init", root, "--url", service.url, *project)
    assert ran.code == 0
    assert "5 pages" in ran.out + ran.err

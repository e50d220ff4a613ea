from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import Cloned, clone_handbook


@pytest.fixture
async def cloned(cloned: Cloned) -> Cloned:
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"home": "theirs\n"})
    await cloned.run("sync")
    return cloned


CLONED = "handbook: 4 pages came from the wiki"
UPDATED = "handbook: update home"


def told(out: str) -> list[str]:
    return [line.partition("  ")[2] for line in out.splitlines()]


async def test_new_page_has_no_log_yet(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    ran = await cloned.run("log", "new")
    assert ran.code == 0
    assert "nothing has been done yet" in ran.err


async def test_page_that_was_deleted_keeps_its_log(cloned: Cloned) -> None:
    """One sync waits until it is certain: nearly all of ten seconds are over."""
    (cloned.folder / "guide.md").unlink()
    await cloned.run("sync")
    cloned.age_sightings(9)
    await cloned.run("sync", "--wait")
    ran = await cloned.run("log", "guide")
    assert told(ran.out)[0] == "handbook: remove guide from the wiki"


async def test_log_tells_both_ways_the_newest_first(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    await cloned.run("sync")
    ran = await cloned.run("log")
    assert ran.code == 0
    assert told(ran.out) == [
        "handbook: create new on the wiki",
        "handbook: update guide on the wiki",
        "handbook: update home",
        CLONED,
    ]
    page = await cloned.run("log", cloned.folder / "home.md")
    assert told(page.out) == ["handbook: update home"]
    newest = await cloned.run("log", "handbook", "--limit", "1")
    assert told(newest.out) == ["handbook: create new on the wiki"]


async def test_held_page_is_logged_once_however_often_seen(cloned: Cloned) -> None:
    cloned.write("home.md", "mine\n")
    await cloned.edit({"home": "theirs again\n"})
    await cloned.run("sync")
    await cloned.run("sync")
    logged = told((await cloned.run("log", "home")).out)
    assert logged == ["handbook: home: edited here and on the wiki", UPDATED]


async def test_json_is_for_programs(cloned: Cloned) -> None:
    ran = await cloned.run("log", "--json")
    assert [(one["page"], one["level"]) for one in ran.json] == [
        ("guide", "info"),
        ("home", "info"),
        ("", "info"),
    ]


async def test_a_clone_is_one_line(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    other = await clone_handbook(service, run, tmp_path / "other")
    assert told((await other.run("log")).out) == [CLONED]


async def test_revisions_of_a_page_come_from_the_wiki(cloned: Cloned) -> None:
    ran = await cloned.run("log", "home", "--revisions")
    assert ran.code == 0, ran.err
    rows = [line.split("  ") for line in ran.out.splitlines()]
    assert [row[2] for row in rows] == ["Tester: edited +1 -5", "Tester: created"]
    asked = await cloned.run("log", "home", "--revisions", "--json", "--limit", "1")
    (row,) = asked.json
    assert (row["kind"], row["commit"][:8]) == ("edited", rows[0][0])


async def test_revisions_are_those_of_one_page(cloned: Cloned) -> None:
    for words in ((), ("handbook",)):
        ran = await cloned.run("log", *words, "--revisions")
        assert ran.code == 2
        assert "--revisions needs the name of a page" in ran.err
    ran = await cloned.run("log", "gide", "--revisions")
    assert "the history of the wiki has no page handbook/gide" in ran.err

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.workspaces import Cloned


@pytest.fixture
async def cloned(cloned: Cloned) -> Cloned:
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"home": "theirs\n"})
    await cloned.run("sync")
    return cloned


@pytest.fixture
def hours_as_minutes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The offset +01:00 without its colon: the system takes it for a hundred hours."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC+0100")
        time.tzset()
        yield
    time.tzset()


CLONED = "handbook: 4 pages came from the wiki"
UPDATED = "handbook: update home"


def told(out: str) -> list[str]:
    return [line.partition("  ")[2] for line in out.splitlines()]


async def test_new_page_has_no_log_yet(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    (await cloned.run("log", "new")).ended(0, "nothing has been done yet")


async def test_page_that_was_deleted_keeps_its_log(cloned: Cloned) -> None:
    """One sync waits until it is certain: nearly all of ten seconds are over."""
    (cloned.folder / "guide.md").unlink()
    await cloned.run("sync")
    cloned.age_sightings(9)
    await cloned.run("sync", "--wait")
    ran = await cloned.run("log", "guide")
    assert told(ran.out)[0] == "handbook: remove guide from the wiki"


async def test_log_tells_both_ways_the_newest_first(cloned: Cloned) -> None:
    """A clone is one line."""
    cloned.write("new.md", "new\n")
    await cloned.run("sync")
    ran = await cloned.run("log")
    assert ran.code == 0
    edits = ["handbook: update guide on the wiki", UPDATED, CLONED]
    assert told(ran.out) == ["handbook: create new on the wiki", *edits]
    page = await cloned.run("log", cloned.folder / "home.md")
    assert told(page.out) == [UPDATED]
    newest = await cloned.run("log", "handbook", "--limit", "1")
    assert told(newest.out) == ["handbook: create new on the wiki"]
    found = (await cloned.run("log", "--json")).json
    assert [one["page"] for one in found] == ["new", "guide", "home", ""]
    assert {one["level"] for one in found} == {"info"}


async def test_held_page_is_logged_once_however_often_seen(cloned: Cloned) -> None:
    cloned.write("home.md", "mine\n")
    await cloned.edit({"home": "theirs again\n"})
    await cloned.run("sync")
    await cloned.run("sync")
    logged = told((await cloned.run("log", "home")).out)
    assert logged == ["handbook: home: edited here and on the wiki", UPDATED]


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
        ran.ended(2, "--revisions needs the name of a page")
    ran = await cloned.run("log", "gide", "--revisions")
    assert "the history of the wiki has no page handbook/gide" in ran.err


@pytest.mark.usefixtures("hours_as_minutes")
async def test_clock_of_a_misspelt_zone_is_shown_as_the_system_shows_it(
    cloned: Cloned,
) -> None:
    cloned.write("guide.md", "mine again\n")
    await cloned.edit({"guide": "theirs again\n"})

    synced = await cloned.run("sync")
    ran = await cloned.run("log")
    restored = await cloned.run("restore", "--all", "--since", "00:00", "--dry-run")

    synced.ended(3, "conflict")
    assert (ran.code, restored.code) == (0, 0), restored.told
    assert (cloned.folder / "guide.conflict.md").exists()
    shown = datetime.strptime(ran.out[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    assert datetime.now(UTC) - shown > timedelta(hours=23)

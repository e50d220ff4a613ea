"""``wikisync undo``: the last sync taken back, against the embedded service."""

import asyncio
import os
import signal
import sys

import pytest

from tests.support.quirks import Quirk
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned
from wikisync.core.model import Format, Slug
from wikisync.folder.workspace import locked

EDITED = {"guide.md": "edited here\n", "team/people.md": "Ann, Bo\n"}


@pytest.fixture
async def synced(cloned: Cloned) -> Cloned:
    """A sync carried an edit each way, and a new page."""
    await cloned.run("sync")
    cloned.write("guide.md", EDITED["guide.md"])
    cloned.write("new.md", "new\n")
    await cloned.edit({"team/people": EDITED["team/people.md"]})
    assert (await cloned.run("sync")).code == 0
    return cloned


AFTER = {**FILES, **EDITED, "new.md": "new\n"}


async def both(cloned: Cloned) -> dict[str, str]:
    """What both sides hold, which must be the same."""
    assert await cloned.wiki() == cloned.files()
    return cloned.files()


async def test_without_a_yes_it_says_what_it_would_do(synced: Cloned) -> None:
    ran = await synced.run("undo")
    ran.ended(0, "handbook: the sync of 20", "changed 3 pages")
    assert "nothing was changed; run it again with --yes to make the change" in ran.err
    said = (await synced.run("undo", "--json")).json
    assert (said["wiki"], said["is_done"], said["left"]) == ("handbook", False, [])
    steps = {(one["page"], one["what"]) for one in said["pages"]}
    assert steps == {("guide", "update"), ("team/people", "update"), ("new", "remove")}
    lines = {f"{what}  {page} here and on the wiki" for page, what in steps}
    assert set(ran.out.splitlines()) == lines
    assert await both(synced) == AFTER
    assert (await synced.run("undo", "--json", "-y")).json["is_done"]
    assert await both(synced) == FILES


async def test_with_a_yes_both_sides_are_as_before(synced: Cloned) -> None:
    ran = await synced.run("undo", "handbook", "--yes")
    last = ran.out.splitlines()[-1]
    assert (ran.code, last) == (0, "handbook: 4 pages, 2 pushed, 1 removed")
    assert await both(synced) == FILES
    ran = await synced.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, nothing to do\n")
    # and an undo of the undo does it again
    assert (await synced.run("undo", "-y")).code == 0
    assert await both(synced) == AFTER
    assert (await synced.run("undo", "-y")).code == 0
    assert await both(synced) == FILES
    # the texts that were taken back can be restored
    listed = await synced.run("restore", "handbook/new.md", "--list")
    assert "new" in listed.out.splitlines()[1]
    listed = await synced.run("restore", "handbook/guide.md", "--list")
    assert "edited here" in listed.out


async def test_a_sync_in_one_direction_is_taken_back_as_well(cloned: Cloned) -> None:
    """A clone goes in the same direction, and is no sync to undo."""
    for words in (("undo",), ("undo", "--yes")):
        ran = await cloned.run(*words)
        assert (ran.code, ran.out) == (0, "")
        assert "there is no sync to undo" in ran.err
    await cloned.run("sync")
    await cloned.edit({"team/people": EDITED["team/people.md"]})
    assert (await cloned.run("sync", "--pull")).code == 0
    assert cloned.files()["team/people.md"] == EDITED["team/people.md"]
    assert (await cloned.run("undo", "-y")).code == 0
    assert await both(cloned) == FILES


async def test_a_save_like_what_was_taken_back_is_held(synced: Cloned) -> None:
    """It may be of a window that still shows it; nobody edited the wiki."""
    await synced.run("undo", "handbook", "--yes")
    synced.write("guide.md", EDITED["guide.md"] + "and more\n")
    ran = await synced.run("sync")
    ran.ended(3, "an older text was edited here, in lines that changed since")
    assert "guide.conflict.md" in synced.files()
    await synced.run("resolve", "guide", "--mine")
    await synced.run("sync")
    assert (await both(synced))["guide.md"] == EDITED["guide.md"] + "and more\n"


async def test_what_changed_since_is_left_alone_and_named(synced: Cloned) -> None:
    synced.write("guide.md", "edited since\n")
    await synced.edit({"new": "new, and more\n"})
    ran = await synced.run("undo", "-y")
    ran.ended(3, "guide: it is not undone: it was edited here since")
    assert "new: it is not undone: it was changed on the wiki since" in ran.err
    assert f"wikisync restore {synced.folder}/guide --list" in ran.err
    await synced.run("sync")
    later = {"guide.md": "edited since\n", "new.md": "new, and more\n"}
    assert await both(synced) == FILES | later


async def test_a_page_that_is_left_alone_is_named_once(cloned: Cloned) -> None:
    """Also where the undo takes two cycles, and the first pulls the wiki's edit."""
    await cloned.run("sync")
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    cloned.write("manual.md", "a guide\n\nmore\n")
    cloned.write("new.md", "new\n")
    await cloned.run("sync")
    await cloned.edit({"new": "new, and more\n"})
    ran = await cloned.run("undo", "-y")
    assert ran.err.count("new: it is not undone") == 1
    assert "new: it is not undone: it was changed on the wiki since" in ran.err


async def test_a_renamed_page_gets_its_name_back(cloned: Cloned) -> None:
    await cloned.run("sync")
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    assert (await cloned.run("sync")).code == 0
    ran = await cloned.run("undo", "-y")
    assert ran.code == 0
    assert "rename  manual -> guide here and on the wiki" in ran.out
    assert cloned.files() == FILES
    wiki = await cloned.wiki()
    assert {name: wiki.get(name) for name in FILES} == FILES
    assert "manual.md" not in wiki


async def test_a_killed_sync_is_not_undone_with_the_next(cloned: Cloned) -> None:
    await cloned.run("sync")
    await cloned.edit({"team/people": "from a colleague\n"})
    await cloned.run("sync")
    with cloned.state() as state:
        known = state.wiki(HANDBOOK)
        known.begin_sync(1.0)
        known.note_replaced_there(Slug("home"), "older\n", Format.MARKDOWN)
    cloned.write("guide.md", "edited\n")
    await cloned.run("sync")
    ran = await cloned.run("undo")
    assert "update  guide here and on the wiki" in ran.out.splitlines()
    assert "changed 1 page" in ran.err


async def test_a_page_with_a_picture_comes_back_with_it(cloned: Cloned) -> None:
    await cloned.run("sync")
    (cloned.folder / "p.png").write_bytes(b"\x89PNG one")
    cloned.write("guide.md", "![p](p.png)\n")
    assert (await cloned.run("sync")).code == 0
    there = (await cloned.wiki())["guide.md"]
    for _ in range(2):
        assert (await cloned.run("undo", "-y")).code == 0
    assert cloned.read("guide.md") == "![p](p.png)\n"
    assert (await cloned.wiki())["guide.md"] == there

    # of a sync that sent a picture anew its pages are named, and the one before stays
    (cloned.folder / "p.png").write_bytes(b"\x89PNG two")
    assert (await cloned.run("sync")).code == 0
    before = await cloned.wiki()
    ran = await cloned.run("undo", "-y")
    assert "handbook/guide: it is not undone: only files" in ran.err
    assert cloned.read("guide.md") == "![p](p.png)\n"
    assert await cloned.wiki() == before


async def test_unknown_wiki_and_paused_wiki_are_refused(synced: Cloned) -> None:
    ran = await synced.run("undo", "nowhere", "-y")
    assert (ran.code, "its wikis are: handbook" in ran.err) == (2, True)
    await synced.run("pause", "handbook")
    ran = await synced.run("undo", "-y")
    assert (ran.code, "wikisync resume handbook" in ran.err) == (2, True)
    assert await both(synced) == AFTER


async def test_of_two_wikis_the_one_that_changed_last_is_meant(cloned: Cloned) -> None:
    notes = await cloned.add_wiki("notes", {"home": "notes\n"})
    await cloned.run("sync")
    (notes / "home.md").write_text("edited\n")
    await cloned.run("sync")
    cloned.write("guide.md", "edited\n")
    await cloned.run("sync")
    assert "handbook: the sync of" in (await cloned.run("undo")).err
    assert (await cloned.run("undo", "notes", "-y")).code == 0
    assert (notes / "home.md").read_text() == "notes\n"
    assert cloned.read("guide.md") == "edited\n"


async def test_a_running_watch_is_left_to_carry_it_to_the_wiki(synced: Cloned) -> None:
    with locked(synced.root / ".wikisync", "it"):
        ran = await synced.run("undo", "-y")
    ran.ended(0, "the running wikisync carries it to the wiki (process")
    assert (synced.files(), await synced.wiki()) == (FILES, AFTER)
    assert (await synced.run("sync")).code == 0
    assert await both(synced) == FILES


async def test_a_running_sync_is_not_undone(synced: Cloned) -> None:
    """Only half of it could be undone: its other pages are not recorded yet."""
    with locked(synced.root / ".wikisync", "it"), synced.state() as state:
        known = state.wiki(HANDBOOK)
        last = known.last_sync()
        assert last is not None
        known.begin_sync(last.at)
        known.note_replaced_there(Slug("home"), "older\n", Format.MARKDOWN)
        ran = await synced.run("undo", "-y")
        known.end_sync()
        assert (ran.code, synced.files()) == (1, AFTER)
        assert (
            "error: a sync of handbook is running\nhint: when it has ended" in ran.err
        )
        ran = await synced.run("undo", "-y")
        assert (ran.code, synced.files()) == (0, {**AFTER, "home.md": "older\n"})


async def test_follow_the_wiki_and_think_again(cloned: Cloned) -> None:
    """An undo of ``approve`` puts back what the wiki took."""
    cloned.service.quirks = {Quirk.NO_GIT}
    await cloned.run("sync")
    newer = {slug: f"{text}work of a day\n" for slug, text in PAGES.items()}
    for slug, text in newer.items():
        cloned.write(f"{slug}.md", text)
    await cloned.run("sync")
    await cloned.edit(PAGES)
    assert (await cloned.run("sync")).code == 4
    await cloned.run("approve", "handbook:1")
    assert await both(cloned) == FILES
    assert (await cloned.run("undo", "-y")).code == 0
    assert await both(cloned) == {f"{slug}.md": text for slug, text in newer.items()}


KILLS = [
    ("wikisync.api.wikis", "Wiki", "edit_page", 1),
    ("wikisync.api.wikis", "Wiki", "delete_page", 2),
    ("wikisync.sync.base.history", "History", "settle", 2),
]
"""Where the process ends, and how often it got there before."""


@pytest.mark.parametrize("place", KILLS, ids=lambda place: f"{place[2]}-{place[3]}")
async def test_killed_it_is_finished_by_the_next_sync(
    synced: Cloned, place: tuple[str, str, str, int]
) -> None:
    many = {f"page{number}": f"{number}\n" for number in range(5)}
    before = await both(synced)
    await synced.edit({**many, "guide": "edited again\n"})
    synced.write("home.md", "edited, too\n")
    assert (await synced.run("sync")).code == 0
    assert await killed(synced, *place) == -signal.SIGKILL
    assert (await synced.run("sync")).code == 0
    assert await both(synced) == before


async def test_killed_before_it_syncs_the_next_undo_finishes_it(synced: Cloned) -> None:
    # the preview before it wrote to no file
    place = ("wikisync.folder.pages", "PageFolder", "delete", 1)
    assert await killed(synced, *place) == -signal.SIGKILL
    assert synced.files() != AFTER
    assert (await synced.run("undo", "-y")).code == 0
    assert await both(synced) == FILES


async def killed(
    cloned: Cloned, module: str, owner: str, name: str, times: int
) -> int | None:
    """Run the command in a process that ends at a call; its exit code."""
    code = f"""
import importlib, os, signal, sys
owner = importlib.import_module({module!r}).{owner}
before, left = owner.{name}, {times}
def call(*words, **more):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(*words, **more)
owner.{name} = call
from wikisync.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, "undo", "-y", "-C", str(cloned.root)),
        env={**os.environ, "WIKISYNC_TOKEN": cloned.service.token},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()

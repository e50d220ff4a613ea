"""A wiki's folder that was replaced by another one, such as an older copy of it.

What it lacks nobody deleted: the first cycle that meets it removes nothing.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.workspaces import FILES, Cloned

TOLD = "is not the folder of the last sync: it is accepted as it is"


def moved_in(folder: Path) -> None:
    """A copy of the folder gets its name."""
    shutil.copytree(folder, folder.parent / "copy")
    folder.rename(folder.parent.parent / "away")
    (folder.parent / "copy").rename(folder)


def swap(one: Path, other: Path, aside: Path) -> None:
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def copied_back(folder: Path) -> None:
    """The folder is removed, and its backup is copied to where it was."""
    shutil.copytree(folder, folder.parent.parent / "backup")
    shutil.rmtree(folder)
    shutil.copytree(folder.parent.parent / "backup", folder)


def older(cloned: Cloned, replace: Callable[[Path], None] = moved_in) -> None:
    """Another folder, in which a page is missing."""
    replace(cloned.folder)
    (cloned.folder / "guide.md").unlink()


@pytest.mark.parametrize("replace", [moved_in, copied_back])
async def test_what_another_folder_lacks_comes_back_and_is_told_once(
    cloned: Cloned, replace: Callable[[Path], None]
) -> None:
    older(cloned, replace)
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pulled\n")
    assert ran.err == (
        f"warning: {cloned.folder} {TOLD}, nothing counts as deleted this time,"
        " and pages that differ are held\n"
    )
    assert cloned.files() == await cloned.wiki() == FILES
    assert (await cloned.run("sync")).err == ""


async def test_an_older_text_or_picture_of_another_folder_waits(cloned: Cloned) -> None:
    """An edit that was sent since the copy was made would be undone on the wiki."""
    cloned.write("home.md", "![way](way.png)\n")
    cloned.write("way.png", "older")
    await cloned.run("sync")
    backup = shutil.copytree(cloned.folder, cloned.root.parent / "backup")
    cloned.write("guide.md", "written since\n")
    cloned.write("way.png", "newer")
    await cloned.run("sync")
    before = await cloned.wiki()
    shutil.rmtree(cloned.folder)
    backup.rename(cloned.folder)
    told = (await cloned.run("status", "--offline")).out
    assert "guide: created here and on the wiki with different texts" in told
    dry = (await cloned.run("sync", "--dry-run")).out
    assert ("hold    guide" in dry, "hold    home" in dry) == (True, True)
    assert [(await cloned.run("sync")).code for _ in range(2)] == [3, 3]
    assert await cloned.wiki() == before
    assert cloned.read("guide.md") == FILES["guide.md"]
    assert "written since" in cloned.read("guide.conflict.md")
    shown = cloned.read("home.conflict.md")
    assert ("(way.png)" in shown, "(uploads/" in shown) == (True, True)


async def test_absences_count_again_once_the_folder_is_known(cloned: Cloned) -> None:
    older(cloned)
    await cloned.run("sync")
    (cloned.folder / "guide.md").unlink()
    await cloned.sync_later()
    assert "guide.md" not in await cloned.wiki()


async def test_saves_do_not_make_another_folder_of_it(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    (cloned.folder / "guide.md").unlink()
    assert TOLD not in (await cloned.run("sync")).err
    assert not (cloned.folder / "guide.md").exists()


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("sync --dry-run", "create  guide"),
        ("status", "  guide: new on the wiki; the next sync downloads it"),
        ("diff", "-a guide"),
    ],
)
async def test_who_only_scans_sees_what_a_sync_does_and_remembers_nothing(
    cloned: Cloned, command: str, line: str
) -> None:
    older(cloned)
    assert line in (await cloned.run(*command.split())).out.splitlines()
    assert TOLD in (await cloned.run("sync")).err
    assert cloned.files() == FILES


async def test_a_cycle_that_failed_has_not_met_the_folder(cloned: Cloned) -> None:
    older(cloned)
    (cloned.folder / ".wikisyncignore").write_bytes(b"\xff")
    failed = await cloned.run("sync")
    assert failed.code == 1
    assert TOLD not in failed.err
    (cloned.folder / ".wikisyncignore").unlink()
    assert TOLD in (await cloned.run("sync")).err
    assert cloned.files() == FILES


async def test_status_and_doctor_tell_it_without_the_service(cloned: Cloned) -> None:
    older(cloned)
    status = ("status", "--offline")
    told = (await cloned.run(*status)).out
    assert "its folder is not the folder of the last sync" in told
    assert "guide: new on the wiki; the next sync downloads it" in told
    as_json = await cloned.run(*status, "--json")
    assert as_json.json["wikis"][0]["has_other_folder"] is True
    ran = await cloned.run("doctor", "--offline")
    assert ran.code == 3
    assert "look   handbook: its folder is not the folder of the last" in ran.out
    assert "restore the right one before the next sync" in ran.out
    await cloned.run("sync")
    assert "not the folder of the last" not in (await cloned.run(*status)).out
    assert (await cloned.run("doctor", "--offline")).code == 0


async def test_folders_with_each_others_names_are_refused(cloned: Cloned) -> None:
    """The pages of one would become pages of the other, which others may read."""
    other = await cloned.add_wiki("other", {"secret": "for few\n"})
    await cloned.run("sync")
    aside = cloned.root / "aside"
    swap(cloned.folder, other, aside)
    ran = await cloned.run("sync")
    assert ran.code == 4
    told = f"{other} is the folder that project docs/handbook was synced with"
    assert told in ran.err
    assert (await cloned.run("status")).code == 4
    assert await cloned.wiki() == FILES
    swap(cloned.folder, other, aside)
    assert (await cloned.run("sync")).code == 0

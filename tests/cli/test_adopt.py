import shutil
from pathlib import Path

from tests.support.workspaces import FILES, Cloned


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


async def test_emptied_folder_stops_and_gets_its_pages_again(cloned: Cloned) -> None:
    empty(cloned.folder)
    ran = await cloned.run("sync")
    assert ran.code == 4
    assert "is empty but had 4 pages; nothing was changed" in ran.err
    assert "wikisync adopt" in ran.err
    assert "is empty" in cloned.attention
    assert await cloned.wiki() == FILES
    assert (await cloned.run("adopt")).code == 0
    assert (await cloned.run("sync")).code == 0
    assert cloned.files() == await cloned.wiki() == FILES


async def test_lost_marker_halts_and_is_made_again(cloned: Cloned) -> None:
    (cloned.root / ".wikisync/folder-id").unlink()
    (cloned.folder / "guide.md").unlink()
    ran = await cloned.run("sync")
    assert ran.code == 4
    assert "folder-id is missing; nothing was changed" in ran.err
    assert "wikisync adopt" in ran.err
    assert not (cloned.root / ".wikisync/folder-id").exists()
    ran = await cloned.run("adopt")
    assert ran.code == 0
    assert "the next sync deletes nothing" in ran.err
    assert (await cloned.run("sync")).code == 0
    assert cloned.files() == await cloned.wiki() == FILES


async def test_dry_run_after_adopt_tells_what_a_sync_does(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").unlink()
    await cloned.remove("home")
    await cloned.run("adopt")
    dry = await cloned.run("sync", "--dry-run")
    assert dry.out == "create  guide\ncreate  home on the wiki\n"
    await cloned.run("sync")
    assert cloned.files() == await cloned.wiki() == FILES


async def test_what_was_adopted_counts_from_then_on(cloned: Cloned) -> None:
    await cloned.run("adopt")
    await cloned.run("sync")
    (cloned.folder / "guide.md").unlink()
    await cloned.sync_later()
    assert "guide.md" not in await cloned.wiki()


async def test_adopting_waits_for_a_wiki_that_is_paused(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").unlink()
    await cloned.run("adopt")
    await cloned.run("pause")
    await cloned.run("sync")
    await cloned.run("resume")
    await cloned.run("sync")
    assert cloned.files() == FILES


async def test_resume_of_what_was_not_paused_is_told(cloned: Cloned) -> None:
    ran = await cloned.run("resume", "docs/handbook")
    assert (ran.code, ran.err) == (0, "handbook: was not paused\n")

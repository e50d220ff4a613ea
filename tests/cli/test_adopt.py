import shutil
from pathlib import Path

from tests.support.workspaces import FILES, Cloned


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


async def test_emptied_folder_stops_and_gets_its_pages_again(cloned: Cloned) -> None:
    empty(cloned.folder)
    ran = await cloned.run("sync")
    ran.ended(4, "is empty but had 4 pages; nothing was changed", "wikisync adopt")
    assert "is empty" in cloned.attention
    assert await cloned.wiki() == FILES
    assert (await cloned.run("adopt")).code == 0
    assert (await cloned.run("sync")).code == 0
    assert cloned.files() == await cloned.wiki() == FILES


async def test_lost_marker_halts_and_is_made_again(cloned: Cloned) -> None:
    (cloned.root / ".wikisync/folder-id").unlink()
    (cloned.folder / "guide.md").unlink()
    ran = await cloned.run("sync")
    ran.ended(4, "folder-id is missing; nothing was changed", "wikisync adopt")
    assert not (cloned.root / ".wikisync/folder-id").exists()
    (await cloned.run("adopt")).ended(0, "the next sync deletes nothing")
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
    for words in ("adopt", "pause", "sync", "resume", "sync"):
        await cloned.run(words)
    assert cloned.files() == FILES
    ran = await cloned.run("resume", "docs/handbook")
    assert (ran.code, ran.err) == (0, "handbook: was not paused\n")

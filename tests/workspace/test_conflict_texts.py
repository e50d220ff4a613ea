"""The texts of conflicts as files: they follow the conflicts and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.watching import OWNER, watching
from tests.support.workspaces import HANDBOOK, PAGES, Cloned, clone_handbook
from wikisync.errors import FolderError
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.conflict_texts import conflict_texts, show_conflict_texts
from wikisync.workspace.opening import open_workspace


@pytest.fixture
async def cloned(service: EmbeddedService, run: Run, tmp_path: Path) -> Cloned:
    """``guide`` and ``team/people`` are held."""
    made = await clone_handbook(service, run, tmp_path / "wikis")
    for slug in ("guide", "team/people"):
        made.write(f"{slug}.md", "mine\n")
    await made.edit({"guide": "theirs\n", "team/people": "theirs\n"})
    await made.run("sync")
    return made


def show(cloned: Cloned) -> dict[str, str]:
    """Bring the files up to date; what they say, by folder and name."""
    private = cloned.root / ".wikisync"
    with open_workspace(find_workspace(cloned.root), is_held=False) as opened:
        show_conflict_texts(private, conflict_texts(opened))
    return {
        f"{path.parent.name.rpartition('-')[0]}/{path.name}": path.read_text()
        for path in (private / "conflicts").rglob("*.*")
    }


async def test_every_held_page_has_its_three_texts(cloned: Cloned) -> None:
    assert show(cloned) == {
        "guide/base.md": PAGES["guide"],
        "guide/here.md": "mine\n",
        "guide/wiki.md": "theirs\n",
        "people/base.md": PAGES["team/people"],
        "people/here.md": "mine\n",
        "people/wiki.md": "theirs\n",
    }


async def test_a_sync_brings_them_up_to_date(cloned: Cloned) -> None:
    conflicts = cloned.root / ".wikisync" / "conflicts"
    assert {path.name.rpartition("-")[0] for path in conflicts.iterdir()} == {
        "guide",
        "people",
    }
    for slug in ("guide", "team/people"):
        cloned.write(f"{slug}.conflict.md", "settled\n")
    await cloned.run("sync")
    assert not conflicts.exists()


async def test_files_follow_the_conflict_and_go_with_it(cloned: Cloned) -> None:
    show(cloned)
    cloned.write("guide.md", "mine, later\n")
    cloned.write("team/people.conflict.md", "settled\n")
    await cloned.run("sync")
    found = show(cloned)
    assert found["guide/here.md"] == "mine, later\n"
    assert {name.partition("/")[0] for name in found} == {"guide"}
    cloned.write("guide.conflict.md", "settled\n")
    await cloned.run("sync")
    assert show(cloned) == {}
    assert not (cloned.root / ".wikisync/conflicts").exists()


async def test_what_a_person_wrote_into_them_is_none_of_the_pages(
    cloned: Cloned,
) -> None:
    show(cloned)
    for path in (cloned.root / ".wikisync/conflicts").rglob("*.md"):
        path.write_text("scribbled\n")
    await cloned.run("sync")
    assert show(cloned)["guide/wiki.md"] == "theirs\n"
    assert "scribbled" not in "".join((await cloned.wiki()).values())


async def test_nothing_is_written_or_removed_through_a_link(
    cloned: Cloned, tmp_path: Path
) -> None:
    show(cloned)
    away = tmp_path / "away"
    away.mkdir()
    (away / "mine.md").write_text("mine\n")
    conflicts = cloned.root / ".wikisync/conflicts"
    (conflicts / "gone-12345678").symlink_to(away)
    (link,) = conflicts.glob("guide-*/wiki.md")
    link.unlink()
    link.symlink_to(away / "mine.md")
    with pytest.raises(FolderError, match="is a symbolic link"):
        show(cloned)
    link.unlink()
    assert show(cloned)["guide/wiki.md"] == "theirs\n"
    assert (away / "mine.md").read_text() == "mine\n"


async def test_pages_of_one_name_have_folders_of_their_own(cloned: Cloned) -> None:
    await cloned.service.add_pages(HANDBOOK, {"other/guide": "one\n"})
    await cloned.run("sync")
    cloned.write("other/guide.md", "mine too\n")
    await cloned.edit({"other/guide": "theirs too\n"})
    await cloned.run("sync")
    show(cloned)
    conflicts = cloned.root / ".wikisync/conflicts"
    texts = {path.read_text() for path in conflicts.glob("guide-*/here.md")}
    assert texts == {"mine\n", "mine too\n"}


@pytest.mark.slow
async def test_texts_that_cannot_be_written_keep_a_watch_from_nothing(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_project(OWNER.full_path, {"home": "one\n", "other": "one\n"})
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        (watch.root / ".wikisync" / "conflicts").write_text("in the way\n")
        await service.add_pages(OWNER, {"home": "theirs\n"})
        watch.save("home", "mine\n")
        attention = watch.root / "WIKISYNC-ATTENTION.md"
        await watch.until(attention.exists)
        await watch.until(lambda: watch.health["wikis"][0]["held"] == 1)
        watch.save("other", "two\n")
        await watch.said("1 pushed")

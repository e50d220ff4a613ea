"""Files whose content a cloud drive took away: no deletion, and nobody writes there."""

import shutil
from pathlib import Path

from tests.support.workspaces import FILES, HANDBOOK, Cloned

ICLOUD = ".guide.md.icloud"
LOOKS = (("status",), ("diff",), ("sync", "--dry-run"))


async def _sync_twice(cloned: Cloned) -> str:
    ran = await cloned.sync_later()
    assert ran.code == 3
    return ran.err


def _evict(folder: Path, name: str, stub: str) -> bytes:
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    (folder / stub).write_bytes(b" ")
    return content


async def test_page_whose_text_was_taken_away_is_told_once(cloned: Cloned) -> None:
    """And what only looks takes it for no deletion, too."""
    stubs = (".a.md.icloud", "b.md.nextcloud", "c.md.cloud", "d.gdoc", "e.md.magenta")
    await cloned.edit(dict.fromkeys("abcde", "text\n"))
    await cloned.run("sync")
    wiki = await cloned.wiki()
    for name, stub in zip("abcde", stubs, strict=True):
        _evict(cloned.folder, f"{name}.md", stub)
    shutil.rmtree(cloned.folder / "team")
    cloned.write("team.cloudf", "")
    looks = [await cloned.run(*words) for words in LOOKS]
    shown = " ".join(" ".join(ran.told for ran in looks).split())
    assert "waiting until the deletion" not in shown
    assert not [name for name in "abcde" if f"delete {name} " in shown]
    err = " ".join((await _sync_twice(cloned)).split())
    left = [f"left {stub} in its place" for stub in (*stubs, "team.cloudf")]
    assert [err.count(one) for one in left] == [1] * len(left)
    assert err.count("warning:") == len(left)
    assert await cloned.wiki() == wiki
    # it is deleted with its stub
    (cloned.folder / stubs[0]).unlink()
    await cloned.sync_later()
    assert (await cloned.wiki()).keys() == wiki.keys() - {"a.md"}


async def test_page_that_comes_back_is_synced_again(cloned: Cloned) -> None:
    content = _evict(cloned.folder, "guide.md", ICLOUD)
    await cloned.edit({"guide": "newer\n"})
    await _sync_twice(cloned)
    assert not (cloned.folder / "guide.md").exists()
    (cloned.folder / ICLOUD).unlink()
    (cloned.folder / "guide.md").write_bytes(content)
    ran = await cloned.run("sync")
    assert (ran.code, ran.err, cloned.read("guide.md")) == (0, "", "newer\n")


async def test_page_renamed_while_its_text_is_away_stays(cloned: Cloned) -> None:
    _evict(cloned.folder, "guide.md", ".manual.md.icloud")
    await _sync_twice(cloned)
    assert await cloned.wiki() == FILES


async def test_folder_of_nothing_but_stubs_is_no_emptied_folder(cloned: Cloned) -> None:
    for path in FILES:
        name = Path(path)
        _evict(cloned.folder, path, str(name.with_name(f".{name.name}.icloud")))
    err = await _sync_twice(cloned)
    assert "approve" not in err
    assert await cloned.wiki() == FILES


async def test_stub_that_a_person_ignores_is_no_deletion_either(cloned: Cloned) -> None:
    cloned.write(".wikisyncignore", "*.icloud\n")
    _evict(cloned.folder, "guide.md", ICLOUD)
    ran = await cloned.sync_later()
    assert (ran.code, ran.err) == (0, "")
    assert await cloned.wiki() == FILES


async def test_stub_of_what_the_wiki_lacks_is_no_problem(cloned: Cloned) -> None:
    """And delays no deletion."""
    await cloned.run("sync")
    for name in (
        *("Plan.gdoc", "Budget.gsheet", "team/Site.paper", ".holiday.mov.icloud"),
        *("archive.zip.nextcloud", ".Thumbs.db.icloud", ".guide.conflict.md.icloud"),
        *("photos.cloudf", ".LICENSE.icloud"),
    ):
        cloned.write(name, "x")
    for command in ("sync", "status"):
        ran = await cloned.run(command)
        assert (ran.code, ran.err) == (0, "")
    (cloned.folder / "guide.md").unlink()
    cloned.write("New plan.gdoc", "{}")
    await cloned.sync_later()
    assert (await cloned.wiki()).keys() == FILES.keys() - {"guide.md"}


async def test_attachments_taken_away_are_not_fetched_again(cloned: Cloned) -> None:
    """The program would take the second file for a conflict."""
    folder = "uploads/" + "0a" * 16
    await cloned.service.put_file(HANDBOOK, f"{folder}/p.png", b"\x89PNG")
    await cloned.edit({"guide": f"![p]({folder}/p.png)\n"})
    cloned.write("home.md", "![way](way.png)\n")
    cloned.write("way.png", "\x89PNG too")
    await cloned.run("sync")
    wiki = await cloned.wiki()
    _evict(cloned.folder / folder, "p.png", ".p.png.icloud")
    way = _evict(cloned.folder, "way.png", "way.png.nextcloud")
    err = await _sync_twice(cloned)
    assert err.count("warning:") == 2
    assert not (cloned.folder / folder / "p.png").exists()
    assert await cloned.wiki() == wiki
    cloned.write("home.md", "![way](way.png)\n\nmore\n")
    await cloned.run("sync")
    sent = (await cloned.wiki())["home.md"]
    assert sent == wiki["home.md"] + "\nmore\n"
    (cloned.folder / "way.png.nextcloud").unlink()
    (cloned.folder / "way.png").write_bytes(way)
    await cloned.run("sync")
    assert (await cloned.wiki())["home.md"] == sent

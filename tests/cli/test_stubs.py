"""Files whose content a cloud drive took away: no deletion, and nobody writes there."""

import shutil
from pathlib import Path

from tests.support.workspaces import FILES, HANDBOOK, Cloned

ICLOUD = ".guide.md.icloud"


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
    stubs = (".a.md.icloud", "b.md.nextcloud", "c.md.cloud", "d.gdoc", "e.md.magenta")
    await cloned.edit(dict.fromkeys("abcde", "text\n"))
    await cloned.run("sync")
    wiki = await cloned.wiki()
    for name, stub in zip("abcde", stubs, strict=True):
        _evict(cloned.folder, f"{name}.md", stub)
    err = " ".join((await _sync_twice(cloned)).split())
    assert err.count("warning:") == len(stubs)
    for stub in stubs:
        assert f"left {stub} in its place" in err
    assert await cloned.wiki() == wiki


async def test_page_that_comes_back_is_synced_again(cloned: Cloned) -> None:
    content = _evict(cloned.folder, "guide.md", ICLOUD)
    await cloned.edit({"guide": "newer\n"})
    await _sync_twice(cloned)
    assert not (cloned.folder / "guide.md").exists()
    (cloned.folder / ICLOUD).unlink()
    (cloned.folder / "guide.md").write_bytes(content)
    ran = await cloned.run("sync")
    assert (ran.code, ran.err, cloned.read("guide.md")) == (0, "", "newer\n")


async def test_page_is_deleted_with_its_stub(cloned: Cloned) -> None:
    await cloned.edit({"more": "text\n"})
    await cloned.run("sync")
    _evict(cloned.folder, "more.md", ".more.md.icloud")
    await _sync_twice(cloned)
    (cloned.folder / ".more.md.icloud").unlink()
    assert (await cloned.sync_later()).code == 0
    assert await cloned.wiki() == FILES


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


async def test_what_only_looks_takes_it_for_no_deletion(cloned: Cloned) -> None:
    _evict(cloned.folder, "guide.md", ICLOUD)
    for command in (("status",), ("diff",), ("sync", "--dry-run")):
        ran = await cloned.run(*command)
        shown = " ".join((ran.out + ran.err).split())
        assert "delete guide" not in shown
        assert "waiting until the deletion" not in shown


async def test_stub_that_a_person_ignores_is_no_deletion_either(cloned: Cloned) -> None:
    cloned.write(".wikisyncignore", "*.icloud\n")
    _evict(cloned.folder, "guide.md", ICLOUD)
    ran = await cloned.sync_later()
    assert (ran.code, ran.err) == (0, "")
    assert await cloned.wiki() == FILES


async def test_stub_of_what_the_wiki_lacks_is_no_problem(cloned: Cloned) -> None:
    for name in (
        *("Plan.gdoc", "Budget.gsheet", "team/Site.paper", ".holiday.mov.icloud"),
        *("archive.zip.nextcloud", ".Thumbs.db.icloud", ".guide.conflict.md.icloud"),
        *("photos.cloudf", ".LICENSE.icloud"),
    ):
        cloned.write(name, "x")
    for command in ("sync", "status"):
        ran = await cloned.run(command)
        assert (ran.code, ran.err) == (0, "")


async def test_online_document_delays_no_deletion(cloned: Cloned) -> None:
    await cloned.run("sync")
    (cloned.folder / "guide.md").unlink()
    cloned.write("Plan.gdoc", "{}")
    await cloned.sync_later()
    assert (await cloned.wiki()).keys() == FILES.keys() - {"guide.md"}


async def test_folder_of_pages_that_was_taken_away_is_told(cloned: Cloned) -> None:
    shutil.rmtree(cloned.folder / "team")
    cloned.write("team.cloudf", "")
    assert (await _sync_twice(cloned)).count("left team.cloudf in its place") == 1
    assert await cloned.wiki() == FILES


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

import re

from tests.support.workspaces import Cloned
from wikisync.site.preview.routes import file_path
from wikisync.site.preview.writing import WikiDesk


async def test_page_below_uploads_holds_nothing_back(cloned: Cloned) -> None:
    attached = f"uploads/{'0a' * 16}/notes"
    await cloned.edit({"uploads/notes": "mine\n", attached: "an attachment\n"})
    await cloned.remove("guide")
    ran = await cloned.run("sync")
    assert "uploads/notes" in ran.err
    assert "rename the page on the wiki" in ran.err
    assert attached not in ran.err
    assert ran.code == 3
    await cloned.sync_later()
    assert "guide.md" not in cloned.files()
    assert "uploads/notes.md" not in cloned.files()


async def test_a_picture_of_the_browser_reaches_the_wiki(cloned: Cloned) -> None:
    """Under the service's own kind of path it would be taken for fetched, and stay."""
    desk = WikiDesk(cloned.folder, cloned.folder.parent / ".wikisync")
    path = file_path("my map.png", b"\x89PNG map")
    desk.create(path, b"\x89PNG map")
    cloned.write("map.md", f"![map]({path})\n")
    assert (await cloned.run("sync")).code == 0
    wiki = await cloned.wiki()
    (uploaded,) = re.findall(r"uploads/[0-9a-f]{32}/my-map\.png", wiki["map.md"])
    assert uploaded in wiki
    assert cloned.read("map.md") == f"![map]({path})\n"

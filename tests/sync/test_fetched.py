"""Attachments of the wiki that a person changes in their place."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.pair import OWNER, Pair, paired
from tests.support.pictures import (
    BLUE,
    RED,
    count_uploads,
    put,
    shown,
    there,
    upload_of,
)
from wikisync.core.model import AttachmentPath, Slug, Snapshot
from wikisync.folder.replica import FolderReplica
from wikisync.workspace.status import missing_attachments

H = "uploads/" + "0123456789abcdef" * 2
OTHER = "uploads/" + "fedcba9876543210" * 2
PICTURE = f"{H}/image.png"
LINK = f"![p]({PICTURE})\n"
GREEN = RED + b" and green"


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """A page with a picture on the wiki, both fetched."""
    pages = {
        "home.md": LINK.encode(),
        PICTURE: RED,
        f"{OTHER}/image.png": b"of another page",
    }
    async with paired(tmp_path) as opened:
        await opened.service.put_files(OWNER, pages)
        await opened.rest()
        yield opened


async def test_a_changed_attachment_is_uploaded_and_its_page_follows(
    pair: Pair,
) -> None:
    sent = count_uploads(pair)
    put(pair, PICTURE, BLUE)
    await pair.rest()
    files = await pair.service.files(OWNER)
    path = await upload_of(pair)
    assert path != PICTURE
    assert (files[path], files[PICTURE]) == (BLUE, RED)
    assert pair.texts()["home"] == LINK
    assert (pair.folder / PICTURE).read_bytes() == BLUE
    assert len(sent) == 1


async def test_every_page_that_shows_it_follows(pair: Pair) -> None:
    sent = count_uploads(pair)
    pair.save("guide/first", f"![p](../{PICTURE})\n")
    pair.save("list.org", f"[[file:{PICTURE}][p]]\n")
    pair.save("code", f"`{PICTURE}`\n")
    await pair.rest()
    put(pair, PICTURE, BLUE)
    await pair.rest()
    path = await upload_of(pair)
    assert await upload_of(pair, "guide/first") == path
    assert await upload_of(pair, "list") == path
    assert await there(pair, "code") == f"`{PICTURE}`\n"
    assert pair.texts()["guide/first"] == f"![p](../{PICTURE})\n"
    assert len(sent) == 1


async def test_a_changed_attachment_that_is_removed_here_comes_back_changed(
    pair: Pair,
) -> None:
    """As a picture beside a page that is gone here: the wiki keeps its link."""
    put(pair, PICTURE, BLUE)
    await pair.rest()
    before = await there(pair)
    (pair.folder / PICTURE).unlink()
    await pair.rest()
    pair.restart()
    await pair.rest()
    assert (pair.folder / PICTURE).read_bytes() == BLUE
    assert await there(pair) == before


async def test_a_page_like_a_text_that_was_replaced_follows_its_picture(
    pair: Pair,
) -> None:
    """It is what both sides agreed on, and no save from an old editor window."""
    kept = pair.known.remember_replaced(Slug("home"), LINK, "quite another\n", pair.now)
    pair.known.confirm_replaced([kept])
    put(pair, PICTURE, BLUE)
    await pair.rest()
    assert await upload_of(pair) != PICTURE


async def test_a_change_is_not_hidden_by_another_one_on_the_wiki(pair: Pair) -> None:
    """As somebody makes it who changed the same picture in a folder of their own."""
    put(pair, PICTURE, BLUE)
    theirs = LINK.replace(H, OTHER)
    await pair.edit("home", theirs)
    result = await pair.rest()
    assert [one.slug for one in result.held] == ["home"]
    assert (pair.texts()["home"], await there(pair)) == (LINK, theirs)
    (pair.folder / "home.conflict.md").write_text(LINK)
    await pair.rest()
    assert await shown(pair) == BLUE


async def test_a_page_that_cannot_be_read_hides_no_change_and_stops_no_cycle(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went from the wiki after a look that brought no texts."""
    pair.save("other", "other\n")
    await pair.rest()
    put(pair, PICTURE, BLUE)
    await pair.edit("home", LINK.replace(H, OTHER))
    snapshot = pair.remote.snapshot

    async def without_texts() -> Snapshot:
        seen = await snapshot()
        await pair.erase("home")
        return replace(seen, texts={})

    pair.save("other", "edited\n")
    with monkeypatch.context() as patched:
        patched.setattr(pair.remote, "snapshot", without_texts)
        await pair.cycle()
    assert await there(pair, "other") == "edited\n"
    assert pair.texts()["home"] == LINK


async def test_a_text_edited_on_the_wiki_comes_beside_a_change_here(pair: Pair) -> None:
    put(pair, PICTURE, BLUE)
    await pair.edit("home", f"{LINK}\nedited there\n")
    result = await pair.rest()
    assert not result.held
    assert pair.texts()["home"] == f"{LINK}\nedited there\n"
    assert await upload_of(pair) != PICTURE


async def test_an_attachment_of_which_the_wiki_makes_no_use_is_no_change(
    pair: Pair,
) -> None:
    """Another file of the page changed here."""
    put(pair, "red.png", RED)
    pair.save("home", f"{LINK}\n![red](red.png)\n")
    await pair.rest()
    put(pair, "red.png", BLUE)
    await pair.edit("home", (await there(pair)).replace(LINK, ""))
    await pair.rest()
    assert pair.texts()["home"] == "\n![red](red.png)\n"


async def test_an_upload_counts_for_the_bytes_that_were_sent(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was saved once more between the look at it and the sending."""
    read = FolderReplica.read_attachment

    async def saved_meanwhile(
        folder: FolderReplica, path: AttachmentPath
    ) -> AsyncIterator[bytes]:
        put(pair, PICTURE, GREEN)
        async for chunk in read(folder, path):
            yield chunk

    put(pair, PICTURE, BLUE)
    with monkeypatch.context() as patched:
        patched.setattr(FolderReplica, "read_attachment", saved_meanwhile)
        await pair.cycle()
    put(pair, PICTURE, BLUE)
    await pair.rest()
    assert await shown(pair) == BLUE


@pytest.mark.parametrize(("content", "uploads"), [(RED, 0), (BLUE, 1)])
async def test_a_file_without_a_record_is_compared_with_the_wikis(
    pair: Pair, content: bytes, uploads: int
) -> None:
    """A folder whose state is gone: an upload never changes, so a person did."""
    with pair.known._writing("attachment") as connection:
        connection.execute("DELETE FROM attachment WHERE path = ?", [PICTURE])
    sent = count_uploads(pair)
    put(pair, PICTURE, content)
    await pair.rest()
    await pair.rest()
    assert (pair.folder / PICTURE).read_bytes() == content
    assert len(sent) == uploads


async def test_one_that_is_gone_and_cannot_be_had_is_missing(pair: Pair) -> None:
    (pair.folder / PICTURE).unlink()
    await pair.service.remove_file(OWNER, PICTURE)
    await pair.cycle()
    assert missing_attachments(pair.known) == (PICTURE,)

"""Writing in the browser: saves that are merged, new names, and the trash."""

import asyncio
import base64
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.archive import unpack
from tests.support.preview import (
    ACTIONS,
    PAGE,
    Desk,
    Reader,
    Writer,
    files_of,
    headers_of,
    writing,
)
from wikisync.core.model import Format
from wikisync.errors import PreconditionFailed, SiteError
from wikisync.folder.swap import OwnFolders
from wikisync.site.preview import writing as preview_writing
from wikisync.site.preview.server import running_preview
from wikisync.site.preview.world import PreviewInputs
from wikisync.site.preview.writing import TEXT_BYTES_MAX, WikiDesk


def save(wiki: WikiDesk, text: str, base: str | None = PAGE) -> Any:
    return wiki.save("guide.md", Format.MARKDOWN, text, base)


# A save is a compare-and-swap -------------------------------------------------------


def test_a_save_replaces_the_text_that_was_read(wiki: WikiDesk) -> None:
    assert save(wiki, "# New\n").outcome == "saved"
    assert (wiki.root / "guide.md").read_text() == "# New\n"


async def test_a_save_waits_for_the_first_look_at_the_files(desk: Desk) -> None:
    """It was told that the file of the page was gone."""
    looked = threading.Event()

    def inputs() -> PreviewInputs:
        looked.wait()
        return desk.inputs()

    async with (
        running_preview(inputs, desk.root / "cache") as preview,
        aiohttp.ClientSession() as session,
    ):
        reader = Reader(preview, session)
        try:
            writer = Writer(reader, await headers_of(reader))
            wish = {
                "at": "guide.html",
                "text": "New.\n",
                "base": "## Part\n\nWords of the guide.\n",
            }
            async with asyncio.TaskGroup() as tasks:
                saving = tasks.create_task(writer.ask("save", **wish))
                assert (await reader.get("guide.html"))[0] == 503
                looked.set()
        finally:
            looked.set()
    assert saving.result()[1]["outcome"] == "saved"


def test_another_text_in_the_file_is_merged_and_told(wiki: WikiDesk) -> None:
    (wiki.root / "guide.md").write_text(PAGE.replace("First", "Their first"))
    written = save(wiki, PAGE.replace("Last", "My last"))
    both = PAGE.replace("First", "Their first").replace("Last", "My last")
    assert (written.outcome, written.text) == ("merged", both)
    assert (wiki.root / "guide.md").read_text() == both


def test_a_clash_writes_nothing_and_gives_both_texts(wiki: WikiDesk) -> None:
    theirs = PAGE.replace("Middle words", "Their middle words")
    (wiki.root / "guide.md").write_text(theirs)
    written = save(wiki, PAGE.replace("Middle words", "Other words of mine"))
    assert written.outcome == "clash"
    assert written.text == theirs == (wiki.root / "guide.md").read_text()
    clashes = [part for part in written.parts if part.mine is not None]
    assert "Other words of mine" in str(clashes[0].mine)
    assert "Their middle" in str(clashes[0].other)


def test_what_a_program_writes_into_the_replaced_file_is_merged(wiki: WikiDesk) -> None:
    """It had the file open while the preview saved."""
    with (wiki.root / "guide.md").open("r+") as program:
        save(wiki, PAGE.replace("First words", "My first words"))
        program.write(PAGE.replace("Last words", "Their last words"))
    assert wiki.recover() == []
    text = (wiki.root / "guide.md").read_text()
    assert "My first words" in text
    assert "Their last words" in text
    assert wiki.recover() == []


def test_what_a_program_writes_late_and_clashes_is_in_the_trash(wiki: WikiDesk) -> None:
    with (wiki.root / "guide.md").open("r+") as program:
        save(wiki, "Mine.\n")
        program.write(PAGE.replace("First", "Their"))
    assert wiki.recover() == ["guide.md"]
    assert (wiki.root / "guide.md").read_text() == "Mine.\n"
    (wiki.root / "guide.md").unlink()
    assert wiki.restore("guide.md") == "guide.md"
    assert "Their" in (wiki.root / "guide.md").read_text()


def test_a_file_that_is_gone_is_not_written_again_unasked(wiki: WikiDesk) -> None:
    (wiki.root / "guide.md").unlink()
    assert save(wiki, "# Mine\n").outcome == "gone"
    assert not (wiki.root / "guide.md").exists()


def test_a_save_that_comes_between_reading_and_writing_is_merged(
    wiki: WikiDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vim saves after the comparison: the swap sees it, and the text is merged."""
    write = OwnFolders.write
    theirs = [PAGE.replace("First", "Their first")]

    def race(own: OwnFolders, *what: Any) -> None:
        if theirs:
            (own.root / "guide.md").write_text(theirs.pop())
        write(own, *what)

    monkeypatch.setattr(OwnFolders, "write", race)
    assert save(wiki, PAGE.replace("Last", "My last")).outcome == "merged"
    text = (wiki.root / "guide.md").read_text()
    assert "Their first" in text
    assert "My last" in text


@pytest.mark.parametrize("empties", [Path.unlink, Path.touch])
def test_a_save_while_a_program_writes_waits_for_its_text(
    wiki: WikiDesk, monkeypatch: pytest.MonkeyPatch, empties: Callable[[Path], None]
) -> None:
    """vim empties the file or moves it away, by ``backupcopy``, then writes it."""
    file = wiki.root / "guide.md"
    theirs = PAGE.replace("First", "Their first")
    monkeypatch.setattr(preview_writing, "sleep", lambda _: file.write_text(theirs))
    file.write_text("")
    empties(file)
    assert save(wiki, PAGE.replace("Last", "My last")).outcome == "merged"
    text = file.read_text()
    assert "Their first" in text
    assert "My last" in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\r\nb!\r\n"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nb!\n"),
        (b"a\r\nb\n", b"a\r\nb!\n"),
        (b"a\rb\r\nb\n", b"a\rb!\r\nb!\n"),
        (b"b", b"b!"),
    ],
)
def test_line_ends_and_byte_order_mark_stay_as_they_are(
    wiki: WikiDesk, before: bytes, after: bytes
) -> None:
    (wiki.root / "guide.md").write_bytes(before)
    text = wiki.read("guide.md")
    assert text is not None
    save(wiki, text.replace("b", "b!"), text)
    assert (wiki.root / "guide.md").read_bytes() == after


@pytest.mark.parametrize("text", ["x" * (TEXT_BYTES_MAX + 1), "a\0b"])
def test_a_text_that_is_no_page_is_refused(wiki: WikiDesk, text: str) -> None:
    with pytest.raises(SiteError):
        save(wiki, text)
    assert (wiki.root / "guide.md").read_text() == PAGE


def test_a_page_that_is_no_text_is_not_edited(wiki: WikiDesk) -> None:
    (wiki.root / "guide.md").write_bytes(b"\xff\xfe")
    with pytest.raises(SiteError, match="UTF-16"):
        wiki.read("guide.md")


def test_a_page_is_deleted_as_it_was_seen_and_comes_back(wiki: WikiDesk) -> None:
    with pytest.raises(PreconditionFailed, match="changed in the meantime"):
        wiki.delete("guide.md", "# Another text\n")
    wiki.delete("guide.md", PAGE)
    assert not (wiki.root / "guide.md").exists()
    assert wiki.restore("guide.md") == "guide.md"
    assert (wiki.root / "guide.md").read_text() == PAGE


# What the window asks for ------------------------------------------------------------


async def test_a_missing_page_is_begun_in_the_format_of_its_folder(desk: Desk) -> None:
    (desk.root / "handbook" / "team").mkdir()
    (desk.root / "handbook" / "team" / "one.adoc").write_text("= One\n")
    async with writing(desk) as writer:
        _, source = await writer.ask("source", at="team/two.html")
        assert source["new"] == "team/two.asciidoc"
        _, made = await writer.ask("create", at="team/two.html")
        assert made["address"] == "team/two.html"
        assert "two" in (await writer.reader.get("team/two.html"))[1]
    file = desk.root / "handbook" / "team" / "two.asciidoc"
    assert file.read_text() == "= two\n\n"


async def test_where_formats_are_even_a_page_is_begun_in_markdown(desk: Desk) -> None:
    unpack("-- a.md --\nx\n-- b.rdoc --\nx\n", desk.root / "handbook" / "team")
    async with writing(desk) as writer:
        _, source = await writer.ask("source", at="team/new.html")
        assert source["new"] == "team/new.md"


async def test_a_red_link_begins_the_page_that_it_asks_for(
    writer: Writer, desk: Desk
) -> None:
    wish = {"at": "guide.html", "href": "plans/Next year"}
    _, source = await writer.ask("source", **wish)
    assert source["new"] == "plans/Next-year.md"
    await writer.ask("create", **wish)
    text = (desk.root / "handbook" / "plans" / "Next-year.md").read_text()
    assert text == "# Next year\n\n"


@pytest.mark.parametrize("name", ["latin", "gone"])
async def test_a_template_that_cannot_be_read_begins_no_page(
    desk: Desk, name: str
) -> None:
    folder = desk.root / "handbook" / "templates"
    folder.mkdir()
    (folder / "latin.md").write_bytes(b"# Caf\xe9\n")
    async with writing(desk) as writer:
        status, said = await writer.ask(
            "create", at="monday.html", template=f"templates/{name}"
        )
    assert (status, said["hint"]) == (404, "mend its file, or begin with an empty page")
    template = f"the template templates/{name}"
    assert said["message"] == f"{template} is gone or is no UTF-8 text"
    assert not (desk.root / "handbook" / "monday.md").exists()


async def test_a_page_that_is_there_is_not_begun_again(writer: Writer) -> None:
    status, said = await writer.ask("create", at="index.html", name="guide")
    assert (status, said["message"]) == (409, "guide.md already exists")
    for name in ("Guide", "guide.org"):
        status, said = await writer.ask("create", at="index.html", name=name)
        message = "guide.md exists already, and has that name for the wiki"
        assert (status, said["message"]) == (409, message)


@pytest.mark.parametrize("file", ["a%3Ab.md", "two words.md", "team/doc.adoc"])
async def test_a_file_that_went_away_is_written_again_where_it_was(
    writer: Writer, desk: Desk, file: str
) -> None:
    before = files_of(desk.root)
    wish = {"at": "index.html", "name": file, "text": "Mine\n"}
    assert (await writer.ask("create", **wish))[0] == 200
    assert (await writer.ask("create", **wish | {"name": f"../{file}"}))[0] == 400
    wish |= {"name": "nul.md", "text": "a\0b"}
    assert (await writer.ask("create", **wish))[0] == 400
    new = [path for path in files_of(desk.root) if path not in before]
    assert new == [str(desk.root / "handbook" / file)]


async def test_a_pasted_picture_lies_in_uploads_and_is_shown(
    writer: Writer, desk: Desk
) -> None:
    content = base64.b64encode(b"\x89PNG").decode()
    wish = {"at": "guide.html", "name": "my map.png", "content": content}
    _, kept = await writer.ask("file", **wish)
    assert re.fullmatch(r"uploads/[0-9a-f]{16}/my-map\.png", kept["path"])
    assert (await writer.ask("file", **wish))[1] == kept
    assert (await writer.reader.ask("GET", kept["path"])).status == 200
    assert (desk.root / "handbook" / kept["path"]).read_bytes() == b"\x89PNG"


async def test_links_are_completed_from_the_wiki(writer: Writer) -> None:
    _, names = await writer.ask("names", at="guide.html")
    assert ["home", "Welcome"] in names["pages"]
    assert [one.rpartition("/")[2] for one in names["files"]] == ["map.svg"]


async def test_a_draft_names_what_is_wrong_in_it_with_lines(writer: Writer) -> None:
    text = "---\ntitle: [a\n---\n\n[x](nowhere) ![y](uploads/z.png) [w](guide#none)\n"
    _, (_, marks) = await writer.ask("draft", at="index.html", text=text)
    assert [(one["line"], one["href"]) for one in marks] == [
        (5, "nowhere"),
        (5, "uploads/z.png"),
        (5, "guide#none"),
        (2, ""),
    ]
    assert marks[0]["message"] == "there is no such page"


async def test_headings_of_another_page_are_completed(writer: Writer) -> None:
    _, names = await writer.ask("names", at="index.html", href="guide")
    assert names == {"headings": [["part", "Part"]]}
    for href in ("nowhere", "../..", "uploads/", "\0", "https://example.com"):
        assert (await writer.ask("names", at="index.html", href=href))[1] == {
            "headings": []
        }
    _, names = await writer.ask("names", at="index.html")
    assert names["emoji"]["tada"] == "\U0001f389"


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        (
            "tasks.md",
            "```\n- [ ] code\n```\n\n- [x] one\n- [ ] two\n  1. [ ] three\n",
            "- [x] two",
        ),
        (
            "tasks.asciidoc",
            "----\n* [ ] code\n----\n\n* [*] one\n* [ ] two\n",
            "* [x] two",
        ),
        ("tasks.org", "- [X] one\n- [ ] two [ ]\n", "- [X] two [ ]"),
    ],
)
async def test_a_box_is_ticked_in_one_line_of_the_file(
    desk: Desk, file: str, before: str, after: str
) -> None:
    path = desk.root / "handbook" / file
    path.write_text(before)
    async with writing(desk) as writer:
        wish = {"at": "tasks.html", "number": 1, "is_done": True}
        _, draft = await writer.ask("tick", **wish, text=before)
        assert path.read_text() == before
        _, written = await writer.ask("tick", **wish)
        assert written["outcome"] == "saved"
        ticked = path.read_text()
        assert ticked == draft["text"]
        changed = set(ticked.split("\n")) - set(before.split("\n"))
        assert changed == {after}
        status, said = await writer.ask("tick", **wish)
        assert (status, said["message"]) == (
            400,
            f"the box cannot be found in the text of {file}",
        )
        await writer.ask("tick", **{**wish, "is_done": False})
    assert path.read_text() == before


@pytest.mark.parametrize("text", ["- [ ] one\n- [ ] two\n", "No box.\n"])
@pytest.mark.parametrize("number", [-1, 2, 10**9])
async def test_a_box_that_is_not_there_is_not_ticked(
    desk: Desk, text: str, number: int
) -> None:
    path = desk.root / "handbook" / "guide.md"
    path.write_text(text)
    async with writing(desk) as writer:
        wish = {"at": "guide.html", "number": number, "is_done": True}
        assert (await writer.ask("tick", **wish))[0] == 400
    assert path.read_text() == text


async def test_a_folder_that_is_in_no_workspace_has_nothing_to_decide(
    writer: Writer,
) -> None:
    assert await writer.ask("state", at="guide.html") == (200, {"line": "", "rows": []})
    assert (await writer.ask("earlier", at="guide.html"))[1]["texts"] == []
    assert (await writer.ask("clash", at="guide.html"))[1]["parts"] == []
    for action in ("decide", "settle", "back"):
        status, _ = await writer.ask(action, at="guide.html", **ACTIONS[action])
        assert status == 404, action

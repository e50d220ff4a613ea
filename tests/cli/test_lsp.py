"""``wikisync lsp``, driven by the client of the protocol's own library."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from tests.support.language_client import WAIT_S, Editor, editing
from wikisync.core.version import __version__

PAGES = {
    "home.md": "# Home\n\nSee [rules](team/rules) and [nothing](team/none).\n",
    "team/rules.md": "# Our rules\n\n## Be kind\n\nBack [home](../home).\n",
    "team/people.org": "* People\n\n[[file:rules.md][Rules]]\n",
    "team/notes.asciidoc": "= Notes\n\nlink:team/rules[Rules]\n",
}

WORKSPACE = """\
[service]
url = "https://gitlab.example.com"

[[wiki]]
project = "docs/{name}"
folder = "{name}"
"""


def made_wiki(root: Path) -> Path:
    for path, text in PAGES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "uploads").mkdir()
    (root / "uploads" / "map.png").write_bytes(b"png")
    return root


@pytest.fixture
def wiki(tmp_path: Path) -> Path:
    return made_wiki(tmp_path / "wiki")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    async with editing(
        made_wiki(tmp_path_factory.mktemp("lsp") / "my wiki+")
    ) as editor:
        yield editor


@pytest_asyncio.fixture(loop_scope="module")
async def editor(running: Editor) -> AsyncIterator[Editor]:
    """An editor with nothing open; its server is that of all tests here."""
    yield running
    running.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_wrong_is_shown_while_a_text_is_written(editor: Editor) -> None:
    text = editor.open("home.md")
    (mark,) = await editor.marks("home.md", 1)
    editor.type("home.md", "---\ntitle: [a\n---\n", 2)
    (broken,) = await editor.marks("home.md", 2)
    editor.type("home.md", text.replace("none", "rules"), 3)
    mended = await editor.marks("home.md", 3)
    assert mark.message.startswith("broken link team/none: ")
    assert mark.range == lsp.Range(lsp.Position(2, 38), lsp.Position(2, 47))
    assert "invalid front matter" in broken.message
    assert broken.severity == lsp.DiagnosticSeverity.Error
    assert mended == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_link_is_marked_where_the_format_tells_no_line(editor: Editor) -> None:
    """As after characters of two UTF-16 units."""
    text = "= Notes\r\n\r\n\U0001f600 xref:nowhere[x]\r\n"
    editor.open("team/notes.asciidoc", text)
    (mark,) = await editor.marks("team/notes.asciidoc", 1)
    assert mark.range == lsp.Range(lsp.Position(2, 8), lsp.Position(2, 15))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_link_is_marked_and_no_earlier_word_of_its_line(editor: Editor) -> None:
    editor.open("home.md", "# Home\n\nThe gone part is [here](#gone).\n")
    (mark,) = await editor.marks("home.md", 1)
    assert mark.range == lsp.Range(lsp.Position(2, 24), lsp.Position(2, 29))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_page_of_very_many_broken_links_does_not_hold_the_rest(
    editor: Editor,
) -> None:
    """Each was looked for in the whole text: minutes without an answer."""
    editor.open("home.md", "[x](gone) " * 20_000 + "\n[y](other)\n")
    marks = await editor.marks("home.md", 1)
    at = editor.at("team/people.org", editor.open("team/people.org"), "file:rules.md")
    there = await editor.client.text_document_definition_async(
        lsp.DefinitionParams(**at)
    )
    assert [one.range.start.line for one in marks] == [0, 1]
    assert isinstance(there, lsp.Location)


async def test_the_folder_is_the_one_that_the_editor_has_open(wiki: Path) -> None:
    """The server may be started in any other one."""
    async with editing(wiki, is_named=False) as editor:
        editor.open("home.md")
        (mark,) = await editor.marks("home.md", 1)
        assert mark.message.startswith("broken link team/none: ")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_page_that_another_program_writes_mends_a_link(editor: Editor) -> None:
    editor.open("home.md")
    assert len(await editor.marks("home.md", 1)) == 1
    there = editor.root / "team" / "none.md"
    there.write_text("# Now there\n")
    while await editor.marks("home.md", 1):
        pass
    there.unlink()
    while not await editor.marks("home.md", 1):
        pass


@pytest.mark.asyncio(loop_scope="module")
async def test_pages_files_headings_and_emoji_are_completed(editor: Editor) -> None:
    for path, begun in {
        "home.md": "[a](our",
        "team/people.org": "[[team/ru",
        "team/notes.asciidoc": "link:RULES",
    }.items():
        editor.open(path, begun)
        assert await editor.labels(path, begun, begun) == ["team/rules"]
    typed = ["![map](map", "[kind](team/rules#", "![[", ":tada"]
    for number, begun in enumerate(typed, 2):
        editor.type("home.md", f"word {begun}", number)
    await editor.marks("home.md", len(typed) + 1)
    found = {}
    for number, begun in enumerate(typed, 10):
        editor.type("home.md", f"word {begun}", number)
        found[begun] = await editor.labels("home.md", f"word {begun}", begun)
    assert found["![map](map"] == ["uploads/map.png"]
    assert "team/rules#be-kind" in found["[kind](team/rules#"]
    assert {"home", "team/people", "uploads/map.png"} <= set(found["![["])
    assert "tada:" in found[":tada"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_new_file_is_completed_before_it_is_saved(editor: Editor) -> None:
    text = editor.open("team/fresh.md", "\U0001f600 [a](team/rules) and [b](our")
    assert await editor.labels("team/fresh.md", text, text) == ["team/rules"]
    there = await editor.client.text_document_definition_async(
        lsp.DefinitionParams(**editor.at("team/fresh.md", text, "[a](te"))
    )
    assert isinstance(there, lsp.Location)
    assert there.uri == editor.uri("team/rules.md")


async def test_a_new_file_is_not_taken_for_the_page_that_has_its_address(
    wiki: Path,
) -> None:
    (wiki / ".gitlab").mkdir()
    (wiki / ".gitlab" / "redirects.yml").write_text("old: team/rules\n")
    async with editing(wiki) as editor:
        at = editor.at("old.md", editor.open("old.md", "A word, [a](none)"), "word")
        assert await editor.marks("old.md", 1) == []
        renamed = await editor.client.text_document_rename_async(
            lsp.RenameParams(new_name="new", **at)
        )
        assert await editor.renamed(("old.md", "new.md")) == {}
    assert renamed is None


@pytest.mark.asyncio(loop_scope="module")
async def test_a_link_leads_to_its_page_and_says_its_title(editor: Editor) -> None:
    places = {
        "home.md": "team/rules",
        "team/people.org": "file:rules.md",
        "team/notes.asciidoc": "link:team/rules",
    }
    for path, word in places.items():
        at = editor.at(path, editor.open(path), word)
        there = await editor.client.text_document_definition_async(
            lsp.DefinitionParams(**at)
        )
        said = await editor.client.text_document_hover_async(lsp.HoverParams(**at))
        assert isinstance(there, lsp.Location)
        assert there.uri == editor.uri("team/rules.md")
        assert said is not None
        assert isinstance(said.contents, lsp.MarkupContent)
        assert said.contents.value == "Our rules\nteam/rules.md"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_rename_changes_every_link_and_moves_the_file(editor: Editor) -> None:
    at = editor.at("home.md", editor.open("home.md"), "team/rules")
    edit = await editor.client.text_document_rename_async(
        lsp.RenameParams(new_name="new/conduct", **at)
    )
    links = await editor.renamed(("team/rules.md", "conduct.md"))
    assert edit is not None
    texts = {
        change.text_document.uri: [
            one.new_text for one in change.edits if isinstance(one, lsp.TextEdit)
        ]
        for change in edit.document_changes or ()
        if isinstance(change, lsp.TextDocumentEdit)
    }
    assert texts[editor.uri("home.md")] == [
        "See [rules](new/conduct) and [nothing](team/none)."
    ]
    assert len(texts) == len(PAGES) - 1
    assert (edit.document_changes or [])[-1] == lsp.RenameFile(
        editor.uri("team/rules.md"), editor.uri("new/conduct.md")
    )
    # Neovim 0.7 makes none, and would leave the file where the links do not lead
    assert (editor.root / "new").is_dir()
    assert len(links) == len(PAGES) - 1


async def test_an_editor_without_a_folder_has_not_all_of_a_home_read(
    wiki: Path,
) -> None:
    """Nor is there an answer that never comes; a home may be a link."""
    home = wiki.with_name("home")
    home.symlink_to(wiki)
    async with editing(wiki, is_named=False, HOME=str(home)) as editor:
        at = editor.at("home.md", editor.open("home.md"), "team/rules")
        async with asyncio.timeout(WAIT_S):
            said = await editor.said.get()
            there = await editor.client.text_document_definition_async(
                lsp.DefinitionParams(**at)
            )
    assert said == "no folder is open: open one that has pages"
    assert there is None


async def test_a_folder_that_is_not_there_is_named(wiki: Path) -> None:
    async with editing(wiki / "none", is_named=False) as editor:
        async with asyncio.timeout(WAIT_S):
            said = await editor.said.get()
    assert said.startswith(f"there is no folder {wiki / 'none'}: ")


async def test_a_second_folder_is_not_served_and_that_is_said(wiki: Path) -> None:
    other = wiki.with_name("other")
    async with editing(wiki, other, is_named=False) as editor:
        editor.open("home.md")
        assert len(await editor.marks("home.md", 1)) == 1
        async with asyncio.timeout(WAIT_S):
            said = await editor.said.get()
    assert said == f"{other} is not served: open it in a window of its own"


async def test_a_wiki_that_the_configuration_names_later_is_served(
    tmp_path: Path,
) -> None:
    """A mistake in it is told, and the wiki is served once that is corrected."""
    made_wiki(tmp_path / "one")
    made_wiki(tmp_path / "two")
    settings = tmp_path / "wikisync.toml"
    first = WORKSPACE.format(name="one")
    settings.write_text(first)
    async with editing(tmp_path) as editor, asyncio.timeout(WAIT_S):
        editor.open("one/home.md")
        assert len(await editor.marks("one/home.md", 1)) == 1
        editor.open("two/home.md")
        assert await editor.marks("two/home.md", 1) == []
        for mistake in ("nothing = 1", "nobody = 1"):
            settings.write_text(f"{first}{mistake}\n")
            said = await editor.said.get()
            assert said.startswith(f"{settings} is wrong; ")
            assert mistake.partition(" ")[0] in said
        settings.write_text(first + WORKSPACE.format(name="two").partition("\n\n")[2])
        while not await editor.marks("two/home.md", 1):
            pass
        (tmp_path / "two" / "team" / "none.md").write_text("# There now\n")
        while await editor.marks("two/home.md", 1):
            pass


async def test_a_folder_that_is_a_link_is_served_by_its_name(wiki: Path) -> None:
    link = wiki.with_name("link")
    link.symlink_to(wiki)
    async with editing(link, is_named=False) as editor:
        at = editor.at("home.md", editor.open("home.md"), "team/rules")
        assert len(await editor.marks("home.md", 1)) == 1
        there = await editor.client.text_document_definition_async(
            lsp.DefinitionParams(**at)
        )
        editor.type("home.md", "# Home\n\nSee [rules](team/rules), unsaved.\n", 2)
        assert await editor.marks("home.md", 2) == []
        with pytest.raises(Exception, match=r"home.md is not saved: save it first"):
            await editor.client.text_document_rename_async(
                lsp.RenameParams(new_name="team/conduct", **at)
            )
        editor.type("home.md", PAGES["home.md"], 3)
        renamed = await editor.renamed(("team/people.org", "people.org"))
    assert isinstance(there, lsp.Location)
    assert there.uri == (link / "team" / "rules.md").as_uri()
    assert renamed == {"team/people.org": ["[[file:team/rules.md][Rules]]"]}
    assert editor.said.empty()


@pytest.mark.asyncio(loop_scope="module")
async def test_links_follow_what_the_editor_renames_and_no_page_more(
    editor: Editor,
) -> None:
    """A file goes without the pages below it, and a folder without its own page."""
    below = {"team.md": "[a](team/rules)\n", "top.md": "[b](team)\n"}
    for path, text in below.items():
        (editor.root / path).write_text(text)
    page = await editor.renamed(("team.md", "crew.md"))
    folder = await editor.renamed(("team", "crew"))
    both = await editor.renamed(
        ("team/rules.md", "rules.md"), ("team/people.org", "people.org")
    )
    kept = await editor.renamed(("team/rules.md", "team/rules.org"), ("x", "y"))
    for path in below:
        (editor.root / path).unlink()
    assert page == {"top.md": ["[b](crew)"]}
    assert set(folder) == {"home.md", "team.md", "team/notes.asciidoc"}
    assert folder["team.md"] == ["[a](crew/rules)"]
    assert set(both) == {"home.md", "team.md", "team/notes.asciidoc"}
    assert both["team/notes.asciidoc"] == ["link:rules[Rules]"]
    assert kept == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_links_follow_files_that_the_editor_renames(editor: Editor) -> None:
    """A folder takes its pictures along, which plain pages beside it show."""
    texts = {"inner/page.md": "![a](red.png)\n", "top.md": "![b](inner/red.png)\n"}
    (editor.root / "inner").mkdir()
    for path, text in {**texts, "inner/red.png": "x"}.items():
        (editor.root / path).write_text(text)
    folder = await editor.renamed(("inner", "other"))
    picture = await editor.renamed(("inner/red.png", "blue.png"))
    away = await editor.renamed(("inner", str(editor.root.parent / "inner")))
    shutil.rmtree(editor.root / "inner")
    (editor.root / "top.md").unlink()
    assert folder == {"top.md": ["![b](other/red.png)"]}
    assert picture == {
        "inner/page.md": ["![a](../blue.png)"],
        "top.md": ["![b](blue.png)"],
    }
    assert away == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_rename_begins_with_the_whole_name(editor: Editor) -> None:
    """Editors offer the word at the cursor, which may be another folder's page."""
    text = editor.open("home.md")
    offered = [
        await editor.client.text_document_prepare_rename_async(
            lsp.PrepareRenameParams(**editor.at("home.md", text, word))
        )
        for word in ("team/rules", "See")
    ]
    names = [
        one.placeholder
        for one in offered
        if isinstance(one, lsp.PrepareRenamePlaceholder)
    ]
    assert names == ["team/rules", "home"]


async def test_a_byte_order_mark_is_no_text_that_is_not_saved(wiki: Path) -> None:
    """Editors keep it to themselves."""
    text = (wiki / "home.md").read_text()
    (wiki / "home.md").write_text(text, "utf-8-sig")
    async with editing(wiki) as editor:
        editor.open("home.md", text)
        renamed = await editor.renamed(("team/rules.md", "conduct.md"))
    assert renamed["home.md"] == ["See [rules](conduct) and [nothing](team/none)."]


def test_an_editor_that_is_gone_leaves_no_traceback(wiki: Path) -> None:
    asked: dict[str, object] = {"processId": None, "capabilities": {}}
    asked["rootUri"] = wiki.as_uri()
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
    ]
    bodies = [json.dumps(one).encode() for one in sent]
    frames = [b"Content-Length: %d\r\n\r\n%b" % (len(one), one) for one in bodies]
    done = subprocess.run(
        [sys.executable, "-m", "wikisync", "lsp"],
        input=b"".join(frames),
        env={**os.environ, "XDG_CACHE_HOME": str(wiki.with_name("cache"))},
        capture_output=True,
        check=True,
        timeout=WAIT_S,
    )
    assert b"renameProvider" in done.stdout
    assert done.stderr == b""


async def test_an_editor_that_never_began_is_answered_when_it_ends(wiki: Path) -> None:
    client = LanguageClient("tests", __version__)
    await client.start_io(sys.executable, "-m", "wikisync", "lsp", str(wiki))
    capabilities = lsp.ClientCapabilities()
    await client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
    async with asyncio.timeout(WAIT_S):
        await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]


async def test_a_rename_is_refused_where_the_editor_renames_no_files(
    wiki: Path,
) -> None:
    """It would change the links to the page, and leave its file."""
    async with editing(wiki, renames=False) as editor:
        at = editor.at("home.md", editor.open("home.md"), "team/rules")
        with pytest.raises(Exception, match="renames no files: use wikisync mv"):
            await editor.client.text_document_rename_async(
                lsp.RenameParams(new_name="team/conduct", **at)
            )


@pytest.mark.asyncio(loop_scope="module")
async def test_a_rename_is_refused_where_the_editor_holds_another_text(
    editor: Editor,
) -> None:
    text = editor.open("home.md")
    editor.type("home.md", f"{text}\nUnsaved.\n", 2)
    at = editor.at("home.md", text, "team/rules")
    with pytest.raises(Exception, match=r"home.md is not saved: save it first"):
        await editor.client.text_document_rename_async(
            lsp.RenameParams(new_name="team/conduct", **at)
        )
    assert (editor.root / "home.md").read_text() == text


@pytest.mark.asyncio(loop_scope="module")
async def test_a_long_line_of_schemes_holds_no_completion_up(editor: Editor) -> None:
    text = editor.open("home.md", f"{'file:' * 100_000} ends")
    async with asyncio.timeout(WAIT_S):
        assert await editor.labels("home.md", text, " ends") == []


async def test_a_place_is_in_the_line_that_editors_count(wiki: Path) -> None:
    (wiki / "home.md").write_text("a\fb\u2028c\U0001f600 [rules](team/rules)\r\n")
    async with editing(wiki) as editor:
        text = editor.open("home.md")
        at = editor.at("home.md", text, "\U0001f600 [rules](team")
        at["position"].character += 1  # its sign has two units
        there = await editor.client.text_document_definition_async(
            lsp.DefinitionParams(**at)
        )
        found = await editor.client.text_document_completion_async(
            lsp.CompletionParams(**at)
        )
    assert isinstance(there, lsp.Location)
    assert there.uri == editor.uri("team/rules.md")
    assert isinstance(found, lsp.CompletionList)
    (rules,) = (one for one in found.items if one.label == "team/rules")
    where = lsp.Range(lsp.Position(0, 16), lsp.Position(0, 20))
    assert rules.text_edit == lsp.TextEdit(where, "team/rules")


async def test_an_edit_counts_lines_as_editors_do(wiki: Path) -> None:
    """Python ends lines at a form feed, too, and at much else."""
    (wiki / "home.md").write_text("a\fb\u2028\r\n[rules](team/rules)\r\n")
    async with editing(wiki) as editor:
        at = editor.at("team/people.org", editor.open("team/people.org"), "rules.md")
        edit = await editor.client.text_document_rename_async(
            lsp.RenameParams(new_name="team/conduct", **at)
        )
    assert edit is not None
    changes = [
        one
        for one in edit.document_changes or ()
        if isinstance(one, lsp.TextDocumentEdit)
    ]
    (home,) = (one for one in changes if one.text_document.uri.endswith("home.md"))
    where = lsp.Range(lsp.Position(1, 0), lsp.Position(1, 19))
    assert list(home.edits) == [lsp.TextEdit(where, "[rules](team/conduct)")]

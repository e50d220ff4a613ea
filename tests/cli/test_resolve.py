import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Ran
from tests.support.quirks import Quirk
from tests.support.workspaces import HANDBOOK, HERE, PAGES, THERE, Cloned
from wikisync.core.model import Slug
from wikisync.errors import UsageError
from wikisync.folder.workspace import locked
from wikisync.workspace.resolving import persons_editor

Program = Callable[[str], None]
Tool = Callable[[str], str]
MINE, WIKI = "ONE\n\nTWO there\n\nTHREE here\n", "ONE\n\nTWO there\n\nTHREE there\n"
"""``home`` as it is settled: the parts that do not overlap are of both sides."""


async def resolve(cloned: Cloned, *words: str, page: str = "home") -> Ran:
    return await cloned.run("resolve", f"handbook/{page}", *words)


async def home_of(cloned: Cloned) -> str:
    return (await cloned.wiki())["home.md"]


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place for what a merge tool is given."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def given_to_tools(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("wikisync-*"))


def program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "program.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"'{path}' --wait"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Make a script the person's editor; its second word is the file."""
    return lambda script: monkeypatch.setenv("VISUAL", program(tmp_path, script))


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """Make a script a merge tool; its words two to five are the files."""
    places = "{base} {here} {wiki} {result}"
    return lambda script: f"{program(tmp_path, script)} {places}"


@pytest.mark.parametrize(
    ("choice", "settled"),
    [
        ("--mine", "THREE here\n"),
        ("--wiki", "THREE there\n"),
        ("--both", "THREE there\nTHREE here\n"),
    ],
)
async def test_choice_is_about_what_clashes_and_the_rest_is_merged(
    clashing: Cloned, choice: str, settled: str
) -> None:
    assert (await resolve(clashing, choice)).code == 0
    expected = f"ONE\n\nTWO there\n\n{settled}"
    assert clashing.read("home.md") == await home_of(clashing) == expected
    assert "home.conflict.md" not in clashing.files()
    assert not clashing.attention
    assert (await clashing.run("status")).code == 0


async def test_many_pages_are_settled_at_once(cloned: Cloned) -> None:
    for slug in ("team/rules", "guide"):
        cloned.write(f"{slug}.md", "mine\n")
    await cloned.edit({"team/rules": "theirs\n", "guide": "theirs\n"})
    assert (await cloned.run("sync")).code == 3
    ran = await cloned.run(
        *("resolve", "handbook/team/", "handbook/guide", "handbook/home"),
        *("--both", "--json"),
    )
    assert ran.code == 0
    assert [(one["page"], one["outcome"]) for one in ran.json] == [
        ("handbook/team/rules", "synced"),
        ("handbook/guide", "synced"),
        ("handbook/home", "no-conflict"),
    ]
    (synced,), _, (seen,) = (one["wikis"] for one in ran.json)
    assert (synced["folder"], synced["pushed"], synced["held"]) == ("handbook", 2, [])
    assert seen["pages"] == 4
    both = {"team/rules.md": "theirs\nmine\n", "guide.md": "theirs\nmine\n"}
    assert {name: (await cloned.wiki())[name] for name in both} == both


async def test_text_that_resolve_replaced_can_be_had_again(clashing: Cloned) -> None:
    await resolve(clashing, "--wiki")
    assert (await clashing.run("restore", "handbook/home")).code == 0
    assert clashing.read("home.md") == HERE


async def test_what_the_person_settled_already_stays_settled(clashing: Cloned) -> None:
    clashing.write("home.conflict.md", "all settled by hand\n")
    await resolve(clashing, "--wiki")
    assert await home_of(clashing) == "all settled by hand\n"


async def test_conflict_that_no_sync_has_seen_is_found(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"guide": "theirs\n"})
    assert (await resolve(cloned, "--wiki", page="guide")).code == 0
    assert cloned.read("guide.md") == "theirs\n"


@pytest.mark.parametrize(
    "ruin", [b"", b"%%%% wikisync conflict 1 of 1: here %%%%\n", b"\xff\xfe"]
)
async def test_broken_conflict_file_is_settled(clashing: Cloned, ruin: bytes) -> None:
    (clashing.folder / "home.conflict.md").unlink()
    if ruin:
        (clashing.folder / "home.conflict.md").write_bytes(ruin)
    assert (await resolve(clashing, "--mine")).code == 0
    assert await home_of(clashing) == MINE


async def test_edit_on_the_wiki_since_then_stays(clashing: Cloned) -> None:
    await clashing.edit({"home": THERE + "\nlater\n"})
    assert (await resolve(clashing, "--mine")).code == 0
    assert (await home_of(clashing)).endswith("THREE here\n\nlater\n")


async def test_edit_here_since_then_is_not_lost(clashing: Cloned) -> None:
    clashing.write("home.md", HERE + "later\n")
    await resolve(clashing, "--wiki")
    assert "later" in "".join(clashing.files().values())


async def test_page_in_sync_has_no_conflict(cloned: Cloned) -> None:
    ran = await resolve(cloned, "--mine")
    ran.ended(0, "handbook/home: there is no conflict to resolve")


async def test_page_held_for_another_reason_is_told_what_to_do(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.SMALL_LIMITS}
    cloned.write("guide.md", "x" * 70_000)
    await cloned.run("sync")
    ran = await resolve(cloned, "--mine", page="guide")
    ran.ended(3, "the service refused it; it says: content is too long")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "add --mine, --wiki, --both, or --edit"),
        (("--wiki", "--mine"), "--mine and --wiki cannot be used together"),
        (("--both", "--edit"), "--both and --edit cannot be used together"),
        (("--mine", "--wiki", "--both"), "--mine and --wiki and --both cannot"),
        (("--tool", "meld {result}", "--mine"), "--mine and --tool cannot"),
        (("--tool", "meld {result}", "--edit"), "--edit and --tool cannot"),
        (("--tool", "meld {here} {wiki}"), "no place for the result"),
        (("--tool", "meld '{result}"), "cannot be read"),
    ],
)
async def test_what_cannot_be_meant_is_a_usage_error(
    clashing: Cloned, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    """The last one of two ways would win, and a text go that nobody gave up."""
    (await resolve(clashing, *words)).ended(2, said)
    assert clashing.read("home.md") == HERE
    assert await home_of(clashing) == THERE
    assert given_to_tools(tmp_path) == []


async def test_running_watch_is_left_to_take_it(clashing: Cloned) -> None:
    with locked(clashing.root / ".wikisync", "it"):
        ran = await resolve(clashing, "--wiki", "--json")
    assert (ran.code, ran.json[0]["outcome"]) == (0, "settled")
    assert "the running wikisync applies it (process" in ran.json[0]["sentence"]
    assert clashing.read("home.md") == HERE
    await clashing.run("sync")
    assert clashing.read("home.md") == WIKI


async def test_page_that_is_nowhere_is_told_beside_watch(clashing: Cloned) -> None:
    with locked(clashing.root / ".wikisync", "it"):
        ran = await resolve(clashing, "--mine", page="nosuch")
    ran.ended(2, "handbook/nosuch: there is no such page")


async def test_choice_is_kept_while_the_service_is_away(clashing: Cloned) -> None:
    clashing.service.quirks = {Quirk.TOKEN_REVOKED}
    ran = await resolve(clashing, "--mine", "--json")
    assert ran.code == 1
    assert ran.json[0]["wikis"][0]["error"]["message"]
    clashing.service.quirks = ()
    assert (await clashing.run("sync")).code == 0
    assert await home_of(clashing) == MINE


# -- in an editor ------------------------------------------------------------------


async def test_editor_saves_the_page(clashing: Cloned, editor: Program) -> None:
    editor('echo "$1" > "$2.seen"; echo settled > "$2"')
    assert (await resolve(clashing, "--edit")).code == 0
    assert await home_of(clashing) == "settled\n"


async def test_editor_may_leave_clashes(clashing: Cloned, editor: Program) -> None:
    """A conflict file that was hidden is there again for it."""
    (clashing.folder / "home.conflict.md").unlink()
    editor("true")
    ran = await resolve(clashing, "--edit", "--json")
    assert (ran.code, ran.json[0]["outcome"]) == (3, "unsettled")
    assert "1 unresolved part left" in ran.json[0]["sentence"]
    assert clashing.read("home.md") == HERE
    assert "THREE there" in clashing.read("home.conflict.md")


@pytest.mark.parametrize(
    ("script", "words"), [("exit 3", "ended with exit code 3"), ("", "cannot be run")]
)
async def test_editor_that_fails_takes_nothing(
    clashing: Cloned, editor: Program, tmp_path: Path, script: str, words: str
) -> None:
    editor(script)
    if not script:
        (tmp_path / "program.sh").unlink()
    (await resolve(clashing, "--edit")).ended(2, words)
    assert clashing.read("home.md") == HERE


def test_editor_is_the_persons_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "code --wait")
    monkeypatch.setenv("EDITOR", "vi")
    assert persons_editor() == ["code", "--wait"]
    monkeypatch.delenv("VISUAL")
    assert persons_editor() == ["vi"]
    monkeypatch.setenv("EDITOR", "vi '")
    with pytest.raises(UsageError, match="cannot be read"):
        persons_editor()


# -- something in the place of the conflict file -------------------------------------


@pytest.fixture
async def placeless(clashing: Cloned) -> Cloned:
    """A folder has the name of the conflict file."""
    (clashing.folder / "home.conflict.md").unlink()
    clashing.write("home.conflict.md/notes.txt", "notes\n")
    assert (await clashing.run("sync")).code == 3
    return clashing


def place_notes(placeless: Cloned) -> None:
    """Put a file in the folder's place: it may be what was in it."""
    (placeless.folder / "home.conflict.md").rename(placeless.root.parent / "away")
    placeless.write("home.conflict.md", "some notes\n")


async def test_page_without_a_conflict_file_is_settled(placeless: Cloned) -> None:
    assert (await resolve(placeless, "--mine")).code == 0
    assert await home_of(placeless) == MINE
    assert placeless.read("home.conflict.md/notes.txt") == "notes\n"
    assert not placeless.attention
    assert (await placeless.run("sync")).code == 0


async def test_edits_since_then_are_seen_before_it_is_settled(
    placeless: Cloned,
) -> None:
    """No conflict file can show what they clash with."""
    placeless.write("home.md", HERE.replace("THREE here", "THREE here, later"))
    assert (await resolve(placeless, "--wiki")).code == 0
    assert await home_of(placeless) == WIKI


async def test_choice_without_a_conflict_file_is_kept(placeless: Cloned) -> None:
    """While the service is away; a file that came into its place says nothing."""
    place_notes(placeless)
    placeless.service.quirks = {Quirk.TOKEN_REVOKED}
    assert (await resolve(placeless, "--mine")).code == 1
    placeless.service.quirks = ()
    assert (await placeless.run("sync")).code == 0
    assert await home_of(placeless) == MINE


async def test_place_taken_since_is_settled(clashing: Cloned, tmp_path: Path) -> None:
    (clashing.folder / "home.conflict.md").unlink()
    (clashing.folder / "home.conflict.md").symlink_to(tmp_path / "outside")
    assert (await resolve(clashing, "--mine")).code == 0
    assert await home_of(clashing) == MINE
    assert not (tmp_path / "outside").exists()


async def test_file_that_came_into_its_place_is_not_taken_for_it(
    placeless: Cloned, editor: Program
) -> None:
    place_notes(placeless)
    editor("true")
    (await resolve(placeless, "--edit")).ended(3, "1 unresolved part left")
    assert "THREE there" in placeless.read("home.conflict.md")


async def test_editor_and_merge_tool_need_the_conflict_file(
    placeless: Cloned, editor: Program, tool: Tool
) -> None:
    editor('echo settled > "$2"')
    for way in (["--edit"], ["--tool", tool('echo settled > "$5"')]):
        ran = await resolve(placeless, *way)
        ran.ended(1, "handbook/home has no conflict file to edit")
    assert placeless.read("home.md") == HERE


@pytest.mark.parametrize("way", ["--mine", "--edit"])
async def test_running_watch_without_a_conflict_file_cannot_be_left_to_take_it(
    placeless: Cloned, editor: Program, way: str
) -> None:
    editor("true")
    with locked(placeless.root / ".wikisync", "it"):
        ran = await resolve(placeless, way)
    ran.ended(1, "handbook/home has no conflict file, which the running")
    assert "stop it, or see wikisync status handbook" in ran.err


# -- in a merge tool ---------------------------------------------------------------


async def test_merge_tool_gets_three_texts_and_its_result_is_the_page(
    clashing: Cloned, tool: Tool, tmp_path: Path
) -> None:
    words = tool(f'cp "$2" "$3" "$4" {tmp_path}; echo settled > "$5"')
    assert (await resolve(clashing, "--tool", words)).code == 0
    assert await home_of(clashing) == "settled\n"
    given = [(tmp_path / f"{name}.md").read_text() for name in ("base", "here", "wiki")]
    assert given == [PAGES["home"], HERE, THERE]
    assert given_to_tools(tmp_path) == []


async def test_page_without_a_base_has_an_empty_one(cloned: Cloned, tool: Tool) -> None:
    cloned.write("new.org", "mine\n")
    await cloned.service.put_file(HANDBOOK, "new.org", b"theirs\n")
    await cloned.run("sync")
    words = tool('cat "$2" "$3" "$4" > "$5"')
    assert (await resolve(cloned, "--tool", words, page="new")).code == 0
    assert (await cloned.wiki())["new.org"] == "mine\ntheirs\n"


async def test_result_begins_with_what_is_settled(clashing: Cloned, tool: Tool) -> None:
    text = clashing.read("home.conflict.md")
    clashing.write("home.conflict.md", f"begun\n{text}")
    (await resolve(clashing, "--tool", tool("true"))).ended(3, "1 unresolved part left")
    assert clashing.read("home.conflict.md") == f"begun\n{text}"


@pytest.mark.parametrize(
    "script",
    [
        'echo "<<<<<<< here" > "$5"',
        ': > "$5"',
        'rm "$5"',
        "printf '\\377' > \"$5\"",
        'echo settled > "$5"; exit 1',
    ],
)
async def test_result_that_is_none_takes_nothing(
    clashing: Cloned, tool: Tool, script: str
) -> None:
    before = clashing.read("home.conflict.md")
    (await resolve(clashing, "--tool", tool(script))).ended(2, "nothing was applied")
    assert clashing.read("home.conflict.md") == before
    assert clashing.read("home.md") == HERE


async def test_edit_while_the_tool_is_open_is_not_written_over(
    clashing: Cloned, tool: Tool, tmp_path: Path
) -> None:
    with clashing.state() as state:
        record = state.wiki(HANDBOOK).conflict_files()[Slug("home")]
    renew = tmp_path / "renew.py"
    renew.write_text(RENEW.format(root=clashing.root))
    words = tool(f'echo settled > "$5"; {sys.executable} {renew}')
    ran = await resolve(clashing, "--tool", words)
    ran.ended(1, "was edited or resolved meanwhile")
    assert clashing.read("home.md") == HERE
    assert await home_of(clashing) == record.remote
    (folder,) = given_to_tools(tmp_path)
    assert (folder / "result.md").read_text() == "settled\n"


RENEW = """
from msgspec.structs import replace
from pathlib import Path
from wikisync.core.model import Slug, WikiOwner
from wikisync.sync.base.state import State
with State.open(Path("{root}/.wikisync/state.db")) as state:
    wiki = state.wiki(WikiOwner("project", "docs/handbook"))
    record = wiki.conflict_files()[Slug("home")]
    wiki.record_conflict_file(Slug("home"), replace(record, remote="newer\\n"))
"""

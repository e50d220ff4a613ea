import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.quirks import Quirk
from tests.support.workspaces import HANDBOOK, HERE, PAGES, THERE, Cloned
from wikisync.core.model import Slug
from wikisync.errors import UsageError
from wikisync.folder.workspace import locked
from wikisync.workspace.resolving import persons_editor


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
    ran = await clashing.run("resolve", "handbook/home", choice)
    assert ran.code == 0
    expected = f"ONE\n\nTWO there\n\n{settled}"
    assert clashing.read("home.md") == expected
    assert (await clashing.wiki())["home.md"] == expected
    assert "home.conflict.md" not in clashing.files()
    assert not (clashing.root / "WIKISYNC-ATTENTION.md").exists()
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
    both = {"team/rules.md": "theirs\nmine\n", "guide.md": "theirs\nmine\n"}
    assert {name: (await cloned.wiki())[name] for name in both} == both


async def test_text_that_resolve_replaced_can_be_had_again(clashing: Cloned) -> None:
    await clashing.run("resolve", "handbook/home", "--wiki")
    ran = await clashing.run("restore", "handbook/home")
    assert ran.code == 0
    assert clashing.read("home.md") == HERE


async def test_page_created_on_both_sides_is_settled_as_a_whole(cloned: Cloned) -> None:
    cloned.write("new.md", "mine\n")
    await cloned.edit({"new": "theirs\n"})
    assert (await cloned.run("sync")).code == 3
    ran = await cloned.run("resolve", cloned.folder / "new.md", "--mine")
    assert ran.code == 0
    assert (await cloned.wiki())["new.md"] == "mine\n"


async def test_what_the_person_settled_already_stays_settled(clashing: Cloned) -> None:
    clashing.write("home.conflict.md", "all settled by hand\n")
    await clashing.run("resolve", "handbook/home", "--wiki")
    assert (await clashing.wiki())["home.md"] == "all settled by hand\n"


async def test_conflict_that_no_sync_has_seen_yet_is_found_first(
    cloned: Cloned,
) -> None:
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"guide": "theirs\n"})
    ran = await cloned.run("resolve", "handbook/guide", "--wiki")
    assert ran.code == 0
    assert cloned.read("guide.md") == "theirs\n"


@pytest.mark.parametrize(
    "ruin", [b"", b"%%%% wikisync conflict 1 of 1: here %%%%\n", b"\xff\xfe"]
)
async def test_removed_or_broken_conflict_file_is_no_hindrance(
    clashing: Cloned, ruin: bytes
) -> None:
    (clashing.folder / "home.conflict.md").unlink()
    if ruin:
        (clashing.folder / "home.conflict.md").write_bytes(ruin)
    ran = await clashing.run("resolve", "handbook/home", "--mine")
    assert ran.code == 0
    assert (await clashing.wiki())["home.md"] == "ONE\n\nTWO there\n\nTHREE here\n"


async def test_edit_on_the_wiki_since_then_is_not_written_over(
    clashing: Cloned,
) -> None:
    await clashing.edit({"home": THERE + "\nlater\n"})
    ran = await clashing.run("resolve", "handbook/home", "--mine")
    assert ran.code == 0
    assert (await clashing.wiki())["home.md"].endswith("THREE here\n\nlater\n")


async def test_edit_here_since_then_is_not_lost(clashing: Cloned) -> None:
    clashing.write("home.md", HERE + "later\n")
    await clashing.run("resolve", "handbook/home", "--wiki")
    assert "later" in "".join(clashing.files().values())


async def test_page_in_sync_has_no_conflict(cloned: Cloned) -> None:
    ran = await cloned.run("resolve", "handbook/home", "--mine")
    assert ran.code == 0
    assert "handbook/home: there is no conflict to resolve" in ran.err


async def test_page_held_for_another_reason_is_told_what_to_do(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.SMALL_LIMITS}
    cloned.write("guide.md", "x" * 70_000)
    await cloned.run("sync")
    ran = await cloned.run("resolve", "handbook/guide", "--mine")
    assert ran.code == 3
    assert "the service refused it; it says: content is too long" in ran.err


async def test_no_choice_is_a_usage_error(clashing: Cloned) -> None:
    ran = await clashing.run("resolve", "handbook/home")
    assert ran.code == 2
    assert "add --mine, --wiki, --both, or --edit" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mine", "--wiki"), "--mine and --wiki cannot be used together"),
        (("--wiki", "--mine"), "--mine and --wiki cannot be used together"),
        (("--both", "--edit"), "--both and --edit cannot be used together"),
        (("--mine", "--wiki", "--both"), "--mine and --wiki and --both cannot"),
    ],
)
async def test_two_ways_at_once_are_a_usage_error(
    clashing: Cloned, words: tuple[str, ...], said: str
) -> None:
    """The last one would win, and a text would go that nobody gave up."""
    ran = await clashing.run("resolve", "handbook/home", *words)
    assert ran.code == 2
    assert said in ran.err
    assert clashing.read("home.md") == HERE
    assert (await clashing.wiki())["home.md"] == THERE


async def test_running_watch_is_left_to_take_it(clashing: Cloned) -> None:
    with locked(clashing.root / ".wikisync", "it"):
        ran = await clashing.run("resolve", "handbook/home", "--wiki")
    assert ran.code == 0
    assert "the running wikisync applies it (process" in ran.err
    assert clashing.read("home.md") == HERE
    await clashing.run("sync")
    assert clashing.read("home.md") == "ONE\n\nTWO there\n\nTHREE there\n"


async def test_page_that_exists_nowhere_is_a_usage_error_also_while_watch_runs(
    clashing: Cloned,
) -> None:
    with locked(clashing.root / ".wikisync", "it"):
        ran = await clashing.run("resolve", "handbook/nosuch", "--mine")
    assert ran.code == 2
    assert "handbook/nosuch: there is no such page" in ran.err


async def test_service_away_keeps_what_was_decided_for_the_next_sync(
    clashing: Cloned,
) -> None:
    clashing.service.quirks = {Quirk.TOKEN_REVOKED}
    ran = await clashing.run("resolve", "handbook/home", "--mine")
    assert ran.code == 1
    clashing.service.quirks = ()
    assert (await clashing.run("sync")).code == 0
    assert (await clashing.wiki())["home.md"] == "ONE\n\nTWO there\n\nTHREE here\n"


# -- in an editor ------------------------------------------------------------------


def editor(tmp_path: Path, script: str) -> str:
    path = tmp_path / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"'{path}' --wait"


async def test_editor_opens_the_conflict_file_and_what_it_saves_is_the_page(
    clashing: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = editor(tmp_path, 'echo "$1" > "$2.seen"; echo settled > "$2"')
    monkeypatch.setenv("VISUAL", words)
    ran = await clashing.run("resolve", "handbook/home", "--edit")
    assert ran.code == 0
    assert (await clashing.wiki())["home.md"] == "settled\n"


async def test_editor_that_leaves_clashes_leaves_the_page_held(
    clashing: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "true"))
    ran = await clashing.run("resolve", "handbook/home", "--edit")
    assert ran.code == 3
    assert "1 unresolved part left" in ran.err
    assert clashing.read("home.md") == HERE


async def test_hidden_conflict_file_is_there_again_for_the_editor(
    clashing: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clashing.folder / "home.conflict.md").unlink()
    monkeypatch.setenv("VISUAL", editor(tmp_path, "true"))
    await clashing.run("resolve", "handbook/home", "--edit")
    assert "THREE there" in clashing.read("home.conflict.md")


@pytest.mark.parametrize(
    ("script", "words"), [("exit 3", "ended with exit code 3"), (None, "cannot be run")]
)
async def test_editor_that_fails_takes_nothing(
    clashing: Cloned,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str | None,
    words: str,
) -> None:
    named = editor(tmp_path, script) if script else str(tmp_path / "none")
    monkeypatch.setenv("VISUAL", named)
    ran = await clashing.run("resolve", "handbook/home", "--edit")
    assert ran.code == 2
    assert words in ran.err
    assert clashing.read("home.md") == HERE


def test_editor_is_the_persons_own() -> None:
    assert persons_editor({"VISUAL": "code --wait", "EDITOR": "vi"}) == [
        "code",
        "--wait",
    ]
    assert persons_editor({"EDITOR": "vi"}) == ["vi"]


def test_open_quotation_mark_in_the_editors_name_is_told() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        persons_editor({"EDITOR": "vi '"})


# -- something in the place of the conflict file -------------------------------------


@pytest.fixture
async def placeless(clashing: Cloned) -> Cloned:
    """A folder has the name of the conflict file."""
    (clashing.folder / "home.conflict.md").unlink()
    clashing.write("home.conflict.md/notes.txt", "notes\n")
    assert (await clashing.run("sync")).code == 3
    return clashing


@pytest.mark.parametrize(
    ("choice", "settled"),
    [
        ("--mine", "THREE here\n"),
        ("--wiki", "THREE there\n"),
        ("--both", "THREE there\nTHREE here\n"),
    ],
)
async def test_page_without_a_conflict_file_is_settled(
    placeless: Cloned, choice: str, settled: str
) -> None:
    ran = await placeless.run("resolve", "handbook/home", choice)
    assert ran.code == 0
    assert (await placeless.wiki())["home.md"] == f"ONE\n\nTWO there\n\n{settled}"
    assert placeless.read("home.conflict.md/notes.txt") == "notes\n"
    assert not (placeless.root / "WIKISYNC-ATTENTION.md").exists()
    assert (await placeless.run("sync")).code == 0


async def test_edits_since_the_last_sync_are_seen_before_it_is_settled(
    placeless: Cloned,
) -> None:
    """No conflict file can show what they clash with."""
    placeless.write("home.md", HERE.replace("THREE here", "THREE here, later"))
    ran = await placeless.run("resolve", "handbook/home", "--wiki")
    assert ran.code == 0
    assert (await placeless.wiki())["home.md"] == "ONE\n\nTWO there\n\nTHREE there\n"


async def test_choice_without_a_conflict_file_is_kept_for_the_next_sync(
    placeless: Cloned, tmp_path: Path
) -> None:
    """While the service is away; a file that came into its place says nothing."""
    (placeless.folder / "home.conflict.md").rename(tmp_path / "away")
    placeless.write("home.conflict.md", "some notes\n")
    placeless.service.quirks = {Quirk.TOKEN_REVOKED}
    assert (await placeless.run("resolve", "handbook/home", "--mine")).code == 1
    placeless.service.quirks = ()
    assert (await placeless.run("sync")).code == 0
    assert (await placeless.wiki())["home.md"] == "ONE\n\nTWO there\n\nTHREE here\n"


async def test_place_taken_since_the_last_sync_is_no_hindrance(
    clashing: Cloned, tmp_path: Path
) -> None:
    (clashing.folder / "home.conflict.md").unlink()
    (clashing.folder / "home.conflict.md").symlink_to(tmp_path / "outside")
    ran = await clashing.run("resolve", "handbook/home", "--mine")
    assert ran.code == 0
    assert (await clashing.wiki())["home.md"] == "ONE\n\nTWO there\n\nTHREE here\n"
    assert not (tmp_path / "outside").exists()


async def test_file_that_came_into_its_place_is_not_taken_for_it(
    placeless: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be what was in the folder, or where a link led."""
    (placeless.folder / "home.conflict.md").rename(tmp_path / "away")
    placeless.write("home.conflict.md", "some notes\n")
    monkeypatch.setenv("VISUAL", editor(tmp_path, "true"))
    ran = await placeless.run("resolve", "handbook/home", "--edit")
    assert ran.code == 3
    assert "1 unresolved part left" in ran.err
    assert "THREE there" in placeless.read("home.conflict.md")


async def test_editor_needs_the_conflict_file(
    placeless: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'echo settled > "$2"'))
    ran = await placeless.run("resolve", "handbook/home", "--edit")
    assert ran.code == 1
    assert "handbook/home has no conflict file to edit" in ran.err
    assert placeless.read("home.md") == HERE


async def test_page_edited_while_a_tool_is_open_beside_a_taken_place_stays(
    placeless: Cloned, tmp_path: Path
) -> None:
    renew = tmp_path / "renew.py"
    renew.write_text(RENEW.format(root=placeless.root, url=placeless.service.url))
    words = tool(tmp_path, f'echo settled > "$5"; {sys.executable} {renew}')
    ran = await placeless.run("resolve", "handbook/home", "--tool", words)
    assert ran.code == 1
    assert "was edited or resolved meanwhile" in ran.err
    assert placeless.read("home.md") == HERE


async def test_unsettled_result_beside_a_taken_place_takes_nothing_and_stays(
    placeless: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    words = tool(tmp_path, 'echo begun >> "$5"')
    ran = await placeless.run("resolve", "handbook/home", "--tool", words)
    assert ran.code == 2
    (result,) = tmp_path.glob("wikisync-*/result.md")
    assert f"{result} is not resolved: 1 unresolved part left" in ran.err
    assert result.read_text().endswith("begun\n")
    assert placeless.read("home.md") == HERE


async def test_merge_tool_needs_no_conflict_file(
    placeless: Cloned, tmp_path: Path
) -> None:
    words = tool(tmp_path, 'echo settled > "$5"')
    ran = await placeless.run("resolve", "handbook/home", "--tool", words)
    assert ran.code == 0
    assert (await placeless.wiki())["home.md"] == "settled\n"


@pytest.mark.parametrize("way", ["--mine", "--edit"])
async def test_running_watch_without_a_conflict_file_cannot_be_left_to_take_it(
    placeless: Cloned, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("VISUAL", "true")
    with locked(placeless.root / ".wikisync", "it"):
        ran = await placeless.run("resolve", "handbook/home", way)
    assert ran.code == 1
    assert "handbook/home has no conflict file, which the running" in ran.err
    assert "stop it, or see wikisync status handbook" in ran.err


# -- for programs ------------------------------------------------------------------


async def test_json_tells_what_came_of_it(clashing: Cloned) -> None:
    ran = await clashing.run("resolve", "handbook/home", "--mine", "--json")
    assert ran.code == 0
    (page,) = ran.json
    assert (page["page"], page["outcome"]) == ("handbook/home", "synced")
    (wiki,) = page["wikis"]
    assert (wiki["folder"], wiki["pushed"], wiki["held"]) == ("handbook", 1, [])


async def test_json_tells_that_a_running_watch_takes_it(clashing: Cloned) -> None:
    with locked(clashing.root / ".wikisync", "it"):
        ran = await clashing.run("resolve", "handbook/home", "--wiki", "--json")
    assert (ran.code, ran.json[0]["outcome"]) == (0, "settled")


async def test_json_tells_that_there_is_no_conflict(cloned: Cloned) -> None:
    ran = await cloned.run("resolve", "handbook/home", "--mine", "--json")
    assert (ran.code, ran.json[0]["outcome"]) == (0, "no-conflict")
    assert ran.json[0]["wikis"][0]["pages"] == 4


async def test_json_tells_what_an_editor_left(
    clashing: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "true"))
    ran = await clashing.run("resolve", "handbook/home", "--edit", "--json")
    assert (ran.code, ran.json[0]["outcome"]) == (3, "unsettled")
    assert "1 unresolved part left" in ran.json[0]["sentence"]


async def test_json_tells_why_the_service_did_not_take_it(clashing: Cloned) -> None:
    clashing.service.quirks = {Quirk.TOKEN_REVOKED}
    ran = await clashing.run("resolve", "handbook/home", "--mine", "--json")
    assert ran.code == 1
    assert ran.json[0]["wikis"][0]["error"]["message"]


# -- in a merge tool ---------------------------------------------------------------

TOOL = "{base} {here} {wiki} {result}"


def tool(tmp_path: Path, script: str) -> str:
    return f"{editor(tmp_path, script)} {TOOL}"


async def test_merge_tool_gets_three_texts_and_its_result_is_the_page(
    clashing: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = f'cp "$2" "$3" "$4" {tmp_path}; echo settled > "$5"'
    words = tool(tmp_path, script)
    ran = await clashing.run("resolve", "handbook/home", "--tool", words)
    assert ran.code == 0
    assert (await clashing.wiki())["home.md"] == "settled\n"
    given = [(tmp_path / f"{name}.md").read_text() for name in ("base", "here", "wiki")]
    assert given == [PAGES["home"], HERE, THERE]
    assert list(tmp_path.glob("wikisync-*")) == []


async def test_page_without_an_earlier_text_has_an_empty_base(
    cloned: Cloned, tmp_path: Path
) -> None:
    cloned.write("new.org", "mine\n")
    await cloned.service.put_file(HANDBOOK, "new.org", b"theirs\n")
    await cloned.run("sync")
    words = tool(tmp_path, 'cat "$2" "$3" "$4" > "$5"')
    ran = await cloned.run("resolve", "handbook/new", "--tool", words)
    assert ran.code == 0
    assert (await cloned.wiki())["new.org"] == "mine\ntheirs\n"


async def test_result_begins_with_what_is_settled_already(
    clashing: Cloned, tmp_path: Path
) -> None:
    text = clashing.read("home.conflict.md")
    clashing.write("home.conflict.md", f"begun\n{text}")
    ran = await clashing.run(
        "resolve", "handbook/home", "--tool", tool(tmp_path, "true")
    )
    assert ran.code == 3
    assert "1 unresolved part left" in ran.err
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
    clashing: Cloned, tmp_path: Path, script: str
) -> None:
    before = clashing.read("home.conflict.md")
    words = tool(tmp_path, script)
    ran = await clashing.run("resolve", "handbook/home", "--tool", words)
    assert ran.code == 2
    assert "nothing was applied" in ran.err
    assert clashing.read("home.conflict.md") == before
    assert clashing.read("home.md") == HERE


async def test_edit_while_the_tool_is_open_is_not_written_over(
    clashing: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with clashing.state() as state:
        record = state.wiki(HANDBOOK).conflict_files()[Slug("home")]
    renew = tmp_path / "renew.py"
    renew.write_text(RENEW.format(root=clashing.root, url=clashing.service.url))
    words = tool(tmp_path, f'echo settled > "$5"; {sys.executable} {renew}')
    ran = await clashing.run("resolve", "handbook/home", "--tool", words)
    assert ran.code == 1
    assert "was edited or resolved meanwhile" in ran.err
    assert (await clashing.wiki())["home.md"] == record.remote
    (result,) = tmp_path.glob("wikisync-*/result.md")
    assert result.read_text() == "settled\n"


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tool", "meld {here} {wiki}"), "no place for the result"),
        (("--tool", "meld '{result}"), "cannot be read"),
        (("--tool", "meld {result}", "--mine"), "--mine and --tool cannot"),
        (("--tool", "meld {result}", "--edit"), "--edit and --tool cannot"),
    ],
)
async def test_tool_that_cannot_be_meant_is_a_usage_error(
    clashing: Cloned,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ran = await clashing.run("resolve", "handbook/home", *words)
    assert ran.code == 2
    assert said in ran.err
    assert list(tmp_path.glob("wikisync-*")) == []

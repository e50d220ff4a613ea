"""``WIKISYNC-ATTENTION.md``: what stands in it, what it replaces, and when it goes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.agreed import agree_to
from tests.support.quirks import Quirk
from tests.support.workspaces import FILES, Cloned
from wikisync.config.sections import WikiSection
from wikisync.core.model import Problem
from wikisync.errors import FolderError, NotFound, Unavailable
from wikisync.workspace import attention, failures
from wikisync.workspace.opening import Synced

PACKAGE = Path(failures.__file__).parent.parent
SECTION = WikiSection("project", "docs/handbook", "handbook")
WAITS = "# wikisync needs your decision\n\n- handbook: waits\n"


def lines(root: Path) -> list[str]:
    """What the file of a workspace says."""
    return list(attention.read_attention(root))


async def hold(cloned: Cloned, *slugs: str) -> None:
    """Edit pages on both sides, and sync."""
    for slug in slugs:
        cloned.write(f"{slug}.md", "mine\n")
    await cloned.edit(dict.fromkeys(slugs, "theirs\n"))
    await cloned.run("sync")


# -- who is called -----------------------------------------------------------------


async def test_refused_token_is_told_until_one_is_taken(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside what waits already, of which a sync without a token sees nothing."""
    await hold(cloned, "guide")
    before = lines(cloned.root)
    with monkeypatch.context() as patch:
        patch.setenv("WIKISYNC_TOKEN", "glpat-EXAMPLE")
        await cloned.run("sync")
        (refused, *others) = lines(cloned.root)
    assert refused.startswith(
        "- the service: it rejects the token, so saves wait; check"
    )
    assert others == before != []
    await cloned.run("sync")
    assert lines(cloned.root) == before


async def test_page_that_the_service_refuses_is_told_until_it_is_taken(
    cloned: Cloned,
) -> None:
    cloned.service.quirks = {Quirk.SMALL_LIMITS}
    cloned.write("large.md", "x" * 70_000)
    await cloned.run("sync")
    (line,) = lines(cloned.root)
    assert line.startswith("- handbook/large: the service rejected it: ")
    assert "fix the cause" in line
    cloned.write("large.md", "small\n")
    await cloned.run("sync")
    assert lines(cloned.root) == []


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"a\0b\n", "contains a NUL character, which a page cannot have; remove the"),
        (b"caf\xe9\n", "is not UTF-8 at byte 3; save it as UTF-8"),
    ],
)
async def test_page_that_is_no_text_is_told_until_it_is_one(
    cloned: Cloned, content: bytes, wrong: str
) -> None:
    (cloned.folder / "guide.md").write_bytes(content)
    await cloned.run("sync")
    (line,) = lines(cloned.root)
    assert line.startswith(f"- handbook/guide.md: {wrong}")
    cloned.write("guide.md", "text\n")
    await cloned.run("sync")
    assert lines(cloned.root) == []


async def test_what_passes_by_itself_calls_nobody(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.MAINTENANCE}
    cloned.write("guide.md", "mine\n")
    ran = await cloned.run("sync", "--json")
    problems = ran.json["wikis"][0]["problems"]
    assert [one["code"] for one in problems] == ["page-unavailable"]
    assert lines(cloned.root) == []


async def test_service_that_is_away_leaves_the_file_as_it_is(cloned: Cloned) -> None:
    await hold(cloned, "guide")
    before = lines(cloned.root)
    config = cloned.root / "wikisync.toml"
    text = config.read_text()
    config.write_text(text.replace(cloned.service.url, "http://127.0.0.1:9"))
    agree_to(cloned.root)
    assert (await cloned.run("sync")).code == 1
    assert lines(cloned.root) == before != []


async def test_workspace_that_is_halted_is_told_until_it_is_adopted(
    cloned: Cloned,
) -> None:
    await hold(cloned, "guide")
    (page,) = lines(cloned.root)
    (cloned.root / ".wikisync/folder-id").unlink()
    await cloned.run("sync", "--dry-run")
    assert lines(cloned.root) == [page]
    await cloned.run("sync")
    (halted, *others) = lines(cloned.root)
    assert halted.startswith(f"- the workspace: {cloned.root} does not look like")
    assert others == [page]
    await cloned.run("adopt")
    await cloned.run("sync")
    assert lines(cloned.root) == [page]


def test_every_problem_that_calls_nobody_is_one_that_there_is() -> None:
    """One that got another name would call everybody."""
    folders = ("api", "folder", "sync", "workspace")
    paths = [path for name in folders for path in (PACKAGE / name).rglob("*.py")]
    text = "".join(path.read_text() for path in paths if path.name != "failures.py")
    named = {code for code in failures.TRANSIENT_PROBLEMS if f'"{code}"' in text}
    assert named == failures.TRANSIENT_PROBLEMS


# -- which lines are renewed -------------------------------------------------------


async def test_sync_of_one_page_renews_the_line_of_this_page_alone(
    cloned: Cloned,
) -> None:
    await hold(cloned, "guide", "home")
    cloned.write("guide.conflict.md", "settled\n")
    await cloned.run("sync", "handbook/guide.md")
    (line,) = lines(cloned.root)
    assert line.startswith("- handbook/home: ")
    await cloned.run("resolve", "handbook/home", "--mine")
    assert lines(cloned.root) == []


async def test_sync_of_one_page_takes_a_file_for_its_page(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").write_bytes(b"\xff\n")
    await cloned.run("sync")
    assert len(lines(cloned.root)) == 1
    cloned.write("guide.md", FILES["guide.md"])
    await cloned.run("sync", "handbook/guide.md")
    assert lines(cloned.root) == []


def test_wiki_that_is_gone_keeps_what_waits_in_it() -> None:
    """And the next one who cannot even ask leaves both as they are."""
    page = "- handbook/home: edited here and on the wiki"
    gone = Synced(SECTION, failure=NotFound("it is gone", hint="look"))
    away = Synced(SECTION, failure=Unavailable("no answer"))
    both = attention.attention_lines([SECTION], [gone], [page])
    assert both == ("- handbook: it is gone; look", page)
    assert attention.attention_lines([SECTION], [away], both) == both
    assert attention.attention_lines([SECTION], [], both) == both


def test_wiki_that_is_paused_or_gone_from_the_configuration_is_not_told_of() -> None:
    page = "- handbook/home: edited here and on the wiki"
    assert (
        attention.attention_lines([SECTION], [Synced(SECTION, paused="")], [page]) == ()
    )
    assert attention.attention_lines([], [], [page]) == ()


def test_service_that_answers_takes_its_token() -> None:
    line = "- the service: it rejects the token"
    assert line in attention.attention_lines([SECTION], [], [line])
    gone = Synced(SECTION, failure=NotFound("it is gone"))
    assert line not in attention.attention_lines([SECTION], [gone], [line])


def test_name_with_a_line_end_makes_no_line_of_its_own() -> None:
    failure = FolderError("cannot read a\n- b\x1b[2J: it is locked")
    (line,) = attention.attention_lines([SECTION], [Synced(SECTION, failure=failure)])
    assert line == "- handbook: cannot read a␊- b␛[2J: it is locked"


def test_problem_of_a_whole_wiki_is_told_by_its_folder() -> None:
    problem = Problem("wiki-moved", "project docs/handbook", "is another")
    wiki = Synced(SECTION, unknown=(problem,))
    assert "- handbook: is another" in attention.attention_lines([SECTION], [wiki])


# -- on the disk -------------------------------------------------------------------


def as_folder(path: Path) -> None:
    path.mkdir()


def as_link(path: Path) -> None:
    path.with_name("elsewhere.md").write_text(WAITS)
    path.symlink_to("elsewhere.md")


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_text_of_a_person(path: Path) -> None:
    path.write_text("my own notes\n")


@pytest.mark.parametrize("put", [as_folder, as_link, as_pipe, as_text_of_a_person])
def test_what_is_not_ours_is_never_written_over_nor_removed(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    path = tmp_path / attention.ATTENTION_FILE
    put(path)
    before = path.lstat()
    with pytest.raises(FolderError, match="is not a file that wikisync wrote"):
        attention.write_attention(tmp_path, ["- something else"])
    attention.write_attention(tmp_path, ())
    assert path.lstat() == before
    others = [one.read_text() for one in tmp_path.glob("elsewhere.md")]
    assert set(others) <= {WAITS}


def test_file_is_written_and_goes_when_nobody_is_needed(tmp_path: Path) -> None:
    attention.write_attention(tmp_path, ["- handbook: waits"])
    text = (tmp_path / attention.ATTENTION_FILE).read_text()
    assert text.startswith("# wikisync needs your decision\n\n")
    assert text.endswith("\n\n- handbook: waits\n")
    assert attention.read_attention(tmp_path) == ("- handbook: waits",)
    attention.write_attention(tmp_path, ())
    assert list(tmp_path.iterdir()) == []

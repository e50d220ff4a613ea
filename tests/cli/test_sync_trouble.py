"""``wikisync sync`` on bad input: nothing is lost, and the person reads what to do."""

import asyncio
import itertools
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned
from wikisync.cli.console import Console
from wikisync.errors import ConfigError, ExitCode, FolderError
from wikisync.folder.workspace import locked
from wikisync.merging.conflict import MARKER

AWAY = "check that its disk is there; nothing was deleted"


@pytest.mark.parametrize(
    ("command", "code"), [("sync", 1), ("status", 3), ("clone", 1)]
)
async def test_folder_removed_for_good_comes_back_as_the_hint_says(
    cloned: Cloned, command: str, code: int
) -> None:
    shutil.rmtree(cloned.folder)
    words = [command, "-C", cloned.root]
    if command == "clone":
        handbook = ("--project", "docs/handbook")
        words = [command, cloned.service.url, *handbook, cloned.root]
    told = await cloned.run_main(*words)
    assert (told.code, "does not exist" in told.err) == (code, True)
    assert AWAY in told.err
    assert "deleted on purpose, run: wikisync adopt, then wikisync sync" in told.err
    assert not cloned.folder.exists()
    adopted, synced = await cloned.run("adopt"), await cloned.run("sync")
    assert (adopted.code, synced.code) == (0, 0)
    assert cloned.files() == await cloned.wiki() == FILES


@pytest.mark.parametrize("put", [Path.mkdir, lambda path: path.symlink_to("else.md")])
async def test_unwritable_attention_file_keeps_nothing_of_the_report_back(
    cloned: Cloned, put: Callable[[Path], None]
) -> None:
    put(cloned.root / "WIKISYNC-ATTENTION.md")
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"guide": "theirs\n", "home": "news\n"})

    ran = await cloned.run("sync")
    told = (await cloned.run("sync", "--json")).json

    assert (ran.code, ran.out) == (3, "handbook: 4 pages, 1 pulled, 1 held\n")
    assert "handbook/guide: edited here and on the wiki" in ran.err
    assert f"warning: {cloned.root}: " in ran.err
    assert [held["page"] for held in told["wikis"][0]["held"]] == ["guide"]
    (problem,) = told["problems"]
    assert problem["code"] == "file-unwritten"
    assert "WIKISYNC-ATTENTION.md" in problem["message"]
    assert not (cloned.root / "else.md").exists()


async def test_sync_with_an_unwritten_file_is_no_good_one(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(root: Path, *_: object) -> None:
        raise FolderError(f"cannot write into {root}")

    monkeypatch.setattr("wikisync.workspace.attention.write_attention", refuse)
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (3, "handbook: 4 pages, nothing to do\n")


@pytest.mark.parametrize("text", ["", "\n\n", " \t\n"])
async def test_new_note_without_a_text_waits_quietly(cloned: Cloned, text: str) -> None:
    """An editor makes it empty, and a person fills it minutes later."""
    cloned.service.quirks = {Quirk.REFUSES_EMPTY}
    cloned.write("Untitled.md", text)
    cloned.write("other.md", "a text\n")
    for command in ("sync", "sync", "status"):
        ran = await cloned.run(command)
        assert (ran.code, "warning" in ran.err) == (0, False)
        assert "Untitled: empty; the service accepts no empty page" in ran.told
    assert not cloned.attention
    # one refusal is enough: nothing is sent to learn whether it still refuses
    cloned.service.quirks = ()
    assert (await cloned.run("sync")).code == 0
    assert await cloned.wiki() == {**FILES, "other.md": "a text\n"}
    cloned.write("Untitled.md", "a text\n")
    assert (await cloned.run("sync")).code == 0
    assert (await cloned.wiki())["Untitled.md"] == "a text\n"


@pytest.mark.parametrize("pages", [(), ("handbook/guide.md",)])
async def test_page_that_lost_its_text_is_a_decision(
    cloned: Cloned, pages: tuple[str, ...]
) -> None:
    """Also of a page that a person asks for by its name."""
    cloned.service.quirks = {Quirk.REFUSES_EMPTY}
    await cloned.run("sync")
    cloned.write("guide.md", "\n")
    ran = await cloned.run("sync", *pages)
    ran.ended(3, "guide: empty here; this service does not accept empty pages")


async def test_page_that_lost_its_text_is_sent_where_it_may(cloned: Cloned) -> None:
    cloned.write("guide.md", "\n")
    assert (await cloned.run("sync")).code == 0
    assert (await cloned.wiki())["guide.md"] == "\n"


async def test_copied_workspace_says_so_and_deletes_nothing(cloned: Cloned) -> None:
    await cloned.run("sync")
    other = cloned.copied()
    (other.folder / "guide.md").unlink()
    # all its folders are others than before, which goes without saying
    assert "the folder of the last" not in (await other.run("status", "--offline")).out
    ran = await other.run("sync")
    assert (ran.code, "another folder" in ran.err) == (0, False)
    assert f"{other.root} was copied or moved" in ran.err
    assert other.files() == await cloned.wiki() == FILES
    # its state came along, and knows what the texts are edits of
    other.write("guide.md", "edited in the copy\n")
    assert (await other.run("sync")).err == ""
    assert (await cloned.wiki())["guide.md"] == "edited in the copy\n"


def carry(source: Path, target: Path) -> None:
    """Carry a workspace with its state to another place, as Syncthing does."""
    for path in target.rglob("*"):
        if path.is_file() and not (source / path.relative_to(target)).exists():
            path.unlink()
    shutil.copytree(source, target, dirs_exist_ok=True)


async def test_state_carried_between_two_places_is_named(cloned: Cloned) -> None:
    """What is missing was deleted or is on its way: it is not pulled again."""
    await cloned.run("sync")
    other = Cloned(cloned.service, cloned.root.parent / "other", cloned.run_main)
    carry(cloned.root, other.root)
    await other.run("sync")
    (other.folder / "guide.md").unlink()
    other.write("home.md", "edited there\n")
    carry(other.root, cloned.root)
    for place in (cloned, other, cloned):
        ran = await place.run("sync")
        assert (ran.code, ran.err.count("warning:")) == (0, 1)
        assert f"{place.root} is used in two places in turn" in ran.err
        assert "leave .wikisync out of what is shared" in ran.err
        assert "guide: missing; its deletion waits because .wikisync is" in ran.err
        assert not (place.folder / "guide.md").exists()
        carry(place.root, (other if place is cloned else cloned).root)
    assert await cloned.wiki() == {**FILES, "home.md": "edited there\n"}
    other.age_sightings(100)
    ran = await other.sync_later()
    assert (ran.err, "1 removed" in ran.out) == ("", True)


async def test_state_carried_round_three_places_is_known_until_it_is_adopted(
    cloned: Cloned,
) -> None:
    folder, service, run = cloned.root.parent, cloned.service, cloned.run_main
    others = [Cloned(service, folder / name, run) for name in ("second", "third")]
    await cloned.run("sync")
    for source, target in itertools.pairwise([cloned, *others, cloned]):
        carry(source.root, target.root)
        ran = await target.run("sync")
    assert f"{cloned.root} is used in two places in turn" in ran.err
    carry(cloned.root, others[0].root)
    assert "in turn" not in (await others[0].run("adopt")).err


async def test_copy_that_is_cloned_into_again_stays_a_copy(cloned: Cloned) -> None:
    other = cloned.copied()
    (other.folder / "guide.md").unlink()
    named = (cloned.service.url, "--project", "docs/handbook")
    await cloned.run_main("clone", *named, other.root)
    (other.folder / "home.md").unlink()
    ran = await other.run("sync")
    assert f"{other.root} was copied or moved" in ran.err
    assert other.read("home.md") == PAGES["home"]


async def test_damaged_state_is_set_aside_and_told(cloned: Cloned) -> None:
    (cloned.root / ".wikisync/state.db").write_bytes(b"damaged" * 1000)
    told = "state.db was damaged or of another version of wikisync"
    (await cloned.run("sync")).ended(0, told)
    assert cloned.files() == FILES


async def test_state_of_another_version_is_set_aside(cloned: Cloned) -> None:
    with closing(sqlite3.connect(cloned.root / ".wikisync/state.db")) as connection:
        connection.execute("PRAGMA user_version = 15")
    cloned.write("home.md", "edited here\n")
    (cloned.folder / "guide.md").unlink()

    status = await cloned.run("status")
    ran = await cloned.run("sync")

    assert "of another version of wikisync (schema 15)" in status.out + status.err
    assert ran.code == ExitCode.HELD
    assert ran.err.count("another version of wikisync") == 1
    assert "state.db.set-aside-1" in ran.err
    assert cloned.read("guide.md") == PAGES["guide"]
    assert (await cloned.wiki())["home.md"] == PAGES["home"]
    with cloned.state() as state:
        assert state.wiki(HANDBOOK).base().keys() == PAGES.keys() - {"home"}


async def test_state_with_what_was_never_written_is_set_aside(cloned: Cloned) -> None:
    """SQLite finds nothing wrong with it; so it is met on the way."""
    with closing(sqlite3.connect(cloned.root / ".wikisync/state.db")) as connection:
        connection.execute("UPDATE page_text SET text = x'00ff'")
        connection.commit()
    cloned.write("home.md", "edited here\n")
    await cloned.edit({"guide": "edited there\n"})

    scanned, ran, again = [
        await cloned.run(command) for command in ("status", "sync", "sync")
    ]

    ran.ended(ExitCode.FAILED, "state.db is damaged: Error -3 while decompressing")
    assert "state.db is damaged" in scanned.out + scanned.err
    assert (cloned.root / ".wikisync/state.db.set-aside-1").exists()
    assert again.code == ExitCode.HELD
    assert {"edited here\n", PAGES["guide"]} <= set(cloned.files().values())


async def test_second_process_is_refused_with_the_first_name(cloned: Cloned) -> None:
    with locked(cloned.root / ".wikisync", "it"):
        ran, adopted = await cloned.run("sync"), await cloned.run("adopt")
    assert (ran.code, adopted.code) == (1, 1)
    assert f"process {os.getpid()} on" in ran.err
    assert "wait until it finishes, or stop it" in ran.err
    assert "another wikisync is running in" in adopted.err
    with locked(cloned.root / ".wikisync", "it", is_watch=True):
        ran = await cloned.run("adopt")
    ask = cloned.root / ".wikisync" / "ask"
    assert f"to run this command, stop it; to sync now: touch {ask}" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
async def test_read_only_folder_is_told_for_a_conflict_file(cloned: Cloned) -> None:
    cloned.write("team/people.md", "mine\n")
    await cloned.edit({"team/people": "theirs\n", "guide": "theirs\n"})
    (cloned.folder / "team").chmod(0o500)
    try:
        ran = await cloned.run("sync")
    finally:
        (cloned.folder / "team").chmod(0o700)
    assert ran.code == 3
    assert (
        "handbook/team/people: edited here and on the wiki: cannot write"
        " team/people.conflict.md: permission denied; check the permissions of it"
        " and of its folder, or run: wikisync resolve handbook/team/people"
    ) in ran.err
    assert cloned.read("guide.md") == "theirs\n"
    await cloned.run("sync")
    assert "theirs" in cloned.read("team/people.conflict.md")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everywhere")
@pytest.mark.parametrize("command", ["sync", "status", "doctor"])
async def test_unreadable_wiki_stops_no_other(cloned: Cloned, command: str) -> None:
    await cloned.add_wiki("other", {"home": "other\n"})
    await cloned.run("sync")
    cloned.folder.chmod(0)
    try:
        ran = await cloned.run(command)
    finally:
        cloned.folder.chmod(0o700)
    said = ran.out + ran.err
    assert ran.code != 0
    assert f"cannot read {cloned.folder}: permission denied" in said
    assert "other: " in said


def with_a_page(place: Path) -> None:
    place.mkdir()
    (place / "below.md").write_text("below\n")


@pytest.mark.parametrize(
    ("make", "told", "step"),
    [
        (Path.mkdir, "guide.md: is a folder with the name of a page's file", ""),
        (
            with_a_page,
            "guide: guide.md is a folder with the name of the page's file",
            "rename or remove the folder",
        ),
        (
            os.mkfifo,
            "guide.md: is a pipe, a socket or a device, not a file",
            "remove it to get the page back",
        ),
    ],
)
async def test_what_took_the_place_of_a_page_is_told_and_deletes_nothing(
    cloned: Cloned, make: Callable[[Path], None], told: str, step: str
) -> None:
    place = cloned.folder / "guide.md"
    place.unlink()
    make(place)
    await cloned.edit({"guide": "theirs\n"})
    await cloned.run("sync")
    cloned.age_sightings(60)
    for words in (("sync", "--dry-run"), ("sync",), ("status",)):
        ran = await cloned.run(*words)
        assert (ran.code, told in ran.told, step in ran.told) == (3, True, True)
    assert (await cloned.wiki())["guide.md"] == "theirs\n"
    place.rename(cloned.root / "away")
    await cloned.run("sync")
    assert cloned.read("guide.md") == "theirs\n"


async def test_sync_sends_again_what_was_refused_for_want_of_rights(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has mended the token does not wait an hour for pages held without it."""
    cloned.write("guide.md", "mine\n")
    reader = await cloned.service.add_user("reader")
    await cloned.service.add_member("docs/handbook", "reader", 20)
    monkeypatch.setenv("WIKISYNC_TOKEN", reader)
    assert (await cloned.run("sync")).code == 3
    monkeypatch.setenv("WIKISYNC_TOKEN", cloned.service.token)
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pushed\n")
    assert (await cloned.wiki())["guide.md"] == "mine\n"


async def test_marker_line_left_in_a_page_is_never_sent(cloned: Cloned) -> None:
    cloned.write("guide.md", f"text\n{MARKER} conflict 1 of 1: here %%%%\n")
    ran = await cloned.run("sync")
    ran.ended(3, "it contains a conflict marker line")
    assert "remove every line with %%%% wikisync" in ran.err
    assert (await cloned.wiki())["guide.md"] == PAGES["guide"]


@pytest.mark.parametrize(
    ("quirk", "word"),
    [
        (Quirk.SIGN_IN_PAGE, "answers with a web page"),
        (Quirk.NOT_FOUND, "the service knows no such address"),
    ],
)
async def test_service_that_answers_nonsense_changes_nothing(
    cloned: Cloned, quirk: Quirk, word: str
) -> None:
    cloned.service.quirks = {quirk}
    (await cloned.run("sync")).ended(1, "hint:", word)
    assert cloned.files() == FILES


async def test_service_away_is_an_error_with_its_address(cloned: Cloned) -> None:
    cloned.configure(cloned.service.url, "http://127.0.0.1:9")
    (await cloned.run("sync")).ended(1, "127.0.0.1:9")


async def test_interrupted_sync_is_continued_by_the_next_one(cloned: Cloned) -> None:
    """A real process, ended by Ctrl-C while it writes the wiki."""
    for number in range(60):
        cloned.write(f"new-{number}.md", f"{number}\n")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", "sync", "-C", str(cloned.root)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    while len(await cloned.wiki()) < len(PAGES) + 5:
        pass
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert process.returncode == 130
    assert err.strip() == b"interrupted; run the same command again to continue"
    assert out == b""
    assert len(await cloned.wiki()) < len(PAGES) + 60
    assert (await cloned.run("sync")).code == 0
    assert len(await cloned.wiki()) == len(PAGES) + 60


@pytest.mark.parametrize("command", ["sync --dry-run", "status", "check"])
async def test_name_fakes_nothing_that_is_told(cloned: Cloned, command: str) -> None:
    controls = "\r\n\t\x1b\u202a\u202e\u2066\u2069"
    for control in controls:
        cloned.write(f"a{control}FAKE: all fine.md", "[x](missing-page)\n")
    place = [] if command == "check" else ["-C"]
    ran = await cloned.run_main(*command.split(), *place, cloned.root)
    lines = (ran.out + ran.err).split("\n")
    assert sum("FAKE" in line for line in lines) >= len(controls)
    assert not any(line.startswith("FAKE") for line in lines)
    assert set(controls) & set("".join(lines)) == set()


def test_each_thing_told_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\rb\nc\td\u202ee"
    shown = "a\u240db\u240ac\u2409d\ufffde"
    console = Console()
    console.lines(name, name)
    console.note(name)
    console.warn(name)
    console.error(ConfigError(name, problems=(name,), hint=name))
    printed = capsys.readouterr()
    assert printed.out.split("\n") == [shown, shown, ""]
    assert [line.rpartition(" ")[2] for line in printed.err.split("\n")] == [
        *[shown] * 5,
        "",
    ]


async def test_no_token_is_said_and_not_a_role(
    service: EmbeddedService, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await service.add_project("open/book", {"home": "one\n"}, visibility="public")
    await run("clone", f"{service.url}/open/book", workspace)
    monkeypatch.delenv("WIKISYNC_TOKEN")
    (workspace / "book/home.md").write_text("edited without a token\n")
    ran = await run("sync", "-C", workspace)
    ran.ended(3, "no token is set, and changes require one")
    status = await run("status", "-C", workspace)
    for told in (ran, status):
        assert told.err.startswith("no token is set: ")
        assert "Developer" not in told.told


# -- in the place of what a workspace needs ----------------------------------------


def as_file(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.write_text("in the way")


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def as_endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def as_huge(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize(
    ("name", "replace", "words", "hint"),
    [
        ("handbook", as_file, "handbook is not a folder", "move the file with its"),
        (".wikisync/tmp", as_file, "tmp: something else has this name", "move it"),
        (".wikisync/limbo", as_file, "limbo/handbook: a file exists where", "move the"),
        (".wikisync/lock", as_folder, "lock: a folder exists at this path", "rename"),
        (".wikisync", as_file, ".wikisync: something else has this name", "move it"),
        ("wikisync.toml", as_folder, "cannot read", "make it a file that this user"),
    ],
)
async def test_sync_names_what_is_in_the_way_and_what_to_do(
    cloned: Cloned, name: str, replace: Callable[[Path], None], words: str, hint: str
) -> None:
    await cloned.edit({"guide": "theirs\n"})
    replace(cloned.root / name)
    ran = await cloned.run("sync")
    assert ran.code in {1, 2}
    assert str(cloned.root / name) in ran.err
    assert words in ran.err
    assert f"\nhint: {hint}" in ran.err
    assert await cloned.wiki() == {**FILES, "guide.md": "theirs\n"}


@pytest.mark.parametrize("replace", [as_pipe, as_endless, as_huge])
@pytest.mark.parametrize("name", ["lock", "folder-id", "health.json", "state.db"])
async def test_file_of_the_state_is_neither_waited_for_nor_read_without_end(
    cloned: Cloned, name: str, replace: Callable[[Path], None]
) -> None:
    with (
        locked(cloned.root / ".wikisync", "it")
        if name == "health.json"
        else (nullcontext())
    ):
        replace(cloned.root / ".wikisync" / name)
        async with asyncio.timeout(60):
            ran = await cloned.run("status", "--offline")
    assert ran.code in {0, 1, 3, 4}


async def test_status_names_what_is_in_the_way_of_the_state(cloned: Cloned) -> None:
    as_file(cloned.root / ".wikisync")
    ran = await cloned.run("status")
    ran.ended(1, f"{cloned.root}/.wikisync")
    assert "a file exists where a folder is needed\nhint: move the file away" in ran.err


@pytest.mark.parametrize("command", ["status", "doctor", "check", "build"])
async def test_unreadable_settings_are_told(cloned: Cloned, command: str) -> None:
    as_folder(cloned.root / "wikisync.toml")
    place = [] if command in {"check", "build"} else ["-C"]
    ran = await cloned.run_main(command, *place, cloned.root)
    assert f"cannot read {cloned.root}/wikisync.toml" in ran.out + ran.err
    assert "make it a file that this user can read" in ran.out + ran.err


# -- attachments that the wiki itself lacks ----------------------------------------

LOST = "uploads/" + "0123456789abcdef" * 2 + "/lost.png"


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    pages = {"home": f"Write `![a]({LOST})`.\n", "guide": f"![b]({LOST})\n"}
    await service.add_project("docs/handbook", pages)
    return service


async def test_clone_tells_once_of_what_the_wiki_lacks_and_is_done(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    """Folder and wiki hold the same; a script would take the clone for failed."""
    root = tmp_path / "wikis"
    words = ("clone", handbook.url, "--project", "docs/handbook", root)
    first, again = await run(*words), await run(*words)
    synced, status = await run("sync", "-C", root), await run("status", "-C", root)
    assert (first.code, again.code, synced.code, status.code) == (0, 0, 0, 0)
    assert first.err.count(LOST) == 2  # as what it is about, and as what was asked for
    assert LOST not in again.err + synced.err
    assert "in sync, last good sync " in status.out
    assert f"missing here: 1 attachment that pages mention ({LOST})" in status.out


async def test_programs_are_told_of_it_beside_the_problems(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    root = tmp_path / "wikis"
    words = ("clone", handbook.url, "--project", "docs/handbook", root)
    (cloned,) = (await run(*words, "--json")).json["wikis"]
    await handbook.add_pages(HANDBOOK, {"home": f"![c]({LOST}.svg)\n"})
    (synced,) = (await run("sync", "--json", "-C", root)).json["wikis"]
    assert LOST not in (await run("sync", "-C", root)).err
    assert cloned["problems"] == synced["problems"] == []
    assert [one["subject"] for one in cloned["absent"]] == [LOST]
    assert [one["subject"] for one in synced["absent"]] == [f"{LOST}.svg"]


async def test_export_tells_of_it_every_time(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    """The site has a placeholder where the page has a picture."""
    project = ("--project", "docs/handbook")
    words = ("export", handbook.url, *project, "-o", tmp_path / "site", "--json")
    first, again = await run(*words), await run(*words)
    assert (first.code, again.code) == (3, 3)
    assert "attachment-missing" in first.problem_codes
    assert "attachment-missing" in again.problem_codes

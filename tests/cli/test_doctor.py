import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date

import pytest

from tests.support.commands import Ran
from tests.support.quirks import Quirk
from tests.support.workspaces import HANDBOOK, Cloned
from wikisync.folder.workspace import locked
from wikisync.workspace.doctor import token_findings
from wikisync.workspace.rights import TokenRights

READ_ONLY = "mount --bind {0} {0} && mount -o remount,bind,ro {0}"
FULL = (
    "cp -r handbook copy && mount -t tmpfs -o size=512k none handbook"
    " && cp -r copy/. handbook"
)
IN_OWN_MOUNTS = ("unshare", "-rm", "sh", "-c")
CAN_MOUNT = (
    shutil.which("unshare") is not None
    and subprocess.run(
        [*IN_OWN_MOUNTS, READ_ONLY.format(".")], capture_output=True, check=False
    ).returncode
    == 0
)

TODAY = date(2026, 11, 21)


def graded(ran: Ran, grade: str) -> list[str]:
    lines = ran.out.splitlines()
    return [line[7:] for line in lines if line.startswith(f"{grade:<5}  ")]


async def test_healthy_workspace_has_nothing_to_scan(cloned: Cloned) -> None:
    ran = await cloned.run("doctor")
    assert (graded(ran, "look"), graded(ran, "wrong")) == ([], [])
    assert ran.code == 0
    fine = "\n".join(graded(ran, "fine"))
    assert f"{cloned.service.url} answers as a GitLab-compatible service" in fine
    assert "handbook: can read" in fine
    assert "handbook: 4 pages here" in fine
    assert "0 texts in the trash" in fine
    assert "the marker belongs to this workspace" in fine
    ran = await cloned.run("doctor", "--offline", "--json")
    assert {tuple(one) for one in ran.json} == {("grade", "sentence", "next_step")}


async def test_dead_token_is_wrong_and_says_what_to_do(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.TOKEN_REVOKED}
    ran = await cloned.run("doctor")
    assert ran.code == 1
    assert any("token" in line for line in graded(ran, "wrong"))


@pytest.mark.skipif(not CAN_MOUNT, reason="needs unshare, and the right to use it")
@pytest.mark.parametrize("folder", ["handbook", ".wikisync"])
async def test_a_read_only_disk_is_reported(cloned: Cloned, folder: str) -> None:
    """Nothing that is done to permissions would make it writable."""
    ran = await on_mount(cloned, READ_ONLY.format(folder), "doctor")
    place = cloned.root / folder
    wrong = [f"handbook: cannot write in {place}: the disk is read-only"]
    assert graded(ran, "wrong") == wrong, ran.err


@pytest.mark.skipif(not CAN_MOUNT, reason="needs unshare, and the right to use it")
async def test_a_site_on_a_read_only_disk_is_refused_for_what_it_is(
    cloned: Cloned,
) -> None:
    (cloned.root / "site").mkdir()
    ran = await on_mount(cloned, READ_ONLY.format("site"), "build -o site")
    ran.ended(1, "site: Read-only file system", "choose a writable folder with -o")


@pytest.mark.skipif(not CAN_MOUNT, reason="needs unshare, and the right to use it")
async def test_a_full_disk_is_reported(cloned: Cloned) -> None:
    ran = await on_mount(cloned, FULL, "doctor")
    wrong = f"handbook: cannot write in {cloned.folder}: the disk is full"
    assert graded(ran, "wrong") == [wrong], ran.err


async def on_mount(cloned: Cloned, mount: str, command: str) -> Ran:
    """Run a command in the workspace after a mount that nobody else sees."""
    wikisync = f"{sys.executable} -m wikisync {command}"
    process = await asyncio.create_subprocess_exec(
        *(*IN_OWN_MOUNTS, f"{mount} && {wikisync}"),
        cwd=cloned.root,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = (text.decode() for text in await process.communicate())
    return Ran(process.returncode or 0, out, err)


async def test_conflict_file_that_has_no_place_is_told(cloned: Cloned) -> None:
    (cloned.folder / "guide.conflict.md").mkdir()
    await cloned.clash()
    ran = await cloned.run("doctor")
    assert ran.code == 3
    assert graded(ran, "look") == [
        "handbook/guide is held, and its conflict file could not be written"
    ]
    assert "see wikisync status handbook" in ran.out


async def test_missing_marker_is_told_beside_everything_else(cloned: Cloned) -> None:
    (cloned.root / ".wikisync/folder-id").unlink()
    ran = await cloned.run("doctor")
    assert ran.code == 1
    assert any("folder-id is missing" in line for line in graded(ran, "wrong"))
    assert "wikisync adopt" in ran.out
    assert "handbook: 4 pages here" in ran.out


async def test_damaged_text_in_the_state_is_found_and_left(cloned: Cloned) -> None:
    """Who syncs sets it aside; the rest of the findings come, too."""
    state = cloned.root / ".wikisync/state.db"
    with closing(sqlite3.connect(state)) as connection, connection:
        connection.execute("UPDATE page_text SET text = x'00ff'")

    ran = await cloned.run("doctor")

    assert ran.code == 1
    assert any("state.db is damaged" in line for line in graded(ran, "wrong"))
    assert "handbook: 4 pages here" in graded(ran, "fine")
    assert [path.name for path in state.parent.glob("state.db*")] == ["state.db"]


@pytest.mark.parametrize(
    ("is_gone", "told"),
    [(False, "is empty but had 4 pages"), (True, "check that its disk is there")],
)
async def test_emptied_folder_is_wrong_until_it_is_adopted(
    cloned: Cloned, told: str, *, is_gone: bool
) -> None:
    """What it says to do has been done."""
    shutil.rmtree(cloned.folder)
    if not is_gone:
        cloned.folder.mkdir()
    ran = await cloned.run("doctor", "--offline")
    assert (ran.code, told in ran.out) == (1, True)
    await cloned.run("adopt")
    ran = await cloned.run("doctor", "--offline")
    assert (graded(ran, "wrong"), ran.code) == ([], 3)
    assert "handbook: no pages here; the next sync downloads" in ran.out
    next_sync = "the next sync accepts the folders as they are; it deletes nothing"
    assert graded(ran, "look") == [next_sync]
    assert (await cloned.run("sync")).code == 0
    assert "handbook: 4 pages here" in (await cloned.run("doctor", "--offline")).out


async def test_adopted_folder_that_cannot_be_read_is_wrong(cloned: Cloned) -> None:
    shutil.rmtree(cloned.folder)
    cloned.folder.write_text("no folder")
    await cloned.run("adopt")
    ran = await cloned.run("doctor", "--offline")
    assert ran.code == 1
    assert any(line.startswith("handbook: ") for line in graded(ran, "wrong"))


async def test_what_took_the_place_of_a_page_is_told(cloned: Cloned) -> None:
    """Folders that hold pages are in the way of none where there is no such page."""
    (cloned.folder / "guide.md").unlink()
    cloned.write("guide.md/below.md", "below\n")
    cloned.write("site.md/below.md", "below\n")
    (cloned.folder / "home.md").unlink()
    os.mkfifo(cloned.folder / "home.md")
    (cloned.folder / "link.md").symlink_to("team/people.md")
    cloned.write(".wikisyncignore", "kept-out.md\n")
    os.mkfifo(cloned.folder / "kept-out.md")
    ran = await cloned.run("doctor", "--offline")
    assert ran.code == 3
    link, pipe, folder = graded(ran, "look")
    assert pipe.startswith("handbook: home.md: is a pipe, a socket or a device")
    assert link.startswith("handbook: link.md: is a symbolic link")
    assert folder.startswith("handbook: guide: guide.md is a folder with the name")
    assert "rename or remove the folder to get the page back" in ran.out


async def test_wrong_configuration_is_told_problem_by_problem(cloned: Cloned) -> None:
    with cloned.settings.open("a") as file:
        file.write("\n[snyc]\nsettle = 3\n")
    ran = await cloned.run("doctor")
    assert ran.code == 1
    assert any("snyc" in line for line in graded(ran, "wrong"))


async def test_holder_and_pause_are_told(cloned: Cloned) -> None:
    await cloned.run("pause", "handbook", "the big move")
    with locked(cloned.root / ".wikisync", "it"):
        ran = await cloned.run("doctor", "--offline")
    assert ran.code == 3
    assert "another wikisync is running: process" in ran.out
    assert graded(ran, "look") == ["handbook: paused (the big move)"]


async def test_wiki_that_is_gone_is_told(cloned: Cloned) -> None:
    cloned.configure('docs/handbook"\nid = 1\n', 'docs/gone"\n')
    with cloned.state() as state:
        state.begin_anew(HANDBOOK)
    ran = await cloned.run("doctor")
    assert ran.code == 1
    assert any("docs/gone" in line for line in graded(ran, "wrong"))


# -- the token ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (None, "there is no token"),
        (TokenRights("t", "ann", ("read_api",)), "does not have the scope api"),
        (TokenRights("t", "ann", ("api",), date(2026, 11, 25)), "ends in 4 days"),
    ],
)
def test_token_that_will_not_do_is_told(token: TokenRights | None, words: str) -> None:
    found = list(token_findings(token, TODAY))
    (told,) = [one for one in found if one.grade == "look"]
    assert words in told.sentence
    assert told.next_step


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (
            TokenRights("t", "ann", ("api",), date(2027, 2, 1)),
            'the token "t" of ann is valid until 2027-02-01 (scopes api)',
        ),
        (TokenRights("t", "ann", ("api", "new")), "is valid (scopes api, new)"),
        (
            TokenRights("t", "ann", ("granular",)),
            (
                "is valid (scopes granular); the service does not say what the scope"
                " granular allows"
            ),
        ),
        (TokenRights(refusal="not told"), "the token is valid; not told"),
    ],
)
def test_good_token_is_fine(token: TokenRights, words: str) -> None:
    (told,) = token_findings(token, TODAY)
    assert told.grade == "fine"
    assert told.sentence.endswith(words)

"""Files and folders in the place of what a workspace needs: what a person reads."""

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.workspaces import FILES, Cloned
from wikisync.folder.workspace import locked


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
    assert ran.code == 1
    assert f"{cloned.root}/.wikisync" in ran.err
    assert "a file exists where a folder is needed\nhint: move the file away" in ran.err


@pytest.mark.parametrize("command", ["status", "doctor", "check", "build"])
async def test_unreadable_settings_are_told(cloned: Cloned, command: str) -> None:
    as_folder(cloned.root / "wikisync.toml")
    place = [] if command in {"check", "build"} else ["-C"]
    ran = await cloned.run_main(command, *place, cloned.root)
    assert f"cannot read {cloned.root}/wikisync.toml" in ran.out + ran.err
    assert "make it a file that this user can read" in ran.out + ran.err

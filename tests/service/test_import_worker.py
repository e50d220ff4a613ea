"""Fetching from another server: limits, passwords, and the end of the process."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import msgspec
import pygit2
import pytest

from tests.support.git_http import git_server, redirecting_server, silent_server
from wikisync.frames import read_frames, write_frame
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.import_worker import (
    FetchFailed,
    FetchJob,
    fetch_repository,
    main,
)
from wikisync.service.repository import WikiRepository

DEADLINE_S = 30.0
MIB = 1024 * 1024
PASSWORD = "pass/wörd@1"
IN_URL = "dana:pass%2Fw%C3%B6rd%401@"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with one bare repository, ``x.git``."""
    change = CommitPlan("first", writes={"README.md": b"# X\n", "a/b.py": b"x = 1\n"})
    WikiRepository(tmp_path / "served" / "x.git", "trunk").change(
        lambda _tree: change, Author("Dana", "dana@example.com")
    )
    return tmp_path / "served"


def job(address: str, folder: Path, **limits: float) -> FetchJob:
    deadline_s = limits.get("deadline_s", DEADLINE_S)
    bytes_max = int(limits.get("bytes", MIB))
    return FetchJob(address, str(folder), deadline_s, bytes_max, allows_private=True)


def framed(body: bytes) -> io.BytesIO:
    stream = io.BytesIO()
    write_frame(stream, body)
    return io.BytesIO(stream.getvalue())


async def failure(wanted: FetchJob) -> str:
    with pytest.raises(FetchFailed) as failed:
        await fetch_repository(wanted)
    return str(failed.value)


async def test_repository_comes_with_its_branches(served: Path, tmp_path: Path) -> None:
    git = pygit2.Repository(str(served / "x.git"))
    git.branches.create("side", git.head.peel(pygit2.Commit))
    folder = tmp_path / "copy.git"

    async with git_server(served) as url:
        await fetch_repository(job(f"{url}/x.git", folder))

    copy = WikiRepository(folder)
    assert (copy.branch(), copy.has_branch("side")) == ("trunk", True)
    assert [file.path for file in copy.tree().files] == ["README.md", "a/b.py"]


async def test_password_of_the_address_opens_the_door(
    served: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy.git"

    async with git_server(served, user="dana", password=PASSWORD) as url:
        place = url.removeprefix("http://")
        await fetch_repository(job(f"http://{IN_URL}{place}/x.git", folder))

    assert WikiRepository(folder).branch() == "trunk"


async def test_password_does_not_follow_to_another_server(
    served: Path, tmp_path: Path
) -> None:
    async with (
        git_server(served, user="dana", password=PASSWORD) as url,
        redirecting_server(url) as other,
    ):
        place = other.removeprefix("http://")
        text = await failure(job(f"http://{IN_URL}{place}/x.git", tmp_path / "copy"))

    assert text == (
        f"The repository at {other}/x.git could not be copied:"
        " it sends on to another server."
    )


async def test_redirection_to_another_server_is_not_followed(
    served: Path, tmp_path: Path
) -> None:
    async with git_server(served) as url, redirecting_server(url) as other:
        text = await failure(job(f"{other}/x.git", tmp_path / "copy"))

    assert text == (
        f"The repository at {other}/x.git could not be copied:"
        " it sends on to another server."
    )


async def test_redirection_on_the_same_server_is_followed(
    served: Path, tmp_path: Path
) -> None:
    async with git_server(served) as url:
        await fetch_repository(job(f"{url}/moved/x.git", tmp_path / "copy"))

    assert WikiRepository(tmp_path / "copy").branch() == "trunk"


async def test_failures_name_the_address_and_never_what_is_secret(
    served: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy.git"
    async with git_server(served, user="dana", password=PASSWORD) as url:
        place = url.removeprefix("http://")
        wrong = await failure(job(f"http://dana:secret@{place}/x.git", folder))
        none = await failure(job(f"{url}/x.git?token=secret", tmp_path / "2"))
        missing = await failure(job(f"http://{IN_URL}{place}/y.git", tmp_path / "3"))

    start = f"The repository at {url}/"
    assert wrong == (
        f"{start}x.git could not be copied: it refuses the user or the password."
    )
    assert none == (
        f"{start}x.git could not be copied: it wants a user and a password."
    )
    assert missing.startswith(f"{start}y.git could not be copied: ")
    assert "404" in missing


def test_reason_of_git_does_not_repeat_the_query(tmp_path: Path) -> None:
    """Git's library names the whole address in some of its errors."""
    wanted = job("file:///no/where?token=secret", tmp_path / "x")
    answer = io.BytesIO()

    main(framed(msgspec.json.encode(wanted)), answer)

    _ready, told = read_frames(io.BytesIO(answer.getvalue()))
    reason = msgspec.json.decode(told, type=str)
    assert "secret" not in reason
    assert reason


async def test_repository_that_is_too_large_is_not_taken(
    served: Path, tmp_path: Path
) -> None:
    async with git_server(served) as url:
        text = await failure(job(f"{url}/x.git", tmp_path / "copy", bytes=10))

    assert text.endswith("could not be copied: it is larger than 10 bytes.")


async def test_server_that_says_nothing_is_left_at_the_deadline(tmp_path: Path) -> None:
    async with silent_server() as silent:
        address = silent.url.replace("//", "//u:secret@") + "/x.git"
        text = await failure(job(address, tmp_path / "copy", deadline_s=0.5))

    # of one that ended itself later the text says that git broke off
    assert text == (
        f"The repository at {silent.url}/x.git did not arrive within 0.5 seconds."
    )


async def test_process_ends_when_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    async with silent_server() as silent, asyncio.TaskGroup() as group:
        wanted = job(f"{silent.url}/x.git", tmp_path / "copy")
        task = group.create_task(fetch_repository(wanted))
        await silent.asked.wait()
        task.cancel()
        await silent.hung_up.wait()

    assert task.cancelled()


async def test_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    async with silent_server() as silent:
        url = silent.url

    text = await failure(job(f"{url}/x.git", tmp_path / "copy"))

    assert text.startswith(f"The repository at {url}/x.git could not be copied: ")

"""Imports: which addresses are refused, what is shown of them, and their fetching."""

import asyncio
from pathlib import Path
from typing import Any

import pygit2
import pytest

from tests.support.git_http import git_server, redirecting_server, silent_server
from wikisync.service import import_fetch
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.import_fetch import FetchFailed, fetch_repository
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Imports

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


async def fetched(address: str, folder: Path, **limits: Any) -> None:
    await fetch_repository(
        address, folder, Imports(**{"bytes_max": MIB, "deadline_s": 30.0, **limits})
    )


async def failure(address: str, folder: Path, **limits: Any) -> str:
    with pytest.raises(FetchFailed) as failed:
        await fetched(address, folder, **limits)
    return str(failed.value)


async def test_repository_comes_with_its_branches(served: Path, tmp_path: Path) -> None:
    git = pygit2.Repository(str(served / "x.git"))
    git.branches.create("side", git.head.peel(pygit2.Commit))
    folder = tmp_path / "copy.git"

    async with git_server(served) as url:
        await fetched(f"{url}/x.git", folder)

    copy = WikiRepository(folder)
    assert (copy.branch(), copy.has_branch("side")) == ("trunk", True)
    assert [file.path for file in copy.tree().files] == ["README.md", "a/b.py"]


async def test_password_of_the_address_opens_the_door(
    served: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy.git"
    async with git_server(served, user="dana", password=PASSWORD) as url:
        place = url.removeprefix("http://")
        await fetched(f"http://{IN_URL}{place}/x.git", folder)
    assert WikiRepository(folder).branch() == "trunk"


async def test_redirection_is_not_followed(served: Path, tmp_path: Path) -> None:
    """It may lead to a server that nobody allowed, and would take the password."""
    async with (
        git_server(served, user="dana", password=PASSWORD) as url,
        redirecting_server(url) as other,
    ):
        place = other.removeprefix("http://")
        elsewhere = await failure(f"http://{IN_URL}{place}/x.git", tmp_path / "1")
    async with git_server(served) as url:
        same = await failure(f"{url}/moved/x.git", tmp_path / "2")

    assert "returned error: 30" in elsewhere
    assert "returned error: 30" in same


async def test_failures_name_the_address_and_never_what_is_secret(
    served: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy.git"
    async with git_server(served, user="dana", password=PASSWORD) as url:
        place = url.removeprefix("http://")
        wrong = await failure(f"http://dana:secret@{place}/x.git", folder)
        none = await failure(f"{url}/x.git", tmp_path / "2")
        query = await failure(f"{url}/x.git?token=secret", tmp_path / "4")
        missing = await failure(f"http://{IN_URL}{place}/y.git", tmp_path / "3")

    start = f"The repository at {url}/"
    for one in (wrong, none):
        assert one.startswith(f"{start}x.git could not be copied: ")
        assert "secret" not in one
    assert missing.startswith(f"{start}y.git could not be copied: ")
    assert "not found" in missing
    assert query == f"The address {url}/x.git has a query; remove it."


async def test_repository_that_is_too_large_is_not_taken(
    served: Path, tmp_path: Path
) -> None:
    async with git_server(served) as url:
        text = await failure(f"{url}/x.git", tmp_path / "copy", bytes_max=600)
    assert f"{url}/x.git could not be copied: " in text


async def test_server_that_says_nothing_is_left_at_the_deadline(tmp_path: Path) -> None:
    async with silent_server() as silent:
        address = silent.url.replace("//", "//u:secret@") + "/x.git"
        text = await failure(address, tmp_path / "copy", deadline_s=0.5)

    # of one that ended itself later the text says that git broke off
    assert text == (
        f"The repository at {silent.url}/x.git did not arrive within 0.5 seconds."
    )


async def test_process_ends_when_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    async with silent_server() as silent, asyncio.TaskGroup() as group:
        task = group.create_task(fetched(f"{silent.url}/x.git", tmp_path / "copy"))
        await silent.asked.wait()
        task.cancel()
        await silent.hung_up.wait()

    assert task.cancelled()


async def test_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    async with silent_server() as silent:
        url = silent.url
    text = await failure(f"{url}/x.git", tmp_path / "copy")
    assert text.startswith(f"The repository at {url}/x.git could not be copied: ")


SCHEMES = frozenset({"http", "https"})
INVALID = "is blocked: URI is invalid"
HOSTLESS = "is blocked: Hostname or IP address invalid"
DENIED = (
    "is blocked: Requests to hosts and IP addresses not on the Allow List are denied"
)
SCHEME = "is blocked: Only allowed schemes are http, https"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://example.com/x.git", None),
        ("HTTPS://example.com/x.git", None),
        ("http://u:p@127.0.0.1:8080/x.git?a=b", None),
        ("http://[::1]/x.git", None),
        ("http://[::1/x.git", INVALID),
        ("http://example.com:port/x", INVALID),
        ("http://example.com:99999/x", INVALID),
        ("http://example.com/\r\nHost: x", INVALID),
        ("http://exa\tmple.com/", INVALID),
        ("http://example.com/a b", INVALID),
        ("http://example.com/\x00", INVALID),
        ("http://example.com/" + "x" * import_fetch.ADDRESS_CHARS_MAX, INVALID),
        ("example.com/x.git", INVALID),
        ("/etc", INVALID),
        ("http:///x.git", HOSTLESS),
        ("http://user:p@/x.git", HOSTLESS),
        ("file:///etc", SCHEME),
        ("ssh://git@example.com/x", SCHEME),
        ("javascript:alert(1)", SCHEME),
    ],
)
def test_address_is_refused_in_the_services_words(
    address: str, problem: str | None
) -> None:
    assert import_fetch.address_problem(address, SCHEMES) == problem


def test_folder_needs_no_host() -> None:
    assert import_fetch.address_problem("file:///srv/x.git", {"file"}) is None


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://example.com/x.git", "https://example.com/x.git"),
        ("https://u:secret@example.com:1/x.git", "https://example.com:1/x.git"),
        ("https://secret@example.com/x", "https://example.com/x"),
        ("https://u:se@secret@example.com/x", "https://example.com/x"),
        ("https://example.com/x?token=secret#secret", "https://example.com/x"),
        ("http://[::1", ""),
        ("12", ""),
    ],
)
def test_shown_address_holds_no_secret(address: str, text: str) -> None:
    assert import_fetch.shown(address) == text


@pytest.mark.parametrize(
    ("address", "bare", "user"),
    [
        ("http://h/x?a=b", "http://h/x?a=b", None),
        ("http://u:p%40%2F@h/x", "http://h/x", ("u", "p@/")),
        ("http://token@h/x", "http://h/x", ("token", "")),
        ("http://:p@h/x#f", "http://h/x", ("", "p")),
    ],
)
def test_user_and_password_are_taken_out_and_decoded(
    address: str, bare: str, user: tuple[str, str] | None
) -> None:
    assert import_fetch.without_user(address) == (bare, user)


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("https://git.example.com/x.git", True),
        ("http://GIT.example.com:8080/x.git", True),
        ("http://127.0.0.1:8080/x.git", True),
        ("http://u:p@127.0.0.1:8080/x.git", True),
        ("https://[::1]/x.git", True),
        ("http://127.0.0.1/x.git", False),
        ("http://127.0.0.1:8081/x.git", False),
        ("http://2130706433:8080/x.git", False),
        ("http://git.example.com.evil.example/x.git", False),
        ("http://git.example.com@evil.example/x.git", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("http://localhost/x.git", False),
    ],
)
def test_only_servers_that_are_named_may_be_asked(
    address: str, is_allowed: bool
) -> None:
    hosts = {"Git.example.com", "127.0.0.1:8080", "::1"}
    problem = import_fetch.address_problem(address, SCHEMES, hosts)
    assert problem == (None if is_allowed else DENIED)

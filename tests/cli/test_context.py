from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.cli.console import Console
from wikisync.errors import NotFound, UsageError
from wikisync.workspace.deciding import WorkspaceDecisions
from wikisync.workspace.discovery import Found, Selection, find_wikis
from wikisync.workspace.service import Credentials

CONSOLE = Console()
URL = "https://gitlab.example.com"


# -- tokens ------------------------------------------------------------------------


TOKEN = {"WIKISYNC_TOKEN": "glpat-EXAMPLE"}


@pytest.mark.parametrize(
    ("environment", "token"),
    [
        ({"WIKISYNC_TOKEN": " glpat-EXAMPLE\n"}, "glpat-EXAMPLE"),
        ({"WIKISYNC_TOKEN": ""}, None),
        ({}, None),
    ],
)
def test_token_comes_from_the_environment(
    environment: dict[str, str], token: str | None
) -> None:
    assert Credentials(CONSOLE, None, environment).token(URL) == token


def test_what_is_printed_of_credentials_has_no_token() -> None:
    decisions = WorkspaceDecisions(Path(), Credentials(CONSOLE, None, TOKEN))
    assert "glpat" not in repr(decisions)


@pytest.mark.parametrize(
    ("named", "is_sent"),
    [
        ("", True),
        (URL, True),
        (f"{URL.upper().replace('HTTPS', 'https')}:443/docs/handbook/-/wikis", True),
        ("http://gitlab.example.com", False),
        ("https://gitlab.example.com:444", False),
        ("https://gitlab.example.com.evil.example", False),
        ("https://gitlab.example.com@evil.example", False),
        ("gitlab.example.com", False),
    ],
)
def test_token_of_the_environment_goes_to_the_service_that_it_is_for(
    named: str, is_sent: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {**TOKEN, "WIKISYNC_URL": named}
    token = Credentials(CONSOLE, None, environment).token(URL)
    assert token == ("glpat-EXAMPLE" if is_sent else None)
    told = capsys.readouterr().err
    assert ("WIKISYNC_TOKEN is for" in told) is not is_sent
    assert "glpat" not in told


def token_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    file = folder / "token"
    file.write_bytes(content)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_token_file_outranks_the_environment(tmp_path: Path, encoding: str) -> None:
    """Notepad and PowerShell put a byte order mark before it."""
    file = token_file(tmp_path, "glpat-FILE\r\n".encode(encoding))
    assert Credentials(CONSOLE, file, TOKEN).token(URL) == "glpat-FILE"


def test_token_file_open_to_others_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = token_file(tmp_path, b"glpat-FILE\n", mode=0o644)
    Credentials(CONSOLE, file, {}).token(URL)
    told = capsys.readouterr().err
    assert f"chmod 600 {file}" in told
    assert "glpat" not in told


@pytest.mark.parametrize(
    "content", [b"", b"  \n", b"two tokens", b"\xff\xfe", b"x" * 5000]
)
def test_token_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    file = token_file(tmp_path, content)
    with pytest.raises(UsageError, match="does not contain exactly one") as caught:
        Credentials(CONSOLE, file, {}).token(URL)
    assert "two tokens" not in str(caught.value)


def test_missing_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere cannot be read"):
        Credentials(CONSOLE, tmp_path / "nowhere", {}).token(URL)


# -- which wikis -------------------------------------------------------------------


@pytest.fixture
async def client(service: EmbeddedService) -> AsyncIterator[Client]:
    await service.add_group("docs", {"home": "group"})
    await service.add_group("docs/sub", wiki=False)
    await service.add_project("docs/handbook", {"home": "one"})
    await service.add_project("docs/sub/deep", {"home": "two"})
    await service.add_project("docs/off", {"home": "x"}, wiki_access_level="disabled")
    await service.add_group("other")
    await service.add_project("other/thing", {"home": "three"})
    async with Client(service.url, service.token) as opened:
        yield opened


def owners(found: Found) -> list[str]:
    return [str(wiki.owner) for wiki in found.wikis]


async def test_named_projects_and_groups_are_found(client: Client) -> None:
    selection = Selection(projects=("docs/handbook", "/other/thing/"), groups=("docs",))
    found = await find_wikis(client, selection)
    assert owners(found) == [
        "project docs/handbook",
        "project other/thing",
        "group docs",
    ]
    assert all(wiki.is_named for wiki in found.wikis)


async def test_group_with_everything_below_it(client: Client) -> None:
    found = await find_wikis(client, Selection(groups=("docs",), is_all=True))
    assert owners(found) == [
        "group docs",
        "project docs/handbook",
        "project docs/sub/deep",
    ]
    assert [problem.subject for problem in found.skipped] == [
        "group docs/sub",
        "project docs/off",
    ]


async def test_everything_there_is(client: Client) -> None:
    found = owners(await find_wikis(client, Selection(is_all=True)))
    assert {"group docs", "project docs/sub/deep", "project other/thing"} <= {*found}


async def test_wiki_named_and_found_comes_once_as_named(client: Client) -> None:
    selection = Selection(projects=("docs/handbook",), groups=("docs",), is_all=True)
    found = await find_wikis(client, selection)
    assert owners(found).count("project docs/handbook") == 1
    assert found.wikis[0].is_named


async def test_named_wiki_that_is_switched_off_is_not_left_out(client: Client) -> None:
    """The pull then says why it cannot be had; leaving it out would say nothing."""
    found = await find_wikis(client, Selection(projects=("docs/off",)))
    assert owners(found) == ["project docs/off"]


@pytest.mark.parametrize(
    ("selection", "told", "hint"),
    [
        (Selection(projects=("docs/nothing",)), "project docs/nothing", "token"),
        (Selection(groups=("nothing",)), "group nothing", ""),
        (Selection(), "no wiki is selected", "--project PATH"),
        (Selection(projects=("/",)), "empty path", ""),
    ],
)
async def test_what_names_no_wiki_is_told(
    client: Client, selection: Selection, told: str, hint: str
) -> None:
    with pytest.raises((NotFound, UsageError), match=told) as caught:
        await find_wikis(client, selection)
    assert hint in (caught.value.hint or "")

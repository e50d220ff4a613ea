"""What a token may do, judged without a service; with one in ``test_init``."""

import asyncio
from datetime import date

import pytest

from tests.api.wire import json_answer, listening_wire
from wikisync.core.model import WikiOwner
from wikisync.errors import UsageError
from wikisync.site.model import WikiOrigin
from wikisync.workspace.discovery import FoundWiki, Selection
from wikisync.workspace.doctor import token_findings
from wikisync.workspace.rights import (
    TokenRights,
    addresses_in,
    check_token,
    nearest_paths,
    resolve_address,
    rights_of,
)

HANDBOOK = WikiOwner("project", "docs/handbook")
WIKI = FoundWiki(HANDBOOK, "handbook", origin=WikiOrigin(id=7), is_named=True)
API_TOKEN = TokenRights("laptop", "ann", ("api",))


@pytest.mark.parametrize("level", [None, 0])
def test_role_that_is_not_told_is_not_guessed(level: int | None) -> None:
    """It may come by a shared group."""
    rights = rights_of(WIKI, 1, API_TOKEN, level)
    assert (rights.writes, rights.deletes) == (None, None)
    assert "the service does not report your role" in rights.sentence()


def test_administrator_needs_no_role() -> None:
    admin = TokenRights("laptop", "root", ("api",), is_admin=True)
    assert rights_of(WIKI, 1, admin, None).sentence() == (
        "can read, write, upload and delete: you are an administrator"
    )
    assert rights_of(WIKI, 1, admin, None, is_archived=True).writes is False


def test_nothing_is_known_of_scopes_but_of_the_role() -> None:
    rights = rights_of(WIKI, 1, TokenRights(), 20)
    assert rights.writes is False


@pytest.mark.parametrize("level", [15, 30, 50, None])
@pytest.mark.parametrize("is_admin", [False, True])
def test_single_permissions_of_a_token_are_not_guessed(
    level: int | None, is_admin: bool
) -> None:
    """Its scopes name none of them, and the role only says what they could be."""
    token = TokenRights("laptop", "ann", ("granular",), is_admin=is_admin)
    rights = rights_of(WIKI, 1, token, level)

    assert (rights.writes, rights.deletes) == (None, None)
    assert rights.sentence().startswith("can read; write access unknown until")
    unknown = "the service does not say what the scope granular allows"
    assert unknown in rights.sentence() or level is None


def test_single_permissions_go_no_further_than_the_role() -> None:
    token = TokenRights("laptop", "ann", ("granular",))

    assert rights_of(WIKI, 1, token, 20).writes is False
    assert rights_of(WIKI, 1, token, 50, is_archived=True).writes is False


async def test_token_that_may_not_read_itself_has_unknown_rights() -> None:
    lacked = "Access denied: the token lacks [Personal Access Token: Read]"
    body = {"error": "insufficient_granular_scope", "error_description": lacked}
    async with listening_wire() as wire:
        wire.repeats = True
        wire.will(json_answer(body, 403))
        service = await check_token(wire.url, "glpat-EXAMPLE")

    assert (service.version, service.token is None) == ("", False)
    rights = rights_of(WIKI, 1, service.token, 50)
    assert rights.writes is None
    assert lacked in rights.because
    (told,) = token_findings(service.token, date(2026, 1, 1))
    assert lacked in told.sentence


def test_planner_writes_wikis_though_reporters_may_not() -> None:
    rights = rights_of(WIKI, 1, API_TOKEN, 15)
    assert rights.sentence() == (
        "can read, write, upload and delete: your role is Planner"
    )


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("docs/handbok", ["docs/handbook"]),
        ("Docs/Handbook", ["docs/handbook"]),
        ("team/handbook", ["docs/handbook"]),
        ("xyz", []),
    ],
)
def test_nearest_paths_are_like_in_spelling_or_name(
    wanted: str, found: list[str]
) -> None:
    assert nearest_paths(wanted, ["docs/handbook", "infra/deploy"]) == found


def test_pasted_address_is_every_service_that_it_may_be() -> None:
    found = addresses_in("https://h.example/git/docs/handbook/-/wikis/home")
    assert found == [
        ("https://h.example", "git/docs/handbook"),
        ("https://h.example/git", "docs/handbook"),
        ("https://h.example/git/docs", "handbook"),
    ]


@pytest.mark.parametrize(
    "url", ["https://[::1/git/x", "https://[x]/a", "https://a]b/x", "https://℀h/x"]
)
def test_pasted_text_that_is_no_address_is_told(url: str) -> None:
    with pytest.raises(UsageError, match="is not a URL"):
        addresses_in(url)
    with pytest.raises(UsageError, match="is not a URL"):
        asyncio.run(resolve_address(url, Selection(), lambda _url: None))


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(("docs/a", "docs/b")),
        Selection(("docs/a",), ("docs",)),
        Selection(groups=("docs",), is_all=True),
    ],
)
def test_only_a_single_name_means_a_single_wiki(selection: Selection) -> None:
    assert selection.only() is None
    assert Selection(groups=("docs",)).only() == WikiOwner("group", "docs")

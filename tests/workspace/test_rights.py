"""What a token may do, judged without a service; with one in ``test_init``."""

from __future__ import annotations

from datetime import date

import pytest

from wikisync.cli.init_report import token_sentence
from wikisync.model import WikiOwner
from wikisync.workspace.addresses import addresses_in
from wikisync.workspace.discovery import FoundWiki
from wikisync.workspace.rights import (
    Service,
    TokenRights,
    nearest_paths,
    rights_of,
)

HANDBOOK = WikiOwner("project", "docs/handbook")
WIKI = FoundWiki(HANDBOOK, 7, "handbook", "", "private", "", is_named=True)
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


def test_planner_writes_wikis_though_reporters_may_not() -> None:
    rights = rights_of(WIKI, 1, API_TOKEN, 15)
    assert rights.sentence() == (
        "can read, write, upload and delete: your role is Planner"
    )


def test_token_without_end_says_so() -> None:
    service = Service("https://gitlab.example.com", "17.0", API_TOKEN)
    assert token_sentence(service, date(2026, 1, 1)) == (
        'token "laptop" of ann: scopes api, without an expiry date'
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

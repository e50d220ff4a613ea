"""No single request brings the service to a 500, or to a halt."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.security.service_requests import (
    Sent,
    deep_titles,
    lists_without_end,
    names_of_versions,
    numbers_without_end,
    send,
)
from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.model import WikiOwner

BOOK = WikiOwner("project", "docs/book")
BOOK_API = "/api/v4/projects/docs%2Fbook"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A service with one public wiki."""
    async with embedded_service(tmp_path) as running:
        await running.add_project("docs/book", {"home": "x"}, visibility="public")
        yield running


@pytest.mark.parametrize("is_anonymous", [True, False])
@pytest.mark.parametrize("attack", [numbers_without_end, lists_without_end])
async def test_what_has_no_end_is_refused(
    service: EmbeddedService, attack: Callable[[], list[Sent]], is_anonymous: bool
) -> None:
    token = None if is_anonymous else service.token

    answers = await send(service.url, attack(), token)

    assert [(a.status, a.sent) for a in answers if a.status >= 500] == []
    assert len(answers) > 5


async def test_filters_with_too_many_parts_are_named(service: EmbeddedService) -> None:
    words = "+".join(f"word{at}" for at in range(51))
    wanted = [Sent("GET", f"/api/v4/projects?search={words}&topic=a")]

    [answer] = await send(service.url, wanted, None)

    assert (answer.status, answer.text) == (
        400,
        '{"error":"search has more than 50 parts"}',
    )


async def test_deep_titles_are_refused_at_once_and_change_nothing(
    service: EmbeddedService,
) -> None:
    answers = await send(service.url, deep_titles("docs%2Fbook"), service.token)

    error = '{"message":{"title":["exceeds the limit of 64 directories"]}}'
    assert {(answer.status, answer.text) for answer in answers} == {(400, error)}
    assert set(await service.files(BOOK)) == {"home.md"}


async def test_deepest_title_is_taken_and_no_rename_moves_a_page_deeper(
    service: EmbeddedService,
) -> None:
    wikis = f"{BOOK_API}/wikis"
    deep = "d/" * 64 + "x"

    answers = await send(
        service.url,
        [
            Sent("POST", wikis, {"title": deep, "content": "x"}),
            Sent("POST", wikis, {"title": "d", "content": "x"}),
            Sent("PUT", f"{wikis}/d", {"title": "/e/f"}),
            Sent("PUT", f"{wikis}/d", {"title": "/e"}),
        ],
        service.token,
    )

    assert [answer.status for answer in answers] == [201, 201, 400, 200]
    assert "exceeds the limit of 64 directories" in answers[2].text


async def test_version_is_the_id_of_a_commit_and_nothing_else(
    service: EmbeddedService,
) -> None:
    answers = await send(service.url, names_of_versions("docs%2Fbook"), None)

    missing = '{"message":"404 Wiki Page Not Found"}'
    assert {(answer.status, answer.text) for answer in answers} == {(404, missing)}


async def test_version_may_be_the_beginning_of_an_id(service: EmbeddedService) -> None:
    tree = await (await service.wiki(BOOK)).tree()
    assert tree is not None
    assert tree.commit is not None
    page = f"{BOOK_API}/wikis/home?version="
    ids = (tree.commit, tree.commit[:8], tree.commit.upper())

    answers = await send(service.url, [Sent("GET", page + one) for one in ids], None)

    assert [answer.status for answer in answers] == [200, 200, 200]


@pytest.mark.parametrize(
    "query", ["with_shared=1", "with_shared=1&shared_visible_only=0"]
)
async def test_private_group_that_a_project_is_shared_with_is_not_named(
    service: EmbeddedService, query: str
) -> None:
    crew = await service.add_group("secret-crew")
    body = {"group_id": crew, "group_access": 20}
    await send(service.url, [Sent("POST", f"{BOOK_API}/share", body)], service.token)
    stranger = await service.add_user("eve")
    wanted = [Sent("GET", f"{BOOK_API}/groups?{query}")]

    nobody = await send(service.url, wanted, None)
    other = await send(service.url, wanted, stranger)
    admin = await send(service.url, wanted, service.token)

    assert "secret-crew" not in nobody[0].text + other[0].text
    assert "secret-crew" in admin[0].text

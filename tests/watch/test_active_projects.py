"""Which projects of a group were active, as the embedded service lists them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.exchange import Request
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.errors import NotFound, Unavailable
from wikisync.watch import wiki as module
from wikisync.watch.wiki import ActiveProjects

OWNERS = tuple(
    WikiOwner("project", path) for path in ("docs/a", "docs/b", "docs/sub/c", "other/d")
)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        for owner in OWNERS:
            await running.add_project(owner.full_path, {"home": "one\n"})
        yield running


@pytest.fixture
async def client(service: EmbeddedService) -> AsyncIterator[Client]:
    async with Client(service.url, service.token) as made:
        yield made


async def edit(client: Client, owner: WikiOwner, text: str) -> int:
    """Edit a page as a person; gives the project's id."""
    await Wiki(client, owner).edit_page("home", content=text)
    return (await client.project(owner.full_path)).id


async def test_edit_of_a_wiki_below_the_group_is_listed_once(client: Client) -> None:
    activity = ActiveProjects(client, "docs")
    assert await activity.changed() == frozenset()
    first = await edit(client, OWNERS[0], "two\n")
    below = await edit(client, OWNERS[2], "two\n")
    await edit(client, OWNERS[3], "two\n")
    assert await activity.changed() == frozenset({first, below})
    assert await activity.changed() == frozenset()


async def test_list_that_did_not_change_costs_no_body(client: Client) -> None:
    activity = ActiveProjects(client, "docs")
    await activity.changed()
    sizes: list[int] = []
    send = client.send

    async def counted(request: Request) -> object:
        answer = await send(request)
        sizes.append(len(answer.body))
        return answer

    client.send = counted  # type: ignore[method-assign, assignment]
    await activity.changed()
    assert sizes == [0]


async def test_more_are_asked_for_where_all_of_the_first_changed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PARTS", (1, 2))
    activity = ActiveProjects(client, "docs")
    await activity.changed()
    only = await edit(client, OWNERS[0], "two\n")
    assert await activity.changed() == frozenset({only})
    for owner in OWNERS[:2]:
        await edit(client, owner, "three\n")
    assert await activity.changed() is None, "any may have changed"
    assert await activity.changed() == frozenset()


async def test_changes_are_named_again_where_the_longer_list_fails(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PARTS", (1, 3))
    activity = ActiveProjects(client, "docs")
    await activity.changed()
    changed = [await edit(client, owner, "two\n") for owner in OWNERS[:2]]
    send, sizes = client.send, []

    async def failing(request: Request) -> object:
        sizes.append(request.query)
        if len(sizes) == 2:
            raise Unavailable("the service is away")
        return await send(request)

    client.send = failing  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable):
        await activity.changed()
    assert await activity.changed() == frozenset(changed)


async def test_project_that_was_not_among_the_first_is_listed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PARTS", (2, 3))
    await edit(client, OWNERS[1], "two\n")
    await edit(client, OWNERS[2], "two\n")
    activity = ActiveProjects(client, "docs")
    await activity.changed()
    assert await activity.changed() == frozenset()
    assert await activity.changed() == frozenset()
    first = await edit(client, OWNERS[0], "two\n")
    assert await activity.changed() == frozenset({first})


async def test_what_is_no_group_has_no_list(client: Client) -> None:
    with pytest.raises(NotFound):
        await ActiveProjects(client, "nobody").changed()


async def test_service_on_which_edits_are_no_activity_lists_nothing(
    service: EmbeddedService, client: Client
) -> None:
    service.quirks = {Quirk.ACTIVITY_STANDS_STILL}
    activity = ActiveProjects(client, "docs")
    await activity.changed()
    await edit(client, OWNERS[0], "two\n")
    assert await activity.changed() == frozenset()

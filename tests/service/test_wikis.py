"""The wiki operations over HTTP: statuses, texts, order, names, commits."""

import asyncio

import pygit2

from tests.service.conftest import PROJECT, WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner


async def last_commit(service: EmbeddedService, owner: WikiOwner) -> pygit2.Commit:
    wiki = await service.wiki(owner)
    repository = pygit2.Repository(str(wiki.repository.path))
    return repository.revparse_single("main").peel(pygit2.Commit)


async def test_latency_delays_an_answer(service: EmbeddedService, api: Api) -> None:
    service.service.latency_s = 0.05
    answer = await api.get("/api/v4/version")
    assert float(answer.headers["X-Runtime"]) >= 0.05


async def test_commit_bears_the_callers_name_and_the_services_message(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    person = api.as_user(await service.add_user("dana", is_admin=True))

    await person.post(WIKIS, json={"title": "My Page", "content": "1"})
    created = await last_commit(service, PROJECT)
    await person.put(f"{WIKIS}/my-page", json={"content": "2"})
    updated = await last_commit(service, PROJECT)
    await person.delete(f"{WIKIS}/my-page")
    deleted = await last_commit(service, PROJECT)

    assert created.message == "dana created page: My Page"
    assert updated.message == "dana updated page: My Page"
    assert deleted.message == "dana deleted page: My Page"
    assert (created.author.name, created.author.email) == ("dana", "dana@example.com")
    assert deleted.parent_ids == [updated.id]


async def test_fifty_creates_at_once_lose_nothing(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                api.post(WIKIS, json={"title": f"d{n % 5}/p{n}", "content": str(n)})
            )
            for n in range(50)
        ]

    assert {task.result().status for task in tasks} == {201}
    files = await service.files(PROJECT)
    assert files == {f"d{n % 5}/p{n}.md": str(n).encode() for n in range(50)}


async def test_one_of_many_equal_creates_wins(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(api.post(WIKIS, json={"title": "a", "content": str(n)}))
            for n in range(10)
        ]

    statuses = sorted(task.result().status for task in tasks)
    assert statuses == [201] + [400] * 9


async def test_page_is_shown_as_it_was_and_404_for_a_commit_that_is_not_there(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    await api.post(WIKIS, json={"title": "a", "content": "first"})
    first = str((await last_commit(service, PROJECT)).id)
    await api.put(f"{WIKIS}/a", json={"content": "second"})

    shown = await api.get(f"{WIKIS}/a?version={first}")
    unknown = await api.get(f"{WIKIS}/a?version={'0' * 40}")

    assert shown.json["content"] == "first"
    assert unknown.status == 404
    assert unknown.json == {"message": "404 Wiki Page Not Found"}

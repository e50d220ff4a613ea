"""A client that nobody here wrote talks to the service."""

from __future__ import annotations

import asyncio
from typing import Any

import gitlab
import pytest

from tests.support.service import EmbeddedService


async def in_thread(call: Any, *args: Any, **options: Any) -> Any:
    return await asyncio.to_thread(call, *args, **options)


@pytest.fixture
async def client(service: EmbeddedService) -> gitlab.Gitlab:
    await service.add_project("docs/handbook", {"home": "x"})
    await service.add_group("docs", {"home": "g"})
    return gitlab.Gitlab(service.url, private_token=service.token)


async def test_client_signs_in_and_finds_project_and_group(
    client: gitlab.Gitlab,
) -> None:
    await in_thread(client.auth)
    project = await in_thread(client.projects.get, "docs/handbook")
    projects = await in_thread(client.projects.list, get_all=True)
    group = await in_thread(client.groups.get, "docs")
    below = await in_thread(group.projects.list, get_all=True)

    assert client.user is not None
    assert client.user.username == "root"
    assert [found.id for found in projects] == [project.id]
    assert [found.id for found in below] == [project.id]


async def test_client_lives_a_pages_whole_life(client: gitlab.Gitlab) -> None:
    project = await in_thread(client.projects.get, "docs/handbook")

    fields = {"title": "Dir/My Page", "content": "1"}
    page = await in_thread(project.wikis.create, fields)
    page.content = "2"
    await in_thread(page.save)
    read = await in_thread(project.wikis.get, "Dir/My-Page")
    listed = await in_thread(project.wikis.list, get_all=True)
    await in_thread(read.delete)

    assert (page.slug, read.content) == ("Dir/My-Page", "2")
    assert [found.slug for found in listed] == ["Dir/My-Page", "home"]
    with pytest.raises(gitlab.GitlabGetError, match="404 Wiki Page Not Found"):
        await in_thread(project.wikis.get, "Dir/My-Page")


async def test_client_uploads_into_group_and_project(client: gitlab.Gitlab) -> None:
    project = await in_thread(client.projects.get, "docs/handbook")
    group = await in_thread(client.groups.get, "docs")

    sent = [
        await in_thread(owner.wikis.list, get_all=True) for owner in (project, group)
    ]
    answers = [
        await in_thread(pages[0].upload, "a b.png", filedata=b"PNG") for pages in sent
    ]

    assert all("uploads/" in str(answer) for answer in answers)


async def test_client_finds_people_and_makes_them_members(
    service: EmbeddedService, client: gitlab.Gitlab
) -> None:
    await service.add_user("dana")
    group = await in_thread(client.groups.create, {"name": "Crew", "path": "crew"})
    project = await in_thread(client.projects.get, "docs/handbook")
    found = await in_thread(client.users.list, username="dana", get_all=True)
    fields = {"user_id": found[0].id, "access_level": gitlab.const.DEVELOPER_ACCESS}

    for owner in (group, project):
        member = await in_thread(owner.members.create, fields)
        member.access_level = gitlab.const.MAINTAINER_ACCESS
        await in_thread(member.save)
    every = await in_thread(project.members_all.list, get_all=True)
    single = await in_thread(group.members_all.get, found[0].id)
    await in_thread(project.members.delete, found[0].id)

    assert (await in_thread(client.users.get, found[0].id)).username == "dana"
    assert [(one.username, one.access_level) for one in every] == [("dana", 40)]
    assert single.access_level == 40
    assert await in_thread(project.members.list, get_all=True) == []


async def test_client_searches_wikis(
    service: EmbeddedService, client: gitlab.Gitlab
) -> None:
    await service.add_project("docs/handbook", {"page": "some words"})
    project = await in_thread(client.projects.get, "docs/handbook")
    group = await in_thread(client.groups.get, "docs")
    scope = gitlab.const.SearchScope.WIKI_BLOBS

    found = [
        await in_thread(where.search, scope, "WORDS")
        for where in (client, group, project)
    ]

    assert [[place["path"] for place in one] for one in found] == [["page.md"]] * 3

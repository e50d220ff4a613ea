"""Who has to do with a project: members by every way there is, and their levels."""

import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.service.projects import people as project_people
from wikisync.service.tables import Tables

YESTERDAY = "2000-01-01"


async def names(api: Api, project: int, query: str = "") -> list[str]:
    answer = await api.get(f"/api/v4/projects/{project}/users{query}")
    return [user["username"] for user in answer.json]


async def shared_project(
    service: EmbeddedService, *, level: int = 30, expires_on: str | None = None
) -> int:
    """``docs/book``, shared with ``guests/deep``; someone is in each group."""
    project = await service.add_project("docs/book")
    await service.add_group("docs")
    await service.add_group("guests")
    invited = await service.add_group("guests/deep")
    await service.add_group("guests/deep/deeper")
    for path in ("docs", "docs/book", "guests", "guests/deep", "guests/deep/deeper"):
        name = "of-" + path.replace("/", "-")
        await service.add_user(name)
        await service.add_member(path, name, 40)
    await service.ask(project_people.add_share, project, invited, level, expires_on)
    return project


async def test_members_of_invited_groups_and_those_above_are_listed(
    service: EmbeddedService, api: Api
) -> None:
    """A group below the invited one was not invited, so its members were not."""
    project = await shared_project(service)

    listed = await names(api, project)

    assert listed == ["of-docs", "of-docs-book", "of-guests", "of-guests-deep"]


async def test_members_whose_invitation_is_over_are_not_listed(
    service: EmbeddedService, api: Api
) -> None:
    project = await shared_project(service, expires_on=YESTERDAY)

    assert await names(api, project) == ["of-docs", "of-docs-book"]


async def test_invited_members_have_no_more_than_the_invitation_says(
    service: EmbeddedService,
) -> None:
    project = await shared_project(service, level=20)
    await service.add_member("docs/book", "of-guests", 10)
    shown = await service.ask(Tables.project, str(project), None)
    assert shown is not None

    found = await service.ask(project_people.members, project, shown.namespace.id)

    levels = {user.username: level for user, level in found}
    assert (levels["of-guests"], levels["of-guests-deep"]) == (20, 20)
    assert levels["of-docs-book"] == 40


async def test_invited_members_are_searched_and_skipped_like_others(
    service: EmbeddedService, api: Api
) -> None:
    project = await shared_project(service)
    every = (await api.get(f"/api/v4/projects/{project}/users")).json
    skipped = next(user["id"] for user in every if user["username"] == "of-guests")

    found = await names(api, project, f"?search=GUESTS&skip_users[]={skipped}")

    assert found == ["of-guests-deep"]


@pytest.mark.parametrize("part", ["users", "starrers"])
async def test_search_for_people_knows_letters_of_every_script(
    service: EmbeddedService, api: Api, part: str
) -> None:
    project = await service.add_project("docs/book", visibility="public")
    token = await service.add_user("oe")
    await service.ask(
        lambda tables: tables.db.execute(
            "UPDATE user SET name = 'Östen Straße' WHERE username = 'oe'"
        )
    )
    await service.add_member("docs/book", "oe", 30)
    await api.as_user(token).post(f"/api/v4/projects/{project}/star")

    place = f"/api/v4/projects/{project}/{part}?search="
    found = (await api.get(place + "%C3%B6STEN%20strasse")).json
    nobody = (await api.get(place + "ostein")).json

    assert (len(found), nobody) == (1, [])

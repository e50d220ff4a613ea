"""Lists of projects, and lists about one: filters, pages, and where they end."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.played import API, RECORD, asked, sorted_query
from tests.support.network import PlayedNetwork
from wikisync.api.projects import Projects
from wikisync.contract.project_schema import ProjectRecord
from wikisync.errors import NotFound, UsageError

LIST_CALLS: list[tuple[Callable[[Projects], Any], str]] = [
    (lambda p: p.list_projects(), "/projects?order_by=id&per_page=100"),
    (
        lambda p: p.list_projects(updated_after="2026-01-01"),
        "/projects?updated_after=2026-01-01&order_by=updated_at&per_page=100",
    ),
    (
        lambda p: p.list_projects(
            custom_attributes={"team": "docs"}, order_by="name", per_page=5
        ),
        "/projects?custom_attributes%5Bteam%5D=docs&order_by=name&per_page=5",
    ),
    (
        lambda p: p.list_projects(archived=False, page=3),
        "/projects?archived=false&page=3&order_by=id&per_page=100",
    ),
    (
        lambda p: p.list_projects(also={"active": True}),
        "/projects?order_by=id&per_page=100&active=true",
    ),
    (
        lambda p: p.list_user_projects("maria", updated_after="2026-01-01"),
        "/users/maria/projects?updated_after=2026-01-01&order_by=id&per_page=100",
    ),
    (
        lambda p: p.list_contributed_projects(5, simple=True),
        "/users/5/contributed_projects?simple=true&per_page=100",
    ),
    (
        lambda p: p.list_starred_projects("maria", sort="asc"),
        "/users/maria/starred_projects?sort=asc&per_page=100",
    ),
    (
        lambda p: p.list_forks(7, owned=True),
        "/projects/7/forks?owned=true&per_page=100",
    ),
]


@pytest.mark.parametrize(
    ("call", "url"), LIST_CALLS, ids=[url for _, url in LIST_CALLS]
)
async def test_lists_of_projects(
    call: Callable[[Projects], Any],
    url: str,
    projects: Projects,
    network: PlayedNetwork,
) -> None:
    network.get(f"{API}{url}", payload=[RECORD])
    assert [found.id async for found in call(projects)] == [7]
    assert asked(network) == [("GET", sorted_query(url))]


async def test_attributes_without_a_field_stay_reachable(
    projects: Projects, network: PlayedNetwork
) -> None:
    newer = {**RECORD, "avatar_url": None, "repository_object_format": "sha256"}
    for payload in (newer, RECORD):
        network.get(f"{API}/projects/7", payload=payload)
    network.get(f"{API}/projects?order_by=id&per_page=100", payload=[newer])

    one = await projects.show_project(7)
    other = await projects.show_project(7)
    listed = [found async for found in projects.list_projects()]

    assert one.sent == listed[0].sent == newer
    assert other.sent == RECORD
    assert one == other, "equal by their fields"
    assert not ProjectRecord(id=1, path_with_namespace="a/b").sent


async def test_lists_about_a_project(
    projects: Projects, network: PlayedNetwork
) -> None:
    user = {"id": 1, "username": "maria", "state": "active"}
    group = {"id": 3, "full_path": "docs", "full_name": "Docs"}
    network.get(
        f"{API}/projects/7/users?skip_users%5B%5D=5&per_page=100", payload=[user]
    )
    network.get(
        f"{API}/projects/7/groups?with_shared=true&per_page=100", payload=[group]
    )
    network.get(
        f"{API}/projects/7/share_locations?search=do&per_page=100", payload=[group]
    )
    network.get(
        f"{API}/projects/7/starrers?per_page=100",
        payload=[{"starred_since": "2026-01-31T00:00:00Z", "user": user}],
    )

    users = [found async for found in projects.list_project_users(7, skip_users=[5])]
    groups = [
        found async for found in projects.list_project_groups(7, with_shared=True)
    ]
    places = [found async for found in projects.list_share_locations(7, search="do")]
    starrers = [found async for found in projects.list_starrers(7)]

    assert users[0].username == "maria"
    assert [group.full_path for group in groups + places] == ["docs", "docs"]
    assert (starrers[0].user, starrers[0].starred_since) == (
        users[0],
        "2026-01-31T00:00:00Z",
    )


async def test_a_list_refuses_a_filter_before_anything_is_sent(
    projects: Projects, network: PlayedNetwork
) -> None:
    with pytest.raises(UsageError, match="contributed_projects takes no parameter"):
        projects.list_contributed_projects(5, topic="a")  # type: ignore[call-arg]
    assert asked(network) == []


async def test_a_missing_user_is_called_a_user(
    projects: Projects, network: PlayedNetwork
) -> None:
    url = f"{API}/users/nobody/starred_projects?per_page=100"
    network.get(url, status=404, payload={"message": "404 User Not Found"})
    with pytest.raises(NotFound, match="user nobody does not exist or is hidden"):
        await anext(projects.list_starred_projects("nobody"))

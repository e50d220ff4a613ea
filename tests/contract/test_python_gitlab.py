"""A client that nobody here wrote: python-gitlab on the projects API."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import gitlab
import pytest
import pytest_asyncio
from gitlab.exceptions import (
    GitlabAuthenticationError,
    GitlabCreateError,
    GitlabGetError,
    GitlabHttpError,
    GitlabListError,
    GitlabUpdateError,
)

from tests.support.service import EmbeddedService

pytestmark = pytest.mark.asyncio(loop_scope="module")

T = TypeVar("T")
NUMBERS = count(1)
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


async def waited(call: Callable[[], T]) -> T:
    """python-gitlab waits in its thread; ours goes on serving meanwhile."""
    return await asyncio.to_thread(call)


@pytest.fixture
def session(running: EmbeddedService) -> gitlab.Gitlab:
    return gitlab.Gitlab(running.url, private_token=running.token)


@pytest_asyncio.fixture(loop_scope="module")
async def maria(running: EmbeddedService) -> gitlab.Gitlab:
    token = await running.add_user(f"maria-pg{next(NUMBERS)}")
    session = gitlab.Gitlab(running.url, private_token=token)
    await waited(session.auth)
    return session


@pytest_asyncio.fixture(loop_scope="module")
async def group(running: EmbeddedService) -> str:
    path = f"guild{next(NUMBERS)}"
    await running.add_group(path, visibility="public")
    return path


@pytest_asyncio.fixture(loop_scope="module")
async def handbook(running: EmbeddedService, group: str) -> str:
    await running.add_project(f"{group}/handbook", visibility="public")
    return f"{group}/handbook"


async def test_it_lists_with_filters(
    session: gitlab.Gitlab, running: EmbeddedService, group: str
) -> None:
    for name in ("alpha", "beta", "gamma"):
        await running.add_project(f"{group}/{name}", visibility="internal")

    found = await waited(
        lambda: session.projects.list(
            search=group,
            search_namespaces=True,
            visibility="internal",
            order_by="name",
            sort="asc",
            get_all=True,
            per_page=2,
        )
    )

    assert [project.path for project in found] == ["alpha", "beta", "gamma"]


@pytest.mark.usefixtures("handbook")
async def test_it_reads_totals(session: gitlab.Gitlab) -> None:
    found: Any = await waited(
        lambda: session.projects.list(search="handbook", iterator=True, per_page=1)
    )

    assert (found.current_page, found.per_page) == (1, 1)
    assert found.total == found.total_pages > 0


async def test_it_walks_by_keyset(
    session: gitlab.Gitlab, running: EmbeddedService, group: str
) -> None:
    for number in range(5):
        await running.add_project(f"{group}/p{number}")

    def walk() -> list[int]:
        found = session.projects.list(
            pagination="keyset", order_by="id", sort="asc", per_page=2, iterator=True
        )
        return [project.id for project in found]

    ids = await waited(walk)
    assert ids == sorted(set(ids))
    assert len(ids) >= 5


async def test_it_is_told_of_a_wrong_filter(session: gitlab.Gitlab) -> None:
    with pytest.raises(GitlabListError, match="visibility does not have a valid"):
        await waited(lambda: session.projects.list(visibility="foo", get_all=True))


async def test_it_creates_reads_and_updates(session: gitlab.Gitlab, group: str) -> None:
    def live() -> tuple[Any, Any]:
        namespace = session.groups.get(group).id
        made = session.projects.create(
            {"name": "Hand Book", "namespace_id": namespace, "topics": ["a"]}
        )
        made.description = "how we work"
        made.topics = ["b", "c"]
        made.save()
        return made, session.projects.get(f"{group}/hand-book", statistics=True)

    made, read = await waited(live)
    assert read.id == made.id
    assert (read.description, sorted(read.topics)) == ("how we work", ["b", "c"])
    assert read.statistics["commit_count"] == 0


async def test_it_is_told_of_refusals(session: gitlab.Gitlab, handbook: str) -> None:
    def refused() -> None:
        namespace = session.projects.get(handbook).namespace["id"]
        session.projects.create({"path": "handbook", "namespace_id": namespace})

    with pytest.raises(GitlabCreateError, match="has already been taken") as taken:
        await waited(refused)
    with pytest.raises(GitlabUpdateError, match="visibility"):
        await waited(lambda: session.projects.update(handbook, {"visibility": "x"}))

    assert taken.value.response_code == 400


async def test_it_is_told_of_a_missing_project(session: gitlab.Gitlab) -> None:
    with pytest.raises(GitlabGetError, match="404 Project Not Found") as missing:
        await waited(lambda: session.projects.get("no/such"))

    assert missing.value.response_code == 404


async def test_it_is_told_of_a_wrong_token(running: EmbeddedService) -> None:
    stranger = gitlab.Gitlab(running.url, private_token="glpat-EXAMPLE")

    with pytest.raises(GitlabAuthenticationError, match="401 Unauthorized"):
        await waited(lambda: stranger.projects.list(get_all=True))


async def test_it_forks(maria: gitlab.Gitlab, handbook: str) -> None:
    def fork() -> tuple[Any, list[Any]]:
        project = maria.projects.get(handbook)
        made = project.forks.create({"name": "copy", "path": "copy"})
        return made, list(project.forks.list(get_all=True))

    made, forks = await waited(fork)
    assert made.import_status in {"scheduled", "started", "finished"}
    assert [found.id for found in forks] == [made.id]


async def test_it_stars_once(maria: gitlab.Gitlab, handbook: str) -> None:
    project = await waited(lambda: maria.projects.get(handbook))
    await waited(project.star)

    with pytest.raises(GitlabCreateError) as twice:
        await waited(project.star)
    starrers: Any = await waited(
        lambda: maria.http_list(f"/projects/{project.id}/starrers", get_all=True)
    )
    await waited(project.unstar)
    after = await waited(lambda: maria.projects.get(handbook))

    assert twice.value.response_code == 304
    assert [entry["user"]["id"] for entry in starrers] == [maria.user.id]  # type: ignore[union-attr]
    assert after.star_count == 0


async def test_it_archives_as_often_as_it_likes(
    session: gitlab.Gitlab, handbook: str
) -> None:
    def archive() -> list[bool]:
        project = session.projects.get(handbook)
        seen = []
        for step in (project.archive, project.archive, project.unarchive):
            step()
            seen.append(session.projects.get(handbook).archived)
        return seen

    assert await waited(archive) == [True, True, False]


async def test_it_shares_and_unshares(
    session: gitlab.Gitlab, running: EmbeddedService, handbook: str
) -> None:
    group_id = await running.add_group(f"friends{next(NUMBERS)}")

    def share() -> list[list[int]]:
        project = session.projects.get(handbook)
        project.share(group_id, 30)
        shared = session.projects.get(handbook).shared_with_groups
        project.unshare(group_id)
        return [
            [entry["group_id"] for entry in groups]
            for groups in (shared, session.projects.get(handbook).shared_with_groups)
        ]

    assert await waited(share) == [[group_id], []]


async def test_it_uploads(session: gitlab.Gitlab, handbook: str) -> None:
    uploaded: Any = await waited(
        lambda: session.projects.get(handbook).upload("dk.png", filedata=PICTURE)
    )

    assert uploaded["markdown"] == f"![dk]({uploaded['url']})"


async def test_it_sets_and_removes_an_avatar(
    session: gitlab.Gitlab, handbook: str
) -> None:
    def avatar() -> list[str | None]:
        project = session.projects.get(handbook)
        project.avatar = PICTURE
        project.save()
        given = session.projects.get(handbook).avatar_url
        project = session.projects.get(handbook)
        project.avatar = ""
        project.save()
        return [given, session.projects.get(handbook).avatar_url]

    given, taken = await waited(avatar)
    assert given is not None
    assert given.endswith(".png")
    assert taken is None


async def test_it_reads_languages_users_and_groups(
    session: gitlab.Gitlab, running: EmbeddedService, handbook: str, group: str
) -> None:
    await running.add_code(handbook, {"a.py": b"x = 1\n"})
    name = f"ada{next(NUMBERS)}"
    await running.add_user(name)
    await running.add_member(handbook, name, 30)

    project = await waited(lambda: session.projects.get(handbook))
    languages = await waited(project.languages)
    users = await waited(lambda: project.users.list(get_all=True))
    groups = await waited(lambda: project.groups.list(get_all=True))

    assert languages == {"Python": 100.0}
    assert name in {user.username for user in users}
    assert [found.full_path for found in groups] == [group]


async def test_it_imports_members(
    session: gitlab.Gitlab, running: EmbeddedService, handbook: str
) -> None:
    name = f"bob{next(NUMBERS)}"
    await running.add_user(name)
    source = await running.add_project(f"{handbook}-source")
    await running.add_member(f"{handbook}-source", name, 30)

    def imported() -> Any:
        target = session.projects.get(handbook).id
        return session.http_post(f"/projects/{target}/import_project_members/{source}")

    assert (await waited(imported))["status"] == "success"


async def test_it_deletes_and_restores(session: gitlab.Gitlab, handbook: str) -> None:
    def delete_and_restore() -> tuple[Any, Any]:
        project = session.projects.get(handbook)
        project.delete()
        marked = session.projects.get(project.id)
        project.restore()
        return marked, session.projects.get(project.id)

    marked, restored = await waited(delete_and_restore)
    assert marked.marked_for_deletion_on is not None
    assert restored.marked_for_deletion_on is None
    assert restored.path_with_namespace == handbook


async def test_it_removes_for_good(session: gitlab.Gitlab, handbook: str) -> None:
    def remove() -> int:
        project = session.projects.get(handbook)
        project.delete()
        marked = session.projects.get(project.id)
        path = marked.path_with_namespace
        project.delete(permanently_remove=True, full_path=path)
        return int(project.id)

    number = await waited(remove)
    with pytest.raises(GitlabGetError):
        await waited(lambda: session.projects.get(number))


async def test_it_lists_the_projects_of_a_user(maria: gitlab.Gitlab) -> None:
    def own() -> list[str]:
        assert maria.user is not None
        maria.projects.create({"name": "Own one"})
        user = maria.users.get(maria.user.id, lazy=True)
        return [project.path for project in user.projects.list(get_all=True)]

    assert await waited(own) == ["own-one"]


async def test_it_reads_groups(
    session: gitlab.Gitlab, handbook: str, group: str
) -> None:
    def read() -> tuple[Any, list[Any]]:
        found = session.groups.get(group)
        return found, list(found.projects.list(get_all=True))

    found, projects = await waited(read)
    assert found.full_path == group
    assert [project.path_with_namespace for project in projects] == [handbook]


async def test_it_is_told_what_its_role_forbids(
    maria: gitlab.Gitlab, handbook: str
) -> None:
    with pytest.raises(GitlabUpdateError, match="403") as denied:
        await waited(lambda: maria.projects.update(handbook, {"description": "x"}))
    with pytest.raises(GitlabHttpError):
        await waited(
            lambda: maria.http_post("/projects/user/1", post_data={"name": "x"})
        )

    assert denied.value.response_code == 403

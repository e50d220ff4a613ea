"""Our client on the embedded service: projects, their whole life long."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio

from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.listing import Listing
from wikisync.api.projects import Projects
from wikisync.api.settings import ClientSettings
from wikisync.contract.project_schema import ProjectRecord
from wikisync.errors import AuthenticationFailed, NotFound, PermissionDenied, Rejected

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = count(1)
SMALL = ClientSettings(per_page=2)
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture
def projects(client: Client) -> Projects:
    return Projects(client)


@pytest_asyncio.fixture(loop_scope="module")
async def group(service: EmbeddedService) -> str:
    path = f"team{next(NUMBERS)}"
    await service.add_group(path, visibility="public")
    return path


@pytest_asyncio.fixture(loop_scope="module")
async def handbook(service: EmbeddedService, group: str) -> str:
    await service.add_project(f"{group}/handbook", visibility="public")
    return f"{group}/handbook"


@pytest_asyncio.fixture(loop_scope="module")
async def maria(service: EmbeddedService) -> AsyncIterator[Projects]:
    """The operations as a user has them who is no administrator."""
    token = await service.add_user(f"maria{next(NUMBERS)}")
    async with Client(service.url, token) as opened:
        yield Projects(opened)


async def paths(listing: Listing[ProjectRecord]) -> list[str]:
    return [found.path_with_namespace async for found in listing]


async def test_attributes_that_are_set_are_read_again(
    projects: Projects, group: str
) -> None:
    owner = await projects.client.group(group)

    made = await projects.create_project(
        name="Hand Book",
        namespace_id=owner.id,
        description="how we work",
        topics=["docs", "b"],
        visibility="internal",
        wiki_access_level="private",
        merge_method="ff",
        build_timeout=600,
        initialize_with_readme=True,
    )
    read = await projects.show_project(f"{group}/hand-book", statistics=True)

    assert made.id == read.id
    assert (read.description, read.visibility) == ("how we work", "internal")
    assert (read.wiki_access_level, read.sent["merge_method"]) == ("private", "ff")
    assert (read.sent["build_timeout"], read.empty_repo) == (600, False)
    assert set(read.labels) == {"docs", "b"}
    assert read.statistics is not None
    assert read.statistics.commit_count == 1


async def test_edit_changes_what_was_given_and_no_more(
    projects: Projects, handbook: str
) -> None:
    before = await projects.show_project(handbook)

    after = await projects.edit_project(
        handbook, description="new", issues_access_level="disabled"
    )

    assert (after.description, after.sent["issues_enabled"]) == ("new", False)
    assert (after.name, after.visibility) == (before.name, before.visibility)


async def test_rename_keeps_the_old_path_readable(
    projects: Projects, handbook: str, group: str
) -> None:
    await projects.edit_project(handbook, path="manual")

    assert (await projects.show_project(handbook)).path_with_namespace == (
        f"{group}/manual"
    )


@pytest.mark.usefixtures("handbook")
async def test_refusals_come_in_the_services_words(
    projects: Projects, group: str
) -> None:
    owner = await projects.client.group(group)

    with pytest.raises(Rejected, match="path has already been taken"):
        await projects.create_project(path="handbook", namespace_id=owner.id)
    with pytest.raises(Rejected, match="path"):
        await projects.create_project(path="-bad-", namespace_id=owner.id)


async def test_old_names_are_new_ones_to_the_service(
    projects: Projects, handbook: str
) -> None:
    edited = await projects.edit_project(handbook, wiki_enabled=False)

    assert edited.wiki_access_level == "disabled"


@pytest.mark.parametrize("sort", ["asc", "desc"])
async def test_lists_go_on_where_offset_paging_ends(
    sort: Literal["asc", "desc"], service: EmbeddedService, group: str
) -> None:
    wanted = {f"{group}/p{number}" for number in range(7)}
    for path in sorted(wanted):
        await service.add_project(path)

    async with Client(service.url, service.token, settings=SMALL) as small:
        found = Projects(small).list_projects(
            search=f"{group}/p", search_namespaces=True, sort=sort
        )

        assert await found.total() == 7
        assert set(await paths(found)) == wanted


async def test_keyset_paging_follows_links(
    service: EmbeddedService, projects: Projects, group: str
) -> None:
    first, *later = [
        await service.add_project(f"{group}/p{number}") for number in range(6)
    ]

    listed = projects.list_projects(
        pagination="keyset", order_by="id", sort="asc", per_page=2, id_after=first
    )

    assert [found.id async for found in listed] == later
    assert (
        await projects.list_projects(pagination="keyset", order_by="id").total() is None
    )


async def test_filters_narrow(projects: Projects, handbook: str, group: str) -> None:
    await projects.edit_project(handbook, topics=[group])

    assert await paths(projects.list_projects(topic=group)) == [handbook]
    assert await paths(projects.list_projects(topic=group, archived=True)) == []
    assert await paths(projects.list_projects(topic=group, simple=True)) == [handbook]


async def test_lists_about_a_user(
    projects: Projects, maria: Projects, handbook: str
) -> None:
    user = await maria.client.current_user()
    own = await maria.create_project(name="Own one")
    await maria.star_project(handbook)

    assert await paths(projects.list_user_projects(user.username)) == [
        own.path_with_namespace
    ]
    assert await paths(projects.list_starred_projects(user.id)) == [handbook]
    assert own.path_with_namespace in await paths(
        projects.list_contributed_projects(user.id)
    )


async def test_an_unknown_user_is_named(projects: Projects) -> None:
    with pytest.raises(NotFound, match="user nobody-here does not exist"):
        await paths(projects.list_user_projects("nobody-here"))


async def test_star_twice_changes_once(maria: Projects, handbook: str) -> None:
    first, second = (
        await maria.star_project(handbook),
        await maria.star_project(handbook),
    )
    starrers = [found.user.id async for found in maria.list_starrers(handbook)]
    third = await maria.unstar_project(handbook)

    assert (first.has_changed, second.has_changed, third.has_changed) == (
        True,
        False,
        True,
    )
    assert starrers == [(await maria.client.current_user()).id]
    assert third.project is not None
    assert third.project.star_count == 0


async def test_archived_project_takes_no_change(
    projects: Projects, handbook: str
) -> None:
    first = await projects.archive_project(handbook)
    second = await projects.archive_project(handbook)

    with pytest.raises(PermissionDenied):
        await projects.upload_file(handbook, b"x", "a.txt")
    back = await projects.unarchive_project(handbook)

    assert (first.has_changed, second.has_changed, back.has_changed) == (
        True,
        False,
        True,
    )


async def test_fork_is_whole_when_waited_for(
    service: EmbeddedService, maria: Projects, handbook: str
) -> None:
    await service.add_code(handbook, {"a.py": b"x = 1\n"})
    user = await maria.client.current_user()

    fork = await maria.fork_project(handbook, path="copy", name="copy", wait=True)

    assert fork.path_with_namespace == f"{user.username}/copy"
    assert fork.import_status == "finished"
    assert fork.forked_from_project is not None
    assert fork.forked_from_project.path_with_namespace == handbook
    assert await maria.show_languages(fork.id) == {"Python": 100.0}
    assert await paths(maria.list_forks(handbook)) == [fork.path_with_namespace]


async def test_fork_twice_collides(maria: Projects, handbook: str) -> None:
    await maria.fork_project(handbook, path="twice", name="twice", wait=True)

    with pytest.raises(Rejected, match="conflicts with something that already exists"):
        await maria.fork_project(handbook, path="twice", name="twice")


async def test_deleted_project_waits_and_can_be_restored(
    projects: Projects, handbook: str
) -> None:
    number = (await projects.show_project(handbook)).id

    deletion = await projects.delete_project(number)
    restored = await projects.restore_project(number)

    assert deletion.state == "scheduled"
    assert deletion.project is not None
    assert deletion.project.deletion_date is not None
    assert (restored.deletion_date, restored.path_with_namespace) == (None, handbook)


async def test_restore_of_what_is_not_marked_is_refused(
    projects: Projects, handbook: str
) -> None:
    with pytest.raises(Rejected, match="not been marked for deletion"):
        await projects.restore_project(handbook)


async def test_permanent_deletion_leaves_nothing(
    projects: Projects, handbook: str
) -> None:
    number = (await projects.show_project(handbook)).id

    deletion = await projects.delete_project_permanently(handbook)

    assert deletion.state in {"removed", "accepted"}
    with pytest.raises(NotFound):
        await projects.show_project(number)


async def test_permanent_deletion_wants_the_right_path(
    projects: Projects, handbook: str
) -> None:
    await projects.delete_project(handbook)

    with pytest.raises(Rejected, match="`full_path` is incorrect"):
        await projects.delete_project(
            handbook, permanently_remove=True, full_path="wrong"
        )


async def test_shared_project_is_open_to_the_groups_members(
    service: EmbeddedService, projects: Projects, maria: Projects, group: str
) -> None:
    await service.add_group(f"{group}-friends")
    project_id = await service.add_project(f"{group}/secret")
    user = await maria.client.current_user()
    await service.add_member(f"{group}-friends", user.username, 30)
    friends = await projects.client.group(f"{group}-friends")

    with pytest.raises(NotFound):
        await maria.show_project(project_id)
    await projects.share_project(project_id, group_id=friends.id, group_access=20)
    seen = await maria.show_project(project_id)
    await projects.unshare_project(project_id, friends.id)

    assert seen.path_with_namespace == f"{group}/secret"
    with pytest.raises(NotFound):
        await maria.show_project(project_id)


async def test_share_twice_and_unshare_twice_are_refused(
    service: EmbeddedService, projects: Projects, handbook: str
) -> None:
    group_id = await service.add_group(f"others{next(NUMBERS)}")
    await projects.share_project(handbook, group_id=group_id, group_access=30)

    with pytest.raises(Rejected, match="already shared with this group"):
        await projects.share_project(handbook, group_id=group_id, group_access=30)
    await projects.unshare_project(handbook, group_id)
    with pytest.raises(NotFound, match="404 Group Link Not Found"):
        await projects.unshare_project(handbook, group_id)


async def test_share_with_a_group_that_is_not_there_names_it(
    projects: Projects, handbook: str
) -> None:
    with pytest.raises(NotFound, match="or group 999999 does not exist or is hidden"):
        await projects.share_project(handbook, group_id=999_999, group_access=30)


async def test_groups_and_share_locations(
    projects: Projects, handbook: str, group: str
) -> None:
    above = [found.full_path async for found in projects.list_project_groups(handbook)]
    places = [
        found.full_path async for found in projects.list_share_locations(handbook)
    ]

    assert above == [group]
    assert group not in places


async def test_upload_is_served_again(
    projects: Projects, handbook: str, tmp_path: Path
) -> None:
    (tmp_path / "d k.png").write_bytes(PICTURE)

    record = await projects.upload_file(handbook, tmp_path / "d k.png")

    assert record.url.startswith("/uploads/")
    assert record.markdown == f"![{record.alt}]({record.url})"


async def test_upload_that_is_too_big_is_told(
    service: EmbeddedService, projects: Projects, handbook: str
) -> None:
    service.set_limits(attachment_bytes_max=10)

    with pytest.raises(Rejected, match="too large"):
        await projects.upload_file(handbook, bytes(11), "a.bin")


async def test_avatar_comes_and_goes(projects: Projects, handbook: str) -> None:
    given = await projects.set_avatar(handbook, PICTURE, "dk.png")
    taken = await projects.remove_avatar(handbook)

    assert given.avatar_url is not None
    assert given.avatar_url.endswith("/dk.png")
    assert taken.avatar_url is None


async def test_avatar_that_is_no_picture_is_refused(
    projects: Projects, handbook: str
) -> None:
    with pytest.raises(Rejected, match="avatar"):
        await projects.set_avatar(handbook, b"text", "note.txt")


async def test_members_are_imported(
    service: EmbeddedService, projects: Projects, maria: Projects, handbook: str
) -> None:
    user = await maria.client.current_user()
    source = f"{handbook}-source"
    await service.add_project(source)
    await service.add_member(source, user.username, 30)

    imported = await projects.import_project_members(handbook, source)
    users = [found.id async for found in projects.list_project_users(handbook)]

    assert imported.status == "success"
    assert user.id in users


async def test_roles_that_do_not_suffice_are_told(
    maria: Projects, handbook: str
) -> None:
    with pytest.raises(PermissionDenied, match="may not change it"):
        await maria.edit_project(handbook, description="x")
    with pytest.raises(PermissionDenied):
        await maria.delete_project(handbook)
    with pytest.raises(PermissionDenied):
        await maria.create_project_for_user(1, name="x")


async def test_without_a_token_public_projects_are_read_and_no_more(
    service: EmbeddedService, handbook: str
) -> None:
    async with Client(service.url) as anybody:
        found = await Projects(anybody).show_project(handbook)

        assert found.permissions is None
        with pytest.raises(AuthenticationFailed, match="no token is set"):
            await Projects(anybody).star_project(handbook)


async def test_administrators_create_for_users(
    projects: Projects, maria: Projects
) -> None:
    user = await maria.client.current_user()

    made = await projects.create_project_for_user(user.id, name="Hers")

    assert made.path_with_namespace == f"{user.username}/hers"

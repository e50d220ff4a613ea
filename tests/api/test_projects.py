"""One project, read and changed: what is sent, and what the answers become."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import SERVICE
from tests.api.faketime import FakeTime
from tests.api.played import API, RECORD, asked, bodies, sorted_query
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.projects import Deletion, Projects, Toggle
from wikisync.contract.routes import Endpoint
from wikisync.errors import NotFound, PermissionDenied, Rejected, Unavailable

HANDBOOK = f"{API}/projects/docs%2Fhandbook"
OLD = {**RECORD, "archived": True}
NEW = {**RECORD, "archived": False}
MARKED = {
    "id": 7,
    "path_with_namespace": "docs/handbook-deletion_scheduled-7",
    "marked_for_deletion_on": "2026-01-31",
}


async def test_one_project_with_its_optional_parts(
    projects: Projects, network: PlayedNetwork
) -> None:
    part = {"license": {"key": "mit"}, "statistics": {"wiki_size": 5}}
    url = f"{HANDBOOK}?license=true&statistics=true"
    network.get(url, payload={**RECORD, **part})

    found = await projects.show_project("docs/handbook", license=True, statistics=True)

    assert found.license is not None
    assert found.statistics is not None
    assert (found.license.key, found.statistics.wiki_size) == ("mit", 5)


async def test_languages(projects: Projects, network: PlayedNetwork) -> None:
    network.get(f"{API}/projects/7/languages", payload={"Python": 66.69, "C": 33})
    assert await projects.show_languages(7) == {"Python": 66.69, "C": 33.0}


async def test_create_sends_json(projects: Projects, network: PlayedNetwork) -> None:
    network.post(f"{API}/projects", status=201, payload=RECORD)

    created = await projects.create_project(
        name="Handbook", topics=["a", "b"], visibility="public", also={"new": 1}
    )

    assert created.id == 7
    assert bodies(network) == [
        {"name": "Handbook", "topics": ["a", "b"], "visibility": "public", "new": 1}
    ]


async def test_create_for_a_user(projects: Projects, network: PlayedNetwork) -> None:
    network.post(f"{API}/projects/user/5", status=201, payload=RECORD)
    created = await projects.create_project_for_user(5, name="Handbook")
    assert created.path_with_namespace == "docs/handbook"


async def test_edit_sends_what_changes(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.put(HANDBOOK, payload=RECORD)
    await projects.edit_project("docs/handbook", description="", lfs_enabled=False)
    assert bodies(network) == [{"description": "", "lfs_enabled": False}]


async def test_edit_of_nothing_is_refused(
    projects: Projects, network: PlayedNetwork
) -> None:
    with pytest.raises(Rejected, match="no change is given"):
        await projects.edit_project(7)
    assert asked(network) == []


def fork(status: str | None, **more: object) -> dict[str, object]:
    return {
        "id": 8,
        "path_with_namespace": "maria/handbook",
        "import_status": status,
        **more,
    }


def play_fork(network: PlayedNetwork, *statuses: str, **more: object) -> None:
    """A fork that is made, and the states that looks at it find."""
    network.post(f"{API}/projects/7/fork", status=201, payload=fork(statuses[0]))
    for status in statuses[1:]:
        network.get(f"{API}/projects/8", payload=fork(status, **more))


async def test_fork_returns_at_once(
    projects: Projects, network: PlayedNetwork, time: FakeTime
) -> None:
    play_fork(network, "scheduled")
    made = await projects.fork_project(7, path="handbook")
    assert (made.import_status, time.slept) == ("scheduled", [])


async def test_fork_waits_until_the_copy_is_whole(
    projects: Projects, network: PlayedNetwork, time: FakeTime
) -> None:
    play_fork(network, "scheduled", "scheduled", "started", "finished")
    made = await projects.fork_project(7, wait=True)
    assert made.import_status == "finished"
    assert time.slept == pytest.approx([1.0, 1.6, 2.56])


@pytest.mark.parametrize("status", ["none", "finished", None])
async def test_fork_that_is_whole_is_not_waited_for(
    status: Any, projects: Projects, network: PlayedNetwork, time: FakeTime
) -> None:
    play_fork(network, status)
    await projects.fork_project(7, wait=True)
    assert time.slept == []


@pytest.mark.parametrize("status", ["failed", "canceled"])
async def test_fork_that_failed_says_why(
    status: str, projects: Projects, network: PlayedNetwork
) -> None:
    play_fork(network, "scheduled", status, import_error="disk is full")
    with pytest.raises(Rejected, match="maria/handbook was not made: disk is full"):
        await projects.fork_project(7, wait=True)


async def test_fork_is_waited_for_no_longer_than_the_deadline(
    projects: Projects, network: PlayedNetwork, time: FakeTime
) -> None:
    network.post(f"{API}/projects/7/fork", status=201, payload=fork("scheduled"))
    network.get(f"{API}/projects/8", payload=fork("started"), repeat=True)

    with pytest.raises(Unavailable, match="not complete after 200 s") as late:
        await projects.fork_project(7, wait=True, deadline_s=200)

    assert late.value.hint == "check import_status of project 8 later"
    assert sum(time.slept) <= 200
    assert max(time.slept) == 30.0


@pytest.mark.parametrize("verb", ["star", "unstar"])
async def test_star_says_whether_it_changed(
    verb: str, projects: Projects, network: PlayedNetwork
) -> None:
    place = f"{HANDBOOK}/{verb}"
    network.post(place, status=201, payload={**RECORD, "star_count": 3})
    network.post(place, status=304)

    toggled = await getattr(projects, f"{verb}_project")("docs/handbook")
    again = await getattr(projects, f"{verb}_project")("docs/handbook")

    assert (toggled.has_changed, toggled.project.star_count) == (True, 3)
    assert again == Toggle(has_changed=False, project=None)


@pytest.mark.parametrize(
    ("verb", "before", "after", "has_changed"),
    [
        ("archive", NEW, OLD, True),
        ("archive", OLD, OLD, False),
        ("unarchive", OLD, NEW, True),
        ("unarchive", NEW, NEW, False),
    ],
)
async def test_archive_says_whether_it_changed(
    verb: str,
    before: dict[str, Any],
    after: dict[str, Any],
    has_changed: bool,
    projects: Projects,
    network: PlayedNetwork,
) -> None:
    network.get(HANDBOOK, payload=before)
    network.post(f"{API}/projects/7/{verb}", status=201, payload=after)
    toggled = await getattr(projects, f"{verb}_project")("docs/handbook")
    assert toggled.has_changed is has_changed
    assert toggled.project.archived is after["archived"]


async def test_role_that_does_not_suffice_is_told(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.get(HANDBOOK, payload=NEW)
    forbidden = {"message": "403 Forbidden"}
    network.post(f"{API}/projects/7/archive", status=403, payload=forbidden)

    with pytest.raises(PermissionDenied, match="archive project docs/h") as denied:
        await projects.archive_project("docs/handbook")

    assert denied.value.hint is not None
    assert "archiving, deleting and restoring it Owner" in denied.value.hint


@pytest.mark.parametrize(
    ("scan", "deletion_state"),
    [
        ({"status": 404, "payload": {"message": "404 Project Not Found"}}, "removed"),
        ({"payload": MARKED}, "scheduled"),
        ({"payload": {**RECORD, "marked_for_deletion_at": "2026-01-31"}}, "scheduled"),
        ({"payload": RECORD}, "accepted"),
        ({"status": 403, "payload": {"message": "403 Forbidden"}}, "accepted"),
    ],
)
async def test_delete_says_what_became_of_it(
    scan: dict[str, Any],
    deletion_state: str,
    projects: Projects,
    network: PlayedNetwork,
) -> None:
    network.delete(HANDBOOK, status=202, payload={"message": "202 Accepted"})
    network.get(HANDBOOK, **scan)
    assert (await projects.delete_project("docs/handbook")).state == deletion_state


GONE: dict[str, Any] = {"status": 404, "payload": {"message": "404 Project Not Found"}}
PROOF = (
    "/projects/7?permanently_remove=true&full_path=docs%2Fhandbook-deletion_scheduled-7"
)


async def test_permanent_deletion_marks_first_and_proves_the_path(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.get(HANDBOOK, payload=RECORD)
    network.delete(f"{API}/projects/7", status=202, payload={})
    network.get(f"{API}/projects/7", payload=MARKED)
    network.delete(f"{API}{PROOF}", status=202, payload={})
    network.get(f"{API}/projects/7", **GONE)

    deletion = await projects.delete_project_permanently("docs/handbook")

    assert deletion == Deletion("removed", None)
    assert [url for method, url in asked(network) if method == "DELETE"] == [
        "/projects/7",
        sorted_query(PROOF),
    ]


async def test_permanent_deletion_of_what_is_marked_asks_once(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.get(HANDBOOK, payload=MARKED)
    network.delete(f"{API}{PROOF}", status=202, payload={})
    network.get(f"{API}/projects/7", **GONE)

    await projects.delete_project_permanently("docs/handbook")

    assert [url for method, url in asked(network) if method == "DELETE"] == [
        sorted_query(PROOF)
    ]


async def test_permanent_deletion_ends_where_nothing_is_delayed(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.get(HANDBOOK, payload=RECORD)
    network.delete(f"{API}/projects/7", status=202, payload={})
    network.get(f"{API}/projects/7", **GONE)

    deletion = await projects.delete_project_permanently("docs/handbook")

    assert deletion.state == "removed"
    assert len(asked(network)) == 3


async def test_restore(projects: Projects, network: PlayedNetwork) -> None:
    network.post(f"{API}/projects/7/restore", status=201, payload=RECORD)
    assert (await projects.restore_project(7)).deletion_date is None


async def test_share(projects: Projects, network: PlayedNetwork) -> None:
    record = {"id": 1, "project_id": 7, "group_id": 3, "group_access": 30}
    network.post(f"{API}/projects/7/share", status=201, payload=record)

    shared = await projects.share_project(
        7, group_id=3, group_access=30, expires_at="2026-12-31"
    )

    assert (shared.group_id, shared.group_access, shared.expires_at) == (3, 30, None)
    assert bodies(network) == [
        {"group_id": 3, "group_access": 30, "expires_at": "2026-12-31"}
    ]


async def test_unshare(projects: Projects, network: PlayedNetwork) -> None:
    network.delete(f"{API}/projects/7/share/3", status=204)
    await projects.unshare_project(7, 3)
    assert asked(network) == [("DELETE", "/projects/7/share/3")]


@pytest.mark.parametrize(
    ("place", "status", "text", "message"),
    [
        ("share", 404, "404 Not Found", "project 7 or group 3 does not exist"),
        ("share", 409, "already shared", "conflicts with something .* already shared"),
        ("share/3", 404, "404 Group Link Not Found", "answers: 404 Group Link Not F"),
        ("fork", 404, "404 Target Namespace Not F", "answers: 404 Target Namespace N"),
    ],
)
async def test_refusal_is_told_in_words_that_fit(
    place: str,
    status: int,
    text: str,
    message: str,
    projects: Projects,
    network: PlayedNetwork,
) -> None:
    url, told = f"{API}/projects/7/{place}", {"message": text}
    network.post(url, status=status, payload=told)
    network.delete(url, status=status, payload=told)

    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "share": lambda: projects.share_project(7, group_id=3, group_access=30),
        "share/3": lambda: projects.unshare_project(7, 3),
        "fork": lambda: projects.fork_project(7, namespace_path="no/such"),
    }
    with pytest.raises((NotFound, Rejected), match=message) as refused:
        await calls[place]()

    assert type(refused.value) is (NotFound if status == 404 else Rejected)


async def test_import_of_members_goes_by_numbers(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.get(HANDBOOK, payload=RECORD)
    answer = {
        "status": "error",
        "message": {"maria": "has no right"},
        "total_members_count": 3,
    }
    url = f"{API}/projects/7/import_project_members/9"
    network.post(url, status=201, payload=answer)

    result = await projects.import_project_members("docs/handbook", "9")

    assert (result.refused, result.total_members_count) == (
        {"maria": "has no right"},
        3,
    )


async def test_import_of_all_members(
    projects: Projects, network: PlayedNetwork
) -> None:
    url = f"{API}/projects/7/import_project_members/9"
    network.post(url, status=201, payload={"status": "success"})
    result = await projects.import_project_members(7, 9)
    assert (result.status, result.refused) == ("success", {})


async def test_nothing_is_written_where_a_client_keeps_writes_back(
    network: PlayedNetwork,
) -> None:
    class KeptBackError(Exception):
        pass

    kept = []

    def keep(request: Any) -> None:
        kept.append((request.method, request.path, request.json))
        raise KeptBackError

    async with Client(SERVICE, before_write=keep) as client:
        with pytest.raises(KeptBackError):
            await Projects(client).edit_project(7, name="x")

    assert kept == [("PUT", "/api/v4/projects/7", b'{"name":"x"}')]
    assert asked(network) == []


def test_operations_show_what_they_work_on(projects: Projects) -> None:
    assert repr(projects) == f"Projects(Client('{SERVICE}'))"


def test_every_endpoint_has_a_test_here() -> None:
    here = Path(__file__)
    names = (here.name, "test_project_lists.py", "test_project_files.py")
    text = "".join(here.with_name(name).read_text() for name in names)
    verbs = {"star_project", "unstar_project", "archive_project", "unarchive_project"}
    assert {str(name) for name in Endpoint if name not in text} <= verbs

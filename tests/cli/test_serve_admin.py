"""``wikisync serve admin``: people and groups of a data folder, also while it runs."""

from pathlib import Path

import aiohttp
import pytest

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from wikisync.service.projects import tables as project_tables


@pytest.fixture
def data(tmp_path: Path, service: EmbeddedService) -> Path:
    """The folder of a service that runs."""
    assert service.url
    return tmp_path / "service"


async def answer_of(
    service: EmbeddedService, token: str, path: str
) -> tuple[int, object]:
    async with (
        aiohttp.ClientSession(headers={"PRIVATE-TOKEN": token}) as session,
        session.get(f"{service.url}/api/v4{path}") as answer,
    ):
        return answer.status, await answer.json()


async def status_of(service: EmbeddedService, token: str, path: str) -> int:
    return (await answer_of(service, token, path))[0]


@pytest.fixture
def admin(run: Run, data: Path) -> Run:
    """``wikisync serve admin`` on the folder of the service that runs."""

    async def call(verb: str, *words: str) -> Ran:
        return await run("serve", "admin", verb, "--data", data, *words)

    return call


async def test_user_and_token_count_in_the_running_service_until_revoked(
    admin: Run, service: EmbeddedService
) -> None:
    await admin("add-user", "dana", "--name", "Dana")
    made = await admin("add-token", "dana")
    token = made.out.removeprefix("token: ").strip()
    before = await status_of(service, token, "/user")
    listed = await admin("list", "tokens", "--json")
    ran = await admin("revoke", str(listed.json[-1]["id"]))

    assert (made.code, ran.code, before) == (0, 0, 200)
    assert await status_of(service, token, "/user") == 401
    assert token not in listed.out


async def test_member_of_a_group_gets_in_and_is_listed(
    admin: Run, service: EmbeddedService
) -> None:
    token = await service.add_user("dana")
    project = await service.add_project("docs/handbook")
    before = await status_of(service, token, f"/projects/{project}")

    await admin("add-group", "docs")
    ran = await admin("add-member", "docs", "dana", "guest")
    lists = ("users", "groups", "members")
    users, groups, members = [
        (await admin("list", one, "--json")).json for one in lists
    ]
    head, _root, dana = (await admin("list", "users")).out.splitlines()

    assert (ran.code, before) == (0, 404)
    assert await status_of(service, token, f"/projects/{project}") == 200
    assert head.startswith("id\tusername\tname\temail\t")
    assert dana.startswith("2\tdana\tdana\tdana@example.com\t")
    assert [user["username"] for user in users] == ["root", "dana"]
    assert groups == [{"id": 3, "path": "docs", "visibility": "private"}]
    member = {"path": "docs", "username": "dana", "level": 10, "expires_on": None}
    assert members == [member]


REFUSED: list[tuple[list[str], int, str]] = [
    (["add-token", "nobody"], 1, "there is no user nobody"),
    (["block", "nobody"], 1, "there is no user nobody"),
    (["add-user", "root"], 1, "user root already exists"),
    (["add-user", "a b"], 2, "'a b' is not a name"),
    (["add-group", "docs//x"], 2, "'' is not a name"),
    (["add-group", "api"], 1, "the path api is reserved"),
    (["add-group", "root"], 1, "root is a user's namespace"),
    (["add-member", "docs", "root", "guest"], 1, "no group or project docs"),
    (["add-token", "root", "--expires", "soon"], 2, "'soon' is not a date"),
    (["add-topic", " "], 2, "cannot be a topic"),
    (["add-topic", "a\nb"], 2, "cannot be a topic"),
    (["add-topic", "x" * 256], 2, "cannot be a topic"),
    (["revoke", "99"], 1, "there is no token 99"),
    (["delete", "docs", "--yes"], 1, "there is no group or project docs"),
]


async def test_what_cannot_be_done_is_told_with_the_next_step(admin: Run) -> None:
    for words, code, error in REFUSED:
        ran = await admin(*words)

        assert (ran.code, ran.out) == (code, ""), words
        assert error in ran.err
        assert "hint:" in ran.err


async def test_folder_without_a_service_stays(run_alone: Run, tmp_path: Path) -> None:
    listed = ("serve", "admin", "list", "--data", tmp_path / "none", "users")
    (tmp_path / "none").mkdir()
    ran = await run_alone(*listed)
    assert (ran.code, "there is no service in" in ran.err) == (1, True)
    assert list((tmp_path / "none").iterdir()) == []
    (tmp_path / "none/records.db").write_text("not a database at all" * 100)
    (await run_alone(*listed)).ended(1, "records.db as the service's records")


BLOCKED = {"message": "403 Forbidden - Your account has been blocked."}


async def test_blocked_user_is_shut_out_until_it_is_let_in_again(
    admin: Run, service: EmbeddedService
) -> None:
    token = await service.add_user("dana")

    ran = await admin("block", "dana")
    out = await answer_of(service, token, "/projects")
    listed = await admin("list", "users", "--json")
    again = await admin("unblock", "dana")

    assert (ran.code, ran.out, again.code) == (0, "blocked: dana\n", 0)
    assert out == (403, BLOCKED)
    assert [user["is_blocked"] for user in listed.json] == [False, True]
    assert await status_of(service, token, "/user") == 200


async def test_topic_has_a_number_that_the_filter_takes(
    admin: Run, service: EmbeddedService
) -> None:
    made = await admin("add-topic", "Sea")
    again = await admin("add-topic", "sea")
    project = await service.add_project("docs/a")
    await service.ask(project_tables.change_project, project, {}, {}, ("sea",))

    listed = await admin("list", "topics")
    found = await answer_of(service, service.token, "/projects?topic_id=1")

    assert (made.out, again.out) == ("topic: 1\n", "topic: 1\n")
    assert listed.out == "id\tname\tprojects\n1\tSea\t1\n"
    assert [one["id"] for one in as_list(found[1])] == [project]


def as_list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value


async def test_group_goes_with_everything_below_it(
    admin: Run, data: Path, service: EmbeddedService
) -> None:
    await service.add_group("docs", {"home": "g"})
    inner = await service.add_group("docs/team", {"home": "t"})
    project = await service.add_project("docs/team/a", {"home": "x"})
    other = await service.add_project("other/b", {"home": "x"})
    await service.add_user("dana")
    await service.add_member("docs/team", "dana", 30)
    share = {"group_id": inner, "group_access": 30}
    async with aiohttp.ClientSession(headers=service.headers) as session:
        shared = f"{service.url}/api/v4/projects/{other}/share"
        assert (await session.post(shared, json=share)).status == 201

    ran = await admin("delete", "docs", "--yes")

    assert ran.code == 0
    paths = [f"/projects/{project}", "/groups/docs", f"/groups/{inner}"]
    statuses = [await status_of(service, service.token, path) for path in paths]
    assert statuses == [404, 404, 404]
    assert not (data / f"wikis/projects/{project}.git").exists()
    assert not (data / f"wikis/groups/{inner}.git").exists()
    assert await status_of(service, service.token, f"/projects/{other}") == 200
    found = await answer_of(service, service.token, f"/projects/{other}")
    assert isinstance(found[1], dict)
    assert found[1]["shared_with_groups"] == []
    # the ids of what is gone are not given to others
    assert await service.add_group("new") > inner
    assert await service.add_project("new/a") > project


async def test_project_goes_after_a_yes(
    admin: Run, data: Path, service: EmbeddedService
) -> None:
    project = await service.add_project("docs/a", {"home": "x"})
    await service.add_code("docs/a", {"a.py": b"pass"})

    dry = await admin("delete", "docs")
    before = await status_of(service, service.token, f"/projects/{project}")
    ran = await admin("delete", "docs/a", "-y")

    assert (dry.out, before) == ("group: docs\nproject: docs/a\n", 200)
    assert "nothing was removed" in dry.err
    assert (ran.code, ran.out) == (0, "project: docs/a\n")
    assert await status_of(service, service.token, f"/projects/{project}") == 404
    assert await status_of(service, service.token, "/groups/docs") == 200
    assert not (data / f"repositories/{project}.git").exists()

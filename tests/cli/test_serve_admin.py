"""``wikisync serve admin``: people and groups of a data folder, also while it runs."""

from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from wikisync.cli.main import main
from wikisync.service.projects import tables as project_tables
from wikisync.service.tables import Tables


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


async def test_user_and_token_count_in_the_running_service(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    await run("serve", "admin", "add-user", "--data", data, "dana", "--name", "Dana")
    made = await run("serve", "admin", "add-token", "--data", data, "dana")
    token = made.out.removeprefix("token: ").strip()

    assert (made.code, await status_of(service, token, "/user")) == (0, 200)


async def test_member_of_a_group_gets_in(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    token = await service.add_user("dana")
    project = await service.add_project("docs/team/handbook")
    before = await status_of(service, token, f"/projects/{project}")

    await run("serve", "admin", "add-group", "--data", data, "docs/team")
    ran = await run(
        "serve", "admin", "add-member", "--data", data, "docs/team", "dana", "guest"
    )

    assert (ran.code, before) == (0, 404)
    assert await status_of(service, token, f"/projects/{project}") == 200


async def test_revoked_token_is_dead(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    token = await service.add_user("dana")
    listed = await run("serve", "admin", "list", "--data", data, "tokens", "--json")
    number = listed.json[-1]["id"]

    ran = await run("serve", "admin", "revoke", "--data", data, str(number))

    assert ran.code == 0
    assert await status_of(service, token, "/user") == 401
    assert token not in listed.out


async def test_lists_show_users_groups_and_members(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    await service.add_user("dana")
    await service.add_group("docs")
    await service.add_member("docs", "dana", 30)

    outs = [
        (await run("serve", "admin", "list", "--data", data, what, "--json")).json
        for what in ("users", "groups", "members")
    ]

    assert [user["username"] for user in outs[0]] == ["root", "dana"]
    assert outs[1] == [{"id": 3, "path": "docs", "visibility": "private"}]
    assert outs[2] == [
        {"path": "docs", "username": "dana", "level": 30, "expires_on": None}
    ]


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


async def test_what_cannot_be_done_is_told_with_the_next_step(
    run: Run, data: Path
) -> None:
    for words, code, error in REFUSED:
        ran = await run("serve", "admin", words[0], "--data", data, *words[1:])

        assert (ran.code, ran.out) == (code, ""), words
        assert error in ran.err
        assert "hint:" in ran.err


def test_folder_without_a_service_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["serve", "admin", "list", "--data", str(tmp_path), "users"])

    assert code == 1
    assert "there is no service in" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_broken_records_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "records.db").write_text("not a database at all" * 100)

    code = main(["serve", "admin", "list", "--data", str(tmp_path), "users"])

    assert code == 1
    assert "records.db as the service's records" in capsys.readouterr().err


def test_list_for_people_is_a_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = Tables(tmp_path / "records.db", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    tables.add_user("dana")
    tables.close()

    main(["serve", "admin", "list", "--data", str(tmp_path), "users"])
    head, line = capsys.readouterr().out.splitlines()

    assert head.startswith("id\tusername\tname\temail\t")
    assert line.startswith("1\tdana\tdana\tdana@example.com\t")


BLOCKED = {"message": "403 Forbidden - Your account has been blocked."}


async def test_blocked_user_is_shut_out_until_it_is_let_in_again(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    token = await service.add_user("dana")

    ran = await run("serve", "admin", "block", "--data", data, "dana")
    out = await answer_of(service, token, "/projects")
    listed = await run("serve", "admin", "list", "--data", data, "users", "--json")
    again = await run("serve", "admin", "unblock", "--data", data, "dana")

    assert (ran.code, ran.out, again.code) == (0, "blocked: dana\n", 0)
    assert out == (403, BLOCKED)
    assert [user["is_blocked"] for user in listed.json] == [False, True]
    assert await status_of(service, token, "/user") == 200


async def test_topic_has_a_number_that_the_filter_takes(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    made = await run("serve", "admin", "add-topic", "--data", data, "Sea")
    again = await run("serve", "admin", "add-topic", "--data", data, "sea")
    project = await service.add_project("docs/a")
    await service.ask(project_tables.change_project, project, {}, {}, ("sea",))

    listed = await run("serve", "admin", "list", "--data", data, "topics")
    found = await answer_of(service, service.token, "/projects?topic_id=1")

    assert (made.out, again.out) == ("topic: 1\n", "topic: 1\n")
    assert listed.out == "id\tname\tprojects\n1\tSea\t1\n"
    assert [one["id"] for one in as_list(found[1])] == [project]


def as_list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value


async def test_deleting_says_first_what_would_go(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    project = await service.add_project("docs/team/a", {"home": "x"})

    ran = await run("serve", "admin", "delete", "--data", data, "docs")

    assert ran.out == "group: docs\nproject: docs/team/a\n"
    assert "nothing was removed" in ran.err
    assert await status_of(service, service.token, f"/projects/{project}") == 200


async def test_group_goes_with_everything_below_it(
    run: Run, data: Path, service: EmbeddedService
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

    ran = await run("serve", "admin", "delete", "--data", data, "docs", "--yes")

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


async def test_project_goes_at_once(
    run: Run, data: Path, service: EmbeddedService
) -> None:
    project = await service.add_project("docs/a", {"home": "x"})
    await service.add_code("docs/a", {"a.py": b"pass"})

    ran = await run("serve", "admin", "delete", "--data", data, "docs/a", "-y")

    assert (ran.code, ran.out) == (0, "project: docs/a\n")
    assert await status_of(service, service.token, f"/projects/{project}") == 404
    assert await status_of(service, service.token, "/groups/docs") == 200
    assert not (data / f"repositories/{project}.git").exists()

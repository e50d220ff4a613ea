"""Who may do what: every role at every endpoint of projects (``rights.txt``); and the
table of ``docs/service.md`` "Rights" for wikis.

Each row is asked by each role of projects of its own.  What a row changes is nothing to
the rows behind it: those that it would be something to are asked of another service.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.service import access
from wikisync.service.projects import people as project_people
from wikisync.service.projects import tables as project_tables
from wikisync.service.tables import Tables

ROLES = (
    "anonymous",
    "outsider",
    "guest",
    "reporter",
    "developer",
    "maintainer",
    "owner",
    "admin",
)
LEVELS = {
    "guest": AccessLevel.GUEST,
    "reporter": AccessLevel.REPORTER,
    "developer": AccessLevel.DEVELOPER,
    "maintainer": AccessLevel.MAINTAINER,
    "owner": AccessLevel.OWNER,
}


class Row(NamedTuple):
    """One endpoint: its request, and the statuses by role."""

    method: str
    path: str
    body: str = ""
    private: str = ""
    public: str = ""


def row_of(request: str, statuses: str) -> Row:
    method, path, *body = request.split(" ", 2)
    private, public = statuses.split(" | ")
    return Row(method, path, "".join(body), private, public)


TEXT = Path(__file__).with_name("rights.txt").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if not line.startswith("#")]
ROWS = [row_of(*pair) for pair in zip(LINES[::2], LINES[1::2], strict=True)]


def name_of(row: Row) -> str:
    return f"{row.method} {row.path} {row.body}"


@dataclass(frozen=True)
class Stage:
    """A service with a project for each role."""

    service: EmbeddedService
    api: Api
    tokens: dict[str, str | None]
    places: dict[str, dict[str, Any]]

    async def ask(self, row: Row, role: str) -> int:
        places = self.places[role]
        path = "/api/v4" + row.path.format_map(places)
        api = self.api.as_user(self.tokens[role])
        if row.body == "file":
            form = aiohttp.FormData()
            form.add_field("file", b"x", filename="a.txt")
            return (await api(row.method, path, data=form)).status
        body = {
            key: str(value).format_map(places)
            for key, value in json.loads(row.body or "{}").items()
        }
        return (await api(row.method, path, json=body or None)).status

    async def statuses(self, row: Row) -> dict[str, int]:
        return {role: await self.ask(row, role) for role in ROLES}


async def stage_with(service: EmbeddedService, api: Api, visibility: str) -> Stage:
    await service.add_group("docs", visibility="public")
    crew = await service.add_group("crew", visibility="public")
    tokens: dict[str, str | None] = {"anonymous": None, "admin": service.token}
    places: dict[str, dict[str, Any]] = {}
    for role in ROLES:
        tokens.setdefault(role, None)
        if role not in {"anonymous", "admin"}:
            tokens[role] = await service.add_user(f"the-{role}")
        places[role] = await _places(service, role, visibility) | {"crew": crew}
    return Stage(service, api, tokens, places)


async def _places(
    service: EmbeddedService, role: str, visibility: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for purpose in ("id", "marked", "shared"):
        path = f"docs/{role}-{purpose}"
        project = await service.add_project(path, visibility=visibility)
        if role in LEVELS:
            await service.add_member(path, f"the-{role}", LEVELS[role])
        found[purpose] = project
    ask = service.ask
    await service.add_user("mate")
    await service.add_member(f"docs/{role}-shared", "mate", AccessLevel.DEVELOPER)
    mate = await ask(Tables.user_named, "mate")
    assert mate is not None
    secret = f"{found['id']:032x}"
    await ask(project_tables.add_upload, found["id"], 1, secret, "a.txt", 1)
    file = service.running.uploads_folder(found["id"]) / secret / "a.txt"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    await ask(project_tables.set_mark, found["marked"], is_marked=True)
    await ask(project_tables.set_custom_attribute, found["marked"], "k", "v")
    crew = await ask(Tables.group, "crew", None)
    assert crew is not None
    await ask(project_people.add_share, found["shared"], crew.id, 30, None)
    return found | {"secret": secret, "mate": mate.id}


def table(statuses: str) -> dict[str, int]:
    return dict(zip(ROLES, map(int, statuses.split()), strict=True))


def is_second(row: Row) -> bool:
    """Whether a row before this one has done already what it asks for."""
    return ": 50}" in row.body or row.path.endswith("/unstar")


@pytest.mark.parametrize("visibility", ["private", "public"])
@pytest.mark.parametrize(
    "rows",
    [
        [row for row in ROWS if not is_second(row)],
        [row for row in ROWS if is_second(row)],
    ],
    ids=["first", "second"],
)
async def test_role_may_do_to_a_project(
    service: EmbeddedService, api: Api, visibility: str, rows: list[Row]
) -> None:
    stage = await stage_with(service, api, visibility)
    answers = {name_of(row): await stage.statuses(row) for row in rows}
    assert answers == {name_of(row): table(getattr(row, visibility)) for row in rows}


"""Each of these lacks something that it would say to someone signed in."""


async def test_private_project_answers_like_one_that_is_not_there(
    service: EmbeddedService, api: Api
) -> None:
    stage = await stage_with(service, api, "private")
    outsider = api.as_user(stage.tokens["outsider"])
    places = stage.places["outsider"]
    absent = dict.fromkeys(places, 999_999) | {"crew": places["crew"]}
    for row in ROWS:
        if "{" not in row.path or row.method == "GET":
            continue
        is_file = row.body == "file"
        body = None if is_file else dict.fromkeys(json.loads(row.body or "{}"), "30")
        form = {"data": {"file": "x"}} if is_file else {"json": body or None}
        hidden, missing = [
            await outsider(row.method, "/api/v4" + row.path.format(**at), **form)
            for at in (places, absent)
        ]

        assert (hidden.status, hidden.json) == (missing.status, missing.json), row


async def test_archived_project_takes_no_writes_but_of_its_state(
    service: EmbeddedService, api: Api
) -> None:
    stage = await stage_with(service, api, "private")
    project = stage.places["owner"]["id"]
    await api.post(f"/api/v4/projects/{project}/archive")

    for status, method, path, body in (
        (200, "GET", "", ""),
        (403, "PUT", "", '{"description": "x"}'),
        (403, "POST", "/uploads", "file"),
        (403, "POST", "/import_project_members/{id}", ""),
        (403, "DELETE", "/share/{crew}", ""),
        (201, "POST", "/star", ""),
        (201, "POST", "/unarchive", ""),
        (202, "DELETE", "", ""),
    ):
        row = Row(method, f"/projects/{{id}}{path}", body)
        assert await stage.ask(row, "owner") == status, row


OK, NO, HIDDEN = access.Verdict.ALLOWED, access.Verdict.FORBIDDEN, access.Verdict.HIDDEN

ANONYMOUS = access.Membership()
STRANGER = access.Membership(is_signed_in=True)
ADMIN = access.Membership(is_signed_in=True, is_admin=True)


def member(level: int) -> access.Membership:
    return access.Membership(is_signed_in=True, level=level)


PRIVATE = access.WikiDoor("private")
PUBLIC = access.WikiDoor("public")
INTERNAL = access.WikiDoor("internal")
DISABLED = access.WikiDoor("private", "disabled")
PUBLIC_DISABLED = access.WikiDoor("public", "disabled")
MEMBERS_ONLY = access.WikiDoor("public", "private")
ARCHIVED = access.WikiDoor("private", "enabled", is_archived=True)

MATRIX = [
    # who, membership, state, door, read, write, delete
    ("anonymous", ANONYMOUS, "private", PRIVATE, HIDDEN, HIDDEN, HIDDEN),
    ("anonymous", ANONYMOUS, "internal", INTERNAL, HIDDEN, HIDDEN, HIDDEN),
    ("anonymous", ANONYMOUS, "public", PUBLIC, OK, NO, NO),
    ("anonymous", ANONYMOUS, "public-disabled", PUBLIC_DISABLED, NO, NO, NO),
    ("anonymous", ANONYMOUS, "members-only", MEMBERS_ONLY, NO, NO, NO),
    ("stranger", STRANGER, "private", PRIVATE, HIDDEN, HIDDEN, HIDDEN),
    ("stranger", STRANGER, "internal", INTERNAL, OK, NO, NO),
    ("stranger", STRANGER, "public", PUBLIC, OK, NO, NO),
    ("stranger", STRANGER, "members-only", MEMBERS_ONLY, NO, NO, NO),
    (
        "minimal",
        member(AccessLevel.MINIMAL),
        "private",
        PRIVATE,
        HIDDEN,
        HIDDEN,
        HIDDEN,
    ),
    ("guest", member(AccessLevel.GUEST), "private", PRIVATE, OK, NO, NO),
    ("guest", member(AccessLevel.GUEST), "members-only", MEMBERS_ONLY, OK, NO, NO),
    ("guest", member(AccessLevel.GUEST), "disabled", DISABLED, NO, NO, NO),
    ("planner", member(AccessLevel.PLANNER), "private", PRIVATE, OK, OK, OK),
    ("planner", member(AccessLevel.PLANNER), "archived", ARCHIVED, OK, NO, NO),
    ("reporter", member(AccessLevel.REPORTER), "private", PRIVATE, OK, NO, NO),
    ("security", member(25), "private", PRIVATE, OK, NO, NO),
    ("developer", member(AccessLevel.DEVELOPER), "private", PRIVATE, OK, OK, NO),
    ("developer", member(AccessLevel.DEVELOPER), "disabled", DISABLED, NO, NO, NO),
    ("developer", member(AccessLevel.DEVELOPER), "archived", ARCHIVED, OK, NO, NO),
    ("maintainer", member(AccessLevel.MAINTAINER), "private", PRIVATE, OK, OK, OK),
    ("maintainer", member(AccessLevel.MAINTAINER), "archived", ARCHIVED, OK, NO, NO),
    ("owner", member(AccessLevel.OWNER), "private", PRIVATE, OK, OK, OK),
    ("owner", member(AccessLevel.OWNER), "disabled", DISABLED, NO, NO, NO),
    ("admin", ADMIN, "private", PRIVATE, OK, OK, OK),
    ("admin", ADMIN, "disabled", DISABLED, NO, NO, NO),
    ("admin", ADMIN, "archived", ARCHIVED, OK, NO, NO),
]


def test_each_caller_may_do_what_the_matrix_says() -> None:
    for who, membership, state, door, *expected in MATRIX:
        verdicts = [
            access.judge_wiki(door, membership, operation)
            for operation in access.Operation
        ]

        assert verdicts == expected, (who, state)


def test_delete_level_can_be_lowered_to_developer() -> None:
    developer = member(AccessLevel.DEVELOPER)
    verdict = access.judge_wiki(
        PRIVATE, developer, access.Operation.DELETE, delete_level=AccessLevel.DEVELOPER
    )
    assert verdict is OK


def test_member_below_a_private_group_sees_it_but_not_its_wiki() -> None:
    inside = access.Membership(is_signed_in=True, sees_inside=True)
    assert access.judge_container("private", inside) is OK
    assert access.judge_wiki(PRIVATE, inside, access.Operation.READ) is NO


@pytest.mark.parametrize(
    ("door", "level", "verdict"),
    [
        (access.WikiDoor("private"), AccessLevel.NONE, access.Verdict.HIDDEN),
        (access.WikiDoor("private"), AccessLevel.GUEST, access.Verdict.FORBIDDEN),
        (access.WikiDoor("private"), AccessLevel.PLANNER, access.Verdict.ALLOWED),
        (access.WikiDoor("private"), AccessLevel.REPORTER, access.Verdict.ALLOWED),
        (access.WikiDoor("public"), AccessLevel.NONE, access.Verdict.ALLOWED),
        (
            access.WikiDoor("public", "private"),
            AccessLevel.NONE,
            access.Verdict.FORBIDDEN,
        ),
        (
            access.WikiDoor("public", "private"),
            AccessLevel.GUEST,
            access.Verdict.FORBIDDEN,
        ),
    ],
)
def test_no_guest_clones_what_is_for_members(
    door: access.WikiDoor, level: AccessLevel, verdict: access.Verdict
) -> None:
    assert (
        access.judge_clone(door, access.Membership(is_signed_in=True, level=level))
        is verdict
    )

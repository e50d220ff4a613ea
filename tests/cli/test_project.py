"""``wikisync project`` on the embedded service."""

import io
import json
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.network import PlayedNetwork
from tests.support.service import EmbeddedService

HANDBOOK = "docs/handbook"
ELSEWHERE = "https://gitlab.example.com"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(64)


class Terminal(io.StringIO):
    """Standard input with a person at it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_group("docs")
    await service.add_group("others")
    await service.add_project(HANDBOOK, description="how we [bold]work")
    await service.add_project("docs/other")
    return service


@pytest.fixture
def project(handbook: EmbeddedService, run: Run) -> Run:
    """Run ``wikisync project <verb> URL ...``."""

    async def call(verb: str, *words: str | Path) -> Ran:
        return await run("project", verb, handbook.url, *words)

    return call


def rows(ran: Ran) -> list[list[str]]:
    """The cells of a table in a pipe, without its head."""
    return [line.split("\t") for line in ran.out.splitlines()[1:]]


async def test_list_shows_a_table(project: Run) -> None:
    ran = await project("list", "--sort", "asc")
    first = await project("list", "--limit", "1")
    every = await project("list", "--limit", "0", "--per-page", "1")

    assert ran.code == 0
    assert ran.out.startswith("id\tpath\tvisibility\tstars\tactive\tdescription\n")
    assert [row[1] for row in rows(ran)] == [HANDBOOK, "docs/other"]
    assert "how we [bold]work" in ran.out
    assert len(rows(first)) == 1
    assert "the first 1 of 2; --limit 0 shows all" in first.err
    assert (len(rows(every)), every.err) == (2, "")

    found = (await project("list", "--json", "--search", "handb", "--simple")).json
    assert [one["path_with_namespace"] for one in found] == [HANDBOOK]
    assert found[0]["readme_url"] is None
    assert "runners_token" not in (await project("list", "--json")).out


async def test_json_holds_unknown_attributes_as_they_came(run_alone: Run) -> None:
    newer = {
        "id": 7,
        "path_with_namespace": HANDBOOK,
        "avatar_url": None,
        "repository_object_format": "sha256",
        "statistics": {"commit_count": 1, "container_registry_size": 3},
    }
    projects = f"{ELSEWHERE}/api/v4/projects"

    with PlayedNetwork() as network:
        network.get(f"{projects}/7", payload=newer)
        network.get(f"{projects}/7", payload=newer)
        network.get(f"{projects}?order_by=id&per_page=100", payload=[newer])
        one = await run_alone("project", "show", ELSEWHERE, "7", "--json")
        table = await run_alone("project", "show", ELSEWHERE, "7")
        every = await run_alone("project", "list", ELSEWHERE, "--json")

    assert one.json == newer
    assert "repository_object_format" in table.out
    assert "avatar_url" not in table.out
    assert every.json == [newer]


async def test_lists_of_a_user(project: Run) -> None:
    await project("star", "docs/other")
    await project("create", "--name", "Own one")

    starred = await project("list", "--starred-by", "root")
    own = await project("list", "--user", "root")

    assert [row[1] for row in rows(starred)] == ["docs/other"]
    assert [row[1] for row in rows(own)] == ["root/own-one"]


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (
        ("list", "--user", "a", "--starred-by", "b"),
        "only one of --user, --contributed-by and --starred-by",
    ),
    (
        ("edit", HANDBOOK, "--name", "a", "--attribute", "name=b"),
        "PUT /projects/{id}: name is given twice",
    ),
    (("share", HANDBOOK, "others"), "POST /projects/{id}/share needs group_access"),
    (("upload", HANDBOOK, "gone.png"), "there is no file gone.png"),
    (("avatar", HANDBOOK, "gone.png"), "there is no file gone.png"),
    (("edit", HANDBOOK, "--avatar", "gone.png"), "there is no file gone.png"),
    (("avatar", HANDBOOK), "give either a file or --remove"),
    (("delete", "1"), "deleting project docs/handbook (id 1) needs confirmation"),
]


async def test_wrong_arguments_are_told(project: Run) -> None:
    for words, message in REFUSED:
        ran = await project(*words)

        ran.ended(2, message)


async def test_filter_of_another_list_is_refused_with_its_place(project: Run) -> None:
    ran = await project("list", "--contributed-by", "root", "--topic-id", "1")

    ran.ended(2, "GET /users/{user_id}/contributed_projects takes no parameter")
    assert "hint: it belongs to GET /projects" in ran.err


async def test_show_shows_every_field_and_cuts_nothing(project: Run) -> None:
    await project("edit", HANDBOOK, "--description", "long " * 300)

    ran = await project("show", HANDBOOK)

    assert ran.out.count("long") >= 300
    shown = dict(row[:2] for row in rows(ran))
    assert shown["path_with_namespace"] == HANDBOOK
    assert shown["archived"] == "false"
    assert json.loads(shown["namespace"])["full_path"] == "docs"


async def test_address_of_a_project_is_taken_for_its_path(
    project: Run, handbook: EmbeddedService
) -> None:
    shown = await project("show", f"{handbook.url}/{HANDBOOK}/-/wikis/home", "--json")
    other = await project("star", f"https://gitlab.example.com/{HANDBOOK}")

    assert json.loads(shown.out)["path_with_namespace"] == HANDBOOK
    assert (other.code, other.out) == (2, "")
    assert f"not the address of a project or group on {handbook.url}" in other.err
    assert "give only its path, like docs/handbook" in other.err


async def test_lists_about_a_project(project: Run) -> None:
    await project("star", HANDBOOK)
    await project("fork", HANDBOOK, "--path", "copy", "--name", "copy", "--wait")
    expected = {
        "users": [],
        "groups": ["docs"],
        "share-locations": ["others"],
        "starrers": ["root"],
        "forks": ["root/copy"],
    }

    for verb, shown in expected.items():
        ran = await project(verb, HANDBOOK)

        assert ran.code == 0
        assert [row[1] for row in rows(ran)] == shown


async def test_languages(project: Run, handbook: EmbeddedService) -> None:
    await handbook.add_code(HANDBOOK, {"a.py": b"x = 1\n"})

    ran = await project("languages", HANDBOOK)

    assert ran.out == "language\tper cent\nPython\t100.00\n"
    assert (await project("languages", HANDBOOK, "--json")).json == {"Python": 100.0}


async def test_create_and_edit(project: Run, handbook: EmbeddedService) -> None:
    words = ("--name", "Own one", "--topics", "a,b", "--visibility", "public")
    created = await project("create", *words)
    changes = ("--topics", "c", "--no-lfs-enabled", "--json")
    edited = await project("edit", "root/own-one", *changes)
    await handbook.add_user("maria")
    hers = await project("create", "--user-id", "2", "--name", "Hers", "--json")

    assert created.out.startswith("created project root/own-one (id ")
    assert edited.json["topics"] == ["c"]
    assert edited.json["visibility"] == "public"
    assert hers.json["path_with_namespace"] == "maria/hers"


async def test_dry_run_sends_nothing_and_shows_newer_attributes(project: Run) -> None:
    words = ("--description", "new", "--attribute", "new=[1]", "--json")
    ran = await project("edit", HANDBOOK, *words, "--dry-run")
    shown = await project("show", HANDBOOK, "--json")

    assert ran.json["json"] == {"description": "new", "new": [1]}
    assert shown.json["description"] == "how we [bold]work"


async def test_dry_run_shows_no_password_of_an_address(project: Run) -> None:
    """An import's address is the one attribute that may hold one."""
    address = "https://dana:glpat-EXAMPLE@h/x.git?t=glpat-EXAMPLE"

    words = ("create", "--name", "a", "--dry-run", "--import-url")
    text = await project(*words, address)
    plain = await project(*words, "http://h/x", "--json")

    assert '"import_url": "https://***@h/x.git?***"' in text.out
    assert "glpat-EXAMPLE" not in text.out + text.err
    assert plain.json["json"]["import_url"] == "http://h/x"


async def test_import_that_the_service_does_not_take_is_told(project: Run) -> None:
    ran = await project("create", "--name", "a", "--import-url", "http://u:p@h/x")

    ran.ended(1, "the service does not allow imports from URLs")
    assert "u:p" not in ran.err


async def test_project_that_is_still_filled_says_so(project: Run) -> None:
    made = await project("create", "--name", "a", "--template-name", "hugo")
    forked = await project("fork", HANDBOOK, "--path", "copy", "--name", "copy")

    assert made.out.startswith("created project root/a (id 3)")
    assert "wikisync project show root/a" in made.err.replace("\n", " ")
    assert forked.out.startswith("forked into project root/copy")
    assert "--wait to wait until it is complete" in forked.err


DRY: list[tuple[tuple[str, ...], str]] = [
    (("create", "--name", "x"), "POST /api/v4/projects\n"),
    (("fork", HANDBOOK), "POST /api/v4/projects/docs%2Fhandbook/fork\n"),
    (("star", HANDBOOK), "POST /api/v4/projects/docs%2Fhandbook/star\n"),
    (("unstar", HANDBOOK), "POST /api/v4/projects/docs%2Fhandbook/unstar\n"),
    (("archive", "1"), "POST /api/v4/projects/1/archive\n"),
    (("unarchive", "1"), "POST /api/v4/projects/1/unarchive\n"),
    (("delete", "1"), "DELETE /api/v4/projects/1\n"),
    (("delete", "1", "--permanently"), "DELETE /api/v4/projects/1\n"),
    (("restore", "1"), "POST /api/v4/projects/1/restore\n"),
    (
        ("share", "1", "others", "--group-access", "developer"),
        'POST /api/v4/projects/1/share\n{\n  "group_id": 3,\n  "group_access": 30\n}\n',
    ),
    (("unshare", "1", "3"), "DELETE /api/v4/projects/1/share/3\n"),
    (("upload", "1", "a.png"), "POST /api/v4/projects/1/uploads\nfile=a.png\n"),
    (("avatar", "1", "a.png"), "PUT /api/v4/projects/1\navatar=a.png\n"),
    (("avatar", "1", "--remove"), 'PUT /api/v4/projects/1\n{\n  "avatar": ""\n}\n'),
    (("import-members", "1", "2"), "POST /api/v4/projects/1/import_project_members/2"),
]


async def test_every_write_has_a_dry_run(
    project: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(PICTURE)
    monkeypatch.chdir(tmp_path)
    for words, shown in DRY:
        ran = await project(*words, "--dry-run")
        assert (ran.code, ran.err) == (0, "nothing was sent (--dry-run)\n")
        assert ran.out.startswith(shown)


@pytest.mark.parametrize(
    ("verb", "first", "second"),
    [
        ("star", "starred", "was already starred"),
        ("archive", "archived", "was already archived"),
    ],
)
async def test_switch_says_whether_it_changed(
    verb: str, first: str, second: str, project: Run
) -> None:
    once, twice = await project(verb, HANDBOOK), await project(verb, HANDBOOK)
    back = await project(f"un{verb}", HANDBOOK, "--json")
    again = await project(f"un{verb}", HANDBOOK, "--json")

    assert once.out == f"project {HANDBOOK}: {first}\n"
    assert twice.out == f"project {HANDBOOK}: {second}\n"
    assert [back.json["changed"], again.json["changed"]] == [True, False]


async def test_delete_and_restore(project: Run) -> None:
    deleted = await project("delete", HANDBOOK, "--yes")
    restored = await project("restore", "1")
    gone = await project("delete", HANDBOOK, "--permanently", "--yes", "--json")
    shown = await project("show", HANDBOOK)

    assert deleted.out.startswith(f"project {HANDBOOK}: marked for deletion")
    assert restored.out.startswith("restored project docs/handbook")
    assert gone.json["state"] in {"removed", "accepted"}
    shown.ended(1, f"project {HANDBOOK} does not exist or is hidden")


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 130)])
async def test_delete_asks_with_the_projects_full_path(
    answer: str, code: int, project: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))

    ran = await project("delete", "1")
    shown = await project("show", "1", "--json")

    ran.ended(code, "Delete project docs/handbook (id 1) with everything in it?")
    assert bool(shown.json["marked_for_deletion_on"]) is (code == 0)


async def test_share_and_unshare(project: Run) -> None:
    level = ("--group-access", "reporter", "--json")
    shared = await project("share", HANDBOOK, "others", *level)
    groups = await project("groups", HANDBOOK, "--with-shared")
    ended = await project("unshare", HANDBOOK, "others")

    assert shared.json["group_access"] == 20
    assert "others" in {row[1] for row in rows(groups)}
    assert ended.out == f"project {HANDBOOK} is no longer shared with group others\n"


async def test_files_come_and_go(project: Run, tmp_path: Path) -> None:
    (tmp_path / "dk.png").write_bytes(PICTURE)

    uploaded = await project("upload", HANDBOOK, tmp_path / "dk.png")
    given = await project("avatar", HANDBOOK, tmp_path / "dk.png", "--json")
    taken = await project("avatar", HANDBOOK, "--remove")
    again = await project("avatar", HANDBOOK, "--remove", "--json")

    assert uploaded.out.startswith("![dk](/uploads/")
    assert given.json["avatar_url"].endswith("/dk.png")
    assert taken.out == f"avatar of project {HANDBOOK}: removed\n"
    assert again.json["avatar_url"] is None


async def test_import_of_members(project: Run, handbook: EmbeddedService) -> None:
    await handbook.add_user("maria")
    await handbook.add_member("docs/other", "maria", 30)

    ran = await project("import-members", HANDBOOK, "docs/other")
    users = await project("users", HANDBOOK)

    assert ran.code == 0
    assert "maria" in {row[1] for row in rows(users)}


async def test_members_that_were_not_imported_are_named(run_alone: Run) -> None:
    answer = {
        "status": "error",
        "message": {"maria": "is\x1b[2J blocked"},
        "total_members_count": 2,
    }
    url = f"{ELSEWHERE}/api/v4/projects/1/import_project_members/2"

    with PlayedNetwork() as network:
        network.post(url, status=201, payload=answer)
        ran = await run_alone("project", "import-members", ELSEWHERE, "1", "2")

    assert ran.code == 3
    assert ran.err == "warning: maria was not imported: is [2J blocked\n"
    assert ran.out == "not all members of project 2 were imported\n"


async def test_address_of_a_project_is_no_service_where_one_is_known(
    handbook: EmbeddedService, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the only word would be the service, and the project would be missing."""
    monkeypatch.setenv("WIKISYNC_URL", handbook.url)

    ran = await run("project", "show", f"{handbook.url}/{HANDBOOK}", "--json")
    other = await run("project", "show", f"https://gitlab.example.com/{HANDBOOK}")
    listed = await run("project", "list", handbook.url, "--json")

    assert ran.json["path_with_namespace"] == HANDBOOK
    assert (other.code, len(listed.json)) == (2, 2)
    assert f"give only its path, like {HANDBOOK}" in other.err

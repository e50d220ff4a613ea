"""What the links of a project lead to."""

from typing import Any

import pygit2
import pytest

from tests.service.conftest import PROJECT, Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel

SHOWN = "/api/v4/projects/docs%2Fhandbook"
README = "/docs/handbook/-/blob/main/README.md"
MIT = b"Permission is hereby granted, free of charge, to any person"


@pytest.fixture
async def project(service: EmbeddedService, api: Api) -> Any:
    """A project with code, a license and a picture, as its administrator sees it."""
    await service.add_project("docs/handbook", {"home": "x"})
    files = {"README.md": b"# \xc3\xa4\n", "LICENSE": MIT, "a.bin": b"\0\1"}
    await service.add_code("docs/handbook", files)
    return (await api.get(SHOWN + "?license=true")).json


def addresses(project: Any) -> dict[str, str]:
    """Every address in an answer that a client may follow, but for web pages."""
    named = {name: project[name] for name in ("readme_url", "license_url")}
    return {**named, **project["_links"]}


async def test_every_link_leads_somewhere(api: Api, project: Any) -> None:
    links = addresses(project)
    assert len(links) == 10

    for name, address in links.items():
        path = address.removeprefix(api.base)
        answer = await api.get(path)
        stranger = await api.as_user(None).get(path)

        assert (answer.status, stranger.status) == (200, 404), name


@pytest.mark.parametrize(
    ("attribute", "link"), [("issues", "issues"), ("merge_requests", "merge_requests")]
)
@pytest.mark.usefixtures("project")
async def test_link_of_a_feature_goes_with_it(
    api: Api, attribute: str, link: str
) -> None:
    off = {f"{attribute}_access_level": "disabled"}

    edited = (await api.put(SHOWN, json=off)).json

    assert link not in edited["_links"]
    assert ("open_issues_count" in edited) == (attribute != "issues")


@pytest.mark.usefixtures("project")
async def test_readme_is_shown_as_plain_text(api: Api) -> None:
    answer = await api.get(README)

    assert answer.body.decode() == "# ä\n"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    unchanged = await api.get(README, headers={"If-None-Match": answer.headers["ETag"]})
    assert unchanged.status == 304


@pytest.mark.usefixtures("project")
async def test_other_files_are_for_keeping(api: Api) -> None:
    answer = await api.get("/docs/handbook/-/raw/main/a.bin")

    assert answer.body == b"\0\1"
    assert answer.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.usefixtures("project")
async def test_file_that_is_not_there_is_not_found(api: Api) -> None:
    other = README.replace("main", "other")
    for path in (other, README + "x", "/docs/x/-/blob/main/a"):
        assert (await api.get(path)).status == 404, path


@pytest.mark.usefixtures("project")
async def test_guest_of_a_private_project_reads_no_code(
    service: EmbeddedService, api: Api
) -> None:
    anna = api.as_user(await service.add_user("anna"))
    await service.add_member("docs/handbook", "anna", AccessLevel.GUEST)

    assert (await anna.get(SHOWN)).status == 200
    assert (await anna.get(README)).status == 404
    assert (await anna.get(f"{SHOWN}/repository/branches")).status == 403


@pytest.mark.usefixtures("project")
async def test_branches_are_told_with_their_commits(
    service: EmbeddedService, api: Api
) -> None:
    storage = service.running.code(1)
    tip = storage.repository.branches()[0][1]

    answer = await api.get(f"{SHOWN}/repository/branches?search=mai")
    other = await api.get(f"{SHOWN}/repository/branches?search=x")

    (branch,) = answer.json
    assert (branch["name"], branch["default"]) == ("main", True)
    assert branch["can_push"]
    assert branch["commit"]["id"] == str(tip.id)
    assert branch["commit"]["author_name"] == "Tester"
    assert (other.json, other.headers["X-Total"]) == ([], "0")


@pytest.mark.usefixtures("project")
async def test_commit_with_odd_bytes_and_times_is_told(
    service: EmbeddedService, api: Api
) -> None:
    """Git takes any number as a time, and any bytes as a name."""
    for storage in (await service.wiki(PROJECT), service.running.code(1)):
        git = pygit2.Repository(str(storage.repository.path))
        tip = git.head.peel(pygit2.Commit)
        raw = (
            f"tree {tip.tree_id}\nparent {tip.id}\n".encode()
            + b"author J\xf6rg <j@\xff> 99999999999999999 +9959\n"
            + b"committer J\xf6rg <j@\xff> 99999999999999999 +9959\n\n\xff odd\n"
        )
        commit = git.odb.write(pygit2.enums.ObjectType.COMMIT, raw)
        git.references.create("refs/heads/main", commit, force=True)

    branches = await api.get(f"{SHOWN}/repository/branches")

    assert branches.status == 200
    assert branches.json[0]["commit"]["author_name"] == "J\ufffdrg"


@pytest.mark.usefixtures("project")
async def test_file_that_is_too_large_is_not_shown(
    service: EmbeddedService, api: Api
) -> None:
    service.set_limits(shown_bytes_max=3)

    assert (await api.get(README)).status == 413
    assert (await api.get("/docs/handbook/-/raw/main/a.bin")).status == 200

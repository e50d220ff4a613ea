"""What the links of a project lead to."""

from typing import Any

import pygit2
import pytest

from tests.service.conftest import PROJECT, Api
from tests.support.service import EmbeddedService

SHOWN = "/api/v4/projects/docs%2Fhandbook"
MIT = b"Permission is hereby granted, free of charge, to any person"


@pytest.fixture
async def project(service: EmbeddedService, api: Api) -> Any:
    """A project with code, a license and a picture, as its administrator sees it."""
    await service.add_project("docs/handbook", {"home": "x"})
    files = {"README.md": b"# \xc3\xa4\n", "LICENSE": MIT, "a.bin": b"\0\1"}
    await service.add_code("docs/handbook", files)
    return (await api.get(SHOWN + "?license=true")).json


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
async def test_commit_is_told_with_author_committer_and_their_clocks(
    service: EmbeddedService, api: Api
) -> None:
    git = pygit2.Repository(str(service.running.code(1).repository.path))
    tip = git.head.peel(pygit2.Commit)
    author = pygit2.Signature("Ann", "ann@example.com", 1_700_000_000, 330)
    other = pygit2.Signature("Bo", "bo@example.com", 1_700_000_060, -60)
    made = git.create_commit(
        "refs/heads/main", author, other, "Title\n\nWhy.\n", tip.tree_id, [tip.id]
    )

    (branch,) = (await api.get(f"{SHOWN}/repository/branches")).json

    committed = "2023-11-14T21:14:20.000-01:00"
    told = {
        "id": str(made),
        "short_id": str(made)[:8],
        "parent_ids": [str(tip.id)],
        "title": "Title",
        "message": "Title\n\nWhy.\n",
        "author_name": "Ann",
        "author_email": "ann@example.com",
        "authored_date": "2023-11-15T03:43:20.000+05:30",
        "committer_name": "Bo",
        "committer_email": "bo@example.com",
        "committed_date": committed,
        "created_at": committed,
    }
    assert {key: branch["commit"][key] for key in told} == told


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
    commit = branches.json[0]["commit"]
    assert commit["author_name"] == "J\ufffdrg"
    assert commit["authored_date"] == "1970-01-01T00:00:00.000+00:00"


@pytest.mark.usefixtures("project")
async def test_no_link_is_followed_and_what_is_no_text_is_for_keeping(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_code("docs/handbook", {"latin.txt": b"gr\xfc\xdfe\n"})
    git = pygit2.Repository(str(service.running.code(1).repository.path))
    tip = git.head.peel(pygit2.Commit)
    tree = git.TreeBuilder(tip.tree)
    link = git.create_blob(b"LICENSE")
    tree.insert("link.txt", link, pygit2.enums.FileMode.LINK)
    author, parents = tip.author, [tip.id]
    git.create_commit("refs/heads/main", author, author, "", tree.write(), parents)

    text = await api.get("/docs/handbook/-/raw/main/latin.txt")
    followed = await api.get("/docs/handbook/-/raw/main/link.txt")

    assert text.body == b"gr\xfc\xdfe\n"
    assert text.headers["Content-Disposition"].startswith("attachment")
    assert followed.status == 404

"""Settings and arguments of projects as types: made of the table, and checked.

A wrong call has its error silenced.  mypy, which is strict here, complains of a comment
that silences nothing, so it fails where it does not find one of the errors.
"""

from __future__ import annotations

import ast
from typing import Any

import msgspec
import pytest

from tests.api.played import API, RECORD
from tests.service.test_listing import FIELDS
from tests.support.network import PlayedNetwork
from tools.project_types import MODULE, module
from wikisync.api.projects import Projects
from wikisync.contract.project_schema import AccessLevel, ProjectRecord
from wikisync.errors import UsageError

SETTINGS: dict[str, Any] = {
    "merge_method": "ff",
    "wiki_enabled": False,
    "build_timeout": 600,
    "squash_option": "always",
    "ci_default_git_depth": 20,
    "issues_access_level": "private",
}


def test_types_are_made_of_the_table() -> None:
    written = ast.dump(ast.parse(MODULE.read_text("utf-8")))

    assert written == ast.dump(ast.parse(module())), "stale; run: make types"


def test_every_field_of_a_project_is_an_attribute() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(ProjectRecord)}

    assert {*FIELDS.split(), "owner"} - fields == set()


async def test_settings_are_typed(projects: Projects, network: PlayedNetwork) -> None:
    network.get(f"{API}/projects/7", payload={**RECORD, **SETTINGS})

    read = await projects.show_project(7)
    method: str | None = read.merge_method
    has_wiki: bool | None = read.wiki_enabled
    seconds: int | None = read.build_timeout

    assert (method, has_wiki, seconds) == ("ff", False, 600)
    assert (read.squash_option, read.ci_default_git_depth) == ("always", 20)
    assert read.issues_access_level == "private"
    with pytest.raises(AttributeError):
        read.merge_methods  # type: ignore[attr-defined]  # noqa: B018


async def test_right_arguments_are_taken(
    projects: Projects, network: PlayedNetwork
) -> None:
    network.post(f"{API}/projects", status=201, payload=RECORD)
    shared = {"group_id": 5, "id": 1}
    network.post(f"{API}/projects/7/share", status=201, payload=shared)

    made = await projects.create_project(
        name="x",
        topics=["a"],
        merge_method="ff",
        container_expiration_policy_attributes={"keep_n": 5},
    )
    share = await projects.share_project(
        7, group_id=5, group_access=AccessLevel.DEVELOPER
    )

    assert (made.id, share.group_id) == (7, 5)


async def test_wrong_arguments_are_found_before_they_are_sent(
    projects: Projects,
) -> None:
    refused = pytest.raises(UsageError)
    with refused:
        await projects.create_project(nam="x")  # type: ignore[call-arg]
    with refused:
        await projects.create_project(
            name=5  # type: ignore[arg-type]
        )
    with refused:
        await projects.edit_project(
            7,
            merge_method="fast",  # type: ignore[arg-type]
        )
    with refused:
        await projects.edit_project(
            7,
            container_expiration_policy_attributes={
                "keepn": 5  # type: ignore[typeddict-unknown-key]
            },
        )
    with refused:
        await projects.edit_project(7, namespace_id=5)  # type: ignore[call-arg]
    with refused:
        await projects.create_project_for_user(5, path="x")  # type: ignore[call-arg]
    with refused:
        await projects.fork_project(
            7,
            path=5,  # type: ignore[arg-type]
        )
    with refused:
        await projects.share_project(7, group_id=5)  # type: ignore[call-arg]
    with refused:
        await projects.delete_project(
            7,
            permanently_remove="yes",  # type: ignore[arg-type]
        )
    with refused:
        await projects.show_project(7, licence=True)  # type: ignore[call-arg]
    with refused:
        projects.list_projects(order_by="size")  # type: ignore[arg-type]
    with refused:
        projects.list_user_projects("maria", topic="a")  # type: ignore[call-arg]
    with refused:
        projects.list_forks(7, owned="yes")  # type: ignore[arg-type]
    with refused:
        projects.list_project_users(7, skip_users=5)  # type: ignore[arg-type]

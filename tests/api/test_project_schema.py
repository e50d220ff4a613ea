"""Records about projects: every view decodes, absent and null keys survive."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from wikisync.api.project_schema import (
    AvatarRecord,
    MembersImportRecord,
    PermissionsRecord,
    ProjectRecord,
    StarrerRecord,
    UploadRecord,
)

IDENTITY = {"id": 7, "path_with_namespace": "docs/handbook"}
FULL: dict[str, Any] = {
    **IDENTITY,
    "topics": ["a", "b"],
    "_links": {"self": "https://gitlab.example.com/api/v4/projects/7"},
    "permissions": {
        "project_access": {"access_level": 10, "notification_level": 3},
        "group_access": {"access_level": 50, "notification_level": 3},
    },
    "shared_with_groups": [
        {
            "group_id": 4,
            "group_name": "Docs",
            "group_full_path": "docs",
            "group_access_level": 30,
        }
    ],
    "statistics": {"commit_count": 37, "wiki_size": 0},
    "container_expiration_policy": {"cadence": "7d", "keep_n": None},
    "namespace": {"id": 3, "kind": "group", "full_path": "docs"},
    "owner": {"id": 3, "name": "Maria", "created_at": "2026-01-31T00:00:00Z"},
    "forked_from_project": {"id": 5, "path_with_namespace": "up/stream"},
    "license": {"key": "mit", "nickname": None},
    "custom_attributes": [{"key": "team", "value": "docs"}],
    "auto_cancel_pending_pipelines": "enabled",
    "compliance_frameworks": ["sox"],
    "runner_token_expiration_interval": None,
}


def project(value: dict[str, Any]) -> ProjectRecord:
    return msgspec.convert(value, ProjectRecord)


def test_identity_alone_is_a_project() -> None:
    found = project(IDENTITY)

    assert (found.id, found.topics, found.permissions) == (7, None, None)


def test_every_other_key_may_be_null() -> None:
    optional = [
        field.encode_name
        for field in msgspec.structs.fields(ProjectRecord)
        if field.default is None
    ]

    assert len(optional) > 100
    assert project({**IDENTITY, **dict.fromkeys(optional)}) == project(IDENTITY)


def test_unknown_keys_are_ignored() -> None:
    assert project({**IDENTITY, "brand_new": {"a": 1}}) == project(IDENTITY)


def test_full_view_and_its_parts() -> None:
    found = project(FULL)

    assert found.links is not None
    assert found.links.self_ == FULL["_links"]["self"]
    assert found.shared_with_groups is not None
    assert found.shared_with_groups[0].group_full_path == "docs"
    assert found.forked_from_project is not None
    assert found.forked_from_project.path_with_namespace == "up/stream"
    assert found.container_expiration_policy is not None
    assert found.container_expiration_policy.keep_n is None
    assert found.custom_attributes is not None
    assert found.custom_attributes[0].value == "docs"


def test_what_was_decoded_is_encoded_again() -> None:
    found = project(FULL)

    assert msgspec.json.decode(msgspec.json.encode(found), type=ProjectRecord) == found


def test_level_is_the_higher_of_both_ways() -> None:
    assert project(FULL).permissions == msgspec.convert(
        FULL["permissions"], PermissionsRecord
    )
    assert [
        found.level
        for found in (
            msgspec.convert(FULL["permissions"], PermissionsRecord),
            PermissionsRecord(),
        )
    ] == [50, 0]


@pytest.mark.parametrize(
    ("more", "labels"),
    [({"topics": ["a"], "tag_list": ["b"]}, ("a",)), ({"tag_list": ["b"]}, ("b",))],
)
def test_topics_are_found_under_either_name(
    more: dict[str, Any], labels: tuple[str, ...]
) -> None:
    assert project({**IDENTITY, **more}).labels == labels


def test_mark_for_deletion_is_found_under_either_name() -> None:
    marks = ("marked_for_deletion_on", "marked_for_deletion_at")

    dates = [project({**IDENTITY, mark: "2026-01-31"}).deletion_date for mark in marks]

    assert dates == ["2026-01-31", "2026-01-31"]


def test_other_records() -> None:
    user = {"id": 1, "username": "maria", "state": "blocked", "locked": False}
    starrer = msgspec.convert({"starred_since": "2026", "user": user}, StarrerRecord)
    upload = msgspec.convert({"url": "/uploads/0f/a.png"}, UploadRecord)
    avatar = msgspec.convert({"id": 7, "avatar_url": None}, AvatarRecord)

    assert starrer.user.state == "blocked"
    assert (upload.id, upload.url) == (None, "/uploads/0f/a.png")
    assert avatar.avatar_url is None


@pytest.mark.parametrize("message", [None, "Import failed", {"maria": "no"}])
def test_import_of_members_tells_who_was_refused(message: object) -> None:
    record = MembersImportRecord(status="error", message=message)

    assert record.refused == (message if isinstance(message, dict) else {})

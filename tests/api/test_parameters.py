"""The contract: a table of parameters without holes, and what has two names."""

from typing import Any

import msgspec
import pytest

from wikisync.contract.parameters import parameters_of, replace_deprecated
from wikisync.contract.project_schema import PermissionsRecord, ProjectRecord
from wikisync.contract.routes import ENDPOINTS, Endpoint
from wikisync.core.packaged import packaged_toml

EVERY = [(one, row) for one in ENDPOINTS for row in parameters_of(one).values()]


def test_every_endpoint_has_a_route_of_its_own() -> None:
    routes = {(one.method, one.template) for one in ENDPOINTS}
    assert len(routes) == len(ENDPOINTS)


def test_table_names_only_endpoints_that_there_are() -> None:
    """A misspelt name would leave an operation without its parameters."""
    table = packaged_toml("wikisync.contract", "operations.toml")
    groups = {name for rules in table["operations"].values() for name in rules["takes"]}
    assert set(table["operations"]) <= {str(endpoint) for endpoint in ENDPOINTS}
    assert groups == set(table["groups"])


def test_help_is_one_sentence() -> None:
    for _endpoint, row in EVERY:
        assert row.help.endswith("."), row
        assert "\n" not in row.help, row
        assert len(row.help) < 80, row


def test_replacement_is_accepted_where_the_old_name_is() -> None:
    for endpoint, row in EVERY:
        assert not row.replaced_by or row.replaced_by in parameters_of(endpoint), row


def test_lines_become_types_and_choices() -> None:
    endpoints = (Endpoint.LIST, Endpoint.USERS, Endpoint.SHARE, Endpoint.EDIT)
    rows = {name: row for one in endpoints for name, row in parameters_of(one).items()}

    assert {
        name: rows[name].type
        for name in (
            "wiki_enabled",
            "mirror_user_id",
            "path",
            "updated_after",
            "expires_at",
            "skip_users",
            "topics",
            "custom_attributes",
            "avatar",
        )
    } == {
        "wiki_enabled": "boolean",
        "mirror_user_id": "integer",
        "path": "string",
        "updated_after": "datetime",
        "expires_at": "date",
        "skip_users": "integers",
        "topics": "strings",
        "custom_attributes": "hash",
        "avatar": "file",
    }
    assert rows["visibility"].choices == ("private", "internal", "public")
    assert rows["group_access"].choices[0] == "10"
    policy = rows["container_expiration_policy_attributes"]
    assert policy.keys[0].name == "cadence"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"tag_list": ["a"]}, {"topics": ["a"]}),
        ({"wiki_enabled": False}, {"wiki_access_level": "disabled"}),
        ({"jobs_enabled": True}, {"builds_access_level": "enabled"}),
        ({"emails_disabled": True}, {"emails_enabled": False}),
        (
            {"wiki_enabled": False, "wiki_access_level": "private"},
            {"wiki_access_level": "private"},
        ),
        (
            {"container_expiration_policy_attributes": {"name_regex": "x"}},
            {"container_expiration_policy_attributes": {"name_regex_delete": "x"}},
        ),
        ({"name": "x", "brand_new": 1}, {"name": "x", "brand_new": 1}),
    ],
)
def test_old_names_of_attributes_become_new_ones(
    old: dict[str, object], new: dict[str, object]
) -> None:
    assert replace_deprecated(Endpoint.EDIT, old) == new


@pytest.mark.parametrize(
    ("value", "new"),
    [
        (7, {"namespace_id": 7}),
        ("7", {"namespace_id": 7}),
        ("docs/team", {"namespace_path": "docs/team"}),
    ],
)
def test_namespace_of_a_fork_is_an_id_or_a_path(
    value: object, new: dict[str, object]
) -> None:
    assert replace_deprecated(Endpoint.FORK, {"namespace": value}) == new


IDENTITY = {"id": 7, "path_with_namespace": "docs/handbook"}


def project(value: dict[str, Any]) -> ProjectRecord:
    return msgspec.convert(value, ProjectRecord)


@pytest.mark.parametrize(
    ("more", "labels"),
    [({"topics": ["a"], "tag_list": ["b"]}, ("a",)), ({"tag_list": ["b"]}, ("b",))],
)
def test_topics_are_found_under_either_name(
    more: dict[str, Any], labels: tuple[str, ...]
) -> None:
    assert project({**IDENTITY, **more}).labels == labels


@pytest.mark.parametrize(
    ("project_level", "group_level", "level"),
    [(10, 50, 50), (40, 20, 40), (None, None, 0)],
)
def test_level_is_the_higher_of_both_ways(
    project_level: int | None, group_level: int | None, level: int
) -> None:
    access = {
        way: None if value is None else {"access_level": value}
        for way, value in (
            ("project_access", project_level),
            ("group_access", group_level),
        )
    }
    assert msgspec.convert(access, PermissionsRecord).level == level

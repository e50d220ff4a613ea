"""Records about projects: values that a service sends under two names or forms."""

from typing import Any

import msgspec
import pytest

from wikisync.contract.project_schema import PermissionsRecord, ProjectRecord

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

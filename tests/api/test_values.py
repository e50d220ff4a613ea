"""Values of parameters: what is refused before it is sent, and how it is written."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from wikisync.api.values import check_values, fields_of, json_of, query_of
from wikisync.contract.parameters import Parameter, parameters_of
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError

WINTER = timezone(timedelta(hours=1))
SAMPLES: dict[str, object] = {
    "boolean": True,
    "integer": 7,
    "string": "text",
    "datetime": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "integers": [1, 2],
    "strings": ["a"],
    "hash": {"key": "value"},
    "file": Path("picture.png"),
}
OTHER_KIND: dict[str, object] = {
    "boolean": "true",
    "integer": "7",
    "string": 7,
    "datetime": "yesterday",
    "date": "31.01.2026",
    "integers": ["1"],
    "strings": "a,b",
    "hash": "key=value",
    "file": "picture.png",
}


def needed(endpoint: Endpoint, **values: object) -> dict[str, object]:
    """The values with whatever else the endpoint demands."""
    known = parameters_of(endpoint)
    required = {name: sample(known[name]) for name in known if known[name].is_required}
    if endpoint == Endpoint.CREATE:
        required["name"] = "x"
    order = {"order_by": "id"} if "order_by" in known else {}
    return {**order, **required, **values}


def sample(parameter: Parameter) -> object:
    if parameter.choices:
        choice = parameter.choices[0]
        return int(choice) if parameter.type == "integer" else choice
    if parameter.keys:
        return {parameter.keys[0].name: SAMPLES[parameter.keys[0].type]}
    return SAMPLES[parameter.type]


def cases() -> list[Any]:
    return [
        pytest.param(endpoint, parameter, id=f"{endpoint}-{parameter.name}")
        for endpoint in Endpoint
        for parameter in parameters_of(endpoint).values()
    ]


@pytest.mark.parametrize(("endpoint", "parameter"), cases())
def test_value_of_another_kind_is_refused(
    endpoint: Endpoint, parameter: Parameter
) -> None:
    values = needed(endpoint, **{parameter.name: OTHER_KIND[parameter.type]})

    with pytest.raises(UsageError, match=f"{parameter.name} takes "):
        check_values(endpoint, values)


CHOOSING = [case for case in cases() if case.values[1].choices]


@pytest.mark.parametrize(("endpoint", "parameter"), CHOOSING)
def test_value_that_is_no_choice_is_refused(
    endpoint: Endpoint, parameter: Parameter
) -> None:
    wrong = 99 if parameter.type == "integer" else "wrong"

    with pytest.raises(UsageError, match=f"takes one of {parameter.choices[0]}"):
        check_values(endpoint, needed(endpoint, **{parameter.name: wrong}))


RELATED = {
    "similarity",
    "updated_after",
    "updated_before",
    "pagination",
    "default_branch",
    "permanently_remove",
    "group_with_project_templates_id",
}
ALONE = [case for case in cases() if case.values[1].name not in RELATED]


@pytest.mark.parametrize(("endpoint", "parameter"), ALONE)
def test_value_of_its_kind_is_taken(endpoint: Endpoint, parameter: Parameter) -> None:
    value = sample(parameter)

    checked = check_values(endpoint, needed(endpoint, **{parameter.name: value}))

    assert checked[parameter.name] == value


def test_misspelt_name_is_refused_with_the_right_one() -> None:
    with pytest.raises(UsageError) as refused:
        check_values(Endpoint.LIST, {"archivd": True})

    assert refused.value.message == "GET /projects takes no parameter archivd"
    assert refused.value.hint == "did you mean archived?"


def test_name_of_another_endpoint_counts_more_than_one_that_is_near() -> None:
    with pytest.raises(UsageError) as refused:
        check_values(
            Endpoint.CREATE_FOR_USER, {"name": "a", "merge_pipelines_enabled": True}
        )

    assert refused.value.hint == "it belongs to POST /projects, PUT /projects/{id}"


def test_newer_name_that_is_given_already_is_refused() -> None:
    with pytest.raises(UsageError, match="name is given twice"):
        check_values(Endpoint.EDIT, {"name": "a"}, {"name": "b"})


def test_name_of_another_endpoint_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match="contributed_projects takes no") as refused:
        check_values(Endpoint.CONTRIBUTED_LIST, {"topic_id": 7})

    assert refused.value.hint == "it belongs to GET /projects"


def test_name_that_nothing_resembles_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError) as refused:
        check_values(Endpoint.DELETE, {"xyz": 1})

    assert refused.value.hint == "it takes: permanently_remove, full_path"


def test_endpoint_without_parameters_says_so() -> None:
    with pytest.raises(UsageError) as refused:
        check_values(Endpoint.STAR, {"xyz": 1})

    assert refused.value.hint == "it takes no parameters"


def test_removed_attribute_says_what_took_its_place() -> None:
    with pytest.raises(UsageError) as refused:
        check_values(Endpoint.EDIT, {"operations_access_level": "enabled"})

    assert refused.value.hint is not None
    assert "removed in 16.0" in refused.value.hint


def test_newer_parameters_go_unchecked() -> None:
    checked = check_values(Endpoint.STAR, {}, {"brand_new": [1, {"a": None}]})

    assert checked == {"brand_new": [1, {"a": None}]}


def test_none_is_left_out() -> None:
    assert check_values(Endpoint.EDIT, {"name": None, "path": "x"}) == {"path": "x"}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (datetime(2026, 1, 31, 13, tzinfo=WINTER), "2026-01-31T12:00:00Z"),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00Z"),
        ("2026-01-31", "2026-01-31"),
    ],
)
def test_times_are_written_as_the_service_wants(given: object, sent: str) -> None:
    values = {"order_by": "id", "last_activity_after": given}

    assert check_values(Endpoint.LIST, values)["last_activity_after"] == sent


def test_days_are_written_as_the_service_wants() -> None:
    values = {"group_id": 1, "group_access": 30, "expires_at": date(2026, 1, 31)}

    assert check_values(Endpoint.SHARE, values)["expires_at"] == "2026-01-31"


@pytest.mark.parametrize(
    ("endpoint", "values", "message"),
    [
        (Endpoint.LIST, {"last_activity_after": datetime(2026, 1, 1)}, "takes a time"),  # noqa: DTZ001
        (Endpoint.LIST, {"id_after": True}, "takes a whole number"),
        (Endpoint.LIST, {"page": 0}, "takes a number from 1, not 0"),
        (Endpoint.LIST, {"per_page": 0}, "from 1 to 100, not 0"),
        (Endpoint.LIST, {"per_page": 101}, "from 1 to 100, not 101"),
        (Endpoint.LIST, {"search": "a\0b"}, "a text without NUL"),
        (Endpoint.LIST, {"search": "\ud800"}, "whole characters"),
        (Endpoint.LIST, {"search": 9 * 10**99}, "…"),
        (Endpoint.LIST, {"custom_attributes": {1: "a"}}, "takes texts as names"),
        (Endpoint.LIST, {"custom_attributes": {"a": 1}}, r"\[a\] takes a text"),
        (Endpoint.LIST, {"order_by": "similarity"}, "needs a search"),
        (
            Endpoint.LIST,
            {"updated_after": "2026-01-01", "order_by": "id"},
            "updated_after works only with order_by=updated_at",
        ),
        (
            Endpoint.USER_LIST,
            {"pagination": "keyset", "order_by": "name"},
            "keyset paging works only with order_by=id",
        ),
        (Endpoint.CREATE, {}, "POST /projects needs name or path"),
        (Endpoint.CREATE_FOR_USER, {"path": "x"}, "needs name"),
        (Endpoint.SHARE, {"group_id": 1}, "needs group_access"),
        (
            Endpoint.CREATE,
            {"name": "x", "import_url": "u", "template_name": "t"},
            "import_url together with template_name",
        ),
        (
            Endpoint.CREATE,
            {"name": "x", "initialize_with_readme": True, "import_url": "u"},
            "initialize_with_readme together with import_url",
        ),
        (
            Endpoint.CREATE,
            {"name": "x", "default_branch": "main"},
            "default_branch needs initialize_with_readme",
        ),
        (
            Endpoint.CREATE,
            {"name": "x", "group_with_project_templates_id": 1},
            "needs use_custom_template",
        ),
        (Endpoint.DELETE, {"permanently_remove": True}, "needs full_path"),
        (
            Endpoint.EDIT,
            {"container_expiration_policy_attributes": {"cadance": "1d"}},
            r"container_expiration_policy_attributes\[cadance\]",
        ),
        (
            Endpoint.EDIT,
            {"container_expiration_policy_attributes": {"keep_n": "1"}},
            "attributes.keep_n takes a whole number",
        ),
    ],
)
def test_what_the_service_would_refuse_is_refused_here(
    endpoint: Endpoint, values: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        check_values(
            endpoint,
            {"order_by": "id", **values}
            if "order_by" in parameters_of(endpoint)
            else values,
        )

    assert refused.value.hint


@pytest.mark.parametrize(
    ("values", "query"),
    [
        ({"a": True, "b": 7}, "a=true&b=7"),
        ({"a": "x y&z"}, "a=x%20y%26z"),
        ({"skip": [1, 2]}, "skip%5B%5D=1&skip%5B%5D=2"),
        ({"custom_attributes": {"k": "v"}}, "custom_attributes%5Bk%5D=v"),
        ({"topics": []}, "topics="),
        ({"a": None}, "a="),
    ],
)
def test_query_is_written_as_the_service_reads_it(
    values: dict[str, object], query: str
) -> None:
    assert query_of(values) == query


def test_form_fields_of_a_hash_bear_its_name() -> None:
    values = {"policy": {"keep_n": 1, "enabled": False}}

    assert fields_of(values) == [("policy[keep_n]", "1"), ("policy[enabled]", "false")]


def test_json_keeps_kinds() -> None:
    assert json_of({"a": True, "b": [1], "c": {"d": ""}}) == (
        b'{"a":true,"b":[1],"c":{"d":""}}'
    )

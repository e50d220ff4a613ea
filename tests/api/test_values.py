"""Values of parameters: what is refused before it is sent, and how it is written."""

import pytest

from wikisync.api.exchange import fields_of, query_of
from wikisync.api.projects import check_values
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError


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
        check_values(Endpoint.EDIT, {"name": "a", "also": {"name": "b"}})


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
    assert refused.value.hint == "it takes: no parameters"


def test_newer_parameters_go_unchecked() -> None:
    checked = check_values(Endpoint.STAR, {"also": {"brand_new": [1, {"a": None}]}})
    assert checked == {"brand_new": [1, {"a": None}]}


def test_none_is_left_out() -> None:
    assert check_values(Endpoint.EDIT, {"name": None, "path": "x"}) == {"path": "x"}


@pytest.mark.parametrize(
    ("endpoint", "values", "message"),
    [
        (Endpoint.LIST, {"search": "\ud800"}, "a value is not UTF-8"),
        (Endpoint.CREATE, {}, "POST /projects needs name or path"),
        (Endpoint.CREATE_FOR_USER, {"path": "x"}, "needs name"),
        (Endpoint.SHARE, {"group_id": 1}, "needs group_access"),
        (
            Endpoint.CREATE,
            {"name": "x", "import_url": "u", "template_name": "t"},
            "import_url together with template_name",
        ),
    ],
)
def test_what_no_service_takes_is_refused_here(
    endpoint: Endpoint, values: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        check_values(endpoint, values)
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

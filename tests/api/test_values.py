"""Values of parameters: what is refused before it is sent, and how it is written."""

import pytest

from wikisync.api.exchange import fields_of, query_of
from wikisync.api.projects import check_values
from wikisync.contract.routes import Endpoint
from wikisync.errors import UsageError


@pytest.mark.parametrize(
    ("endpoint", "values", "hint"),
    [
        (Endpoint.LIST, {"archivd": True}, "did you mean archived?"),
        # the name of another endpoint counts more than one that is near
        (
            Endpoint.CREATE_FOR_USER,
            {"name": "a", "merge_pipelines_enabled": True},
            "it belongs to POST /projects, PUT /projects/{id}",
        ),
        (Endpoint.CONTRIBUTED_LIST, {"topic_id": 7}, "it belongs to GET /projects"),
        (Endpoint.DELETE, {"xyz": 1}, "it takes: permanently_remove, full_path"),
        (Endpoint.STAR, {"xyz": 1}, "it takes: no parameters"),
    ],
)
def test_name_that_is_none_is_refused_with_what_there_is(
    endpoint: Endpoint, values: dict[str, object], hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check_values(endpoint, values)
    (*_, wrong) = values
    assert refused.value.message.endswith(f" takes no parameter {wrong}")
    assert refused.value.hint == hint


def test_newer_name_that_is_given_already_is_refused() -> None:
    with pytest.raises(UsageError, match="name is given twice"):
        check_values(Endpoint.EDIT, {"name": "a", "also": {"name": "b"}})


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

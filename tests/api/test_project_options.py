"""The types of the keyword arguments are the table of parameters."""

from __future__ import annotations

import inspect
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import pytest

from wikisync.api.parameters import Endpoint, Parameter, parameters_of
from wikisync.api.project_options import ExpirationPolicy
from wikisync.api.projects import Projects

NAMED = {
    Endpoint.UPLOAD: {"file"},
    Endpoint.LANGUAGES: set(),
    Endpoint.UNSHARE: set(),
    Endpoint.IMPORT_MEMBERS: set(),
}
"""Endpoints whose parameters are arguments of their own, or segments of the path."""
BY_KEYWORD = [
    endpoint
    for endpoint in Endpoint
    if parameters_of(endpoint) and endpoint not in NAMED
]
KINDS: dict[str, Any] = {
    "boolean": bool,
    "integer": int,
    "string": str,
    "datetime": str | datetime,
    "date": str | date,
    "integers": list[int] | tuple[int, ...],
    "strings": list[str] | tuple[str, ...],
    "file": Path | Literal[""],
}


def options_of(endpoint: Endpoint) -> dict[str, Any]:
    method = getattr(Projects, endpoint)
    name = get_type_hints(method)
    keywords = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
    ]
    return get_type_hints(get_args(name[keywords[0]])[0])


def type_of(parameter: Parameter) -> Any:
    if parameter.name == "namespace":
        return int | str
    if parameter.keys:
        return ExpirationPolicy
    return KINDS[parameter.type]


@pytest.mark.parametrize("endpoint", Endpoint)
def test_every_endpoint_is_a_method(endpoint: Endpoint) -> None:
    assert callable(getattr(Projects, endpoint))


@pytest.mark.parametrize("endpoint", BY_KEYWORD)
def test_method_takes_what_the_table_says(endpoint: Endpoint) -> None:
    assert set(options_of(endpoint)) == set(parameters_of(endpoint))


@pytest.mark.parametrize("endpoint", BY_KEYWORD)
def test_types_are_those_of_the_table(endpoint: Endpoint) -> None:
    known, hints = parameters_of(endpoint), options_of(endpoint)
    plain = {
        name: type_of(parameter)
        for name, parameter in known.items()
        if not (parameter.choices and parameter.type == "string")
        and name != "custom_attributes"
    }

    assert {name: hints[name] for name in plain} == plain


@pytest.mark.parametrize("endpoint", BY_KEYWORD)
def test_choices_are_those_of_the_table(endpoint: Endpoint) -> None:
    known, hints = parameters_of(endpoint), options_of(endpoint)
    choosing = {
        name: set(parameter.choices)
        for name, parameter in known.items()
        if parameter.choices and parameter.type == "string"
    }

    assert {name: set(get_args(hints[name])) for name in choosing} == choosing


def test_expiration_policy_has_the_keys_of_the_table() -> None:
    row = parameters_of(Endpoint.EDIT)["container_expiration_policy_attributes"]

    assert set(get_type_hints(ExpirationPolicy)) == {key.name for key in row.keys}

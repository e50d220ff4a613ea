"""The methods take what the table of parameters says."""

from __future__ import annotations

import inspect
from typing import get_args, get_type_hints

import pytest

from wikisync.api.endpoints import Endpoint
from wikisync.api.parameters import parameters_of
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


def taken_by(endpoint: Endpoint) -> set[str]:
    """The keyword arguments of the endpoint's method."""
    method = getattr(Projects, endpoint)
    keywords = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
    ]
    (options,) = get_args(get_type_hints(method)[keywords[0]])
    return set(get_type_hints(options))


@pytest.mark.parametrize("endpoint", Endpoint)
def test_every_endpoint_is_a_method(endpoint: Endpoint) -> None:
    assert callable(getattr(Projects, endpoint))


@pytest.mark.parametrize("endpoint", BY_KEYWORD)
def test_method_takes_what_the_table_says(endpoint: Endpoint) -> None:
    assert taken_by(endpoint) == set(parameters_of(endpoint))

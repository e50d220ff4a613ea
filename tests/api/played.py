"""A played network: where its service is, and what it was asked."""

import json
from typing import Any

from aioresponses.compat import normalize_url

from tests.api.conftest import SERVICE
from tests.support.network import PlayedNetwork

API = f"{SERVICE}/api/v4"
RECORD = {"id": 7, "path_with_namespace": "docs/handbook"}


def asked(network: PlayedNetwork) -> list[tuple[str, str]]:
    """Every request made: its method, and its URL behind the API's prefix."""
    return [
        (method, str(url).removeprefix(API))
        for (method, url), calls in network.requests.items()
        for _ in calls
    ]


def sorted_query(url: str) -> str:
    """A URL as the played network keeps it."""
    return str(normalize_url(API + url)).removeprefix(API)


def bodies(network: PlayedNetwork) -> list[Any]:
    """The JSON bodies sent, in order of their URLs."""
    found = [
        call.kwargs["data"] for calls in network.requests.values() for call in calls
    ]
    return [json.loads(body.getvalue()) for body in found if body is not None]

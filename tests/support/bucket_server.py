"""What a reader finds in the bucket ``site`` of a real S3 server."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from urllib.parse import quote

from wikisync.fleet.parts import BucketServer


def got(server: BucketServer, path: str) -> tuple[bytes, Mapping[str, str]] | None:
    """An object and its headers, as any reader gets them."""
    try:
        with urllib.request.urlopen(f"{server.address}/site/{quote(path)}") as answer:
            return answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None

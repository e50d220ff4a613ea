"""Path templates of the REST API: one table for client and service.

Pure.  A template is relative to ``/api/v4``; ``{name}`` stands for one segment
that the client percent-encodes whole (``%2F`` included) and the service decodes
once.  ``{slug}`` on the service's side also takes raw slashes, as the real one
does since 14.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

API_PREFIX = "/api/v4"

Method = Literal["GET", "POST", "PUT", "DELETE"]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: its method and its path template."""

    method: Method
    template: str

    def path(self, **segments: str | int) -> str:
        """The percent-encoded path, ``/api/v4`` included.

        Each value is encoded once and completely, ``/`` and ``.`` runs too, so
        that no library on the way can take ``..`` or ``%2F`` apart.
        """
        encoded = {name: encode_segment(value) for name, value in segments.items()}
        return API_PREFIX + self.template.format_map(encoded)


def encode_segment(value: str | int) -> str:
    """Percent-encode one path segment; only unreserved characters stay."""
    encoded = quote(str(value), safe="")
    # "." and ".." alone would be resolved away by URL libraries and proxies
    if encoded in {".", ".."}:
        encoded = encoded.replace(".", "%2E")
    return encoded


VERSION = Route("GET", "/version")
CURRENT_USER = Route("GET", "/user")
CURRENT_TOKEN = Route("GET", "/personal_access_tokens/self")

PROJECTS = Route("GET", "/projects")
PROJECT = Route("GET", "/projects/{id}")
GROUPS = Route("GET", "/groups")
GROUP = Route("GET", "/groups/{id}")
GROUP_PROJECTS = Route("GET", "/groups/{id}/projects")
GROUP_DESCENDANTS = Route("GET", "/groups/{id}/descendant_groups")

# the owner of a wiki is written "projects" or "groups"
WIKI_LIST = Route("GET", "/{owner}/{id}/wikis")
WIKI_GET = Route("GET", "/{owner}/{id}/wikis/{slug}")
WIKI_CREATE = Route("POST", "/{owner}/{id}/wikis")
WIKI_EDIT = Route("PUT", "/{owner}/{id}/wikis/{slug}")
WIKI_DELETE = Route("DELETE", "/{owner}/{id}/wikis/{slug}")
WIKI_UPLOAD = Route("POST", "/{owner}/{id}/wikis/attachments")

"""Path templates of the REST API: one table for client and service.

Pure.  A template is relative to ``/api/v4``; ``{name}`` stands for one segment
that the client percent-encodes whole (``%2F`` included) and the service decodes
once.  ``{slug}`` on the service's side also takes raw slashes, as the real one
does since 14.9.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from msgspec import Struct

API_PREFIX = "/api/v4"

Method = Literal["GET", "POST", "PUT", "DELETE"]


class Route(Struct, frozen=True):
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


DESCRIPTION = Route("GET", "/openapi.json")
VERSION = Route("GET", "/version")
METADATA = Route("GET", "/metadata")
CURRENT_USER = Route("GET", "/user")
CURRENT_TOKEN = Route("GET", "/personal_access_tokens/self")

PROJECTS = Route("GET", "/projects")
PROJECT = Route("GET", "/projects/{id}")
PROJECT_USERS = Route("GET", "/projects/{id}/users")
PROJECT_GROUPS = Route("GET", "/projects/{id}/groups")
PROJECT_SHARE_LOCATIONS = Route("GET", "/projects/{id}/share_locations")
PROJECT_STARRERS = Route("GET", "/projects/{id}/starrers")
PROJECT_LANGUAGES = Route("GET", "/projects/{id}/languages")
PROJECT_FORKS = Route("GET", "/projects/{id}/forks")
PROJECT_IMPORT = Route("GET", "/projects/{id}/import")
PROJECT_BRANCHES = Route("GET", "/projects/{id}/repository/branches")
PROJECT_EVENTS = Route("GET", "/projects/{id}/events")
PROJECT_ISSUES = Route("GET", "/projects/{id}/issues")
PROJECT_MERGE_REQUESTS = Route("GET", "/projects/{id}/merge_requests")
PROJECT_LABELS = Route("GET", "/projects/{id}/labels")
PROJECT_CLUSTER_AGENTS = Route("GET", "/projects/{id}/cluster_agents")
PROJECT_CREATE = Route("POST", "/projects")
PROJECT_CREATE_FOR_USER = Route("POST", "/projects/user/{user_id}")
PROJECT_EDIT = Route("PUT", "/projects/{id}")
PROJECT_FORK = Route("POST", "/projects/{id}/fork")
PROJECT_STAR = Route("POST", "/projects/{id}/star")
PROJECT_UNSTAR = Route("POST", "/projects/{id}/unstar")
PROJECT_ARCHIVE = Route("POST", "/projects/{id}/archive")
PROJECT_UNARCHIVE = Route("POST", "/projects/{id}/unarchive")
PROJECT_DELETE = Route("DELETE", "/projects/{id}")
PROJECT_RESTORE = Route("POST", "/projects/{id}/restore")
PROJECT_SHARE = Route("POST", "/projects/{id}/share")
PROJECT_UNSHARE = Route("DELETE", "/projects/{id}/share/{group_id}")
PROJECT_UPLOAD = Route("POST", "/projects/{id}/uploads")
PROJECT_UPLOAD_GET = Route("GET", "/projects/{id}/uploads/{secret}/{file_name}")
PROJECT_IMPORT_MEMBERS = Route(
    "POST", "/projects/{id}/import_project_members/{source_id}"
)
PROJECT_TRANSFER = Route("PUT", "/projects/{id}/transfer")
PROJECT_CUSTOM_ATTRIBUTES = Route("GET", "/projects/{id}/custom_attributes")
PROJECT_CUSTOM_ATTRIBUTE = Route("GET", "/projects/{id}/custom_attributes/{key}")
PROJECT_SET_CUSTOM_ATTRIBUTE = Route("PUT", "/projects/{id}/custom_attributes/{key}")
PROJECT_DELETE_CUSTOM_ATTRIBUTE = Route(
    "DELETE", "/projects/{id}/custom_attributes/{key}"
)
USER_PROJECTS = Route("GET", "/users/{user_id}/projects")
USER_CONTRIBUTED_PROJECTS = Route("GET", "/users/{user_id}/contributed_projects")
USER_STARRED_PROJECTS = Route("GET", "/users/{user_id}/starred_projects")
USERS = Route("GET", "/users")
USER = Route("GET", "/users/{user_id}")
SEARCH = Route("GET", "/search")
GROUPS = Route("GET", "/groups")
GROUP_CREATE = Route("POST", "/groups")
GROUP = Route("GET", "/groups/{id}")
GROUP_PROJECTS = Route("GET", "/groups/{id}/projects")
GROUP_SUBGROUPS = Route("GET", "/groups/{id}/subgroups")
GROUP_DESCENDANTS = Route("GET", "/groups/{id}/descendant_groups")

# an owner is written "projects" or "groups"
OWNER_SEARCH = Route("GET", "/{owner}/{id}/search")
MEMBERS = Route("GET", "/{owner}/{id}/members")
ALL_MEMBERS = Route("GET", "/{owner}/{id}/members/all")
ANY_MEMBER = Route("GET", "/{owner}/{id}/members/all/{user_id}")
MEMBER = Route("GET", "/{owner}/{id}/members/{user_id}")
MEMBER_ADD = Route("POST", "/{owner}/{id}/members")
MEMBER_EDIT = Route("PUT", "/{owner}/{id}/members/{user_id}")
MEMBER_REMOVE = Route("DELETE", "/{owner}/{id}/members/{user_id}")
WIKI_LIST = Route("GET", "/{owner}/{id}/wikis")
WIKI_GET = Route("GET", "/{owner}/{id}/wikis/{slug}")
WIKI_CREATE = Route("POST", "/{owner}/{id}/wikis")
WIKI_EDIT = Route("PUT", "/{owner}/{id}/wikis/{slug}")
WIKI_DELETE = Route("DELETE", "/{owner}/{id}/wikis/{slug}")
WIKI_UPLOAD = Route("POST", "/{owner}/{id}/wikis/attachments")
COMMENTS = Route("GET", "/{owner}/{id}/wiki_pages/{page_id}/notes")
COMMENT = Route("GET", "/{owner}/{id}/wiki_pages/{page_id}/notes/{note_id}")
COMMENT_CREATE = Route("POST", "/{owner}/{id}/wiki_pages/{page_id}/notes")

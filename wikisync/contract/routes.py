"""Path templates and operations of the REST API: one table for client and service.

Pure.  A template is relative to ``/api/v4``; ``{name}`` stands for one segment
that the client percent-encodes whole (``%2F`` included) and the service decodes
once.  ``{slug}`` on the service's side also takes raw slashes, as the real one
does since 14.9.
"""

from enum import StrEnum
from typing import Literal, Self
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


class _Operation(StrEnum):
    """A name, and where it is."""

    route: Route

    def __new__(cls, name: str, route: Route) -> Self:
        """A member that is its name."""
        made = str.__new__(cls, name)
        made._value_ = name
        made.route = route
        return made


class Endpoint(_Operation):
    """The operations on projects, by the names of the client's methods."""

    LIST = "list_projects", PROJECTS
    USER_LIST = "list_user_projects", USER_PROJECTS
    CONTRIBUTED_LIST = "list_contributed_projects", USER_CONTRIBUTED_PROJECTS
    STARRED_LIST = "list_starred_projects", USER_STARRED_PROJECTS
    FORK_LIST = "list_forks", PROJECT_FORKS
    SHOW = "show_project", PROJECT
    USERS = "list_project_users", PROJECT_USERS
    GROUPS = "list_project_groups", PROJECT_GROUPS
    SHARE_LOCATIONS = "list_share_locations", PROJECT_SHARE_LOCATIONS
    STARRERS = "list_starrers", PROJECT_STARRERS
    LANGUAGES = "show_languages", PROJECT_LANGUAGES
    CREATE = "create_project", PROJECT_CREATE
    CREATE_FOR_USER = "create_project_for_user", PROJECT_CREATE_FOR_USER
    EDIT = "edit_project", PROJECT_EDIT
    FORK = "fork_project", PROJECT_FORK
    STAR = "star_project", PROJECT_STAR
    UNSTAR = "unstar_project", PROJECT_UNSTAR
    ARCHIVE = "archive_project", PROJECT_ARCHIVE
    UNARCHIVE = "unarchive_project", PROJECT_UNARCHIVE
    DELETE = "delete_project", PROJECT_DELETE
    RESTORE = "restore_project", PROJECT_RESTORE
    SHARE = "share_project", PROJECT_SHARE
    UNSHARE = "unshare_project", PROJECT_UNSHARE
    UPLOAD = "upload_file", PROJECT_UPLOAD
    IMPORT_MEMBERS = "import_project_members", PROJECT_IMPORT_MEMBERS


class OtherEndpoint(_Operation):
    """The operations on wikis and groups, and some that the client does not need."""

    PAGES = "list_pages", WIKI_LIST
    PAGE = "show_page", WIKI_GET
    PAGE_CREATE = "create_page", WIKI_CREATE
    PAGE_EDIT = "edit_page", WIKI_EDIT
    ATTACHMENT = "upload_attachment", WIKI_UPLOAD
    COMMENTS = "list_comments", COMMENTS
    COMMENT_CREATE = "create_comment", COMMENT_CREATE
    GROUPS = "list_groups", GROUPS
    SUBGROUPS = "list_subgroups", GROUP_SUBGROUPS
    DESCENDANT_GROUPS = "list_descendant_groups", GROUP_DESCENDANTS
    GROUP_PROJECTS = "list_group_projects", GROUP_PROJECTS
    MEMBERS = "list_members", MEMBERS
    ALL_MEMBERS = "list_all_members", ALL_MEMBERS
    MEMBER_ADD = "add_member", MEMBER_ADD
    MEMBER_EDIT = "edit_member", MEMBER_EDIT
    USERS = "list_users", USERS
    SEARCH = "search_everywhere", SEARCH
    OWNER_SEARCH = "search_owner", OWNER_SEARCH
    GROUP_CREATE = "create_group", GROUP_CREATE
    BRANCHES = "list_branches", PROJECT_BRANCHES
    EVENTS = "list_events", PROJECT_EVENTS
    ISSUES = "list_issues", PROJECT_ISSUES
    MERGE_REQUESTS = "list_merge_requests", PROJECT_MERGE_REQUESTS
    LABELS = "list_labels", PROJECT_LABELS
    CLUSTER_AGENTS = "list_cluster_agents", PROJECT_CLUSTER_AGENTS
    TRANSFER = "transfer_project", PROJECT_TRANSFER
    SET_CUSTOM_ATTRIBUTE = "set_custom_attribute", PROJECT_SET_CUSTOM_ATTRIBUTE


AnyEndpoint = Endpoint | OtherEndpoint
"""Any of them; the client has a method for each of the first kind."""
ENDPOINTS: tuple[AnyEndpoint, ...] = (*Endpoint, *OtherEndpoint)

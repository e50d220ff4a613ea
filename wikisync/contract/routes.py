"""Path templates and operations of the REST API, for client and service.  Pure.

A template is relative to ``/api/v4``; ``{name}`` stands for one segment that the client
percent-encodes whole and the service decodes once.
"""

from enum import StrEnum
from typing import Literal, Self
from urllib.parse import quote

API_PREFIX = "/api/v4"

Method = Literal["GET", "POST", "PUT", "DELETE"]


def encode_segment(value: str | int) -> str:
    """Percent-encode one path segment; only unreserved characters stay."""
    encoded = quote(str(value), safe="")
    # "." and ".." alone would be resolved away by URL libraries and proxies
    if encoded in {".", ".."}:
        encoded = encoded.replace(".", "%2E")
    return encoded


_ATTRIBUTES = "/projects/{id}/custom_attributes"
_ATTRIBUTE = "/projects/{id}/custom_attributes/{key}"
_CONTRIBUTED = "/users/{user_id}/contributed_projects"
_DESCENDANTS = "/groups/{id}/descendant_groups"
_IMPORT_MEMBERS = "/projects/{id}/import_project_members/{source_id}"
_NOTES = "/{owner}/{id}/wiki_pages/{page_id}/notes"


class _Operation(StrEnum):
    """A name, and where it is: a method, and a template of paths."""

    method: Method
    template: str

    def __new__(cls, name: str, method: Method, template: str) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.method, made.template = method, template
        return made

    def path(self, **segments: str | int) -> str:
        """The percent-encoded path, ``/api/v4`` included.

        Each value is encoded completely, so that no library takes ``..`` or ``%2F``
        apart.
        """
        encoded = {name: encode_segment(value) for name, value in segments.items()}
        return API_PREFIX + self.template.format_map(encoded)


class Endpoint(_Operation):
    """The operations on projects, by the names of the client's methods."""

    LIST = "list_projects", "GET", "/projects"
    USER_LIST = "list_user_projects", "GET", "/users/{user_id}/projects"
    CONTRIBUTED_LIST = "list_contributed_projects", "GET", _CONTRIBUTED
    STARRED_LIST = "list_starred_projects", "GET", "/users/{user_id}/starred_projects"
    FORK_LIST = "list_forks", "GET", "/projects/{id}/forks"
    SHOW = "show_project", "GET", "/projects/{id}"
    USERS = "list_project_users", "GET", "/projects/{id}/users"
    GROUPS = "list_project_groups", "GET", "/projects/{id}/groups"
    SHARE_LOCATIONS = "list_share_locations", "GET", "/projects/{id}/share_locations"
    STARRERS = "list_starrers", "GET", "/projects/{id}/starrers"
    LANGUAGES = "show_languages", "GET", "/projects/{id}/languages"
    CREATE = "create_project", "POST", "/projects"
    CREATE_FOR_USER = "create_project_for_user", "POST", "/projects/user/{user_id}"
    EDIT = "edit_project", "PUT", "/projects/{id}"
    FORK = "fork_project", "POST", "/projects/{id}/fork"
    STAR = "star_project", "POST", "/projects/{id}/star"
    UNSTAR = "unstar_project", "POST", "/projects/{id}/unstar"
    ARCHIVE = "archive_project", "POST", "/projects/{id}/archive"
    UNARCHIVE = "unarchive_project", "POST", "/projects/{id}/unarchive"
    DELETE = "delete_project", "DELETE", "/projects/{id}"
    RESTORE = "restore_project", "POST", "/projects/{id}/restore"
    SHARE = "share_project", "POST", "/projects/{id}/share"
    UNSHARE = "unshare_project", "DELETE", "/projects/{id}/share/{group_id}"
    UPLOAD = "upload_file", "POST", "/projects/{id}/uploads"
    IMPORT_MEMBERS = "import_project_members", "POST", _IMPORT_MEMBERS


class OtherEndpoint(_Operation):
    """The other operations; an owner is written "projects" or "groups"."""

    DESCRIPTION = "show_description", "GET", "/openapi.json"
    VERSION = "show_version", "GET", "/version"
    METADATA = "show_metadata", "GET", "/metadata"
    CURRENT_USER = "show_user", "GET", "/user"
    CURRENT_TOKEN = "show_token", "GET", "/personal_access_tokens/self"
    PAGES = "list_pages", "GET", "/{owner}/{id}/wikis"
    PAGE = "show_page", "GET", "/{owner}/{id}/wikis/{slug}"
    PAGE_CREATE = "create_page", "POST", "/{owner}/{id}/wikis"
    PAGE_EDIT = "edit_page", "PUT", "/{owner}/{id}/wikis/{slug}"
    PAGE_DELETE = "delete_page", "DELETE", "/{owner}/{id}/wikis/{slug}"
    ATTACHMENT = "upload_attachment", "POST", "/{owner}/{id}/wikis/attachments"
    COMMENTS = "list_comments", "GET", _NOTES
    COMMENT = "show_comment", "GET", f"{_NOTES}/{{note_id}}"
    COMMENT_CREATE = "create_comment", "POST", _NOTES
    GROUPS = "list_groups", "GET", "/groups"
    GROUP = "show_group", "GET", "/groups/{id}"
    SUBGROUPS = "list_subgroups", "GET", "/groups/{id}/subgroups"
    DESCENDANT_GROUPS = "list_descendant_groups", "GET", _DESCENDANTS
    GROUP_PROJECTS = "list_group_projects", "GET", "/groups/{id}/projects"
    MEMBERS = "list_members", "GET", "/{owner}/{id}/members"
    ALL_MEMBERS = "list_all_members", "GET", "/{owner}/{id}/members/all"
    MEMBER = "show_member", "GET", "/{owner}/{id}/members/{user_id}"
    ANY_MEMBER = "show_any_member", "GET", "/{owner}/{id}/members/all/{user_id}"
    MEMBER_ADD = "add_member", "POST", "/{owner}/{id}/members"
    MEMBER_EDIT = "edit_member", "PUT", "/{owner}/{id}/members/{user_id}"
    MEMBER_REMOVE = "remove_member", "DELETE", "/{owner}/{id}/members/{user_id}"
    USERS = "list_users", "GET", "/users"
    USER = "show_user_of_id", "GET", "/users/{user_id}"
    SEARCH = "search_everywhere", "GET", "/search"
    OWNER_SEARCH = "search_owner", "GET", "/{owner}/{id}/search"
    GROUP_CREATE = "create_group", "POST", "/groups"
    BRANCHES = "list_branches", "GET", "/projects/{id}/repository/branches"
    EVENTS = "list_events", "GET", "/projects/{id}/events"
    ISSUES = "list_issues", "GET", "/projects/{id}/issues"
    MERGE_REQUESTS = "list_merge_requests", "GET", "/projects/{id}/merge_requests"
    LABELS = "list_labels", "GET", "/projects/{id}/labels"
    CLUSTER_AGENTS = "list_cluster_agents", "GET", "/projects/{id}/cluster_agents"
    TRANSFER = "transfer_project", "PUT", "/projects/{id}/transfer"
    IMPORT = "show_import", "GET", "/projects/{id}/import"
    UPLOADED = "show_upload", "GET", "/projects/{id}/uploads/{secret}/{file_name}"
    CUSTOM_ATTRIBUTES = "list_custom_attributes", "GET", _ATTRIBUTES
    CUSTOM_ATTRIBUTE = "show_custom_attribute", "GET", _ATTRIBUTE
    SET_CUSTOM_ATTRIBUTE = "set_custom_attribute", "PUT", _ATTRIBUTE
    DELETE_CUSTOM_ATTRIBUTE = "delete_custom_attribute", "DELETE", _ATTRIBUTE


AnyEndpoint = Endpoint | OtherEndpoint
"""Any of them; the client has a method for each of the first kind."""
ENDPOINTS: tuple[AnyEndpoint, ...] = (*Endpoint, *OtherEndpoint)

"""The operations of the API that take parameters, and their routes (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from wikisync.api import routes


class Endpoint(StrEnum):
    """The operations on projects, by the names of the client's methods."""

    LIST = "list_projects"
    USER_LIST = "list_user_projects"
    CONTRIBUTED_LIST = "list_contributed_projects"
    STARRED_LIST = "list_starred_projects"
    FORK_LIST = "list_forks"
    SHOW = "show_project"
    USERS = "list_project_users"
    GROUPS = "list_project_groups"
    SHARE_LOCATIONS = "list_share_locations"
    STARRERS = "list_starrers"
    LANGUAGES = "show_languages"
    CREATE = "create_project"
    CREATE_FOR_USER = "create_project_for_user"
    EDIT = "edit_project"
    FORK = "fork_project"
    STAR = "star_project"
    UNSTAR = "unstar_project"
    ARCHIVE = "archive_project"
    UNARCHIVE = "unarchive_project"
    DELETE = "delete_project"
    RESTORE = "restore_project"
    SHARE = "share_project"
    UNSHARE = "unshare_project"
    UPLOAD = "upload_file"
    IMPORT_MEMBERS = "import_project_members"


class OtherEndpoint(StrEnum):
    """The operations on wikis and groups, and some that the client does not need."""

    PAGES = "list_pages"
    PAGE = "show_page"
    PAGE_CREATE = "create_page"
    PAGE_EDIT = "edit_page"
    ATTACHMENT = "upload_attachment"
    GROUPS = "list_groups"
    SUBGROUPS = "list_subgroups"
    DESCENDANT_GROUPS = "list_descendant_groups"
    GROUP_PROJECTS = "list_group_projects"
    MEMBERS = "list_members"
    BRANCHES = "list_branches"
    EVENTS = "list_events"
    ISSUES = "list_issues"
    MERGE_REQUESTS = "list_merge_requests"
    LABELS = "list_labels"
    CLUSTER_AGENTS = "list_cluster_agents"
    TRANSFER = "transfer_project"
    SET_CUSTOM_ATTRIBUTE = "set_custom_attribute"


AnyEndpoint = Endpoint | OtherEndpoint

ROUTES: Mapping[AnyEndpoint, routes.Route] = MappingProxyType(
    {
        Endpoint.LIST: routes.PROJECTS,
        Endpoint.USER_LIST: routes.USER_PROJECTS,
        Endpoint.CONTRIBUTED_LIST: routes.USER_CONTRIBUTED_PROJECTS,
        Endpoint.STARRED_LIST: routes.USER_STARRED_PROJECTS,
        Endpoint.FORK_LIST: routes.PROJECT_FORKS,
        Endpoint.SHOW: routes.PROJECT,
        Endpoint.USERS: routes.PROJECT_USERS,
        Endpoint.GROUPS: routes.PROJECT_GROUPS,
        Endpoint.SHARE_LOCATIONS: routes.PROJECT_SHARE_LOCATIONS,
        Endpoint.STARRERS: routes.PROJECT_STARRERS,
        Endpoint.LANGUAGES: routes.PROJECT_LANGUAGES,
        Endpoint.CREATE: routes.PROJECT_CREATE,
        Endpoint.CREATE_FOR_USER: routes.PROJECT_CREATE_FOR_USER,
        Endpoint.EDIT: routes.PROJECT_EDIT,
        Endpoint.FORK: routes.PROJECT_FORK,
        Endpoint.STAR: routes.PROJECT_STAR,
        Endpoint.UNSTAR: routes.PROJECT_UNSTAR,
        Endpoint.ARCHIVE: routes.PROJECT_ARCHIVE,
        Endpoint.UNARCHIVE: routes.PROJECT_UNARCHIVE,
        Endpoint.DELETE: routes.PROJECT_DELETE,
        Endpoint.RESTORE: routes.PROJECT_RESTORE,
        Endpoint.SHARE: routes.PROJECT_SHARE,
        Endpoint.UNSHARE: routes.PROJECT_UNSHARE,
        Endpoint.UPLOAD: routes.PROJECT_UPLOAD,
        Endpoint.IMPORT_MEMBERS: routes.PROJECT_IMPORT_MEMBERS,
        OtherEndpoint.PAGES: routes.WIKI_LIST,
        OtherEndpoint.PAGE: routes.WIKI_GET,
        OtherEndpoint.PAGE_CREATE: routes.WIKI_CREATE,
        OtherEndpoint.PAGE_EDIT: routes.WIKI_EDIT,
        OtherEndpoint.ATTACHMENT: routes.WIKI_UPLOAD,
        OtherEndpoint.GROUPS: routes.GROUPS,
        OtherEndpoint.SUBGROUPS: routes.GROUP_SUBGROUPS,
        OtherEndpoint.DESCENDANT_GROUPS: routes.GROUP_DESCENDANTS,
        OtherEndpoint.GROUP_PROJECTS: routes.GROUP_PROJECTS,
        OtherEndpoint.MEMBERS: routes.PROJECT_MEMBERS,
        OtherEndpoint.BRANCHES: routes.PROJECT_BRANCHES,
        OtherEndpoint.EVENTS: routes.PROJECT_EVENTS,
        OtherEndpoint.ISSUES: routes.PROJECT_ISSUES,
        OtherEndpoint.MERGE_REQUESTS: routes.PROJECT_MERGE_REQUESTS,
        OtherEndpoint.LABELS: routes.PROJECT_LABELS,
        OtherEndpoint.CLUSTER_AGENTS: routes.PROJECT_CLUSTER_AGENTS,
        OtherEndpoint.TRANSFER: routes.PROJECT_TRANSFER,
        OtherEndpoint.SET_CUSTOM_ATTRIBUTE: routes.PROJECT_SET_CUSTOM_ATTRIBUTE,
    }
)
"""Where each endpoint is."""

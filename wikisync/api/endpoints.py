"""The operations of the API that take parameters, and their routes (pure)."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from wikisync.api import routes


class _Operation(StrEnum):
    """A name, and where it is."""

    route: routes.Route

    def __new__(cls, name: str, route: routes.Route) -> Self:
        """A member that is its name."""
        made = str.__new__(cls, name)
        made._value_ = name
        made.route = route
        return made


class Endpoint(_Operation):
    """The operations on projects, by the names of the client's methods."""

    LIST = "list_projects", routes.PROJECTS
    USER_LIST = "list_user_projects", routes.USER_PROJECTS
    CONTRIBUTED_LIST = "list_contributed_projects", routes.USER_CONTRIBUTED_PROJECTS
    STARRED_LIST = "list_starred_projects", routes.USER_STARRED_PROJECTS
    FORK_LIST = "list_forks", routes.PROJECT_FORKS
    SHOW = "show_project", routes.PROJECT
    USERS = "list_project_users", routes.PROJECT_USERS
    GROUPS = "list_project_groups", routes.PROJECT_GROUPS
    SHARE_LOCATIONS = "list_share_locations", routes.PROJECT_SHARE_LOCATIONS
    STARRERS = "list_starrers", routes.PROJECT_STARRERS
    LANGUAGES = "show_languages", routes.PROJECT_LANGUAGES
    CREATE = "create_project", routes.PROJECT_CREATE
    CREATE_FOR_USER = "create_project_for_user", routes.PROJECT_CREATE_FOR_USER
    EDIT = "edit_project", routes.PROJECT_EDIT
    FORK = "fork_project", routes.PROJECT_FORK
    STAR = "star_project", routes.PROJECT_STAR
    UNSTAR = "unstar_project", routes.PROJECT_UNSTAR
    ARCHIVE = "archive_project", routes.PROJECT_ARCHIVE
    UNARCHIVE = "unarchive_project", routes.PROJECT_UNARCHIVE
    DELETE = "delete_project", routes.PROJECT_DELETE
    RESTORE = "restore_project", routes.PROJECT_RESTORE
    SHARE = "share_project", routes.PROJECT_SHARE
    UNSHARE = "unshare_project", routes.PROJECT_UNSHARE
    UPLOAD = "upload_file", routes.PROJECT_UPLOAD
    IMPORT_MEMBERS = "import_project_members", routes.PROJECT_IMPORT_MEMBERS


class OtherEndpoint(_Operation):
    """The operations on wikis and groups, and some that the client does not need."""

    PAGES = "list_pages", routes.WIKI_LIST
    PAGE = "show_page", routes.WIKI_GET
    PAGE_CREATE = "create_page", routes.WIKI_CREATE
    PAGE_EDIT = "edit_page", routes.WIKI_EDIT
    ATTACHMENT = "upload_attachment", routes.WIKI_UPLOAD
    COMMENTS = "list_comments", routes.COMMENTS
    COMMENT_CREATE = "create_comment", routes.COMMENT_CREATE
    GROUPS = "list_groups", routes.GROUPS
    SUBGROUPS = "list_subgroups", routes.GROUP_SUBGROUPS
    DESCENDANT_GROUPS = "list_descendant_groups", routes.GROUP_DESCENDANTS
    GROUP_PROJECTS = "list_group_projects", routes.GROUP_PROJECTS
    MEMBERS = "list_members", routes.MEMBERS
    ALL_MEMBERS = "list_all_members", routes.ALL_MEMBERS
    MEMBER_ADD = "add_member", routes.MEMBER_ADD
    MEMBER_EDIT = "edit_member", routes.MEMBER_EDIT
    USERS = "list_users", routes.USERS
    SEARCH = "search_everywhere", routes.SEARCH
    OWNER_SEARCH = "search_owner", routes.OWNER_SEARCH
    GROUP_CREATE = "create_group", routes.GROUP_CREATE
    BRANCHES = "list_branches", routes.PROJECT_BRANCHES
    EVENTS = "list_events", routes.PROJECT_EVENTS
    ISSUES = "list_issues", routes.PROJECT_ISSUES
    MERGE_REQUESTS = "list_merge_requests", routes.PROJECT_MERGE_REQUESTS
    LABELS = "list_labels", routes.PROJECT_LABELS
    CLUSTER_AGENTS = "list_cluster_agents", routes.PROJECT_CLUSTER_AGENTS
    TRANSFER = "transfer_project", routes.PROJECT_TRANSFER
    SET_CUSTOM_ATTRIBUTE = "set_custom_attribute", routes.PROJECT_SET_CUSTOM_ATTRIBUTE


AnyEndpoint = Endpoint | OtherEndpoint
"""Any of them; the client has a method for each of the first kind."""
ENDPOINTS: tuple[AnyEndpoint, ...] = (*Endpoint, *OtherEndpoint)

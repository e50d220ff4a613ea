"""Every parameter of the API: one table for client, command line, service.

Pure.  A row says what a parameter is called, what values it takes, which endpoints
accept it and what it is for; ``parameters_of`` gives one endpoint's.  Segments of the
path (``id``, ``user_id``, ``group_id``) belong to ``api.routes`` and are not in here.
Old names that the service still takes are rows of their own and lead to the new ones,
values included, through ``replace_deprecated``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field

from wikisync.api import routes
from wikisync.model import WRITABLE_FORMATS, Format

ParameterType = Literal[
    "boolean",
    "integer",
    "string",
    "datetime",
    "date",
    "integers",
    "strings",
    "hash",
    "file",
]
"""``integers`` and ``strings`` are arrays; ``hash`` has named ``keys``; a
``datetime`` is ISO 8601, a ``date`` is ``YYYY-MM-DD``."""

Role = Literal["anyone", "reporter", "owner", "admin"]
Tier = Literal["free", "premium", "ultimate"]


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


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter, alike on all the endpoints it names."""

    name: str
    type: ParameterType
    endpoints: frozenset[AnyEndpoint]
    help: str
    """One line for people."""
    choices: tuple[str, ...] = ()
    """Every value allowed, as written in a query; empty for any of the type."""
    default: str = ""
    """What the service takes when it is not sent; empty for nothing."""
    is_required: bool = False
    role: Role = "anyone"
    """Least role that the service listens to; it ignores the others."""
    choice_roles: Mapping[str, Role] = field(default_factory=dict)
    """Choices that only some may use."""
    tier: Tier = "free"
    since: str = ""
    """Version of the service that brought it."""
    is_deprecated: bool = False
    replaced_by: str = ""
    """New name of a deprecated one; empty when nothing here takes its place."""
    is_inverted: bool = False
    """Whether the new name means the opposite."""
    keys: tuple[Parameter, ...] = ()
    """Of a hash: what it may hold."""
    is_filter: bool = False
    """Whether it narrows, orders or pages a list or a look, and goes into the
    query."""


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

LISTS = frozenset(
    {
        Endpoint.LIST,
        Endpoint.USER_LIST,
        Endpoint.CONTRIBUTED_LIST,
        Endpoint.STARRED_LIST,
        Endpoint.FORK_LIST,
    }
)
"""Endpoints that answer with projects."""

GROUP_LISTS = frozenset(
    {
        OtherEndpoint.GROUPS,
        OtherEndpoint.SUBGROUPS,
        OtherEndpoint.DESCENDANT_GROUPS,
    }
)
"""Endpoints that answer with groups."""

PAGED: frozenset[AnyEndpoint] = (
    LISTS
    | GROUP_LISTS
    | {
        Endpoint.USERS,
        Endpoint.GROUPS,
        Endpoint.SHARE_LOCATIONS,
        Endpoint.STARRERS,
        OtherEndpoint.GROUP_PROJECTS,
        OtherEndpoint.MEMBERS,
        OtherEndpoint.BRANCHES,
        OtherEndpoint.EVENTS,
        OtherEndpoint.ISSUES,
        OtherEndpoint.MERGE_REQUESTS,
        OtherEndpoint.LABELS,
        OtherEndpoint.CLUSTER_AGENTS,
    }
)
"""Endpoints that answer page by page."""

KEYSET: frozenset[AnyEndpoint] = frozenset(
    {Endpoint.LIST, Endpoint.USER_LIST, OtherEndpoint.GROUP_PROJECTS}
)
"""Endpoints that can also be walked by id."""

# the projects of a group take the filters of those of a user
_LETTERS: Mapping[str, frozenset[AnyEndpoint]] = {
    "A": frozenset({Endpoint.LIST}),
    "B": frozenset({Endpoint.USER_LIST, OtherEndpoint.GROUP_PROJECTS}),
    "C": frozenset({Endpoint.CONTRIBUTED_LIST}),
    "D": frozenset({Endpoint.STARRED_LIST}),
    "E": frozenset({Endpoint.FORK_LIST}),
}
_COLUMNS = {
    "C": Endpoint.CREATE,
    "U": Endpoint.CREATE_FOR_USER,
    "E": Endpoint.EDIT,
}
ID_CHARS_MAX = 18
"""Longer numbers are no ids."""
VISIBILITIES = ("private", "internal", "public")
ACCESS_LEVELS = ("disabled", "private", "enabled")
OPEN_ACCESS_LEVELS = (*ACCESS_LEVELS, "public")
MEMBER_LEVELS = ("5", "10", "15", "20", "30", "40", "50")
SHARE_LEVELS = ("10", "15", "20", "30", "40", "50")
ORDERS = ("id", "name", "path", "created_at", "updated_at", "last_activity_at")
PAGE_FORMATS = tuple(markup for markup in Format if markup in WRITABLE_FORMATS)
ADMIN_ORDERS = ("repository_size", "storage_size", "packages_size", "wiki_size")


def _filter(
    name: str,
    type: ParameterType,  # noqa: A002 - the field's name
    letters: str,
    help: str,  # noqa: A002
    *,
    choices: tuple[str, ...] = (),
    default: str = "",
    role: Role = "anyone",
    tier: Tier = "free",
    since: str = "",
) -> Parameter:
    return Parameter(
        name=name,
        type=type,
        endpoints=frozenset().union(*(_LETTERS[letter] for letter in letters)),
        help=help,
        choices=choices,
        default=default,
        role=role,
        tier=tier,
        since=since,
        is_filter=True,
    )


FILTERS: tuple[Parameter, ...] = (
    _filter("archived", "boolean", "ABDE", "Only archived projects, or only others."),
    _filter("id_after", "integer", "AB", "Only ids above this one."),
    _filter("id_before", "integer", "AB", "Only ids below this one."),
    _filter("imported", "boolean", "A", "Only what you imported from elsewhere."),
    _filter(
        "include_hidden",
        "boolean",
        "A",
        "Hidden projects too.",
        role="admin",
        tier="premium",
    ),
    _filter(
        "include_pending_delete",
        "boolean",
        "A",
        "Projects that are being deleted too.",
        role="admin",
    ),
    _filter("last_activity_after", "datetime", "A", "Only those active since then."),
    _filter(
        "last_activity_before", "datetime", "A", "Only those not active since then."
    ),
    _filter("membership", "boolean", "ABDE", "Only projects you are a member of."),
    _filter(
        "min_access_level",
        "integer",
        "ABDE",
        "Only projects where your access level is at least this.",
        choices=MEMBER_LEVELS,
    ),
    Parameter(
        name="order_by",
        type="string",
        endpoints=frozenset({Endpoint.LIST}),
        help="What the list is ordered by; similarity needs a search.",
        choices=(*ORDERS, "similarity", *ADMIN_ORDERS),
        default="created_at",
        choice_roles=MappingProxyType(dict.fromkeys(ADMIN_ORDERS, "admin")),
        is_filter=True,
    ),
    _filter(
        "order_by",
        "string",
        "BCDE",
        "What the list is ordered by.",
        choices=ORDERS,
        default="created_at",
    ),
    _filter("owned", "boolean", "ABDE", "Only projects you own."),
    _filter(
        "repository_checksum_failed",
        "boolean",
        "A",
        "Only projects whose repository failed its check.",
        tier="premium",
    ),
    _filter(
        "wiki_checksum_failed",
        "boolean",
        "A",
        "Only projects whose wiki failed its check.",
        tier="premium",
    ),
    _filter(
        "repository_storage",
        "string",
        "A",
        "Only projects on this storage.",
        role="admin",
    ),
    _filter(
        "search_namespaces",
        "boolean",
        "A",
        "Search the names of groups and users above, too.",
        default="false",
    ),
    _filter("search", "string", "ABDE", "Words in the path, name or description."),
    _filter("simple", "boolean", "ABCDE", "Only the few fields that everyone sees."),
    _filter(
        "sort",
        "string",
        "ABCDE",
        "Direction of the order.",
        choices=("asc", "desc"),
        default="desc",
    ),
    _filter("starred", "boolean", "ABDE", "Only projects you starred."),
    _filter(
        "statistics",
        "boolean",
        "ABDE",
        "Sizes and counts with each project.",
        role="reporter",
    ),
    _filter("topic_id", "integer", "A", "Only projects with the topic of this id."),
    _filter("topic", "string", "A", "Only projects with all these topics (a,b)."),
    _filter(
        "updated_after",
        "datetime",
        "ABDE",
        "Only those updated since then; the list of all needs order_by=updated_at.",
        since="15.10",
    ),
    _filter(
        "updated_before",
        "datetime",
        "ABDE",
        "Only those not updated since then; the list of all needs order_by=updated_at.",
        since="15.10",
    ),
    _filter(
        "visibility",
        "string",
        "ABDE",
        "Only projects with this visibility.",
        choices=VISIBILITIES,
    ),
    _filter(
        "with_custom_attributes",
        "boolean",
        "ABDE",
        "Custom attributes with each project.",
        role="admin",
    ),
    _filter("with_issues_enabled", "boolean", "ABDE", "Only those with issues."),
    _filter(
        "with_merge_requests_enabled",
        "boolean",
        "ABDE",
        "Only those with merge requests.",
    ),
    _filter(
        "with_programming_language",
        "string",
        "AB",
        "Only projects with files in this language.",
    ),
    _filter(
        "custom_attributes",
        "hash",
        "A",
        "Only projects with these custom attributes (key=value).",
        role="admin",
    ),
    Parameter(
        name="page",
        type="integer",
        endpoints=PAGED,
        help="Which page of the list; the first is 1.",
        default="1",
        is_filter=True,
    ),
    Parameter(
        name="per_page",
        type="integer",
        endpoints=PAGED,
        help="Records on a page, at most 100.",
        default="20",
        is_filter=True,
    ),
    Parameter(
        name="pagination",
        type="string",
        endpoints=KEYSET,
        help="Walk by id instead of by page; needs order_by=id.",
        choices=("keyset", "legacy"),
        default="legacy",
        is_filter=True,
    ),
)
"""Filters, orders and paging of the lists of projects."""


def _look(
    name: str,
    type: ParameterType,  # noqa: A002
    endpoints: AnyEndpoint | tuple[AnyEndpoint, ...],
    help: str,  # noqa: A002
    *,
    choices: tuple[str, ...] = (),
    default: str = "",
    role: Role = "anyone",
) -> Parameter:
    places = endpoints if isinstance(endpoints, tuple) else (endpoints,)
    return Parameter(
        name=name,
        type=type,
        endpoints=frozenset(places),
        help=help,
        choices=choices,
        default=default,
        role=role,
        is_filter=True,
    )


READS: tuple[Parameter, ...] = (
    _look("license", "boolean", Endpoint.SHOW, "Which license the project has."),
    _look("statistics", "boolean", Endpoint.SHOW, "Sizes and counts.", role="reporter"),
    _look(
        "with_custom_attributes",
        "boolean",
        Endpoint.SHOW,
        "Custom attributes.",
        role="admin",
    ),
    _look(
        "search",
        "string",
        (
            Endpoint.USERS,
            Endpoint.GROUPS,
            Endpoint.SHARE_LOCATIONS,
            Endpoint.STARRERS,
            *GROUP_LISTS,
            OtherEndpoint.BRANCHES,
        ),
        "Only what has this in its name or path.",
    ),
    _look("skip_users", "integers", Endpoint.USERS, "Leave out users by id."),
    _look("skip_groups", "integers", Endpoint.GROUPS, "Leave out groups by id."),
    _look(
        "with_shared",
        "boolean",
        Endpoint.GROUPS,
        "Groups the project is shared with, too.",
        default="false",
    ),
    _look(
        "shared_min_access_level",
        "integer",
        Endpoint.GROUPS,
        "Of the shared groups, those with at least this access level.",
        choices=MEMBER_LEVELS,
    ),
    _look(
        "shared_visible_only",
        "boolean",
        Endpoint.GROUPS,
        "Of the shared groups, those you may see.",
    ),
    _look(
        "include_subgroups",
        "boolean",
        OtherEndpoint.GROUP_PROJECTS,
        "Projects of the groups below it, too.",
    ),
    _look(
        "action",
        "string",
        OtherEndpoint.EVENTS,
        "Only what was done in this way.",
        choices=("created", "updated", "destroyed", "pushed to"),
    ),
    _look("after", "date", OtherEndpoint.EVENTS, "Only after this day."),
    _look("before", "date", OtherEndpoint.EVENTS, "Only before this day."),
    _look(
        "sort",
        "string",
        OtherEndpoint.EVENTS,
        "The latest or the earliest first.",
        choices=("asc", "desc"),
        default="desc",
    ),
    _look("with_content", "boolean", OtherEndpoint.PAGES, "Each page with its text."),
    _look("render_html", "boolean", OtherEndpoint.PAGE, "The text as HTML."),
    _look("version", "string", OtherEndpoint.PAGE, "The page as of this commit."),
)
"""Parameters of reading one project or wiki and what belongs to it."""


def _attribute(
    name: str,
    type: ParameterType,  # noqa: A002
    columns: str,
    help: str,  # noqa: A002
    *,
    choices: tuple[str, ...] = (),
    default: str = "",
    is_required: bool = False,
    role: Role = "anyone",
    tier: Tier = "free",
    since: str = "",
    is_deprecated: bool = False,
    replaced_by: str = "",
    is_inverted: bool = False,
    keys: tuple[Parameter, ...] = (),
) -> Parameter:
    return Parameter(
        name=name,
        type=type,
        endpoints=frozenset(_COLUMNS[column] for column in columns),
        help=help,
        choices=choices,
        default=default,
        is_required=is_required,
        role=role,
        tier=tier,
        since=since,
        is_deprecated=is_deprecated or bool(replaced_by),
        replaced_by=replaced_by,
        is_inverted=is_inverted,
        keys=keys,
    )


def _access(name: str, feature: str, *, since: str = "") -> Parameter:
    return _attribute(
        name,
        "string",
        "CUE",
        f"Who may use {feature}.",
        choices=ACCESS_LEVELS,
        since=since,
    )


def _old_switch(name: str, replaced_by: str) -> Parameter:
    return _attribute(
        name,
        "boolean",
        "CUE",
        f"Old form of {replaced_by}.",
        replaced_by=replaced_by,
    )


def _key(
    name: str,
    type: ParameterType,  # noqa: A002
    help: str,  # noqa: A002
    *,
    replaced_by: str = "",
) -> Parameter:
    return _attribute(name, type, "CE", help, replaced_by=replaced_by)


ATTRIBUTES: tuple[Parameter, ...] = (
    _attribute("name", "string", "CE", "The name that people see."),
    _attribute("name", "string", "U", "The name that people see.", is_required=True),
    _attribute("path", "string", "CUE", "The last part of the address.", since=""),
    _attribute(
        "allow_merge_on_skipped_pipeline",
        "boolean",
        "CUE",
        "Merge also when jobs were skipped.",
    ),
    _attribute(
        "allow_pipeline_trigger_approve_deployment",
        "boolean",
        "E",
        "Who starts a pipeline may approve its deployment.",
        tier="premium",
    ),
    _access("analytics_access_level", "analytics"),
    _attribute(
        "approvals_before_merge",
        "integer",
        "CUE",
        "How many must approve a merge request.",
        tier="premium",
        is_deprecated=True,
    ),
    _attribute(
        "auto_cancel_pending_pipelines",
        "string",
        "CUE",
        "Stop older pipelines of a branch that still wait.",
        choices=("disabled", "enabled"),
    ),
    _attribute(
        "auto_devops_deploy_strategy",
        "string",
        "CUE",
        "How Auto DevOps deploys.",
        choices=("continuous", "manual", "timed_incremental"),
    ),
    _attribute("auto_devops_enabled", "boolean", "CUE", "Use Auto DevOps."),
    _attribute(
        "autoclose_referenced_issues",
        "boolean",
        "CUE",
        "A merge closes the issues that it names.",
    ),
    _attribute("avatar", "file", "CUE", "Picture of the project."),
    _attribute(
        "build_git_strategy",
        "string",
        "CUE",
        "How jobs get the repository.",
        choices=("fetch", "clone"),
        default="fetch",
    ),
    _attribute("build_timeout", "integer", "CUE", "Seconds that a job may run."),
    _access("builds_access_level", "jobs and pipelines"),
    _attribute("ci_config_path", "string", "CUE", "Path of the CI configuration."),
    _attribute("ci_default_git_depth", "integer", "E", "Commits in a shallow clone."),
    _attribute(
        "ci_forward_deployment_enabled",
        "boolean",
        "E",
        "Keep out deployments older than the latest.",
    ),
    _attribute(
        "ci_forward_deployment_rollback_allowed",
        "boolean",
        "E",
        "Let old deployment jobs run again to roll back.",
    ),
    _attribute(
        "ci_allow_fork_pipelines_to_run_in_parent_project",
        "boolean",
        "E",
        "Pipelines of forks may run here.",
        since="15.3",
    ),
    _attribute(
        "ci_separated_caches",
        "boolean",
        "E",
        "Protected branches have caches of their own.",
    ),
    _attribute(
        "ci_restrict_pipeline_cancellation_role",
        "string",
        "E",
        "Who may cancel pipelines.",
        choices=("developer", "maintainer", "no_one"),
        tier="premium",
        since="16.8",
    ),
    _attribute(
        "container_expiration_policy_attributes",
        "hash",
        "CE",
        "When old container images go.",
        keys=(
            _key("cadence", "string", "How often to clean up (1d, 7d, 1month)."),
            _key("keep_n", "integer", "How many tags of an image stay."),
            _key("older_than", "string", "How old a tag must be to go (7d)."),
            _key(
                "name_regex",
                "string",
                "Old form of name_regex_delete.",
                replaced_by="name_regex_delete",
            ),
            _key("name_regex_delete", "string", "Pattern of tags that go."),
            _key("name_regex_keep", "string", "Pattern of tags that stay."),
            _key("enabled", "boolean", "Whether to clean up at all."),
        ),
    ),
    _access("container_registry_access_level", "the container registry"),
    _old_switch("container_registry_enabled", "container_registry_access_level"),
    _attribute(
        "default_branch",
        "string",
        "CUE",
        "The branch shown first; on create it needs initialize_with_readme.",
    ),
    _attribute("description", "string", "CUE", "What the project is for."),
    _attribute(
        "emails_disabled",
        "boolean",
        "CUE",
        "Old form of emails_enabled, the other way round.",
        replaced_by="emails_enabled",
        is_inverted=True,
    ),
    _attribute("emails_enabled", "boolean", "CUE", "Whether mails are sent."),
    _attribute(
        "enforce_auth_checks_on_uploads",
        "boolean",
        "UE",
        "Uploaded files only for those who may see the project.",
    ),
    _access("environments_access_level", "environments"),
    _attribute(
        "external_authorization_classification_label",
        "string",
        "CUE",
        "Label for an external authorization service.",
        tier="premium",
    ),
    _access("feature_flags_access_level", "feature flags"),
    _access("forking_access_level", "forking"),
    _attribute("group_runners_enabled", "boolean", "CUE", "Use the group's runners."),
    _attribute(
        "group_with_project_templates_id",
        "integer",
        "CU",
        "Group with the custom templates; needs use_custom_template.",
        tier="premium",
    ),
    _attribute("import_url", "string", "CUE", "Repository to import from."),
    _access("infrastructure_access_level", "infrastructure"),
    _attribute(
        "initialize_with_readme",
        "boolean",
        "CU",
        "Begin with a repository that holds a README.md.",
        default="false",
    ),
    _attribute(
        "issue_branch_template",
        "string",
        "UE",
        "Pattern for branches made from issues.",
        since="15.6",
    ),
    _access("issues_access_level", "issues"),
    _old_switch("issues_enabled", "issues_access_level"),
    _attribute(
        "issues_template",
        "string",
        "E",
        "What a new issue's description begins with.",
        tier="premium",
    ),
    _old_switch("jobs_enabled", "builds_access_level"),
    _attribute(
        "keep_latest_artifact", "boolean", "E", "Keep the latest artifact of a branch."
    ),
    _attribute("lfs_enabled", "boolean", "CUE", "Use large file storage."),
    _attribute(
        "merge_commit_template",
        "string",
        "UE",
        "Pattern for messages of merge commits.",
        since="14.5",
    ),
    _attribute(
        "merge_method",
        "string",
        "CUE",
        "How merge requests are merged.",
        choices=("merge", "rebase_merge", "ff"),
    ),
    _attribute(
        "merge_pipelines_enabled",
        "boolean",
        "CE",
        "Run pipelines on the merged result.",
    ),
    _access("merge_requests_access_level", "merge requests"),
    _old_switch("merge_requests_enabled", "merge_requests_access_level"),
    _attribute(
        "merge_requests_template",
        "string",
        "E",
        "What a new merge request's description begins with.",
        tier="premium",
    ),
    _attribute("merge_trains_enabled", "boolean", "CE", "Use merge trains."),
    _attribute(
        "mirror",
        "boolean",
        "CUE",
        "Pull from import_url again and again.",
        tier="premium",
    ),
    _attribute(
        "mirror_trigger_builds",
        "boolean",
        "CUE",
        "What was pulled starts pipelines.",
        tier="premium",
    ),
    _attribute(
        "mirror_overwrites_diverged_branches",
        "boolean",
        "E",
        "Pulling replaces branches that went their own way.",
        tier="premium",
    ),
    _attribute(
        "mirror_user_id",
        "integer",
        "E",
        "User whom the pulled changes are credited to.",
        role="admin",
        tier="premium",
    ),
    _access("model_experiments_access_level", "model experiments"),
    _access("model_registry_access_level", "the model registry", since="16.7"),
    _access("monitor_access_level", "monitoring"),
    _attribute(
        "mr_default_target_self",
        "boolean",
        "E",
        "A fork's merge requests aim at itself, not at its source.",
    ),
    _attribute(
        "namespace_id", "integer", "CU", "Group or user to put it in; else your own."
    ),
    _attribute(
        "only_allow_merge_if_all_discussions_are_resolved",
        "boolean",
        "CUE",
        "Merge only when every discussion is resolved.",
    ),
    _attribute(
        "only_allow_merge_if_all_status_checks_passed",
        "boolean",
        "CUE",
        "Merge only when every status check passed.",
        default="false",
        tier="ultimate",
        since="15.5",
    ),
    _attribute(
        "only_allow_merge_if_pipeline_succeeds",
        "boolean",
        "CUE",
        "Merge only when the pipeline succeeded.",
    ),
    _attribute(
        "only_mirror_protected_branches",
        "boolean",
        "E",
        "Pull protected branches only.",
        tier="premium",
    ),
    _attribute("packages_enabled", "boolean", "CUE", "Use the package registry."),
    _attribute(
        "pages_access_level",
        "string",
        "CUE",
        "Who may see the project's website.",
        choices=OPEN_ACCESS_LEVELS,
    ),
    _attribute(
        "prevent_merge_without_external_issue",
        "boolean",
        "E",
        "Merge only with an issue from the external tracker.",
        tier="premium",
    ),
    _attribute(
        "printing_merge_request_link_enabled",
        "boolean",
        "CUE",
        "A push prints where to open a merge request.",
    ),
    _attribute("public_builds", "boolean", "CUE", "Others may look at jobs."),
    _access("releases_access_level", "releases"),
    _attribute(
        "remove_source_branch_after_merge",
        "boolean",
        "CUE",
        "A merge removes its source branch unless told otherwise.",
    ),
    _access("repository_access_level", "the repository"),
    _attribute(
        "repository_storage", "string", "CUE", "Which storage holds it.", role="admin"
    ),
    _attribute(
        "request_access_enabled", "boolean", "CUE", "Others may ask to be members."
    ),
    _attribute(
        "requirements_access_level",
        "string",
        "C",
        "Who may use requirements.",
        choices=ACCESS_LEVELS,
    ),
    _attribute(
        "requirements_access_level",
        "string",
        "UE",
        "Who may use requirements.",
        choices=OPEN_ACCESS_LEVELS,
    ),
    _attribute(
        "resolve_outdated_diff_discussions",
        "boolean",
        "CUE",
        "A push resolves discussions of lines that it changed.",
    ),
    _attribute(
        "restrict_user_defined_variables",
        "boolean",
        "E",
        "Only maintainers may give variables to a pipeline.",
    ),
    _access(
        "security_and_compliance_access_level",
        "security and compliance",
        since="14.9",
    ),
    _attribute("service_desk_enabled", "boolean", "E", "Take issues by mail."),
    _attribute("shared_runners_enabled", "boolean", "CUE", "Use the shared runners."),
    _attribute(
        "show_default_award_emojis",
        "boolean",
        "CUE",
        "Offer thumbs up and thumbs down.",
    ),
    _access("snippets_access_level", "snippets"),
    _old_switch("snippets_enabled", "snippets_access_level"),
    _attribute(
        "squash_commit_template",
        "string",
        "UE",
        "Pattern for messages of squashed commits.",
        since="14.6",
    ),
    _attribute(
        "squash_option",
        "string",
        "CUE",
        "Whether merges squash.",
        choices=("never", "always", "default_on", "default_off"),
    ),
    _attribute(
        "suggestion_commit_message",
        "string",
        "UE",
        "Message of commits that apply suggestions.",
    ),
    _attribute(
        "tag_list", "strings", "CUE", "Old form of topics.", replaced_by="topics"
    ),
    _attribute("template_name", "string", "CU", "Template to begin with."),
    _attribute(
        "template_project_id",
        "integer",
        "C",
        "Project that is the custom template.",
        tier="premium",
    ),
    _attribute(
        "topics",
        "strings",
        "CUE",
        "Topics; on edit they replace the old ones.",
        since="14.0",
    ),
    _attribute(
        "use_custom_template",
        "boolean",
        "CU",
        "Take the template from the instance or a group.",
        tier="premium",
    ),
    _attribute("visibility", "string", "CUE", "Who may see it.", choices=VISIBILITIES),
    _access("wiki_access_level", "the wiki"),
    _old_switch("wiki_enabled", "wiki_access_level"),
)
"""Attributes of a project on create and edit."""


def _act(
    name: str,
    type: ParameterType,  # noqa: A002
    endpoint: AnyEndpoint,
    help: str,  # noqa: A002
    *,
    choices: tuple[str, ...] = (),
    is_required: bool = False,
    tier: Tier = "free",
    since: str = "",
    replaced_by: str = "",
) -> Parameter:
    return Parameter(
        name=name,
        type=type,
        endpoints=frozenset({endpoint}),
        help=help,
        choices=choices,
        is_required=is_required,
        tier=tier,
        since=since,
        is_deprecated=bool(replaced_by),
        replaced_by=replaced_by,
    )


ACTS: tuple[Parameter, ...] = (
    _act("branches", "string", Endpoint.FORK, "Branches to fork; empty for all."),
    _act("description", "string", Endpoint.FORK, "The fork's description."),
    _act(
        "mr_default_target_self",
        "boolean",
        Endpoint.FORK,
        "Its merge requests aim at itself, not at its source.",
    ),
    _act("name", "string", Endpoint.FORK, "The fork's name."),
    _act("namespace_id", "integer", Endpoint.FORK, "Group or user, by id."),
    _act("namespace_path", "string", Endpoint.FORK, "Group or user, by path."),
    _act(
        "namespace",
        "string",
        Endpoint.FORK,
        "Old form of namespace_id and namespace_path.",
        replaced_by="namespace_path",
    ),
    _act("path", "string", Endpoint.FORK, "The last part of the fork's address."),
    _act(
        "visibility",
        "string",
        Endpoint.FORK,
        "Who may see the fork.",
        choices=VISIBILITIES,
    ),
    _act(
        "permanently_remove",
        "boolean",
        Endpoint.DELETE,
        "Remove at once what is already marked for deletion.",
        tier="premium",
        since="15.11",
    ),
    _act(
        "full_path",
        "string",
        Endpoint.DELETE,
        "The project's full path, as a proof for permanently_remove.",
        tier="premium",
        since="15.11",
    ),
    _act(
        "group_id", "integer", Endpoint.SHARE, "Group to share with.", is_required=True
    ),
    _act(
        "group_access",
        "integer",
        Endpoint.SHARE,
        "Access level that its members get.",
        choices=SHARE_LEVELS,
        is_required=True,
    ),
    _act("expires_at", "date", Endpoint.SHARE, "Last day of the share."),
    _act("file", "file", Endpoint.UPLOAD, "The file.", is_required=True),
    _act(
        "namespace",
        "string",
        OtherEndpoint.TRANSFER,
        "Group or user to move it to, by id or path.",
        is_required=True,
    ),
    _act(
        "value",
        "string",
        OtherEndpoint.SET_CUSTOM_ATTRIBUTE,
        "What the attribute says.",
        is_required=True,
    ),
)
"""Parameters of what else is done to a project."""


def _page_rows() -> Iterator[Parameter]:
    create, edit = OtherEndpoint.PAGE_CREATE, OtherEndpoint.PAGE_EDIT
    for place in (create, edit):
        is_new = place is create
        title = "The title, with directories before it."
        yield _act("title", "string", place, title, is_required=is_new)
        yield _act("content", "string", place, "The text.", is_required=is_new)
        yield _act("format", "string", place, "Its markup.", choices=PAGE_FORMATS)
        yield _act("message", "string", place, "Message of the commit.")
    known = "Commit that the page is thought to be of."
    yield _act("last_commit_sha", "string", edit, known)
    place = OtherEndpoint.ATTACHMENT
    yield _act("file", "file", place, "The file.", is_required=True)
    yield _act("branch", "string", place, "Branch to put it on; else the default one.")


PAGES: tuple[Parameter, ...] = tuple(_page_rows())
"""Parameters of changing a wiki."""

PARAMETERS: tuple[Parameter, ...] = (*FILTERS, *READS, *ATTRIBUTES, *ACTS, *PAGES)

ONE_OF: Mapping[AnyEndpoint, tuple[str, ...]] = MappingProxyType(
    {
        Endpoint.CREATE: ("name", "path"),
        OtherEndpoint.PAGE_EDIT: ("content", "title", "format"),
    }
)
"""Endpoints that demand at least one of some parameters."""

EXCLUSIVE: Mapping[AnyEndpoint, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        Endpoint.CREATE: (("import_url", "template_name", "template_project_id"),),
        Endpoint.CREATE_FOR_USER: (("import_url", "template_name"),),
    }
)
"""Parameters of which an endpoint takes one at most."""


PAID: frozenset[str] = frozenset(row.name for row in ATTRIBUTES if row.tier != "free")
"""Attributes that the free edition does not have."""


@cache
def parameters_of(
    endpoint: AnyEndpoint, *, is_free: bool = False
) -> Mapping[str, Parameter]:
    """What an endpoint accepts, by name, in the order of the table.

    Args:
        endpoint: which one.
        is_free: in the free edition, which knows nothing of the paid ones' rows.
    """
    found: dict[str, Parameter] = {}
    for parameter in PARAMETERS:
        if endpoint in parameter.endpoints and not (
            is_free and parameter.tier != "free"
        ):
            assert parameter.name not in found, "one row for a name and endpoint"
            found[parameter.name] = parameter
    return MappingProxyType(found)


class Replacement(Struct, frozen=True):
    """A deprecated parameter that was put into its new form."""

    old: str
    new: str


def replace_deprecated(
    endpoint: Endpoint, values: Mapping[str, object]
) -> tuple[dict[str, object], tuple[Replacement, ...]]:
    """The values under their present names.

    Where both an old and its new name are given, the new one wins.  Names that
    the endpoint does not know stay as they are.

    Args:
        endpoint: what the values are for.
        values: typed values: ``bool`` for a boolean, a mapping for a hash.

    Returns:
        The values to send, and what was replaced, for a warning each.
    """
    known = parameters_of(endpoint)
    kept: dict[str, object] = {}
    late: list[tuple[str, object]] = []
    replaced: list[Replacement] = []
    for name, value in values.items():
        parameter = known.get(name)
        if parameter is None or not parameter.replaced_by:
            kept[name] = value
            if parameter is not None and parameter.keys and isinstance(value, Mapping):
                kept[name], inner = _replace_keys(parameter, value)
                replaced += inner
            continue
        new, new_value = _present_form(parameter, value)
        late.append((new, new_value))
        replaced.append(Replacement(name, new))
    for name, value in late:
        kept.setdefault(name, value)
    return kept, tuple(replaced)


def _replace_keys(
    parameter: Parameter, value: Mapping[str, object]
) -> tuple[dict[str, object], list[Replacement]]:
    new_names = {key.name: key.replaced_by for key in parameter.keys}
    kept = {name: held for name, held in value.items() if not new_names.get(name)}
    replaced: list[Replacement] = []
    for name, held in value.items():
        if new := new_names.get(name):
            kept.setdefault(new, held)
            replaced.append(
                Replacement(f"{parameter.name}.{name}", f"{parameter.name}.{new}")
            )
    return kept, replaced


def _present_form(parameter: Parameter, value: object) -> tuple[str, object]:
    new = parameter.replaced_by
    if parameter.is_inverted:
        return new, None if value is None else not value
    if new.endswith("_access_level"):
        return new, None if value is None else "enabled" if value else "disabled"
    text = str(value)
    is_number = text.isascii() and text.isdigit() and len(text) <= ID_CHARS_MAX
    if parameter.name == "namespace" and is_number:
        return "namespace_id", int(text)
    return new, value

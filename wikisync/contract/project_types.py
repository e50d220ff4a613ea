"""What projects show and operations on them take, as types: made by `make types`.

Pure.  Every line comes from ``operations.toml``.  A record has the settings that an
edit changes; a group of parameters is a ``TypedDict``, and an operation takes those of
its groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Literal, Required, TypedDict

from wikisync.contract.schema import SimpleProject


class ProjectSettings(SimpleProject, frozen=True, kw_only=True):
    """The settings of a project."""

    merge_pipelines_enabled: bool | None = None
    merge_trains_enabled: bool | None = None
    allow_merge_on_skipped_pipeline: bool | None = None
    analytics_access_level: str | None = None
    approvals_before_merge: int | None = None
    auto_cancel_pending_pipelines: str | None = None
    auto_devops_deploy_strategy: str | None = None
    auto_devops_enabled: bool | None = None
    autoclose_referenced_issues: bool | None = None
    build_git_strategy: str | None = None
    build_timeout: int | None = None
    builds_access_level: str | None = None
    ci_config_path: str | None = None
    container_registry_access_level: str | None = None
    container_registry_enabled: bool | None = None
    emails_disabled: bool | None = None
    emails_enabled: bool | None = None
    environments_access_level: str | None = None
    external_authorization_classification_label: str | None = None
    feature_flags_access_level: str | None = None
    forking_access_level: str | None = None
    group_runners_enabled: bool | None = None
    import_url: str | None = None
    infrastructure_access_level: str | None = None
    issues_access_level: str | None = None
    issues_enabled: bool | None = None
    jobs_enabled: bool | None = None
    lfs_enabled: bool | None = None
    merge_method: str | None = None
    merge_requests_access_level: str | None = None
    merge_requests_enabled: bool | None = None
    mirror: bool | None = None
    mirror_trigger_builds: bool | None = None
    model_experiments_access_level: str | None = None
    model_registry_access_level: str | None = None
    monitor_access_level: str | None = None
    only_allow_merge_if_all_discussions_are_resolved: bool | None = None
    only_allow_merge_if_all_status_checks_passed: bool | None = None
    only_allow_merge_if_pipeline_succeeds: bool | None = None
    packages_enabled: bool | None = None
    pages_access_level: str | None = None
    printing_merge_request_link_enabled: bool | None = None
    releases_access_level: str | None = None
    remove_source_branch_after_merge: bool | None = None
    repository_access_level: str | None = None
    repository_storage: str | None = None
    request_access_enabled: bool | None = None
    resolve_outdated_diff_discussions: bool | None = None
    security_and_compliance_access_level: str | None = None
    shared_runners_enabled: bool | None = None
    show_default_award_emojis: bool | None = None
    snippets_access_level: str | None = None
    snippets_enabled: bool | None = None
    squash_option: str | None = None
    wiki_access_level: str | None = None
    wiki_enabled: bool | None = None
    enforce_auth_checks_on_uploads: bool | None = None
    issue_branch_template: str | None = None
    merge_commit_template: str | None = None
    requirements_access_level: str | None = None
    squash_commit_template: str | None = None
    suggestion_commit_message: str | None = None
    allow_pipeline_trigger_approve_deployment: bool | None = None
    ci_default_git_depth: int | None = None
    ci_forward_deployment_enabled: bool | None = None
    ci_forward_deployment_rollback_allowed: bool | None = None
    ci_allow_fork_pipelines_to_run_in_parent_project: bool | None = None
    ci_separated_caches: bool | None = None
    ci_restrict_pipeline_cancellation_role: str | None = None
    issues_template: str | None = None
    keep_latest_artifact: bool | None = None
    merge_requests_template: str | None = None
    mirror_overwrites_diverged_branches: bool | None = None
    mirror_user_id: int | None = None
    mr_default_target_self: bool | None = None
    only_mirror_protected_branches: bool | None = None
    prevent_merge_without_external_issue: bool | None = None
    restrict_user_defined_variables: bool | None = None
    service_desk_enabled: bool | None = None


class Paging(TypedDict, total=False):
    """The parameters of the group ``paging``."""

    page: int
    per_page: int


class EveryList(TypedDict, total=False):
    """The parameters of the group ``every_list``."""

    simple: bool
    sort: Literal["asc", "desc"]


class MostLists(TypedDict, total=False):
    """The parameters of the group ``most_lists``."""

    active: bool
    archived: bool
    membership: bool
    min_access_level: int
    owned: bool
    search: str
    starred: bool
    statistics: bool
    updated_after: datetime | str
    updated_before: datetime | str
    visibility: Literal["private", "internal", "public"]
    with_custom_attributes: bool
    with_issues_enabled: bool
    with_merge_requests_enabled: bool


class KeysetLists(TypedDict, total=False):
    """The parameters of the group ``keyset_lists``."""

    id_after: int
    id_before: int
    with_programming_language: str
    pagination: Literal["keyset", "legacy"]


class ProjectFilters(TypedDict, total=False):
    """The parameters of the group ``project_filters``."""

    imported: bool
    include_hidden: bool
    include_pending_delete: bool
    last_activity_after: datetime | str
    last_activity_before: datetime | str
    order_by: Literal[
        "id",
        "name",
        "path",
        "created_at",
        "updated_at",
        "last_activity_at",
        "similarity",
        "repository_size",
        "storage_size",
        "packages_size",
        "wiki_size",
    ]
    repository_checksum_failed: bool
    wiki_checksum_failed: bool
    repository_storage: str
    search_namespaces: bool
    topic_id: int
    topic: str
    custom_attributes: Mapping[str, str]


class PlainOrder(TypedDict, total=False):
    """The parameters of the group ``plain_order``."""

    order_by: Literal[
        "id", "name", "path", "created_at", "updated_at", "last_activity_at"
    ]


class ShowOptions(TypedDict, total=False):
    """The parameters of the group ``show_options``."""

    license: bool
    statistics: bool
    with_custom_attributes: bool


class Searched(TypedDict, total=False):
    """The parameters of the group ``searched``."""

    search: str


class MemberFilters(TypedDict, total=False):
    """The parameters of the group ``member_filters``."""

    skip_users: list[int] | tuple[int, ...]


class GroupFilters(TypedDict, total=False):
    """The parameters of the group ``group_filters``."""

    skip_groups: list[int] | tuple[int, ...]
    with_shared: bool
    shared_min_access_level: int
    shared_visible_only: bool


class ContainerExpirationPolicyAttributes(TypedDict, total=False):
    """The keys of ``container_expiration_policy_attributes``."""

    cadence: str
    keep_n: int
    older_than: str
    name_regex: str
    name_regex_delete: str
    name_regex_keep: str
    enabled: bool


class OwnOrEdited(TypedDict, total=False):
    """The parameters of the group ``own_or_edited``."""

    name: str
    container_expiration_policy_attributes: ContainerExpirationPolicyAttributes
    merge_pipelines_enabled: bool
    merge_trains_enabled: bool


class EveryAttribute(TypedDict, total=False):
    """The parameters of the group ``every_attribute``."""

    path: str
    allow_merge_on_skipped_pipeline: bool
    analytics_access_level: Literal["disabled", "private", "enabled"]
    approvals_before_merge: int
    auto_cancel_pending_pipelines: Literal["disabled", "enabled"]
    auto_devops_deploy_strategy: Literal["continuous", "manual", "timed_incremental"]
    auto_devops_enabled: bool
    autoclose_referenced_issues: bool
    avatar: Path | Literal[""]
    build_git_strategy: Literal["fetch", "clone"]
    build_timeout: int
    builds_access_level: Literal["disabled", "private", "enabled"]
    ci_config_path: str
    container_registry_access_level: Literal["disabled", "private", "enabled"]
    container_registry_enabled: bool
    default_branch: str
    description: str
    emails_disabled: bool
    emails_enabled: bool
    environments_access_level: Literal["disabled", "private", "enabled"]
    external_authorization_classification_label: str
    feature_flags_access_level: Literal["disabled", "private", "enabled"]
    forking_access_level: Literal["disabled", "private", "enabled"]
    group_runners_enabled: bool
    import_url: str
    infrastructure_access_level: Literal["disabled", "private", "enabled"]
    issues_access_level: Literal["disabled", "private", "enabled"]
    issues_enabled: bool
    jobs_enabled: bool
    lfs_enabled: bool
    merge_method: Literal["merge", "rebase_merge", "ff"]
    merge_requests_access_level: Literal["disabled", "private", "enabled"]
    merge_requests_enabled: bool
    mirror: bool
    mirror_trigger_builds: bool
    model_experiments_access_level: Literal["disabled", "private", "enabled"]
    model_registry_access_level: Literal["disabled", "private", "enabled"]
    monitor_access_level: Literal["disabled", "private", "enabled"]
    only_allow_merge_if_all_discussions_are_resolved: bool
    only_allow_merge_if_all_status_checks_passed: bool
    only_allow_merge_if_pipeline_succeeds: bool
    packages_enabled: bool
    pages_access_level: Literal["disabled", "private", "enabled", "public"]
    printing_merge_request_link_enabled: bool
    public_builds: bool
    releases_access_level: Literal["disabled", "private", "enabled"]
    remove_source_branch_after_merge: bool
    repository_access_level: Literal["disabled", "private", "enabled"]
    repository_storage: str
    request_access_enabled: bool
    resolve_outdated_diff_discussions: bool
    security_and_compliance_access_level: Literal["disabled", "private", "enabled"]
    shared_runners_enabled: bool
    show_default_award_emojis: bool
    snippets_access_level: Literal["disabled", "private", "enabled"]
    snippets_enabled: bool
    squash_option: Literal["never", "always", "default_on", "default_off"]
    tag_list: list[str] | tuple[str, ...]
    topics: list[str] | tuple[str, ...]
    visibility: Literal["private", "internal", "public"]
    wiki_access_level: Literal["disabled", "private", "enabled"]
    wiki_enabled: bool


class NewProject(TypedDict, total=False):
    """The parameters of the group ``new_project``."""

    group_with_project_templates_id: int
    initialize_with_readme: bool
    namespace_id: int
    template_name: str
    use_custom_template: bool


class CreateAttributes(TypedDict, total=False):
    """The parameters of the group ``create_attributes``."""

    requirements_access_level: Literal["disabled", "private", "enabled"]
    template_project_id: int


class ForUserOrEdited(TypedDict, total=False):
    """The parameters of the group ``for_user_or_edited``."""

    enforce_auth_checks_on_uploads: bool
    issue_branch_template: str
    merge_commit_template: str
    requirements_access_level: Literal["disabled", "private", "enabled", "public"]
    squash_commit_template: str
    suggestion_commit_message: str


class CreateForUserAttributes(TypedDict, total=False):
    """The parameters of the group ``create_for_user_attributes``."""

    name: Required[str]


class EditAttributes(TypedDict, total=False):
    """The parameters of the group ``edit_attributes``."""

    allow_pipeline_trigger_approve_deployment: bool
    ci_default_git_depth: int
    ci_forward_deployment_enabled: bool
    ci_forward_deployment_rollback_allowed: bool
    ci_allow_fork_pipelines_to_run_in_parent_project: bool
    ci_separated_caches: bool
    ci_restrict_pipeline_cancellation_role: Literal["developer", "maintainer", "no_one"]
    issues_template: str
    keep_latest_artifact: bool
    merge_requests_template: str
    mirror_overwrites_diverged_branches: bool
    mirror_user_id: int
    mr_default_target_self: bool
    only_mirror_protected_branches: bool
    prevent_merge_without_external_issue: bool
    restrict_user_defined_variables: bool
    service_desk_enabled: bool


class ForkAttributes(TypedDict, total=False):
    """The parameters of the group ``fork_attributes``."""

    branches: str
    description: str
    mr_default_target_self: bool
    name: str
    namespace_id: int
    namespace_path: str
    namespace: int | str
    path: str
    visibility: Literal["private", "internal", "public"]


class DeleteOptions(TypedDict, total=False):
    """The parameters of the group ``delete_options``."""

    permanently_remove: bool
    full_path: str


class ShareOptions(TypedDict, total=False):
    """The parameters of the group ``share_options``."""

    group_id: Required[int]
    group_access: Required[int]
    expires_at: date | str


class ListProjectsArguments(
    Paging, EveryList, MostLists, KeysetLists, ProjectFilters, total=False
):
    """What ``list_projects`` takes."""


class ListUserProjectsArguments(
    Paging, EveryList, MostLists, KeysetLists, PlainOrder, total=False
):
    """What ``list_user_projects`` takes."""


class ListContributedProjectsArguments(Paging, EveryList, PlainOrder, total=False):
    """What ``list_contributed_projects`` takes."""


class ListStarredProjectsArguments(
    Paging, EveryList, MostLists, PlainOrder, total=False
):
    """What ``list_starred_projects`` takes."""


class ListForksArguments(Paging, EveryList, MostLists, PlainOrder, total=False):
    """What ``list_forks`` takes."""


class ShowProjectArguments(ShowOptions, total=False):
    """What ``show_project`` takes."""


class ListProjectUsersArguments(Paging, Searched, MemberFilters, total=False):
    """What ``list_project_users`` takes."""


class ListProjectGroupsArguments(Paging, Searched, GroupFilters, total=False):
    """What ``list_project_groups`` takes."""


class ListShareLocationsArguments(Paging, Searched, total=False):
    """What ``list_share_locations`` takes."""


class ListStarrersArguments(Paging, Searched, total=False):
    """What ``list_starrers`` takes."""


class CreateProjectArguments(
    OwnOrEdited, EveryAttribute, NewProject, CreateAttributes, total=False
):
    """What ``create_project`` takes."""


class CreateProjectForUserArguments(
    EveryAttribute, NewProject, ForUserOrEdited, CreateForUserAttributes, total=False
):
    """What ``create_project_for_user`` takes."""


class EditProjectArguments(
    OwnOrEdited, EveryAttribute, ForUserOrEdited, EditAttributes, total=False
):
    """What ``edit_project`` takes."""


class ForkProjectArguments(ForkAttributes, total=False):
    """What ``fork_project`` takes."""


class DeleteProjectArguments(DeleteOptions, total=False):
    """What ``delete_project`` takes."""


class ShareProjectArguments(ShareOptions, total=False):
    """What ``share_project`` takes."""

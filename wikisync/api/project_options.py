"""Keyword arguments of ``projects``: the table of parameters as types.

Pure.  ``api.parameters`` is the table; a test holds these types to it, name by
name.  They are for type checkers and editors: what is really sent is checked
against the table by ``values``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Literal, TypedDict

AccessLevel = Literal["disabled", "private", "enabled"]
OpenAccessLevel = Literal["disabled", "private", "enabled", "public"]
Visibility = Literal["private", "internal", "public"]
Order = Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at"]
Sort = Literal["asc", "desc"]
Pagination = Literal["keyset", "legacy"]
AnyOrder = Literal[
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
AutoCancelPendingPipelines = Literal["disabled", "enabled"]
AutoDevopsDeployStrategy = Literal["continuous", "manual", "timed_incremental"]
BuildGitStrategy = Literal["fetch", "clone"]
MergeMethod = Literal["merge", "rebase_merge", "ff"]
SquashOption = Literal["never", "always", "default_on", "default_off"]
CiRestrictPipelineCancellationRole = Literal["developer", "maintainer", "no_one"]


class ExpirationPolicy(TypedDict, total=False):
    """When images in the container registry expire."""

    cadence: str
    keep_n: int
    older_than: str
    name_regex: str
    name_regex_delete: str
    name_regex_keep: str
    enabled: bool


class _EveryList(TypedDict, total=False):
    """What all five lists of projects take."""

    simple: bool
    sort: Sort
    page: int
    per_page: int


class ContributedFilters(_EveryList, total=False):
    """``GET /users/:user_id/contributed_projects``."""

    order_by: Order


class _MostLists(_EveryList, total=False):
    """What most lists of projects take."""

    archived: bool
    membership: bool
    min_access_level: int
    owned: bool
    search: str
    starred: bool
    statistics: bool
    updated_after: str | datetime
    updated_before: str | datetime
    visibility: Visibility
    with_custom_attributes: bool
    with_issues_enabled: bool
    with_merge_requests_enabled: bool


class StarredFilters(_MostLists, total=False):
    """``GET /users/:user_id/starred_projects``."""

    order_by: Order


class ForkFilters(_MostLists, total=False):
    """``GET /projects/:id/forks``."""

    order_by: Order


class _KeysetLists(_MostLists, total=False):
    """What the lists that can be walked by id take."""

    id_after: int
    id_before: int
    with_programming_language: str
    pagination: Pagination


class UserFilters(_KeysetLists, total=False):
    """``GET /users/:user_id/projects``."""

    order_by: Order


class ProjectFilters(_KeysetLists, total=False):
    """``GET /projects``."""

    imported: bool
    include_hidden: bool
    include_pending_delete: bool
    last_activity_after: str | datetime
    last_activity_before: str | datetime
    repository_checksum_failed: bool
    wiki_checksum_failed: bool
    repository_storage: str
    search_namespaces: bool
    topic_id: int
    topic: str
    custom_attributes: Mapping[str, str]
    order_by: AnyOrder


class ShowOptions(TypedDict, total=False):
    """``GET /projects/:id``."""

    license: bool
    statistics: bool
    with_custom_attributes: bool


class MemberFilters(TypedDict, total=False):
    """``GET /projects/:id/users``."""

    page: int
    per_page: int
    search: str
    skip_users: list[int] | tuple[int, ...]


class GroupFilters(TypedDict, total=False):
    """``GET /projects/:id/groups``."""

    page: int
    per_page: int
    search: str
    skip_groups: list[int] | tuple[int, ...]
    with_shared: bool
    shared_min_access_level: int
    shared_visible_only: bool


class ShareLocationFilters(TypedDict, total=False):
    """``GET /projects/:id/share_locations``."""

    page: int
    per_page: int
    search: str


class StarrerFilters(TypedDict, total=False):
    """``GET /projects/:id/starrers``."""

    page: int
    per_page: int
    search: str


class _EveryAttribute(TypedDict, total=False):
    """What create, create for a user and edit take."""

    name: str
    path: str
    allow_merge_on_skipped_pipeline: bool
    analytics_access_level: AccessLevel
    approvals_before_merge: int
    auto_cancel_pending_pipelines: AutoCancelPendingPipelines
    auto_devops_deploy_strategy: AutoDevopsDeployStrategy
    auto_devops_enabled: bool
    autoclose_referenced_issues: bool
    avatar: Path | Literal[""]
    build_git_strategy: BuildGitStrategy
    build_timeout: int
    builds_access_level: AccessLevel
    ci_config_path: str
    container_registry_access_level: AccessLevel
    container_registry_enabled: bool
    default_branch: str
    description: str
    emails_disabled: bool
    emails_enabled: bool
    environments_access_level: AccessLevel
    external_authorization_classification_label: str
    feature_flags_access_level: AccessLevel
    forking_access_level: AccessLevel
    group_runners_enabled: bool
    import_url: str
    infrastructure_access_level: AccessLevel
    issues_access_level: AccessLevel
    issues_enabled: bool
    jobs_enabled: bool
    lfs_enabled: bool
    merge_method: MergeMethod
    merge_requests_access_level: AccessLevel
    merge_requests_enabled: bool
    mirror: bool
    mirror_trigger_builds: bool
    model_experiments_access_level: AccessLevel
    model_registry_access_level: AccessLevel
    monitor_access_level: AccessLevel
    only_allow_merge_if_all_discussions_are_resolved: bool
    only_allow_merge_if_all_status_checks_passed: bool
    only_allow_merge_if_pipeline_succeeds: bool
    packages_enabled: bool
    pages_access_level: OpenAccessLevel
    printing_merge_request_link_enabled: bool
    public_builds: bool
    releases_access_level: AccessLevel
    remove_source_branch_after_merge: bool
    repository_access_level: AccessLevel
    repository_storage: str
    request_access_enabled: bool
    resolve_outdated_diff_discussions: bool
    security_and_compliance_access_level: AccessLevel
    shared_runners_enabled: bool
    show_default_award_emojis: bool
    snippets_access_level: AccessLevel
    snippets_enabled: bool
    squash_option: SquashOption
    tag_list: list[str] | tuple[str, ...]
    topics: list[str] | tuple[str, ...]
    visibility: Visibility
    wiki_access_level: AccessLevel
    wiki_enabled: bool


class CreateAttributes(_EveryAttribute, total=False):
    """``POST /projects``."""

    container_expiration_policy_attributes: ExpirationPolicy
    group_with_project_templates_id: int
    initialize_with_readme: bool
    merge_pipelines_enabled: bool
    merge_trains_enabled: bool
    namespace_id: int
    requirements_access_level: AccessLevel
    template_name: str
    template_project_id: int
    use_custom_template: bool


class CreateForUserAttributes(_EveryAttribute, total=False):
    """``POST /projects/user/:user_id``."""

    enforce_auth_checks_on_uploads: bool
    group_with_project_templates_id: int
    initialize_with_readme: bool
    issue_branch_template: str
    merge_commit_template: str
    namespace_id: int
    requirements_access_level: OpenAccessLevel
    squash_commit_template: str
    suggestion_commit_message: str
    template_name: str
    use_custom_template: bool


class EditAttributes(_EveryAttribute, total=False):
    """``PUT /projects/:id``."""

    allow_pipeline_trigger_approve_deployment: bool
    ci_default_git_depth: int
    ci_forward_deployment_enabled: bool
    ci_forward_deployment_rollback_allowed: bool
    ci_allow_fork_pipelines_to_run_in_parent_project: bool
    ci_separated_caches: bool
    ci_restrict_pipeline_cancellation_role: CiRestrictPipelineCancellationRole
    container_expiration_policy_attributes: ExpirationPolicy
    enforce_auth_checks_on_uploads: bool
    issue_branch_template: str
    issues_template: str
    keep_latest_artifact: bool
    merge_commit_template: str
    merge_pipelines_enabled: bool
    merge_requests_template: str
    merge_trains_enabled: bool
    mirror_overwrites_diverged_branches: bool
    mirror_user_id: int
    mr_default_target_self: bool
    only_mirror_protected_branches: bool
    prevent_merge_without_external_issue: bool
    requirements_access_level: OpenAccessLevel
    restrict_user_defined_variables: bool
    service_desk_enabled: bool
    squash_commit_template: str
    suggestion_commit_message: str


class ForkAttributes(TypedDict, total=False):
    """``POST /projects/:id/fork``."""

    branches: str
    description: str
    mr_default_target_self: bool
    name: str
    namespace_id: int
    namespace_path: str
    namespace: int | str
    path: str
    visibility: Visibility


class DeleteOptions(TypedDict, total=False):
    """``DELETE /projects/:id``."""

    permanently_remove: bool
    full_path: str


class ShareOptions(TypedDict, total=False):
    """``POST /projects/:id/share``."""

    group_id: int
    group_access: int
    expires_at: str | date

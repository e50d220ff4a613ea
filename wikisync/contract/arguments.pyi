"""Written by ``make stubs``."""
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

class ListProjects(TypedDict, total=False):
    page: int | None
    per_page: int | None
    simple: bool | None
    sort: Literal["asc", "desc"] | None
    active: bool | None
    archived: bool | None
    membership: bool | None
    min_access_level: Literal[5, 10, 15, 20, 30, 40, 50] | None
    owned: bool | None
    search: str | None
    starred: bool | None
    statistics: bool | None
    updated_after: str | None
    updated_before: str | None
    visibility: Literal["private", "internal", "public"] | None
    with_custom_attributes: bool | None
    with_issues_enabled: bool | None
    with_merge_requests_enabled: bool | None
    id_after: int | None
    id_before: int | None
    with_programming_language: str | None
    pagination: Literal["keyset", "legacy"] | None
    imported: bool | None
    include_hidden: bool | None
    include_pending_delete: bool | None
    last_activity_after: str | None
    last_activity_before: str | None
    order_by: Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at", "similarity", "repository_size", "storage_size", "packages_size", "wiki_size"] | None
    repository_checksum_failed: bool | None
    wiki_checksum_failed: bool | None
    repository_storage: str | None
    search_namespaces: bool | None
    topic_id: int | None
    topic: str | None
    custom_attributes: Mapping[str, object] | None
    also: Mapping[str, object]

class ListUserProjects(TypedDict, total=False):
    page: int | None
    per_page: int | None
    simple: bool | None
    sort: Literal["asc", "desc"] | None
    active: bool | None
    archived: bool | None
    membership: bool | None
    min_access_level: Literal[5, 10, 15, 20, 30, 40, 50] | None
    owned: bool | None
    search: str | None
    starred: bool | None
    statistics: bool | None
    updated_after: str | None
    updated_before: str | None
    visibility: Literal["private", "internal", "public"] | None
    with_custom_attributes: bool | None
    with_issues_enabled: bool | None
    with_merge_requests_enabled: bool | None
    id_after: int | None
    id_before: int | None
    with_programming_language: str | None
    pagination: Literal["keyset", "legacy"] | None
    order_by: Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at"] | None
    also: Mapping[str, object]

class ListContributedProjects(TypedDict, total=False):
    page: int | None
    per_page: int | None
    simple: bool | None
    sort: Literal["asc", "desc"] | None
    order_by: Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at"] | None
    also: Mapping[str, object]

class ListStarredProjects(TypedDict, total=False):
    page: int | None
    per_page: int | None
    simple: bool | None
    sort: Literal["asc", "desc"] | None
    active: bool | None
    archived: bool | None
    membership: bool | None
    min_access_level: Literal[5, 10, 15, 20, 30, 40, 50] | None
    owned: bool | None
    search: str | None
    starred: bool | None
    statistics: bool | None
    updated_after: str | None
    updated_before: str | None
    visibility: Literal["private", "internal", "public"] | None
    with_custom_attributes: bool | None
    with_issues_enabled: bool | None
    with_merge_requests_enabled: bool | None
    order_by: Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at"] | None
    also: Mapping[str, object]

class ListForks(TypedDict, total=False):
    page: int | None
    per_page: int | None
    simple: bool | None
    sort: Literal["asc", "desc"] | None
    active: bool | None
    archived: bool | None
    membership: bool | None
    min_access_level: Literal[5, 10, 15, 20, 30, 40, 50] | None
    owned: bool | None
    search: str | None
    starred: bool | None
    statistics: bool | None
    updated_after: str | None
    updated_before: str | None
    visibility: Literal["private", "internal", "public"] | None
    with_custom_attributes: bool | None
    with_issues_enabled: bool | None
    with_merge_requests_enabled: bool | None
    order_by: Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at"] | None
    also: Mapping[str, object]

class ListProjectUsers(TypedDict, total=False):
    page: int | None
    per_page: int | None
    search: str | None
    skip_users: Sequence[int] | None
    also: Mapping[str, object]

class ListProjectGroups(TypedDict, total=False):
    page: int | None
    per_page: int | None
    search: str | None
    skip_groups: Sequence[int] | None
    with_shared: bool | None
    shared_min_access_level: Literal[5, 10, 15, 20, 30, 40, 50] | None
    shared_visible_only: bool | None
    also: Mapping[str, object]

class ListShareLocations(TypedDict, total=False):
    page: int | None
    per_page: int | None
    search: str | None
    also: Mapping[str, object]

class ListStarrers(TypedDict, total=False):
    page: int | None
    per_page: int | None
    search: str | None
    also: Mapping[str, object]

class ShowProject(TypedDict, total=False):
    license: bool | None
    statistics: bool | None
    with_custom_attributes: bool | None
    also: Mapping[str, object]

class CreateProject(TypedDict, total=False):
    name: str | None
    container_expiration_policy_attributes: Mapping[str, object] | None
    merge_pipelines_enabled: bool | None
    merge_trains_enabled: bool | None
    path: str | None
    allow_merge_on_skipped_pipeline: bool | None
    analytics_access_level: Literal["disabled", "private", "enabled"] | None
    approvals_before_merge: int | None
    auto_cancel_pending_pipelines: Literal["disabled", "enabled"] | None
    auto_devops_deploy_strategy: Literal["continuous", "manual", "timed_incremental"] | None
    auto_devops_enabled: bool | None
    autoclose_referenced_issues: bool | None
    avatar: Path | str | None
    build_git_strategy: Literal["fetch", "clone"] | None
    build_timeout: int | None
    builds_access_level: Literal["disabled", "private", "enabled"] | None
    ci_config_path: str | None
    container_registry_access_level: Literal["disabled", "private", "enabled"] | None
    container_registry_enabled: bool | None
    default_branch: str | None
    description: str | None
    emails_disabled: bool | None
    emails_enabled: bool | None
    environments_access_level: Literal["disabled", "private", "enabled"] | None
    external_authorization_classification_label: str | None
    feature_flags_access_level: Literal["disabled", "private", "enabled"] | None
    forking_access_level: Literal["disabled", "private", "enabled"] | None
    group_runners_enabled: bool | None
    import_url: str | None
    infrastructure_access_level: Literal["disabled", "private", "enabled"] | None
    issues_access_level: Literal["disabled", "private", "enabled"] | None
    issues_enabled: bool | None
    jobs_enabled: bool | None
    lfs_enabled: bool | None
    merge_method: Literal["merge", "rebase_merge", "ff"] | None
    merge_requests_access_level: Literal["disabled", "private", "enabled"] | None
    merge_requests_enabled: bool | None
    mirror: bool | None
    mirror_trigger_builds: bool | None
    model_experiments_access_level: Literal["disabled", "private", "enabled"] | None
    model_registry_access_level: Literal["disabled", "private", "enabled"] | None
    monitor_access_level: Literal["disabled", "private", "enabled"] | None
    only_allow_merge_if_all_discussions_are_resolved: bool | None
    only_allow_merge_if_all_status_checks_passed: bool | None
    only_allow_merge_if_pipeline_succeeds: bool | None
    packages_enabled: bool | None
    pages_access_level: Literal["disabled", "private", "enabled", "public"] | None
    printing_merge_request_link_enabled: bool | None
    public_builds: bool | None
    releases_access_level: Literal["disabled", "private", "enabled"] | None
    remove_source_branch_after_merge: bool | None
    repository_access_level: Literal["disabled", "private", "enabled"] | None
    repository_storage: str | None
    request_access_enabled: bool | None
    resolve_outdated_diff_discussions: bool | None
    security_and_compliance_access_level: Literal["disabled", "private", "enabled"] | None
    shared_runners_enabled: bool | None
    show_default_award_emojis: bool | None
    snippets_access_level: Literal["disabled", "private", "enabled"] | None
    snippets_enabled: bool | None
    squash_option: Literal["never", "always", "default_on", "default_off"] | None
    tag_list: Sequence[str] | None
    topics: Sequence[str] | None
    visibility: Literal["private", "internal", "public"] | None
    wiki_access_level: Literal["disabled", "private", "enabled"] | None
    wiki_enabled: bool | None
    group_with_project_templates_id: int | None
    initialize_with_readme: bool | None
    namespace_id: int | None
    template_name: str | None
    use_custom_template: bool | None
    requirements_access_level: Literal["disabled", "private", "enabled"] | None
    template_project_id: int | None
    also: Mapping[str, object]

class CreateProjectForUser(TypedDict, total=False):
    path: str | None
    allow_merge_on_skipped_pipeline: bool | None
    analytics_access_level: Literal["disabled", "private", "enabled"] | None
    approvals_before_merge: int | None
    auto_cancel_pending_pipelines: Literal["disabled", "enabled"] | None
    auto_devops_deploy_strategy: Literal["continuous", "manual", "timed_incremental"] | None
    auto_devops_enabled: bool | None
    autoclose_referenced_issues: bool | None
    avatar: Path | str | None
    build_git_strategy: Literal["fetch", "clone"] | None
    build_timeout: int | None
    builds_access_level: Literal["disabled", "private", "enabled"] | None
    ci_config_path: str | None
    container_registry_access_level: Literal["disabled", "private", "enabled"] | None
    container_registry_enabled: bool | None
    default_branch: str | None
    description: str | None
    emails_disabled: bool | None
    emails_enabled: bool | None
    environments_access_level: Literal["disabled", "private", "enabled"] | None
    external_authorization_classification_label: str | None
    feature_flags_access_level: Literal["disabled", "private", "enabled"] | None
    forking_access_level: Literal["disabled", "private", "enabled"] | None
    group_runners_enabled: bool | None
    import_url: str | None
    infrastructure_access_level: Literal["disabled", "private", "enabled"] | None
    issues_access_level: Literal["disabled", "private", "enabled"] | None
    issues_enabled: bool | None
    jobs_enabled: bool | None
    lfs_enabled: bool | None
    merge_method: Literal["merge", "rebase_merge", "ff"] | None
    merge_requests_access_level: Literal["disabled", "private", "enabled"] | None
    merge_requests_enabled: bool | None
    mirror: bool | None
    mirror_trigger_builds: bool | None
    model_experiments_access_level: Literal["disabled", "private", "enabled"] | None
    model_registry_access_level: Literal["disabled", "private", "enabled"] | None
    monitor_access_level: Literal["disabled", "private", "enabled"] | None
    only_allow_merge_if_all_discussions_are_resolved: bool | None
    only_allow_merge_if_all_status_checks_passed: bool | None
    only_allow_merge_if_pipeline_succeeds: bool | None
    packages_enabled: bool | None
    pages_access_level: Literal["disabled", "private", "enabled", "public"] | None
    printing_merge_request_link_enabled: bool | None
    public_builds: bool | None
    releases_access_level: Literal["disabled", "private", "enabled"] | None
    remove_source_branch_after_merge: bool | None
    repository_access_level: Literal["disabled", "private", "enabled"] | None
    repository_storage: str | None
    request_access_enabled: bool | None
    resolve_outdated_diff_discussions: bool | None
    security_and_compliance_access_level: Literal["disabled", "private", "enabled"] | None
    shared_runners_enabled: bool | None
    show_default_award_emojis: bool | None
    snippets_access_level: Literal["disabled", "private", "enabled"] | None
    snippets_enabled: bool | None
    squash_option: Literal["never", "always", "default_on", "default_off"] | None
    tag_list: Sequence[str] | None
    topics: Sequence[str] | None
    visibility: Literal["private", "internal", "public"] | None
    wiki_access_level: Literal["disabled", "private", "enabled"] | None
    wiki_enabled: bool | None
    group_with_project_templates_id: int | None
    initialize_with_readme: bool | None
    namespace_id: int | None
    template_name: str | None
    use_custom_template: bool | None
    enforce_auth_checks_on_uploads: bool | None
    issue_branch_template: str | None
    merge_commit_template: str | None
    requirements_access_level: Literal["disabled", "private", "enabled", "public"] | None
    squash_commit_template: str | None
    suggestion_commit_message: str | None
    name: str | None
    also: Mapping[str, object]

class EditProject(TypedDict, total=False):
    name: str | None
    container_expiration_policy_attributes: Mapping[str, object] | None
    merge_pipelines_enabled: bool | None
    merge_trains_enabled: bool | None
    path: str | None
    allow_merge_on_skipped_pipeline: bool | None
    analytics_access_level: Literal["disabled", "private", "enabled"] | None
    approvals_before_merge: int | None
    auto_cancel_pending_pipelines: Literal["disabled", "enabled"] | None
    auto_devops_deploy_strategy: Literal["continuous", "manual", "timed_incremental"] | None
    auto_devops_enabled: bool | None
    autoclose_referenced_issues: bool | None
    avatar: Path | str | None
    build_git_strategy: Literal["fetch", "clone"] | None
    build_timeout: int | None
    builds_access_level: Literal["disabled", "private", "enabled"] | None
    ci_config_path: str | None
    container_registry_access_level: Literal["disabled", "private", "enabled"] | None
    container_registry_enabled: bool | None
    default_branch: str | None
    description: str | None
    emails_disabled: bool | None
    emails_enabled: bool | None
    environments_access_level: Literal["disabled", "private", "enabled"] | None
    external_authorization_classification_label: str | None
    feature_flags_access_level: Literal["disabled", "private", "enabled"] | None
    forking_access_level: Literal["disabled", "private", "enabled"] | None
    group_runners_enabled: bool | None
    import_url: str | None
    infrastructure_access_level: Literal["disabled", "private", "enabled"] | None
    issues_access_level: Literal["disabled", "private", "enabled"] | None
    issues_enabled: bool | None
    jobs_enabled: bool | None
    lfs_enabled: bool | None
    merge_method: Literal["merge", "rebase_merge", "ff"] | None
    merge_requests_access_level: Literal["disabled", "private", "enabled"] | None
    merge_requests_enabled: bool | None
    mirror: bool | None
    mirror_trigger_builds: bool | None
    model_experiments_access_level: Literal["disabled", "private", "enabled"] | None
    model_registry_access_level: Literal["disabled", "private", "enabled"] | None
    monitor_access_level: Literal["disabled", "private", "enabled"] | None
    only_allow_merge_if_all_discussions_are_resolved: bool | None
    only_allow_merge_if_all_status_checks_passed: bool | None
    only_allow_merge_if_pipeline_succeeds: bool | None
    packages_enabled: bool | None
    pages_access_level: Literal["disabled", "private", "enabled", "public"] | None
    printing_merge_request_link_enabled: bool | None
    public_builds: bool | None
    releases_access_level: Literal["disabled", "private", "enabled"] | None
    remove_source_branch_after_merge: bool | None
    repository_access_level: Literal["disabled", "private", "enabled"] | None
    repository_storage: str | None
    request_access_enabled: bool | None
    resolve_outdated_diff_discussions: bool | None
    security_and_compliance_access_level: Literal["disabled", "private", "enabled"] | None
    shared_runners_enabled: bool | None
    show_default_award_emojis: bool | None
    snippets_access_level: Literal["disabled", "private", "enabled"] | None
    snippets_enabled: bool | None
    squash_option: Literal["never", "always", "default_on", "default_off"] | None
    tag_list: Sequence[str] | None
    topics: Sequence[str] | None
    visibility: Literal["private", "internal", "public"] | None
    wiki_access_level: Literal["disabled", "private", "enabled"] | None
    wiki_enabled: bool | None
    enforce_auth_checks_on_uploads: bool | None
    issue_branch_template: str | None
    merge_commit_template: str | None
    requirements_access_level: Literal["disabled", "private", "enabled", "public"] | None
    squash_commit_template: str | None
    suggestion_commit_message: str | None
    allow_pipeline_trigger_approve_deployment: bool | None
    ci_default_git_depth: int | None
    ci_forward_deployment_enabled: bool | None
    ci_forward_deployment_rollback_allowed: bool | None
    ci_allow_fork_pipelines_to_run_in_parent_project: bool | None
    ci_separated_caches: bool | None
    ci_restrict_pipeline_cancellation_role: Literal["developer", "maintainer", "no_one"] | None
    issues_template: str | None
    keep_latest_artifact: bool | None
    merge_requests_template: str | None
    mirror_overwrites_diverged_branches: bool | None
    mirror_user_id: int | None
    mr_default_target_self: bool | None
    only_mirror_protected_branches: bool | None
    prevent_merge_without_external_issue: bool | None
    restrict_user_defined_variables: bool | None
    service_desk_enabled: bool | None
    also: Mapping[str, object]

class ForkProject(TypedDict, total=False):
    branches: str | None
    description: str | None
    mr_default_target_self: bool | None
    name: str | None
    namespace_id: int | None
    namespace_path: str | None
    namespace: str | None
    path: str | None
    visibility: Literal["private", "internal", "public"] | None
    also: Mapping[str, object]

class DeleteProject(TypedDict, total=False):
    permanently_remove: bool | None
    full_path: str | None
    also: Mapping[str, object]

class ShareProject(TypedDict, total=False):
    group_id: int | None
    group_access: Literal[10, 15, 20, 30, 40, 50] | None
    expires_at: str | None
    also: Mapping[str, object]


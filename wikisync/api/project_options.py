"""Keyword arguments of changing projects, with what each one means (pure)."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from wikisync.api.list_options import Visibility
from wikisync.api.option import Option, old_form

AccessLevel = Literal["disabled", "private", "enabled"]
OpenAccessLevel = Literal["disabled", "private", "enabled", "public"]
AutoCancelPendingPipelines = Literal["disabled", "enabled"]
AutoDevopsDeployStrategy = Literal["continuous", "manual", "timed_incremental"]
BuildGitStrategy = Literal["fetch", "clone"]
MergeMethod = Literal["merge", "rebase_merge", "ff"]
SquashOption = Literal["never", "always", "default_on", "default_off"]
CiRestrictPipelineCancellationRole = Literal["developer", "maintainer", "no_one"]
SHARE_LEVELS = ("10", "15", "20", "30", "40", "50")


class ExpirationPolicy(TypedDict, total=False):
    """When images in the container registry expire."""

    cadence: Annotated[str, "How often to clean up (1d, 7d, 1month)."]
    keep_n: Annotated[int, "How many tags of an image stay."]
    older_than: Annotated[str, "How old a tag must be to go (7d)."]
    name_regex: Annotated[str, old_form("name_regex_delete")]
    name_regex_delete: Annotated[str, "Pattern of tags that go."]
    name_regex_keep: Annotated[str, "Pattern of tags that stay."]
    enabled: Annotated[bool, "Whether to clean up at all."]


class _EveryAttribute(TypedDict, total=False):
    """What create, create for a user and edit take."""

    path: Annotated[str, "The last part of the address."]
    allow_merge_on_skipped_pipeline: Annotated[
        bool, "Merge also when jobs were skipped."
    ]
    analytics_access_level: Annotated[AccessLevel, "Who may use analytics."]
    approvals_before_merge: Annotated[
        int,
        Option(
            "How many must approve a merge request.", tier="premium", is_deprecated=True
        ),
    ]
    auto_cancel_pending_pipelines: Annotated[
        AutoCancelPendingPipelines, "Stop older pipelines of a branch that still wait."
    ]
    auto_devops_deploy_strategy: Annotated[
        AutoDevopsDeployStrategy, "How Auto DevOps deploys."
    ]
    auto_devops_enabled: Annotated[bool, "Use Auto DevOps."]
    autoclose_referenced_issues: Annotated[
        bool, "A merge closes the issues that it names."
    ]
    avatar: Annotated[Path | Literal[""], "Picture of the project."]
    build_git_strategy: Annotated[
        BuildGitStrategy, Option("How jobs get the repository.", default="fetch")
    ]
    build_timeout: Annotated[int, "Seconds that a job may run."]
    builds_access_level: Annotated[AccessLevel, "Who may use jobs and pipelines."]
    ci_config_path: Annotated[str, "Path of the CI configuration."]
    container_registry_access_level: Annotated[
        AccessLevel, "Who may use the container registry."
    ]
    container_registry_enabled: Annotated[
        bool, old_form("container_registry_access_level")
    ]
    default_branch: Annotated[
        str, "The branch shown first; on create it needs initialize_with_readme."
    ]
    description: Annotated[str, "What the project is for."]
    emails_disabled: Annotated[
        bool,
        Option(
            "Old form of emails_enabled, the other way round.",
            replaced_by="emails_enabled",
            is_inverted=True,
        ),
    ]
    emails_enabled: Annotated[bool, "Whether mails are sent."]
    environments_access_level: Annotated[AccessLevel, "Who may use environments."]
    external_authorization_classification_label: Annotated[
        str, Option("Label for an external authorization service.", tier="premium")
    ]
    feature_flags_access_level: Annotated[AccessLevel, "Who may use feature flags."]
    forking_access_level: Annotated[AccessLevel, "Who may use forking."]
    group_runners_enabled: Annotated[bool, "Use the group's runners."]
    import_url: Annotated[str, "Repository to import from."]
    infrastructure_access_level: Annotated[AccessLevel, "Who may use infrastructure."]
    issues_access_level: Annotated[AccessLevel, "Who may use issues."]
    issues_enabled: Annotated[bool, old_form("issues_access_level")]
    jobs_enabled: Annotated[bool, old_form("builds_access_level")]
    lfs_enabled: Annotated[bool, "Use large file storage."]
    merge_method: Annotated[MergeMethod, "How merge requests are merged."]
    merge_requests_access_level: Annotated[AccessLevel, "Who may use merge requests."]
    merge_requests_enabled: Annotated[bool, old_form("merge_requests_access_level")]
    mirror: Annotated[
        bool, Option("Pull from import_url again and again.", tier="premium")
    ]
    mirror_trigger_builds: Annotated[
        bool, Option("What was pulled starts pipelines.", tier="premium")
    ]
    model_experiments_access_level: Annotated[
        AccessLevel, "Who may use model experiments."
    ]
    model_registry_access_level: Annotated[
        AccessLevel, Option("Who may use the model registry.", since="16.7")
    ]
    monitor_access_level: Annotated[AccessLevel, "Who may use monitoring."]
    only_allow_merge_if_all_discussions_are_resolved: Annotated[
        bool, "Merge only when every discussion is resolved."
    ]
    only_allow_merge_if_all_status_checks_passed: Annotated[
        bool,
        Option(
            "Merge only when every status check passed.",
            default="false",
            tier="ultimate",
            since="15.5",
        ),
    ]
    only_allow_merge_if_pipeline_succeeds: Annotated[
        bool, "Merge only when the pipeline succeeded."
    ]
    packages_enabled: Annotated[bool, "Use the package registry."]
    pages_access_level: Annotated[OpenAccessLevel, "Who may see the project's website."]
    printing_merge_request_link_enabled: Annotated[
        bool, "A push prints where to open a merge request."
    ]
    public_builds: Annotated[bool, "Others may look at jobs."]
    releases_access_level: Annotated[AccessLevel, "Who may use releases."]
    remove_source_branch_after_merge: Annotated[
        bool, "A merge removes its source branch unless told otherwise."
    ]
    repository_access_level: Annotated[AccessLevel, "Who may use the repository."]
    repository_storage: Annotated[str, Option("Which storage holds it.", role="admin")]
    request_access_enabled: Annotated[bool, "Others may ask to be members."]
    resolve_outdated_diff_discussions: Annotated[
        bool, "A push resolves discussions of lines that it changed."
    ]
    security_and_compliance_access_level: Annotated[
        AccessLevel, Option("Who may use security and compliance.", since="14.9")
    ]
    shared_runners_enabled: Annotated[bool, "Use the shared runners."]
    show_default_award_emojis: Annotated[bool, "Offer thumbs up and thumbs down."]
    snippets_access_level: Annotated[AccessLevel, "Who may use snippets."]
    snippets_enabled: Annotated[bool, old_form("snippets_access_level")]
    squash_option: Annotated[SquashOption, "Whether merges squash."]
    tag_list: Annotated[list[str] | tuple[str, ...], old_form("topics")]
    topics: Annotated[
        list[str] | tuple[str, ...],
        Option("Topics; on edit they replace the old ones.", since="14.0"),
    ]
    visibility: Annotated[Visibility, "Who may see it."]
    wiki_access_level: Annotated[AccessLevel, "Who may use the wiki."]
    wiki_enabled: Annotated[bool, old_form("wiki_access_level")]


class _NewProject(TypedDict, total=False):
    """What both ways of creating take."""

    group_with_project_templates_id: Annotated[
        int,
        Option(
            "Group with the custom templates; needs use_custom_template.",
            tier="premium",
        ),
    ]
    initialize_with_readme: Annotated[
        bool, Option("Begin with a repository that holds a README.md.", default="false")
    ]
    namespace_id: Annotated[int, "Group or user to put it in; else your own."]
    template_name: Annotated[str, "Template to begin with."]
    use_custom_template: Annotated[
        bool, Option("Take the template from the instance or a group.", tier="premium")
    ]


class _OwnOrEdited(TypedDict, total=False):
    """What create and edit take."""

    name: Annotated[str, "The name that people see."]
    container_expiration_policy_attributes: Annotated[
        ExpirationPolicy, "When old container images go."
    ]
    merge_pipelines_enabled: Annotated[bool, "Run pipelines on the merged result."]
    merge_trains_enabled: Annotated[bool, "Use merge trains."]


class _ForUserOrEdited(TypedDict, total=False):
    """What create for a user and edit take."""

    enforce_auth_checks_on_uploads: Annotated[
        bool, "Uploaded files only for those who may see the project."
    ]
    issue_branch_template: Annotated[
        str, Option("Pattern for branches made from issues.", since="15.6")
    ]
    merge_commit_template: Annotated[
        str, Option("Pattern for messages of merge commits.", since="14.5")
    ]
    requirements_access_level: Annotated[OpenAccessLevel, "Who may use requirements."]
    squash_commit_template: Annotated[
        str, Option("Pattern for messages of squashed commits.", since="14.6")
    ]
    suggestion_commit_message: Annotated[
        str, "Message of commits that apply suggestions."
    ]


class CreateAttributes(_OwnOrEdited, _EveryAttribute, _NewProject, total=False):
    """``POST /projects``."""

    requirements_access_level: Annotated[AccessLevel, "Who may use requirements."]
    template_project_id: Annotated[
        int, Option("Project that is the custom template.", tier="premium")
    ]


class CreateForUserAttributes(
    _EveryAttribute, _NewProject, _ForUserOrEdited, total=False
):
    """``POST /projects/user/:user_id``."""

    name: Annotated[str, Option("The name that people see.", is_required=True)]


class EditAttributes(_OwnOrEdited, _EveryAttribute, _ForUserOrEdited, total=False):
    """``PUT /projects/:id``."""

    allow_pipeline_trigger_approve_deployment: Annotated[
        bool,
        Option("Who starts a pipeline may approve its deployment.", tier="premium"),
    ]
    ci_default_git_depth: Annotated[int, "Commits in a shallow clone."]
    ci_forward_deployment_enabled: Annotated[
        bool, "Keep out deployments older than the latest."
    ]
    ci_forward_deployment_rollback_allowed: Annotated[
        bool, "Let old deployment jobs run again to roll back."
    ]
    ci_allow_fork_pipelines_to_run_in_parent_project: Annotated[
        bool, Option("Pipelines of forks may run here.", since="15.3")
    ]
    ci_separated_caches: Annotated[bool, "Protected branches have caches of their own."]
    ci_restrict_pipeline_cancellation_role: Annotated[
        CiRestrictPipelineCancellationRole,
        Option("Who may cancel pipelines.", tier="premium", since="16.8"),
    ]
    issues_template: Annotated[
        str, Option("What a new issue's description begins with.", tier="premium")
    ]
    keep_latest_artifact: Annotated[bool, "Keep the latest artifact of a branch."]
    merge_requests_template: Annotated[
        str,
        Option("What a new merge request's description begins with.", tier="premium"),
    ]
    mirror_overwrites_diverged_branches: Annotated[
        bool,
        Option("Pulling replaces branches that went their own way.", tier="premium"),
    ]
    mirror_user_id: Annotated[
        int,
        Option(
            "User whom the pulled changes are credited to.",
            role="admin",
            tier="premium",
        ),
    ]
    mr_default_target_self: Annotated[
        bool, "A fork's merge requests aim at itself, not at its source."
    ]
    only_mirror_protected_branches: Annotated[
        bool, Option("Pull protected branches only.", tier="premium")
    ]
    prevent_merge_without_external_issue: Annotated[
        bool,
        Option("Merge only with an issue from the external tracker.", tier="premium"),
    ]
    restrict_user_defined_variables: Annotated[
        bool, "Only maintainers may give variables to a pipeline."
    ]
    service_desk_enabled: Annotated[bool, "Take issues by mail."]


class ForkAttributes(TypedDict, total=False):
    """``POST /projects/:id/fork``."""

    branches: Annotated[str, "Branches to fork; empty for all."]
    description: Annotated[str, "The fork's description."]
    mr_default_target_self: Annotated[
        bool, "Its merge requests aim at itself, not at its source."
    ]
    name: Annotated[str, "The fork's name."]
    namespace_id: Annotated[int, "Group or user, by id."]
    namespace_path: Annotated[str, "Group or user, by path."]
    namespace: Annotated[
        int | str,
        Option(
            "Old form of namespace_id and namespace_path.", replaced_by="namespace_path"
        ),
    ]
    path: Annotated[str, "The last part of the fork's address."]
    visibility: Annotated[Visibility, "Who may see the fork."]


class DeleteOptions(TypedDict, total=False):
    """``DELETE /projects/:id``."""

    permanently_remove: Annotated[
        bool,
        Option(
            "Remove at once what is already marked for deletion.",
            tier="premium",
            since="15.11",
        ),
    ]
    full_path: Annotated[
        str,
        Option(
            "The project's full path, as a proof for permanently_remove.",
            tier="premium",
            since="15.11",
        ),
    ]


class ShareOptions(TypedDict, total=False):
    """``POST /projects/:id/share``."""

    group_id: Annotated[int, Option("Group to share with.", is_required=True)]
    group_access: Annotated[
        int,
        Option(
            "Access level that its members get.", choices=SHARE_LEVELS, is_required=True
        ),
    ]
    expires_at: Annotated[str | date, "Last day of the share."]


class UploadOptions(TypedDict, total=False):
    """``POST /projects/:id/uploads``."""

    file: Annotated[Path | Literal[""], Option("The file.", is_required=True)]


class TransferOptions(TypedDict, total=False):
    """``PUT /projects/:id/transfer``."""

    namespace: Annotated[
        str, Option("Group or user to move it to, by id or path.", is_required=True)
    ]


class CustomAttributeOptions(TypedDict, total=False):
    """``PUT /projects/:id/custom_attributes/:key``."""

    value: Annotated[str, Option("What the attribute says.", is_required=True)]

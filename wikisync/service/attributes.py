"""Attributes of projects: what each is until someone sets it, and where it shows.

Pure.  Names and types are those of ``api.parameters``; attributes that lists
ask for have a column of their own in the records, all others are kept in one
object, and only once they were set.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wikisync.api.parameters import project_attributes

COLUMNS: frozenset[str] = frozenset(
    {
        "name",
        "path",
        "description",
        "visibility",
        "wiki_access_level",
        "issues_access_level",
        "merge_requests_access_level",
        "repository_storage",
    }
)
"""Attributes with a column of the same name."""

_ACTS: frozenset[str] = frozenset(
    {
        "avatar",
        "default_branch",
        "group_with_project_templates_id",
        "import_url",
        "initialize_with_readme",
        "namespace_id",
        "template_name",
        "template_project_id",
        "topics",
        "use_custom_template",
    }
)
"""Attributes that do something rather than being kept as they are."""

KEPT: frozenset[str] = frozenset(
    row.name
    for row in project_attributes()
    if row.name not in COLUMNS | _ACTS and not row.replaced_by
)
"""Attributes in the one object."""

_ON = (
    "autoclose_referenced_issues",
    "ci_allow_fork_pipelines_to_run_in_parent_project",
    "ci_forward_deployment_enabled",
    "ci_forward_deployment_rollback_allowed",
    "ci_separated_caches",
    "emails_enabled",
    "enforce_auth_checks_on_uploads",
    "group_runners_enabled",
    "keep_latest_artifact",
    "lfs_enabled",
    "packages_enabled",
    "printing_merge_request_link_enabled",
    "public_builds",
    "remove_source_branch_after_merge",
    "request_access_enabled",
    "shared_runners_enabled",
    "show_default_award_emojis",
)
_OTHER: dict[str, object] = {
    "approvals_before_merge": 0,
    "auto_cancel_pending_pipelines": "enabled",
    "auto_devops_deploy_strategy": "continuous",
    "build_git_strategy": "fetch",
    "build_timeout": 3600,
    "ci_config_path": "",
    "ci_default_git_depth": 20,
    "ci_restrict_pipeline_cancellation_role": "developer",
    "external_authorization_classification_label": "",
    "merge_method": "merge",
    "pages_access_level": "private",
    "security_and_compliance_access_level": "private",
    "squash_option": "default_off",
}
_POLICY: dict[str, object] = {
    "cadence": "1d",
    "enabled": False,
    "keep_n": 10,
    "older_than": "90d",
    "name_regex": None,
    "name_regex_delete": ".*",
    "name_regex_keep": None,
}


def _default(name: str, type_: str) -> object:
    if name in _OTHER:
        return _OTHER[name]
    if name.endswith("_access_level"):
        return "enabled"
    if type_ == "boolean":
        return name in _ON
    return None


DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        row.name: _default(row.name, row.type)
        for row in project_attributes()
        if row.name in KEPT
    }
)
"""What a kept attribute is until it is set."""


def all_attributes(stored: Mapping[str, object]) -> dict[str, object]:
    """Every kept attribute of a project."""
    return {**DEFAULTS, **stored}


def attribute_of(stored: Mapping[str, object], name: str) -> object:
    """One kept attribute of a project."""
    return stored[name] if name in stored else DEFAULTS[name]


def expiration_policy(
    stored: Mapping[str, object], created_at: str
) -> dict[str, object]:
    """The record's ``container_expiration_policy``."""
    given = stored.get("container_expiration_policy_attributes")
    policy = dict(_POLICY) | dict(given if isinstance(given, Mapping) else {})
    # the old name of the pattern still shows what it means
    policy["name_regex"] = policy["name_regex_delete"]
    return policy | {"next_run_at": created_at}

"""Records about projects: JSON to typed values and back.  Pure.

The service shows a project in three views, each a part of the next.  Which keys come
depends on the caller's rights and the service's version, so every key but a project's
identity may be absent or null (``docs/service.md`` "Projects"); both are None here.
"""

from enum import IntEnum

import msgspec

from wikisync.contract import schema


class CustomAttributeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One custom attribute; only administrators see them."""

    key: str
    value: str = ""


class LicenseRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """The licence that the service found in the repository."""

    key: str | None = None
    name: str | None = None
    nickname: str | None = None
    html_url: str | None = None
    source_url: str | None = None


class AccessLevel(IntEnum):
    """Roles of members, by the service's own numbers."""

    NONE = 0
    MINIMAL = 5
    GUEST = 10
    PLANNER = 15
    REPORTER = 20
    DEVELOPER = 30
    MAINTAINER = 40
    OWNER = 50


class AccessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's role by one way: an ``AccessLevel``."""

    access_level: int = 0
    notification_level: int | None = None


class PermissionsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's roles; roles by shared groups are not in it."""

    project_access: AccessRecord | None = None
    group_access: AccessRecord | None = None

    @property
    def level(self) -> int:
        """The higher of the two roles; 0 for none."""
        given = (self.project_access, self.group_access)
        return max((access.access_level for access in given if access), default=0)


class OwnerRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """The user whose own namespace a project is in."""

    id: int
    name: str = ""
    username: str | None = None
    created_at: str | None = None
    state: str | None = None
    avatar_url: str | None = None
    web_url: str | None = None


class ProjectLinksRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """Where the parts of a project are in the API."""

    is_all_addresses = True

    self_: str | None = msgspec.field(default=None, name="self")
    issues: str | None = None
    merge_requests: str | None = None
    repo_branches: str | None = None
    labels: str | None = None
    events: str | None = None
    members: str | None = None
    cluster_agents: str | None = None


class SharedGroupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A group that a project is shared with, as the project shows it."""

    group_id: int
    group_name: str = ""
    group_full_path: str = ""
    group_access_level: int = 0
    expires_at: str | None = None


class StatisticsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in bytes, and the count of commits."""

    commit_count: int | None = None
    storage_size: int | None = None
    repository_size: int | None = None
    wiki_size: int | None = None
    lfs_objects_size: int | None = None
    job_artifacts_size: int | None = None
    pipeline_artifacts_size: int | None = None
    packages_size: int | None = None
    snippets_size: int | None = None
    uploads_size: int | None = None


class ExpirationPolicyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """When images in the container registry expire."""

    cadence: str | None = None
    enabled: bool | None = None
    keep_n: int | None = None
    older_than: str | None = None
    name_regex: str | None = None
    """Deprecated: ``name_regex_delete``."""
    name_regex_delete: str | None = None
    name_regex_keep: str | None = None
    next_run_at: str | None = None


class UpstreamRecord(schema.SimpleProject, frozen=True, kw_only=True):
    """The project that a fork was made from, reduced."""

    license_url: str | None = None
    license: LicenseRecord | None = None
    repository_storage: str | None = None


class ProjectRecord(schema.SimpleProject, frozen=True, kw_only=True):
    """A project in any view of the service.

    Of the settings that an edit changes no more than wikisync reads; ``sent`` has all.
    """

    wiki_access_level: str | None = None

    description_html: str | None = None
    creator_id: int | None = None
    updated_at: str | None = None
    archived: bool | None = None
    empty_repo: bool | None = None
    open_issues_count: int | None = None
    container_registry_image_prefix: str | None = None
    owner: OwnerRecord | None = None
    links: ProjectLinksRecord | None = msgspec.field(default=None, name="_links")
    permissions: PermissionsRecord | None = None
    shared_with_groups: tuple[SharedGroupRecord, ...] | None = None
    statistics: StatisticsRecord | None = None
    container_expiration_policy: ExpirationPolicyRecord | None = None
    custom_attributes: tuple[CustomAttributeRecord, ...] | None = None

    # deletion and import
    marked_for_deletion_on: str | None = None
    """Day on which it was marked; it goes after the service's delay."""
    marked_for_deletion_at: str | None = None
    """Deprecated: ``marked_for_deletion_on``."""
    import_status: str | None = None
    import_type: str | None = None
    import_error: str | None = None

    # what an edit does not set
    can_create_merge_request_in: bool | None = None
    ci_job_token_scope_enabled: bool | None = None
    compliance_frameworks: tuple[str, ...] | None = None
    public_jobs: bool | None = None
    """``public_builds``, as an edit calls it."""
    requirements_enabled: bool | None = None
    runner_token_expiration_interval: object = None
    """Seconds, or a text; services differ."""
    runners_token: str | None = None
    """Secret: never shown or logged."""
    security_and_compliance_enabled: bool | None = None
    service_desk_address: str | None = None

    # optional parts of a single project
    license_url: str | None = None
    license: LicenseRecord | None = None
    forked_from_project: UpstreamRecord | None = None
    mr_default_target_self: bool | None = None

    @property
    def deletion_date(self) -> str | None:
        """Day on which it was marked for deletion, under either name."""
        return self.marked_for_deletion_on or self.marked_for_deletion_at

    @property
    def labels(self) -> tuple[str, ...]:
        """Its topics, under either name."""
        return self.topics or self.tag_list or ()


class ImportRecord(msgspec.Struct, frozen=True, kw_only=True):
    """``GET /projects/:id/import``: how far a fork or an import is."""

    id: int
    name: str
    path: str
    path_with_namespace: str
    created_at: str
    import_status: str
    description: str | None = None
    import_type: str | None = None
    correlation_id: str | None = None
    failed_relations: tuple[object, ...] = ()
    import_error: str | None = None
    stats: dict[str, object] | None = None


class ProjectGroupRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """A group above a project, or one that it can be shared with."""

    id: int
    full_path: str = ""
    name: str = ""
    full_name: str = ""
    avatar_url: str | None = None
    web_url: str = ""


class MemberRecord(schema.UserRecord, frozen=True, kw_only=True):
    """A member of a project, by the project itself."""

    access_level: int = 0
    created_at: str | None = None
    expires_at: str | None = None


class CommitRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """A commit of a project's own repository."""

    id: str
    short_id: str = ""
    created_at: str | None = None
    parent_ids: tuple[str, ...] = ()
    title: str = ""
    message: str = ""
    author_name: str = ""
    author_email: str = ""
    authored_date: str | None = None
    committer_name: str = ""
    committer_email: str = ""
    committed_date: str | None = None


class BranchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A branch of a project's own repository."""

    name: str
    commit: CommitRecord
    merged: bool = False
    protected: bool = False
    developers_can_push: bool = False
    developers_can_merge: bool = False
    can_push: bool = False
    default: bool = False


class StarrerRecord(schema.AnsweredRecord, frozen=True, kw_only=True):
    """Who starred a project, and since when."""

    user: schema.UserRecord
    starred_since: str | None = None


class UploadRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """A file uploaded to a project, for its issues and merge requests."""

    url: str
    """Relative to the project."""
    alt: str = ""
    full_path: str = ""
    """From the service's root."""
    markdown: str = ""
    id: int | None = None


class AvatarRecord(schema.AddressedRecord, frozen=True, kw_only=True):
    """The answer to a new avatar; some services send the whole project."""

    avatar_url: str | None = None


class ShareRecord(schema.AnsweredRecord, frozen=True, kw_only=True):
    """A project shared with a group."""

    group_id: int
    project_id: int | None = None
    group_access: int = 0
    expires_at: str | None = None
    id: int | None = None


class MembersImportRecord(schema.AnsweredRecord, frozen=True, kw_only=True):
    """What came of importing another project's members."""

    status: str
    message: object = None
    """User name to the reason why it was not imported, or a sentence."""
    total_members_count: int | None = None

    @property
    def refused(self) -> dict[str, str]:
        """User name to reason, for those that were not imported."""
        if not isinstance(self.message, dict):
            return {}
        return {str(name): str(why) for name, why in self.message.items()}

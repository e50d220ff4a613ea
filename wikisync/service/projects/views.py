"""Projects, users and groups as the API shows them to one caller.

What a caller may not know is left out, never shown as empty.
"""

import html
import re
from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from wikisync.contract.parameters import project_attributes
from wikisync.contract.project_schema import AccessLevel
from wikisync.contract.routes import Endpoint
from wikisync.contract.routes import OtherEndpoint as Other
from wikisync.contract.schema import UserRecord
from wikisync.service.access import FeatureLevel, Membership, may_read_code
from wikisync.service.answers import fields_of
from wikisync.service.call import Call, Caller
from wikisync.service.code import license_by_key
from wikisync.service.import_fetch import shown
from wikisync.service.projects.people import Share
from wikisync.service.rendering import render_description
from wikisync.service.rows import Group, Project, User
from wikisync.service.validation import DEFAULTS, SHOWN, SWITCHES, expiration_policy

_LINKED = {
    "self": Endpoint.SHOW,
    "issues": Other.ISSUES,
    "merge_requests": Other.MERGE_REQUESTS,
    "repo_branches": Other.BRANCHES,
    "labels": Other.LABELS,
    "events": Other.EVENTS,
    "members": Other.MEMBERS,
    "cluster_agents": Other.CLUSTER_AGENTS,
}
_PAID = frozenset(
    {
        *(row.name for row in project_attributes() if row.tier != "free"),
        "marked_for_deletion_at",
        "marked_for_deletion_on",
    }
)
_NO_SIZES = (
    *("lfs_objects_size", "job_artifacts_size", "pipeline_artifacts_size"),
    *("packages_size", "snippets_size"),
)
_PLAIN = (
    "id description name path created_at topics star_count last_activity_at visibility"
)
_ON_FOR_ALL = frozenset({"enabled", "public"})
_ON_FOR_MEMBERS = _ON_FOR_ALL | {"private"}
_SIMPLE_TEXT = re.compile(r"[\w ,;()'\"/?!-]*(?:[\w ,;()'\"/?!-]|\.(?= |$))*")


class Extras(Struct, frozen=True):
    """What a view needs beside the project, read for all of a list at once."""

    shares: Mapping[int, Sequence[Share]] = field(default_factory=dict)
    visible_groups: frozenset[int] = frozenset()
    owners: Mapping[int, User] = field(default_factory=dict)
    custom_attributes: Mapping[int, Sequence[Mapping[str, str]]] | None = None
    """Only for administrators who asked."""
    with_statistics: bool = False
    with_license: bool = False
    sources: Mapping[int, Project] | None = None
    """Projects that others here are forks of, if the caller may see them; None in a
    list, which does not show them."""


def simple_view(call: Call, caller: Caller, project: Project) -> dict[str, object]:
    """A project as everyone may see it."""
    url = f"{call.service.url}/{project.full_path}"
    space = project.namespace
    space_path = f"{'groups/' if space.kind == 'group' else ''}{space.full_path}"
    body: dict[str, object] = fields_of(project, _PLAIN) | {
        "name_with_namespace": f"{space.full_name} / {project.name}",
        "path_with_namespace": project.full_path,
        "tag_list": project.topics,
        "ssh_url_to_repo": f"git@{_host(call)}:{project.full_path}.git",
        "http_url_to_repo": f"{url}.git",
        "web_url": url,
        "avatar_url": avatar_url(call, project),
        "namespace": fields_of(space, "id name path kind full_path parent_id")
        | {"web_url": f"{call.service.url}/{space_path}", "avatar_url": None},
    }
    if reads_code(project, project.membership(caller.user)):
        readme = project.readme
        branch = quote(project.default_branch or "")
        body |= {
            "default_branch": project.default_branch,
            "readme_url": f"{url}/-/blob/{branch}/{quote(readme)}" if readme else None,
            "forks_count": project.forks_count,
        }
    return body


def project_view(
    call: Call, caller: Caller, project: Project, extras: Extras
) -> dict[str, object]:
    """A project as someone sees it who may see more than the simple view."""
    body = simple_view(call, caller, project)
    membership = project.membership(caller.user)
    attributes = {**DEFAULTS, **project.attributes}
    body |= _features(project, membership, attributes)
    body |= {name: attributes[name] for name in SHOWN["plain"]}
    body |= {
        "_links": _links(call, project, body),
        "archived": project.is_archived,
        "can_create_merge_request_in": membership.is_signed_in
        and bool(body["merge_requests_enabled"]),
        "compliance_frameworks": [],
        "container_expiration_policy": expiration_policy(
            project.attributes, project.created_at
        ),
        "container_registry_image_prefix": f"{_host(call)}/{project.full_path}".lower(),
        "creator_id": project.creator_id,
        "description_html": description_html(project.description),
        "emails_disabled": not attributes["emails_enabled"],
        "empty_repo": project.default_branch is None,
        "import_status": project.origin.status,
        "public_jobs": attributes["public_builds"],
        "shared_with_groups": [
            fields_of(share, "group_id group_name group_full_path")
            | {"group_access_level": share.access_level, "expires_at": share.expires_on}
            for share in extras.shares.get(project.id, ())
            if share.group_id in extras.visible_groups
        ],
        "updated_at": project.updated_at,
    }
    if body["issues_enabled"]:
        body["open_issues_count"] = 0
    body |= _for_roles(project, membership, attributes)
    if caller.user is not None:
        body["permissions"] = {
            "project_access": _access(
                AccessLevel.OWNER
                if project.owner_id == caller.user.id
                else project.project_level
            ),
            "group_access": _access(project.group_level),
        }
    owner = extras.owners.get(project.owner_id or 0)
    if owner is not None:
        shown_owner = msgspec.structs.asdict(user_record(call, owner))
        body["owner"] = {**shown_owner, "created_at": owner.created_at}
    if extras.custom_attributes is not None:
        body["custom_attributes"] = extras.custom_attributes.get(project.id, [])
    if extras.with_statistics and membership.has(AccessLevel.REPORTER):
        body["statistics"] = _statistics(project)
    if extras.with_license and reads_code(project, membership):
        body |= _license(call, project)
    if project.forked_from is not None and extras.sources is not None:
        source = extras.sources.get(project.forked_from)
        body["mr_default_target_self"] = bool(attributes["mr_default_target_self"])
        if source is not None:
            body["forked_from_project"] = simple_view(call, caller, source) | {
                "forks_count": source.forks_count,
                "repository_storage": source.repository_storage,
                **_license(call, source),
            }
    if call.service.is_free:
        return {name: value for name, value in body.items() if name not in _PAID}
    return body


def user_record(call: Call, user: User) -> UserRecord:
    """A user inside other answers."""
    shown = fields_of(user, "id username name state")
    return UserRecord(**shown, web_url=f"{call.service.url}/{user.username}")


def project_group_view(call: Call, group: Group) -> dict[str, object]:
    """A group that a project is in, or may be shared with."""
    return {
        "id": group.id,
        "web_url": f"{call.service.url}/groups/{group.full_path}",
        "name": group.name,
        "avatar_url": None,
        **fields_of(group, "full_name full_path"),
    }


def avatar_url(call: Call, project: Project) -> str | None:
    """Where a project's picture is."""
    if project.avatar is None:
        return None
    folder = "uploads/-/system/project/avatar"
    return f"{call.service.url}/{folder}/{project.id}/{quote(project.avatar)}"


def description_html(description: str | None) -> str:
    """A description as HTML; plain words need no markup engine."""
    if not description:
        return ""
    if _SIMPLE_TEXT.fullmatch(description):
        return f'<p dir="auto">{html.escape(description)}</p>'
    return render_description(description)


def level_of_feature(project: Project, name: str) -> FeatureLevel:
    """The access level of one of a project's features."""
    attribute = f"{name}_access_level"
    if name in {"issues", "merge_requests", "wiki"}:
        return cast("FeatureLevel", getattr(project, attribute))
    return cast("FeatureLevel", project.attributes.get(attribute, DEFAULTS[attribute]))


def _features(
    project: Project, membership: Membership, attributes: Mapping[str, object]
) -> dict[str, object]:
    levels: dict[str, object] = {name: attributes.get(name) for name in SHOWN["levels"]}
    own = "issues_access_level merge_requests_access_level wiki_access_level"
    levels |= fields_of(project, own)
    on = _ON_FOR_MEMBERS if membership.is_member else _ON_FOR_ALL
    switches = {switch: levels[level] in on for switch, level in SWITCHES.items()}
    return levels | switches


def _for_roles(
    project: Project, membership: Membership, attributes: Mapping[str, object]
) -> dict[str, object]:
    body: dict[str, object] = {}
    if reads_code(project, membership):
        body["ci_config_path"] = attributes["ci_config_path"]
    if membership.has(AccessLevel.REPORTER):
        body |= {name: attributes[name] for name in SHOWN["reporters"]}
        body["service_desk_address"] = None
    if membership.has(AccessLevel.MAINTAINER):
        body |= {name: attributes[name] for name in SHOWN["maintainers"]}
        body |= {
            "ci_job_token_scope_enabled": False,
            "import_error": project.origin.error,
            "import_type": project.origin.type,
            # a fork or a template has no address
            "import_url": shown(project.origin.url or "") or None,
            "marked_for_deletion_at": project.marked_on,
            "marked_for_deletion_on": project.marked_on,
            "runner_token_expiration_interval": None,
            "runners_token": project.runners_token,
        }
    if membership.is_admin:
        body["repository_storage"] = project.repository_storage
    return body


def _links(
    call: Call, project: Project, features: Mapping[str, object]
) -> dict[str, str]:
    return {
        name: call.service.url + endpoint.path(owner="projects", id=project.id)
        for name, endpoint in _LINKED.items()
        if features.get(f"{name}_enabled", True)
    }


def _statistics(project: Project) -> dict[str, int]:
    figures = project.statistics
    return {
        **msgspec.structs.asdict(figures),
        "storage_size": figures.storage_size,
        **dict.fromkeys(_NO_SIZES, 0),
    }


def _license(call: Call, project: Project) -> dict[str, object]:
    if project.license is None or project.license_key is None:
        return {"license_url": None, "license": None}
    known = license_by_key(project.license_key)
    branch = quote(project.default_branch or "")
    file = f"/-/blob/{branch}/{quote(project.license)}"
    return {
        "license_url": f"{call.service.url}/{project.full_path}{file}",
        "license": fields_of(known, "key name nickname html_url source_url"),
    }


def reads_code(project: Project, membership: Membership) -> bool:
    """Whether a caller who is this to a project may see its repository's files."""
    level = level_of_feature(project, "repository")
    return may_read_code(project.visibility, level, membership)


def _access(level: int) -> dict[str, int] | None:
    return {"access_level": level, "notification_level": 3} if level else None


def _host(call: Call) -> str:
    return call.service.url.partition("://")[2].partition("/")[0].partition(":")[0]

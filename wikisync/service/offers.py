"""What the service offers: the one table of operations, each with its handler.

``openapi`` describes the API from it, ``contract.parameters`` and ``contract.schema``.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial

import msgspec
from aiohttp import web
from msgspec import Struct

from wikisync.contract import project_schema as records
from wikisync.contract import schema
from wikisync.contract.parameters import parameters_of
from wikisync.contract.routes import API_PREFIX, AnyEndpoint, Endpoint
from wikisync.contract.routes import OtherEndpoint as Other
from wikisync.core.model import OwnerKind
from wikisync.service import (
    attachments,
    comments,
    git_http,
    groups,
    identity,
    search,
    wikis,
)
from wikisync.service.access import Act
from wikisync.service.access import Operation as WikiOperation
from wikisync.service.answers import bytes_answer
from wikisync.service.call import Call
from wikisync.service.openapi import NoJson, Operation, describe
from wikisync.service.projects import acts, edits, parts, reading

Handler = Callable[[Call], Awaitable[web.StreamResponse]]
Admission = Callable[[Call], Awaitable[object]]
"""Refuses who may not send what a handler takes, by the head of the request alone."""
Row = tuple[AnyEndpoint, Handler, object]
"""The last is what it answers, as a type that JSON is decoded into."""

# the first one fits the addresses of the second, too
_GIT_PARTS: dict[str, git_http.Part] = {".wiki.git": "wiki", ".git": "code"}
USUAL_STATUS = {"GET": 200, "POST": 201, "PUT": 200, "DELETE": 204}
_OWNERS: dict[str, OwnerKind] = {"projects": "project", "groups": "group"}
_GIT_ROUTES = (
    ("GET", "info/refs", git_http.show_references),
    ("POST", git_http.UPLOAD_PACK, git_http.upload_pack),
    ("POST", git_http.RECEIVE_PACK, git_http.receive_pack),
)


async def show_description(call: Call) -> web.Response:
    """``GET /openapi.json``: all of this, for programs."""
    profile = call.service.settings.profile
    return bytes_answer(
        _description(call.service.url, profile.version, profile.is_enterprise)
    )


_KINDS: Mapping[str, type] = {"boolean": bool, "integer": int, "string": str}
_SETTINGS = [
    (row.name, _KINDS[row.type] | None, None)
    for row in parameters_of(Endpoint.EDIT).values()
    if row.type in _KINDS
    and row.name not in {*records.ProjectRecord.__struct_fields__, "public_builds"}
]
PROJECT = msgspec.defstruct(
    "Project", _SETTINGS, bases=(records.ProjectRecord,), frozen=True, kw_only=True
)
"""A project with all its settings."""
PROJECTS = list[PROJECT]  # type: ignore[valid-type]
GROUPS = list[records.ProjectGroupRecord]
ATTRIBUTE = records.CustomAttributeRecord
NONE = tuple[()]
"""The answer of a list that is always empty."""
_EMPTY = (
    *(Other.EVENTS, Other.ISSUES, Other.MERGE_REQUESTS, Other.LABELS),
    Other.CLUSTER_AGENTS,
)
_WIKI_ROWS: tuple[Row, ...] = (
    (Other.PAGES, wikis.list_pages, list[schema.WikiPageRecord]),
    (Other.PAGE_CREATE, wikis.create_page, schema.WikiPageRecord),
    (Other.ATTACHMENT, attachments.upload, schema.AttachmentRecord),
    (Other.PAGE, wikis.show_page, schema.WikiPageRecord),
    (Other.PAGE_EDIT, wikis.edit_page, schema.WikiPageRecord),
    (Other.PAGE_DELETE, wikis.delete_page, NoJson.NOTHING),
    (Other.COMMENTS, comments.list_comments, list[schema.CommentRecord]),
    (Other.COMMENT, comments.show_comment, schema.CommentRecord),
    (Other.COMMENT_CREATE, comments.create_comment, schema.CommentRecord),
)
_OWNER_ROWS: tuple[Row, ...] = (
    (Other.OWNER_SEARCH, search.search_wikis, list[schema.BlobRecord]),
    (Other.MEMBERS, groups.list_members, list[records.MemberRecord]),
    (Other.MEMBER_ADD, groups.add_member, records.MemberRecord),
    (Other.ALL_MEMBERS, groups.list_members, list[records.MemberRecord]),
    (Other.ANY_MEMBER, groups.show_member, records.MemberRecord),
    (Other.MEMBER, groups.show_member, records.MemberRecord),
    (Other.MEMBER_EDIT, groups.edit_member, records.MemberRecord),
    (Other.MEMBER_REMOVE, groups.remove_member, NoJson.NOTHING),
)
"""Of projects and groups alike, in both editions."""
_API_ROWS: tuple[Row, ...] = (
    (Other.DESCRIPTION, show_description, dict[str, object]),
    (Other.VERSION, identity.show_version, schema.VersionRecord),
    (Other.METADATA, identity.show_metadata, schema.MetadataRecord),
    (Other.CURRENT_USER, identity.show_user, schema.CurrentUserRecord),
    (Other.CURRENT_TOKEN, identity.show_token, schema.TokenRecord),
    (Endpoint.LIST, reading.list_projects, PROJECTS),
    (Endpoint.CREATE, edits.create_project, PROJECT),
    (Endpoint.CREATE_FOR_USER, edits.create_project_for_user, PROJECT),
    (Endpoint.SHOW, reading.show_project, PROJECT),
    (Endpoint.EDIT, edits.edit_project, PROJECT),
    (Endpoint.DELETE, acts.delete_project, schema.MessageRecord),
    (Other.BRANCHES, parts.list_branches, list[records.BranchRecord]),
    *((one, parts.show_empty_list, NONE) for one in _EMPTY),
    (Endpoint.USERS, reading.list_users, list[schema.UserRecord]),
    (Endpoint.GROUPS, reading.list_groups, GROUPS),
    (Endpoint.SHARE_LOCATIONS, reading.list_share_locations, GROUPS),
    (Endpoint.STARRERS, reading.list_starrers, list[records.StarrerRecord]),
    (Endpoint.LANGUAGES, reading.show_languages, dict[str, float]),
    (Other.IMPORT, reading.show_import, records.ImportRecord),
    (Endpoint.FORK_LIST, reading.list_forks, PROJECTS),
    (Endpoint.FORK, acts.fork_project, PROJECT),
    (Endpoint.STAR, acts.star_project, PROJECT),
    (Endpoint.UNSTAR, acts.star_project, PROJECT),
    (Endpoint.ARCHIVE, acts.archive_project, PROJECT),
    (Endpoint.UNARCHIVE, acts.archive_project, PROJECT),
    (Other.TRANSFER, edits.transfer_project, PROJECT),
    (Endpoint.RESTORE, acts.restore_project, PROJECT),
    (Endpoint.SHARE, acts.share_project, records.ShareRecord),
    (Endpoint.UNSHARE, acts.unshare_project, NoJson.NOTHING),
    (Endpoint.UPLOAD, parts.upload_file, records.UploadRecord),
    (Other.UPLOADED, parts.show_upload, NoJson.FILE),
    (Endpoint.IMPORT_MEMBERS, acts.import_members, records.MembersImportRecord),
    (Other.CUSTOM_ATTRIBUTES, acts.list_custom_attributes, list[ATTRIBUTE]),
    (Other.CUSTOM_ATTRIBUTE, acts.show_custom_attribute, ATTRIBUTE),
    (Other.SET_CUSTOM_ATTRIBUTE, acts.set_custom_attribute, ATTRIBUTE),
    (Other.DELETE_CUSTOM_ATTRIBUTE, acts.delete_custom_attribute, NoJson.NOTHING),
    (Endpoint.USER_LIST, reading.list_user_projects, PROJECTS),
    (Endpoint.CONTRIBUTED_LIST, reading.list_user_projects, PROJECTS),
    (Endpoint.STARRED_LIST, reading.list_user_projects, PROJECTS),
    (Other.USERS, identity.list_users, list[schema.UserRecord]),
    (Other.USER, identity.show_user_of_id, records.OwnerRecord),
    (Other.SEARCH, search.search_wikis, list[schema.BlobRecord]),
    (Other.GROUPS, groups.list_groups, list[schema.GroupRecord]),
    (Other.GROUP_CREATE, groups.create_group, schema.GroupRecord),
    (Other.GROUP, groups.show_group, schema.GroupRecord),
    (Other.GROUP_PROJECTS, groups.list_group_projects, PROJECTS),
    (Other.DESCENDANT_GROUPS, groups.list_groups_below, list[schema.GroupRecord]),
    (Other.SUBGROUPS, groups.list_groups_below, list[schema.GroupRecord]),
)
_PAID = frozenset({Endpoint.RESTORE})
"""What the paid editions alone have, beside groups' wikis."""
_UNCHANGED = frozenset({Endpoint.STAR, Endpoint.UNSTAR})
"""Changes that say so (304) where there is nothing to change."""
_ADMISSIONS: dict[AnyEndpoint, Admission] = {
    Endpoint.UPLOAD: lambda call: call.project_for(Act.UPLOAD),
    Endpoint.EDIT: lambda call: call.project_for(Act.EDIT),
    **dict.fromkeys(
        (Other.PAGE_CREATE, Other.PAGE_EDIT, Other.ATTACHMENT),
        lambda call: call.wiki(WikiOperation.WRITE),
    ),
}
"""Of operations that do not let in whoever is signed in."""


class Target(Struct, frozen=True):
    """What answers one route."""

    handler: Handler
    endpoint: AnyEndpoint | None = None
    kind: OwnerKind = "project"
    """Whose wiki or members it is about."""
    admit: Admission | None = None
    """Asked before a body is read that is not small; None where none is read."""
    reads_own_body: bool = False
    is_paid: bool = False
    """The free edition has no such route."""
    is_for_signed_in: bool = False
    """It says nothing, not even what it takes, before it knows who asks."""


def route_table() -> list[tuple[str, str, Target]]:
    """Every route by method and template, the more particular ones first."""
    table: list[tuple[str, str, Target]] = []
    for endpoint, handler, _answer in _API_ROWS:
        is_write, admit = endpoint.method != "GET", None
        if is_write:
            admit = _ADMISSIONS.get(endpoint, Call.signed_in)
        target = Target(
            handler,
            endpoint,
            admit=admit,
            is_paid=endpoint in _PAID,
            is_for_signed_in=is_write,
        )
        table.append((endpoint.method, API_PREFIX + endpoint.template, target))
    for segment, kind in _OWNERS.items():
        for rows in (_WIKI_ROWS, _OWNER_ROWS):
            for endpoint, handler, _answer in rows:
                of_wiki = rows is _WIKI_ROWS
                target = Target(
                    handler,
                    endpoint,
                    kind,
                    _ADMISSIONS.get(endpoint),
                    is_paid=of_wiki and kind == "group",
                    is_for_signed_in=not of_wiki and endpoint.method != "GET",
                )
                path = API_PREFIX + endpoint.template.replace("{owner}", segment)
                table.append((endpoint.method, path, target))
    for suffix, part in _GIT_PARTS.items():
        for method, path, git_handler in _GIT_ROUTES:
            target = Target(
                partial(git_handler, part=part), reads_own_body=method == "POST"
            )
            table.append((method, "/{full_path}" + f"{suffix}/{path}", target))
    wiki, group = wikis.show_for_browser, "/groups/{full_path}/-/wikis"
    of_group = Target(wiki, kind="group", is_paid=True)
    shows = {
        "/-/project/{id}/uploads/{secret}/{file_name}": Target(parts.show_upload),
        "/{full_path}/-/blob/{path}": Target(parts.show_code_file),
        "/{full_path}/-/raw/{path}": Target(parts.show_code_file),
        "/uploads/-/system/project/avatar/{id}/{file_name}": Target(parts.show_avatar),
        attachments.SIGN_IN_PATH: Target(attachments.show_sign_in),
        group: of_group,
        group + "/{path}": of_group,
        "/{full_path}/-/wikis": Target(wiki),
        "/{full_path}/-/wikis/{path}": Target(wiki),
    }
    return [*table, *(("GET", path, target) for path, target in shows.items())]


@cache
def _description(url: str, version: str, is_enterprise: bool) -> bytes:
    """The document about what one of the two editions offers."""
    offered = [(row, "") for row in _API_ROWS if is_enterprise or row[0] not in _PAID]
    for segment in _OWNERS:
        has_wiki = is_enterprise or segment != "groups"
        rows = (*(_WIKI_ROWS if has_wiki else ()), *_OWNER_ROWS)
        offered += [(row, segment) for row in rows]
    operations = [
        Operation(
            endpoint=endpoint,
            owner=owner,
            about=handler.__doc__ or "",
            answer=answer,
            status=202
            if endpoint is Endpoint.DELETE
            else USUAL_STATUS[endpoint.method],
            is_free=not is_enterprise,
            may_be_unchanged=endpoint.method == "GET" or endpoint in _UNCHANGED,
        )
        for (endpoint, handler, answer), owner in offered
    ]
    return describe(operations, url, version)

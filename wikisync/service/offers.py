"""What the service offers: the one table of routes, each address with its handler.

``openapi`` describes the API from it, ``contract.parameters`` and ``contract.schema``.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

import msgspec
from aiohttp import web
from msgspec import Struct

from wikisync.contract import project_schema as records
from wikisync.contract import routes, schema
from wikisync.contract.parameters import parameters_of
from wikisync.contract.routes import ENDPOINTS, Endpoint
from wikisync.contract.routes import OtherEndpoint as Other
from wikisync.core.model import OwnerKind
from wikisync.service import (
    attachments,
    comments,
    git_http,
    groups,
    identity,
    members,
    search,
    wikis,
)
from wikisync.service.access import Act
from wikisync.service.access import Operation as WikiOperation
from wikisync.service.answers import bytes_answer, unmatched_route
from wikisync.service.call import Call
from wikisync.service.openapi import FILE, NOTHING, Operation, describe
from wikisync.service.projects import acts, edits, parts, reading

Handler = Callable[[Call], Awaitable[web.StreamResponse]]
Admission = Callable[[Call], Awaitable[object]]
"""Refuses who may not send what a handler takes, by the head of the request alone."""
WikiHandler = Callable[[Call, OwnerKind], Awaitable[web.StreamResponse]]
T = TypeVar("T")
V = TypeVar("V")

# the first one fits the addresses of the second, too
_GIT_PARTS: dict[str, git_http.Part] = {".wiki.git": "wiki", ".git": "code"}
USUAL_STATUS = {"GET": 200, "POST": 201, "PUT": 200, "DELETE": 204}
_OWNERS: dict[str, OwnerKind] = {"projects": "project", "groups": "group"}
_AVATAR_PATH = "/uploads/-/system/project/avatar/{id}/{file_name}"
_UPLOAD_PATH = "/-/project/{id}/uploads/{secret}/{file_name}"
GitHandler = Callable[[Call, git_http.Part], Awaitable[web.StreamResponse]]
_GIT_ROUTES: tuple[tuple[routes.Method, str, GitHandler], ...] = (
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
NONE = tuple[()]
"""The answer of a list that is always empty."""
_EMPTY = (
    *(Other.EVENTS, Other.ISSUES, Other.MERGE_REQUESTS, Other.LABELS),
    Other.CLUSTER_AGENTS,
)
_WIKI_ROUTES: tuple[tuple[routes.Route, WikiHandler, object], ...] = (
    (Other.PAGES.route, wikis.list_pages, list[schema.WikiPageRecord]),
    (Other.PAGE_CREATE.route, wikis.create_page, schema.WikiPageRecord),
    (Other.ATTACHMENT.route, attachments.upload, schema.AttachmentRecord),
    (Other.PAGE.route, wikis.show_page, schema.WikiPageRecord),
    (Other.PAGE_EDIT.route, wikis.edit_page, schema.WikiPageRecord),
    (routes.WIKI_DELETE, wikis.delete_page, NOTHING),
    (Other.COMMENTS.route, comments.list_comments, list[schema.CommentRecord]),
    (routes.COMMENT, comments.show_comment, schema.CommentRecord),
    (Other.COMMENT_CREATE.route, comments.create_comment, schema.CommentRecord),
)
_OWNER_ROUTES: tuple[tuple[routes.Route, WikiHandler, object], ...] = (
    (Other.OWNER_SEARCH.route, search.search_owner, list[schema.BlobRecord]),
    (Other.MEMBERS.route, members.list_members, list[records.MemberRecord]),
    (Other.MEMBER_ADD.route, members.add_member, records.MemberRecord),
    (Other.ALL_MEMBERS.route, members.list_all_members, list[records.MemberRecord]),
    (routes.ANY_MEMBER, members.show_any_member, records.MemberRecord),
    (routes.MEMBER, members.show_member, records.MemberRecord),
    (Other.MEMBER_EDIT.route, members.edit_member, records.MemberRecord),
    (routes.MEMBER_REMOVE, members.remove_member, NOTHING),
)
"""Of projects and groups alike, in both editions."""
_API_ROUTES: tuple[tuple[routes.Route, Handler, object], ...] = (
    (routes.DESCRIPTION, show_description, dict[str, object]),
    (routes.VERSION, identity.show_version, schema.VersionRecord),
    (routes.METADATA, identity.show_metadata, schema.MetadataRecord),
    (routes.CURRENT_USER, identity.show_user, schema.CurrentUserRecord),
    (routes.CURRENT_TOKEN, identity.show_token, schema.TokenRecord),
    (Endpoint.LIST.route, reading.list_projects, PROJECTS),
    (Endpoint.CREATE.route, edits.create_project, PROJECT),
    (Endpoint.CREATE_FOR_USER.route, edits.create_project_for_user, PROJECT),
    (Endpoint.SHOW.route, reading.show_project, PROJECT),
    (Endpoint.EDIT.route, edits.edit_project, PROJECT),
    (Endpoint.DELETE.route, acts.delete_project, schema.MessageRecord),
    (Other.BRANCHES.route, parts.list_branches, list[records.BranchRecord]),
    *((one.route, parts.empty_list(one), NONE) for one in _EMPTY),
    (Endpoint.USERS.route, reading.list_users, list[schema.UserRecord]),
    (Endpoint.GROUPS.route, reading.list_groups, list[records.ProjectGroupRecord]),
    (
        Endpoint.SHARE_LOCATIONS.route,
        reading.list_share_locations,
        list[records.ProjectGroupRecord],
    ),
    (Endpoint.STARRERS.route, reading.list_starrers, list[records.StarrerRecord]),
    (Endpoint.LANGUAGES.route, reading.show_languages, dict[str, float]),
    (routes.PROJECT_IMPORT, reading.show_import, records.ImportRecord),
    (Endpoint.FORK_LIST.route, reading.list_forks, PROJECTS),
    (Endpoint.FORK.route, acts.fork_project, PROJECT),
    (Endpoint.STAR.route, acts.star_project, PROJECT),
    (Endpoint.UNSTAR.route, acts.unstar_project, PROJECT),
    (Endpoint.ARCHIVE.route, acts.archive_project, PROJECT),
    (Endpoint.UNARCHIVE.route, acts.unarchive_project, PROJECT),
    (Other.TRANSFER.route, edits.transfer_project, PROJECT),
    (Endpoint.RESTORE.route, acts.restore_project, PROJECT),
    (Endpoint.SHARE.route, acts.share_project, records.ShareRecord),
    (Endpoint.UNSHARE.route, acts.unshare_project, NOTHING),
    (Endpoint.UPLOAD.route, parts.upload_file, records.UploadRecord),
    (routes.PROJECT_UPLOAD_GET, parts.show_upload, FILE),
    (Endpoint.IMPORT_MEMBERS.route, acts.import_members, records.MembersImportRecord),
    (
        routes.PROJECT_CUSTOM_ATTRIBUTES,
        acts.list_custom_attributes,
        list[records.CustomAttributeRecord],
    ),
    (
        routes.PROJECT_CUSTOM_ATTRIBUTE,
        acts.show_custom_attribute,
        records.CustomAttributeRecord,
    ),
    (
        Other.SET_CUSTOM_ATTRIBUTE.route,
        acts.set_custom_attribute,
        records.CustomAttributeRecord,
    ),
    (routes.PROJECT_DELETE_CUSTOM_ATTRIBUTE, acts.delete_custom_attribute, NOTHING),
    (Endpoint.USER_LIST.route, reading.list_user_projects, PROJECTS),
    (Endpoint.CONTRIBUTED_LIST.route, reading.list_contributed_projects, PROJECTS),
    (Endpoint.STARRED_LIST.route, reading.list_starred_projects, PROJECTS),
    (Other.USERS.route, identity.list_users, list[schema.UserRecord]),
    (routes.USER, identity.show_user_of_id, records.OwnerRecord),
    (Other.SEARCH.route, search.search_everywhere, list[schema.BlobRecord]),
    (Other.GROUPS.route, groups.list_groups, list[schema.GroupRecord]),
    (Other.GROUP_CREATE.route, groups.create_group, schema.GroupRecord),
    (routes.GROUP, groups.show_group, schema.GroupRecord),
    (Other.GROUP_PROJECTS.route, groups.list_group_projects, PROJECTS),
    (
        Other.DESCENDANT_GROUPS.route,
        groups.list_descendant_groups,
        list[schema.GroupRecord],
    ),
    (Other.SUBGROUPS.route, groups.list_subgroups, list[schema.GroupRecord]),
)
"""Each with what it answers, as a type that JSON is decoded into."""
_STATUSES = {Endpoint.DELETE.route: 202}
_PAID = frozenset({Endpoint.RESTORE.route})
"""Routes of the paid editions alone, beside those of groups' wikis."""
_UNCHANGED = frozenset({Endpoint.STAR.route, Endpoint.UNSTAR.route})
"""Changes that say so (304) where there is nothing to change."""

_WRITES_WIKI = frozenset({wikis.create_page, wikis.edit_page, attachments.upload})
_ADMISSIONS: dict[Handler, Admission] = {
    parts.upload_file: lambda call: call.project_for(Act.UPLOAD),
    edits.edit_project: lambda call: call.project_for(Act.EDIT),
}


class Target(Struct, frozen=True):
    """What answers one route."""

    handler: Handler
    function: object
    """The handler without what is around it, which says what is asked for."""
    kind: OwnerKind | None = None
    """Whose wiki it is about."""
    admit: Admission | None = None
    """Asked before a body is read that is not small; None where none is read."""
    reads_own_body: bool = False


def route_table() -> list[tuple[str, str, Target]]:
    """Every route by method and template, the more particular ones first."""
    table: list[tuple[str, str, Target]] = []
    for route, handler, _answer in _API_ROUTES:
        handle, admit = handler, None
        if route.method != "GET":
            admit = _ADMISSIONS.get(handler, Call.signed_in)
            handle = _after_sign_in(handle)
        if route in _PAID:
            handle = _paid(handle)
        path = routes.API_PREFIX + route.template
        table.append((route.method, path, Target(handle, handler, admit=admit)))
    for segment, kind in _OWNERS.items():
        for route, wiki_handler, _answer in _WIKI_ROUTES:
            template = routes.API_PREFIX + route.template.replace("{owner}", segment)
            is_write = wiki_handler in _WRITES_WIKI
            target = Target(
                _for(kind, wiki_handler),
                wiki_handler,
                kind,
                _for(kind, _admit_writer) if is_write else None,
            )
            table.append((route.method, template, target))
        for route, owner_handler, _answer in _OWNER_ROUTES:
            template = routes.API_PREFIX + route.template.replace("{owner}", segment)
            handle = _bound(owner_handler, kind)
            if route.method != "GET":
                handle = _after_sign_in(handle)
            table.append((route.method, template, Target(handle, owner_handler, kind)))
    for suffix, part in _GIT_PARTS.items():
        for method, path, git_handler in _GIT_ROUTES:
            handle = _bound(git_handler, part)
            target = Target(handle, git_handler, reads_own_body=method == "POST")
            table.append((method, "/{full_path}" + f"{suffix}/{path}", target))
    code_file = parts.show_code_file
    shows: list[tuple[str, Handler]] = [
        (_UPLOAD_PATH, parts.show_upload),
        ("/{full_path}/-/blob/{path}", code_file),
        ("/{full_path}/-/raw/{path}", code_file),
        (_AVATAR_PATH, parts.show_avatar),
        (attachments.SIGN_IN_PATH, attachments.show_sign_in),
    ]
    table += [("GET", path, Target(show, show)) for path, show in shows]
    for prefix, kind in (("/groups/{full_path}", "group"), ("/{full_path}", "project")):
        target = Target(
            _for(kind, wikis.show_for_browser), wikis.show_for_browser, kind
        )
        table += [
            ("GET", prefix + "/-/wikis" + path, target) for path in ("", "/{path}")
        ]
    return table


def operations(*, is_enterprise: bool) -> Iterator[Operation]:
    """What the API offers in one of the two editions."""
    for route, handler, answer in _API_ROUTES:
        if is_enterprise or route not in _PAID:
            yield _operation(route, handler, answer, is_free=not is_enterprise)
    for segment, kind in _OWNERS.items():
        has_wiki = is_enterprise or kind != "group"
        for route, owner_handler, answer in (
            *(_WIKI_ROUTES if has_wiki else ()),
            *_OWNER_ROUTES,
        ):
            yield _operation(
                route, owner_handler, answer, segment, is_free=not is_enterprise
            )


def _operation(
    route: routes.Route,
    handler: Handler | WikiHandler,
    answer: object,
    owner: str = "",
    *,
    is_free: bool,
) -> Operation:
    endpoint = _ENDPOINTS.get(route)
    name = endpoint or handler.__name__
    return Operation(
        method=route.method,
        template=route.template.replace("{owner}", owner),
        name=f"{owner}_{name}" if owner else name,
        about=handler.__doc__ or "",
        endpoint=endpoint,
        answer=answer,
        status=_STATUSES.get(route, USUAL_STATUS[route.method]),
        is_free=is_free,
        may_be_unchanged=route.method == "GET" or route in _UNCHANGED,
    )


_ENDPOINTS = {endpoint.route: endpoint for endpoint in ENDPOINTS}


@cache
def _description(url: str, version: str, is_enterprise: bool) -> bytes:
    return describe(operations(is_enterprise=is_enterprise), url, version)


def _after_sign_in(handler: Handler) -> Handler:
    """A change that says nothing, not even what it takes, before it knows who asks."""

    async def handle(call: Call) -> web.StreamResponse:
        await call.signed_in()
        return await handler(call)

    return handle


async def _admit_writer(call: Call, kind: OwnerKind) -> None:
    await call.wiki(kind, WikiOperation.WRITE)


def _for(
    kind: OwnerKind, handler: Callable[[Call, OwnerKind], Awaitable[T]]
) -> Callable[[Call], Awaitable[T]]:
    handle = _bound(handler, kind)
    return _paid(handle) if kind == "group" else handle


def _bound(
    handler: Callable[[Call, V], Awaitable[T]], value: V
) -> Callable[[Call], Awaitable[T]]:
    return lambda call: handler(call, value)


def _paid(handler: Callable[[Call], Awaitable[T]]) -> Callable[[Call], Awaitable[T]]:
    """What the free edition has no route for."""

    def handle(call: Call) -> Awaitable[T]:
        if call.service.is_free:
            raise unmatched_route()
        return handler(call)

    return handle

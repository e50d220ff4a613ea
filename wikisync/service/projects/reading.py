"""Reading projects: one, the lists of them, and who and what belongs to one."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from aiohttp import web
from msgspec.structs import replace

from wikisync.contract.parameters import parameters_of
from wikisync.contract.project_schema import AccessLevel, ImportRecord
from wikisync.contract.routes import AnyEndpoint, Endpoint
from wikisync.service import answers, jobs
from wikisync.service.call import Call, Caller
from wikisync.service.listing import Base, ProjectQuery, find_project_ids, read_projects
from wikisync.service.parameters import Window, keyset_headers, paginate
from wikisync.service.projects import people, views
from wikisync.service.projects import tables as project_tables
from wikisync.service.rows import Group, Project, User
from wikisync.service.tables import Tables

T = TypeVar("T")
Values = Mapping[str, Any]

_ADMIN_ORDERS = parameters_of(Endpoint.LIST)["order_by"].choice_roles
"""Orders of projects that are for administrators alone."""


_NO_KEYSET = "Keyset pagination is not yet available for this type of request"
_OFFSET = (
    "Offset pagination has a maximum allowed offset of {} for requests that return"
    " objects of type Project. Remaining records can be retrieved using keyset"
    " pagination."
)


async def list_projects(call: Call) -> web.Response:
    """``GET /projects``; anonymous callers get public ones in the simple view."""
    return await answer_list(call)


async def list_user_projects(call: Call) -> web.Response:
    """``GET /users/:user_id/projects``: the user's own, contributed or starred ones."""
    call.list_values()
    caller = await call.caller()
    user = await call.user()
    is_self = caller.user_id == user.id
    if user.has_private_profile and not (caller.is_admin or is_self):
        # the same answer, headers too, as for someone without projects
        return await answer_list(call, "none")
    base: Base = "user"
    if call.endpoint is not Endpoint.USER_LIST:
        is_starred = call.endpoint is Endpoint.STARRED_LIST
        base = "starred" if is_starred else "contributed"
    return await answer_list(call, base, user.id)


async def list_forks(call: Call) -> web.Response:
    """``GET /projects/:id/forks``: those that the caller may see."""
    call.list_values()
    project = await call.project(await call.caller())
    return await answer_list(call, "forks", project.id)


async def show_project(call: Call) -> web.Response:
    """``GET /projects/:id``; open to everyone for a public project."""
    values = call.values()
    caller = await call.caller()
    project = await call.project(caller)
    return await answer_project(call, caller, project.id, values)


async def answer_project(
    call: Call,
    caller: Caller,
    project_id: int,
    values: Values | None = None,
    *,
    status: int = 200,
) -> web.Response:
    """One project in the single view, as it is now."""
    values = values or {}
    if values.get("statistics"):
        await jobs.measure(call.service, [project_id])
    found = await call.ask(read_projects, [project_id], caller.user_id)
    if not found:
        raise answers.not_found("Project")
    extras = await read_extras(call, caller, found, values, is_single=True)
    body = views.project_view(call, caller, found[0], extras)
    return answers.json_answer(body, status=status)


async def list_users(call: Call) -> web.Response:
    """``GET /projects/:id/users``: its members, inherited ones too."""
    values, _caller, project, window = await read_part(call)
    space, search = project.namespace.id, str(values.get("search") or "")
    found = await call.ask(people.members, project.id, space, search)
    skipped = frozenset(values.get("skip_users") or ())
    users = [user for user, _level in found if user.id not in skipped]
    return answer_part(call, users, window, partial(views.user_record, call))


async def list_groups(call: Call) -> web.Response:
    """``GET /projects/:id/groups``: those above it, and shared ones when asked."""
    values, caller, project, window = await read_part(call)
    groups = [*await call.ask(people.ancestors, project.namespace.id, caller.user_id)]
    if values.get("with_shared"):
        least = int(values.get("shared_min_access_level") or 0)
        shares = await call.ask(people.shares, [project.id])
        ids = [share.group_id for share in shares if share.access_level >= least]
        shared = await call.ask(people.groups_by_id, ids, caller.user_id)
        known = {group.id for group in groups}
        groups += [
            group for group in shared if group.id not in known and caller.sees(group)
        ]
    skipped = frozenset(values.get("skip_groups") or ())
    wanted = [
        group for group in groups if group.id not in skipped and _matches(group, values)
    ]
    return answer_part(call, wanted, window, partial(views.project_group_view, call))


async def list_share_locations(call: Call) -> web.Response:
    """``GET /projects/:id/share_locations``: the caller's groups to share with."""
    values, caller, project, window = await read_part(call)
    if caller.user is None:
        raise answers.unauthorized()
    membership = project.membership(caller.user)
    if not membership.has(AccessLevel.MAINTAINER):
        return answer_part(call, [], window)
    above = await call.ask(people.ancestors, project.namespace.id, caller.user_id)
    shares = await call.ask(people.shares, [project.id])
    taken = {group.id for group in above} | {share.group_id for share in shares}
    groups = await call.ask(Tables.groups, caller.user_id)
    wanted = [
        group
        for group in groups
        if group.id not in taken
        and group.membership(caller.user).is_member
        and (_matches(group, values) or _search(values) in group.full_path.lower())
    ]
    return answer_part(call, wanted, window, partial(views.project_group_view, call))


async def list_starrers(call: Call) -> web.Response:
    """``GET /projects/:id/starrers``."""
    values, caller, project, window = await read_part(call)
    found = await call.ask(
        people.starrers, project.id, str(values.get("search") or ""), caller.user
    )
    entries = [
        {"starred_since": since, "user": views.user_record(call, user)}
        for since, user in found
    ]
    return answer_part(call, entries, window)


async def show_languages(call: Call) -> web.Response:
    """``GET /projects/:id/languages``: percent of the bytes by language."""
    project = await call.project(await call.caller())
    found = await call.ask(project_tables.languages, project.id)
    return answers.json_answer(found)


async def show_import(call: Call) -> web.Response:
    """``GET /projects/:id/import``: how far a fork or an import is."""
    caller = await call.caller()
    project = await call.project(caller)
    error = project.origin.error
    if error is not None:
        is_shown = project.membership(caller.user).has(AccessLevel.MAINTAINER)
        error = error if is_shown else "Ask a maintainer for the reason."
    return answers.json_answer(
        ImportRecord(
            **answers.fields_of(project, "id description name path created_at"),
            path_with_namespace=project.full_path,
            import_status=project.origin.status,
            import_type=project.origin.type,
            import_error=error,
        )
    )


async def answer_list(call: Call, base: Base = "all", base_id: int = 0) -> web.Response:
    """One page of the projects that the caller may see and the filters leave."""
    values, window = call.list_values()
    caller = await call.caller()
    assert call.endpoint is not None, "lists are of the API"
    query = read_query(call.endpoint, values, caller)
    query = replace(query, base=base, base_id=base_id)
    service, limits = call.service, call.service.limits
    check_filters(query, limits.filters_max)
    is_keyset = values.get("pagination") == "keyset"
    if is_keyset and query.order_by != "id":
        raise answers.Refusal(405, {"error": _NO_KEYSET})
    if not is_keyset and window.page * window.per_page > limits.offset_rows_max:
        text = _OFFSET.format(limits.offset_rows_max)
        raise answers.Refusal(405, {"error": text})
    if query.order_by in _ADMIN_ORDERS:
        # of very many that changed the rest is measured soon, and not waited for
        await jobs.measure(service)
    most = max(limits.counted_rows_max, window.page * window.per_page) + 1
    ids = await service.records.ask(
        find_project_ids, query, caller.user, window.per_page if is_keyset else most
    )
    shown: Mapping[str, object] = {
        "page": window.page,
        "per_page": window.per_page,
        "order_by": query.order_by,
        "sort": "desc" if query.is_descending else "asc",
        "simple": str(bool(values.get("simple"))).lower(),
        **call.raw,
    }
    url = call.service.url + call.request.path
    part: Sequence[int]
    if is_keyset:
        part = ids
        headers = keyset_headers(
            ids, url=url, parameters=shown, is_descending=query.is_descending
        )
    else:
        part, headers = paginate(ids, window, url=url, parameters=shown, limits=limits)
    return await _answer_ids(call, caller, part, values, headers)


def read_query(endpoint: AnyEndpoint, values: Values, caller: Caller) -> ProjectQuery:
    """What the typed parameters of a list ask for; 400 if two do not go together."""
    order_by = values.get("order_by") or "created_at"
    search = str(values.get("search") or "").strip()
    is_admin = caller.is_admin
    is_membership = bool(values.get("membership"))
    if order_by in _ADMIN_ORDERS and not is_admin:
        order_by = "created_at"
    if order_by == "similarity":
        is_near = bool(search) and caller.user is not None
        is_membership = is_membership or is_near
        order_by = "similarity" if is_near else "created_at"
    if (
        endpoint is Endpoint.LIST
        and order_by != "updated_at"
        and (values.get("updated_after") or values.get("updated_before"))
    ):
        raise answers.bad_request(
            "400 Bad request - `updated_at` filter and `updated_at` sorting"
            " must be paired"
        )
    topics = str(values.get("topic") or "").split(",")
    is_above_levels = caller.user is None or (
        is_admin and endpoint is Endpoint.USER_LIST
    )
    roles = {row.name: row.role for row in parameters_of(endpoint).values()}
    filters = {
        name: value
        for name, value in values.items()
        if name in ProjectQuery.__struct_fields__
        and value not in (None, "")
        and (is_admin or roles[name] != "admin")
    }
    own = {
        "order_by": order_by,
        "is_descending": values.get("sort") != "asc",
        "imported": bool(values.get("imported")) and caller.user is not None,
        "membership": is_membership,
        "min_access_level": 0 if is_above_levels else values.get("min_access_level"),
        "search": search,
        "topics": tuple(topic.strip() for topic in topics if topic.strip()),
    }
    return ProjectQuery(**(filters | own))


def check_filters(query: ProjectQuery, filters_max: int) -> None:
    """Refuse (400) a list that would be compared with each project too many times."""
    counts = {
        "search": len(query.search.split()),
        "topic": len(query.topics),
        "custom_attributes": len(query.custom_attributes),
    }
    problems = [
        f"{name} has more than {filters_max} parts"
        for name, count in counts.items()
        if count > filters_max
    ]
    if problems:
        raise answers.bad_parameters(problems)


async def read_extras(
    call: Call,
    caller: Caller,
    projects: Sequence[Project],
    values: Values,
    *,
    is_single: bool = False,
) -> views.Extras:
    """What views need beside the projects, each kind asked for once."""
    ids = [project.id for project in projects]
    shares: dict[int, list[people.Share]] = {}
    every = await call.ask(people.shares, ids)
    for share in every:
        shares.setdefault(share.project_id, []).append(share)
    visible: frozenset[int] = frozenset()
    if every:
        groups = await call.ask(
            people.groups_by_id, {share.group_id for share in every}, caller.user_id
        )
        visible = frozenset(group.id for group in groups if caller.sees(group))
    owners: dict[int, User] = {}
    for owner_id in {project.owner_id for project in projects} - {None}:
        owner = await call.ask(Tables.user_by_id, cast("int", owner_id))
        if owner is not None:
            owners[owner.id] = owner
    custom = None
    if caller.is_admin and values.get("with_custom_attributes"):
        custom = await call.ask(project_tables.custom_attributes, ids)
    sources = None
    if is_single:
        wanted = [p.forked_from for p in projects if p.forked_from is not None]
        found = await call.ask(read_projects, wanted, caller.user_id)
        sources = {source.id: source for source in found if caller.sees(source)}
    return views.Extras(
        shares=shares,
        visible_groups=visible,
        owners=owners,
        custom_attributes=custom,
        with_statistics=bool(values.get("statistics")),
        with_license=bool(values.get("license")),
        sources=sources,
    )


async def _answer_ids(
    call: Call,
    caller: Caller,
    ids: Sequence[int],
    values: Values,
    headers: dict[str, str],
) -> web.Response:
    is_simple = bool(values.get("simple")) or caller.user is None
    if values.get("statistics") and not is_simple:
        await jobs.measure(call.service, list(ids))
    found = await call.ask(read_projects, ids, caller.user_id)
    if is_simple:
        bodies = [views.simple_view(call, caller, project) for project in found]
    else:
        extras = await read_extras(call, caller, found, values)
        bodies = [
            views.project_view(call, caller, project, extras) for project in found
        ]
    return answers.json_answer(bodies, headers=headers)


async def read_part(call: Call) -> tuple[Values, Caller, Project, Window]:
    """Parameters, caller and project of a list of what belongs to a project."""
    values, window = call.list_values()
    caller = await call.caller()
    return values, caller, await call.project(caller), window


def answer_part(
    call: Call,
    rows: Sequence[T],
    window: Window,
    view: Callable[[T], object] = lambda row: row,
) -> web.Response:
    """One page of a list, each row as the view shows it."""
    url, limits = call.service.url + call.request.path, call.service.limits
    part, headers = paginate(rows, window, url=url, parameters=call.raw, limits=limits)
    return answers.json_answer([view(row) for row in part], headers=headers)


def _matches(group: Group, values: Values) -> bool:
    search = _search(values)
    return search in group.name.lower() or search in group.path.lower()


def _search(values: Values) -> str:
    return str(values.get("search") or "").lower()

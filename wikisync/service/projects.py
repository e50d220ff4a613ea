"""Projects: one, and the list of all that the caller may know of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from wikisync.service.access import Level, Verdict, judge_container
from wikisync.service.answers import json_answer
from wikisync.service.call import Call, Caller
from wikisync.service.pagination import Window, paginate, read_window
from wikisync.service.parameters import Parameters
from wikisync.service.rows import Project
from wikisync.service.settings import Limits
from wikisync.service.tables import Tables

_ORDERS: dict[str, Callable[[Project], int | str]] = {
    "id": lambda project: project.id,
    "name": lambda project: project.name,
    "path": lambda project: project.path,
    "created_at": lambda project: project.created_at,
    "updated_at": lambda project: project.updated_at,
    "last_activity_at": lambda project: project.last_activity_at,
}


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of projects is narrowed to, and its order and page."""

    window: Window
    order_by: str
    is_descending: bool
    is_simple: bool
    search: str
    visibility: str
    is_archived: bool | None
    is_membership: bool
    is_owned: bool
    level_min: int


def read_filters(parameters: Parameters, limits: Limits) -> Filters:
    """Read the list parameters of the API's section 4.3 that concern wikis."""
    return Filters(
        window=read_window(parameters, limits),
        order_by=parameters.choice("order_by", tuple(_ORDERS), "created_at"),
        is_descending=parameters.choice("sort", ("asc", "desc"), "desc") == "desc",
        is_simple=parameters.boolean("simple"),
        search=(parameters.text("search") or "").lower(),
        visibility=parameters.choice(
            "visibility", ("public", "internal", "private"), ""
        ),
        is_archived=parameters.maybe_boolean("archived"),
        is_membership=parameters.boolean("membership"),
        is_owned=parameters.boolean("owned"),
        level_min=_level_min(parameters),
    )


async def show_project(call: Call) -> web.Response:
    """``GET /projects/:id``; open to everyone for a public project."""
    caller = await call.caller()
    project = await call.project(caller)
    return json_answer(project_view(call, caller, project))


async def list_projects(call: Call) -> web.Response:
    """``GET /projects``; anonymous callers get public ones in the simple view."""
    parameters = call.parameters()
    filters = read_filters(parameters, call.service.settings.limits)
    parameters.check()
    caller = await call.caller()
    projects = await call.service.records.ask(Tables.projects, caller.user_id)
    return answer_projects(call, caller, projects, filters)


def answer_projects(
    call: Call, caller: Caller, projects: Sequence[Project], filters: Filters
) -> web.Response:
    """One page of the projects that the caller may see and the filters leave."""
    seen = [project for project in projects if _is_wanted(project, caller, filters)]
    key = _ORDERS[filters.order_by]
    seen.sort(
        key=lambda project: (key(project), project.id),
        reverse=filters.is_descending,
    )
    part, headers = paginate(
        seen,
        filters.window,
        url=call.service.url + call.request.path,
        parameters={
            "order_by": filters.order_by,
            "sort": "desc" if filters.is_descending else "asc",
            "simple": str(filters.is_simple).lower(),
            **call.raw,
        },
        counted_rows_max=call.service.settings.limits.counted_rows_max,
    )
    view = simple_view if filters.is_simple or caller.user is None else project_view
    return json_answer(
        [view(call, caller, project) for project in part], headers=headers
    )


def simple_view(call: Call, _caller: Caller, project: Project) -> dict[str, object]:
    """A project as everyone may see it."""
    url = f"{call.service.url}/{project.full_path}"
    space = project.namespace
    groups = "/groups" if space.kind == "group" else ""
    return {
        "id": project.id,
        "description": project.description,
        "name": project.name,
        "name_with_namespace": f"{space.name} / {project.name}",
        "path": project.path,
        "path_with_namespace": project.full_path,
        "created_at": project.created_at,
        "default_branch": None,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": f"git@{_host(call)}:{project.full_path}.git",
        "http_url_to_repo": f"{url}.git",
        "web_url": url,
        "avatar_url": None,
        "star_count": 0,
        "last_activity_at": project.last_activity_at,
        "visibility": project.visibility,
        "namespace": {
            "id": space.id,
            "name": space.name,
            "path": space.path,
            "kind": space.kind,
            "full_path": space.full_path,
            "parent_id": space.parent_id,
            "avatar_url": None,
            "web_url": f"{call.service.url}{groups}/{space.full_path}",
        },
    }


def project_view(call: Call, caller: Caller, project: Project) -> dict[str, object]:
    """A project as someone signed in sees it."""
    body = simple_view(call, caller, project)
    api = f"{call.service.url}/api/v4/projects/{project.id}"
    standing = project.standing(caller.user)
    wiki = project.wiki_access_level
    body |= {
        "_links": {"self": api, "events": f"{api}/events", "members": f"{api}/members"},
        "archived": project.is_archived,
        "creator_id": project.creator_id,
        "empty_repo": True,
        "updated_at": project.updated_at,
        "wiki_access_level": wiki,
        "wiki_enabled": wiki == "enabled" or (wiki == "private" and standing.is_member),
        "shared_with_groups": [],
    }
    if caller.user is not None:
        body["permissions"] = {
            "project_access": _access(project.project_level),
            "group_access": _access(project.group_level),
        }
        if project.owner_id == caller.user.id:
            body["owner"] = {
                "id": caller.user.id,
                "name": caller.user.name,
                "created_at": caller.user.created_at,
            }
    return body


def _is_wanted(project: Project, caller: Caller, filters: Filters) -> bool:
    standing = project.standing(caller.user)
    return (
        judge_container(project.visibility, standing) is Verdict.ALLOWED
        and filters.visibility in {"", project.visibility}
        and filters.is_archived in {None, project.is_archived}
        and (not filters.is_membership or standing.level >= Level.GUEST)
        and (not filters.is_owned or standing.level >= Level.OWNER)
        and standing.level >= filters.level_min
        and any(
            filters.search in (text or "").lower()
            for text in (project.path, project.name, project.description)
        )
    )


def _level_min(parameters: Parameters) -> int:
    level = parameters.integer("min_access_level")
    if level is not None and level not in set(Level):
        parameters.refuse_value("min_access_level")
    return level or 0


def _access(level: int) -> dict[str, int] | None:
    return {"access_level": level, "notification_level": 3} if level else None


def _host(call: Call) -> str:
    return call.service.url.partition("://")[2].partition("/")[0].partition(":")[0]

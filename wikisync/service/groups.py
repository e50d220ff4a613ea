"""Groups: one, all, those below one, and the projects in one."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from wikisync.api.endpoints import OtherEndpoint
from wikisync.service.answers import json_answer
from wikisync.service.call import Call, Caller
from wikisync.service.listing import Base
from wikisync.service.projects.reading import answer_list, answer_part
from wikisync.service.projects.views import project_group_view
from wikisync.service.rows import Group
from wikisync.service.tables import Tables


async def show_group(call: Call) -> web.Response:
    """``GET /groups/:id``."""
    caller = await call.caller()
    group = await call.group(caller)
    return json_answer(group_view(call, group))


async def list_groups(call: Call) -> web.Response:
    """``GET /groups``: every group that the caller may know of."""
    caller = await call.caller()
    groups = await call.service.records.ask(Tables.groups, caller.user_id)
    return _answer(call, caller, groups, OtherEndpoint.GROUPS)


async def list_descendant_groups(call: Call) -> web.Response:
    """``GET /groups/:id/descendant_groups``."""
    return await _list_below(call, OtherEndpoint.DESCENDANT_GROUPS)


async def list_subgroups(call: Call) -> web.Response:
    """``GET /groups/:id/subgroups``."""
    return await _list_below(call, OtherEndpoint.SUBGROUPS)


async def list_group_projects(call: Call) -> web.Response:
    """``GET /groups/:id/projects``, with those of subgroups when asked."""
    values, _window = call.list_values(OtherEndpoint.GROUP_PROJECTS)
    caller = await call.caller()
    group = await call.group(caller)
    base: Base = "subtree" if values.get("include_subgroups") else "group"
    return await answer_list(call, OtherEndpoint.GROUP_PROJECTS, base, group.id)


def group_view(call: Call, group: Group) -> dict[str, object]:
    """A group as the API shows it."""
    return project_group_view(call, group) | {
        "path": group.path,
        "description": group.description,
        "visibility": group.visibility,
        "created_at": group.created_at,
        "parent_id": group.parent_id,
        "wiki_access_level": group.wiki_access_level,
    }


async def _list_below(call: Call, endpoint: OtherEndpoint) -> web.Response:
    caller = await call.caller()
    group = await call.group(caller)
    groups = await call.service.records.ask(
        Tables.groups,
        caller.user_id,
        below=group.id,
        is_deep=endpoint is OtherEndpoint.DESCENDANT_GROUPS,
    )
    return _answer(call, caller, groups, endpoint)


def _answer(
    call: Call, caller: Caller, groups: Sequence[Group], endpoint: OtherEndpoint
) -> web.Response:
    values, window = call.list_values(endpoint)
    search = str(values.get("search") or "").lower()
    # no group here is archived or marked for deletion
    seen = [
        group
        for group in groups
        if values.get("active") is not False
        and caller.sees(group)
        and (search in group.name.lower() or search in group.full_path.lower())
    ]
    return answer_part(call, seen, window, lambda group: group_view(call, group))

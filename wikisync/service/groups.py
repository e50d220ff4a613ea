"""Groups: one, all, those below one, and the projects in one."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from wikisync.api.parameters import Endpoint
from wikisync.service.access import Verdict, judge_container
from wikisync.service.answers import json_answer
from wikisync.service.call import Call, Caller
from wikisync.service.listing import Base
from wikisync.service.pagination import paginate, read_window
from wikisync.service.projects import answer_list
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
    return _answer(call, caller, groups)


async def list_descendant_groups(call: Call) -> web.Response:
    """``GET /groups/:id/descendant_groups``."""
    return await _list_below(call, is_deep=True)


async def list_subgroups(call: Call) -> web.Response:
    """``GET /groups/:id/subgroups``."""
    return await _list_below(call, is_deep=False)


async def list_group_projects(call: Call) -> web.Response:
    """``GET /groups/:id/projects``, with those of subgroups when asked."""
    parameters = call.parameters()
    is_deep = parameters.boolean("include_subgroups")
    parameters.check()
    call.list_values(Endpoint.USER_LIST)
    caller = await call.caller()
    group = await call.group(caller)
    # the filters are those of a user's list
    base: Base = "subtree" if is_deep else "group"
    return await answer_list(call, Endpoint.USER_LIST, base, group.id)


def group_view(call: Call, group: Group) -> dict[str, object]:
    """A group as the API shows it."""
    return {
        "id": group.id,
        "web_url": f"{call.service.url}/groups/{group.full_path}",
        "name": group.name,
        "path": group.path,
        "description": group.description,
        "visibility": group.visibility,
        "avatar_url": None,
        "full_name": group.full_name,
        "full_path": group.full_path,
        "created_at": group.created_at,
        "parent_id": group.parent_id,
        "wiki_access_level": group.wiki_access_level,
    }


async def _list_below(call: Call, *, is_deep: bool) -> web.Response:
    caller = await call.caller()
    group = await call.group(caller)
    groups = await call.service.records.ask(
        Tables.groups, caller.user_id, below=group.id, is_deep=is_deep
    )
    return _answer(call, caller, groups)


def _answer(call: Call, caller: Caller, groups: Sequence[Group]) -> web.Response:
    parameters = call.parameters()
    limits = call.service.settings.limits
    window = read_window(parameters, limits)
    search = (parameters.text("search") or "").lower()
    parameters.check()
    seen = [
        group
        for group in groups
        if judge_container(group.visibility, group.standing(caller.user))
        is Verdict.ALLOWED
        and (search in group.name.lower() or search in group.full_path.lower())
    ]
    part, headers = paginate(
        seen,
        window,
        url=call.service.url + call.request.path,
        parameters=call.raw,
        counted_rows_max=limits.counted_rows_max,
    )
    return json_answer([group_view(call, group) for group in part], headers=headers)

"""Groups: one, all, those below one, and the projects in one; creating one."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from wikisync.contract.project_schema import AccessLevel
from wikisync.contract.routes import OtherEndpoint
from wikisync.errors import ServiceError
from wikisync.service import answers
from wikisync.service.access import Visibility
from wikisync.service.call import Call, Caller
from wikisync.service.listing import Base
from wikisync.service.projects.reading import answer_list, answer_part
from wikisync.service.projects.views import project_group_view
from wikisync.service.rows import Group
from wikisync.service.tables import Tables
from wikisync.service.validation import RANKS, Problems, path_problems


async def show_group(call: Call) -> web.Response:
    """``GET /groups/:id``."""
    caller = await call.caller()
    group = await call.group(caller)
    return answers.json_answer(group_view(call, group))


async def list_groups(call: Call) -> web.Response:
    """``GET /groups``: every group that the caller may know of."""
    caller = await call.caller()
    groups = await call.ask(Tables.groups, caller.user_id)
    return _answer(call, caller, groups)


async def create_group(call: Call) -> web.Response:
    """``POST /groups``: its creator is its owner; in another for its maintainers."""
    values = call.values()
    caller = await call.signed_in()
    parent: Group | None = None
    if values.get("parent_id") is not None:
        parent = await call.ask(Tables.group, str(values["parent_id"]), caller.user_id)
        if parent is None or not caller.sees(parent):
            raise answers.not_found("Group")
        if not parent.membership(caller.user).has(AccessLevel.MAINTAINER):
            raise answers.forbidden()
    problems = _problems(values, parent)
    if not problems:
        above = "" if parent is None else f"{parent.full_path}/"
        group_id = await call.ask(
            _add_group, above + values["path"], caller.person.id, values
        )
        if group_id is not None:
            group = await call.ask(Tables.group, str(group_id), caller.user_id)
            assert group is not None, "it was made just now"
            return answers.json_answer(group_view(call, group), status=201)
        problems = {"path": ["has already been taken"]}
    sentences = [f':{field}=>["{texts[0]}"]' for field, texts in problems.items()]
    raise answers.bad_request(f"Failed to save group {{{', '.join(sentences)}}}")


def _problems(values: Mapping[str, Any], parent: Group | None) -> Problems:
    found = {
        name: texts
        for name, texts in path_problems(values["path"]).items()
        if name == "path"
    }
    if not values["name"].strip():
        found["name"] = ["can't be blank"]
    visibility: Visibility = values.get("visibility") or "private"
    if parent is not None and RANKS[visibility] > RANKS[parent.visibility]:
        text = f"{visibility} is not allowed since the parent group has a"
        found["visibility_level"] = [f"{text} {parent.visibility} visibility."]
    return found


def _add_group(
    tables: Tables, full_path: str, owner_id: int, values: Mapping[str, Any]
) -> int | None:
    """Add a group that belongs to a user; None where its path is taken."""
    if tables.group(full_path, None) is not None:
        return None
    try:
        group_id = tables.add_group(
            full_path,
            name=values["name"],
            description=values.get("description") or "",
            visibility=values.get("visibility") or "private",
            wiki_access_level=values.get("wiki_access_level") or "enabled",
        )
    except ServiceError:
        return None  # a project or a user has it, or the service itself
    tables.add_member("group", group_id, owner_id, AccessLevel.OWNER)
    return group_id


async def list_groups_below(call: Call) -> web.Response:
    """``GET /groups/:id/subgroups``; /descendant_groups are all below it."""
    caller = await call.caller()
    group = await call.group(caller)
    is_deep = call.endpoint is OtherEndpoint.DESCENDANT_GROUPS
    groups = await call.ask(
        Tables.groups, caller.user_id, below=group.id, is_deep=is_deep
    )
    return _answer(call, caller, groups)


async def list_group_projects(call: Call) -> web.Response:
    """``GET /groups/:id/projects``, with those of subgroups when asked."""
    values, _window = call.list_values()
    caller = await call.caller()
    group = await call.group(caller)
    base: Base = "subtree" if values.get("include_subgroups") else "group"
    return await answer_list(call, base, group.id)


def group_view(call: Call, group: Group) -> dict[str, object]:
    """A group as the API shows it."""
    own = "path description visibility created_at parent_id wiki_access_level"
    return project_group_view(call, group) | answers.fields_of(group, own)


def _answer(call: Call, caller: Caller, groups: Sequence[Group]) -> web.Response:
    values, window = call.list_values()
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

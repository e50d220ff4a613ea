"""Groups, made and listed with their projects; and members of groups and projects."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from msgspec.structs import asdict

from wikisync.contract.project_schema import AccessLevel, MemberRecord
from wikisync.contract.routes import OtherEndpoint
from wikisync.core.model import OwnerKind
from wikisync.errors import ServiceError
from wikisync.service import answers
from wikisync.service.access import Visibility
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.listing import Base
from wikisync.service.projects import people
from wikisync.service.projects.reading import answer_list, answer_part
from wikisync.service.projects.views import project_group_view, user_record
from wikisync.service.rows import Group, Project, User
from wikisync.service.tables import Tables
from wikisync.service.validation import RANKS, Problems, path_problems

_ADMIN: dict[OwnerKind, AccessLevel] = {
    "project": AccessLevel.MAINTAINER,
    "group": AccessLevel.OWNER,
}
"""Least level of who changes members."""


async def show_group(call: Call) -> web.Response:
    """``GET /groups/:id``."""
    group = await call.group(await call.caller())
    return answers.json_answer(group_view(call, group))


async def list_groups(call: Call) -> web.Response:
    """``GET /groups``: every group that the caller may know of."""
    caller = await call.caller()
    groups = await call.ask(Tables.groups, caller.user_id)
    return _answer_groups(call, caller, groups)


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
    problems = _group_problems(values, parent)
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


def _group_problems(values: Mapping[str, Any], parent: Group | None) -> Problems:
    texts = path_problems(values["path"]).get("path")
    found: Problems = {"path": texts} if texts else {}
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
    return _answer_groups(call, caller, groups)


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


def _answer_groups(call: Call, caller: Caller, groups: Sequence[Group]) -> web.Response:
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


# -- members ----------------------------------------------------------------------


async def list_members(call: Call) -> web.Response:
    """``GET .../members``: its own; ``.../all``: by groups above and shares, too."""
    values, window = call.list_values()
    owner = await call.owner(await call.caller())
    wanted = str(values.get("query") or "").casefold()
    ids = values.get("user_ids")
    found = [
        one
        for one in await _members(call, owner)
        if wanted in f"{one.username}\n{one.name}".casefold()
        and (ids is None or one.id in ids)
    ]
    return answer_part(call, found, window)


async def show_member(call: Call) -> web.Response:
    """``GET .../members/:user_id``: one of its own, or of ``.../all``."""
    user_id = call.number("user_id")
    owner = await call.owner(await call.caller())
    for one in await _members(call, owner):
        if one.id == user_id:
            return answers.json_answer(one)
    raise _no_member()


async def add_member(call: Call) -> web.Response:
    """``POST .../members``; nobody makes somebody more than it is itself."""
    values = call.values()
    caller, owner = await _admin(call)
    level = int(str(values["access_level"]))
    _check_level(caller, owner, level)
    user: User | None
    if values.get("user_id") is not None:
        user = await call.ask(Tables.user_by_id, values["user_id"])
    else:
        user = await call.ask(Tables.user_named, str(values.get("username")))
    if user is None:
        raise answers.not_found("User")
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    if any(one.id == user.id for one, _level, _day in direct):
        raise answers.Refusal(409, {"message": "Member already exists"})
    last_day = values.get("expires_at")
    await _set_member(call, owner, user, level, last_day)
    return answers.json_answer(_member_record(call, user, level, last_day), status=201)


async def edit_member(call: Call) -> web.Response:
    """``PUT .../members/:user_id``: another level, another last day."""
    values = call.values()
    user_id = call.number("user_id")
    caller, owner = await _admin(call)
    user, before, last_day = await _direct_member(call, owner, user_id)
    level = int(str(values["access_level"]))
    _check_level(caller, owner, max(level, before))
    if level < AccessLevel.OWNER:
        await _check_owner_left(call, owner, user_id)
    if "expires_at" in values:
        last_day = values["expires_at"]
    await _set_member(call, owner, user, level, last_day)
    return answers.json_answer(_member_record(call, user, level, last_day))


async def remove_member(call: Call) -> web.Response:
    """``DELETE .../members/:user_id``; members may remove themselves."""
    user_id = call.number("user_id")
    caller = await call.signed_in()
    if user_id == caller.user_id:
        owner = await call.owner(caller)
        await _direct_member(call, owner, user_id)
    else:
        caller, owner = await _admin(call)
        _user, level, _day = await _direct_member(call, owner, user_id)
        _check_level(caller, owner, level)
    await _check_owner_left(call, owner, user_id)
    await call.ask(people.remove_member, call.kind, owner.id, user_id)
    return answers.no_content()


async def _members(call: Call, owner: Owner) -> list[MemberRecord]:
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    if call.endpoint not in {OtherEndpoint.ALL_MEMBERS, OtherEndpoint.ANY_MEMBER}:
        return [_member_record(call, *one) for one in direct]
    last_days = {user.id: last_day for user, _level, last_day in direct}
    if isinstance(owner, Project):
        every = await call.ask(people.members, owner.id, owner.namespace.id)
    else:
        every = await call.ask(people.members, 0, owner.id)
    return [
        _member_record(call, user, level, last_days.get(user.id))
        for user, level in every
    ]


def _member_record(
    call: Call, user: User, level: int, last_day: str | None
) -> MemberRecord:
    shown = asdict(user_record(call, user))
    return MemberRecord(**shown, access_level=level, expires_at=last_day)


async def _admin(call: Call) -> tuple[Caller, Owner]:
    caller = await call.signed_in()
    owner = await call.owner(caller)
    _check_level(caller, owner, _ADMIN[call.kind])
    return caller, owner


def _check_level(caller: Caller, owner: Owner, level: int) -> None:
    if not owner.membership(caller.user).has(level):
        raise answers.forbidden()


async def _direct_member(
    call: Call, owner: Owner, user_id: int
) -> tuple[User, int, str | None]:
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    for user, level, last_day in direct:
        if user.id == user_id:
            return user, level, last_day
    raise _no_member()


async def _check_owner_left(call: Call, owner: Owner, user_id: int) -> None:
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    owners = {user.id for user, level, _ in direct if level == AccessLevel.OWNER}
    if call.kind == "group" and owners == {user_id}:
        raise answers.forbidden()


async def _set_member(
    call: Call, owner: Owner, user: User, level: int, last_day: str | None
) -> None:
    """Note a membership; 400 for less than a group above gives, or a past day."""
    if last_day is not None and last_day < call.service.records.today():
        raise answers.invalid("expires_at", "cannot be a date in the past")
    above = owner.namespace.id if isinstance(owner, Project) else owner.parent_id
    inherited = await call.ask(people.inherited_level, above, user.id)
    if inherited is not None and level < inherited[0]:
        name = AccessLevel(inherited[0]).name.capitalize()
        raise answers.invalid(
            "access_level",
            f"should be greater than or equal to {name} inherited membership from"
            f" group {inherited[1]}",
        )
    await call.ask(
        Tables.add_member, call.kind, owner.id, user.id, level, expires_on=last_day
    )


def _no_member() -> answers.Refusal:
    return answers.Refusal(404, {"message": "404 Not found"})

"""Members of projects and groups: list, read, add, change, remove."""

from aiohttp import web
from msgspec.structs import asdict

from wikisync.contract.project_schema import AccessLevel, MemberRecord
from wikisync.contract.routes import OtherEndpoint
from wikisync.core.model import OwnerKind
from wikisync.service import answers
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.projects import people
from wikisync.service.projects.reading import answer_part
from wikisync.service.projects.views import user_record
from wikisync.service.rows import Project, User
from wikisync.service.tables import Tables

_ADMIN: dict[OwnerKind, AccessLevel] = {
    "project": AccessLevel.MAINTAINER,
    "group": AccessLevel.OWNER,
}
"""Least level of who changes members."""


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
    raise _absent()


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
    await _set(call, owner, user, level, last_day)
    return answers.json_answer(_record(call, user, level, last_day), status=201)


async def edit_member(call: Call) -> web.Response:
    """``PUT .../members/:user_id``: another level, another last day."""
    values = call.values()
    user_id = call.number("user_id")
    caller, owner = await _admin(call)
    user, before, last_day = await _direct(call, owner, user_id)
    level = int(str(values["access_level"]))
    _check_level(caller, owner, max(level, before))
    if level < AccessLevel.OWNER:
        await _check_owner_left(call, owner, user_id)
    if "expires_at" in values:
        last_day = values["expires_at"]
    await _set(call, owner, user, level, last_day)
    return answers.json_answer(_record(call, user, level, last_day))


async def remove_member(call: Call) -> web.Response:
    """``DELETE .../members/:user_id``; members may remove themselves."""
    user_id = call.number("user_id")
    caller = await call.signed_in()
    if user_id == caller.user_id:
        owner = await call.owner(caller)
        await _direct(call, owner, user_id)
    else:
        caller, owner = await _admin(call)
        _user, level, _day = await _direct(call, owner, user_id)
        _check_level(caller, owner, level)
    await _check_owner_left(call, owner, user_id)
    await call.ask(people.remove_member, call.kind, owner.id, user_id)
    return answers.no_content()


async def _members(call: Call, owner: Owner) -> list[MemberRecord]:
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    if call.endpoint not in {OtherEndpoint.ALL_MEMBERS, OtherEndpoint.ANY_MEMBER}:
        return [_record(call, *one) for one in direct]
    last_days = {user.id: last_day for user, _level, last_day in direct}
    if isinstance(owner, Project):
        every = await call.ask(people.members, owner.id, owner.namespace.id)
    else:
        every = await call.ask(people.members, 0, owner.id)
    return [_record(call, user, level, last_days.get(user.id)) for user, level in every]


def _record(call: Call, user: User, level: int, last_day: str | None) -> MemberRecord:
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


async def _direct(
    call: Call, owner: Owner, user_id: int
) -> tuple[User, int, str | None]:
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    for user, level, last_day in direct:
        if user.id == user_id:
            return user, level, last_day
    raise _absent()


async def _check_owner_left(call: Call, owner: Owner, user_id: int) -> None:
    direct = await call.ask(people.direct_members, call.kind, owner.id)
    owners = {user.id for user, level, _ in direct if level == AccessLevel.OWNER}
    if call.kind == "group" and owners == {user_id}:
        raise answers.forbidden()


async def _set(
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


def _absent() -> answers.Refusal:
    return answers.Refusal(404, {"message": "404 Not found"})

"""Who is who: /version, /metadata, /user, the token itself, and /users."""

from aiohttp import web
from msgspec import UNSET
from msgspec.structs import asdict

from wikisync.contract import schema
from wikisync.contract.project_schema import OwnerRecord
from wikisync.service.answers import fields_of, forbidden, json_answer, unmatched_route
from wikisync.service.call import Call
from wikisync.service.projects.reading import answer_part
from wikisync.service.projects.views import user_record
from wikisync.service.tables import Tables, is_number


async def show_version(call: Call) -> web.Response:
    """``GET /version``."""
    await call.signed_in("user")
    profile = call.service.settings.profile
    return json_answer(
        schema.VersionRecord(version=profile.version, revision=profile.revision)
    )


async def show_metadata(call: Call) -> web.Response:
    """``GET /metadata``."""
    await call.signed_in("user")
    profile = call.service.settings.profile
    return json_answer(
        schema.MetadataRecord(
            version=profile.version,
            revision=profile.revision,
            enterprise=profile.is_enterprise,
        )
    )


async def show_user(call: Call) -> web.Response:
    """``GET /user``."""
    user = (await call.signed_in("user")).person
    return json_answer(
        schema.CurrentUserRecord(
            **asdict(user_record(call, user)),
            created_at=user.created_at,
            email=user.email,
            is_admin=user.is_admin or UNSET,
        )
    )


async def show_token(call: Call) -> web.Response:
    """``GET /personal_access_tokens/self``; works with every scope."""
    caller = await call.signed_in("any")
    token = caller.token
    assert token is not None, "who is signed in has one"
    return json_answer(
        schema.TokenRecord(
            **fields_of(token, "id name created_at user_id"),
            revoked=token.is_revoked,
            scopes=tuple(sorted(token.scopes)),
            expires_at=token.expires_on,
        )
    )


async def list_users(call: Call) -> web.Response:
    """``GET /users``, the latest first; without a token one by its username."""
    values, window = call.list_values()
    caller = await call.caller("user")
    username = values.get("username")
    if caller.user is None and not username:
        raise forbidden("Not authorized to access /api/v4/users")
    wanted = str(values.get("search") or "").casefold()
    found = [
        user
        for user in reversed(await call.ask(Tables.users))
        if (username is None or user.username.lower() == username.lower())
        and wanted in f"{user.username}\n{user.name}".casefold()
        and not (values.get("active") and user.is_blocked)
        and not (values.get("blocked") and not user.is_blocked)
    ]
    return answer_part(call, found, window, lambda user: user_record(call, user))


async def show_user_of_id(call: Call) -> web.Response:
    """``GET /users/:id``, for whoever is signed in."""
    caller = await call.caller("user")
    if caller.user is None:
        raise forbidden("Not authorized!")
    if not is_number(call.segments["user_id"]):
        raise unmatched_route()
    user = await call.user()
    shown = asdict(user_record(call, user))
    return json_answer(OwnerRecord(**shown, created_at=user.created_at))

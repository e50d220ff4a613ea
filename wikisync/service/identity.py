"""Who am I, and who are you: /version, /metadata, /user, and the token itself."""

from __future__ import annotations

from aiohttp import web

from wikisync.service.answers import json_answer, unmatched_route
from wikisync.service.call import Call
from wikisync.service.quirks import Quirk


async def show_version(call: Call) -> web.Response:
    """``GET /version``."""
    await call.signed_in("user")
    profile = call.service.settings.profile
    return json_answer({"version": profile.version, "revision": profile.revision})


async def show_metadata(call: Call) -> web.Response:
    """``GET /metadata``."""
    await call.signed_in("user")
    profile = call.service.settings.profile
    return json_answer(
        {
            "version": profile.version,
            "revision": profile.revision,
            "kas": {"enabled": False, "externalUrl": None, "version": None},
            "enterprise": profile.is_enterprise,
        }
    )


async def show_user(call: Call) -> web.Response:
    """``GET /user``."""
    user, _token = await call.signed_in("user")
    body = {
        "id": user.id,
        "username": user.username,
        "name": user.name,
        "state": "blocked" if user.is_blocked else "active",
        "avatar_url": None,
        "web_url": f"{call.service.url}/{user.username}",
        "created_at": user.created_at,
        "email": user.email,
        "bot": False,
    }
    if user.is_admin:
        body["is_admin"] = True
    return json_answer(body)


async def show_token(call: Call) -> web.Response:
    """``GET /personal_access_tokens/self``; works with every scope."""
    if Quirk.SILENT_TOKENS in call.service.settings.quirks:
        raise unmatched_route()
    user, token = await call.signed_in("any")
    return json_answer(
        {
            "id": token.id,
            "name": token.name,
            "revoked": token.is_revoked,
            "created_at": token.created_at,
            "scopes": sorted(token.scopes),
            "user_id": user.id,
            "last_used_at": None,
            "active": True,
            "expires_at": token.expires_on,
        }
    )

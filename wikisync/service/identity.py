"""Who am I, and who are you: /version, /metadata, /user, and the token itself."""

from __future__ import annotations

from aiohttp import web
from msgspec import UNSET

from wikisync.api.schema import (
    CurrentUserRecord,
    MetadataRecord,
    TokenRecord,
    VersionRecord,
)
from wikisync.service.answers import json_answer
from wikisync.service.call import Call


async def show_version(call: Call) -> web.Response:
    """``GET /version``."""
    await call.signed_in("user")
    profile = call.service.settings.profile
    return json_answer(
        VersionRecord(version=profile.version, revision=profile.revision)
    )


async def show_metadata(call: Call) -> web.Response:
    """``GET /metadata``."""
    await call.signed_in("user")
    profile = call.service.settings.profile
    return json_answer(
        MetadataRecord(
            version=profile.version,
            revision=profile.revision,
            enterprise=profile.is_enterprise,
        )
    )


async def show_user(call: Call) -> web.Response:
    """``GET /user``."""
    user = (await call.signed_in("user")).person
    return json_answer(
        CurrentUserRecord(
            id=user.id,
            username=user.username,
            name=user.name,
            state=user.state,
            web_url=f"{call.service.url}/{user.username}",
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
        TokenRecord(
            id=token.id,
            name=token.name,
            revoked=token.is_revoked,
            created_at=token.created_at,
            scopes=tuple(sorted(token.scopes)),
            user_id=caller.user_id,
            expires_at=token.expires_on,
        )
    )

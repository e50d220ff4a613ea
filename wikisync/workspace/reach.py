"""Whether an error met at one wiki is that wiki's own, or the whole service's.

One wiki can answer 500, 401 or 429 for weeks while all others are sound, so that the
error alone does not say.  One more request does: the smallest one that needs nothing
of any wiki.
"""

from __future__ import annotations

from wikisync.api.client import Client
from wikisync.errors import (
    OF_SERVICE,
    AuthenticationFailed,
    RateLimited,
    RemoteError,
    Unavailable,
    WikisyncError,
)


async def is_of_all(client: Client, error: WikisyncError) -> bool:
    """Whether the other wikis of the service would meet this error, too."""
    if not isinstance(error, OF_SERVICE):
        return False
    if isinstance(error, RateLimited):
        # the client knows whether several wikis met it
        return error.is_everywhere
    try:
        await client.version()
    except AuthenticationFailed:
        # without a token the service answers so, and it does answer
        return client.has_token
    except (Unavailable, RateLimited):
        return True
    except RemoteError:
        return False
    return False

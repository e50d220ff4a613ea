"""What has to hold where a fleet works: tried, not believed."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from wikisync.core.system.parallel import gather
from wikisync.errors import PreconditionFailed, UsageError, WikisyncError
from wikisync.fleet.rows import Rows, Settings
from wikisync.site.bucket import Bucket, open_bucket
from wikisync.workspace.doctor import Finding, Grade

SERVER_MIN = 140_000
CLOCK_S = 2.0
RIVALS = 8
OWNER = "-/fleet.txt"
"""Names the fleet that a place in a bucket belongs to; whoever reads may know it."""
OWNER_MAX = 500


class PlaceTaken(UsageError):
    """A place belongs to another fleet."""


async def own(settings: Settings, *, takes_over: bool = False) -> None:
    """Make the places of a fleet its own, all or none; or PlaceTaken, SiteError.

    A fleet that lost a place so finds it out when it lists wikis.
    """
    name, changed = f"fleet {settings.fleet} of ", []
    for place in filter(None, (settings.site, settings.state, settings.protected)):
        bucket = open_bucket(place)
        content, etag = await bucket.read(OWNER) or (b"", "")
        owner = content[:OWNER_MAX].decode(errors="replace")
        if owner and not owner.startswith(name) and not takes_over:
            raise PlaceTaken(
                f"{place} belongs to {owner}, not to {name}{settings.service}",
                hint="name another place, or if that fleet is no more: wikisync fleet"
                " init --take-over, which ends its workers",
            )
        if owner != name + settings.service:
            changed.append((bucket, etag))
    for bucket, etag in changed:
        await bucket.put(OWNER, (name + settings.service).encode(), etag)


async def examine(rows: Rows, settings: Settings) -> AsyncIterator[Finding]:
    """What was tried, and what came of it."""
    async for finding in _database(rows):
        yield finding
    try:
        await own(settings)
    except WikisyncError as error:
        yield Finding.of(error)
    for url in {settings.site, settings.state, settings.protected} - {""}:
        try:
            async for finding in _bucket(open_bucket(url)):
                yield finding
        except WikisyncError as error:
            yield Finding.of(error)


async def _database(rows: Rows) -> AsyncIterator[Finding]:
    async with rows.pool.connection() as connection:
        version = connection.info.server_version
        cursor = await connection.execute("SELECT clock_timestamp()")
        (now,) = await cursor.fetchone() or (datetime.now(UTC),)
    is_new = version >= SERVER_MIN
    yield Finding(
        Grade.FINE if is_new else Grade.WRONG,
        f"PostgreSQL has version {version // 10_000}",
        "" if is_new else "use version 14 or later",
    )
    apart_s = abs((now - datetime.now(UTC)).total_seconds())
    is_near = apart_s < CLOCK_S
    yield Finding(
        Grade.FINE if is_near else Grade.LOOK,
        f"the clock here and that of the database are {apart_s:.1f} s apart",
        "" if is_near else "keep the clocks of all machines by NTP",
    )


async def _bucket(bucket: Bucket) -> AsyncIterator[Finding]:
    """Whether a bucket refuses writes over what their writer does not know."""
    path = f"-probe-{secrets.token_hex(8)}"

    async def wins(etag: str, content: bytes) -> str:
        try:
            return await bucket.put(path, content, etag)
        except PreconditionFailed:
            return ""

    def finding(what: str, winners: int) -> Finding:
        if winners == 1:
            return Finding(Grade.FINE, f"{bucket.url} lets one of {RIVALS} {what}")
        return Finding(
            Grade.WRONG,
            f"{bucket.url} lets {winners} of {RIVALS} writers {what}",
            "use a storage that honours If-Match and If-None-Match",
        )

    contents = [f"{number}".encode() for number in range(RIVALS)]
    made = await gather(contents, lambda content: wins("", content), in_flight=RIVALS)
    yield finding("create an object", sum(map(bool, made)))
    etag = (await bucket.etags()).get(path, "")
    contents = [content + b" again" for content in contents]
    changed = await gather(
        contents, lambda content: wins(etag, content), in_flight=RIVALS
    )
    yield finding("replace an object", sum(map(bool, changed)))
    is_fenced = not await bucket.remove(path, etag)
    yield Finding(
        Grade.FINE if is_fenced else Grade.LOOK,
        f"{bucket.url} {'refuses' if is_fenced else 'does not refuse'} to remove an"
        " object that changed",
        "" if is_fenced else "a frozen worker may remove a page that came back",
    )
    await bucket.remove(path, (await bucket.etags()).get(path, ""))

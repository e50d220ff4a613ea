"""What has to hold where a fleet works: tried, not believed."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime

from wikisync.core.system.parallel import gather
from wikisync.core.terminal import one_line
from wikisync.errors import PreconditionFailed, SiteError, UsageError, WikisyncError
from wikisync.fleet.rows import Rows, Settings
from wikisync.site.bucket import Bucket, open_bucket
from wikisync.workspace.doctor import Finding, Grade

SERVER_MIN = 140_000
CLOCK_S = 2.0
RIVALS = 8
OWNER = "-/fleet.txt"
"""Names the fleet that a place in a bucket belongs to; whoever reads may know it."""


class PlaceTaken(UsageError):
    """A place belongs to another fleet."""


async def own(settings: Settings, *, takes_over: bool = False) -> None:
    """Make the places of a fleet its own; or PlaceTaken, SiteError.

    A fleet that lost a place so finds it out as a worker begins, or lists wikis.
    """
    name, foreign = f"fleet {settings.fleet} of ", []
    mine = f"{name}{settings.service}".encode()
    for place in filter(None, (settings.site, settings.state, settings.protected)):
        bucket = open_bucket(place)
        content, etag = await bucket.read(OWNER) or (b"", "")
        owners = {place: content} if content else await _nested(bucket)
        for taken, owner in owners.items():
            # the fleet of another place would go on there
            if owner.startswith(name.encode()) or (takes_over and content):
                continue
            said = one_line(owner.decode(errors="replace"))
            way = "wikisync fleet init --take-over, which ends its workers"
            raise PlaceTaken(
                f"{taken} belongs to {said}, not to {name}{settings.service}",
                hint="name a place apart from it, or if that fleet is no more: "
                + (way if content else f"remove {taken}/{OWNER}"),
            )
        if content != mine:
            foreign.append((bucket, etag))
    for bucket, etag in foreign:
        try:
            await bucket.put(OWNER, mine, etag)
        except PreconditionFailed:
            if (await bucket.read(OWNER) or (b"", ""))[1] == etag:
                raise  # it is refused for nothing
            await own(settings, takes_over=takes_over)


async def _nested(bucket: Bucket) -> dict[str, bytes]:
    """Who owns the places that lie in a new one, and those that it lies in."""
    below = [path for path in await bucket.etags() if path.endswith(f"/{OWNER}")]
    owners = [(f"{bucket.url}/{path}", await bucket.read(path)) for path in below]
    above = bucket.url
    while (above := above.rpartition("/")[0]) != "s3:/":
        # a key that is for this place alone reads nothing above it
        with suppress(SiteError):
            path = f"{above}/{OWNER}"
            owners.append((path, await open_bucket(above).read(OWNER)))
    return {path[: -len(OWNER) - 1]: found[0] for path, found in owners if found}


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
    said = f"PostgreSQL has version {version // 10_000}"
    yield _finding(version >= SERVER_MIN, said, Grade.WRONG, "use version 14 or later")
    apart_s = abs((now - datetime.now(UTC)).total_seconds())
    said = f"the clock here and that of the database are {apart_s:.1f} s apart"
    hint = "keep the clocks of all machines by NTP"
    yield _finding(apart_s < CLOCK_S, said, Grade.LOOK, hint)


async def _bucket(bucket: Bucket) -> AsyncIterator[Finding]:
    """Whether a bucket refuses writes over what their writer does not know."""
    path, etag = f"-probe-{secrets.token_hex(8)}", ""

    async def wins(content: bytes) -> bool:
        try:
            return bool(await bucket.put(path, content, etag))
        except PreconditionFailed:
            return False

    for act in ("create", "replace"):
        contents = [f"{act} {number}".encode() for number in range(RIVALS)]
        winners = sum(await gather(contents, wins, in_flight=RIVALS))
        said = f"{bucket.url} lets {winners} of {RIVALS} writers {act} an object"
        hint = "use a storage that honours If-Match and If-None-Match"
        yield _finding(winners == 1, said, Grade.WRONG, hint)
        before, etag = etag, (await bucket.etags()).get(path, "")
    is_fenced = not await bucket.remove(path, before)
    said = "refuses" if is_fenced else "does not refuse"
    said = f"{bucket.url} {said} to remove an object that changed"
    hint = "a frozen worker may remove a page that came back"
    yield _finding(is_fenced, said, Grade.LOOK, hint)
    await bucket.remove(path, (await bucket.etags()).get(path, ""))


def _finding(is_fine: bool, said: str, grade: Grade, hint: str) -> Finding:
    return Finding(Grade.FINE, said) if is_fine else Finding(grade, said, hint)

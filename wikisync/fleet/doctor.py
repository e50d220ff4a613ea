"""What has to hold where a fleet works: tried, not believed."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from wikisync.core.system.parallel import gather
from wikisync.errors import PreconditionFailed, WikisyncError
from wikisync.fleet.rows import Rows
from wikisync.fleet.settings import Settings, own
from wikisync.site.bucket import Bucket, open_bucket
from wikisync.workspace.doctor import Finding, Grade

SERVER_MIN = 140_000
CLOCK_S = 2.0
RIVALS = 8


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

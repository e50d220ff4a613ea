"""A storage that answers well and wrongly, while a wiki is published."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.bending import BendingProxy, bending_proxy
from tests.support.bucket_server import got
from tests.support.fleet import PATH, Fleet
from wikisync.core.model import WikiOwner, digest_of
from wikisync.fleet.rows import LANDING, LostClaim
from wikisync.site.addresses import MANIFEST
from wikisync.site.bucket import open_bucket

OWNER = WikiOwner("project", PATH)
TAG = {"ETag": '"0123456789abcdef0123456789abcdef"'}
NO_LIST = b'<?xml version="1.0"?><ListBucketResult></ListBucketResult>'
NO_KEY = b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>'
LIES: dict[str, dict[str, Any]] = {
    "nothing is stored": {"method": "PUT", "status": 200, "headers": TAG},
    "the tag is another object's": {"method": "PUT", "headers": TAG},
    "there is no tag": {"method": "PUT", "headers": {"ETag": None}},
    "all writes are refused": {"method": "PUT", "status": 412},
    "the answer to a write is lost": {"method": "PUT", "raw": b"", "reaches": True},
    "nothing is listed": {"path": "list-type", "body": NO_LIST},
    "nothing is found": {"method": "GET", "status": 404, "body": NO_KEY},
    "bytes are damaged": {"method": "GET", "body": lambda content: content[::-1]},
    "a removal is refused": {"method": "DELETE", "status": 412},
}


@pytest.fixture
async def proxy(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[BendingProxy]:
    async with bending_proxy(fleet.server.address) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        fleet.settings = replace(fleet.settings, title="All our wikis")
        await fleet.rows.make(fleet.settings)
        yield proxy


async def work(fleet: Fleet) -> None:
    """Let other machines do all there is to do, the landing page last."""
    for _ in range(2):
        await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
        await fleet.work()


async def lost(fleet: Fleet) -> set[str]:
    """What the landing page should have, and has not, or not those bytes."""
    bucket = open_bucket(fleet.settings.site)
    content, _ = await bucket.read(MANIFEST) or (b"{}", "")
    said = {one["path"]: one["sha256"] for one in json.loads(content)["files"]}
    found = {path: await bucket.read(path) or (b"", "") for path in said}
    return {path for path in said if digest_of(found[path][0]) != said[path]}


@pytest.mark.parametrize("lie", LIES)
async def test_lie_of_a_storage_is_put_right_when_it_ends(
    fleet: Fleet, proxy: BendingProxy, lie: str
) -> None:
    await fleet.service.add_pages(OWNER, {"gone": "Words."})
    await work(fleet)
    assert fleet.page("gone")
    assert await lost(fleet) == set()
    await fleet.service.remove_file(OWNER, "gone.md")
    await fleet.write("# Title of TWO")
    with proxy.bend(**LIES[lie]) as rule:
        await work(fleet)
    assert rule.met
    problem = await fleet.problem()
    assert not re.match(r"\w+Error:", problem)
    await fleet.sweep()
    await work(fleet)
    assert await fleet.problem() == ""
    assert "Title of TWO" in (fleet.page() or "")
    assert fleet.page("gone") is None
    await fleet.audit()
    assert await lost(fleet) == set()


async def test_landing_page_that_loses_its_turn_lists_no_other_site(
    fleet: Fleet, proxy: BendingProxy
) -> None:
    """The other objects of its bucket, which can be very many, are not listed."""
    await fleet.run("project-1")

    async def loses(step: str) -> None:
        if step == "put" and got(fleet.server, f"{fleet.name}/robots.txt"):
            raise LostClaim

    with proxy.bend(rf"^(?!.*delimiter).*prefix={fleet.name}(%2F)?(&|$)") as whole:
        await fleet.run(LANDING, fleet.worker(loses))
    assert whole.met == 0
    assert got(fleet.server, f"{fleet.name}/robots.txt")
    assert got(fleet.server, f"{fleet.name}/index.html") is None

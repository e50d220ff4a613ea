"""A site in a bucket, held to a real S3 server (SeaweedFS)."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import obstore
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.site.sites import Studio
from tests.support.bending import bending_proxy
from tests.support.bucket_server import got
from wikisync.errors import PreconditionFailed, SiteError
from wikisync.fleet.parts import BucketServer
from wikisync.site.bucket import (
    ACCESS_HINT,
    RECORD,
    Bucket,
    Uploaded,
    look,
    open_bucket,
    send,
    upload,
)
from wikisync.site.publish import publish

WIKI = """\
-- home.md --
# Welcome

[guide](guide) ![](uploads/0123456789abcdef0123456789abcdef/a.png)
-- guide.md --
Words of the guide.
-- 日本語 & more.md --
Words.
-- uploads/0123456789abcdef0123456789abcdef/a.png --
no picture
"""


class Shelf:
    """A site that is built here and a place in a bucket of its own."""

    def __init__(self, studio: Studio, server: BucketServer, name: str) -> None:
        self.studio, self.server, self.name = studio, server, name
        self.folder = studio.add(WIKI)
        self.url = f"s3://site/{name}"
        self.bucket = open_bucket(self.url)
        self.requests: list[tuple[str, str, str]] = []

    def write(self, text: str) -> None:
        (self.folder / "guide.md").write_text(text)

    def build(self) -> Path:
        self.studio.build()
        return self.studio.site

    async def send(self) -> Uploaded:
        return await send(self.build(), self.bucket)

    def get(self, path: str) -> str | None:
        found = got(self.server, f"{self.name}/{path}")
        return found[0].decode("utf-8", "replace") if found else None

    def put_by_another(self, path: str, content: bytes) -> None:
        obstore.put(self.server.store("site", self.name), path, content)

    async def audit(self) -> None:
        seen = await look(self.bucket, is_audit=True)
        await upload(self.studio.site, self.bucket, seen)

    async def is_whole(self) -> bool:
        """Whether the bucket holds the site byte for byte, and nothing else."""
        site = self.studio.site
        here = {
            path.relative_to(site).as_posix(): path.read_bytes()
            for path in site.rglob("*")
            if path.is_file()
        }
        paths = (await self.bucket.etags()).keys() - {RECORD}
        there = {path: await self.bucket.read(path) for path in paths}
        return here == {path: found[0] for path, found in there.items() if found}


@pytest.fixture
def shelf(
    studio: Studio, s3: BucketServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Shelf:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return Shelf(studio, s3, tmp_path.name)


async def test_objects_have_their_types_and_caches(shelf: Shelf) -> None:
    await shelf.send()
    (sheet,) = (shelf.studio.site / "-/assets").glob("theme.*.css")
    heads = {}
    for path in ("guide.html", f"-/assets/{sheet.name}", "-/manifest.json"):
        found = got(shelf.server, f"{shelf.name}/{path}")
        assert found
        heads[path] = (found[1]["Content-Type"], found[1]["Cache-Control"])
    assert list(heads.values()) == [
        ("text/html; charset=utf-8", "no-cache"),
        ("text/css; charset=utf-8", "max-age=31536000, immutable"),
        ("application/json", "no-cache"),
    ]


async def test_only_what_changed_is_uploaded(shelf: Shelf) -> None:
    await shelf.send()
    assert (await shelf.send()).put == 0
    shelf.write("Other words.")
    before = await shelf.bucket.etags()
    report = shelf.studio.build()
    done = await shelf.send()
    after = await shelf.bucket.etags()
    changed = {path for path, etag in after.items() if before.get(path) != etag}
    assert "Other words" in (shelf.get("guide.html") or "")
    assert len(changed - {RECORD}) == done.put == report.written


async def test_objects_of_others_stay_but_where_a_page_takes_their_place(
    shelf: Shelf,
) -> None:
    shelf.put_by_another("guide.html", b"by hand")
    shelf.put_by_another("notes.txt", b"by hand")
    await shelf.send()
    assert "Words of the guide" in (shelf.get("guide.html") or "")
    shelf.write("Other words.")
    await shelf.send()
    assert shelf.get("notes.txt") == "by hand"


async def test_pages_come_after_what_they_show_and_the_manifest_last(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    put = Bucket.put

    async def noted(self: Bucket, path: str, *how: object, **more: object) -> str:
        etag = await put(self, path, *how, **more)  # type: ignore[arg-type]
        done.append(path)
        return etag

    monkeypatch.setattr(Bucket, "put", noted)
    await shelf.send()
    first, *files, manifest, last = done
    assert (first, manifest, last) == (RECORD, "-/manifest.json", RECORD)
    is_page = [path.endswith(".html") for path in files]
    assert is_page == sorted(is_page)


class Ended(Exception):
    """The writer was killed."""


def ends_at(write: int) -> Callable[[], Awaitable[None]]:
    """A check that ends the writer before this write of it."""
    left = iter(range(write))

    async def check() -> None:
        if next(left, None) is None:
            raise Ended

    return check


@pytest.mark.parametrize("write", [0, 1, 2, 9, 15])
async def test_upload_that_was_cut_off_is_finished_by_the_next(
    shelf: Shelf, write: int
) -> None:
    await shelf.send()
    (shelf.folder / "guide.md").unlink()
    (shelf.folder / "extra.md").write_text("More.")
    (shelf.folder / "home.md").write_text("# Other words")
    site = shelf.build()
    with pytest.raises(Ended):
        await upload(site, shelf.bucket, await look(shelf.bucket), check=ends_at(write))
    # what was begun is taken back: pages are again what the record said of them
    (shelf.folder / "extra.md").unlink()
    (shelf.folder / "home.md").write_text(WIKI.split("-- ")[1].partition("--\n")[2])
    await shelf.send()
    assert await shelf.is_whole()


async def test_writer_that_was_overtaken_changes_nothing(shelf: Shelf) -> None:
    await shelf.send()
    frozen = await look(shelf.bucket)
    shelf.write("Newer words.")
    await shelf.send()
    shelf.write("Older words.")
    site = shelf.build()
    before = await shelf.bucket.etags()
    with pytest.raises(PreconditionFailed, match="changed by another program"):
        await upload(site, shelf.bucket, frozen)
    assert await shelf.bucket.etags() == before


@pytest.mark.parametrize("write", [1, 2, 5])
async def test_writer_that_froze_amid_its_upload_puts_no_old_byte_over_a_newer_one(
    shelf: Shelf, write: int
) -> None:
    await shelf.send()
    seen, count = await look(shelf.bucket), iter(range(100))
    frozen, thaw = asyncio.Event(), asyncio.Event()

    async def freezes() -> None:
        if next(count) >= write:
            frozen.set()
            await thaw.wait()

    (shelf.folder / "home.md").write_text("# Older words")
    shelf.write("Older words.")
    site = shutil.copytree(shelf.build(), shelf.studio.root / "older")
    async with asyncio.TaskGroup() as group:
        old = group.create_task(
            _refused(upload(site, shelf.bucket, seen, check=freezes))
        )
        await frozen.wait()
        (shelf.folder / "home.md").write_text("# Newer words")
        shelf.write("Newer words.")
        await shelf.send()
        thaw.set()
    assert old.result()
    assert "Newer words" in (shelf.get("guide.html") or "")
    # a page that only the older writer had may have come late
    await shelf.audit()
    assert await shelf.is_whole()


async def test_late_page_that_no_record_has_leaves_the_bucket_with_an_audit(
    shelf: Shelf,
) -> None:
    await shelf.send()
    shelf.put_by_another("deleted.html", b"late")
    await shelf.send()
    assert shelf.get("deleted.html") == "late"
    await shelf.audit()
    assert await shelf.is_whole()


async def _refused(upload: Awaitable[Uploaded]) -> bool:
    try:
        await upload
    except PreconditionFailed:
        return True
    return False


async def test_same_bytes_that_are_there_already_are_taken_as_put(shelf: Shelf) -> None:
    seen = await look(shelf.bucket)
    page = shelf.build() / "guide.html"
    shelf.put_by_another("guide.html", page.read_bytes())
    await upload(shelf.studio.site, shelf.bucket, seen)
    assert await shelf.is_whole()


@pytest.mark.parametrize("place", ["s3://site/docs?b/-/wikis", "s3://site/docs#b"])
def test_place_is_never_a_part_of_its_address(place: str) -> None:
    with pytest.raises(SiteError, match=r"has \? or # in it"):
        open_bucket(place)


async def test_removal_names_what_it_removes(shelf: Shelf) -> None:
    await shelf.send()
    etag = (await shelf.bucket.etags())["guide.html"]
    shelf.put_by_another("guide.html", b"newer")
    await shelf.bucket.remove("guide.html", etag)
    assert shelf.get("guide.html") == "newer"


async def test_removal_that_is_refused_is_an_error_and_is_tried_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that left the wiki must not stay public because a key may not delete."""
    await shelf.send()
    (shelf.folder / "guide.md").unlink()
    site, seen = shelf.build(), await look(shelf.bucket)
    sign = obstore.sign_async

    async def sign_another(*given: Any) -> str:
        return f"{await sign(*given)}0"

    with monkeypatch.context() as context:
        # a request for an address that was not signed is refused
        context.setattr(obstore, "sign_async", sign_another)
        with pytest.raises(SiteError, match=r"^cannot remove .*: status code: 403$"):
            await upload(site, shelf.bucket, seen)
    assert shelf.get("guide.html")
    await shelf.send()
    assert await shelf.is_whole()


async def test_removal_that_leads_elsewhere_is_an_error(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lead(_request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:9"})

    app = web.Application()
    app.router.add_delete("/", lead)
    async with TestServer(app) as server:

        async def sign(*_given: Any) -> str:
            return str(server.make_url("/"))

        monkeypatch.setattr(obstore, "sign_async", sign)
        with pytest.raises(SiteError, match=r"status code: 307$"):
            await shelf.bucket.remove("guide.html", "tag")


async def test_bucket_that_is_away_is_a_problem_and_is_tried_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def published() -> list[str]:
        done = await publish(
            shelf.studio.sources,
            shelf.studio.site,
            shelf.studio.options,
            cache=shelf.studio.root / "cache",
            bucket=shelf.url,
        )
        return [one.code for one in done.problems]

    with monkeypatch.context() as context:
        context.setenv("AWS_SECRET_ACCESS_KEY", "another")
        assert await published() == ["bucket-failed"]
    assert shelf.get("guide.html") is None
    assert await published() == []
    assert await shelf.is_whole()


@pytest.mark.parametrize(
    ("status", "body", "reason", "hint"),
    [
        (507, '<?xml version="1.0"?><Error><Code>Full</Code></Error>', "(Full)", None),
        (403, "<Error><Code>Quota</Code></Error>", "(Quota)", ACCESS_HINT),
        (507, "<title>507 - Full</title>", "507 Insufficient Storage", None),
        (
            404,
            "<Error><Code>NoSuchBucket</Code></Error>",
            "(NoSuchBucket)",
            ACCESS_HINT,
        ),
    ],
)
async def test_storage_says_why_it_takes_no_object(
    shelf: Shelf,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    body: str,
    reason: str,
    hint: str,
) -> None:
    async with bending_proxy(shelf.server.address) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        bucket = open_bucket(shelf.url)
        with (
            proxy.bend(method="PUT", status=status, body=body.encode()),
            pytest.raises(SiteError, match=rf"a\.html: .*code: {status}") as caught,
        ):
            await bucket.put("a.html", b"x", "")
    assert caught.value.message.endswith(f" {reason}")
    assert caught.value.hint == hint
    assert "retries" not in caught.value.message


async def test_server_that_stands_still_is_waited_for(shelf: Shelf) -> None:
    await shelf.send()
    shelf.write("Other words.")
    site, seen = shelf.build(), await look(shelf.bucket)
    os.kill(shelf.server.pid, signal.SIGSTOP)
    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(upload(site, shelf.bucket, seen))
            await asyncio.sleep(0)
            os.kill(shelf.server.pid, signal.SIGCONT)
        assert sending.result().put
    finally:
        os.kill(shelf.server.pid, signal.SIGCONT)
    assert await shelf.is_whole()


async def test_file_that_changed_since_the_build_is_not_uploaded(shelf: Shelf) -> None:
    site = shelf.build()
    (site / "guide.html").write_text("other bytes")
    with pytest.raises(SiteError, match="it changed while it was uploaded"):
        await upload(site, shelf.bucket, await look(shelf.bucket))
    assert shelf.get("guide.html") is None


async def test_strange_record_is_named(shelf: Shelf) -> None:
    shelf.put_by_another(RECORD, json.dumps({"files": 1}).encode())
    with pytest.raises(SiteError, match="is not a record of wikisync"):
        await shelf.send()


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("s3://site/../other", ""),
        ("s3://site/a//b", ""),
        ("s3://site", "s3.example.com"),
        ("s3://site", "https://name:password@s3.example.com"),
    ],
)
def test_address_that_cannot_be_used_is_an_error_without_secrets(
    monkeypatch: pytest.MonkeyPatch, url: str, endpoint: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(SiteError) as caught:
        open_bucket(url)
    assert "password@" not in caught.value.message


def test_absent_extra_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(SiteError, match="obstore is not installed") as caught:
        open_bucket("s3://absent")
    assert caught.value.hint == "install wikisync with its extra bucket"

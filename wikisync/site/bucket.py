"""A site in an S3 bucket: what changed is uploaded, and only over what was seen there.

Every PUT and DELETE names what the writer believes is there (``If-Match``, or
``If-None-Match`` for nothing), because no lock holds a writer that was frozen and
thaws.  What it believes is a record in the bucket, ``-/uploads.json``: of each object
the digest of its bytes and its entity tag.  One upload is

1. the record, in which all that is about to change is of unknown content: the first
   write of two rivals is the same object, and the second one is refused at once;
2. what pages show, then the pages, then the manifest;
3. removals, then the record as it is now.

An upload that was cut off leaves unknown objects; the next one asks the bucket for
their tags and uploads them again.  The record carries a number, so that the tag of an
earlier one never comes back; equal bytes of a page have equal tags, though.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from wikisync.core.decoding import json_decoder
from wikisync.core.model import digest_of
from wikisync.core.system.parallel import each
from wikisync.errors import PreconditionFailed, SiteError
from wikisync.folder.safe_open import read_below
from wikisync.site import manifest as manifests
from wikisync.site.addresses import ASSETS_FOLDER, MANIFEST
from wikisync.site.manifest import ManifestFile

if TYPE_CHECKING:
    from obstore.store import S3Store

RECORD = "-/uploads.json"
AT_ONCE = 8
"""Objects that are uploaded at the same time; they lie in memory."""
TRIES_MAX = 3
"""Of an upload that another writer came between."""
RETRY_S = 15
"""How long a request is made again that the bucket does not answer well; a writer that
lost its place must not go on for longer."""
ACCESS_HINT = (
    "check AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)

Check = Callable[[], Awaitable[None]]
"""Asked before every write, and after each that makes an object, which is removed
where it raises: the writer lost its place."""


async def nothing_lost() -> None:
    """The check of a writer whom nobody replaces."""


class Stored(Struct, frozen=True, array_like=True):
    """An object as its writer left it; an empty digest for unknown content."""

    digest: str
    etag: str


class Record(Struct, frozen=True):
    """What is known of a site in a bucket."""

    number: int = 0
    files: Mapping[str, Stored] = {}


class Seen(Struct, frozen=True):
    """What lay in a bucket when somebody looked."""

    record: Record = Record()
    etag: str = ""
    """Of the record; empty where there is none."""
    strange: Mapping[str, str] = {}
    """Tags of objects without a record: ours take their place, the others stay."""


class Uploaded(Struct, frozen=True):
    """What one upload did."""

    put: int = 0
    removed: int = 0


_RECORDS = json_decoder(Record)


class Bucket:
    """A bucket, or what lies below a prefix of it.

    Every method raises ``SiteError`` where the bucket does not do it.
    """

    def __init__(self, url: str, store: S3Store, prefix: str) -> None:
        """See ``open_bucket``; the prefix has a slash behind it, or is empty."""
        self.url = url
        self._store, self._prefix = store, prefix

    async def read(self, path: str) -> tuple[bytes, str] | None:
        """An object and its entity tag."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            found = await obstore.get_async(self._store, self._prefix + path)
            return bytes(await found.bytes_async()), found.meta["e_tag"] or ""
        except FileNotFoundError:
            return None
        except BaseError as exc:
            raise self._failed("read", path, exc) from exc

    async def etags(self, folder: str = "", *, is_top: bool = False) -> dict[str, str]:
        """The entity tag of every object, or of those in a folder.

        ``is_top``: of those that lie in no folder, or in ``-``.
        """
        import obstore
        from obstore.exceptions import BaseError

        found, prefix = [], self._prefix + folder
        try:
            if is_top:
                top = obstore.list_with_delimiter_async(self._store, prefix or None)
                found, prefix = [*(await top)["objects"]], f"{prefix}-/"
            async for some in obstore.list(self._store, prefix or None):
                found += some
        except BaseError as exc:
            raise self._failed("list", "", exc) from exc
        return {one["path"][len(self._prefix) :]: one["e_tag"] or "" for one in found}

    async def put(self, path: str, content: bytes, etag: str) -> str:
        """Put an object over the one with this tag, empty for none; its own tag.

        Raises:
            PreconditionFailed: something else is there.
        """
        import obstore
        from obstore import exceptions as no

        refusals = no.AlreadyExistsError, no.PreconditionError
        # the names of assets change with their bytes
        is_asset = path.startswith(ASSETS_FOLDER)
        cached = "max-age=31536000, immutable" if is_asset else "no-cache"
        kind = manifests.content_type(path)
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        try:
            done = await obstore.put_async(
                self._store,
                self._prefix + path,
                content,
                attributes={"Content-Type": kind, "Cache-Control": cached},
                mode={"e_tag": etag} if etag else "create",
                use_multipart=False,
            )
        except refusals as exc:
            raise PreconditionFailed(
                f"{self.url}/{path} was changed by another program",
                hint="let one program alone write to this place of the bucket",
            ) from exc
        except (no.BaseError, FileNotFoundError) as exc:
            raise self._failed("write", path, exc) from exc
        return done["e_tag"] or ""

    async def remove(self, path: str, etag: str) -> bool:
        """Remove an object, if it is the one with this tag; whether it was."""
        import aiohttp
        from obstore import sign_async
        from yarl import URL

        # obstore knows no condition for it, and its signature admits a header more
        lasts, name = timedelta(minutes=1), self._prefix + path
        url = await sign_async(self._store, "DELETE", name, lasts)
        try:
            timeout = aiohttp.ClientTimeout(total=RETRY_S)
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
                session.delete(  # as it was signed
                    URL(url, encoded=True),
                    headers={"If-Match": etag},
                    allow_redirects=False,
                ) as answer,
            ):
                # gone already, or another one by now, which stays
                if answer.status in (404, 412):
                    return False
                if answer.status < 300:
                    return True
                # its own error has the address, which is signed
                said: Exception = SiteError(f"status code: {answer.status}")
        except (aiohttp.ClientError, TimeoutError) as exc:
            said = exc
        raise self._failed("remove", path, said)

    def _failed(self, act: str, path: str, exc: Exception) -> SiteError:
        said, _, body = str(exc).partition("<")
        line = said.strip().partition("\n")[0]
        why = (line.partition(" - ")[2] or line).strip(" :")
        if code := body.partition("Code>")[2].partition("<")[0]:
            why += f" ({code[:60]})"
        name = f"{self.url}/{path}".rstrip("/")
        hint = None if "code: 5" in why else ACCESS_HINT  # full, or in trouble
        return SiteError(f"cannot {act} {name}: {why or type(exc).__name__}", hint=hint)


def open_bucket(url: str) -> Bucket:
    """The bucket at an address like ``s3://name/prefix``; nothing is asked of it yet.

    Where it is and who writes to it, the environment says as to the AWS tools.

    Raises:
        SiteError: the extra is not installed, or an address is none.
    """
    parts = urlsplit(url)
    prefix = parts.path.strip("/")
    if parts.query or parts.fragment:
        raise SiteError(f"{url} has ? or # in it, which no place in a bucket may have")
    if prefix and {"", ".", ".."} & set(prefix.split("/")):
        raise SiteError(f"{url} has a part that is empty or only dots")
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    # messages of obstore have the whole of it
    if endpoint and (
        "@" in endpoint or not endpoint.startswith(("http://", "https://"))
    ):
        raise SiteError(
            "AWS_ENDPOINT_URL is no address of a server, or has a password in it",
            hint="set it to an address like https://s3.example.com",
        )
    given = {name: one for name, one in os.environ.items() if name.startswith("AWS_")}
    try:
        store = _store(parts.netloc, tuple(sorted(given.items())))
    except ImportError as exc:
        raise SiteError(
            f"cannot use {url}: obstore is not installed",
            hint="install wikisync with its extra bucket",
        ) from exc
    except ValueError as exc:
        raise SiteError(f"cannot use {url}: {exc}", hint=ACCESS_HINT) from exc
    return Bucket(url.rstrip("/"), store, prefix and f"{prefix}/")


@cache
def _store(name: str, environment: tuple[tuple[str, str], ...]) -> S3Store:
    """A client, which takes 9 ms to make; it takes the variables for itself."""
    from obstore.store import S3Store

    endpoint = dict(environment).get("AWS_ENDPOINT_URL", "")
    # a thread of it that still drops an answer as Python ends aborts the process
    atexit.register(time.sleep, 0.05)
    return S3Store(
        name,
        client_options={"allow_http": endpoint.startswith("http://")},
        retry_config={"max_retries": 5, "retry_timeout": timedelta(seconds=RETRY_S)},
    )


async def look(bucket: Bucket, *, is_audit: bool = False, is_top: bool = False) -> Seen:
    """What lies in a bucket, as far as it is ours.

    An audit compares the record with what is there, so that an upload puts right what
    another program or a late write of a rival left.  It takes all that is there for
    ours; but ``is_top``: others have folders beside us, which are not even listed.

    Raises:
        SiteError: it cannot be read.
    """
    found = await bucket.read(RECORD)
    if found is None:
        return Seen(strange=await bucket.etags(is_top=is_top))
    try:
        record = _RECORDS.decode(found[0])
    except msgspec.DecodeError as exc:
        raise SiteError(
            f"{bucket.url}/{RECORD} is not a record of wikisync: {exc}",
            hint="remove it to upload everything anew",
        ) from exc
    if is_audit or not all(one.digest for one in record.files.values()):
        etags = await bucket.etags(is_top=is_top)
        files = {
            path: one
            if one.digest and one.etag == etags.get(path)
            else Stored("", etags.get(path, ""))
            for path, one in record.files.items()
        }
        if is_audit and not is_top:
            late = etags.keys() - files.keys() - {RECORD}
            files |= {path: Stored("", etags[path]) for path in late}
        record = Record(record.number, files)
    return Seen(record, found[1])


async def upload(
    folder: Path | None, bucket: Bucket, seen: Seen, *, check: Check = nothing_lost
) -> Uploaded:
    """Make a bucket hold the site in a folder, given what was seen there before.

    Without a folder the site that is there is removed.

    Cancelled, it leaves new objects beside old ones; the next upload does the rest.

    Raises:
        PreconditionFailed: another writer was there since.
        SiteError: the bucket or the folder cannot be used.
    """
    wanted = _wanted(folder) if folder else {}
    files = dict(seen.record.files)
    changed = [
        one
        for path, one in wanted.items()
        if path not in files or files[path].digest != one.sha256
    ]
    gone = sorted(files.keys() - wanted.keys())
    if not changed and not gone:
        return Uploaded()
    etags = {**seen.strange, **{path: one.etag for path, one in files.items()}}
    files |= {one.path: Stored("", etags.get(one.path, "")) for one in changed}
    begun = Record(seen.record.number + 1, files)
    await check()
    record_tag = await bucket.put(RECORD, msgspec.json.encode(begun), seen.etag)

    async def still_there(path: str, etag: str) -> None:
        # nothing but its absence was a condition: the site may have been removed
        try:
            await check()
        except Exception:
            # the same bytes may be those of the writer that came after this one
            if path not in (await look(bucket, is_top=True)).record.files:
                await bucket.remove(path, etag)
            raise

    async def put(file: ManifestFile) -> None:
        await check()
        known = etags.get(file.path, "")
        try:
            assert folder
            content = await asyncio.to_thread(_content, folder, file)
            etag = await bucket.put(file.path, content, known)
            if not known:
                await still_there(file.path, etag)
        except PreconditionFailed:
            # an answer that was lost, or a writer that died, may have put our bytes
            found = await bucket.read(file.path)
            if not found or digest_of(found[0]) != file.sha256:
                raise
            etag = found[1]
        files[file.path] = Stored(file.sha256, etag)

    for wave in _waves(changed):
        await each(wave, put, in_flight=AT_ONCE)

    async def remove(path: str) -> None:
        await check()
        if etags[path]:
            await bucket.remove(path, etags[path])
        del files[path]

    await each(gone, remove, in_flight=AT_ONCE)
    done = Record(begun.number + 1, files)
    await check()
    await bucket.put(RECORD, msgspec.json.encode(done), record_tag)
    return Uploaded(len(changed), len(gone))


async def send(folder: Path, bucket: Bucket) -> Uploaded:
    """Make a bucket hold the site in a folder, whatever another writer did to it.

    Raises:
        PreconditionFailed: another one writes again and again.
        SiteError: the bucket or the folder cannot be used.
    """
    for _ in range(TRIES_MAX - 1):
        with suppress(PreconditionFailed):
            return await upload(folder, bucket, await look(bucket))
    return await upload(folder, bucket, await look(bucket))


def _wanted(folder: Path) -> dict[str, ManifestFile]:
    """The files of a site by their paths, the manifest among them."""
    wanted = {file.path: file for file in manifests.named_files(folder, MANIFEST)}
    content = read_below(folder, MANIFEST, manifests.MANIFEST_BYTES_MAX)
    kind = manifests.content_type(MANIFEST)
    wanted[MANIFEST] = ManifestFile(MANIFEST, len(content), digest_of(content), kind)
    return wanted


def _content(folder: Path, file: ManifestFile) -> bytes:
    """What the manifest says of a file of the site; or SiteError."""
    try:
        content = (folder / file.path).read_bytes()
        if digest_of(content) == file.sha256:
            return content
        said = "it changed while it was uploaded"
    except OSError as exc:
        said = exc.strerror or str(exc)
    raise SiteError(
        f"cannot upload {folder / file.path}: {said}",
        hint="wait until no other wikisync writes the site, then publish it again",
    )


def _waves(files: Sequence[ManifestFile]) -> list[list[ManifestFile]]:
    """What pages show, the pages, the manifest: a reader misses nothing on the way."""
    waves: list[list[ManifestFile]] = [[], [], []]
    for one in files:
        is_page = one.path.endswith(".html")
        waves[2 if one.path == MANIFEST else is_page].append(one)
    return waves

"""Files on their way to the service: multipart bodies, streamed from disk.

A body is opened anew for every attempt, and no file is ever whole in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import TYPE_CHECKING, BinaryIO

from wikisync.core.messages import Progress
from wikisync.core.model import Digest
from wikisync.core.system.private import make_private_folder
from wikisync.errors import FolderError

if TYPE_CHECKING:
    from aiohttp import FormData

OpenForm = Callable[[], "AbstractAsyncContextManager[FormData]"]
READ_DIFFERENTLY = str.maketrans('"\\%', "___")
"""What servers read differently in a form's file name, to what the service makes
of each of them anyway (``docs/service.md`` "Attachments")."""


SPOOL_BYTES_MAX = 1024 * 1024
"""More than that of an upload waits on the disk and not in memory."""


class _WatchedFile(BufferedReader):
    """A file that reports how many of its bytes were read, and has no fewer."""

    def __init__(self, raw: FileIO, progress: Progress) -> None:
        super().__init__(raw)
        self._progress = progress
        self._left = os.fstat(raw.fileno()).st_size
        self.is_cut = False
        """Whether it became shorter while it was read."""

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes; OSError where there are fewer than the request promised."""
        content = super().read(size)
        self._left -= len(content)
        if not content and self._left > 0:
            self.is_cut = True
            raise OSError(0, "it became shorter")
        self._progress.advance(len(content))
        return content


class Spool:
    """Bytes that come once, kept until they were sent, however often that takes."""

    def __init__(self, folder: Path | None) -> None:
        beside = None if folder is None else str(folder)
        self._file = SpooledTemporaryFile[bytes](SPOOL_BYTES_MAX, dir=beside)
        self._folder = folder
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def digest(self) -> Digest:
        """Of all bytes."""
        return Digest(self._hash.hexdigest())

    def add(self, chunk: bytes) -> None:
        """Keep some more; blocks.  FolderError where the disk does not take them."""
        self._hash.update(chunk)
        self.size += len(chunk)
        try:
            if self._folder is not None and self.size > SPOOL_BYTES_MAX:
                make_private_folder(self._folder)
            self._file.write(chunk)
        except OSError as exc:
            folder = self._folder or gettempdir()
            raise FolderError(
                f"cannot keep a file in {folder} while it is sent:"
                f" {exc.strerror or exc}",
                hint="make room on that disk",
            ) from exc

    def open(self) -> BinaryIO:
        """All bytes from their beginning; one reader at a time."""
        if self.size <= SPOOL_BYTES_MAX:
            self._file.seek(0)
            return BytesIO(self._file.read())
        self._file.flush()
        copy = os.dup(self._file.fileno())
        os.lseek(copy, 0, os.SEEK_SET)
        return FileIO(copy)

    def close(self) -> None:
        """Forget them."""
        self._file.close()


@asynccontextmanager
async def spooled(
    chunks: AsyncIterator[bytes], folder: Path | None = None
) -> AsyncIterator[Spool]:
    """Keep chunks that come once, so that a request with them can be repeated."""
    spool = Spool(folder)
    try:
        async for chunk in chunks:
            await asyncio.to_thread(spool.add, chunk)
        yield spool
    finally:
        await asyncio.to_thread(spool.close)


def upload_form(
    field: str,
    file: Path | bytes | Spool,
    name: str,
    fields: Iterable[tuple[str, str]] = (),
    progress: Progress | None = None,
) -> OpenForm:
    """The multipart body of an upload; FolderError of the file, then or when sent."""
    others = tuple(fields)

    @asynccontextmanager
    async def opened() -> AsyncIterator[FormData]:
        # loaded by whoever sends it, and not before
        from aiohttp import FormData

        stream = await asyncio.to_thread(_open, file, name, progress)
        try:
            # not percent-encoded: not every service would decode it again
            form = FormData(quote_fields=False)
            form.add_field(field, stream, filename=name.translate(READ_DIFFERENTLY))
            for other, value in others:
                form.add_field(other, value)
            yield form
        except Exception as exc:
            if isinstance(stream, _WatchedFile) and stream.is_cut:
                raise FolderError(
                    f"{name} became shorter while it was sent",
                    hint="send it again when no program writes to it",
                ) from exc
            raise
        finally:
            await asyncio.to_thread(stream.close)

    return opened


def _open(file: Path | bytes | Spool, name: str, progress: Progress | None) -> BinaryIO:
    if isinstance(file, bytes):
        return BytesIO(file)
    if isinstance(file, Spool):
        return file.open()
    try:
        raw = _open_regular(file)
    except OSError as exc:
        raise FolderError(
            f"cannot read {file}: {exc.strerror or exc}",
            hint="check that the file exists and is readable",
        ) from exc
    watcher = progress or Progress()
    watcher.start(f"upload {name}", os.fstat(raw.fileno()).st_size)
    return _WatchedFile(raw, watcher)


def _open_regular(file: Path) -> FileIO:
    # without waiting: a pipe that nobody writes to would open never
    raw = FileIO(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        return raw
    raw.close()
    raise OSError(0, "it is not a regular file")

"""Files on their way to the service: multipart bodies, streamed from disk.

A body is opened anew for every attempt, and no file is ever whole in memory.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from wikisync.errors import FolderError
from wikisync.progress import Progress, SilentProgress

if TYPE_CHECKING:
    from aiohttp import FormData

    from wikisync.api.request import OpenForm

READ_DIFFERENTLY = str.maketrans('"\\%', "___")
"""What servers read differently in a form's file name, to what the service makes
of each of them anyway (``service-behaviour`` 6.1)."""


class _WatchedFile(BufferedReader):
    """A file that tells how many of its bytes were read."""

    def __init__(self, raw: FileIO, progress: Progress) -> None:
        super().__init__(raw)
        self._progress = progress

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        content = super().read(size)
        self._progress.advance(len(content))
        return content


def upload_form(
    field: str,
    file: Path | bytes,
    name: str,
    fields: Iterable[tuple[str, str]] = (),
    progress: Progress | None = None,
) -> OpenForm:
    """The multipart body of an upload.

    Args:
        field: what the form calls the file.
        file: a path, or the bytes themselves.
        name: file name.
        fields: what else the form holds.
        progress: told of every byte read from disk.

    Raises:
        FolderError: when it is opened, where the file cannot be read.
    """
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
        finally:
            await asyncio.to_thread(stream.close)

    return opened


def _open(file: Path | bytes, name: str, progress: Progress | None) -> BinaryIO:
    if isinstance(file, bytes):
        return BytesIO(file)
    try:
        raw = _open_regular(file)
    except OSError as exc:
        raise FolderError(
            f"cannot read {file}: {exc.strerror or exc}",
            path=str(file),
            hint="check that the file exists and may be read",
        ) from exc
    watcher = progress or SilentProgress()
    watcher.start(f"upload {name}", os.fstat(raw.fileno()).st_size)
    return _WatchedFile(raw, watcher)


def _open_regular(file: Path) -> FileIO:
    # without waiting: a pipe that nobody writes to would open never
    raw = FileIO(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        return raw
    raw.close()
    raise OSError(0, "it is not a regular file")

"""The folder's side of a wiki, seen as a replica.

Fulfils ``sync.replica.Replica`` without importing it.  All work on the disk
happens in threads, many files at a time: ``pages`` for pages, here attachments.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from wikisync.errors import FolderError, NotFound
from wikisync.folder.descent import (
    Folders,
    folder_error,
    opened_file,
    opened_root,
)
from wikisync.folder.naming import attachment_path
from wikisync.folder.pages import PageFolder, WrittenPage
from wikisync.folder.scan import PageFile, ScannedFolder, scan_pages
from wikisync.folder.swap import FolderWriter
from wikisync.folder.threads import finish_in_thread
from wikisync.model import Attachment, AttachmentPath, Digest, Page, Slug, Snapshot

__all__ = [
    "FolderReplica",
    "PageFile",
    "ScannedFolder",
    "WrittenPage",
    "scan_pages",
]

CHUNK_BYTES = 1024 * 1024
"""How much of an attachment goes through memory at once."""


class FolderReplica:
    """The pages and attachments of one wiki in a local folder.

    Args:
        root: the wiki's folder.
        temporary: where files are made ready, on the same disk; see ``swap``.
    """

    def __init__(self, root: Path, *, temporary: Path | None = None) -> None:
        self._root = root
        self._temporary = temporary
        self._pages = PageFolder(root, temporary=temporary)
        self._one_at_a_time = asyncio.Lock()

    @property
    def name(self) -> str:
        """The folder's path."""
        return str(self._root)

    async def create(self) -> None:
        """Make the folder where it does not exist yet; only for a first sync.

        Raises:
            FolderError: it cannot be made.
        """
        await finish_in_thread(_make_folder, self._root)

    async def snapshot(self) -> Snapshot:
        """Look at every page file once; unchanged files are not read again.

        Raises:
            FolderError: the folder does not exist: its disk may be away.
        """
        async with self._one_at_a_time:
            return await finish_in_thread(self._pages.snapshot)

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now.

        Raises:
            NotFound: no such page.
            FolderError: its file cannot be read, or is not text.
        """
        async with self._one_at_a_time:
            page = await finish_in_thread(self._pages.read, slug)
            if page is None:
                await finish_in_thread(self._pages.rescan)
                page = await finish_in_thread(self._pages.read, slug)
        if page is None:
            raise NotFound(f"no page {slug} in {self.name}")
        return page

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create the page (``expected`` is None) or replace its text.

        Cancelled, it ends the write first.

        Raises:
            PreconditionFailed: the folder holds something else than expected.
            FolderError: it cannot be written.
        """
        (result,) = await self.write_pages([(page, expected)])
        if isinstance(result, Page):
            return result
        raise result

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> list[WrittenPage]:
        """Write many pages, each with the digest that it is to replace.

        What is wrong with one page does not stop the others.  Hundreds at once
        cost a fraction of single writes, since they are brought to the disk
        together.  Cancelled, it ends the batch first.

        Returns:
            One result for each page, in order.

        Raises:
            FolderError: the disk is full, read-only or broken, or the folder gone.
        """
        async with self._one_at_a_time:
            return await finish_in_thread(self._pages.write_many, pages)

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Remove the page's file, and folders that are truly empty then.

        Raises:
            PreconditionFailed: it changed, or is gone already.
            FolderError: it cannot be removed.
        """
        async with self._one_at_a_time:
            await finish_in_thread(self._pages.delete, slug, expected=expected)

    async def attachment(self, path: AttachmentPath) -> Attachment | None:
        """What is at an attachment's path; None where nothing.

        Raises:
            FolderError: the path is unsafe, or the file cannot be read.
        """
        _check(path)
        return await finish_in_thread(_attachment_in, self._root, path)

    async def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes in chunks.

        Raises:
            NotFound: no such file.
            FolderError: the path is unsafe, or the file cannot be read.
        """
        _check(path)
        try:
            with (
                opened_root(self._root) as root,
                Folders(root) as folders,
                opened_file(folders, path) as descriptor,
            ):
                while chunk := await finish_in_thread(_read, descriptor, path):
                    yield chunk
        except FileNotFoundError as exc:
            raise NotFound(f"no attachment {path} in {self.name}") from exc

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        """Store an attachment under this path, all of it or nothing.

        Raises:
            FolderError: the path is unsafe, or it cannot be written.
        """
        _check(path)
        digest = hashlib.sha256()
        size = 0
        with (
            FolderWriter(self._root, temporary=self._temporary) as writer,
            writer.open_stream(path) as stream,
        ):
            async for block in _blocks(chunks):
                digest.update(block)
                size += len(block)
                await finish_in_thread(stream.write, block)
            await finish_in_thread(stream.finish)
        return Attachment(path, Digest(digest.hexdigest()), size)


async def _blocks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in fewer pieces, since each costs a change of threads."""
    waiting: list[bytes] = []
    size = 0
    async for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _check(path: AttachmentPath) -> None:
    if attachment_path(path) is None:
        raise FolderError(f"not a safe path of an attachment: {path!r}", path=path)


def _attachment_in(root_path: Path, path: AttachmentPath) -> Attachment | None:
    digest = hashlib.sha256()
    size = 0
    try:
        with (
            opened_root(root_path) as root,
            Folders(root) as folders,
            opened_file(folders, path) as descriptor,
        ):
            while chunk := _read(descriptor, path):
                digest.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        return None
    return Attachment(path, Digest(digest.hexdigest()), size)


def _read(descriptor: int, path: str) -> bytes:
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except OSError as exc:
        raise folder_error("read", path, exc) from exc


def _make_folder(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except FileExistsError as exc:
        raise FolderError(f"{root} is not a folder", path=str(root)) from exc
    except OSError as exc:
        raise folder_error("make the folder", str(root), exc) from exc

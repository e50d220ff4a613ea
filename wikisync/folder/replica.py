"""The folder's side of a wiki, seen as a replica; all work on the disk is in threads.

Fulfils ``sync.replica.LocalReplica`` without importing it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from wikisync.core.layout import SCANS_FOLDER
from wikisync.core.model import (
    Attachment,
    AttachmentPath,
    ConflictFile,
    Digest,
    Format,
    LateSave,
    LooseFile,
    Page,
    Slug,
    Snapshot,
)
from wikisync.core.system.parallel import finish_in_thread
from wikisync.errors import NotFound, PreconditionFailed
from wikisync.folder import safe_open
from wikisync.folder.conflict_files import ConflictFiles
from wikisync.folder.index import FolderIndex
from wikisync.folder.naming import check_attachment, decode_page, parse_path, path_of
from wikisync.folder.pages import PageFolder, WrittenPage
from wikisync.folder.private import wiki_private_folder
from wikisync.folder.scan import ScannedFolder
from wikisync.folder.swap import FolderWriter, OwnFolders

P = ParamSpec("P")
T = TypeVar("T")

LATE = "saved while the page was replaced"
"""Why a text is in the trash."""
SETTLE_S = 0.3
"""How long a file must have been left alone before it is read."""
SETTLE_MAX_S = 2.0
"""How long a scan waits at most for files that change all the time."""


class FolderReplica:
    """The pages and attachments of one wiki in a local folder; see ``LocalReplica``.

    No save is lost, and what goes is kept: in ``private``, the workspace's
    ``.wikisync``, or in one beside ``root``; with ``keeps_scans`` also what was seen,
    for the next process.  ``settle_s`` is how long a changed file must have been left
    alone before a snapshot.  Each method raises ``FolderError`` where the disk refuses;
    one that writes ends its write before a cancellation.
    """

    def __init__(
        self,
        root: Path,
        *,
        private: Path | None = None,
        keeps_scans: bool = True,
        settle_s: float = SETTLE_S,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.root, self.name = root, str(root)
        self._settle_s = settle_s
        self._clock = clock
        self._sleep = sleep
        self._own = OwnFolders.of(root, private, clock)
        scans = wiki_private_folder(root, SCANS_FOLDER, private=private)
        self.index = FolderIndex(root, scans, is_kept=keeps_scans)
        self._pages = PageFolder(self._own, self.index, clock)
        self._conflict_files = ConflictFiles(self._pages, self._own)
        self._one_at_a_time = asyncio.Lock()

    async def _in_turn(
        self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do work on the disk in a thread, when nobody else here does any."""
        async with self._one_at_a_time:
            return await finish_in_thread(work, *args, **kwargs)

    def listing(self) -> ScannedFolder:
        """What the last snapshot listed; blocks where there was none."""
        return self._pages.scanned

    async def snapshot(self) -> Snapshot:
        """Scan every page file once, after files that were just saved have settled.

        Raises where the folder does not exist: its disk may be away.
        """
        if self._settle_s:
            seen = await self._settled(self._pages.scan, SETTLE_MAX_S)
            if seen is not None:
                return seen
        return await self._in_turn(self._pages.snapshot)

    async def saved(self, paths: Collection[str]) -> Snapshot | None:
        """A snapshot after nothing but these files was saved; see ``LocalReplica``."""
        scan = partial(self._pages.scan_saved, paths)
        return await self._settled(scan, max(self._settle_s, SETTLE_MAX_S))

    async def _settled(
        self, scan: Callable[..., Snapshot | float | None], left_s: float
    ) -> Snapshot | None:
        """What a scan finds once its files are left alone; None after too long."""
        while True:
            now, quiet_s = self._clock(), self._settle_s
            seen = await self._in_turn(scan, now=now, quiet_s=quiet_s)
            if not isinstance(seen, float):
                return seen
            if left_s <= 0:
                return None
            pause_s = min(seen, left_s)
            left_s -= pause_s  # by our own count, since clocks may be set back
            await self._sleep(pause_s)

    async def untracked(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Those of the pages whose absence from the last snapshot means nothing."""
        return await self._in_turn(self._pages.untracked, tuple(pages))

    async def emptied(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Those of the missing pages whose directory is there and holds nothing."""
        # where a disk is taken away, the directory that it was mounted on is left
        return await self._in_turn(self._pages.emptied, tuple(pages))

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now."""
        async with self._one_at_a_time:
            page = await finish_in_thread(self._pages.read, slug)
            if page is None:
                await finish_in_thread(self._pages.rescan)
                page = await finish_in_thread(self._pages.read, slug)
        if page is None:
            raise NotFound(f"no page {slug} in {self.name}")
        return page

    async def having(
        self, slugs: Iterable[Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[Slug]:
        """Those of the pages whose text is sought; one text at a time is in memory."""
        return await self._in_turn(self._pages.having, tuple(slugs), is_sought)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create the page (``expected`` is None) or replace its text."""
        (result,) = await self.write_pages([(page, expected)])
        if isinstance(result, Page):
            return result
        raise result

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> list[WrittenPage]:
        """Write many pages, with one fsync; one that fails does not stop the others.

        Raises where the disk is full, read-only or broken, or the folder gone.
        """
        return await self._in_turn(self._pages.write_many, pages)

    async def delete(
        self, slug: Slug, *, expected: Digest, why: str = "deleted on the wiki"
    ) -> None:
        """Remove the page's file, and folders that are empty then."""
        await self._in_turn(self._pages.delete, slug, expected=expected, why=why)

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Rename the page's file, which keeps its extension, and its conflict file."""
        return await self._in_turn(self._move, slug, target, expected)

    def _move(self, slug: Slug, target: Slug, expected: Digest) -> Page:
        conflict_file = self._conflict_files.find(slug)
        path = self._pages.move(slug, target, expected=expected)
        if conflict_file is not None:
            self._conflict_files.move(conflict_file, target)
        page = self._pages.read(target)
        if page is None:
            raise PreconditionFailed(f"{path} is gone")
        return page

    # -- what leaves the folder ----------------------------------------------------

    async def late_saves(self) -> Sequence[LateSave]:
        """Saves that reached a file after it was replaced, or went to the trash."""
        return await self._in_turn(self._late_saves)

    def _late_saves(self) -> list[LateSave]:
        found: list[LateSave] = []
        for late in self._own.limbo.late_saves():
            page = parse_path(late.path)
            text = decode_page(late.content, late.path)
            if page is not None and isinstance(text, str):
                found.append(LateSave(page[0], text, late.id, late.before))
                continue
            path = late.path or "unknown"
            self._own.trash.put_once(path, late.content, LATE)
            found.append(LateSave(Slug(path), None, late.id))
        return found

    async def acknowledge(self, late: LateSave) -> None:
        """Forget a late save; one that cannot be forgotten is given again."""
        await self._in_turn(self._own.limbo.acknowledge, late.id)

    async def keep(
        self, slug: Slug, text: str, why: str, *, is_again: bool = False
    ) -> None:
        """Put a text into the trash that no file of its own holds."""
        async with self._one_at_a_time:
            content = text.encode("utf-8", "surrogatepass")
            path = self._pages.path(slug) or path_of(slug, Format.MARKDOWN)
            trash = self._own.trash
            put = trash.put_once if is_again else trash.put
            await finish_in_thread(put, path, content, why)

    # -- conflict files ------------------------------------------------------------

    async def conflict_file(self, slug: Slug) -> ConflictFile | None:
        """The page's conflict file as it is now; None where there is none."""
        return await self._in_turn(self._conflict_files.read, slug)

    async def write_conflict(
        self,
        slug: Slug,
        page_format: Format,
        text: str,
        *,
        expected: Digest | None = None,
    ) -> str:
        """Write the page's conflict file beside it; an older one goes to the trash."""
        return await self._in_turn(
            self._conflict_files.write, slug, page_format, text, expected
        )

    async def remove_conflict(
        self, slug: Slug, *, expected: Digest | None = None
    ) -> None:
        """Remove the page's conflict file, into the trash."""
        await self._in_turn(self._conflict_files.remove, slug, expected)

    # -- attachments ---------------------------------------------------------------

    def keeps_out(self, path: AttachmentPath) -> bool:
        """Whether the folder's patterns name it, as the last snapshot read them."""
        return self._pages.patterns.hides(path)

    async def attachments(
        self, paths: Collection[AttachmentPath]
    ) -> Mapping[AttachmentPath, LooseFile]:
        """Those of some attachments that can be read, as the last snapshot saw them."""
        async with self._one_at_a_time:
            listed = (await finish_in_thread(self.listing)).attachments
            return await finish_in_thread(self.index.there, paths, listed)

    async def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes in chunks."""
        check_attachment(path)
        try:
            with safe_open.opened_below(self.root, path) as descriptor:
                while chunk := await finish_in_thread(_read, descriptor, path):
                    yield chunk
        except FileNotFoundError as exc:
            raise NotFound(f"no attachment {path} in {self.name}") from exc

    def _remove_attachment(
        self, path: AttachmentPath, expected: Digest, why: str
    ) -> None:
        with self._own.writer() as writer:
            writer.remove(path, expected=expected, why=why)

    async def write_attachment(
        self,
        path: AttachmentPath,
        chunks: AsyncIterator[bytes],
        *,
        replaces: Digest | None = None,
    ) -> Attachment:
        """Store an attachment under this path, all of it or nothing.

        PreconditionFailed where another file is there, or one that stands for it.
        """
        check_attachment(path)
        if path in self._pages.hidden:
            raise PreconditionFailed(f"something else is in the place of {path}")
        digest = hashlib.sha256()
        size = 0
        with (
            FolderWriter(self.root, temporary=self._own.temporary) as writer,
            writer.open_stream(path) as stream,
        ):
            async for block in _blocks(chunks):
                digest.update(block)
                size += len(block)
                await finish_in_thread(stream.write, block)
            if replaces is not None:
                why = "the wiki has another one"
                await finish_in_thread(stream.take_over)
                await self._in_turn(self._remove_attachment, path, replaces, why)
            await finish_in_thread(stream.finish)
        return Attachment(path, Digest(digest.hexdigest()), size)


async def _blocks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in fewer pieces, since each costs a change of threads."""
    waiting: list[bytes] = []
    size = 0
    async for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= safe_open.CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _read(descriptor: int, path: str) -> bytes:
    try:
        return os.read(descriptor, safe_open.CHUNK_BYTES)
    except OSError as exc:
        raise safe_open.folder_error("read", path, exc) from exc

"""The folder's side of a wiki, seen as a replica; all work on the disk is in threads.

Fulfils ``sync.replica.LocalReplica`` without importing it.  Beside its pages and the
attachments a folder has:

- conflict files: ``Page.conflict.md`` beside ``Page.md``, while a page is held.  A
  person edits them, so they are written and removed with the same care as pages;
- loose files: pictures and the like that a person put beside the pages.  Only those
  that a page links to are read.  What a person made of a fetched attachment, in its
  place, is sent as a loose file is.
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
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from wikisync.core.layout import SCANS_FOLDER
from wikisync.core.model import (
    NO_FILE,
    WRITABLE_FORMATS,
    AttachmentPath,
    ConflictFile,
    Digest,
    Format,
    LateSave,
    LinkTarget,
    LooseFile,
    Page,
    Problem,
    Slug,
    Snapshot,
    digest_of,
    in_form_c,
    joined_path,
    split_extension,
)
from wikisync.core.system.parallel import finish_in_thread
from wikisync.errors import FolderError, NotFound, PlaceTaken, PreconditionFailed
from wikisync.folder import naming, safe_open
from wikisync.folder.ignore import CONFLICT_MARK, is_ignored_file, locked_name
from wikisync.folder.index import FolderIndex
from wikisync.folder.pages import PageFolder, WrittenPage
from wikisync.folder.private import wiki_private_folder
from wikisync.folder.scan import ScannedFolder
from wikisync.folder.swap import FileWrite, FolderWriter, OwnFolders

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
            page = naming.parse_path(late.path)
            text = naming.decode_page(late.content, late.path)
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
            path = self._pages.path(slug) or naming.path_of(slug, Format.MARKDOWN)
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
        naming.check_attachment(path)
        try:
            with safe_open.opened_below(self.root, path) as descriptor:
                while chunk := await finish_in_thread(_read, descriptor, path):
                    yield chunk
        except FileNotFoundError as exc:
            raise NotFound(f"no attachment {path} in {self.name}") from exc

    async def write_attachment(
        self,
        path: AttachmentPath,
        chunks: AsyncIterator[bytes],
        *,
        replaces: Digest | None = None,
    ) -> LooseFile:
        """Store an attachment under this path, all of it or nothing.

        PreconditionFailed where another file is there, or one that stands for it.
        """
        naming.check_attachment(path)
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
                await self._in_turn(self._own.remove, path, expected=replaces, why=why)
            await finish_in_thread(stream.finish)
        return LooseFile(path, Digest(digest.hexdigest()), size)

    # -- loose files ---------------------------------------------------------------

    async def loose_files(self) -> frozenset[str]:
        """The paths of all of them but of those in hidden folders, in form C."""
        listed = await asyncio.to_thread(self.listing)
        own = (path for path in listed.attachments if not naming.is_fetched(path))
        return frozenset(map(in_form_c, (*listed.loose, *own)))

    async def files_at(self, paths: Collection[str]) -> Mapping[str, LooseFile]:
        """The files at these paths, in any form of Unicode; none that is a page."""
        asked = {path for path in paths if _is_loose(path)}
        return await finish_in_thread(self._loose_at, asked) if asked else {}

    def linked_path(self, slug: Slug, target: LinkTarget) -> AttachmentPath | None:
        """Where in the wiki's folder a link on a page leads; None where out of it."""
        way = _resolved(slug, target)
        if target.path.startswith("/") and way is not None and naming.is_fetched(way):
            return None  # the project's own store, and not the wiki's
        found = target.path if naming.is_fetched(target.path) else way
        return None if found is None else AttachmentPath(found)

    def _loose_at(self, paths: Collection[str]) -> Mapping[str, LooseFile]:
        loose, found = self.listing().loose, dict[str, LooseFile]()
        pages = {
            folder: self._pages_in(folder)
            for folder in {path.rpartition("/")[0] for path in paths}
        }
        # the disk may spell a name in another form of Unicode than the link does
        names = () if all(map(str.isascii, paths)) else loose
        forms = {in_form_c(name): name for name in names}
        with (
            safe_open.opened_root(self.root) as root,
            safe_open.Folders(root) as folders,
        ):
            for path in sorted(paths):
                folder, _, name = path.rpartition("/")
                if self.keeps_out(AttachmentPath(path)) or name in pages[folder]:
                    continue
                spelled = path if path.isascii() else forms.get(in_form_c(path), path)
                file = self.index.look(folders, spelled)
                if file is not None:
                    found[path] = LooseFile(spelled, file.digest, file.size)
        self.index.keep()
        return found

    def _pages_in(self, folder: str) -> frozenset[str]:
        try:
            files = [
                split_extension(each.name) for each in (self.root / folder).iterdir()
            ]
        except OSError:
            return frozenset()
        return frozenset(file[0] for file in files if file is not None)


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
    with safe_open.folder_errors("read", path):
        return os.read(descriptor, safe_open.CHUNK_BYTES)


# -- conflict files ----------------------------------------------------------------


class ConflictFiles:
    """The conflict files in one wiki's folder; blocks, for one thread at a time."""

    def __init__(self, pages: PageFolder, own: OwnFolders) -> None:
        self._pages = pages
        self._own = own

    def find(self, slug: Slug) -> str | None:
        """The path of the page's conflict file; None where none can be read."""
        with suppress(FolderError):
            return self._found(slug)[0] or None
        return None

    def read(self, slug: Slug) -> ConflictFile | None:
        """The page's conflict file; ``PlaceTaken`` where no file has its name."""
        path, content = self._found(slug)
        if content is None:
            return None
        text = naming.decode_page(content, path)
        if isinstance(text, Problem):
            raise FolderError(str(text), path=path, hint=text.hint)
        return ConflictFile(path, text, self._lock(path))

    def write(
        self, slug: Slug, page_format: Format, text: str, expected: Digest | None = None
    ) -> str:
        """Write the page's conflict file over what is expected; return its path."""
        page = self._pages.path(slug)
        path = self.find(slug) or _beside(page or naming.path_of(slug, page_format))
        content = text.encode("utf-8", "surrogatepass")
        before = self._content(path)
        if before == content:
            return path
        _require(path, before, expected)
        if before is not None:
            self._own.trash.put(path, before, "the conflict changed")
        expected = None if before is None else digest_of(before)
        # a page that only its owner may read has such a conflict file
        like = page if page and before is None else ""
        self._own.write(FileWrite(path, content, expected, like))
        return path

    def remove(self, slug: Slug, expected: Digest | None = None) -> None:
        """Remove the page's conflict file, if there is one that can be read."""
        for path in self._paths(slug):
            content = None
            with suppress(FolderError):
                content = self._content(path)
            if content is not None:
                _require(path, content, expected)
                found, why = digest_of(content), "the conflict is over"
                self._own.remove(path, expected=found, why=why)

    def move(self, path: str, target: Slug) -> None:
        """Move a conflict file beside its page's new place, if that is free."""
        page = self._pages.path(target)
        content = self._content(path)
        if page is None or content is None:
            return
        with self._own.writer() as writer, suppress(PreconditionFailed):
            writer.move(path, _beside(page), expected=digest_of(content))

    def _found(self, slug: Slug) -> tuple[str, bytes | None]:
        """The conflict file's path and content; nothing where there is none."""
        errors: list[FolderError] = []
        for path in self._paths(slug):
            try:
                content = self._content(path)
            except FolderError as error:
                errors.append(error)
            else:
                if content is not None:
                    return path, content
        if errors:
            raise errors[0]
        return "", None

    def _paths(self, slug: Slug) -> list[str]:
        """Where the conflict file may be, the likeliest place first."""
        known = self._pages.path(slug)
        ours = [
            naming.path_of(slug, page_format)
            for page_format in sorted(WRITABLE_FORMATS)
        ]
        pages = [known, *ours] if known else ours
        return list(dict.fromkeys(map(_beside, pages)))

    def _content(self, path: str) -> bytes | None:
        try:
            with safe_open.opened_below(self._own.root, path) as descriptor:
                return safe_open.read_all(descriptor, path)
        except FileNotFoundError:
            return None
        except PlaceTaken as error:
            # any file may be called so, and this one is not to become the page's
            hint = f"move {error.path} away"
            raise PlaceTaken(error.message, path=error.path, hint=hint) from error

    def _lock(self, path: str) -> str:
        """The lock file of an editor that has a file open, or nothing."""
        folder, slash, name = path.rpartition("/")
        with (
            safe_open.opened_root(self._own.root) as root,
            safe_open.closing(
                safe_open.open_folder(root, folder.split("/") if folder else [])
            ) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            locks = [one.name for one in entries if locked_name(one.name) == name]
        return f"{folder}{slash}{min(locks)}" if locks else ""


def _require(path: str, content: bytes | None, expected: Digest | None) -> None:
    found = NO_FILE if content is None else digest_of(content)
    if expected is not None and found != expected:
        raise PreconditionFailed(f"{path} was saved meanwhile")


def _beside(path: str) -> str:
    split = split_extension(path)
    assert split, path
    stem = split[0]
    return f"{stem}{CONFLICT_MARK}{path[len(stem) :]}"


def _is_loose(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_other = naming.is_fetched(path) or is_ignored_file(name) or split_extension(name)
    return naming.attachment_path(path) is not None and not is_other


def _resolved(slug: Slug, target: LinkTarget) -> str | None:
    """A target as a path in the wiki's folder; None where it leaves the folder."""
    way = target.path
    if not way or "\0" in way or "\\" in way:
        return None
    is_of_top = target.is_wikilink or way.startswith("/")
    start = (
        "" if is_of_top else naming.path_of(slug, Format.MARKDOWN).rpartition("/")[0]
    )
    return joined_path(start, way) or None

"""The page files of one wiki's folder: scanning, reading, writing, removing.

Everything here blocks; ``replica`` calls it in threads, one at a time where it changes
something.  A file that was saved a moment ago may be half, and is waited for.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from stat import S_ISREG

from msgspec.structs import replace

from wikisync.core.model import (
    FOLDER_OF_PAGES,
    Digest,
    Format,
    Page,
    PagePath,
    PageState,
    Problem,
    Slug,
    Snapshot,
    digest_of,
    folded_digest,
    folders_above,
    split_extension,
)
from wikisync.core.system.file_status import FileStatus, is_settled, status_of
from wikisync.core.system.libc import identity_of
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder import naming
from wikisync.folder.clashes import Folding, PathBook, probe_folding
from wikisync.folder.ignore import IGNORE_FILE, NO_PATTERNS
from wikisync.folder.index import FolderIndex, IndexedFile
from wikisync.folder.safe_open import (
    Folders,
    closing,
    open_folder,
    opened_file,
    opened_root,
    read_limited,
    split_path,
)
from wikisync.folder.scan import ListedFile, ScannedFolder, read_patterns, scan_pages
from wikisync.folder.swap import FileWrite, FolderWriter, OwnFolders

PAGE_BYTES_MAX = 64 * 1024 * 1024
"""A file larger than this is not read as a page."""

SHRUNK_S = 2.0
"""How long a file that is empty, or has lost half, must be left alone."""

WrittenPage = Page | FolderError | PreconditionFailed
"""The page as the folder holds it now, or why it does not."""

READ_ALL_S = 3600.0
"""So often every page is read, for times can be set back and clocks jump."""


class PageFolder:
    """The pages in one folder, by slug."""

    def __init__(
        self,
        own: OwnFolders,
        index: FolderIndex,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = own.root
        self._own = own
        self._index = index
        """Also of files that we wrote since the last scan."""
        self._clock = clock
        self._scanned: ScannedFolder | None = None
        self._snapshot: Snapshot | None = None
        """The last snapshot; None before the first one, and since we wrote a page."""
        self.patterns = NO_PATTERNS
        self._pattern_problems: tuple[Problem, ...] = ()
        self._paths: dict[Slug, PagePath] = {}
        self._book: PathBook | None = None
        self._folding: Folding | None = None

    def snapshot(self) -> Snapshot:
        """Scan every page file once; unchanged files are not read again."""
        return self._snapshot_of(self.rescan())

    def scan(self, *, now: float, quiet_s: float) -> Snapshot | float:
        """A snapshot, or how many seconds to wait first, as a file was just saved.

        It must be left alone for ``quiet_s``, or for ``SHRUNK_S`` where it lost half or
        more; not so what is as at the last snapshot, or was written by us.
        """
        scanned = self.rescan()
        saved_ns = (now - max(quiet_s, SHRUNK_S)) * 1e9
        saved = [file for file in scanned.pages if file.status.ctime_ns > saved_ns]
        wait_s = max((self._wait_s(file, now, quiet_s) for file in saved), default=0.0)
        return wait_s if wait_s > 0 else self._snapshot_of(scanned)

    def _wait_s(self, file: ListedFile, now: float, quiet_s: float) -> float:
        age_s = now - file.status.ctime_ns / 1e9
        known = self._index.files.get(file.path)
        before = None if known is None else known.status
        if before == file.status:
            return 0.0
        if _has_shrunk(file.status, before):
            quiet_s = max(quiet_s, SHRUNK_S)
        return quiet_s - age_s

    def _snapshot_of(self, scanned: ScannedFolder) -> Snapshot:
        known, now = self._index.files, self._clock()
        # also after a clock was set back: then no age means anything
        reads_all = not 0 <= now - self._index.read_all_at < READ_ALL_S
        pages: dict[Slug, PageState] = {}
        problems = [*self._pattern_problems, *scanned.problems]
        # by page: whether there is such a page, the reader of the scan knows
        problems += [
            Problem(
                FOLDER_OF_PAGES,
                page[0],
                f"{path} is a folder with the name of the page's file; the page is"
                f" skipped",
                "rename or remove the folder to get the page back",
            )
            for path in scanned.in_place
            if (page := naming.parse_path(path))
        ]
        problems += scanned.left_out
        unreadable = set(scanned.duplicates)
        seen = {path: file for path, file in list(known.items()) if file.page is None}
        with opened_root(self._root) as root, Folders(root) as folders:
            for file in scanned.pages:
                found: IndexedFile | Problem | None
                found = before = known.get(file.path)
                if before is None or reads_all or not before.is_as(file.status):
                    found = self._scan(folders, file)
                if isinstance(found, Problem):
                    problems.append(found)
                    unreadable.add(file.slug)
                elif found is not None and found.page is not None:
                    seen[file.path] = found
                    pages[file.slug] = found.page
        self._index.note_all(seen, read_all_at=now if reads_all else None)
        self._index.keep()
        hidden = (naming.parse_path(path) for path in scanned.hidden if path)
        unreadable |= {page[0] for page in hidden if page} | scanned.ignored
        locked = ((naming.parse_path(one), lock) for one, lock in scanned.locks.items())
        self._snapshot = Snapshot(
            pages={slug: pages[slug] for slug in pages if slug not in unreadable},
            problems=tuple(problems),
            is_complete=scanned.is_complete,
            unreadable=frozenset(unreadable),
            ignored=frozenset(scanned.ignored),
            busy={page[0]: lock for page, lock in locked if page},
            copies=scanned.copies,
            likely_copies=scanned.likely_copies,
            elsewhere=scanned.elsewhere,
        )
        return self._snapshot

    def scan_saved(
        self, paths: Collection[str], *, now: float, quiet_s: float
    ) -> Snapshot | float | None:
        """As ``scan``, but only these files are read; None where more must be.

        That is where one of them is not a whole page's file, now or at the last
        snapshot, it lost half, or we wrote a page since.
        """
        before, listed = self._snapshot, self._scanned
        # Each way out below is a case in which more than the text of a known page may
        # have changed: then only a whole scan sees it.
        if before is None or listed is None:
            return None
        pages = list(listed.pages)
        found: dict[ListedFile, IndexedFile] = {}
        with opened_root(self._root) as root, Folders(root) as folders:
            for path in paths:
                index = bisect_left(pages, path, key=attrgetter("path"))
                if index == len(pages) or pages[index].path != path:
                    return None
                *parts, name = split_path(path)
                try:
                    folder = folders.open(parts, makes=False)
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except (OSError, FolderError):
                    return None
                file = pages[index]._replace(status=status_of(status))
                if not S_ISREG(status.st_mode) or file.slug not in before.pages:
                    return None
                known = self._index.files.get(path)
                if known is None or _has_shrunk(file.status, known.status):
                    return None
                if (wait_s := self._wait_s(file, now, quiet_s)) > 0:
                    return wait_s
                seen = self._scan(folders, file)
                if not isinstance(seen, IndexedFile):
                    return None
                pages[index], found[file] = file, seen
        self._scanned = replace(listed, pages=tuple(pages))
        for file, seen in found.items():
            self._index.note(file.path, seen)
        states = {file.slug: seen.page for file, seen in found.items() if seen.page}
        self._snapshot = replace(before, pages={**before.pages, **states})
        return replace(self._snapshot, is_partial=True)

    def rescan(self) -> ScannedFolder:
        """List the folder anew and remember which file is which page."""
        self.patterns, self._pattern_problems = read_patterns(self._root)
        scanned = scan_pages(self._root, self.patterns, self._index.files)
        self._paths = {file.slug: file.path for file in scanned.pages}
        self._scanned = scanned
        self._book = None
        return scanned

    @property
    def scanned(self) -> ScannedFolder:
        """The last list of the folder; it is listed where it never was."""
        return self._scanned or self.rescan()

    @property
    def hidden(self) -> Collection[str]:
        """Paths in whose place the last list saw something else, if there was one."""
        return self._scanned.hidden if self._scanned else ()

    def untracked(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Those of the pages whose absence from the last scan means nothing.

        Their files would be ignored, stubs, or in a folder that is not scanned.
        """
        hidden = self.scanned.hidden
        if not self.patterns and not hidden:
            return frozenset()
        found = {slug for slug, page_format in pages if self._hides(slug, page_format)}
        return frozenset(found)

    def _hides(self, slug: Slug, page_format: Format) -> bool:
        if slug in self._paths:
            return False
        hidden = self.scanned.hidden
        plain = (f"{slug}{extension}" for extension in page_format.extensions)
        return any(
            self.patterns.hides(path)
            or any(way in hidden for way in (path, *folders_above(path), ""))
            for path in (naming.path_of(slug, page_format), *plain)
        )

    def emptied(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Those of the pages below a directory that is there and holds nothing."""
        found: set[Slug] = set()
        known: dict[tuple[str, ...], bool] = {}
        with opened_root(self._root) as root:
            for slug, page_format in pages:
                parts = tuple(naming.path_of(slug, page_format).split("/")[:-1])
                if parts not in known:
                    known[parts] = _is_emptied(root, parts)
                if known[parts]:
                    found.add(slug)
        return frozenset(found)

    def read(self, slug: Slug) -> Page | None:
        """A page that the last scan found; None where its file is not there."""
        with opened_root(self._root) as root, Folders(root) as folders:
            return self._read_in(folders, slug)

    def having(
        self, slugs: Iterable[Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[Slug]:
        """Those of the pages whose text is sought; what cannot be read is not."""
        found: set[Slug] = set()
        with opened_root(self._root) as root, Folders(root) as folders:
            for slug in slugs:
                with suppress(FolderError):
                    page = self._read_in(folders, slug)
                    if page is not None and is_sought(page.content):
                        found.add(slug)
        return frozenset(found)

    def _read_in(self, folders: Folders, slug: Slug) -> Page | None:
        path = self._paths.get(slug)
        if path is None:
            return None
        try:
            with opened_file(folders, path) as descriptor:
                content = read_limited(descriptor, path, PAGE_BYTES_MAX)
        except FileNotFoundError:
            return None
        text = naming.decode_page(content, path)
        if isinstance(text, Problem):
            raise FolderError(str(text), hint=text.hint)
        found = naming.parse_path(path)
        assert found is not None, path
        return Page(slug, found[1], text, naming.title_of(slug))

    def write_many(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> list[WrittenPage]:
        """Write pages, each over the text of a digest; one result for each, in order.

        Raises where the disk is full, read-only or broken, or the folder gone.
        """
        results: dict[int, WrittenPage] = {}
        writes: dict[int, FileWrite] = {}
        with self._writer() as writer:
            for index, (page, expected) in enumerate(pages):
                try:
                    writes[index] = self._prepare(page, expected, writer)
                except (FolderError, PreconditionFailed) as exc:
                    results[index] = exc
            written = writer.write_many(list(writes.values()))
            for index, error in zip(writes, written, strict=True):
                page, expected = pages[index]
                path = PagePath(writes[index].path)
                results[index] = error or self._settle(page, expected, path, writer)
        return [results[index] for index in range(len(pages))]

    def delete(self, slug: Slug, *, expected: Digest, why: str = "") -> None:
        """Remove a page's file, and folders that are truly empty then."""
        path = self._known_path(slug)
        with self._writer() as writer:
            writer.remove(path, expected=expected, why=why)
        del self._known_paths()[slug]
        self._index.forget(path)
        self._book = None

    def move(self, slug: Slug, target: Slug, *, expected: Digest) -> PagePath:
        """Rename a page's file, which keeps its extension; gives its path now."""
        path = self._known_path(slug)
        if target in self._known_paths():
            raise PreconditionFailed(f"{target} exists already in {self._root}")
        found = naming.parse_path(path)
        split = split_extension(path)
        assert found, path
        assert split, path
        book = self._path_book()
        book.release(slug)
        new = book.assign(target, found[1], extension=path[len(split[0]) :])
        self._check_path(target, found[1], new)
        try:
            with self._writer() as writer:
                writer.move(path, new, expected=expected)
        except (FolderError, PreconditionFailed):
            # the book has given the new name away, which nobody got
            self._book = None
            raise
        del self._known_paths()[slug]
        self._known_paths()[target] = new
        self._index.forget(path)
        self._note_own(new, PageState(target, found[1], expected))
        return new

    def path(self, slug: Slug) -> PagePath | None:
        """Where the last scan saw a page's file."""
        return self._known_paths().get(slug)

    def _known_path(self, slug: Slug) -> PagePath:
        if (path := self.path(slug)) is None:
            raise PreconditionFailed(f"{slug} is gone from {self._root}")
        return path

    def _writer(self) -> FolderWriter:
        self._snapshot = None
        return self._own.writer()

    def _known_paths(self) -> dict[Slug, PagePath]:
        if self._scanned is None:
            self.rescan()
        return self._paths

    def _path_book(self) -> PathBook:
        if self._book is None:
            self._folding = self._folding or probe_folding(self._root)
            self._book = PathBook(self._known_paths(), self._folding)
        return self._book

    def _prepare(
        self, page: Page, expected: Digest | None, writer: FolderWriter
    ) -> FileWrite:
        """What is to be written, with everything checked that needs no write."""
        content = naming.encode_page(page)
        known = self._known_paths().get(page.slug)
        if known is not None and naming.parse_path(known) == (page.slug, page.format):
            path = known  # without the book, which goes through all pages
        else:
            path = self._path_book().assign(page.slug, page.format)
        self._check_path(page.slug, page.format, path)
        # A page whose format changed gets another file; the old one goes when the new
        # one is there (``_settle``), so that the text is always in one of them.
        if known is None or known == path:
            return FileWrite(path, content, expected)
        writer.check(known, expected=expected)
        return FileWrite(path, content, None, like=known)

    def _check_path(self, slug: Slug, page_format: Format, path: PagePath) -> None:
        if len(path.encode()) > naming.PATH_BYTES_MAX:
            self._book = None
            raise FolderError(
                f"the path of the page {slug[:60]}... is too long for a disk",
                hint="give the page a shorter name on the wiki",
            )
        if self.patterns.hides(path) or self._hides(slug, page_format):
            self._book = None
            raise FolderError(
                f"{path} is excluded from the sync by {IGNORE_FILE}, a link or a stub",
                hint=f"change {IGNORE_FILE}, or put the file or folder there",
            )

    def _settle(
        self, page: Page, expected: Digest | None, path: PagePath, writer: FolderWriter
    ) -> WrittenPage:
        """Remember a written page, and remove its file in another format."""
        known = self._known_paths().get(page.slug)
        if known is not None and known != path and expected is not None:
            try:
                writer.remove(known, expected=expected, why="its format changed")
            except (FolderError, PreconditionFailed) as exc:
                return exc
            self._index.forget(known)
            self._book = None
        self._known_paths()[page.slug] = path
        digest = digest_of(page.content)
        self._note_own(path, PageState(page.slug, page.format, digest))
        return Page(page.slug, page.format, page.content, naming.title_of(page.slug))

    def _note_own(self, path: PagePath, state: PageState) -> None:
        """Know a file that we wrote or renamed again, which needs no wait."""
        # what it holds is read all the same: somebody may have saved it since
        with suppress(OSError):
            status = status_of((self._root / path).lstat())
            found = IndexedFile(state.digest, status.size, status, page=state)
            self._index.note(path, found)

    def _scan(self, folders: Folders, file: ListedFile) -> IndexedFile | Problem | None:
        """What a page file holds; None where the file has just gone."""
        started_ns = time.time_ns()
        try:
            with opened_file(folders, file.path) as descriptor:
                content = read_limited(descriptor, file.path, PAGE_BYTES_MAX)
                identity = identity_of(descriptor)
        except FileNotFoundError:
            return None
        except FolderError as exc:
            return Problem("page-unreadable", file.path, exc.message, exc.hint or "")
        text = naming.decode_page(content, file.path)
        if isinstance(text, Problem):
            return text
        state = PageState(
            file.slug,
            file.format,
            digest_of(content),
            folded=folded_digest(text),
            identity=identity,
            size=len(content),
        )
        is_sure = is_settled(file.status, started_ns)
        return IndexedFile(state.digest, len(content), file.status, is_sure, state)


def _has_shrunk(status: FileStatus, before: FileStatus | None) -> bool:
    return status.size == 0 or (before is not None and status.size * 2 < before.size)


def _is_emptied(root: int, parts: Sequence[str]) -> bool:
    for depth in range(len(parts), 0, -1):
        try:
            with (
                closing(open_folder(root, list(parts[:depth]))) as descriptor,
                os.scandir(descriptor) as entries,
            ):
                return next(entries, None) is None
        except FileNotFoundError:
            continue
        except FolderError:
            return False
    return False

"""The page files of one wiki's folder: scanning, reading, writing, removing.

Everything here blocks; ``replica`` calls it in threads, one at a time where it
changes something.  Names alone decide which file is which page
(``naming``); what was read is remembered for files that stay as they are, with
``scan_cache`` also for the next process.  A file that was saved a moment ago is waited
for (``scan``), since it may be half of what is coming.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from stat import S_ISREG

from msgspec.structs import replace

from wikisync.errors import FolderError, PreconditionFailed
from wikisync.file_status import FileStatus, status_of, trusted_status
from wikisync.folder.birth import identity_of
from wikisync.folder.clashes import PathBook
from wikisync.folder.contents import is_emptied
from wikisync.folder.limbo import Limbo
from wikisync.folder.naming import PATH_BYTES_MAX, parse_path, path_of
from wikisync.folder.pattern_file import read_patterns
from wikisync.folder.patterns import IGNORE_FILE, NO_PATTERNS
from wikisync.folder.probe import Folding, probe_folding
from wikisync.folder.safe_open import (
    Folders,
    opened_file,
    opened_root,
    read_limited,
    split_path,
)
from wikisync.folder.scan import ListedFile, ScannedFolder, scan_pages
from wikisync.folder.scan_cache import ScanCache, SeenFile
from wikisync.folder.swap import FileWrite, FolderWriter
from wikisync.folder.text import decode_page, encode_page, title_of
from wikisync.folder.traces import busy_pages, pages_hidden
from wikisync.folder.trash import Trash
from wikisync.model import (
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

PAGE_BYTES_MAX = 64 * 1024 * 1024
"""A file larger than this is not read as a page."""

SHRUNK_S = 2.0
"""How long a file that is empty, or has lost half, must be left alone."""

WrittenPage = Page | FolderError | PreconditionFailed
"""The page as the folder holds it now, or why it does not."""

_Written = tuple[int, int, int]
READ_ALL_S = 3600.0
"""So often every file is read, for times can be set back and clocks jump."""
KEEP_S = 60.0
"""So often at most what was seen is kept for the next process."""


class PageFolder:
    """The pages in one folder, by slug."""

    def __init__(
        self,
        root: Path,
        *,
        temporary: Path | None = None,
        limbo: Limbo | None = None,
        trash: Trash | None = None,
        cache: ScanCache | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._temporary = temporary
        self._limbo = limbo
        self._trash = trash
        self._cache = cache
        self._kept_at = float("-inf")
        """When what was seen was last kept in the cache."""
        self._seen: Mapping[str, SeenFile] | None = None
        """What each file held at the last scan; None before the first one."""
        self._read_all_at = clock()
        """When every file was last read, whatever its times said."""
        self._clock = clock
        self._looked: dict[str, FileStatus] = {}
        """Status of every page file at the last scan."""
        self._written: dict[str, _Written] = {}
        """Inode, size and time of files that we wrote since."""
        self._scanned: ScannedFolder | None = None
        self._snapshot: Snapshot | None = None
        """The last snapshot; None before the first one, and since we wrote a page."""
        self.patterns = NO_PATTERNS
        self._pattern_problems: tuple[Problem, ...] = ()
        self._paths: dict[Slug, PagePath] | None = None
        self._book: PathBook | None = None
        self._folding: Folding | None = None

    def snapshot(self) -> Snapshot:
        """Scan every page file once; unchanged files are not read again.

        Raises:
            FolderError: the folder does not exist.
        """
        return self._snapshot_of(self.rescan())

    def scan(self, *, now: float, quiet_s: float) -> Snapshot | float:
        """A snapshot, or how many seconds to wait first, as a file was just saved.

        A file counts as whole when it was left alone for ``quiet_s``, or for
        ``SHRUNK_S`` where it is empty or has less than half of what it had.  What
        has not changed since the last snapshot, or was written by us, is not
        waited for.

        Raises:
            FolderError: the folder does not exist.
        """
        scanned = self.rescan()
        saved_ns = (now - max(quiet_s, SHRUNK_S)) * 1e9
        saved = [file for file in scanned.pages if file.status.ctime_ns > saved_ns]
        wait_s = max((self._wait_s(file, now, quiet_s) for file in saved), default=0.0)
        return wait_s if wait_s > 0 else self._snapshot_of(scanned)

    def _wait_s(self, file: ListedFile, now: float, quiet_s: float) -> float:
        age_s = now - file.status.ctime_ns / 1e9
        before = self._looked.get(file.path)
        if before == file.status:
            return 0.0
        if self._written.get(file.path) == _written_of(file.status):
            return 0.0
        if _has_shrunk(file.status, before):
            quiet_s = max(quiet_s, SHRUNK_S)
        return quiet_s - age_s

    def _snapshot_of(self, scanned: ScannedFolder) -> Snapshot:
        before, known = self._looked, self._known_files()
        pages: dict[Slug, PageState] = {}
        problems = [*self._pattern_problems, *scanned.problems, *_in_place(scanned)]
        problems += scanned.left_out
        unreadable = set(scanned.duplicates)
        seen: dict[str, SeenFile] = {}
        has_read = False
        with opened_root(self._root) as root, Folders(root) as folders:
            for file in scanned.pages:
                found: SeenFile | Problem | None
                kept = known.get(file.path)
                if kept is not None and kept.status == file.status:
                    found = kept
                else:
                    has_read = True
                    found = self._scan(folders, file)
                if isinstance(found, Problem):
                    problems.append(found)
                    unreadable.add(file.slug)
                elif found is not None:
                    seen[file.path] = found
                    pages[file.slug] = found.state
        self._seen = seen
        if has_read:
            self._keep(seen)
        # what we wrote before this scan is in it, and a later change is somebody else's
        self._looked = {file.path: file.status for file in scanned.pages}
        self._written = {}
        unreadable |= pages_hidden(scanned.hidden) | scanned.ignored
        self._snapshot = Snapshot(
            pages={slug: pages[slug] for slug in pages if slug not in unreadable},
            problems=tuple(problems),
            is_complete=scanned.is_complete,
            unreadable=frozenset(unreadable),
            ignored=scanned.ignored,
            busy=busy_pages(scanned, pages, before),
            copies=scanned.copies,
            likely_copies=scanned.likely_copies,
            elsewhere=scanned.elsewhere,
        )
        return self._snapshot

    def scan_saved(
        self, paths: Collection[str], *, now: float, quiet_s: float
    ) -> Snapshot | float | None:
        """A snapshot for which only these files are read; all else is as it was.

        Returns:
            Seconds to wait, as ``scan`` does; None where more must be scanned: one of
            the files was not the whole and readable file of a page at the last
            snapshot or is none now, it lost half, or we wrote a page since.
        """
        before, listed = self._snapshot, self._scanned
        # Each way out below is a case in which more than the text of a known page may
        # have changed: then only a whole scan sees it.
        if before is None or listed is None:
            return None
        pages = list(listed.pages)
        found: dict[ListedFile, SeenFile] = {}
        with opened_root(self._root) as root, Folders(root) as folders:
            for path in paths:
                index = bisect_left(pages, path, key=attrgetter("path"))
                if index == len(pages) or pages[index].path != path:
                    return None
                file = _listed_anew(folders, pages[index])
                if file is None or file.slug not in before.pages:
                    return None
                if _has_shrunk(file.status, self._looked.get(path)):
                    return None
                if (wait_s := self._wait_s(file, now, quiet_s)) > 0:
                    return wait_s
                seen = self._scan(folders, file)
                if not isinstance(seen, SeenFile):
                    return None
                pages[index], found[file] = file, seen
        self._scanned = replace(listed, pages=tuple(pages))
        self._seen = dict(self._seen or {}) | {f.path: s for f, s in found.items()}
        self._looked |= {file.path: file.status for file in found}
        states = {file.slug: seen.state for file, seen in found.items()}
        self._snapshot = replace(before, pages={**before.pages, **states})
        return replace(self._snapshot, is_partial=True)

    def rescan(self) -> ScannedFolder:
        """List the folder anew and remember which file is which page."""
        self.patterns, self._pattern_problems = read_patterns(self._root)
        known = self._known_files()
        scanned = scan_pages(self._root, self.patterns, known)
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

        Their files would be ignored, or be in a folder that is a link, that a program
        made or that could not be read, or they are stubs.
        """
        hidden = self.scanned.hidden
        if not self.patterns and not hidden:
            return frozenset()
        found = {slug for slug, page_format in pages if self._hides(slug, page_format)}
        return frozenset(found)

    def _hides(self, slug: Slug, page_format: Format) -> bool:
        if slug in (self._paths or {}):
            return False
        plain = (f"{slug}{extension}" for extension in page_format.extensions)
        return any(self._is_hidden(way) for way in (path_of(slug, page_format), *plain))

    def _is_hidden(self, path: str) -> bool:
        if self.patterns.hides(path):
            return True
        hidden = self.scanned.hidden
        ways = (path, *folders_above(path), "")
        return bool(hidden) and any(way in hidden for way in ways)

    def emptied(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Those of the pages below a directory that is there and holds nothing."""
        found: set[Slug] = set()
        known: dict[tuple[str, ...], bool] = {}
        with opened_root(self._root) as root:
            for slug, page_format in pages:
                parts = tuple(path_of(slug, page_format).split("/")[:-1])
                if parts not in known:
                    known[parts] = is_emptied(root, parts)
                if known[parts]:
                    found.add(slug)
        return frozenset(found)

    def read(self, slug: Slug) -> Page | None:
        """A page that the last scan found; None where its file is not there.

        Raises:
            FolderError: the file cannot be read, or is not text.
        """
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
        path = (self._paths or {}).get(slug)
        if path is None:
            return None
        try:
            content = _read_bytes(folders, path)
        except FileNotFoundError:
            return None
        text = decode_page(content, path)
        if isinstance(text, Problem):
            raise FolderError(str(text), hint=text.hint)
        found = parse_path(path)
        assert found is not None, path
        return Page(slug, found[1], text, title_of(slug))

    def write_many(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> list[WrittenPage]:
        """Write pages, each with the digest of the text that it replaces.

        Returns:
            One result for each page, in order.

        Raises:
            FolderError: the disk is full, read-only or broken, or the folder gone.
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
        """Remove a page's file, and folders that are truly empty then.

        Raises:
            PreconditionFailed: it changed, or is gone already.
            FolderError: it cannot be removed.
        """
        path = self._known_path(slug)
        with self._writer() as writer:
            writer.remove(path, expected=expected, why=why)
        del self._known_paths()[slug]
        self._book = None

    def move(self, slug: Slug, target: Slug, *, expected: Digest) -> PagePath:
        """Rename a page's file, which keeps its extension.

        Returns:
            Its path now.

        Raises:
            PreconditionFailed: it changed or is gone, or the name is taken.
            FolderError: it cannot be renamed.
        """
        path = self._known_path(slug)
        if target in self._known_paths():
            raise PreconditionFailed(f"{target} exists already in {self._root}")
        found = parse_path(path)
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
        self._remember_moved(path, new)
        return new

    def path(self, slug: Slug) -> PagePath | None:
        """Where the last scan saw a page's file."""
        return self._known_paths().get(slug)

    def _known_path(self, slug: Slug) -> PagePath:
        path = self._known_paths().get(slug)
        if path is None:
            raise PreconditionFailed(f"{slug} is gone from {self._root}")
        return path

    def _writer(self) -> FolderWriter:
        self._snapshot = None
        return FolderWriter(
            self._root,
            temporary=self._temporary,
            limbo=self._limbo,
            trash=self._trash,
        )

    def _known_paths(self) -> dict[Slug, PagePath]:
        if self._paths is None:
            self.rescan()
        assert self._paths is not None
        return self._paths

    def _path_book(self) -> PathBook:
        if self._book is None:
            self._folding = self._folding or probe_folding(self._root)
            self._book = PathBook(
                self._known_paths(),
                folds_case=self._folding.case,
                folds_unicode=self._folding.unicode,
            )
        return self._book

    def _prepare(
        self, page: Page, expected: Digest | None, writer: FolderWriter
    ) -> FileWrite:
        """What is to be written, with everything checked that needs no write."""
        content = encode_page(page)
        known = self._known_paths().get(page.slug)
        path = self._path_for(page.slug, page.format)
        self._check_path(page.slug, page.format, path)
        # A page whose format changed gets another file; the old one goes when the new
        # one is there (``_settle``), so that the text is always in one of them.
        if known is None or known == path:
            return FileWrite(path, content, expected)
        writer.check(known, expected=expected)
        return FileWrite(path, content, None, like=known)

    def _path_for(self, slug: Slug, page_format: Format) -> PagePath:
        """Where a page is to be written: in its file, if that is of its format."""
        known = self._known_paths().get(slug)
        if known is not None and parse_path(known) == (slug, page_format):
            return known  # without the book, which goes through all pages
        return self._path_book().assign(slug, page_format)

    def _check_path(self, slug: Slug, page_format: Format, path: PagePath) -> None:
        if len(path.encode()) > PATH_BYTES_MAX:
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
            self._book = None
        self._known_paths()[page.slug] = path
        if self._limbo is not None:
            self._remember_written(path)
        return Page(page.slug, page.format, page.content, title_of(page.slug))

    def _remember_moved(self, path: PagePath, new: PagePath) -> None:
        written, scanned = self._written.pop(path, None), self._looked.pop(path, None)
        if written is None and scanned is not None:
            written = _written_of(scanned)
        if written is not None:
            self._written[new] = written

    def _remember_written(self, path: PagePath) -> None:
        """Know our own write again, which needs no wait."""
        with suppress(OSError):
            status = status_of((self._root / path).lstat())
            self._written[path] = _written_of(status)

    # -- what is known of files that stay as they are --------------------------------

    def _known_files(self) -> Mapping[str, SeenFile]:
        """What was seen, by this process or the one before, as long as it counts."""
        if self._seen is None and self._cache is not None:
            scanned = self._cache.recall()
            if scanned is not None:
                self._read_all_at, self._seen = scanned.read_all_at, scanned.files
        # also after a clock was set back: then no age means anything
        if not 0 <= self._clock() - self._read_all_at < READ_ALL_S:
            self._seen = {}
            self._read_all_at = self._clock()
        return self._seen or {}

    def _keep(self, seen: Mapping[str, SeenFile]) -> None:
        """Keep a scan for the next process, but not each of a person who writes."""
        now = self._clock()
        if self._cache is None or 0 <= now - self._kept_at < KEEP_S:
            return
        self._kept_at = now
        self._cache.keep(self._read_all_at, seen)

    def _scan(self, folders: Folders, file: ListedFile) -> SeenFile | Problem | None:
        """What a page file holds; None where the file has just gone."""
        started_ns = time.time_ns()
        try:
            content, identity = self._read(folders, file.path)
        except FileNotFoundError:
            return None
        except FolderError as exc:
            return Problem("page-unreadable", file.path, exc.message, exc.hint or "")
        text = decode_page(content, file.path)
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
        return SeenFile(trusted_status(file.status, started_ns), state)

    def _read(self, folders: Folders, path: str) -> tuple[bytes, str]:
        """A file's bytes and its identity."""
        with opened_file(folders, path) as descriptor:
            content = read_limited(descriptor, path, PAGE_BYTES_MAX)
            return content, identity_of(descriptor) if self._limbo else ""


def _has_shrunk(status: FileStatus, before: FileStatus | None) -> bool:
    """Whether a file is empty, or has less than half of what it had."""
    return status.size == 0 or (before is not None and status.size * 2 < before.size)


def _listed_anew(folders: Folders, file: ListedFile) -> ListedFile | None:
    """A page's file as it is now; None where there is no plain file any more."""
    *parts, name = split_path(file.path)
    try:
        folder = folders.open(parts, makes=False)
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, FolderError):
        return None
    return file._replace(status=status_of(status)) if S_ISREG(status.st_mode) else None


def _written_of(status: FileStatus) -> _Written:
    return (status.inode, status.size, status.mtime_ns)


def _in_place(scanned: ScannedFolder) -> Iterator[Problem]:
    """Reported by page: whether there is such a page, the reader of the scan knows."""
    for path in scanned.in_place:
        if found := parse_path(path):
            yield Problem(
                FOLDER_OF_PAGES,
                found[0],
                f"{path} is a folder with the name of the page's file; the page is"
                f" skipped",
                "rename or remove the folder to get the page back",
            )


def _read_bytes(folders: Folders, path: str) -> bytes:
    with opened_file(folders, path) as descriptor:
        return read_limited(descriptor, path, PAGE_BYTES_MAX)

"""Looking at a wiki's folder: which files are pages, which are attachments.

Only names and file status are read here, no content.  Symbolic links are never
followed; what is ignored is ignored without a word, what looks like a page but
cannot be one is a problem.  The lock files of editors are not pages, but tell
which pages are open.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from wikisync.errors import FolderError
from wikisync.folder.busy import (
    BACKUP_S,
    WRITE_TEST,
    backed_up_name,
    locked_name,
)
from wikisync.folder.descent import folder_error, open_folder, opened_root
from wikisync.folder.ignore import is_ignored_file, is_ignored_folder
from wikisync.folder.naming import UPLOADS, attachment_path, parse_path
from wikisync.folder.patterns import NO_PATTERNS, Patterns
from wikisync.model import (
    AttachmentPath,
    Format,
    PagePath,
    Problem,
    Slug,
    split_extension,
)


class PageFile(NamedTuple):
    """A page's file as the disk lists it; a tuple, for there are thousands."""

    path: PagePath
    """As it is on the disk, which need not be the name we would give."""
    slug: Slug
    format: Format
    size: int
    """In bytes."""
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def status(self) -> tuple[int, int, int, int]:
        """What changes with the file: size, both times, inode."""
        return self[3:]


class ScannedFolder(Struct, frozen=True):
    """What is in a wiki's folder."""

    pages: tuple[PageFile, ...]
    """In the order of their paths' bytes; one for each slug."""
    attachments: tuple[AttachmentPath, ...] = ()
    problems: tuple[Problem, ...] = ()
    duplicates: frozenset[Slug] = frozenset()
    """Slugs that more than one file stands for; the first is in ``pages``."""
    is_complete: bool = True
    """False when a folder could not be looked into."""
    locks: Mapping[str, str] = field(default_factory=dict)
    """Path of a file to the lock file that says that it is open in an editor."""
    backups: Mapping[str, str] = field(default_factory=dict)
    """Path of a file to a backup of it that was made a moment ago."""
    write_tests: frozenset[str] = frozenset()
    """Folders in which vim is about to save, ``""`` for the top."""
    hidden: frozenset[str] = frozenset()
    """Paths at or below which pages may be that this look did not see."""
    ignored: frozenset[Slug] = frozenset()
    """Pages that have a file which the patterns ignore."""


def scan_pages(root: Path, patterns: Patterns = NO_PATTERNS) -> ScannedFolder:
    """List a wiki's pages and attachments.

    Args:
        root: the wiki's folder.
        patterns: what a person keeps out besides what is always ignored.

    Raises:
        FolderError: the folder does not exist or cannot be read.
    """
    scan = _Scan(patterns)
    with opened_root(root) as descriptor:
        scan.look_into(descriptor)
    return scan.result()


class _Scan:
    """One walk through a folder, in which things are collected."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._pages: list[PageFile] = []
        self._attachments: list[AttachmentPath] = []
        self._problems: list[Problem] = []
        self._is_complete = True
        self._locks: dict[str, str] = {}
        self._backups: dict[str, str] = {}
        self._write_tests: set[str] = set()
        self._hidden: set[str] = set()
        self._ignored: set[Slug] = set()
        self._named_as_pages: list[str] = []
        """Folders with the name of a page's file."""

    def look_into(self, root: int) -> None:
        """Walk through everything below an open folder."""
        waiting: list[str] = [""]
        while waiting:
            folder = waiting.pop()
            for path, status in self._entries(root, folder):
                if not stat.S_ISDIR(status.st_mode):
                    self._see_file(path, status)
                elif not self._patterns.is_ignored(path, is_folder=True):
                    waiting.append(path)
                    if split_extension(path) is not None:
                        self._hidden.add(path)
                        self._named_as_pages.append(path)

    def result(self) -> ScannedFolder:
        """Everything seen, in order."""
        first: dict[Slug, PageFile] = {}
        duplicates: set[Slug] = set()
        # the order of code points is that of their bytes in UTF-8
        for page in sorted(self._pages, key=attrgetter("path")):
            if first.setdefault(page.slug, page) is not page:
                duplicates.add(page.slug)
                self._problems.append(_duplicate(page, first[page.slug]))
        self._see_folders_in_place()
        return ScannedFolder(
            pages=tuple(first.values()),
            attachments=tuple(sorted(self._attachments)),
            problems=tuple(self._problems),
            duplicates=frozenset(duplicates),
            is_complete=self._is_complete,
            locks=self._locks,
            backups=self._backups,
            write_tests=frozenset(self._write_tests),
            hidden=frozenset(self._hidden),
            ignored=frozenset(self._ignored - first.keys()),
        )

    def _see_folders_in_place(self) -> None:
        """A page may lie below ``notes.md``; a folder without pages is a mistake."""
        for folder in self._named_as_pages:
            if not any(page.path.startswith(f"{folder}/") for page in self._pages):
                self._problems.append(_folder_in_place(folder))

    def _entries(self, root: int, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """What is in a folder and not ignored; a link only as a problem."""
        try:
            descriptor = open_folder(root, folder.split("/") if folder else [])
        except FileNotFoundError:
            return
        except FolderError as exc:
            self._miss(folder, exc)
            return
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if _is_ignored(entry):
                        self._see_trace(folder, entry)
                        continue
                    if entry.is_symlink():
                        self._see_link(path)
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield path, status
        except OSError as exc:
            self._miss(folder, folder_error("list", folder or ".", exc))
        finally:
            os.close(descriptor)

    def _see_trace(self, folder: str, entry: os.DirEntry[str]) -> None:
        """Something ignored, which may be what an editor left."""
        way = f"{folder}/" if folder else ""
        if entry.name == WRITE_TEST:
            self._write_tests.add(folder)
        elif (name := locked_name(entry.name)) is not None:
            self._locks[way + name] = way + entry.name
        elif (name := backed_up_name(entry.name)) is not None and _is_recent(entry):
            self._backups[way + name] = way + entry.name

    def _see_link(self, path: str) -> None:
        self._hidden.add(path)
        if _is_ours(path) and not self._patterns.is_ignored(path):
            self._problems.append(_link(path))

    def _see_file(self, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._hidden.add(path)
            return
        if self._patterns.is_ignored(path):
            if (found := parse_path(path)) is not None:
                self._ignored.add(found[0])
            return
        if path.startswith(UPLOADS + "/"):
            self._see_attachment(path)
            return
        found = parse_path(path)
        if found is not None:
            self._pages.append(_page_file(PagePath(path), *found, status))
        elif split_extension(path) is not None:
            self._problems.append(_not_text(path))

    def _see_attachment(self, path: str) -> None:
        safe = attachment_path(path)
        if safe is not None:
            self._attachments.append(safe)
            return
        self._problems.append(
            Problem(
                "attachment-name",
                printable(path),
                "this name cannot be an attachment's on every disk",
                "rename the file",
            )
        )

    def _miss(self, folder: str, error: FolderError) -> None:
        self._is_complete = False
        self._hidden.add(folder)
        self._problems.append(
            Problem(
                "folder-unreadable",
                printable(folder) or ".",
                error.message,
                error.hint or "",
            )
        )


def printable(path: str) -> str:
    """A path for messages, also where its bytes are not text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_ignored(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return is_ignored_folder(entry.name)
    return is_ignored_file(entry.name)


def _is_recent(entry: os.DirEntry[str]) -> bool:
    try:
        changed_at = entry.stat(follow_symlinks=False).st_ctime
    except FileNotFoundError:
        return False
    return abs(time.time() - changed_at) < BACKUP_S


def _is_ours(path: str) -> bool:
    """Whether a link by this name would be a page, an attachment or a folder."""
    name = path.rpartition("/")[2]
    return (
        path.startswith(UPLOADS + "/")
        or "." not in name
        or split_extension(name) is not None
    )


def _page_file(
    path: PagePath, slug: Slug, page_format: Format, status: os.stat_result
) -> PageFile:
    return PageFile(
        path,
        slug,
        page_format,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
    )


def _duplicate(page: PageFile, first: PageFile) -> Problem:
    return Problem(
        "duplicate-page",
        page.path,
        f"is the same page as {first.path}: {page.slug}",
        "keep one of the two files and move the other away",
    )


def _link(path: str) -> Problem:
    return Problem(
        "link-ignored",
        printable(path),
        "is a symbolic link, which wikisync does not follow",
        "replace the link by a real file or folder",
    )


def _folder_in_place(path: str) -> Problem:
    return Problem(
        "folder-in-place",
        printable(path),
        "is a folder with the name of a page's file; the page is left alone",
        "rename the folder, or remove it to have the page again",
    )


def _not_text(path: str) -> Problem:
    return Problem(
        "name-not-text",
        printable(path),
        "the name is not UTF-8",
        "rename the file",
    )

"""Scanning a wiki's folder: which files are pages, attachments, or loose.

Only names and file status are read, no content.  Links are never followed; what looks
like a page but cannot be one is a problem.  Lock files show which pages are open.
"""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from wikisync.core.decoding import decode_text
from wikisync.core.model import (
    STRAY_CONFLICT,
    AttachmentPath,
    Format,
    PagePath,
    Problem,
    Slug,
    split_extension,
)
from wikisync.core.system.file_status import FileStatus, is_dataless, status_of
from wikisync.core.terminal import path_text
from wikisync.errors import FolderError
from wikisync.folder import ignore, safe_open
from wikisync.folder.ignore import NO_PATTERNS, Patterns
from wikisync.folder.index import IndexedFile
from wikisync.folder.naming import (
    attachment_path,
    is_fetched,
    page_of_conflict,
    parse_path,
)


class ListedFile(NamedTuple):
    """A page's file as the disk lists it; a tuple, for there are thousands."""

    path: PagePath
    """As it is on the disk, which need not be the name we would give."""
    slug: Slug
    format: Format
    status: FileStatus


class ScannedFolder(Struct):
    """What is in a wiki's folder; filled while it is scanned, and read from then on."""

    pages: tuple[ListedFile, ...] = ()
    """In the order of their paths' bytes; one for each slug."""
    attachments: dict[AttachmentPath, FileStatus] = field(default_factory=dict)
    """Files below ``uploads``, as the disk lists them."""
    loose: frozenset[str] = frozenset()
    """Paths of all other files, which a page may link to."""
    problems: list[Problem] = field(default_factory=list)
    duplicates: set[Slug] = field(default_factory=set)
    """Slugs that more than one file stands for; the first is in ``pages``."""
    is_complete: bool = True
    """False when a folder could not be read."""
    locks: dict[str, str] = field(default_factory=dict)
    """Path of a file to the lock file that says that it is open in an editor."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Paths at or below which pages may be that this scan did not see, each with the
    code of its problem."""
    ignored: set[Slug] = field(default_factory=set)
    """Pages that have a file which the patterns ignore."""
    in_place: list[str] = field(default_factory=list)
    """Folders with pages below them that have the name of a page's file."""
    copies: dict[Slug, Problem] = field(default_factory=dict)
    """Pages by names that other programs give to copies, with what is said of each."""
    likely_copies: dict[Slug, dict[Slug, Problem]] = field(default_factory=dict)
    """The same of those that are copies if they are like one of these pages."""
    elsewhere: dict[str, Problem] = field(default_factory=dict)
    """Pages and other paths for which stubs may stand, with what is said of each that
    the wiki has or links to."""
    left_out: list[Problem] = field(default_factory=list)
    """Files that would be pages but for their names or places, and are none."""


def read_patterns(root: Path) -> tuple[Patterns, tuple[Problem, ...]]:
    """A folder's pattern file, and its lines that are no patterns."""
    try:
        content = safe_open.read_below(
            root, ignore.IGNORE_FILE, ignore.IGNORE_FILE_BYTES_MAX
        )
        return ignore.parse_patterns(decode_text(content))
    except FileNotFoundError:
        return NO_PATTERNS, ()
    except UnicodeDecodeError as exc:
        raise FolderError(
            f"{ignore.IGNORE_FILE} is not UTF-8 at byte {exc.start}",
            hint="save it as UTF-8",
        ) from exc


def scan_pages(
    root: Path,
    patterns: Patterns = NO_PATTERNS,
    known: Mapping[str, IndexedFile] | None = None,
    silent: Patterns = NO_PATTERNS,
) -> ScannedFolder:
    """List a wiki's pages and attachments.

    ``patterns``: what a person keeps out; ``known``: files of an earlier scan, whose
    names are not parsed again; ``silent``: folders of programs that need no word.
    """
    scan = _Scan(patterns, known or {}, silent)
    with safe_open.opened_root(root) as descriptor:
        scan.scan_into(descriptor)
    return scan.result()


class _Scan:
    """One walk through a folder, in which things are collected."""

    def __init__(
        self, patterns: Patterns, known: Mapping[str, IndexedFile], silent: Patterns
    ) -> None:
        self._silent = silent
        self._patterns = patterns
        self._known = known
        self._found = ScannedFolder()
        self._pages: list[ListedFile] = []
        """All of them, also several for one slug."""
        self._loose: list[str] = []
        self._named_as_pages: list[str] = []
        """Folders with the name of a page's file."""
        self._may_be_copies: dict[str, Slug] = {}
        """Pages by their paths."""
        self._stubs: dict[str, ignore.Stub] = {}
        self._of_programs: dict[tuple[str, str], list[str]] = {}
        """Folders of programs, by their name and why they are left out."""

    def scan_into(self, root: int) -> None:
        """Walk through everything below an open folder.

        Of 50,000 attachments each lies in a folder of its own, so what holds them is
        opened once.
        """
        waiting = [("", self._wanted(self._see_files(root, "")))]
        while waiting:
            folder, inner = waiting.pop()
            descriptor = self._opened(root, folder.split("/") if folder else [])
            if descriptor is None:
                continue
            try:
                found = [(path, self._see_folder(descriptor, path)) for path in inner]
            finally:
                os.close(descriptor)
            waiting += [one for one in found if one[1]]

    def _see_folder(self, parent: int, path: str) -> list[str]:
        *above, name = path.split("/")
        descriptor = self._opened(parent, [name], above)
        if descriptor is None:
            return []
        try:
            reason = "git has a repository of its own here"
            if (
                not path.startswith(f"{ignore.UPLOADS}/")
                and _is_repository(descriptor)
                and self._leaves_out(path, reason)
            ):
                return []
            return self._wanted(self._see_files(descriptor, path))
        finally:
            os.close(descriptor)

    def _opened(
        self, parent: int, parts: Sequence[str], below: Sequence[str] = ()
    ) -> int | None:
        """A folder's descriptor; None where it is gone, or cannot be opened."""
        try:
            return safe_open.open_folder(parent, parts, below=below)
        except FileNotFoundError:
            return None
        except FolderError as exc:
            self._miss("/".join([*below, *parts]), exc)
            return None

    def _wanted(self, folders: Iterable[str]) -> list[str]:
        """Those of some folders, by path, that are to be scanned."""
        found: list[str] = []
        for path in folders:
            if self._patterns.is_ignored(path, is_folder=True):
                continue
            *_, above, name = ("", *path.split("/"))
            who = ignore.folder_maker(name) or ignore.folder_maker(f"{above}/{name}")
            if who and self._leaves_out(path, f"{who} makes this folder"):
                continue
            found.append(path)
            if _page_at(path) is not None:
                self._found.hidden[path] = "folder-in-place"
                self._named_as_pages.append(path)
        return found

    def _leaves_out(self, path: str, reason: str) -> bool:
        """Leave out a folder, with a word, unless a person takes it back."""
        if self._patterns.takes_back(path, is_folder=True):
            return False
        self._found.hidden[path] = "folder-left-out"
        if not self._silent.is_ignored(path, is_folder=True):
            kind = path.rpartition("/")[2], reason
            self._of_programs.setdefault(kind, []).append(path_text(path))
        return True

    def result(self) -> ScannedFolder:
        """Everything seen, in order."""
        found, first = self._found, dict[Slug, ListedFile]()
        # the order of code points is that of their bytes in UTF-8
        for page in sorted(self._pages, key=attrgetter("path")):
            if first.setdefault(page.slug, page) is not page:
                found.duplicates.add(page.slug)
                found.problems.append(_duplicate(page, first[page.slug]))
        found.pages, found.loose = tuple(first.values()), frozenset(self._loose)
        found.ignored -= first.keys()
        # folders called as a page is, with pages below; others are a mistake
        for folder in self._named_as_pages:
            if any(page.path.startswith(f"{folder}/") for page in self._pages):
                found.in_place.append(folder)
            else:
                found.problems.append(_problem("folder-in-place", folder))
        found.in_place.sort()
        if self._stubs:
            self._see_what_is_missing()
        self._find_copies()
        for (_, reason), paths in self._of_programs.items():
            found.left_out.append(folder_of_program(sorted(paths), reason))
        return found

    def _see_what_is_missing(self) -> None:
        """A file for which a stub stands, and which is not there itself."""
        there = {
            *(page.path for page in self._pages),
            *self._found.attachments,
            *self._loose,
        }
        for path, stub in self._stubs.items():
            folder, slash, name = path.rpartition("/")
            paths = [folder + slash + one for one in stub.names]
            if there.isdisjoint(paths):
                self._found.hidden[paths[0]] = "file-elsewhere"
                # a person who leaves stubs out does not delete what they stand for
                if not any(map(self._patterns.is_ignored, (path, paths[0]))):
                    problem = kept_elsewhere(path_text(paths[0]), name, stub.who)
                    page = _page_at(paths[0])
                    if len(paths) == 1 and page is not None:
                        self._found.problems.append(problem)
                    else:
                        self._found.elsewhere[page[0] if page else paths[0]] = problem

    def _find_copies(self) -> None:
        """Pages by names that other programs give to copies, and those that may be."""
        there = {(page.slug, page.format) for page in self._pages}
        there.update(page for path in self._found.hidden if (page := _page_at(path)))
        for path, slug in self._may_be_copies.items():
            if self._patterns.takes_back(path):
                continue
            folder, slash, name = path.rpartition("/")
            split = split_extension(name)
            assert split, path
            for who, stem, is_sure in ignore.copiers(split[0]):
                copy = copy_of_page(path, who)
                # by their pages, for two names can differ in the form of Unicode alone
                original = parse_path(folder + slash + stem + name[len(split[0]) :])
                if not stem or (is_sure and original in there):
                    self._found.copies[slug] = copy
                    break
                if original is not None:
                    likely = self._found.likely_copies.setdefault(slug, {})
                    likely[original[0]] = copy

    def _see_files(self, descriptor: int, folder: str) -> list[str]:
        """See what is in a folder; gives the folders in it that are not ignored."""
        folders: list[str] = []
        way, known = f"{folder}/" if folder else "", self._known
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    path = way + entry.name
                    is_file = entry.is_file(follow_symlinks=False)
                    # first what most are: the name of a page is never ignored
                    if is_file and (seen := known.get(path)) and seen.page:
                        slug, page_format = seen.page.slug, seen.page.format
                        self._see_page(path, slug, page_format, entry)
                    elif is_file and (page := _page_at(path)) is not None:
                        self._see_page(path, *page, entry)
                    elif is_file and (stub := _stub_at(entry)) is not None:
                        self._stubs[path] = stub
                    elif _is_ignored(entry):
                        self._see_trace(way, entry)
                    elif entry.is_symlink():
                        self._hide("link-ignored", path, is_reported=_is_ours(path))
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif is_file:
                        self._see_other(path, entry)
                    else:
                        is_page = parse_path(path) is not None
                        self._hide("no-regular-file", path, is_reported=is_page)
        except OSError as exc:
            self._miss(folder, safe_open.folder_error("list", folder or ".", exc))
        return folders

    def _see_trace(self, way: str, entry: os.DirEntry[str]) -> None:
        if (name := ignore.locked_name(entry.name)) is not None:
            self._found.locks[way + name] = way + entry.name
        elif entry.is_file(follow_symlinks=False):
            self._leave_out(way + entry.name, ignored_page)

    def _leave_out(self, path: str, said: Callable[[str], Problem | None]) -> None:
        """What is said of a file, if anything, unless a person ignored it."""
        problem = said(path_text(path))
        if problem is not None and not self._patterns.is_ignored(path):
            self._found.left_out.append(problem)

    def _see_page(
        self, path: str, slug: Slug, page_format: Format, entry: os.DirEntry[str]
    ) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode):
            self._hide("no-regular-file", path)
        elif is_dataless(status):
            self._hide("file-elsewhere", path)
        elif self._patterns and self._patterns.is_ignored(path):
            self._found.ignored.add(slug)
        elif slug.startswith(f"{ignore.UPLOADS}/"):
            # a coded name of the folder: on the wiki it would be no page to anybody
            self._found.ignored.add(slug)
            self._leave_out(path, page_in_uploads)
        else:
            if ignore.may_be_copy(entry.name):
                self._may_be_copies[path] = slug
            self._pages.append(
                ListedFile(PagePath(path), slug, page_format, status_of(status))
            )

    def _hide(self, code: str, path: str, *, is_reported: bool = True) -> None:
        """Note that a page may be where none was seen; a person may ignore that."""
        self._found.hidden[path] = code
        if is_reported and not self._patterns.is_ignored(path):
            self._found.problems.append(_problem(code, path))

    def _see_other(self, path: str, entry: os.DirEntry[str]) -> None:
        if self._patterns.is_ignored(path):
            return
        if not path.startswith(ignore.UPLOADS + "/"):
            if split_extension(path) is not None:
                self._found.problems.append(_problem("name-not-text", path))
            elif path != ignore.CONFIG_FILE:
                self._loose.append(path)
            return
        safe = attachment_path(path)
        if safe is None:
            self._found.problems.append(_problem("attachment-name", path))
            return
        try:
            self._found.attachments[safe] = status_of(entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return
        if not is_fetched(path):
            self._leave_out(path, page_in_uploads)

    def _miss(self, folder: str, error: FolderError) -> None:
        self._found.is_complete = False
        self._found.hidden[folder] = "folder-unreadable"
        self._found.problems.append(
            Problem(
                "folder-unreadable",
                path_text(folder) or ".",
                error.message,
                error.hint or "",
            )
        )


def _page_at(path: str) -> tuple[Slug, Format] | None:
    """As ``parse_path``; not by its cache, from which attachments would push pages."""
    return None if path.startswith(ignore.UPLOADS + "/") else parse_path(path)


def _is_ignored(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return ignore.is_ignored_folder(entry.name)
    return ignore.is_ignored_file(entry.name)


def _is_repository(folder: int) -> bool:
    """Whether git leaves this folder out of a work tree around it.

    A clone or a work tree of its own would come to the wiki as a second copy of what is
    in it; a submodule is a part of the work tree around it, and so of the wiki.
    """
    with suppress(OSError, FolderError):
        try:
            os.stat(".git/HEAD", dir_fd=folder)
        except NotADirectoryError:
            return b"/modules/" not in safe_open.read_file(folder, ".git", ".git")
        return True
    return False


def _stub_at(entry: os.DirEntry[str]) -> ignore.Stub | None:
    """What a file stands for, if it is a stub."""
    stub = ignore.stub_of(entry.name)
    if stub is None or stub.is_sure:
        return stub
    try:
        size = entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return None
    return stub if size <= ignore.STUB_BYTES_MAX else None


def _is_ours(path: str) -> bool:
    name = path.rpartition("/")[2]
    return (
        path.startswith(ignore.UPLOADS + "/")
        or "." not in name
        or split_extension(name) is not None
    )


def _duplicate(page: ListedFile, first: ListedFile) -> Problem:
    return Problem(
        "duplicate-page",
        page.path,
        f"is the same page as {first.path}: {page.slug}",
        "keep one of the two files and move the other",
    )


def _problem(code: str, path: str) -> Problem:
    return Problem(code, path_text(path), *_PROBLEMS[code])


_PROBLEMS = {
    "link-ignored": (
        "is a symbolic link, which wikisync does not follow",
        "replace the link with a real file or folder",
    ),
    "folder-in-place": (
        "is a folder with the name of a page's file; the page is left alone",
        "rename or remove the folder to get the page back",
    ),
    "no-regular-file": (
        "is a pipe, a socket or a device, not a file; the page is skipped",
        "rename or remove it to get the page back",
    ),
    "file-elsewhere": (
        "its content is in the cloud; the page is neither changed nor removed",
        "download it",
    ),
    "name-not-text": ("the name is not UTF-8", "rename the file"),
    "attachment-name": (
        "this attachment name is not valid on every file system",
        "rename the file",
    ),
}
"""Message and hint."""


# -- files that would be pages but for their names or places ------------------------

# Somebody wrote a text and may take it for published, so none is left out silently: it
# is reported until it has another name, is gone, or stands in ``.wikisyncignore``.


def ignored_page(path: str) -> Problem | None:
    """What is said of a file that is ignored by its name; None for nothing."""
    name = path.rpartition("/")[2]
    split = split_extension(name)
    if split is None:
        return None
    # what macOS writes beside each file on a disk of another system begins with ._
    if name.startswith(".") and not name.startswith("._"):
        return _left_out(
            "name-hidden",
            path,
            "a name that begins with a dot hides a file; it is not published",
            "give it another name to publish it",
        )
    if name.startswith(".") or split[0].lower() == ignore.ATTENTION:
        return None
    page = page_of_conflict(path)
    parsed = None if page is None else parse_path(page)
    # reported by page: whether its conflict is open, the reader of the scan knows
    return _left_out(
        STRAY_CONFLICT,
        path,
        f"{path} has the name of a conflict file, but no conflict is open here;"
        " it is not published",
        f"give it a name without {ignore.CONFLICT_MARK} to publish it, or remove it,"
        " unless it belongs to another machine that has the conflict",
        subject=parsed[0] if parsed else path,
    )


def page_in_uploads(path: str) -> Problem | None:
    """What is said of a page's file in the folder of the attachments."""
    if is_fetched(path) or split_extension(path) is None:
        return None
    return _left_out(
        "page-in-uploads",
        path,
        "uploads is the folder of attachments; no page in it is published",
        "move it to another folder to publish it",
    )


def copy_of_page(path: str, who: str) -> Problem:
    """What is said of a page by a name that a program gives to copies."""
    pattern = ignore.pattern_of(path)
    return Problem(
        "page-copy",
        path,
        f"{who} gives this name to a copy of another file; it is not published",
        "put what you need from it into the page and remove it; or add a line to"
        f" {ignore.IGNORE_FILE}: {pattern} leaves it out silently, !{pattern} publishes"
        " it",
    )


def folder_of_program(paths: Sequence[str], reason: str) -> Problem:
    """What is said of folders of one name that a program made for its own purposes."""
    path, *more = paths
    pattern = ignore.pattern_of(path)
    if more:
        pattern = f"**/{pattern.rpartition('/')[2]}"
    others = f", as in {len(more)} more of this name" if more else ""
    return Problem(
        "folder-left-out",
        path,
        f"{reason}; no page in it is published{others}",
        f"add a line to {ignore.IGNORE_FILE}: {pattern}/ leaves it out silently,"
        f" !{pattern}/ publishes its pages",
        is_note=True,
    )


def kept_elsewhere(path: str, stub: str, who: str) -> Problem:
    """What is said of a file that is missing, and for which a stub stands."""
    return Problem(
        "file-elsewhere",
        path,
        f"its content is not here: {who} left {stub} in its place; the page or file"
        " is neither changed nor removed",
        f"download it with that program; to delete it, remove {stub}, too",
    )


def _left_out(
    code: str, path: str, message: str, hint: str, *, subject: str = ""
) -> Problem:
    silent = f"to leave it out silently, add this line to {ignore.IGNORE_FILE}:"
    step = f"{hint}; {silent} {ignore.pattern_of(path)}"
    return Problem(code, subject or path, message, step)

"""The files of a wiki at one commit, and which of them are pages.  Pure.

A page is any file with a known markup extension.  Of twins that differ in case or
format only the first in tree order can be found by its slug (Q5).  A few objects that
name each other twice stand for more files than there is memory, so what ``walk`` reads
is counted, and depth needs no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from msgspec import Struct, field

from wikisync.core.git_trees import DIRECTORY, tree_entries
from wikisync.core.model import EXTENSIONS, Format, path_of_title, split_extension
from wikisync.folder.naming import title_of
from wikisync.service.settings import Limits


def path_of_new_title(title: str, current: str) -> str:
    """The path that an edit's title asks for; without a slash in its folder."""
    wanted = path_of_title(title)
    directory, slash, _leaf = current.rpartition("/")
    if not wanted or "/" in title or not slash:
        return wanted
    return f"{directory}/{wanted}"


def file_path(path: str, format: Format, present: str = "") -> str:  # noqa: A002
    """The file of a page; a present extension that means the format is kept."""
    split = split_extension(present) if present else None
    if split is not None and split[1] is format:
        return path + present[len(split[0]) :].lower()
    return path + EXTENSIONS[format][0]


def title_problem(path: str, limits: Limits) -> str | None:
    """Why a path cannot be a title, in the service's words, or None."""
    if not path:
        return "can't be blank"
    if path.count("/") > limits.directories_max:
        return f"exceeds the limit of {limits.directories_max} directories"
    *directories, leaf = path.split("/")
    if len(leaf.encode()) > limits.title_bytes_max:
        return f"exceeds the limit of {limits.title_bytes_max} bytes"
    for directory in directories:
        if len(directory.encode()) > limits.directory_bytes_max:
            limit = f"exceeds the limit of {limits.directory_bytes_max} bytes"
            return f'{limit} for directory name "{directory}"'
    return None


class RepositoryFile(Struct, frozen=True):
    """One file of a commit."""

    path: str
    blob: bytes
    """Raw git object id."""
    mode: int = 0o100644


class PageFile(Struct, frozen=True):
    """A file that is a page."""

    path: str
    blob: bytes
    """Raw git object id."""
    slug: str
    format: Format

    @property
    def title(self) -> str:
        """The display title, from the slug's leaf."""
        return title_of(self.slug)


class Directory(Struct, frozen=True, dict=True):
    """A directory of one commit: what the next one did not change is kept."""

    tree: bytes
    """Raw id of its tree object, which decides all the rest."""
    files: tuple[RepositoryFile, ...]
    """Every file in it and below."""
    pages: tuple[PageFile, ...]
    """Those of the files that are pages."""
    own_files: dict[str, RepositoryFile]
    """Path to file in the directory itself, in the order of the tree."""
    own_pages: dict[str, PageFile]
    """Those of them that are pages."""
    below: dict[str, Directory]
    """Path to directory, one level, in the order of the tree."""

    def file(self, path: str) -> RepositoryFile | None:
        """The file at exactly this path, here or below."""
        directory: Directory | None = self
        slash = path.find("/")
        while slash >= 0 and directory is not None:
            directory = directory.below.get(path[:slash])
            slash = path.find("/", slash + 1)
        return None if directory is None else directory.own_files.get(path)

    def twin_of(self, path: str) -> PageFile | None:
        """The first page at this extension-less path, ignoring case."""
        # of twins that differ in their directory, the earlier directory has the first
        named = self.named(path.rpartition("/")[0])
        found = (directory.pages_by_key.get(path.casefold()) for directory in named)
        return next(filter(None, found), None)

    def named(self, path: str) -> list[Directory]:
        """The directories of this path, ignoring case, in tree order; "" for itself."""
        level, way = [self], ""
        for part in path.casefold().split("/") if path else ():
            if not level:
                break
            way = f"{way}/{part}" if way else part
            level = [
                inner
                for directory in level
                for inner in directory.below_by_key.get(way, ())
            ]
        return level

    @cached_property
    def pages_by_key(self) -> dict[str, PageFile]:
        """The first of its own pages for each slug, case taken out."""
        # the first of twins is put in last
        pages = reversed(self.own_pages.values())
        return {page.slug.casefold(): page for page in pages}

    @cached_property
    def below_by_key(self) -> dict[str, list[Directory]]:
        """The directories one level below for each path, case taken out."""
        found: dict[str, list[Directory]] = {}
        for path, directory in self.below.items():
            found.setdefault(path.casefold(), []).append(directory)
        return found


EMPTY = Directory(b"", (), (), {}, {}, {})


class WikiTree:
    """Everything in a wiki's default branch at one commit, in byte order of paths."""

    def __init__(self, commit: str | None = None, root: Directory = EMPTY) -> None:
        self.commit = commit
        """Hexadecimal id; None for a wiki that was never written."""
        self.files = root.files
        self.pages = root.pages
        """The pages, in the order of the list operation."""
        self.root = root

    def find(self, slug: str) -> PageFile | None:
        """The page that a slug reaches, by the service's tolerant lookup."""
        return self.twin_of(slug) or self.twin_of(path_of_title(slug))

    def twin_of(self, path: str) -> PageFile | None:
        """A page at this extension-less path, whatever its case or format."""
        return self.root.twin_of(path)

    def file(self, path: str) -> RepositoryFile | None:
        """The file at exactly this path."""
        return self.root.file(path)

    def page(self, path: str) -> PageFile:
        """The page at exactly this path, which is one."""
        file = self.file(path)
        page = None if file is None else page_in(file)
        assert page is not None, f"{path} is no page of this tree"
        return page

    def below(self, directory: str) -> Iterator[RepositoryFile]:
        """Every file in a directory and its subdirectories, ignoring case."""
        return (file for inner in self.root.named(directory) for file in inner.files)


def page_in(file: RepositoryFile) -> PageFile | None:
    """The file as a page, if it is one."""
    split = split_extension(file.path)
    if split is None or not is_regular(file.mode):
        return None
    return PageFile(file.path, file.blob, split[0], split[1])


def is_regular(mode: int) -> bool:
    """Whether a tree entry is a plain file: no symbolic link, no submodule."""
    return mode & 0o170000 == 0o100000


Read = Callable[[bytes], bytes]
"""Gives the content of a tree object by its raw id."""
Entry = tuple[int, bytes, bytes]
"""Mode, name and raw object id."""


USUAL_LIMITS = Limits()


class TreeTooLarge(Exception):
    """A commit holds more than its limits; the text says what."""


def walk(
    read: Read, tree: bytes, known: Directory = EMPTY, limits: Limits = USUAL_LIMITS
) -> Directory:
    """Read a directory depth first, which is the byte order of whole paths.

    What has not changed since ``known`` is taken from that.  Raises TreeTooLarge.
    """
    if known.tree == tree:
        return known
    budget = _Budget(limits)
    levels = [_Level("", tree, known, budget.entries(read(tree)))]
    while True:
        level = levels[-1]
        inner = _go_on(level, budget)
        if inner is not None:
            path, raw, earlier = inner
            if len(levels) > limits.directories_max:
                raise TreeTooLarge(
                    f"folders are nested more than {limits.directories_max} deep"
                )
            entries = budget.entries(read(raw))
            levels.append(_Level(path + "/", raw, earlier, entries))
            continue
        done = levels.pop().directory()
        if not levels:
            return done
        levels[-1].add(level.prefix[:-1], done)


class _Level(Struct):
    """A directory that is being read."""

    prefix: str
    """Its path, with a slash at the end."""
    tree: bytes
    known: Directory
    entries: Iterator[Entry]
    files: list[RepositoryFile] = field(default_factory=list)
    pages: list[PageFile] = field(default_factory=list)
    own_files: dict[str, RepositoryFile] = field(default_factory=dict)
    own_pages: dict[str, PageFile] = field(default_factory=dict)
    below: dict[str, Directory] = field(default_factory=dict)

    def add(self, path: str, directory: Directory) -> None:
        self.below[path] = directory
        self.files += directory.files
        self.pages += directory.pages

    def directory(self) -> Directory:
        return Directory(
            self.tree,
            tuple(self.files),
            tuple(self.pages),
            self.own_files,
            self.own_pages,
            self.below,
        )


class _Budget:
    """What is left of the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._entries_left = limits.entries_max
        self._bytes_left = limits.name_bytes_max

    def entries(self, content: bytes) -> Iterator[Entry]:
        self._check_bytes(len(content))
        return tree_entries(content)

    def take(self, entries: int, path: str = "") -> None:
        self._entries_left -= entries
        self._bytes_left -= len(path)
        if self._entries_left < 0:
            most = self._limits.entries_max
            raise TreeTooLarge(f"there are more than {most:,} files and folders")
        self._check_bytes(0)

    def _check_bytes(self, wanted: int) -> None:
        if self._bytes_left < wanted:
            most = self._limits.name_bytes_max
            raise TreeTooLarge(f"the paths of its files take more than {most:,} bytes")


def _go_on(level: _Level, budget: _Budget) -> tuple[str, bytes, Directory] | None:
    """Read a directory up to the next one in it that must be read first."""
    known = level.known
    for mode, name, raw in level.entries:
        try:
            path = level.prefix + name.decode()
        except UnicodeDecodeError:
            # no JSON can name it, so it is no page and no attachment
            continue
        budget.take(1, path)
        if mode == DIRECTORY:
            earlier = known.below.get(path, EMPTY)
            if earlier.tree != raw:
                return path, raw, earlier
            budget.take(len(earlier.files))
            level.add(path, earlier)
            continue
        file = known.own_files.get(path)
        if file is None or file.blob != raw or file.mode != mode:
            file = RepositoryFile(path, raw, mode)
            page = page_in(file)
        else:
            page = known.own_pages.get(path)
        level.own_files[path] = file
        level.files.append(file)
        if page is not None:
            level.own_pages[path] = page
            level.pages.append(page)
    return None

"""From git's tree objects to the files of a wiki, within limits.  Pure.

A tree may hold the same tree many times: a few objects that name each other twice
stand for more files than there is memory.  So files, directories and the bytes of
their names are counted while they are read, and depth needs no recursion.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from wikisync.core.git_trees import DIRECTORY, tree_entries
from wikisync.service.settings import Limits
from wikisync.service.tree import EMPTY, Directory, PageFile, RepositoryFile, page_in

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

    What has not changed since ``known``, the same directory in an earlier commit, is
    taken from that.  Raises TreeTooLarge.
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
        """Take in a directory of this one that has been read."""
        self.below[path] = directory
        self.files += directory.files
        self.pages += directory.pages

    def directory(self) -> Directory:
        """What was read."""
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
        """The entries of a tree object, which is no larger than all names may be."""
        self._check_bytes(len(content))
        return tree_entries(content)

    def take(self, path: str) -> None:
        """Count one file or directory."""
        self._entries_left -= 1
        self._bytes_left -= len(path)
        self._check()

    def take_known(self, directory: Directory) -> None:
        """Count what is known of an earlier commit, which was counted then."""
        self._entries_left -= len(directory.files)
        self._check()

    def _check(self) -> None:
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
        budget.take(path)
        if mode == DIRECTORY:
            earlier = known.below.get(path, EMPTY)
            if earlier.tree != raw:
                return path, raw, earlier
            budget.take_known(earlier)
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

"""The files of a wiki at one commit, and which of them are pages.  Pure.

A page is any file with a known markup extension (service-behaviour.md 5.1);
everything about it follows from its path.  Twins that differ in case or format
are all listed, but only the first in tree order can be found by its slug (5.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from wikisync.model import Format, split_extension
from wikisync.service.slugs import fold, lookup_keys, title_of


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
    own_files: tuple[RepositoryFile, ...]
    """Those in the directory itself."""
    below: dict[str, Directory]
    """Path to directory, one level, in the order of the tree."""

    @cached_property
    def by_key(self) -> dict[str, PageFile]:
        """The first page of each slug, ignoring case."""
        found: dict[str, PageFile] = {}
        # the first of twins is put in last; those of two directories never meet a
        # page of this one, whose slug has fewer parts
        for directory in reversed(self.below.values()):
            found.update(directory.by_key)
        for page in reversed(tuple(pages_in(self.own_files))):
            found[fold(page.slug)] = page
        return found

    @cached_property
    def by_path(self) -> dict[str, RepositoryFile]:
        """Every file by its path."""
        found = {file.path: file for file in self.own_files}
        for directory in self.below.values():
            found.update(directory.by_path)
        return found

    def named(self, path: str) -> list[Directory]:
        """The directories below of this path, ignoring case; twins in tree order."""
        level, way = [self], ""
        for part in fold(path).split("/"):
            way = f"{way}/{part}" if way else part
            level = [
                inner
                for directory in level
                for name, inner in directory.below.items()
                if fold(name) == way
            ]
        return level


class WikiTree:
    """Everything in a wiki's default branch at one commit.

    Files are in the byte order of their paths.
    """

    def __init__(
        self,
        commit: str | None,
        files: Sequence[RepositoryFile],
        pages: Sequence[PageFile] | None = None,
        *,
        folds_case: bool = True,
        root: Directory | None = None,
    ) -> None:
        self._root = root
        self.commit = commit
        """Hexadecimal id; None for a wiki that was never written."""
        self.files = tuple(files)
        self.pages = tuple(pages_in(self.files) if pages is None else pages)
        """The pages, in the order of the list operation."""
        self._fold = fold if folds_case else str

    def find(self, slug: str) -> PageFile | None:
        """The page that a slug reaches, by the service's tolerant look-up."""
        for key in lookup_keys(slug):
            if (page := self._by_key.get(self._fold(key))) is not None:
                return page
        return None

    def twin_of(self, path: str) -> PageFile | None:
        """A page at this extension-less path, whatever its case or format."""
        return self._by_key.get(self._fold(path))

    def file(self, path: str) -> RepositoryFile | None:
        """The file at exactly this path."""
        return self._by_path.get(path)

    def page(self, path: str) -> PageFile:
        """The page at exactly this path, which is one."""
        return next(pages_in((self._by_path[path],)))

    def below(self, directory: str) -> Iterator[RepositoryFile]:
        """Every file in a directory and its subdirectories, ignoring case."""
        if self._root is not None:
            found = self._root.named(directory)
            return (file for inner in found for file in inner.files)
        prefix = fold(directory) + "/"
        return (file for file in self.files if fold(file.path).startswith(prefix))

    @cached_property
    def _by_key(self) -> dict[str, PageFile]:
        if self._root is not None:
            return self._root.by_key
        found: dict[str, PageFile] = {}
        for page in self.pages:
            found.setdefault(self._fold(page.slug), page)
        return found

    @cached_property
    def _by_path(self) -> dict[str, RepositoryFile]:
        if self._root is not None:
            return self._root.by_path
        return {file.path: file for file in self.files}


def pages_in(files: Sequence[RepositoryFile]) -> Iterator[PageFile]:
    """Those of the files that are pages, in the same order."""
    for file in files:
        split = split_extension(file.path)
        if split is not None and is_regular(file.mode):
            yield PageFile(file.path, file.blob, split[0], split[1])


def is_regular(mode: int) -> bool:
    """Whether a tree entry is a plain file: no symbolic link, no submodule."""
    return mode & 0o170000 == 0o100000

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
    ) -> None:
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

    def below(self, directory: str) -> Iterator[RepositoryFile]:
        """Every file in a directory and its subdirectories, ignoring case."""
        prefix = fold(directory) + "/"
        return (file for file in self.files if fold(file.path).startswith(prefix))

    @cached_property
    def _by_key(self) -> dict[str, PageFile]:
        found: dict[str, PageFile] = {}
        for page in self.pages:
            found.setdefault(self._fold(page.slug), page)
        return found

    @cached_property
    def _by_path(self) -> dict[str, RepositoryFile]:
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

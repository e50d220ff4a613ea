"""A wiki's files as a plain list that is searched from its beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wikisync.service.tree import (
    EMPTY,
    PageFile,
    RepositoryFile,
    WikiTree,
    fold,
    page_in,
)


class FlatTree(WikiTree):
    """What ``WikiTree`` finds by its directories, found without them."""

    def __init__(
        self,
        commit: str | None,
        files: Sequence[RepositoryFile],
        *,
        folds_case: bool = True,
    ) -> None:
        super().__init__(commit, EMPTY)
        self.files = tuple(files)
        self.pages = tuple(page for file in files if (page := page_in(file)))
        self._fold = fold if folds_case else str

    def twin_of(self, path: str) -> PageFile | None:
        key = self._fold(path)
        return next((one for one in self.pages if self._fold(one.slug) == key), None)

    def file(self, path: str) -> RepositoryFile | None:
        return next((file for file in self.files if file.path == path), None)

    def below(self, directory: str) -> Iterator[RepositoryFile]:
        prefix = fold(directory) + "/"
        return (file for file in self.files if fold(file.path).startswith(prefix))

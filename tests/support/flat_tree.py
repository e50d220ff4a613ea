"""A wiki's files as a plain list that is searched from its beginning."""

from collections.abc import Iterator, Sequence

from wikisync.service import tree


class FlatTree(tree.WikiTree):
    """What ``WikiTree`` finds by its directories, found without them."""

    def __init__(
        self,
        commit: str | None,
        files: Sequence[tree.RepositoryFile],
        *,
        folds_case: bool = True,
    ) -> None:
        super().__init__(commit, tree.EMPTY)
        self.files = tuple(files)
        self.pages = tuple(page for file in files if (page := tree.page_in(file)))
        self._fold = str.casefold if folds_case else str

    def twin_of(self, path: str) -> tree.PageFile | None:
        key = self._fold(path)
        return next((one for one in self.pages if self._fold(one.slug) == key), None)

    def file(self, path: str) -> tree.RepositoryFile | None:
        return next((file for file in self.files if file.path == path), None)

    def below(self, directory: str) -> Iterator[tree.RepositoryFile]:
        prefix = directory.casefold() + "/"
        return (file for file in self.files if file.path.casefold().startswith(prefix))

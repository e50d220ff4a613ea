"""Loose files of a wiki's folder, as links of its pages lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from wikisync.core.model import in_form_c
from wikisync.folder.ignore import NO_PATTERNS, Patterns
from wikisync.folder.naming import attachment_path, is_hidden, is_unlisted

if TYPE_CHECKING:
    from wikisync.folder.index import IndexedFile


class LooseStates(Mapping[str, "IndexedFile"]):
    """Loose files of a folder that can be read, each read once a link leads to it."""

    def __init__(
        self,
        names: frozenset[str] = frozenset(),
        look: Callable[[str], IndexedFile | None] = lambda _: None,
        patterns: Patterns = NO_PATTERNS,
    ) -> None:
        self.names = names
        self.seen: dict[str, IndexedFile | None] = {}
        self._look = look
        self._patterns = patterns
        self._forms: dict[str, str] | None = None
        """Paths by their spelling in Unicode's form C."""

    def named(self, path: str) -> str | None:
        """The path of the file that a link means, as the disk spells it."""
        if path in self.names:
            return path
        if is_unlisted(path):
            return None if self._patterns.hides(path) else attachment_path(path)
        if path.isascii():
            return None
        if self._forms is None:
            self._forms = {in_form_c(name): name for name in self.names}
        return self._forms.get(in_form_c(path))

    def is_as(self, path: str, digest: str) -> bool:
        """Whether a file holds what it held; nothing: there was none."""
        state = self.get(path)
        return digest == (state.digest if state else "")

    def why_kept_back(self, path: str) -> str:
        """Why no page may show a file that is there; empty for any other."""
        if not is_unlisted(path) or self.named(path) or self._look(path) is None:
            return ""
        if self._patterns.hides(path):
            return "ignored"
        return "hidden-folder" if is_hidden(path) else "program-folder"

    def __getitem__(self, path: str) -> IndexedFile:
        if self.named(path) != path:
            raise KeyError(path)
        if path not in self.seen:
            self.seen[path] = self._look(path)
        state = self.seen[path]
        if state is None:
            raise KeyError(path)
        return state

    def __iter__(self) -> Iterator[str]:
        return (path for path in sorted(self.names) if path in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

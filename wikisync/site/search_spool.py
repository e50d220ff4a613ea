"""Changed scores of words, by family: in memory while they are few, else on disk.

A site has some hundred postings a page, more than memory should hold for a hundred
thousand pages.  They come page by page and are needed family by family.
"""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import IO

from wikisync.site.search_terms import RANKS, Scores, family_of, score_of

SCORES_MAX = 2_000_000
"""In memory: 16 MB at most, and their words."""

Family = defaultdict[str, Scores]
"""Words with one beginning, each with its changed scores."""


class ScoreSpool:
    """Scores of documents, added in the rising order of their numbers."""

    def __init__(self) -> None:
        self._words = _family()
        self._count = 0
        self._file: IO[bytes] | None = None
        self._chunks: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        """Where scores of a family lie in the file: offset and length in bytes."""

    def __enter__(self) -> ScoreSpool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def add(self, slot: int, changes: Collection[tuple[str, str]]) -> None:
        """Note the words of a document that have another score, or none, as letters."""
        words, first = self._words, score_of(slot, "")
        for word, letter in changes:
            words[word].append(first + RANKS[letter])
        self._count += len(changes)
        if self._count > SCORES_MAX:
            self._write()

    def families(self) -> Iterator[tuple[str, Mapping[str, Scores]]]:
        """Each family with all its words."""
        last = _by_family(self._words)
        for name in sorted(self._chunks.keys() | last.keys()):
            words = _family()
            for offset, length in self._chunks.get(name, ()):
                assert self._file is not None, "chunks lie in it"
                self._file.seek(offset)
                _add(words, pickle.loads(self._file.read(length)))  # noqa: S301 - ours
            _add(words, last.get(name, {}))
            yield name, words

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        offset = self._file.seek(0, 2)
        for name, words in _by_family(self._words).items():
            packed = pickle.dumps(dict(words))
            self._file.write(packed)
            self._chunks[name].append((offset, len(packed)))
            offset += len(packed)
        self._words = _family()
        self._count = 0


def _family() -> Family:
    return defaultdict(_no_scores)


def _no_scores() -> Scores:
    return array("I")


def _by_family(words: Mapping[str, Scores]) -> dict[str, Family]:
    families: defaultdict[str, Family] = defaultdict(_family)
    for word, scores in words.items():
        families[family_of(word)][word] = scores
    return families


def _add(words: Family, more: Mapping[str, Scores]) -> None:
    for word, scores in more.items():
        words[word].extend(scores)

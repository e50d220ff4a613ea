"""The search index in an output folder: read, brought up to date, written."""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import filterfalse
from pathlib import Path

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.system.parallel import usable_cores
from wikisync.site import search
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bodies import Bodies, Place
from wikisync.site.cache import LastBuild
from wikisync.site.output import Output
from wikisync.site.output_place import Written, opened_staging
from wikisync.site.rendering import Renderers
from wikisync.site.search_words import unpacked_words

DOCUMENTS_APART = 500
"""A process takes as long to start as an index of fewer to make."""

STATE = f"{SEARCH_FOLDER}state"
"""Staged for the build alone: what it notes of the index."""

_PLACES = msgpack_decoder(list[tuple[search.DocumentKey, Place]])
_STATES = msgpack_decoder(search.IndexState)
_BODIES = msgpack_decoder(search.SearchedBody)


@contextmanager
def search_beside(
    output: Output,
    last: LastBuild,
    documents: Collection[search.DocumentKey],
    kept: Mapping[search.DocumentKey, search.SearchDocument],
    renderers: Renderers,
) -> Iterator[Callable[[], bytes]]:
    """Bring the search index up to date; a process makes a large new one meanwhile.

    What it gives puts the files, and returns what to note of the index.
    """
    place, store = _SearchFolder(output, last), last.store
    if last.search or kept or len(documents) < DOCUMENTS_APART or usable_cores() == 1:
        yield partial(place.update, [*documents, *kept], kept)
        return
    found = store.places("words", [key.key for key in documents])
    # a job is held until it is done; pickle would note each text of all documents
    places = msgspec.msgpack.encode(list(zip(documents, found, strict=True)))
    (packed,) = store.bodies.add(places)
    job = NewIndex(output.root.absolute(), store.bodies.path.absolute(), packed)
    del documents, places
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(renderers.make_index, job)
        try:
            yield lambda: place.taken(made.result())
        except BaseException:
            # the build has failed: nobody waits for its index
            renderers.break_off()
            raise


class NewIndex(Struct, frozen=True):
    """An index to be made from nothing, in staged files."""

    output: Path
    bodies: Path
    documents: Place
    """Of each packed ``DocumentKey``, and of its packed ``SearchedBody``."""


def made(job: NewIndex) -> list[Written]:
    """The files of an index, whole shards among them; this is another process."""
    bodies = Bodies(job.bodies)
    places = dict(_PLACES.decode(bodies.read(job.documents)))
    files: list[Written] = []
    with opened_staging(job.output) as staging:

        def put(name: str, content: bytes) -> None:
            files.append(staging.put(SEARCH_FOLDER + name, content))

        def load(key: search.DocumentKey) -> search.SearchDocument:
            return search.search_document(key, bodies.read(places[key]))

        place = search.IndexPlace(put)
        state = search.IndexUpdate(search.NO_INDEX, places, load, place).write()
        # in an answer it would be in memory several times at once
        staging.put(STATE, msgspec.msgpack.encode(state))
    return files


class _SearchFolder(search.IndexPlace):
    """The index in an output folder, and what only updates need in the cache."""

    def __init__(self, output: Output, last: LastBuild) -> None:
        super().__init__(self._put)
        self._last, self._store, self._site = last, last.store, last.site
        self._output = output

    def update(
        self,
        documents: Iterable[search.DocumentKey],
        kept: Mapping[search.DocumentKey, search.SearchDocument],
    ) -> bytes:
        """Bring the index up to date with what was noted of it; what to note now."""

        def load(key: search.DocumentKey) -> search.SearchDocument:
            body = partial(self._store.body, "words", key.key)
            return kept.get(key) or search.search_document(key, body())

        # packed and unpacked it would be in memory twice
        noted, self._last.search = self._last.search, b""
        before = _STATES.decode(noted) if noted else search.NO_INDEX
        del noted
        state = search.IndexUpdate(before, documents, load, self).write()
        self.forget_others(
            {f"l-{key}.js" for key, one in state.terms.items() if one.is_cut}
        )
        return msgspec.msgpack.encode(state)

    def keep(self, names: Set[str]) -> Collection[str]:
        # a shard in the cache is looked at when it is read
        parts = filterfalse(search.is_whole, names)
        lost = self._output.keep_all({SEARCH_FOLDER + name: b"" for name in parts})
        return [path.removeprefix(SEARCH_FOLDER) for path in lost]

    def read(self, name: str) -> bytes | None:
        if not search.is_whole(name):
            return self._output.read(SEARCH_FOLDER + name)
        found = self._store.rows(
            "SELECT value FROM shard WHERE site = ? AND name = ?", self._site, name
        )
        return found[0][0] if found else None

    def _put(self, name: str, content: bytes) -> None:
        if search.is_whole(name):
            row = self._site, name, content
            self._store.put_rows("REPLACE INTO shard VALUES (?, ?, ?)", [row])
        else:
            self._output.put(SEARCH_FOLDER + name, content)

    def taken(self, made: Sequence[Written]) -> bytes:
        """Put all files of an index that another process staged; what to note of it."""
        whole = set()
        for one in made:
            name = one.path.removeprefix(SEARCH_FOLDER)
            if search.is_whole(name):
                self.put(name, self._taken(one.path))
                whole.add(name)
            else:
                self._output.put_staged(one)
        self.forget_others(whole)
        return self._taken(STATE)

    def _taken(self, path: str) -> bytes:
        content = self._output.staged.content(path)
        self._output.staged.drop(path)
        return content

    def forget_others(self, names: Set[str]) -> None:
        at = "FROM shard WHERE site = ?"
        known = {name for (name,) in self._store.rows(f"SELECT name {at}", self._site)}
        gone = [(self._site, name) for name in known - names]
        self._store.put_rows(f"DELETE {at} AND name = ?", gone)

    def words(self, key: bytes) -> dict[str, str] | None:
        if self._store.facts("words", key) is None:
            return None
        packed = _BODIES.decode(self._store.body("words", key)).words
        return dict(zip(*unpacked_words(packed), strict=True))

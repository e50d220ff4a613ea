"""A search index that is made from nothing, by ``search_worker``."""

import pickle
from pathlib import Path

import msgspec
from msgspec import Struct

from wikisync.site import search
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bodies import Bodies, Place
from wikisync.site.output_place import Written, opened_staging
from wikisync.site.writers import Answer


class NewIndex(Struct, frozen=True):
    """An index to be made, in staged files."""

    output: Path
    bodies: Path
    documents: Place
    """Of the pickled places of packed ``SearchedBody``, by ``DocumentKey``."""


def made(job: NewIndex) -> Answer:
    """The files of an index, whole shards among them, and what to note of it."""
    bodies = Bodies(job.bodies)
    places = pickle.loads(bodies.read(job.documents))  # noqa: S301 - from our own parent
    files: list[Written] = []
    with opened_staging(job.output) as staging:

        def put(name: str, content: bytes) -> None:
            files.append(staging.put(SEARCH_FOLDER + name, content))

        def load(key: search.DocumentKey) -> search.SearchDocument:
            return search.search_document(key, bodies.read(places[key]))

        place = search.IndexPlace(put)
        state = search.IndexUpdate(search.NO_INDEX, places, load, place).write()
    return Answer(tuple(files), state=msgspec.msgpack.encode(state))

"""A search index that is made from nothing, by ``search_worker``."""

from pathlib import Path

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.site import search
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bodies import Bodies, Place
from wikisync.site.output_place import Written, opened_staging
from wikisync.site.writers import Answer

STATE = f"{SEARCH_FOLDER}state"
"""Staged for the build alone: what it notes of the index."""


class NewIndex(Struct, frozen=True):
    """An index to be made, in staged files."""

    output: Path
    bodies: Path
    documents: Place
    """Of each packed ``DocumentKey``, and of its packed ``SearchedBody``."""


_PLACES = msgpack_decoder(list[tuple[search.DocumentKey, Place]])


def made(job: NewIndex) -> Answer:
    """The files of an index, whole shards among them."""
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
    return Answer(tuple(files))

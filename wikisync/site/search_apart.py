"""A search index that is made from nothing, by ``search_worker``."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Struct

from wikisync.core.model import digest_of
from wikisync.site import search
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bodies import Bodies, Place
from wikisync.site.output_place import Written, opened_staging
from wikisync.site.writers import Answer


class NewIndex(Struct, frozen=True):
    """An index to be made, in staged files with even numbers."""

    output: Path
    bodies: Path
    documents: Mapping[search.DocumentKey, Place]
    """With the packed ``SearchedBody`` of each."""


def made(job: NewIndex) -> Answer:
    """The files of an index, whole shards among them, and what to note of it."""
    bodies, places, numbers = Bodies(job.bodies), job.documents, count(2, 2)
    files: list[Written] = []
    with opened_staging(job.output) as staging:

        def put(name: str, content: bytes) -> None:
            number = next(numbers)
            time = staging.put(number, content)
            path, digest = SEARCH_FOLDER + name, digest_of(content)
            files.append(Written(path, len(content), digest, number, time))

        def load(key: search.DocumentKey) -> search.SearchDocument:
            return search.search_document(key, bodies.read(places[key]))

        state = search.IndexUpdate(
            search.NO_INDEX, places, load, search.IndexPlace(put)
        ).write()
    return Answer(tuple(files), state=msgspec.msgpack.encode(state))

"""The worker processes that read the pages of sites."""

from wikisync.core.decoding import msgpack_decoder
from wikisync.markup.bounded import BoundedPages, one_per_process
from wikisync.site.reading import Reading, reading_of

_READINGS = msgpack_decoder(Reading)


class BoundedReader(BoundedPages[Reading]):
    """Parses pages in worker processes, and keeps what a build takes of them."""

    def __init__(self) -> None:
        super().__init__("wikisync.site.reading_worker", _READINGS, reading_of)


bounded_reader = one_per_process(BoundedReader)
"""The reader of this process."""

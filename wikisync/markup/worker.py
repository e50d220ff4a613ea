"""The process that parses pages for ``bounded``; it ends when its input does.

Its argument is the limit of its memory in bytes, which its parent has set
(``processes``).  Where even the answer finds no memory, the exit code says so.
"""

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Format
from wikisync.core.system import child
from wikisync.markup.context import page_seconds
from wikisync.markup.jobs import OUT_OF_MEMORY, Done, Included, Job, Jobs, Wanted
from wikisync.markup.page import Source, load_parser, parse_pages
from wikisync.markup.record import ParsedPage

STATUS = Path("/proc/self/status")
FORMAT_BYTES_MAX = {Format.REST: 224 << 20, Format.ASCIIDOC: 224 << 20}
"""Where parsers of others need memory that grows faster than the page.  With the
process that builds and an engine, which has as much, a build stays below 500 MB."""
SPENT_BYTES = 128 << 20
"""A worker that has held more is replaced before the next page."""
PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)

_INCLUDED = msgpack_decoder(Included)
_JOBS = msgpack_decoder(Jobs)

Make = Callable[[ParsedPage, bytes, str], object]
"""What is sent of a parsed page, from the aim of its job and the page's text."""


def serve(
    source: IO[bytes],
    target: IO[bytes],
    memory_bytes_max: int | None = None,
    make: Make = lambda parsed, *_: parsed,
) -> None:
    """Parse the pages of one message after the other until the input ends."""

    def include(number: int, name: str) -> str | None:
        child.write_frame(target, msgspec.msgpack.encode(Wanted(number, name)))
        return _INCLUDED.decode(child.read_frame(source)).text

    child.write_frame(target, child.READY)
    for frame in child.read_frames(source):
        for _, batch in groupby(enumerate(_JOBS.decode(frame)), batch_of):
            numbered = list(batch)
            first = numbered[0][1]
            limit_memory(first.page.format, memory_bytes_max)
            load_parser(first.page.format)
            sources = [
                Source(
                    job.page,
                    job.options,
                    partial(include, number),
                    child.ProcessorTime(job.seconds_max),
                )
                for number, job in numbered
            ]
            # an engine in a process of its own has as much time; markdown has none
            before = page_seconds.set(first.seconds_max)
            answers = [*made_of(sources, [job for _, job in numbered], make)]
            page_seconds.reset(before)
            if is_spent(memory_bytes_max):
                answers[-1] = Done(answers[-1].made, is_spent=True)
            child.write_frame(target, *map(msgspec.msgpack.encode, answers))
            if answers[-1].is_spent:
                break


def batch_of(numbered: tuple[int, Job]) -> int:
    """The same for jobs that are done step by step, if they follow each other.

    The other formats' parsers need memory that grows faster than the page.
    """
    number, job = numbered
    return -1 if job.page.format is Format.MARKDOWN else number


def made_of(
    sources: Sequence[Source], jobs: Iterable[Job], make: Make
) -> Iterator[Done]:
    """What is sent of each page, whose making counts as its time too."""
    for source, job, parsed in zip(sources, jobs, parse_pages(sources), strict=True):
        with source.clock:
            made = make(parsed, job.aim, source.page.content)
        yield Done(msgspec.Raw(msgspec.msgpack.encode(made)))


def limit_memory(page_format: Format, memory_bytes_max: int | None) -> None:
    """Let a page have what its format needs, and not more than any page may."""
    try:
        import resource
    except ImportError:
        return
    if memory_bytes_max is None:
        return
    limit = min(FORMAT_BYTES_MAX.get(page_format, memory_bytes_max), memory_bytes_max)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def is_spent(memory_bytes_max: int | None) -> bool:
    """Whether this process has once held much memory; False if not known.

    ``getrusage`` will not do: its peak begins with that of the parent.
    """
    if memory_bytes_max is None:
        return False
    bytes_max = min(memory_bytes_max // 2, SPENT_BYTES)
    if peak_with_parent() <= bytes_max:
        return False
    try:
        status = STATUS.read_bytes()
    except OSError:
        return False
    found = PEAK.search(status)
    return found is not None and int(found[1]) * 1024 > bytes_max


def peak_with_parent() -> float:
    """What this process or its parent has once held, in bytes, asked cheaply."""
    try:
        import resource
    except ImportError:
        return math.inf
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(make: Make = lambda parsed, *_: parsed) -> None:
    """Speak on the standard streams."""
    memory_bytes_max = int(sys.argv[1]) if sys.argv[1:] else None
    with child.standard_streams() as (source, target):
        try:
            serve(source, target, memory_bytes_max, make)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()

"""The process that parses pages for ``bounded``; it ends when its input does.

Its argument is the limit of its memory in bytes, which its parent has set
(``processes``).  Where even the answer finds no memory, the exit code says so.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from wikisync.child import processor_time, standard_streams
from wikisync.decoding import msgpack_decoder
from wikisync.errors import LimitExceeded, RenderError
from wikisync.frames import READY, read_frame, read_frames, write_frame
from wikisync.markup.context import Include, page_seconds
from wikisync.markup.jobs import (
    OUT_OF_MEMORY,
    Done,
    Included,
    Job,
    Jobs,
    Refused,
    Shown,
    Wanted,
)
from wikisync.markup.page import (
    load_parser,
    parse_page,
    safe_html,
    to_html,
)
from wikisync.markup.record import ParsedPage
from wikisync.markup.source import TOO_MUCH_MEMORY
from wikisync.model import Format

STATUS = Path("/proc/self/status")
FORMAT_BYTES_MAX = {Format.REST: 224 << 20, Format.ASCIIDOC: 224 << 20}
"""Where parsers of others need memory that grows faster than the page.  With the
process that builds and an engine, which has as much, a build stays below 500 MB."""
SPENT_BYTES = 128 << 20
"""A worker that has held more is replaced before the next page."""
PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)

_INCLUDED = msgpack_decoder(Included)
_JOBS = msgpack_decoder(Jobs)

Make = Callable[[ParsedPage], object]
"""What is sent of a parsed page."""


def serve(
    source: IO[bytes],
    target: IO[bytes],
    memory_bytes_max: int | None = None,
    make: Make = lambda parsed: parsed,
) -> None:
    """Parse pages one after the other until the input ends."""

    def include(name: str) -> str | None:
        write_frame(target, msgspec.msgpack.encode(Wanted(name)))
        return _INCLUDED.decode(read_frame(source)).text

    write_frame(target, READY)
    for frame in read_frames(source):
        for job in _JOBS.decode(frame):
            limit_memory(job.page.format, memory_bytes_max)
            load_parser(job.page.format)
            with processor_time(job.seconds_max), engines_have(job.seconds_max):
                answer = answer_to(job, include, make)
            if isinstance(answer, Done) and is_spent(memory_bytes_max):
                answer = Done(answer.made, is_spent=True)
            write_frame(target, msgspec.msgpack.encode(answer))
            if isinstance(answer, Done) and answer.is_spent:
                break


def answer_to(job: Job, include: Include, make: Make) -> Done | Shown | Refused:
    """What one job asks for."""
    if job.stage == "final":
        made = make(parse_page(job.page, job.options, include=include))
        return Done(msgspec.Raw(msgspec.msgpack.encode(made)))
    render = to_html if job.stage == "parse" else safe_html
    try:
        return Shown(render(job.page, job.options, include=include))
    except LimitExceeded as error:
        return Refused(error.message, error.breach)
    except RenderError as error:
        return Refused(error.message)
    except MemoryError:
        return Refused(TOO_MUCH_MEMORY, "memory")
    except Exception as error:  # noqa: BLE001 - as in parse_page: a parser's bug
        return Refused(f"its parser failed: {error!r:.200}")


@contextmanager
def engines_have(seconds: float) -> Iterator[None]:
    """Give an engine in a process of its own as much time for the page, too."""
    token = page_seconds.set(seconds)
    try:
        yield
    finally:
        page_seconds.reset(token)


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

    The peak that ``getrusage`` gives will not do: it begins with that of the
    process which has started this one.
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


def main(make: Make = lambda parsed: parsed) -> None:
    """Speak on the standard streams."""
    memory_bytes_max = int(sys.argv[1]) if sys.argv[1:] else None
    with standard_streams() as (source, target):
        try:
            serve(source, target, memory_bytes_max, make)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()

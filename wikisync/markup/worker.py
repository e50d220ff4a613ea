"""The process that parses pages for ``bounded``; it ends when its input does.

Its argument is the limit of its memory in bytes, which its parent has set
(``processes``).  Where even the answer finds no memory, the exit code tells.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import IO

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.errors import RenderError
from wikisync.markup.context import Include
from wikisync.markup.frames import (
    OUT_OF_MEMORY,
    Done,
    Included,
    Job,
    Ready,
    Refused,
    Shown,
    Wanted,
    read_frame,
    write_frame,
)
from wikisync.markup.page import parse_page, safe_html, to_html

STATUS = Path("/proc/self/status")
PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)

_INCLUDED = msgpack_decoder(Included)
_JOBS = msgpack_decoder(Job)


def serve(
    source: IO[bytes], target: IO[bytes], memory_bytes_max: int | None = None
) -> None:
    """Parse pages one after the other until the input ends."""

    def include(name: str) -> str | None:
        write_frame(target, Wanted(name))
        return _INCLUDED.decode(read_frame(source)).text

    write_frame(target, Ready())
    while True:
        try:
            job = _JOBS.decode(read_frame(source))
        except EOFError:
            return
        answer = answer_to(job, include)
        if isinstance(answer, Done):
            answer = msgspec.structs.replace(
                answer, is_spent=is_spent(memory_bytes_max)
            )
        write_frame(target, answer)


def answer_to(job: Job, include: Include) -> Done | Shown | Refused:
    """What one job asks for."""
    if job.stage == "final":
        return Done(parse_page(job.page, job.options, include=include))
    render = to_html if job.stage == "parse" else safe_html
    try:
        return Shown(render(job.page, job.options, include=include))
    except RenderError as error:
        return Refused(error.message)
    except Exception as error:  # noqa: BLE001 - as in parse_page: a parser's bug
        return Refused(f"its parser failed: {error!r:.200}")


def is_spent(memory_bytes_max: int | None) -> bool:
    """Whether this process has once held half of what it may; False if not known.

    The peak that ``getrusage`` tells will not do: it begins with that of the
    process which has started this one.
    """
    if memory_bytes_max is None:
        return False
    try:
        status = STATUS.read_bytes()
    except OSError:
        return False
    found = PEAK.search(status)
    return found is not None and int(found[1]) * 1024 > memory_bytes_max // 2


def main() -> None:
    """Speak on the standard streams; whatever a library prints goes nowhere."""
    memory_bytes_max = int(sys.argv[1]) if sys.argv[1:] else None
    # an interrupt at the keyboard is for the renderer, which then ends us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as target:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        try:
            serve(sys.stdin.buffer, target, memory_bytes_max)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()

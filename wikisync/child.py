"""The child's half of a worker: its streams, and the end of a job that takes too long.

It needs nothing but Python itself, so that a process which runs one engine loads
nothing else.  ``frames`` is what the process says, ``worker`` the parent's half.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from wikisync.frames import write_frame

SECONDS_MIN = 0.001
"""Zero would be no limit to the system."""


@contextmanager
def standard_streams() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Where this worker's jobs come from, and where its answers go.

    What a library prints by accident goes to standard error, so that it is not
    taken for an answer.  The terminal interrupts every process of a command; what
    that means is decided by the parent, which then ends this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield sys.stdin.buffer, answers


def send(stream: IO[bytes], message: Mapping[str, object]) -> None:
    """Send an answer, where msgspec is not loaded."""
    write_frame(stream, json.dumps(message).encode("ascii"))


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """End this process when the block has used so much time of the processor.

    The default action of the signal ends it, also in the middle of a library that
    is not Python's.
    """
    signal.setitimer(signal.ITIMER_PROF, max(seconds, SECONDS_MIN))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)

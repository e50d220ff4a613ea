"""The child's half of a worker: frames, streams, jobs, and their ends in time.

A frame is four bytes length, big endian, then JSON.  It needs nothing but Python
itself, so that a process which runs one engine loads nothing else; ``worker`` is the
parent's half.
"""

import faulthandler
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, cast

LENGTH = struct.Struct(">I")
FRAME_BYTES_MAX = 256 << 20
"""More than any page within its limits can become."""
READY = b'"ready"'
"""The first frame of every worker: it has loaded what it needs."""


def write_frame(stream: IO[bytes], *bodies: bytes) -> None:
    """Send frames, at once; raises ``OSError`` where nobody reads any more."""
    for body in bodies:
        stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def read_frame(stream: IO[bytes], bytes_max: int = FRAME_BYTES_MAX) -> bytes:
    """The body of the next frame; EOFError without one, ValueError for a long one."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(head)
    if size > bytes_max:
        raise ValueError(f"a frame of {size} bytes")
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return body


def read_frames(stream: IO[bytes]) -> Iterator[bytes]:
    """The bodies of all frames until the other side is gone."""
    while True:
        try:
            yield read_frame(stream)
        except EOFError:
            return


SECONDS_MIN = 0.001
"""Zero would be no limit to the system."""

Ask = Callable[[dict[str, object]], dict[str, Any]]
"""An include request to its answer, from the parent."""


class PageError(Exception):
    """An engine failed on a page, and may not be used again."""


@contextmanager
def standard_streams() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Where this worker's jobs come from, and where its answers go.

    What a library prints goes to standard error, so that it is not taken for an answer.
    The terminal interrupts every process of a command; the parent decides what that
    means.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        yield sys.stdin.buffer, answers


def send(stream: IO[bytes], message: Mapping[str, object]) -> None:
    """Send an answer, where msgspec is not loaded."""
    write_frame(stream, json.dumps(message).encode("ascii"))


class ProcessorTime:
    """Ends this process when its blocks have used so much processor time."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, max(self._left, SECONDS_MIN))

    def __exit__(self, *_: object) -> None:
        self._left = signal.setitimer(signal.ITIMER_PROF, 0)[0]


def asker(requests: IO[bytes], answers: IO[bytes]) -> Ask:
    """What has the parent answer an engine's requests for includes."""

    def ask(request: dict[str, object]) -> dict[str, Any]:
        send(answers, {"include": request})
        return cast("dict[str, Any]", json.loads(read_frame(requests)))

    return ask


def serve_pages(
    render: Callable[[dict[str, Any]], Mapping[str, object]],
    requests: IO[bytes],
    answers: IO[bytes],
    seconds_max: float,
    nowhere: int,
) -> None:
    """Answer an engine's pages until the parent closes the pipe or a page fails.

    Each page names its own seconds of processor time.  ``seconds_max`` is by the clock:
    it ends a process whose parent has died, with a trace in the open file ``nowhere``.
    """
    write_frame(answers, READY)
    for frame in read_frames(requests):
        page = json.loads(frame)
        # an engine's own limit would forbid calls into Python
        faulthandler.dump_traceback_later(seconds_max, exit=True, file=nowhere)
        try:
            with ProcessorTime(page["seconds_max"]):
                answer = render(page)
        except (PageError, MemoryError, ValueError, LookupError) as error:
            reason = str(error) or type(error).__name__
            is_memory = isinstance(error, MemoryError)
            send(answers, {"error": reason, "is_memory": is_memory})
            return
        finally:
            faulthandler.cancel_dump_traceback_later()
        send(answers, answer)

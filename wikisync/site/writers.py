"""Processes that write files of a site, and what they answer.

Their jobs are pickled: they come from their parent, and from nobody else.
"""

import pickle
from collections.abc import Callable, Iterable
from threading import BoundedSemaphore
from typing import Any, Literal

import msgspec
from msgspec import Struct

from wikisync.core.system.child import READY, read_frames, standard_streams, write_frame
from wikisync.core.system.parallel import usable_cores
from wikisync.errors import WikisyncError
from wikisync.site.bodies import BodyDamaged
from wikisync.site.output_place import Written

AT_ONCE = BoundedSemaphore(usable_cores())
"""Held while one of them works: each has memory of its own."""


class Answer(Struct, frozen=True, array_like=True):
    """The files of a job, those of a batch in its order, or what failed."""

    files: tuple[Written, ...] = ()
    failed: Literal["", "theme", "writing", "reading"] = ""
    message: str = ""
    """Of writing, the name of the file."""
    hint: str = ""
    code: int = 0
    """Of writing, what the system says."""


def serve(work: Callable[[Any], Iterable[Written]]) -> None:
    """Do this process's jobs, one after the other, until its input ends."""
    with standard_streams() as (source, target):
        write_frame(target, READY)
        for packed in read_frames(source):
            job = pickle.loads(packed)  # noqa: S301 - from our own parent
            try:
                answer = Answer(tuple(work(job)))
            except WikisyncError as error:
                answer = Answer((), "theme", error.message, error.hint or "")
            except OSError as error:
                name, code = str(error.filename or ""), error.errno or 0
                answer = Answer((), "writing", name, code=code)
            except BodyDamaged as error:
                answer = Answer((), "reading", str(error))
            write_frame(target, msgspec.msgpack.encode(answer))

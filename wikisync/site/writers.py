"""Processes that write files of a site, and what they answer.

Their jobs are pickled: they come from their parent, and from nobody else.
"""

import os
import pickle
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any, Literal

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.system.child import READY, read_frames, standard_streams, write_frame
from wikisync.core.system.parallel import usable_cores
from wikisync.core.system.processes import python_worker
from wikisync.core.system.worker import Worker, WorkerLost, WorkerNotStarted
from wikisync.errors import SiteError, WikisyncError
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


_ANSWERS = msgpack_decoder(Answer)


def new_writer(module: str, wait_seconds_max: float) -> Worker[Answer]:
    """A process that writes files of a site, not yet started."""
    return Worker(
        python_worker(module),
        _ANSWERS,
        encode=pickle.dumps,
        wait_seconds_max=wait_seconds_max,
    )


def asked(worker: Worker[Answer], job: object, lost: str, hint: str) -> Answer:
    """What it answers; raises what was raised there, or what to say if it is lost."""
    try:
        answer = worker.ask(job)
    except (WorkerLost, WorkerNotStarted) as exc:
        raise SiteError(lost, hint=hint) from exc
    match answer.failed:
        case "theme":
            raise SiteError(answer.message, hint=answer.hint)
        case "writing":
            raise OSError(answer.code, os.strerror(answer.code), answer.message)
        case "reading":
            raise BodyDamaged(answer.message)
    return answer


def serve(work: Callable[[Any], Answer]) -> None:
    """Do this process's jobs, one after the other, until its input ends."""
    with standard_streams() as (source, target):
        write_frame(target, READY)
        for packed in read_frames(source):
            job = pickle.loads(packed)  # noqa: S301 - from our own parent
            try:
                answer = work(job)
            except WikisyncError as error:
                answer = Answer((), "theme", error.message, error.hint or "")
            except OSError as error:
                name, code = str(error.filename or ""), error.errno or 0
                answer = Answer((), "writing", name, code=code)
            except BodyDamaged as error:
                answer = Answer((), "reading", str(error))
            write_frame(target, msgspec.msgpack.encode(answer))

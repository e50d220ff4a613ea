"""The process that renders pages for ``rendering``; it ends when its input does.

Jobs are pickled: they come from the process that started this one, and from nobody
else.  What a page holds is text in them.
"""

import pickle
from contextlib import ExitStack
from typing import IO

import msgspec

from wikisync.core.system.child import READY, read_frames, standard_streams, write_frame
from wikisync.errors import WikisyncError
from wikisync.site import rendering
from wikisync.site.bodies import BodyDamaged
from wikisync.site.output_place import opened_staging


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Render batches one after the other until the input ends."""
    write_frame(target, READY)
    renderer = frame = None
    with ExitStack() as stack:
        for packed in read_frames(source):
            batch = pickle.loads(packed)  # noqa: S301 - from our own parent
            assert isinstance(batch, rendering.Batch)
            try:
                if batch.setting is not None:
                    place = opened_staging(batch.setting.output)
                    staging = stack.enter_context(place)
                    renderer = rendering.Renderer(batch.setting, staging)
                frame = batch.frame or frame
                assert renderer is not None, "the first batch brings the setting"
                assert frame is not None, "and a frame"
                pages = tuple(renderer.written(frame, job) for job in batch.pages)
                answer = rendering.Answer(pages)
            except WikisyncError as error:
                answer = rendering.Answer((), "theme", error.message, error.hint or "")
            except OSError as error:
                name, code = str(error.filename or ""), error.errno or 0
                answer = rendering.Answer((), "writing", name, code=code)
            except BodyDamaged as error:
                answer = rendering.Answer((), "reading", str(error))
            write_frame(target, msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    with standard_streams() as streams:
        serve(*streams)

"""The process that renders pages for ``rendering``; it ends when its input does.

Jobs are pickled: they come from the process that started this one, and from nobody
else.  What a page holds is text in them.
"""

from __future__ import annotations

import pickle
from typing import IO

import msgspec

from wikisync.child import standard_streams
from wikisync.errors import SiteError
from wikisync.frames import READY, read_frames, write_frame
from wikisync.site.rendering import Answer, Batch, Failed, Texts, render_page


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Render batches one after the other until the input ends."""
    write_frame(target, READY)
    theme = site = frame = None
    for packed in read_frames(source):
        batch = pickle.loads(packed)  # noqa: S301 - from our own parent
        assert isinstance(batch, Batch)
        theme, site = batch.theme or theme, batch.site or site
        frame = batch.frame or frame
        assert theme is not None, "the first batch brings the theme"
        assert site is not None, "and the site"
        assert frame is not None, "and a frame"
        answer: Answer
        try:
            texts = tuple(render_page(theme, site, frame, job) for job in batch.pages)
            answer = Texts(texts)
        except SiteError as error:
            answer = Failed(error.message, error.hint or "")
        write_frame(target, msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    with standard_streams() as streams:
        serve(*streams)

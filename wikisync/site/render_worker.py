"""The process that renders pages for ``rendering``; it ends when its input does.

What a page holds is text in its jobs.
"""

from contextlib import ExitStack
from itertools import chain

from wikisync.site.output_place import opened_staging
from wikisync.site.pages import WikiFrame
from wikisync.site.rendering import Batch, Renderer
from wikisync.site.writers import Answer, serve


class Desk:
    """What the batches so far have brought."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._renderer: Renderer | None = None
        self._frame: WikiFrame | None = None

    def rendered(self, batch: Batch) -> Answer:
        """The pages of a batch."""
        if batch.setting is not None:
            place = opened_staging(batch.setting.output)
            staging = self._stack.enter_context(place)
            self._renderer = Renderer(batch.setting, staging)
        self._frame = batch.frame or self._frame
        renderer, frame = self._renderer, self._frame
        assert renderer is not None, "the first batch brings the setting"
        assert frame is not None, "and a frame"
        written = (renderer.written(frame, job) for job in batch.pages)
        return Answer(tuple(chain.from_iterable(written)))


if __name__ == "__main__":
    with ExitStack() as stack:
        serve(Desk(stack).rendered)

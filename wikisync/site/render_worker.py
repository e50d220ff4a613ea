"""The process that writes files for ``rendering``; it ends when its input does."""

from collections.abc import Iterable
from contextlib import ExitStack

from wikisync.site.output_place import Written, opened_staging
from wikisync.site.rendering import Batch, Renderer
from wikisync.site.search_writing import NewIndex, made
from wikisync.site.writers import serve


def main() -> None:
    """Render batches, the first of which brings setting and frame; make an index."""
    renderer: Renderer | None = None
    with ExitStack() as stack:

        def written(job: Batch | NewIndex) -> Iterable[Written]:
            nonlocal renderer
            if isinstance(job, NewIndex):
                return made(job)
            if job.setting is not None:
                staging = stack.enter_context(opened_staging(job.setting.output))
                renderer = Renderer(job.setting, staging)
            assert renderer is not None
            return renderer.written(job.frame, job.pages)

        serve(written)


if __name__ == "__main__":
    main()

"""The process that renders pages for ``rendering``; it ends when its input does."""

from contextlib import ExitStack

from wikisync.site.output_place import opened_staging
from wikisync.site.rendering import Batch, Renderer
from wikisync.site.writers import Answer, serve


def main() -> None:
    """Render batches, the first of which brings setting and frame."""
    renderer: Renderer | None = None
    with ExitStack() as stack:

        def rendered(batch: Batch) -> Answer:
            nonlocal renderer
            if batch.setting is not None:
                staging = stack.enter_context(opened_staging(batch.setting.output))
                renderer = Renderer(batch.setting, staging)
            assert renderer is not None
            return Answer(tuple(renderer.written(batch.frame, batch.pages)))

        serve(rendered)


if __name__ == "__main__":
    main()

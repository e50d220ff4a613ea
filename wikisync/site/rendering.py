"""Pages to HTML by the theme: here, or in several processes where they are many.

A page is rendered from its job, the frame of its wiki, the site and the theme, and
from nothing else, so that every process makes the same bytes of it.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from msgspec import Struct

from wikisync.decoding import msgpack_decoder
from wikisync.errors import SiteError
from wikisync.parallel import in_order, usable_cores
from wikisync.processes import python_worker
from wikisync.site.context import SiteContext
from wikisync.site.pages import PageJob, WikiFrame
from wikisync.site.theme import Theme
from wikisync.worker import Worker, WorkerLost, WorkerNotStarted

RENDERS = "wikisync.site.render_worker"
"""The module that a process runs."""
FEW_PAGES = 200
"""Are rendered here: processes take as long to start."""
BATCH_PAGES = 16
BATCHES_AHEAD = 4
"""Of each process, rendered before the first of them is wanted."""
WAIT_SECONDS_MAX = 600.0
"""By the clock, for one batch: a template that does not end is a fault of the theme."""

Framed = tuple[WikiFrame, PageJob]
"""A page with the frame of its wiki."""
PagesOfWiki = tuple[WikiFrame, tuple[PageJob, ...]]
"""Some pages with the frame of their wiki."""
Rendered = tuple[Sequence[PageJob], Sequence[bytes]]
"""Pages and what they became."""


class Batch(Struct, frozen=True):
    """Pages of one wiki, for a process that renders."""

    theme: Theme | None
    """None: that of the batch before."""
    site: SiteContext | None
    """The same."""
    frame: WikiFrame | None
    """The same."""
    pages: tuple[PageJob, ...]


class Texts(Struct, frozen=True, array_like=True, tag="texts"):
    """The rendered pages of a batch, in their order."""

    texts: tuple[bytes, ...]


class Failed(Struct, frozen=True, array_like=True, tag="failed"):
    """The theme fails for a page of a batch."""

    message: str
    hint: str


Answer = Texts | Failed
_ANSWERS = msgpack_decoder(Answer)


def render_page(
    theme: Theme, site: SiteContext, frame: WikiFrame, job: PageJob
) -> bytes:
    """The file of one page.

    Raises:
        SiteError: the theme fails for it.
    """
    context = frame.template_context(site, job)
    text = theme.render("page.html", context, at=job.composed.path)
    return text.encode("utf-8", "replace")


def rendered_pages(
    theme: Theme, site: SiteContext, jobs: Iterable[Framed]
) -> Iterator[tuple[str, bytes]]:
    """Output path and content of each page, in the order of the jobs.

    Raises:
        SiteError: the theme fails for a page, or a process that renders ended.
    """
    waiting = iter(jobs)
    first = list(islice(waiting, FEW_PAGES))
    cores = usable_cores()
    if len(first) < FEW_PAGES or cores == 1:
        for frame, job in chain(first, waiting):
            yield job.composed.path, render_page(theme, site, frame, job)
        return
    renderers = _Renderers(theme, site)
    batches = _batches(chain(first, waiting))
    try:
        for pages, texts in in_order(
            renderers.render, batches, threads=cores, ahead=BATCHES_AHEAD
        ):
            for job, text in zip(pages, texts, strict=True):
                yield job.composed.path, text
    finally:
        renderers.end()


def _batches(jobs: Iterable[Framed]) -> Iterator[PagesOfWiki]:
    """Pages that come one after the other and have one frame."""
    pages: list[PageJob] = []
    last: WikiFrame | None = None
    for frame, job in jobs:
        if last is not None and (frame is not last or len(pages) == BATCH_PAGES):
            yield last, tuple(pages)
            pages = []
        pages.append(job)
        last = frame
    if last is not None:
        yield last, tuple(pages)


class _Renderers:
    """Processes that render, one for each thread that asks."""

    def __init__(self, theme: Theme, site: SiteContext) -> None:
        self._theme = theme
        self._site = site
        self._command = python_worker(RENDERS)
        self._own = threading.local()
        self._workers: list[Worker[Answer]] = []

    def render(self, batch: PagesOfWiki) -> Rendered:
        """The files of some pages, by the process of this thread."""
        frame, pages = batch
        own = self._own
        is_new = not hasattr(own, "worker")
        if is_new:
            own.worker = Worker(
                self._command,
                _ANSWERS,
                encode=pickle.dumps,
                wait_seconds_max=WAIT_SECONDS_MAX,
            )
            own.frame = None
            self._workers.append(own.worker)
        theme, site = (self._theme, self._site) if is_new else (None, None)
        named = None if own.frame is frame else frame
        try:
            answer = own.worker.ask(Batch(theme, site, named, pages))
        except (WorkerLost, WorkerNotStarted) as exc:
            raise SiteError(
                f"the process that renders pages ended at {pages[0].composed.path}",
                hint="look for a template of the theme that does not end",
            ) from exc
        if isinstance(answer, Failed):
            raise SiteError(answer.message, hint=answer.hint)
        own.frame = frame
        return pages, answer.texts

    def end(self) -> None:
        """End the processes; nobody asks any more."""
        for worker in self._workers:
            worker.end()

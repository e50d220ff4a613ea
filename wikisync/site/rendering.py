"""Pages to HTML by the theme: here, or in several processes where they are many.

A page is rendered from its job, the frame of its wiki, its text in the cache, the site
and the theme, and from nothing else, so that every process makes the same bytes of it.
Where it is rendered it is also written, into staging.  One of the processes makes the
search index of a large new site before that.
"""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Digest
from wikisync.core.system.parallel import in_order, usable_cores
from wikisync.core.system.processes import python_worker
from wikisync.core.system.worker import Worker, WorkerLost, WorkerNotStarted
from wikisync.errors import SiteError
from wikisync.site.bodies import Bodies, BodyDamaged
from wikisync.site.context import SiteContext
from wikisync.site.output import Output
from wikisync.site.output_place import Staging, Written
from wikisync.site.pages import PageJob, WikiFrame
from wikisync.site.sources import read_files
from wikisync.site.theme import HISTORY_TEMPLATE, PAGE_TEMPLATE, Theme
from wikisync.site.writers import AT_ONCE, Answer

RENDERS = "wikisync.site.render_worker"
FEW_PAGES = 500
"""Are rendered here: processes take as long to start."""
BATCH_PAGES = 16
"""At least, if there are so many, and all of a directory, whose pages share texts."""
BATCH_PAGES_MAX = 32
BATCHES_AHEAD = 4
"""Of each process, rendered before the first of them is wanted."""
WAIT_SECONDS_MAX = 600.0
"""By the clock, for one batch: a template that does not end is a fault of the theme."""

_ANSWERS = msgpack_decoder(Answer)

Framed = tuple[WikiFrame, PageJob]
PagesOfWiki = tuple[WikiFrame, tuple[PageJob, ...]]
"""Pages with the frame of their wiki."""


class Setting(Struct, frozen=True):
    """What all pages of a build are rendered with."""

    theme: Theme
    site: SiteContext
    bodies: Path
    output: Path


class Batch(Struct, frozen=True):
    """Pages of one wiki, for a process that renders."""

    setting: Setting | None
    frame: WikiFrame | None
    pages: tuple[PageJob, ...]


class Renderer:
    """Renders pages of one setting into new files."""

    def __init__(self, setting: Setting, staging: Staging) -> None:
        self._setting = setting
        self._staging = staging
        self._bodies = Bodies(setting.bodies)
        self._frame: WikiFrame | None = None

    def written(
        self, frame: WikiFrame | None, jobs: Sequence[PageJob]
    ) -> Iterator[Written]:
        """Pages of a wiki and their sources; without a frame, that of the last call's.

        Raises what ``Renderers.written`` does.
        """
        self._frame = frame = frame or self._frame
        assert frame is not None
        contents = read_files([job.source.place for job in jobs if job.source])
        for job in jobs:
            if (copy := job.source) and (content := next(contents)) is not None:
                yield self._staging.put(copy.path, content)
            elif copy:
                yield Written(copy.path, 0, Digest(""))
            context = frame.template_context(self._setting.site, job, self._bodies)
            template = HISTORY_TEMPLATE if job.history else PAGE_TEMPLATE
            text = self._setting.theme.render(template, context, at=job.path)
            yield self._staging.put(job.path, text.encode("utf-8", "replace"))


class Renderers:
    """Renders the pages of a build, by processes where they are many.

    There are as many as threads ask at once.
    """

    def __init__(self, setting: Setting, output: Output) -> None:
        self._setting, self._output = setting, output
        self._frames: dict[Worker[Answer], WikiFrame | None] = {}
        """All processes, with the frame that each has."""
        self._idle: list[Worker[Answer]] = []

    def prepare(self, least: int) -> None:
        """Start processes for so many pages at least, beside what this one does."""
        cores = usable_cores()
        for _ in range(min(cores, least // FEW_PAGES) if cores > 1 else 0):
            worker = self._new()
            worker.prepare()
            self._idle.append(worker)

    def written(self, jobs: Iterable[Framed], least: int = 0) -> Iterator[Written]:
        """Each page and its source, staged, in the order of the jobs, so many at least.

        Raises:
            SiteError: the theme fails for a page, or a process that renders ended.
            BodyDamaged, OSError: the text cannot be read any more; a page cannot be
                written.
        """
        waiting = iter(jobs)
        # processes start while this one composes, if it is known that they are needed
        first = list(islice(waiting, max(FEW_PAGES - least, 0)))
        cores = usable_cores()
        if least + len(first) < FEW_PAGES or cores == 1:
            renderer = Renderer(self._setting, self._output.staged)
            for frame, job in chain(first, waiting):
                yield from renderer.written(frame, [job])
            return
        batches = _batches(chain(first, waiting))
        for pages in in_order(self.render, batches, threads=cores, ahead=BATCHES_AHEAD):
            yield from pages
        self.close()

    def render(self, batch: PagesOfWiki) -> Sequence[Written]:
        """The files of some pages, by one of the processes."""
        frame, pages = batch

        def job(worker: Worker[Answer]) -> Batch:
            known, self._frames[worker] = self._frames[worker], frame
            setting = None if known else self._setting
            return Batch(setting, None if known is frame else frame, pages)

        lost = f"the process that renders pages ended at {pages[0].path}"
        hint = "look for a template of the theme that does not end"
        return self._asked(job, WAIT_SECONDS_MAX, lost, hint)

    def make_index(self, index: object) -> Sequence[Written]:
        """The files of a search index, by one of the processes."""
        lost = "the process that writes the search index ended"
        hint = "build again, with more memory free"
        return self._asked(lambda _: index, math.inf, lost, hint)

    def _asked(
        self,
        job: Callable[[Worker[Answer]], object],
        seconds: float,
        lost: str,
        hint: str,
    ) -> Sequence[Written]:
        """What one of them wrote; raises what was raised there, or that it is lost."""
        with AT_ONCE:
            worker = self._idle.pop() if self._idle else self._new()
            worker.wait_seconds_max = seconds
            try:
                answer = worker.ask(job(worker))
            except (WorkerLost, WorkerNotStarted) as exc:
                raise SiteError(lost, hint=hint) from exc
            self._idle.append(worker)
        match answer.failed:
            case "theme":
                raise SiteError(answer.message, hint=answer.hint)
            case "writing":
                raise OSError(answer.code, os.strerror(answer.code), answer.message)
            case "reading":
                raise BodyDamaged(answer.message)
        return answer.files

    def close(self) -> None:
        """End the processes."""
        for worker in [*self._frames]:  # the thread of an index may start one yet
            worker.end()

    def break_off(self) -> None:
        """Kill the processes at what they do."""
        for worker in [*self._frames]:
            worker.break_off()

    def _new(self) -> Worker[Answer]:
        command, packed = python_worker(RENDERS), pickle.dumps
        worker = Worker(command, _ANSWERS, encode=packed, wait_seconds_max=math.inf)
        self._frames[worker] = None
        return worker


def _batches(jobs: Iterable[Framed]) -> Iterator[PagesOfWiki]:
    pages: list[PageJob] = []
    last: WikiFrame | None = None
    place = ""
    for frame, job in jobs:
        before, place = place, job.path.rpartition("/")[0]
        if last is not None and (
            frame is not last
            or len(pages) == BATCH_PAGES_MAX
            or (len(pages) >= BATCH_PAGES and place != before)
        ):
            yield last, tuple(pages)
            pages = []
        pages.append(job)
        last = frame
    if last is not None:
        yield last, tuple(pages)

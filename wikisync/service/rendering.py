"""``render_html``: pages through our own markup, in a few processes beside the service.

Links are the service's.  A page over the deadline is shown as its source, and the
process ends.  Run as a module, this is such a process, which has a page at a time.
"""

import asyncio
import html
import logging
import posixpath
from functools import lru_cache, partial
from pathlib import Path
from typing import IO
from urllib.parse import quote

import msgspec

from wikisync.core.decoding import json_decoder
from wikisync.core.model import AttachmentPath, Format, OwnerKind, Page, Slug, WikiOwner
from wikisync.core.system.child import READY, read_frames, standard_streams, write_frame
from wikisync.core.system.processes import python_worker
from wikisync.core.system.worker import Worker, WorkerLost, WorkerNotStarted
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions
from wikisync.markup.resolve import finish_page
from wikisync.service.answers import Refusal
from wikisync.service.pages import ShownPage, decode_text
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import MIB, Rendering
from wikisync.service.slots import NoSlot, Slots
from wikisync.service.tree import WikiTree

log = logging.getLogger(__name__)

MEMORY_BYTES_MAX = 1024 * MIB
"""Of a process; a page that wants more is shown as its source."""
RETRY_AFTER_S = 10
_NOTICE = "This page took too long to render, so here is its source."
INCLUDED_BYTES_MAX = 1 * MIB


class RenderJob(msgspec.Struct, frozen=True):
    """One page to be rendered."""

    page: ShownPage
    repository: str
    """Folder of the wiki, as an absolute path."""
    commit: str
    """What the wiki's links and includes are resolved in."""
    kind: OwnerKind
    full_path: str
    service_url: str


_JOBS = json_decoder(RenderJob)
_HTML = json_decoder(str)


class RenderPool:
    """A few processes, each started when it is first wanted."""

    def __init__(self, limits: Rendering) -> None:
        self._limits = limits
        self._slots = Slots(limits.processes_max, limits.waiting_max, limits.waiting_s)
        self._idle: list[Worker[str]] = []

    async def render(self, job: RenderJob, *, is_stranger: bool) -> str:
        """The page's HTML, or its source with a notice; 503 for too many pages."""
        try:
            async with self._slots.taken(is_stranger=is_stranger):
                worker = self._idle.pop() if self._idle else self._worker()
                rendered = None
                try:
                    rendered = await worker.ask_async(job)
                except WorkerNotStarted:
                    log.warning("the process that renders pages does not start")
                except WorkerLost:
                    pass
                self._idle.append(worker)
        except NoSlot:
            text = "503 Service Unavailable - too many pages are being rendered"
            retry = {"Retry-After": str(RETRY_AFTER_S)}
            raise Refusal(503, {"message": text}, retry) from None
        if rendered is not None:
            return rendered
        source = html.escape(job.page.content)
        return f"<p><em>{_NOTICE}</em></p>\n<pre>{source}</pre>"

    async def close(self) -> None:
        """End the processes."""
        while self._idle:
            await asyncio.to_thread(self._idle.pop().end)

    def _worker(self) -> Worker[str]:
        command = python_worker(
            "wikisync.service.rendering", memory_bytes_max=MEMORY_BYTES_MAX
        )
        seconds_max = self._limits.deadline_s
        return Worker(command, _HTML, wait_seconds_max=seconds_max, stderr=None)


class ServiceUrls:
    """Addresses inside one wiki, as paths on the service's host."""

    def __init__(self, base: str) -> None:
        self.base = base

    def page(self, slug: Slug, fragment: str) -> str:
        """Address of a page."""
        address = f"{self.base}/{quote(slug)}"
        return f"{address}#{quote(fragment)}" if fragment else address

    def attachment(self, path: AttachmentPath) -> str:
        """Address of an attachment: the file route."""
        return f"{self.base}/{quote(path)}"

    def missing(self, target: str) -> str | None:
        """A page that is not there yet has an address all the same."""
        return f"{self.base}/{quote(target)}"


def render_page(
    shown: ShownPage,
    tree: WikiTree,
    repository: WikiRepository,
    *,
    owner: WikiOwner,
    service_url: str,
) -> ShownPage:
    """The page with HTML for its content; everything else as it was."""
    prefix = "/groups" if owner.kind == "group" else ""
    base = f"{prefix}/{quote(owner.full_path)}/-/wikis"
    links = LinkIndex(
        (Slug(page.slug) for page in tree.pages),
        (AttachmentPath(f.path) for f in tree.files if f.path.startswith("uploads/")),
        web_url=service_url + base,
    )
    slug = Slug(shown.slug)
    page = Page(slug, Format(shown.format), shown.content, shown.title)
    include = partial(included_text, tree, repository, slug)
    # the pages of the service draw math themselves, so they get its source
    options = MarkupOptions(math="source")
    parsed = parse_page(page, options, include=include)
    rendered = finish_page(parsed, links, ServiceUrls(base))
    return msgspec.structs.replace(shown, content=rendered.html)


def included_text(
    tree: WikiTree, repository: WikiRepository, slug: str, target: str
) -> str | None:
    """The text that an include of a page names: a file, or a page by its slug."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(slug), target))
    file = tree.file(path)
    page = tree.find(path) if file is None else None
    blob = file.blob if file is not None else page.blob if page is not None else None
    if blob is None:
        return None
    content = repository.read(blob)
    if len(content) > INCLUDED_BYTES_MAX or b"\0" in content:
        return None
    return decode_text(content, INCLUDED_BYTES_MAX)[0]


@lru_cache(maxsize=1024)
def render_description(description: str) -> str:
    """A project's description as HTML; it has no wiki that its links lead into."""
    page = Page(Slug("description"), Format.MARKDOWN, description, "")
    parsed = parse_page(page, MarkupOptions(math="source"))
    return finish_page(parsed, LinkIndex((), ()), ServiceUrls("")).html


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer jobs until there are no more."""
    write_frame(answers, READY)
    repositories: dict[str, WikiRepository] = {}
    for frame in read_frames(requests):
        job = _JOBS.decode(frame)
        repository = repositories.get(job.repository)
        if repository is None:
            repositories.clear()
            repository = WikiRepository(Path(job.repository))
            repositories[job.repository] = repository
        tree = repository.tree()
        if tree.commit != job.commit:
            tree = repository.tree_at(job.commit) or tree
        owner = WikiOwner(job.kind, job.full_path)
        shown = render_page(
            job.page, tree, repository, owner=owner, service_url=job.service_url
        )
        write_frame(answers, msgspec.json.encode(shown.content))


if __name__ == "__main__":
    with standard_streams() as streams:
        main(*streams)

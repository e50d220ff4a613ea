"""``render_html``: pages through our own markup, parsed in processes of their own.

Links are the service's.  A page over a limit is shown as its source.
"""

import asyncio
import posixpath
from functools import lru_cache, partial
from urllib.parse import quote

from msgspec import Struct

from wikisync.core.model import AttachmentPath, Format, Page, Slug, WikiOwner
from wikisync.core.system.parallel import finish
from wikisync.markup.bounded import BoundedParser
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

RETRY_AFTER_S = 10
INCLUDED_BYTES_MAX = 1 * MIB


class RenderJob(Struct, frozen=True):
    """One page to be rendered."""

    page: ShownPage
    tree: WikiTree
    """What the wiki's links and includes are resolved in."""
    repository: WikiRepository
    owner: WikiOwner
    service_url: str


class RenderPool:
    """A few parsers, each started when it is first wanted."""

    def __init__(self, limits: Rendering) -> None:
        self._limits = limits
        self._slots = Slots(limits.processes_max, limits.waiting_max, limits.waiting_s)
        self._idle: list[BoundedParser] = []

    async def render(self, job: RenderJob, *, is_stranger: bool) -> str:
        """The page's HTML, or its source with a notice; 503 for too many pages."""
        loop = asyncio.get_running_loop()
        try:
            async with self._slots.taken(is_stranger=is_stranger):
                parser = self._idle.pop() if self._idle else self._parser()
                rendering = loop.run_in_executor(None, render_page, job, parser)
                html = await finish(rendering, parser.break_off)
                self._idle.append(parser)
        except NoSlot:
            text = "503 Service Unavailable - too many pages are being rendered"
            retry = {"Retry-After": str(RETRY_AFTER_S)}
            raise Refusal(503, {"message": text}, retry) from None
        return html

    async def close(self) -> None:
        """End the processes."""
        while self._idle:
            await asyncio.to_thread(self._idle.pop().close)

    def _parser(self) -> BoundedParser:
        return BoundedParser(wait_seconds_max=self._limits.deadline_s)


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


def render_page(job: RenderJob, parser: BoundedParser) -> str:
    """The page's HTML."""
    tree, owner, shown = job.tree, job.owner, job.page
    prefix = "/groups" if owner.kind == "group" else ""
    base = f"{prefix}/{quote(owner.full_path)}/-/wikis"
    links = LinkIndex(
        (Slug(page.slug) for page in tree.pages),
        (AttachmentPath(f.path) for f in tree.files if f.path.startswith("uploads/")),
        web_url=job.service_url + base,
    )
    slug = Slug(shown.slug)
    page = Page(slug, Format(shown.format), shown.content, shown.title)
    include = partial(included_text, tree, job.repository, slug)
    # the pages of the service draw math themselves, so they get its source
    options = MarkupOptions(math="source")
    parsed = parser.parse(page, options, include=include)
    return finish_page(parsed, links, ServiceUrls(base)).html


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

"""What goes into a site build and what comes out of it.  Pure.

``build.build_site`` takes wiki sources and options and returns a report; the
templates see the values of ``context``, never these.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field, structs

from wikisync.core.model import Digest, Format, PagePath, Problem, Slug, WikiOwner
from wikisync.core.origin import web_address
from wikisync.core.versions import NO_DATES, UNKNOWN, PageDates, Versions
from wikisync.markup.record import MarkupOptions
from wikisync.site.addresses import WikiAddresses
from wikisync.site.titles import DESCRIPTION_CHARS_MAX, TITLE_CHARS_MAX, shortened

NAV_LINKS_MAX = 60
"""Links of the navigation tree on one page, at any size of the wiki."""


class SourcePage(Struct, frozen=True, array_like=True, gc=False):
    """One page file."""

    slug: Slug
    format: Format
    path: PagePath
    """Inside the wiki's folder."""
    digest: Digest
    dates: PageDates = NO_DATES


class Summary(Struct, frozen=True, array_like=True):
    """What a site says of a wiki whose pages are as they were."""

    count: int = 0
    """Of all pages."""
    beside: frozenset[Slug] = frozenset()
    """As in ``ScannedWiki``."""
    changed: int = 0
    """When a page changed last, in seconds since the epoch; 0 where nobody knows."""
    compared: tuple[Slug, ...] = ()
    """Pages of several versions."""


class WikiOrigin(Struct, frozen=True, omit_defaults=True):
    """Where a wiki of a site comes from, for the next one who writes that site."""

    service: str = ""
    """URL of the service, without a token; empty where none was asked."""
    id: int = 0
    """Of the project or group on the service; 0 where it is not known."""
    asked_by: str = ""
    """The option of the command line that led to it: ``--group docs --all``."""
    has_token: bool = False
    """Whether it was read with a token."""
    deletion_date: str = ""
    """Day on which the project was marked for deletion, if it was."""


class WikiInfo(Struct, frozen=True, omit_defaults=True):
    """What is known of a wiki, from the search for it to the site that holds it."""

    owner: WikiOwner
    title: str
    web_url: str = ""
    """Address of the project or group on the service; empty where unknown."""
    visibility: str = "private"
    """``public``, ``internal`` or ``private``, as the service says."""
    description: str = ""
    placeholders: Mapping[str, str] = field(default_factory=dict)
    """What only the service can tell of placeholders, such as ``project_id``."""
    origin: WikiOrigin = WikiOrigin()

    def __post_init__(self) -> None:
        """Bring what a service said to what a page may show, wherever it is from."""
        structs.force_setattr(self, "web_url", web_address(self.web_url))
        title = shortened(self.title, TITLE_CHARS_MAX)
        structs.force_setattr(self, "title", title)
        description = shortened(self.description, DESCRIPTION_CHARS_MAX)
        structs.force_setattr(self, "description", description)

    @property
    def info(self) -> dict[str, Any]:
        """The fields of this class, for another record of the same wiki."""
        return {name: getattr(self, name) for name in WikiInfo.__struct_fields__}


class PageComment(Struct, frozen=True):
    """What somebody wrote below a page on the service."""

    author: str
    """As the service shows the person; empty where the user is gone."""
    created: str
    """``2026-11-21T14:30``, in UTC; empty where it is not known."""
    body: str
    """Markdown."""


class WikiSource(WikiInfo, frozen=True, kw_only=True):
    """One wiki to be published."""

    folder: Path
    comments: Mapping[Slug, tuple[PageComment, ...]] = field(default_factory=dict)
    """Those to be shown below pages, the oldest first."""
    problems: tuple[Problem, ...] = ()
    """What went wrong before the build, such as a missing attachment."""
    copy: int = 0
    """Number of its copy in the mirror in ``folder``; 0 where that has its files."""
    versions: Versions = UNKNOWN
    """Its history as syncs saw it, of a folder that git knows nothing of."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """New names of pages by old ones, as the syncs of the folder saw them."""
    beside: Mapping[str, WikiAddresses] = field(default_factory=dict)
    """Wikis that it may link to whose sites lie beside this one, by their addresses on
    the service; without pages, such links lead to the service."""

    def fingerprint(self) -> bytes:
        """What facts of its pages depend on, to be hashed; no path of this machine."""
        shown = {"folder": Path(), "copy": 0, "versions": UNKNOWN, "renames": {}}
        return repr(structs.replace(self, **shown)).encode("utf-8", "surrogatepass")


class SiteOptions(Struct, frozen=True):
    """How a site is made; the same options and folders give the same bytes."""

    title: str
    url: str | None = None
    """Address where the site will be, for sitemap and canonical links."""
    lang: str = "en"
    description: str = ""
    theme: str = "default"
    theme_options: Mapping[str, object] = field(default_factory=dict)
    templates: Path | None = None
    """A project's own ``theme`` folder, searched before the named theme."""
    drop_prefix: bool | None = None
    """Put a wiki's pages at the top of the site.  None: where it is the only one."""
    nav_links_max: int = NAV_LINKS_MAX
    markup: MarkupOptions = MarkupOptions()
    """How pages are rendered; placeholders that are on get each wiki's values."""
    slow_pages_seconds: float = 60.0
    """Processor time for attempts to render pages that go over a limit."""
    retries: bool = False
    """Try such pages again before their time."""
    has_report: bool = True
    """Make the pages that list broken links, wanted pages and orphans."""
    history: int = 10
    """Versions of each page that have a page of their own; 0: there is none."""
    sources: bool | None = None
    """Publish the source of each page beside it.  None: of public wikis."""
    page_templates: bool = False
    """Publish the service's templates for new pages as well."""
    is_public: bool = False
    """The site is meant for everybody: wikis that are not public are refused."""


BookFormat = Literal["html", "pdf", "epub"]
PdfEngine = Literal["auto", "chromium", "weasyprint"]


class BookRequest(Struct, frozen=True):
    """The files that a command writes besides a site, or instead of one."""

    files: tuple[tuple[BookFormat, Path], ...] = ()
    only: str = ""
    engine: PdfEngine = "auto"


NO_BOOKS = BookRequest()


def options_text(options: SiteOptions) -> str:
    """The options that pages depend on, as text; no path of this machine."""
    return repr(
        structs.replace(
            options,
            theme_options=dict(sorted(options.theme_options.items())),
            # the theme and the scanned wikis tell these three
            theme="",
            templates=None,
            page_templates=False,
            # no page shows these
            slow_pages_seconds=0,
            retries=False,
            is_public=False,
        )
    )


class BrokenLink(Struct, frozen=True, order=True):
    """A link of a page that leads nowhere inside the exported wikis."""

    wiki: str
    slug: Slug
    line: int
    """Line of the page's source, from 1; 0 where it is not known."""
    href: str
    reason: str


class BuildReport(Struct, frozen=True):
    """What one build did; counts are files unless said otherwise."""

    pages: int
    """Wiki pages in the site; a sidebar or footer is none."""
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    problems: tuple[Problem, ...] = ()
    broken_links: tuple[BrokenLink, ...] = ()
    notes: tuple[Problem, ...] = ()
    """Folders that are left out."""

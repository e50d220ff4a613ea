"""The pages of one wiki: what each template gets, and when a page must be made anew.

A page's key is a hash of everything that its template can see.  The tree and the
text come into it by hashes of their own.  A page whose key is that of the last build
is neither composed nor rendered.

Invariant: what ``composed`` takes, ``key`` covers.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import Struct, structs

from wikisync.markup.resolve import finish_page
from wikisync.model import Problem, Slug
from wikisync.site.addresses import (
    SIDEBAR_SLUG,
    absolute_url,
    home_slug,
    relative_url,
)
from wikisync.site.context import (
    PageContext,
    PageRef,
    SiteContext,
    TocNode,
    WikiContext,
)
from wikisync.site.crosslinks import PageUrls, SiteLinks, service_address
from wikisync.site.facts import decoded_view
from wikisync.site.frame import text_direction
from wikisync.site.navigation import ReadingOrder, Tree, natural_key, reading_order
from wikisync.site.titles import TITLE_CHARS_MAX, shortened

if TYPE_CHECKING:
    from wikisync.markup.record import TocEntry
    from wikisync.site.crosslinks import WikiTable
    from wikisync.site.facts import IndexedPage, IndexedWiki
    from wikisync.site.index import Indexer

SIDEBAR_CHARS_MAX = 64 * 1024
"""A longer sidebar would outweigh the pages; the tree stands in for it."""
CHILDREN_MAX = 200
BACKLINKS_MAX = 100


class ComposedPage(Struct, frozen=True):
    """A page that is ready to be rendered, if it has to be."""

    slug: Slug
    path: str
    """Output path."""
    parts: Mapping[str, object]


class PageJob(Struct, frozen=True):
    """A page that has to be rendered."""

    composed: ComposedPage
    view: bytes
    """Its ``PageView`` as the cache has it."""
    sidebar: str | None


class WikiFrame(Struct, frozen=True, dict=True):
    """What the pages of one wiki show besides their own.

    It can be sent to another process, which makes the tree again.  The site is no
    part of it: that names all wikis, and would be sent once for each of them.
    """

    wiki: WikiContext
    titles: Mapping[Slug, str]
    urls: Mapping[Slug, str]
    """Output path of each page."""
    nav_limit: int

    @cached_property
    def tree(self) -> Tree:
        """All pages of the wiki."""
        wiki = self.wiki
        return Tree(wiki.title, self.titles, self.urls, wiki.url, wiki.all_url)

    def around(self, slug: Slug, sidebar: str | None) -> dict[str, object]:
        """What surrounds a page inside the site: wiki, tree or sidebar."""
        return {
            "wiki": self.wiki,
            "nav": self.tree.navigation(slug, self.nav_limit),
            "sidebar": sidebar,
        }

    def template_context(self, site: SiteContext, job: PageJob) -> dict[str, object]:
        """Everything that ``page.html`` sees."""
        view = decoded_view(job.view)
        page = job.composed.parts["page"]
        assert isinstance(page, PageContext)
        return {
            **job.composed.parts,
            **self.around(job.composed.slug, job.sidebar),
            "site": site,
            "page": structs.replace(
                page,
                meta=view.meta,
                tags=_tags(view.meta),
                features=frozenset(view.features),
            ),
            "content": view.html,
            "toc": toc_tree(view.toc),
        }


class WikiPages:
    """Composes the pages of one wiki."""

    def __init__(
        self,
        wiki: IndexedWiki,
        context: WikiContext,
        site: SiteContext,
        indexer: Indexer,
        table: WikiTable,
        *,
        label: str,
        nav_limit: int,
        settings_key: bytes,
    ) -> None:
        self.wiki = wiki
        self.label = label
        """Name of the wiki that no other one of the site has."""
        self.context = context
        self._site = site
        self._indexer = indexer
        self._table = table
        source = wiki.scanned.source
        self._service = service_address(source) if source.web_url else None
        self._noindex = source.visibility != "public"
        self._home = home_slug(wiki.pages)
        self._urls = table.addresses[wiki.number].pages
        titles = {slug: page.parsed.title for slug, page in wiki.pages.items()}
        shown = structs.replace(context, page_count=None)
        self.wiki_frame = WikiFrame(shown, titles, self._urls, nav_limit)
        self._sidebar = _Sidebar(wiki, indexer, table)
        named = repr((shown, self._service, self._noindex))
        self._key = hashlib.sha256(
            settings_key + named.encode("utf-8", "surrogatepass")
        ).digest()
        self.references: Mapping[Slug, PageRef] = _References(titles, self._urls)
        """Pages as others of the wiki link to them."""

    @property
    def tree(self) -> Tree:
        """All pages of the wiki; made when the first page is composed."""
        return self.wiki_frame.tree

    @cached_property
    def _orders(self) -> tuple[ReadingOrder, ReadingOrder]:
        """That of the sidebar, and that of the tree."""
        return ReadingOrder(self._sidebar.order), ReadingOrder(self.tree.order)

    def _around(self, slug: Slug) -> tuple[Slug | None, Slug | None]:
        """The pages before and after a page."""
        chosen, rest = self._orders
        return (chosen if slug in chosen else rest).around(slug)

    def with_pages(self, wiki: IndexedWiki) -> WikiPages:
        """The same composer after edits that changed no title and no sidebar."""
        other = copy.copy(self)
        other.wiki = wiki
        return other

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the wiki's sidebar."""
        return self._sidebar.problems

    @property
    def home_is_missing(self) -> bool:
        """Whether the wiki has no page that could be its home."""
        return self._home is None

    def url(self, slug: Slug) -> str:
        """Output path of a page."""
        return self._urls[slug]

    def title(self, slug: Slug) -> str:
        """Title of a page as others show it."""
        return self.wiki_frame.titles[slug]

    def reference(self, slug: Slug) -> PageRef:
        """A page as others of its wiki link to it."""
        return self.references[slug]

    def reference_elsewhere(self, slug: Slug) -> PageRef:
        """A page as other wikis link to it."""
        return structs.replace(self.reference(slug), wiki=self.label)

    def frame_key(self) -> bytes:
        """Hash of what every page of the wiki shows besides its own."""
        return self._key + self._sidebar.key

    def frame_digest(self) -> bytes:
        """Hash of ``frame_key`` and of the titles and the order of all pages.

        The tree and its order follow from the titles and the slugs.
        """
        titles, urls = self.wiki_frame.titles, self._urls
        lines = [f"{slug}\0{title}\0{urls[slug]}\n" for slug, title in titles.items()]
        text = "".join(
            [*lines, *(f"{slug}\n" for slug in self._sidebar.order), self.label]
        )
        digest = hashlib.sha256(self.frame_key())
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()

    def key(self, slug: Slug, backlinks: tuple[PageRef, ...]) -> bytes:
        """Hash of everything that a page is composed of and that its template sees.

        The page's address and its direction follow from what is in it, and the way
        to the page is part of its branch.  More backlinks than are named count too.
        """
        page = self.wiki.pages[slug]
        before, after = self._around(slug)
        own = (
            slug,
            self._urls[slug],
            str(page.source.format),
            page.parsed.page_title,
            page.parsed.summary,
            slug == self._home,
            before and self.reference(before),
            after and self.reference(after),
            self.tree.children(slug, CHILDREN_MAX),
            backlinks,
        )
        key = hashlib.sha256(self.frame_key())
        key.update(page.finished.view_digest)
        key.update(self.tree.branch_key(slug, self.wiki_frame.nav_limit))
        key.update(msgspec.msgpack.encode(own))
        return key.digest()

    def composed(self, slug: Slug, backlinks: tuple[PageRef, ...]) -> ComposedPage:
        """A page with all that follows from its wiki, not yet with its text.

        ``backlinks`` are the pages that link to it, in any order.
        """
        before, after = self._around(slug)
        parts: dict[str, object] = {
            "page": self._page_context(self.wiki.pages[slug]),
            "prev": self.reference(before) if before else None,
            "next": self.reference(after) if after else None,
            "ancestors": self.tree.ancestors(slug),
            "children": self.tree.children(slug, CHILDREN_MAX),
            "backlinks": _sorted_references(backlinks)[:BACKLINKS_MAX],
            "backlinks_more": max(len(backlinks) - BACKLINKS_MAX, 0),
        }
        return ComposedPage(slug, self._urls[slug], parts)

    def job(self, composed: ComposedPage) -> PageJob:
        """What has to be known to render a page."""
        view = self._indexer.packed_view(self.wiki.pages[composed.slug])
        return PageJob(composed, view, self._sidebar.html(composed.path))

    def template_context(self, composed: ComposedPage) -> dict[str, object]:
        """Everything that ``page.html`` sees."""
        return self.wiki_frame.template_context(self._site, self.job(composed))

    def frame(self, slug: Slug, at: str) -> dict[str, object]:
        """What surrounds a generated page: site, wiki, tree or sidebar."""
        around = self.wiki_frame.around(slug, self._sidebar.html(at))
        return {**around, "site": self._site, "wiki": self.context}

    def _page_context(self, page: IndexedPage) -> PageContext:
        slug, url = page.slug, self._urls[page.slug]
        web_url = f"{self._service}/{quote(slug)}" if self._service else None
        return PageContext(
            title=page.parsed.page_title,
            slug=slug,
            format=page.source.format,
            url=url,
            web_url=web_url,
            edit_url=f"{web_url}/edit" if web_url else None,
            source_url=None,
            canonical_url=absolute_url(self._site.url, url) if self._site.url else None,
            summary=page.parsed.summary,
            meta={},
            tags=(),
            changed=None,
            first_seen=None,
            is_home=slug == self._home,
            is_section=self.tree.is_section(slug),
            features=frozenset(),
            noindex=self._noindex,
            dir=text_direction(
                f"{page.parsed.page_title} {page.parsed.summary}", self._site.dir
            ),
        )


class _References(dict["Slug", PageRef]):
    """Each page as a link to it, made when the first one asks."""

    def __init__(self, titles: Mapping[Slug, str], urls: Mapping[Slug, str]) -> None:
        super().__init__()
        self._titles, self._urls = titles, urls

    def __missing__(self, slug: Slug) -> PageRef:
        made = self[slug] = PageRef(self._titles[slug], self._urls[slug])
        return made


class _Sidebar:
    """A wiki's ``_sidebar`` page, with links that fit the page it stands beside."""

    def __init__(self, wiki: IndexedWiki, indexer: Indexer, table: WikiTable) -> None:
        self.problems: tuple[Problem, ...] = ()
        self.order: tuple[Slug, ...] = ()
        """The pages that it links to: the reading order of the wiki."""
        self.key = b""
        self._number = wiki.number
        self._table = table
        self._parsed = None
        self._by_folder: dict[str, str] = {}
        page = wiki.pages.get(SIDEBAR_SLUG)
        if page is None:
            return
        linked = (Slug(target) for target in page.finished.targets)
        self.order = reading_order(linked, wiki.pages)
        view = indexer.view(page)
        if len(view.html) > SIDEBAR_CHARS_MAX:
            self.problems = (_too_long(len(view.html)),)
            return
        self.key = page.finished.view_digest
        self._parsed = indexer.parsed_page(page)
        headings = {slug: page.parsed.ids for slug, page in wiki.pages.items()}
        self._links = SiteLinks(wiki.number, table, headings)

    def html(self, at: str) -> str | None:
        """The sidebar as the page at this path shows it; None where there is none."""
        if self._parsed is None:
            return None
        folder = at.rpartition("/")[0]
        if folder not in self._by_folder:
            urls = PageUrls(at, self._number, self._table)
            finished = finish_page(self._parsed, self._links, urls)
            self._by_folder[folder] = finished.html
        own = escape(relative_url(at, at))
        return self._by_folder[folder].replace(
            f'<a href="{own}"', f'<a aria-current="page" href="{own}"'
        )


def _sorted_references(pages: Iterable[PageRef]) -> tuple[PageRef, ...]:
    """Pages sorted by title."""
    return tuple(
        sorted(pages, key=lambda one: (natural_key(one.title), one.wiki, one.url or ""))
    )


def toc_tree(entries: Iterable[TocEntry]) -> tuple[TocNode, ...]:
    """Headings below each other by their levels; a skipped level is no step."""
    top: list[_Heading] = []
    open_ones: list[_Heading] = []
    for entry in entries:
        heading = _Heading(entry)
        while open_ones and open_ones[-1].entry.level >= entry.level:
            open_ones.pop()
        (open_ones[-1].below if open_ones else top).append(heading)
        open_ones.append(heading)
    return tuple(heading.node() for heading in top)


class _Heading:
    """A heading while the list of contents is built."""

    def __init__(self, entry: TocEntry) -> None:
        self.entry = entry
        self.below: list[_Heading] = []

    def node(self) -> TocNode:
        """The finished entry; at most six levels deep."""
        entry = self.entry
        children = tuple(heading.node() for heading in self.below)
        text = shortened(entry.text, TITLE_CHARS_MAX)
        return TocNode(entry.level, entry.id, text, children)


def _tags(meta: Mapping[str, object]) -> tuple[str, ...]:
    """Tags of the front matter: a list, or words divided by commas."""
    tags = meta.get("tags")
    if isinstance(tags, str):
        tags = tags.split(",")
    if not isinstance(tags, list | tuple):
        return ()
    return tuple(tag for tag in (str(tag).strip() for tag in tags) if tag)


def _too_long(size: int) -> Problem:
    return Problem(
        "sidebar-too-long",
        SIDEBAR_SLUG,
        f"has {size} characters of HTML, more than {SIDEBAR_CHARS_MAX}; "
        "the page tree is shown instead",
        "list only the most important pages in it",
    )

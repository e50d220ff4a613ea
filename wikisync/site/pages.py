"""The pages of one wiki: what each template gets, and when a page must be made anew.

A page's key is a hash of everything that its template can see.  The tree and the
text come into it by hashes of their own.  A page whose key is that of the last build
is neither composed nor rendered.

What the template gets is packed once: it goes into the key, and to the process that
renders the page.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct, structs

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Format, Problem, Slug
from wikisync.core.versions import Version, iso_time, pages_of
from wikisync.markup.frontmatter import tags_of
from wikisync.markup.resolve import finish_page
from wikisync.site import context as contexts
from wikisync.site.addresses import HISTORY_FOLDER, absolute_url, home_slug, tag_path
from wikisync.site.crosslinks import PageUrls, SiteLinks, WikiTable, service_address
from wikisync.site.facts import VIEWS
from wikisync.site.fingerprint import hash_of
from wikisync.site.frame import SiteFrame, text_direction
from wikisync.site.history import shown_versions
from wikisync.site.navigation import PagesBeside, ReadingOrder, Tree, apart, natural_key
from wikisync.site.titles import TITLE_CHARS_MAX, shortened

if TYPE_CHECKING:
    from pathlib import Path

    from wikisync.markup.record import TocEntry
    from wikisync.site.bodies import Bodies, Place
    from wikisync.site.facts import IndexedPage, IndexedWiki
    from wikisync.site.index import Indexer
    from wikisync.site.sources import SourceFile

CHILDREN_MAX = 200
BACKLINKS_MAX = 100
_PACKER = msgspec.msgpack.Encoder()


class Beside(NamedTuple):
    """What of the wiki's other pages stands around a page, as HTML."""

    sidebar: str | None
    wiki_footer: str | None
    comments: tuple[contexts.CommentContext, ...] = ()


class PageHistory(Struct, frozen=True):
    """The versions of a page that a site shows."""

    rows: tuple[Version, ...]
    """The newest first; one more than is shown, if there is one."""
    shown: int
    texts: Path
    """The repository that has their texts."""
    since: str | None
    """No version before is known."""


class SourceCopy(NamedTuple):
    """The source of a page, to be copied beside it."""

    place: SourceFile
    path: str


class ShownPage(Struct, frozen=True, array_like=True):
    """What the template of a page sees of it, of other pages and of its place."""

    page: contexts.PageContext
    """Without what is in it."""
    prev: contexts.PageRef | None = None
    next: contexts.PageRef | None = None
    children: tuple[contexts.PageRef, ...] = ()
    backlinks: tuple[contexts.PageRef, ...] = ()
    backlinks_more: int = 0


_SHOWN = msgpack_decoder(ShownPage)


class PageJob(Struct, frozen=True):
    """A page that has to be rendered."""

    slug: Slug
    path: str
    shown: bytes
    """The packed ``ShownPage``."""
    view: Place | None
    """Of its packed ``PageView``; None for its versions."""
    beside: Beside
    history: PageHistory | None = None
    """Its versions, where these are the page."""
    source: SourceCopy | None = None


class WikiFrame(Struct, frozen=True, dict=True):
    """What the pages of one wiki show besides their own and the site.

    Sent to another process, it makes the tree again.
    """

    wiki: contexts.WikiContext
    titles: Mapping[Slug, str]
    """Of each page but those beside others."""
    urls: Mapping[Slug, str]
    nav_limit: int

    @cached_property
    def tree(self) -> Tree:
        """All pages of the wiki."""
        wiki = self.wiki
        return Tree(wiki.title, self.titles, self.urls, wiki.url, wiki.all_url)

    def around(self, slug: Slug, beside: Beside) -> dict[str, object]:
        """What surrounds a page inside the site: wiki, tree or sidebar, footer."""
        return {
            "wiki": self.wiki,
            "nav": self.tree.navigation(slug, self.nav_limit),
            **beside._asdict(),
        }

    def template_context(
        self, site: contexts.SiteContext, job: PageJob, bodies: Bodies
    ) -> dict[str, object]:
        """Everything that ``page.html`` or ``history.html`` sees."""
        shown = _SHOWN.decode(job.shown)
        page = shown.page
        if (history := job.history) is not None:
            versions = shown_versions(history.rows, history.shown, history.texts)
            since = history.since if len(versions) == len(history.rows) else None
            around = {"wiki": self.wiki, "versions": versions, "site": site}
            return {**around, "page": page, "since": since}
        assert job.view is not None
        view = VIEWS.decode(bodies.read(job.view))
        return {
            **structs.asdict(shown),
            **self.around(job.slug, job.beside),
            "site": site,
            "ancestors": self.tree.ancestors(job.slug),
            "page": structs.replace(
                page,
                meta=view.meta,
                tags=tuple(
                    contexts.PageRef(tag, tag_path(tag))
                    for tag in tags_of(Format(page.format), view.meta, "")
                ),
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
        around: SiteFrame,
        indexer: Indexer,
        titles: Mapping[Slug, str] | None = None,
    ) -> None:
        """Take the pages of a wiki: all, or some with the ``titles`` of all."""
        self.wiki = wiki
        self.label = around.labels[wiki.number]
        self.context = around.contexts[wiki.number]
        self._site = around.context
        self._where = f"{wiki.name}: " if len(around.contexts) > 1 else ""
        self._indexer = indexer
        self._table = table = indexer.table
        source = wiki.scanned.source
        self._service = service_address(source) if source.web_url else None
        self._noindex = source.visibility != "public"
        self.home = home_slug(wiki.scanned.pages)
        """The page that is its home, if it has one."""
        self.urls = table.addresses[wiki.number].pages
        """Output paths of all pages."""
        self._sources = table.addresses[wiki.number].sources
        if titles is None:
            titles = {slug: page.parsed.title for slug, page in wiki.pages.items()}
        shown = structs.replace(self.context, page_count=None, changed=None)
        self._history = around.history
        self.titles = titles
        """Titles as other pages show them."""
        scanned = wiki.scanned
        in_tree = {s: title for s, title in titles.items() if s not in scanned.beside}
        self.wiki_frame = WikiFrame(shown, in_tree, self.urls, around.nav_limit)
        self._sidebars = PagesBeside("sidebar", scanned.sidebars, wiki, indexer)
        self._footers = PagesBeside("footer", scanned.footers, wiki, indexer)
        beside = self._sidebars.key + self._footers.key
        named = shown, self._service, self._noindex, beside
        self._key = hash_of(around.settings_key, named)
        self._references: dict[Slug, contexts.PageRef] = {}

    @property
    def tree(self) -> Tree:
        """All pages of the wiki; made when the first page is composed."""
        return self.wiki_frame.tree

    @cached_property
    def _tree_order(self) -> ReadingOrder:
        return ReadingOrder(self.tree.order)

    @property
    def order(self) -> tuple[Slug, ...]:
        """All pages as the navigation of the home has them: sidebar, then tree."""
        sidebar, titles = self._sidebars.of(Slug("")), self.wiki_frame.titles
        listed = sidebar.order.pages if sidebar is not None else ()
        home = () if self.home is None or self.home in listed else (self.home,)
        found = dict.fromkeys([*home, *listed, *self.tree.order])
        return tuple(slug for slug in found if slug in titles)

    def _beside(self, slug: Slug, at: str) -> Beside:
        sidebar, footer = self._sidebars.html(slug, at), self._footers.html(slug, at)
        return Beside(sidebar, footer, self._shown_comments(slug, at))

    def _shown_comments(
        self, slug: Slug, at: str
    ) -> tuple[contexts.CommentContext, ...]:
        comments = self.wiki.scanned.source.comments.get(slug, ())
        if not comments:
            return ()
        urls = PageUrls(at, self.wiki.number, self._table)
        texts = [comment.body for comment in comments]
        parsed = self._indexer.parsed_texts(self.wiki.scanned, slug, texts)
        shown: list[contexts.CommentContext] = []
        for comment, one in zip(comments, parsed, strict=True):
            html = finish_page(one, self._comment_links, urls).html
            html = apart(html, one.ids, f"siteComment{len(shown) + 1}-")
            shown.append(contexts.CommentContext(comment.author, comment.created, html))
        return tuple(shown)

    @cached_property
    def _comment_links(self) -> SiteLinks:
        """Where comments lead: the site has no loose file for them."""
        table = WikiTable(self._table.web_urls, self._table.addresses)
        return SiteLinks(self.wiki.number, table, {})

    def with_pages(self, wiki: IndexedWiki) -> WikiPages:
        """The same composer after edits that changed no title and no sidebar."""
        other = copy.copy(self)
        other.wiki = wiki
        return other

    @property
    def problems(self) -> Iterator[Problem]:
        """What is wrong with the wiki, named so that it can be found in the site."""
        wiki = self.wiki
        for one in (
            *wiki.scanned.problems,
            *self._table.addresses[wiki.number].problems,
            *(one for page in wiki.pages.values() for one in page.parsed.problems),
            *self._sidebars.problems,
            *self._footers.problems,
        ):
            yield structs.replace(one, subject=self._where + one.subject)

    def reference(self, slug: Slug) -> contexts.PageRef:
        """A page as others of its wiki link to it; the same value each time."""
        found = self._references.get(slug)
        if found is None:
            found = contexts.PageRef(self.titles[slug], self.urls[slug])
            self._references[slug] = found
        return found

    def reference_elsewhere(self, slug: Slug) -> contexts.PageRef:
        """A page as other wikis link to it."""
        return structs.replace(self.reference(slug), wiki=self.label)

    def frame_key(self) -> bytes:
        """Hash of what every page shows besides its own and the tree."""
        comments = self.wiki.scanned.source.comments
        return hash_of(self._key, self.label, comments and self._indexer.table_key)

    def moved(
        self, titles: Mapping[Slug, str], urls: Mapping[Slug, str]
    ) -> frozenset[Slug]:
        """Pages that had another title or path, or were not there."""
        now = self.urls
        return frozenset(
            slug
            for slug, title in self.titles.items()
            if titles.get(slug) != title or urls.get(slug) != now[slug]
        )

    def moved_around(
        self, titles: Mapping[Slug, str], urls: Mapping[Slug, str]
    ) -> frozenset[Slug] | None:
        """Pages around which the tree is another one; None: maybe all."""
        if titles == self.titles and urls == self.urls:
            return frozenset()
        if self.wiki.scanned.sidebars:
            return None
        beside = self.wiki.scanned.beside
        in_tree = {slug: title for slug, title in titles.items() if slug not in beside}
        before = structs.replace(self.wiki_frame, titles=in_tree, urls=urls)
        return self.tree.changed_since(before.tree, before.nav_limit) | beside

    def shown(self, slug: Slug, backlinks: Sequence[contexts.PageRef]) -> bytes:
        """The packed ``ShownPage`` of a page, whose backlinks are sorted."""
        sidebar, order = self._sidebars.of(slug), self._tree_order
        if sidebar is not None and slug in sidebar.order:
            order = sidebar.order
        before, after = order.around(slug)
        shown = ShownPage(
            self.page_context(self.wiki.pages[slug]),
            self.reference(before) if before else None,
            self.reference(after) if after else None,
            self.tree.children(slug, CHILDREN_MAX),
            tuple(backlinks[:BACKLINKS_MAX]),
            max(len(backlinks) - BACKLINKS_MAX, 0),
        )
        return _PACKER.encode(shown)

    def key(self, slug: Slug, shown: bytes) -> bytes:
        """Hash of all that a page is composed of and its template sees.

        The way to it follows from its branch.
        """
        key = hashlib.sha256(self._key)
        key.update(self.wiki.pages[slug].finished.view_digest)
        key.update(self.tree.branch_key(slug, self.wiki_frame.nav_limit))
        if comments := self.wiki.scanned.source.comments.get(slug):
            # their links are resolved when they are shown
            key.update(hash_of(comments, self._indexer.table_key))
        key.update(shown)
        return key.digest()

    def history_url(self, slug: Slug) -> str | None:
        """Output path of the versions of a page; None where none are shown."""
        has_several = self._history and self.wiki.pages[slug].source.dates.count > 1
        return HISTORY_FOLDER + self.urls[slug] if has_several else None

    @cached_property
    def _versions(self) -> Mapping[Slug, Sequence[Version]]:
        return pages_of(self.wiki.scanned.versions)

    def history_job(
        self, slug: Slug, keep: Callable[[str, bytes], bool]
    ) -> PageJob | None:
        """The versions of a page to be rendered, where they are shown and not kept.

        ``keep`` keeps the file at a path that was made from what has this hash.
        """
        path, page = self.history_url(slug), self.wiki.pages[slug]
        if path is None:
            return None
        context = structs.replace(
            self.page_context(page),
            canonical_url=None,
            noindex=True,
            dir=self._site.dir,
        )
        shown = _PACKER.encode(ShownPage(context))
        key = hashlib.sha256(self._key + page.source.dates.key + shown).digest()
        if keep(path, key):
            return None
        rows = tuple(self._versions[slug][: self._history + 1])
        known = self.wiki.scanned.versions
        since = iso_time(known.since) if rows[-1].kind != "created" else None
        history = PageHistory(rows, self._history, self.wiki.scanned.texts, since)
        return PageJob(slug, path, shown, None, Beside(None, None), history)

    def jobs(
        self, shown: Mapping[Slug, bytes], sources: Mapping[Slug, SourceCopy]
    ) -> Iterator[PageJob]:
        """Pages to be rendered, each with its packed ``ShownPage``."""
        keys = [self.wiki.pages[slug].finished_key for slug in shown]
        views = self._indexer.cache.places("finished", keys)
        for (slug, packed), view in zip(shown.items(), views, strict=True):
            path = self.urls[slug]
            beside, source = self._beside(slug, path), sources.get(slug)
            yield PageJob(slug, path, packed, view, beside, source=source)

    def template_context(self, slug: Slug, shown: bytes) -> dict[str, object]:
        """Everything that ``page.html`` sees."""
        (job,) = self.jobs({slug: shown}, {})
        bodies = self._indexer.cache.bodies
        return self.wiki_frame.template_context(self._site, job, bodies)

    def frame(self, slug: Slug, at: str) -> dict[str, object]:
        """What surrounds a generated page: site, wiki, tree or sidebar."""
        around = self.wiki_frame.around(slug, self._beside(slug, at))
        wiki = structs.replace(self.context, changed=None)
        return {**around, "site": self._site, "wiki": wiki}

    def page_context(self, page: IndexedPage) -> contexts.PageContext:
        """A page without what is in it."""
        slug, url = page.slug, self.urls[page.slug]
        web_url = f"{self._service}/{quote(slug)}" if self._service else None
        dates = page.source.dates
        return contexts.PageContext(
            title=page.parsed.page_title,
            slug=slug,
            format=page.source.format,
            url=url,
            web_url=web_url,
            edit_url=f"{web_url}/edit" if web_url else None,
            source_url=self._sources.get(slug),
            canonical_url=absolute_url(self._site.url, url) if self._site.url else None,
            summary=page.parsed.summary,
            changed=iso_time(dates.changed),
            first_seen=iso_time(dates.first),
            is_home=slug == self.home,
            is_section=self.tree.is_section(slug),
            noindex=self._noindex,
            dir=text_direction(
                f"{page.parsed.page_title} {page.parsed.summary}", self._site.dir
            ),
            changed_by=dates.by,
            is_seen=dates.is_seen,
            history_url=self.history_url(slug),
        )


def by_title(one: contexts.PageRef | contexts.ListingItem) -> tuple[object, ...]:
    """What pages are sorted by in lists."""
    return natural_key(one.title), one.wiki, one.url or ""


def toc_tree(entries: Iterable[TocEntry]) -> tuple[contexts.TocNode, ...]:
    """Headings below each other by their levels; a skipped level is no step."""
    following: list[contexts.TocNode] = []
    for entry in reversed(list(entries)):
        below = []
        while following and following[-1].level > entry.level:
            below.append(following.pop())
        text = shortened(entry.text, TITLE_CHARS_MAX)
        node = contexts.TocNode(entry.level, entry.id, text, tuple(below))
        following.append(node)
    return tuple(reversed(following))

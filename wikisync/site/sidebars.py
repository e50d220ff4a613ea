"""Sidebars and footers of a wiki, with links that fit the page they are shown with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from re import Match
from typing import TYPE_CHECKING
from urllib.parse import unquote

from wikisync.core.model import Problem, Slug, folders_above
from wikisync.markup.resolve import finish_page
from wikisync.markup.tokens import TAG, Document
from wikisync.site.addresses import relative_url
from wikisync.site.crosslinks import PageUrls, SiteLinks
from wikisync.site.navigation import ReadingOrder, reading_order

if TYPE_CHECKING:
    from wikisync.markup.record import ParsedPage
    from wikisync.site.facts import IndexedPage, IndexedWiki
    from wikisync.site.index import Indexer

BESIDE_CHARS_MAX = 64 * 1024
"""A longer sidebar or footer would outweigh the pages."""
NAMES_OF_LISTS = frozenset([f"/{name}" for name in ("p", "h1", "h2", "h3", "h4", "h5")])
"""Ends of what may stand above a list of a sidebar as its name."""
LISTS = frozenset({"ul", "ol", "dl"})
_ID = re.compile(' (?:id|name)="')
_FRAGMENT_LINK = re.compile(' href="#([^"]*)"')


class PagesBeside:
    """The sidebars of a wiki, or its footers, by the folders that they are for."""

    def __init__(
        self, kind: str, slugs: Mapping[str, Slug], wiki: IndexedWiki, indexer: Indexer
    ) -> None:
        pages = {folder: wiki.pages[slug] for folder, slug in slugs.items()}
        self.key = [(one.slug, one.finished.view_digest) for one in pages.values()]
        self._by_folder: dict[str, _PageBeside] = {}
        if not pages:
            return
        read = (page for page in wiki.pages.values() if page.is_read)
        headings = {page.slug: page.parsed.ids for page in read}
        folders = wiki.scanned.folders
        links = SiteLinks(wiki.number, indexer.table, headings, folders)
        for folder, page in pages.items():
            size, parsed = len(indexer.view(page).html), indexer.parsed_page(page)
            self._by_folder[folder] = _PageBeside(kind, page, size, parsed, links)

    @property
    def problems(self) -> Iterator[Problem]:
        """Those that are too long to be shown."""
        return (one for beside in self._by_folder.values() for one in beside.problems)

    def of(self, slug: Slug) -> _PageBeside | None:
        """That of the folder of a page, else of the nearest one above."""
        if not self._by_folder:
            return None
        found = map(self._by_folder.get, (*folders_above(slug), ""))
        return next(filter(None, found), None)

    def html(self, slug: Slug, at: str) -> str | None:
        """The sidebar or footer of the page at a path; None where it has none."""
        beside = self.of(slug)
        return beside.html(at) if beside else None


class _PageBeside:
    """A ``_sidebar`` or ``_footer``, with links that fit the page it is shown with."""

    def __init__(
        self,
        kind: str,
        page: IndexedPage,
        size: int,
        parsed: ParsedPage,
        links: SiteLinks,
    ) -> None:
        linked = (Slug(target) for target in page.finished.targets)
        self.order = ReadingOrder(reading_order(linked, links.pages))
        """The pages that it links to, as the reading order of those that show it."""
        is_long = size > BESIDE_CHARS_MAX
        self.problems = (_too_long(kind, page.slug, size),) if is_long else ()
        self._parsed = None if is_long else parsed
        self._prefix = f"site{kind.title()}-"
        self._is_sidebar = kind == "sidebar"
        self._links = links
        self._by_folder: dict[str, str] = {}

    def html(self, at: str) -> str | None:
        """As the page at this path shows it; None for one that is too long."""
        if self._parsed is None:
            return None
        folder = at.rpartition("/")[0]
        if folder not in self._by_folder:
            urls = PageUrls(at, self._links.number, self._links.table)
            html = finish_page(self._parsed, self._links, urls).html
            html = folding(html) if self._is_sidebar else html
            self._by_folder[folder] = apart(html, self._parsed.ids, self._prefix)
        own = escape(relative_url(at, at))
        return self._by_folder[folder].replace(
            f'<a href="{own}"', f'<a aria-current="page" href="{own}"'
        )


def apart(html: str, ids: frozenset[str], prefix: str) -> str:
    """HTML whose ids get a prefix that no page has, and with them links to these."""

    def renamed(tag: Match[str]) -> str:
        text = _ID.sub(rf"\g<0>{prefix}", tag[0])
        link = _FRAGMENT_LINK.search(text)
        if link is None or unquote(unescape(link[1])) not in ids:
            return text
        return text[: link.start(1)] + prefix + text[link.start(1) :]

    return TAG.sub(renamed, html)


def folding(html: str) -> str:
    """A sidebar in which each list below a name can be folded, and is open.

    A link stays beside what folds: it could not be followed inside.
    """
    document = Document(html)
    tokens, names, close = document.html, document.names, document.close
    starts = {end: start for start, end in close.items()}
    for inner in sorted(document.starts["ul"] + document.starts["ol"]):
        index = inner
        # AsciiDoc puts each list into an element of its own
        while names[index - 2] == "div" and document.parents.get(index) == index - 2:
            index -= 2
        start = document.parents.get(index, 0) + 1
        if names[start - 1 : start] != ["li"]:
            is_named = names[index - 2] in NAMES_OF_LISTS
            start = starts[index - 2] if is_named else index
        label = document.text_between(start, index).strip() if start < index else ""
        if not label or LISTS.intersection(names[start:index]):
            continue
        tokens[close[index]] += "</details>"
        if "a" in names[start:index]:
            opened = f'<details open><summary aria-label="{escape(label)}"></summary>'
            tokens[index] = opened + tokens[index]
            continue
        for at in range(start, index):
            if names[at] in {"p", "/p"}:
                tokens[at] = ""
        tokens[start] = f"<details open><summary>{tokens[start]}"
        tokens[index] = f"</summary>{tokens[index]}"
    return "".join(tokens)


def _too_long(kind: str, slug: Slug, size: int) -> Problem:
    instead = "the page tree is shown instead" if kind == "sidebar" else "left out"
    return Problem(
        f"{kind}-too-long",
        slug,
        f"has {size} characters of HTML, more than {BESIDE_CHARS_MAX}; {instead}",
        "list only the most important pages in it",
    )

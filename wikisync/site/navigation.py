"""What leads from a page of a wiki to the others: the tree, or a sidebar.

Pure.  A slug's folders are the tree; a page that is also a folder is one node.  No
page ever gets the whole tree: only the open branch, and of long levels a window
around the way, so that the cost of all pages together grows with their number
and not with its square.

Invariant: ``branch_key`` covers all that ``navigation`` can show of a page.

Sidebars, and footers, are pages with links that fit the page they are shown with.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape, unescape
from itertools import chain, count, pairwise
from re import Match
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from wikisync.core.model import Problem, Slug, folders_above
from wikisync.markup.resolve import finish_page
from wikisync.markup.tokens import TAG, Document
from wikisync.site.addresses import list_id, list_part, relative_url
from wikisync.site.context import LeftOut, NavNode, PageRef
from wikisync.site.crosslinks import PageUrls, SiteLinks
from wikisync.site.titles import folder_title

if TYPE_CHECKING:
    from wikisync.markup.record import ParsedPage
    from wikisync.site.facts import IndexedPage, IndexedWiki
    from wikisync.site.index import Indexer


DEPTH_MAX = 20
"""Levels shown above a page; a deeper one shows the nearest."""
FRAME_LINKS = 2
"""Of a page's navigation: to the wiki's home, and to the list of all pages."""
LEFT_OUT_LINKS = 2
"""Of a level that is not listed whole: what is above and below those listed."""
KEY_BYTES = 16
BESIDE_CHARS_MAX = 64 * 1024
"""A longer sidebar or footer would outweigh the pages."""
NAMES_OF_LISTS = frozenset([f"/{name}" for name in ("p", "h1", "h2", "h3", "h4", "h5")])
"""Ends of what may stand above a list of a sidebar as its name."""
LISTS = frozenset({"ul", "ol", "dl"})
_ID = re.compile(' (?:id|name)="')
_FRAGMENT_LINK = re.compile(' href="#([^"]*)"')

_DIGITS = re.compile(r"(\d+)")


class Node(Struct, eq=False):
    """One level of a slug: a page, a folder, or both."""

    parent: Node | None
    title: str
    tree: Tree
    url: str | None = None
    slug: Slug | None = None
    children: list[Node] = []
    index: int = 0
    first: int = -1
    """Position in the list of all pages where it and what is below it begins."""
    _closed: tuple[NavNode, ...] | None = None
    _child_keys: bytes | None = None

    @property
    def listed(self) -> tuple[str, str]:
        """Part of the list of all pages where it begins, and the id of the entry."""
        return self.tree.entry(self.first)

    @property
    def child_keys(self) -> bytes:
        """Hashes of what ``closed`` shows of each child, one after the other."""
        if self._child_keys is None:
            self._child_keys = b"".join(map(_closed_key, self.children))
        return self._child_keys

    @property
    def closed(self) -> tuple[NavNode, ...]:
        """Its children with their branches closed; shared by all pages."""
        if self._closed is None:
            self._closed = tuple(
                NavNode(one.title, one.url, more=bool(one.children), after=after)
                for one in self.children
                for after in (None if one.url else _left_out(one.children),)
            )
        return self._closed

    @property
    def reference(self) -> PageRef:
        """The node as breadcrumbs and neighbours link to it."""
        return PageRef(self.title, self.url)


_Shown = tuple[Slug | None, str, str | None]
_NO_PAGE: _Shown = (None, "", None)
Window = tuple[Node, int, int]
"""A node, the first of its children that are listed, and how many are."""
NO_WINDOW = bytes(32)
"""Stands for the key of a window without children."""


class _Way(NamedTuple):
    """What entries of one level share that have as many children each."""

    above: hashlib._Hash
    """Of the levels above theirs."""
    start: int
    """Of the window in which their parent is listed."""
    shares: list[int]


class Tree:
    """The pages of one wiki, sorted by title, home first."""

    def __init__(
        self,
        title: str,
        titles: Mapping[Slug, str],
        urls: Mapping[Slug, str],
        home: str | None = None,
        listed: str = "",
    ) -> None:
        """Take the titles and output paths of pages, home and list."""
        self._listed, self._urls = listed, urls
        self.root = Node(None, title, self, home)
        self._by_path: dict[str, Node] = {"": self.root}
        for slug, page_title in titles.items():
            node = self._node(slug)
            node.slug, node.title, node.url = slug, page_title, urls[slug]
        for path, node in self._by_path.items():
            if node.slug is None and path:
                name = folder_title(path)
                node.title = name[:1].upper() + name[1:]
        self.order = self._sort()
        """Every page, parents before their children."""
        self._window_keys: dict[Window, bytes] = {}
        self._ways: dict[tuple[Node | None, int, int], _Way] = {}

    def entry(self, position: int) -> tuple[str, str]:
        """Part of the list of all pages that has an entry, and its id there."""
        url = self._urls[self.order[position]]
        return list_part(self._listed, position), list_id(url)

    def node(self, slug: Slug) -> Node | None:
        """The page's node; None for a page that the tree leaves out."""
        return self._by_path.get(slug)

    def navigation(self, slug: Slug, limit: int) -> NavNode:
        """The tree as one page shows it, with ``limit`` links, one a level at least.

        The root is the wiki; a page outside the tree sees the first level.
        """
        shown: NavNode | None = None
        below: Node | None = None
        for node, start, share in reversed(self._windows(slug, limit)):
            shown = _opened(node, start, share, below, shown)
            below = node
        assert shown is not None
        return shown

    def branch_key(self, slug: Slug, limit: int) -> bytes:
        """Hash of everything that ``navigation`` shows of this page."""
        node = self.node(slug) or self.root
        place = node.parent, len(node.children), limit
        way = self._ways.get(place)
        if way is None:
            levels, above = self._windows(slug, limit), hashlib.sha256()
            begin = self._add_windows(above, 0, levels[:-2])
            way = _Way(above, begin, [share for _, _, share in levels[-2:]])
            self._ways[place] = way
        windows: list[Window] = [(node, 0, way.shares[-1])]
        if node.parent is not None:
            share = way.shares[0]
            windows.insert(0, (node.parent, _first_listed(node, share), share))
        digest = way.above.copy()
        self._add_windows(digest, way.start, windows)
        return digest.digest()

    def _add_windows(
        self, digest: hashlib._Hash, start: int, windows: Iterable[Window]
    ) -> int:
        """Add to a hash what windows show below one that starts there."""
        keys = self._window_keys
        for window in windows:
            node = window[0]
            key = keys.get(window) if node.children else NO_WINDOW
            if key is None:
                key = keys[window] = _window_key(*window)
            named = f"{node.index - start}\0{node.title}\0{node.url}\0"
            digest.update(key + named.encode("utf-8", "surrogatepass"))
            start = window[1]
        return start

    def _windows(self, slug: Slug, limit: int) -> list[Window]:
        """The way to a page, as windows of each level."""
        way = _way(self.node(slug) or self.root)
        sizes = tuple(len(node.children) for node in way)
        shares = shared_out(sizes, limit - FRAME_LINKS)
        windows = []
        for node, share, below in zip(way, shares, [*way[1:], None], strict=True):
            start = 0 if below is None else _first_listed(below, share)
            windows.append((node, start, share))
        return windows

    def ancestors(self, slug: Slug) -> tuple[PageRef, ...]:
        """Folders above a page, the outermost first, without the wiki itself."""
        node = self.node(slug)
        if node is None:
            return ()
        return tuple(one.reference for one in _way(node)[:-1] if one is not self.root)

    def children(self, slug: Slug, limit: int) -> tuple[PageRef, ...]:
        """Entries directly below a page."""
        node = self.node(slug)
        return tuple(child.reference for child in node.children[:limit]) if node else ()

    def is_section(self, slug: Slug) -> bool:
        """Whether other pages lie below this one."""
        node = self.node(slug)
        return bool(node and node.children)

    def changed_since(self, last: Tree, limit: int) -> frozenset[Slug]:
        """Pages whose navigation, entries below or neighbours are others."""
        before = set(last._neighbours())
        new = [pair for pair in self._neighbours() if pair not in before]
        changed = {slug for pair in new for slug, _, _ in pair if slug}
        around: set[Node] = set()
        for path, node in self._by_path.items():
            slug, old = node.slug, last._by_path.get(path)
            now, was = node.children, old.children if old else node.children
            is_other = len(now) != len(was) or not all(map(_is_shown_alike, now, was))
            if is_other or node.parent in around:
                around.add(node)
                # most pages below a level show another part of it
                if slug and (
                    is_other
                    or self.branch_key(slug, limit) != last.branch_key(slug, limit)
                ):
                    changed.add(slug)
        return frozenset(changed)

    def _neighbours(self) -> Iterator[tuple[_Shown, _Shown]]:
        """Each two pages that follow each other, as they show each other."""
        nodes = map(self._by_path.__getitem__, self.order)
        shown = ((one.slug, one.title, one.url) for one in nodes)
        return pairwise(chain([_NO_PAGE], shown, [_NO_PAGE]))

    def _node(self, path: str) -> Node:
        missing = []
        while path not in self._by_path:
            missing.append(path)
            path = path.rpartition("/")[0]
        node = self._by_path[path]
        for below in reversed(missing):
            child = Node(node, "", self)
            node.children.append(child)
            self._by_path[below] = node = child
        return node

    def _sort(self) -> tuple[Slug, ...]:
        """Sort every level, without recursion: slugs may be very deep."""
        order: list[Slug] = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            node.first = len(order)
            if node.slug is not None:
                order.append(node.slug)
            children = node.children
            if children:
                children.sort(key=_position)
                for index, child in enumerate(children):
                    child.index = index
                waiting += reversed(children)
        return tuple(order)


@lru_cache(maxsize=16_384)
def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key by which ``page 9`` comes before ``Page 10``, and ``Ä`` before ``B``."""
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(one for one in letters if not unicodedata.combining(one))
    parts = _DIGITS.split(text.casefold())
    if len(parts) == 1:
        return ((1, 0, parts[0]),)
    return tuple(
        (0, int(part), "") if index % 2 else (1, 0, part)
        for index, part in enumerate(parts)
    )


class ReadingOrder:
    """Which page comes before another one, and which after it."""

    def __init__(self, order: Sequence[Slug]) -> None:
        self.pages = tuple(order)
        self._around = (None, *order, None)
        self._positions = dict(zip(order, count(1)))

    def __contains__(self, slug: Slug) -> bool:
        """Whether a page is in it."""
        return slug in self._positions

    def around(self, slug: Slug) -> tuple[Slug | None, Slug | None]:
        """The pages before and after one; none for a page that is not in it."""
        position = self._positions.get(slug)
        if position is None:
            return None, None
        return self._around[position - 1], self._around[position + 1]


def reading_order(linked: Iterable[Slug], known: Iterable[Slug]) -> tuple[Slug, ...]:
    """The pages that a sidebar links to, each once; those of ``known`` only."""
    pages = set(known)
    return tuple(dict.fromkeys(slug for slug in linked if slug in pages))


@lru_cache(maxsize=1024)
def shared_out(sizes: tuple[int, ...], limit: int) -> tuple[int, ...]:
    """Divide links among levels: small ones whole, the rest alike, at least one each.

    What a level leaves out above and below takes two links more.
    """
    shares = [0] * len(sizes)
    left = limit
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, index in enumerate(by_size):
        fair = max(left // (len(sizes) - done), 1)
        if sizes[index] <= fair:
            shares[index] = sizes[index]
            left -= sizes[index]
            continue
        shares[index] = max(fair - LEFT_OUT_LINKS, 1)
        left -= shares[index] + LEFT_OUT_LINKS
    return tuple(shares)


def _way(node: Node) -> list[Node]:
    way = [node]
    while (above := way[-1].parent) is not None and len(way) <= DEPTH_MAX:
        way.append(above)
    way.reverse()
    return way


def _is_shown_alike(one: Node, other: Node) -> bool:
    """Whether two nodes with closed branches look the same, in the same part."""
    return (
        one.title == other.title
        and one.url == other.url
        and bool(one.children) == bool(other.children)
        and (bool(one.url) or one.children[0].listed == other.children[0].listed)
        and list_part("", one.first) == list_part("", other.first)
    )


def _first_listed(below: Node, share: int) -> int:
    assert below.parent is not None
    last = len(below.parent.children) - share
    return min(max(below.index - share // 2, 0), last)


def _opened(
    node: Node, start: int, share: int, below: Node | None, shown: NavNode | None
) -> NavNode:
    children = node.closed[start : start + share]
    if below is not None and shown is not None:
        at = below.index - start
        children = (*children[:at], shown, *children[at + 1 :])
    return NavNode(
        node.title,
        node.url,
        active=True,
        current=below is None and node.slug is not None,
        open=bool(children),
        children=children,
        more=len(node.children) > len(children),
        before=_left_out(node.children[:start]),
        after=_left_out(node.children[start + share :]),
    )


def _window_key(node: Node, start: int, share: int) -> bytes:
    """Hash of a window, whatever is open in it and however many entries are outside."""
    children, end = node.children, start + share
    before = children[0].listed if start else ""
    after = children[end].listed if end < len(children) else ""
    listed = repr((before, after)).encode("utf-8", "surrogatepass")
    keys = node.child_keys[start * KEY_BYTES : end * KEY_BYTES]
    return hashlib.sha256(keys + listed).digest()


def _closed_key(node: Node) -> bytes:
    listed = "" if node.url else node.children[0].listed
    shown = f"{node.title}\1{node.url}\1{bool(node.children)}\1{listed}"
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def _left_out(nodes: Sequence[Node]) -> LeftOut | None:
    return LeftOut(*nodes[0].listed) if nodes else None


def _position(node: Node) -> tuple[bool, tuple[tuple[int, int, str], ...], str]:
    # the wiki, above all its pages, has the address of its home
    is_home = node.parent is not None and node.url == node.parent.url
    return (not is_home, natural_key(node.title), node.slug or node.title)


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

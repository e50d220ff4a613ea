"""The pages of a preview as HTML, each made when asked for and kept for a while.

A page is its frame and what stands in it: the text (``main``) and the navigation
(``nav``).  While the frame is the same, ``live.js`` exchanges the rest; while what is
around the text in ``main`` is, the editor exchanges the blocks of it that changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from wikisync.core.model import Slug
from wikisync.core.system.parallel import finish_in_thread
from wikisync.site.fingerprint import hash_of
from wikisync.site.pages import by_title
from wikisync.site.report import backlinks_of
from wikisync.site.search import SearchDocument, build_shards

if TYPE_CHECKING:
    from wikisync.site.preview.world import World

RENDERED_MAX = 64
"""Rendered pages kept; more than there are windows open."""
MISSING = "missing"
"""Key of a page that is not there."""
BLOCKS, BLOCKS_END = "<!--blocks-->", "<!--end-->"
"""Around the blocks of a page: its text as HTML."""
DRAFTS_MAX = 8
"""Drafts that are known; two windows may write on the same page."""
QUICK_CHARS = 50_000
"""A longer page is drafted by the blocks around the change first."""
PART_CHARS_MAX = 20_000
PARTS_AROUND = (1, 6)
"""Paragraphs before and after a change that are tried as its part."""

_HEAD = re.compile(
    r"""(?:<title>.*?</title>"""
    r"""|<meta (?:name|property)="(?:og:)?(?:description|title)"[^>]*>"""
    r"""|<link rel="(?:prev|next)"[^>]*>)\s*""",
    re.DOTALL,
)
"""What the head says of the page: shown nowhere, or taken over by the script."""
_NAVIGATION = re.compile(r"(<nav\b[^>]*>).*?</nav>", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>")
_SECTION = re.compile(r"^== ", re.MULTILINE)
_WITHOUT_END = frozenset({"br", "col", "hr", "img", "input", "source", "track", "wbr"})


class Rendered(Struct, frozen=True):
    """One answer of the site."""

    key: str
    """Hash of everything that it was made from."""
    content: bytes
    type: str
    frame: str = ""
    """Hash of what of a page only loading it again brings up to date."""
    is_found: bool = True


class RenderedPages:
    """Pages as they were rendered last."""

    def __init__(self) -> None:
        self._kept: dict[str, Rendered] = {}
        """By output path, the oldest first."""
        self._as_now: tuple[World | None, set[str]] = None, set()
        """The last world, and what of these it shows."""

    def page(self, world: World, path: str) -> Rendered:
        """A page's HTML, made once for all who look at it.

        Raises:
            SiteError: the theme fails for this page.
        """
        if not world.has(path):
            # a site has this page once, with links from the top of its host; it is
            # made for each address here, so that its frame is that of the page which
            # may come
            missing = world.not_found
            page = _Composed(MISSING, missing.template, lambda: missing.context)
            return _rendered(world, path, page)
        if self._as_now[0] is not world:
            self._as_now = world, set()
        rendered = self._kept.pop(path, None)
        if rendered is None or path not in self._as_now[1]:
            page = _composed(world, path)
            if rendered is None or rendered.key != page.key:
                rendered = _rendered(world, path, page)
            self._as_now[1].add(path)
        while len(self._kept) >= RENDERED_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[path] = rendered
        return rendered


class Draft(Struct, frozen=True):
    """A page with a text that no file holds, for a window that shows another draft."""

    key: str
    """Of what the window shows with it; empty where it cannot be brought up to date."""
    is_whole: bool
    """Else only the blocks around the change are right."""
    html: str = ""
    """The page; empty where only blocks of it are others."""
    count: int = 0
    """How many blocks there were."""
    changes: Sequence[tuple[int, int, str]] = ()
    """From which block to which there are others, and these."""


class _Drafted(Struct, frozen=True):
    text: str
    around: bytes
    blocks: Sequence[str]


class Drafts:
    """What windows show of texts that no file holds, to send what changed alone."""

    def __init__(self) -> None:
        self._known: dict[str, _Drafted] = {}
        """By key, the oldest first."""

    def text(self, text: str, known: str, stay: tuple[int, int] | None) -> str | None:
        """A whole text, of which some UTF-16 units are others than in a draft.

        None where that draft is not known any more.
        """
        if stay is None:
            return text
        if known not in self._known:
            return None
        units = self._known[known].text.encode("utf-16-le", "surrogatepass")
        start, end = (2 * one for one in stay)
        new = text.encode("utf-16-le", "surrogatepass")
        return (units[:start] + new + units[end:]).decode("utf-16-le", "surrogatepass")

    def note(self, page: Rendered) -> None:
        """Know a page that a window shows as a draft of its text."""
        if (made := _drafted(page.content.decode(), "")) is not None:
            self._keep(made, page.key)

    def whole(self, world: World, path: str, text: str, known: str) -> Draft:
        """A page with a text, which ``world`` has.

        Args:
            world: The site with the text.
            path: Output path of the page.
            text: Of the page.
            known: Key of what the window shows, or empty.

        Raises:
            SiteError: the theme fails for this page.
        """
        page = _rendered(world, path, _composed(world, path)).content.decode()
        made, last = _drafted(page, text), self._known.get(known)
        if made is None:
            return Draft("", is_whole=True, html=page)
        if last is not None and last.around == made.around:
            return self._changed(last, made, is_whole=True)
        return Draft(self._keep(made), is_whole=True, html=page)

    def quick(
        self, body_of: Callable[[str], str], text: str, known: str
    ) -> Draft | None:
        """The blocks around a change; None where they cannot be rendered by themselves.

        They can where those that were are in the page once: ``body_of`` makes the HTML
        of a part of a text as if it were a page.
        """
        last = self._known.get(known)
        if last is None or len(text) < QUICK_CHARS:
            return None
        for old, new in _parts(last.text, text):
            was, now = blocks_of(body_of(old)), blocks_of(body_of(new))
            places = [
                at
                for at, block in enumerate(last.blocks)
                if was and block == was[0] and [*last.blocks[at : at + len(was)]] == was
            ]
            if len(places) == 1:
                at = places[0]
                blocks = (*last.blocks[:at], *now, *last.blocks[at + len(was) :])
                made = _Drafted(text, last.around, blocks)
                return self._changed(last, made, is_whole=False)
        return None

    def _changed(self, last: _Drafted, made: _Drafted, *, is_whole: bool) -> Draft:
        (start, end), count = _same(last.blocks, made.blocks), len(last.blocks)
        more, runs = len(made.blocks) - count, [(start, count - end)]
        if not more:
            pairs = enumerate(zip(last.blocks, made.blocks, strict=True))
            runs = [(at, at + 1) for at, (old, new) in pairs if old != new]
        changes = [(at, to, "".join(made.blocks[at : to + more])) for at, to in runs]
        return Draft(self._keep(made), is_whole, count=count, changes=changes)

    def _keep(self, made: _Drafted, key: str = "") -> str:
        key = key or secrets.token_hex(8)
        while len(self._known) >= DRAFTS_MAX:
            del self._known[next(iter(self._known))]
        self._known[key] = made
        return key


def _drafted(page: str, text: str) -> _Drafted | None:
    """A page in blocks; None for one that has none."""
    before, start, tail = page.partition(BLOCKS)
    body, _, tail = tail.partition(BLOCKS_END)
    blocks = blocks_of(body) if start else []
    if not blocks:
        return None
    head, tail = before.partition("<main")[2], tail.partition("</main>")[0]
    main = _NAVIGATION.sub(r"\1", f"{head}\0{tail}")
    around = hashlib.sha256(main.encode("utf-8", "replace")).digest()
    return _Drafted(text, around, blocks)


def _parts(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Parts of two texts around where they differ, which may be blocks of the page."""
    was, now = old.split("\n\n"), new.split("\n\n")
    start, end = _same(was, now)
    # a list, or a line below a heading, goes on behind an empty line
    around = [(max(start - more, 0), max(end - more, 0)) for more in PARTS_AROUND]
    # AsciiDoc has a block for each section
    before, after = range(start - 1, 0, -1), range(end - 1, 0, -1)
    first = next((at for at in before if _SECTION.search(was[at])), 0)
    last = next((at for at in after if _SECTION.search(was[-at])), 0)
    for start, end in (*around, (first, last)):
        parts = ["\n\n".join(one[start : len(one) - end]) for one in (was, now)]
        if max(map(len, parts)) <= PART_CHARS_MAX:
            yield parts[0], parts[1]


def _same(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many pieces are the same at the start, and at the end."""
    start = _same_start(old, new)
    return start, _same_start(old[start:][::-1], new[start:][::-1])


def _same_start(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def blocks_of(html: str) -> list[str]:
    """The outermost elements of a page's safe HTML; none if there is text beside."""
    blocks, depth, start, end = [], 0, 0, 0
    for tag in _TAG.finditer(html):
        if not depth:
            start = tag.start()
            if html[end:start].strip():
                return []
        if tag[1]:
            depth -= 1
        elif not tag[3] and tag[2] not in _WITHOUT_END:
            depth += 1
        if not depth:
            end = tag.end()
            blocks.append(html[start:end])
        elif depth < 0:
            return []
    return [] if depth or html[end:].strip() else blocks


def frame_digest(page: str, pictures: str = "") -> str:
    """Hash of what only loading a page again brings up to date.

    Args:
        page: Its HTML.
        pictures: Hashes of the pictures in it: a browser does not ask for another
            one under the same address while it shows the page.
    """
    head, _, rest = page.partition("<main")
    tail = rest.rpartition("</main>")[2]
    frame = _NAVIGATION.sub(r"\1", _HEAD.sub("", head) + tail)
    frame += pictures
    return hashlib.sha256(frame.encode("utf-8", "replace")).hexdigest()[:16]


_Searched = tuple[bytes, Sequence[SearchDocument]] | None


class SearchIndex:
    """The files of the search index, made anew when somebody searches.

    It takes most of a second in a large wiki, and a save would wait as long: so it is
    made beside the thread that the site belongs to.
    """

    def __init__(self, look: Callable[[bytes], Awaitable[_Searched]]) -> None:
        """``look`` gives a hash and what there is to search; None for this hash."""
        self._look = look
        self._digest = b""
        self._shards: Mapping[str, bytes] = {}
        self._lock = asyncio.Lock()

    async def file(self, name: str) -> bytes | None:
        """A file of the index of all that is there now; None where it has none."""
        # a window asks for several files at once
        async with self._lock:
            searched = await self._look(self._digest)
            if searched is not None:
                self._shards = await finish_in_thread(build_shards, searched[1])
                self._digest = searched[0]
        return self._shards.get(name)


class _Composed(Struct, frozen=True):
    """A page that is ready to be rendered, if it has to be."""

    key: str
    template: str
    context: Callable[[], Mapping[str, object]]
    pictures: str = ""
    """The files that it shows, with hashes: another one has the same address."""
    body: Callable[[], str] = str
    """Reads its text as HTML."""


def _rendered(world: World, path: str, page: _Composed) -> Rendered:
    text = world.theme.render(page.template, page.context(), at=path)
    if (body := page.body()) and text.count(body) == 1:
        text = text.replace(body, f"{BLOCKS}{body}{BLOCKS_END}")
    frame = frame_digest(text, page.pictures)
    content = text.encode("utf-8", "replace")
    return Rendered(page.key, content, "text/html", frame, page.key != MISSING)


def _composed(world: World, path: str) -> _Composed:
    place = world.layout.places.get(path)
    if place is None:
        generated = world.generated[path]
        key = hash_of(world.site.frame.settings_key, generated.own).hex()
        return _Composed(key, generated.template, lambda: generated.context)
    composer = world.site.wikis[place.wiki]
    linking = backlinks_of(world.wikis, place)
    backlinks = [world.site.backlink(one, place.wiki) for one in linking]
    slug = Slug(place.name)
    scanned, names = world.scanned[place.wiki], world.page(place).finished.attachments
    known = ((name, scanned.file(name)) for name in names)
    pictures = "".join(f"{name}\0{state.digest}\n" for name, state in known if state)
    shown = composer.shown(slug, sorted(backlinks, key=by_title))
    named = composer.key(slug, shown) + pictures.encode()
    key = hashlib.sha256(named).hexdigest()

    def context() -> Mapping[str, object]:
        return composer.template_context(slug, shown)

    def body() -> str:
        html = world.layout.indexer.view(world.page(place)).html
        return world.theme.explained(html, world.inputs.options.lang)

    return _Composed(key, "page.html", context, pictures, body)

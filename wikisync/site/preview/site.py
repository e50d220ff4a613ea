"""The site of a preview: kept in memory, brought up to date file by file.

The index (titles, headings, links) is of the whole site, as in a build, once all
pages are read; pages are rendered when they are asked for, and one that was not read
is read then.  ``world`` makes it.

What cannot be used (a theme, a folder, the configuration) is kept as ``failure``
beside the last good site, which goes on being shown.

Everything here blocks and belongs to one thread: that of the cache's connection.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from wikisync.core import model
from wikisync.core.system.locks import locked_folder
from wikisync.core.system.private import make_private_folder
from wikisync.errors import SiteError, WikisyncError
from wikisync.folder.naming import parse_path
from wikisync.markup.links import LinkIndex, Target
from wikisync.site.addresses import page_path
from wikisync.site.bodies import BodyDamaged
from wikisync.site.cache import Cache, open_cache
from wikisync.site.composing import search_digest, search_documents
from wikisync.site.manifest import content_type
from wikisync.site.preview.checks import located
from wikisync.site.preview.moves import renamed_pages
from wikisync.site.preview.pages import Draft, Drafts, Rendered, RenderedPages
from wikisync.site.preview.world import (
    Mark,
    PreviewInputs,
    World,
    marks_of,
    next_world,
    page_problems,
    shown_file,
    theme_folders,
    unreadable,
    with_draft,
    with_read,
)
from wikisync.site.preview.writing import new_path
from wikisync.site.sources import ScannedWiki, SourceFile

if TYPE_CHECKING:
    from wikisync.core.messages import Progress
    from wikisync.site.crosslinks import ItemKey
    from wikisync.site.search import SearchDocument

READ_STEP_S = 0.05
"""How long one step of reading may take; whoever asks for a page waits for it."""
READ_SHOWN_S = 2.0
"""How often what was read meanwhile reaches the site."""
_FileName = tuple[Path, str]
"""A wiki's folder, and a file's path in it."""
_ShownWiki = tuple[model.WikiOwner, Mapping[model.Slug, str]]
Load = Callable[[], PreviewInputs]
"""Reads the configuration; a ``WikisyncError`` is shown, and the last good one used."""


class PageView(Struct, frozen=True):
    """What there is to say of one page now."""

    key: str
    """That of ``Rendered``; another one means that the page looks different."""
    frame: str = ""
    """That of ``Rendered``."""
    is_failing: bool = False
    """The files do not make this page now."""
    problems: tuple[model.Problem, ...] = ()
    owner: model.WikiOwner | None = None
    slug: model.Slug | None = None
    file: str = ""
    """The page's file, ``handbook/home.md``; empty where there is none."""
    conflict: str = ""
    """The file that holds both texts of a conflict, or empty."""
    count: tuple[int, int] = (0, 0)
    """How many pages of the site are read, so that they told of this one; of all."""


class WritablePage(Struct, frozen=True):
    """A page for a person who writes it."""

    wiki: ScannedWiki
    slug: model.Slug
    path: model.PagePath
    """Of its file."""
    format: model.Format
    conflict: str
    """The file that holds both texts of a conflict, or empty."""


class LiveSite:
    """The site that a preview shows."""

    def __init__(self, load: Load, progress: Progress) -> None:
        self.failure: WikisyncError | None = None
        """Why the last look at the files did not become a site."""
        self._load = load
        self._progress = progress
        self._inputs: PreviewInputs | None = None
        self._world: World | None = None
        self._pages = RenderedPages()
        self._drafts = Drafts()
        self._ahead: set[ItemKey] = set()
        """Pages that were read and that the site does not show as read yet."""
        self._shown_s = 0.0
        """When what was read reached the site last."""
        self._is_behind = False
        """Changes were not taken over, so the next look is at everything."""
        self._moved: Mapping[_FileName, _FileName] = {}
        """Files of pages that were renamed during this run, old to new."""

    def use(self, cache: Cache) -> None:
        """Keep rendered pages there; before anything else is asked."""
        self._cache = cache

    def read_inputs(self) -> None:
        """Read the configuration alone, so that ``roots`` are known early."""
        with contextlib.suppress(WikisyncError):
            self._inputs = self._load()

    def refresh(self, changed: frozenset[str] | None) -> None:
        """Take over what changed: these files and folders, or anything.

        What keeps it from doing so becomes ``failure``.
        """
        last = before = self._world
        if self._is_behind:
            # the cache may hold pages of the site that did not come about
            changed = last = None
        self._is_behind = True
        with self._failing_softly():
            if changed is None or self._inputs is None:
                self._inputs = self._load()
                self._ahead.clear()
            self._world = next_world(
                last, self._inputs, changed, self._cache, self._progress
            )
            self._note_renames(before or self._world, self._world)
            self.failure = None
            self._is_behind = False

    def _note_renames(self, last: World, world: World) -> None:
        before = {wiki.source.folder: wiki.pages for wiki in last.scanned}
        for wiki in world.scanned:
            folder, was = wiki.source.folder, before.get(wiki.source.folder, wiki.pages)
            # the page that is there again is another one
            come = {(folder, wiki.pages[one].path) for one in wiki.pages.keys() - was}
            self._moved = {at: to for at, to in self._moved.items() if at not in come}
            for path, target in renamed_pages(was, wiki.pages):
                self.rename(folder, path, target)

    def rename(self, folder: Path, path: str, target: str) -> None:
        """The page in a file of a wiki has another one."""
        old, new = (folder, path), (folder, target)
        moved = {at: new if to == old else to for at, to in self._moved.items()}
        moved[old] = new
        self._moved = {at: to for at, to in moved.items() if at != to}

    def read_on(self) -> bool:
        """Read some of the pages that nobody asked for, if any are left.

        It takes a moment only, so that other questions come between.
        """
        if (world := self._world) is not None and world.unread:
            with self._failing_softly():
                self._read_ahead(world)
                return True
        return False

    def _read_ahead(self, world: World) -> None:
        """Read pages for one step, and show from time to time what was read."""
        until = time.monotonic() + READ_STEP_S
        for place in [one for one in world.unread if one not in self._ahead]:
            wiki = world.scanned[place.wiki]
            world.layout.indexer.read(wiki, wiki.pages[model.Slug(place.name)])
            self._ahead.add(place)
            if time.monotonic() > until:
                break
        is_last = self._ahead.issuperset(world.unread)
        if is_last or time.monotonic() - self._shown_s > READ_SHOWN_S:
            self._show_read(world, set(self._ahead))
        if is_last:
            # a preview that is killed leaves them to the next one
            self._cache.commit(goes_on=True)

    def _show_read(self, world: World, places: set[ItemKey]) -> World:
        """The site with these pages read."""
        self._world = world = with_read(world, places)
        self._ahead -= places
        self._shown_s = time.monotonic()
        return world

    @contextlib.contextmanager
    def _failing_softly(self) -> Iterator[None]:
        """Keep what goes wrong as ``failure``."""
        try:
            yield
        except WikisyncError as exc:
            self.failure = exc
        except (OSError, sqlite3.Error, BodyDamaged) as exc:
            self.failure = SiteError(f"changes cannot be applied: {exc}")

    @property
    def is_waiting_for_folder(self) -> bool:
        """Whether there was no site yet as the folder of a wiki is not there."""
        wikis = self._inputs.wikis if self._inputs and not self._world else ()
        return not all(wiki.folder.exists() for wiki in wikis)

    def roots(self) -> tuple[Path, ...]:
        """Folders whose changes matter, whether they exist or not."""
        inputs = self._inputs
        return (*self.folders, *theme_folders(inputs.options)) if inputs else ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """Those of the wikis."""
        return tuple(wiki.folder for wiki in self._inputs.wikis) if self._inputs else ()

    # What may be asked in any thread: it reads one world, which does not change ------

    @property
    def wikis(self) -> list[_ShownWiki]:
        """Whose wikis are shown, each with the output paths of its pages."""
        if (world := self._world) is None:
            return []
        both = zip(world.inputs.wikis, world.layout.addresses, strict=True)
        return [(wiki.owner, addresses.pages) for wiki, addresses in both]

    def conflicts(self) -> Iterator[str]:
        """Output paths of the pages in conflict."""
        if world := self._world:
            for place in world.conflicts:
                yield world.layout.addresses[place.wiki].pages[model.Slug(place.name)]

    # Answers ----------------------------------------------------------------------

    @property
    def read_count(self) -> tuple[int, int]:
        """How many pages are read, and how many there are."""
        if self._world is None:
            return 0, 0
        total = len(self._world.layout.places)
        return total - len(self._world.unread) + len(self._ahead), total

    def answer(self, path: str) -> Rendered | SourceFile | str:
        """What lies at an output path; where a file lies that is sent as it is.

        A page that has another name by now lies at that output path.

        Raises:
            WikisyncError: there is no site yet, or the theme fails for this page.
        """
        world = self._world
        if world is None:
            raise self.failure or SiteError("there is nothing to show")
        path = _known_path(world, path)
        if path in world.layout.attachments:
            return world.layout.attachments[path]
        if (content := world.theme.assets().get(path)) is not None:
            return Rendered("", content, content_type(path))
        if path in world.linked:
            return world.linked[path]
        if to := self._moved_to(world, path):
            return to
        return self._pages.page(self._read(world, path), path)

    def searched(self, known: bytes) -> tuple[bytes, list[SearchDocument]] | None:
        """What the search index is to be made from; None where that is known."""
        world = self._world
        if world is None or (digest := search_digest(world.site.wikis)) == known:
            return None
        return digest, [*search_documents(world.site.wikis, world.layout.indexer)]

    def look(self, path: str) -> PageView:
        """What there is to say of the page at an output path."""
        world = self._world
        problems = [located(self.failure)] if self.failure else []
        if world is None:
            return PageView("", is_failing=bool(problems), problems=tuple(problems))
        path = _known_path(world, path)
        world = self._read(world, path)
        try:
            rendered = self._pages.page(world, path)
            key, frame = rendered.key, rendered.frame
            problems += () if rendered.is_found else unreadable(world, path)
        except SiteError as exc:
            message = exc.message.encode("utf-8", "replace")
            key, frame = hashlib.sha256(message).hexdigest(), ""
            problems.append(located(exc))
        is_failing = bool(problems)
        place = world.layout.places.get(path)
        if place is None:
            count = self.read_count
            return PageView(key, frame, is_failing, tuple(problems), count=count)
        owner, slug = world.inputs.wikis[place.wiki].owner, model.Slug(place.name)
        scanned, conflict = world.scanned[place.wiki], world.conflicts.get(place, "")
        file = shown_file(scanned, scanned.pages[slug].path)
        problems += page_problems(world, place, file)
        return PageView(
            *(key, frame, is_failing, tuple(dict.fromkeys(problems))),
            owner=owner,
            slug=slug,
            file=file,
            conflict=conflict,
            count=self.read_count,
        )

    # What a person writes ---------------------------------------------------------

    def writable(self, path: str) -> WritablePage | None:
        """The page at an output path for an editor; None where there is none."""
        if (found := self._place(path)) is None:
            return None
        world, place = found
        scanned = world.scanned[place.wiki]
        page = scanned.pages[model.Slug(place.name)]
        conflict = world.conflicts.get(place, "")
        return WritablePage(scanned, page.slug, page.path, page.format, conflict)

    def _place(self, path: str) -> tuple[World, ItemKey] | None:
        if (world := self._world) is None:
            return None
        path = _known_path(world, path)
        place = world.layout.places.get(self._moved_to(world, path) or path)
        return (world, place) if place else None

    def _moved_to(self, world: World, path: str) -> str:
        """Where the page of an output path is shown by now that has none."""
        if world.has(path):
            return ""
        wikis = {wiki.source.folder: wiki for wiki in world.scanned}
        for (folder, old), (_, new) in self._moved.items():
            is_it = folder in wikis and self.address_of(wikis[folder], old) == path
            if is_it and world.has(to := self.address_of(wikis[folder], new)):
                return to
        return world.layout.moved.get(path, "")

    def earlier_paths(self, page: WritablePage) -> list[str]:
        """Files that were the page's, and are no other's."""
        world, folder = self._world, page.wiki.source.folder
        assert world is not None, "the page is one of it"
        now = world.layout.addresses[_number(world, page.wiki)]
        synced = [model.Slug(at) for at, to in now.redirects.items() if to == page.slug]
        old = [at for (_, at), to in self._moved.items() if to == (folder, page.path)]
        old += [new_path(one, page.format) or "" for one in synced]
        files = {one.path for one in page.wiki.pages.values()}
        return [path for path in dict.fromkeys(old) if path not in files]

    def page_in(self, file: Path) -> WritablePage | None:
        """The page in a file, which may not be there yet; None outside the wikis."""
        for scanned in self._world.scanned if self._world else ():
            folder = scanned.source.folder.absolute()
            if not file.is_relative_to(folder):
                continue
            path = file.relative_to(folder).as_posix()
            if found := parse_path(path):
                known = scanned.pages.get(found[0])
                file_path = known.path if known else model.PagePath(path)
                return WritablePage(scanned, found[0], file_path, found[1], "")
        return None

    def draft(
        self,
        path: str,
        text: str,
        known: str = "",
        stay: tuple[int, int] | None = None,
        *,
        is_whole: bool = False,
    ) -> tuple[Draft, tuple[Mark, ...]] | None:
        """A page with a text that no file holds, and what is wrong in it.

        ``known`` is the key of the page or draft that is shown.  ``text`` goes into
        that draft's where ``stay`` tells; None where there is no page, or that draft is
        not known.

        Raises:
            WikisyncError: the theme fails for this page.
        """
        made, body = self._drafts.text(text, known, stay), partial(self.body, path)
        if made is None:
            return None
        is_whole |= stay is None
        quick = None if is_whole else self._drafts.quick(body, made, known)
        if quick is not None:
            return quick, ()
        if (drawn := self._drafted(path, made)) is None:
            return None
        world, place = drawn
        shown = world.layout.addresses[place.wiki].pages[model.Slug(place.name)]
        if stay is None and (now := self._world) is not None:
            # the theme may fail for the file's text, which the draft may mend
            with contextlib.suppress(SiteError):
                self._drafts.note(self._pages.page(self._read(now, shown), shown))
        draft = self._drafts.whole(world, shown, made, known)
        return draft, marks_of(world, place, made)

    def marks(self, file: Path, text: str) -> tuple[Mark, ...]:
        """What is wrong in a text that the file of a page does not hold yet."""
        if (page := self.page_in(file)) is None or page.slug not in page.wiki.pages:
            # its address may be another page's
            return ()
        drawn = self._drafted(self.address_of(page.wiki, page.path), text)
        return marks_of(*drawn, text) if drawn else ()

    def _drafted(self, path: str, text: str) -> tuple[World, ItemKey] | None:
        found = self._place(path)
        return (with_draft(*found, text.encode("utf-8")), found[1]) if found else None

    def body(self, path: str, text: str) -> str:
        """The HTML of a text as a page has it, without what is around it."""
        if (drawn := self._drafted(path, text)) is None:
            return ""
        world, place = drawn
        return world.layout.indexer.view(world.page(place)).html

    def headings(self, page: WritablePage, href: str) -> Sequence[tuple[str, str]]:
        """The headings of the page that a link on a page leads to: ids and texts."""
        if not (path := self.target(page, href)):
            return ()
        assert self._world is not None, "the page is one of it"
        world = self._read(self._world, path)
        found = world.page(world.layout.places[path])
        return [(one.id, one.text) for one in world.layout.indexer.view(found).toc]

    def target(self, page: WritablePage, href: str) -> str:
        """Output path of the page that a link on a page leads to, or empty."""
        for target in _targets(page.wiki, page.slug, href):
            known = page.wiki.pages.get(model.Slug(target.name))
            if target.kind == "page" and known is not None:
                return self.address_of(page.wiki, known.path)
        return ""

    def new_page(
        self, path: str, name: str, href: str, *, is_file: bool = False
    ) -> WritablePage | None:
        """The page that is not there yet: of an address, a broken link or a name.

        Args:
            path: Output path of the window that asks.
            name: As a person gives it, with or without an extension; else empty.
            href: A link of the page there that leads to no page; else empty.
            is_file: The name is a file's path, as it was.
        """
        if (world := self._world) is None:
            return None
        path = _known_path(world, path)
        place = world.layout.places.get(path)
        number = _wiki_at(world, path)
        scanned = world.scanned[number]
        if is_file:
            split, found = model.split_extension(name), parse_path(name)
            file = new_path(*found, name[len(split[0]) :]) if split and found else None
            if found is None or file != name:
                return None
            return WritablePage(scanned, found[0], file, found[1], "")
        if href and place is not None:
            asked = _targets(scanned, model.Slug(place.name), href)
            name = next((one.name for one in asked if one.reason == "no-page"), "")
        elif not name:
            prefix = world.layout.addresses[number].prefix
            name = path.removeprefix(prefix).removesuffix(".html")
        stem, page_format = model.split_extension(name) or (name, None)
        slug = model.Slug(model.path_of_title(stem))
        page_format = page_format or usual_format(scanned, slug)
        file = new_path(slug, page_format) if page_format.is_writable else None
        return WritablePage(scanned, slug, file, page_format, "") if file else None

    def wiki_at(self, path: str) -> _ShownWiki | None:
        """The one that a window shows; None while there is none."""
        world = self._world
        return self.wikis[_wiki_at(world, _known_path(world, path))] if world else None

    def titles(self, wiki: ScannedWiki) -> Sequence[tuple[model.Slug, str]]:
        """The pages of a wiki with their titles."""
        world = self._world
        assert world is not None, "somebody asked for the wiki"
        pages = world.wikis[_number(world, wiki)].pages.items()
        return [(slug, page.parsed.title) for slug, page in pages]

    def address_of(self, wiki: ScannedWiki, path: str) -> str:
        """Output path of the page in a file, before a scan has seen it or after."""
        world, found = self._world, parse_path(path)
        assert world is not None, "somebody asked for the wiki"
        assert found is not None, path
        addresses = world.layout.addresses[_number(world, wiki)]
        return addresses.pages.get(found[0]) or page_path(addresses.prefix, found[0])

    def _read(self, world: World, path: str) -> World:
        """The site in which the page at an output path is read."""
        place = world.layout.places.get(path)
        if place is None or world.page(place).is_read:
            return world
        return self._show_read(world, {place})


@contextlib.contextmanager
def held_cache(folder: Path) -> Iterator[Cache]:
    """The cache in a folder, or one for this run where another preview has it."""
    with contextlib.ExitStack() as stack:
        try:
            make_private_folder(folder)
            stack.enter_context(locked_folder(folder))
        except OSError:
            place = tempfile.TemporaryDirectory(prefix="wikisync-preview-")
            folder = Path(stack.enter_context(place))
        yield stack.enter_context(open_cache(folder))


def usual_format(wiki: ScannedWiki, slug: model.Slug) -> model.Format:
    """That of most pages in a new page's folder, or in the wiki; if even, Markdown."""
    folder = slug.rpartition("/")[0]
    pages = [page for page in wiki.pages.values() if page.format.is_writable]
    near = [page for page in pages if page.slug.rpartition("/")[0] == folder]
    counts, known = Counter(one.format for one in near or pages), model.Format.MARKDOWN
    return max(counts, key=lambda one: (counts[one], one == known, one), default=known)


def _number(world: World, wiki: ScannedWiki) -> int:
    """The number of a wiki, which was scanned again since."""
    return [one.source.folder for one in world.scanned].index(wiki.source.folder)


def _targets(wiki: ScannedWiki, slug: model.Slug, href: str) -> list[Target]:
    """What a link on a page may mean."""
    index = LinkIndex(wiki.pages, wiki.attachments)
    return [index.resolve(slug, href, is_wikilink=one) for one in (False, True)]


def _wiki_at(world: World, path: str) -> int:
    """The wiki of a page, or the one below whose address a path lies, or the first."""
    if path in world.layout.places:
        return world.layout.places[path].wiki
    prefixes = [wiki.prefix for wiki in world.layout.addresses]
    fitting = [number for number, one in enumerate(prefixes) if path.startswith(one)]
    return max(fitting, key=lambda number: len(prefixes[number]), default=0)


def _known_path(world: World, path: str) -> str:
    """An output path as asked for; a browser may send another Unicode form."""
    if path in world.layout.places:
        return path
    composed = unicodedata.normalize("NFC", path)
    return composed if composed in world.layout.places else path

"""The site of a preview: kept in memory, brought up to date file by file.

The index (titles, headings, links) is of the whole site, as in a build; pages are
rendered when they are asked for.  An edit of a page's text costs that page, what
includes it and what names its headings; anything else is a look at all files.

What cannot be used (a theme, a folder, the configuration) is kept as ``failure``
beside the last good site, which goes on being shown.

Everything here blocks and belongs to one thread: that of the cache's connection.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wikisync.errors import SiteError, WikisyncError
from wikisync.folder.ignore import CONFLICT_MARK, is_ignored_folder
from wikisync.folder.naming import parse_path
from wikisync.model import AttachmentPath, Problem, Slug, digest_of, split_extension
from wikisync.site.addresses import (
    NOT_FOUND_PAGE,
    SEARCH_FOLDER,
    SIDEBAR_SLUG,
    WikiAddresses,
    page_path,
)
from wikisync.site.composing import (
    ComposedSite,
    composed_site,
    search_documents,
    settings_hash,
    site_addresses,
    site_problems,
)
from wikisync.site.crosslinks import Place, WikiTable
from wikisync.site.generated import GeneratedPages
from wikisync.site.index import IndexedWiki, Indexer
from wikisync.site.output import content_type
from wikisync.site.pages import backlink_references
from wikisync.site.preview_checks import located, page_checks
from wikisync.site.report import LinkReport, link_report
from wikisync.site.search import build_shards
from wikisync.site.sources import ScannedWiki, SourcePage, read_file, scan_wiki
from wikisync.site.theme import Theme, load_theme

if TYPE_CHECKING:
    from wikisync.model import WikiOwner
    from wikisync.progress import Progress
    from wikisync.site.cache import Cache
    from wikisync.site.generated import GeneratedPage
    from wikisync.site.model import SiteOptions, WikiSource
    from wikisync.site.pages import ComposedPage

RENDERED_MAX = 64
"""Rendered pages kept; more than there are windows open."""
CONFLICTS_MAX = 500
MISSING = "missing"
"""Key of a page that is not there."""
UNREADABLE = "unreadable"
"""Code of the problem of a file that is there but cannot be read."""


@dataclass(frozen=True, slots=True)
class PreviewInputs:
    """What is to be shown."""

    wikis: tuple[WikiSource, ...]
    options: SiteOptions


Load = Callable[[], PreviewInputs]
"""Reads the configuration; a ``WikisyncError`` is shown, and the last good one used."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """One answer of the site."""

    key: str
    """Hash of everything that it was made from."""
    content: bytes
    type: str
    is_found: bool = True


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to say of one page now."""

    key: str
    """That of ``Rendered``; another one means that the page looks different."""
    is_failing: bool = False
    """The files do not make this page now."""
    problems: tuple[Problem, ...] = ()
    place: Place | None = None
    file: str = ""
    """The page's file, ``handbook/home.md``; empty where there is none."""
    conflict: str = ""
    """The file that holds both texts of a conflict, or empty."""


@dataclass(frozen=True)
class _Layout:
    """What is the same for as long as no file comes or goes."""

    addresses: Sequence[WikiAddresses]
    table: WikiTable
    indexer: Indexer
    folders: Sequence[Path]

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """Output path to page."""
        return {
            path: Place(number, slug)
            for number, wiki in enumerate(self.addresses)
            for slug, path in wiki.pages.items()
        }

    @cached_property
    def attachments(self) -> Mapping[str, Path]:
        """Output path to file of an attachment."""
        return {
            path: self.folders[number] / name
            for number, wiki in enumerate(self.addresses)
            for name, path in wiki.attachments.items()
        }


@dataclass(frozen=True)
class _World:
    """A site at one moment."""

    inputs: PreviewInputs
    theme: Theme
    scanned: tuple[ScannedWiki, ...]
    layout: _Layout
    wikis: tuple[IndexedWiki, ...]
    report: LinkReport
    site: ComposedSite
    conflicts: Mapping[Place, str]
    """Pages in conflict, with the file that holds both texts."""

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that a build would report."""
        return tuple(site_problems(self.wikis, self.layout.addresses, self.site.wikis))

    @cached_property
    def generated(self) -> Mapping[str, GeneratedPage]:
        """Lists, reports and other pages that no wiki has, by output path."""
        pages = GeneratedPages(self.site.context, self.site.wikis, self.text)
        return {page.path: page for page in pages.all(self.report, self.problems)}

    @cached_property
    def search(self) -> Mapping[str, bytes]:
        """The search index, by output path."""
        documents = search_documents(self.site.wikis, self.layout.indexer)
        return {
            SEARCH_FOLDER + name: content
            for name, content in build_shards(documents).items()
        }

    def has(self, path: str) -> bool:
        """Whether a page lies at an output path."""
        return path in self.layout.places or path in self.generated

    def text(self, key: str) -> str:
        """A word of the theme in the site's language."""
        return self.theme.text(key, self.inputs.options.lang)


class LiveSite:
    """The site that a preview shows."""

    def __init__(self, load: Load, progress: Progress) -> None:
        self.failure: WikisyncError | None = None
        """Why the last look at the files did not become a site."""
        self._load = load
        self._progress = progress
        self._inputs: PreviewInputs | None = None
        self._world: _World | None = None
        self._kept: dict[str, Rendered] = {}
        """Pages as they were rendered last, by output path, the oldest first."""
        self._is_behind = False
        """Changes were not taken over, so the next look is at everything."""

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
        if self._is_behind:
            changed = None
        self._is_behind = True
        try:
            self._world = self._next_world(changed)
        except WikisyncError as exc:
            self.failure = exc
        except (OSError, sqlite3.Error) as exc:
            self.failure = SiteError(f"changes cannot be taken over: {exc}")
        else:
            self.failure = None
            self._is_behind = False

    def roots(self) -> tuple[Path, ...]:
        """Folders whose changes matter, whether they exist or not."""
        if self._inputs is None:
            return ()
        wikis = [wiki.folder for wiki in self._inputs.wikis]
        return (*wikis, *_theme_folders(self._inputs.options))

    # What may be asked in any thread: it reads one world, which does not change ------

    @property
    def owners(self) -> tuple[WikiOwner, ...]:
        """Whose wikis are shown, in the order of their numbers."""
        return (
            tuple(wiki.owner for wiki in self._world.inputs.wikis)
            if self._world
            else ()
        )

    def output_path(self, wiki: int, slug: Slug) -> str | None:
        """Where a page is shown; None for one that the site has not."""
        return (
            self._world.layout.addresses[wiki].pages.get(slug) if self._world else None
        )

    def conflicts(self) -> Iterator[str]:
        """Output paths of the pages in conflict."""
        world = self._world
        if world is None:
            return
        for place in world.conflicts:
            yield world.layout.addresses[place.wiki].pages[Slug(place.name)]

    # Answers ----------------------------------------------------------------------

    def answer(self, path: str, origin: str) -> Rendered | Path:
        """What lies at an output path; a path of the disk for an attachment.

        ``origin`` is the address of the preview, for the page that is shown where
        nothing lies.

        Raises:
            WikisyncError: there is no site yet, or the theme fails for this page.
        """
        world = self._world
        if world is None:
            raise self.failure or SiteError("there is nothing to show")
        path = _known_path(world, path)
        if world.has(path):
            return self._rendered(world, path)
        if path in world.layout.attachments:
            return world.layout.attachments[path]
        content = world.theme.assets().get(path)
        if content is None and path.startswith(SEARCH_FOLDER):
            content = world.search.get(path)
        if content is not None:
            return Rendered("", content, content_type(path))
        return _not_found(world, origin)

    def look(self, path: str) -> Look:
        """What there is to say of the page at an output path."""
        world = self._world
        problems = [_of_error(self.failure)] if self.failure else []
        if world is None:
            return Look("", is_failing=bool(problems), problems=tuple(problems))
        path = _known_path(world, path)
        key = MISSING
        if world.has(path):
            try:
                key = self._rendered(world, path).key
            except SiteError as exc:
                key = _error_key(exc)
                problems.append(_of_error(exc))
        else:
            problems += _unreadable(world, path)
        is_failing = bool(problems)
        place = world.layout.places.get(path)
        if place is None:
            return Look(key, is_failing=is_failing, problems=tuple(problems))
        page = world.scanned[place.wiki].pages[Slug(place.name)]
        file = _shown(world.scanned[place.wiki], page.path)
        problems += _page_problems(world, place, file)
        return Look(
            key,
            is_failing=is_failing,
            problems=tuple(dict.fromkeys(problems)),
            place=place,
            file=file,
            conflict=world.conflicts.get(place, ""),
        )

    def file_of(self, path: str, *, is_conflict: bool = False) -> Path | None:
        """The file behind a page, or that of its conflict; None where there is none."""
        world = self._world
        place = world.layout.places.get(_known_path(world, path)) if world else None
        if world is None or place is None:
            return None
        scanned = world.scanned[place.wiki]
        if is_conflict:
            found = world.conflicts.get(place)
            return scanned.source.folder / found if found else None
        return scanned.source.folder / scanned.pages[Slug(place.name)].path

    def _rendered(self, world: _World, path: str) -> Rendered:
        """A page's HTML, made once for all who look at it."""
        page = self._composed(world, path)
        rendered = self._kept.pop(path, None)
        if rendered is None or rendered.key != page.key:
            text = world.theme.render(page.template, page.context(), at=path)
            rendered = Rendered(page.key, text.encode("utf-8", "replace"), "text/html")
        while len(self._kept) >= RENDERED_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[path] = rendered
        return rendered

    def _composed(self, world: _World, path: str) -> _Composed:
        place = world.layout.places.get(path)
        if place is None:
            generated = world.generated[path]
            key = settings_hash(world.site.settings_key, generated).hex()
            return _Composed(key, generated.template, lambda: generated.context)
        composer = world.site.wikis[place.wiki]
        places = world.report.backlinks.get(place, ())
        wikis = dict(enumerate(world.site.wikis))
        backlinks = backlink_references(places, wikis, place.wiki)
        page = composer.composed(Slug(place.name), backlinks)
        return _Composed(
            _key_with_pictures(world, place, page),
            "page.html",
            lambda: composer.template_context(page),
        )

    # Taking over changes ----------------------------------------------------------

    def _next_world(self, changed: frozenset[str] | None) -> _World:
        last = self._world
        inputs = self._load() if changed is None or last is None else last.inputs
        self._inputs = inputs
        theme = self._theme(inputs.options, last, changed)
        scanned = self._scanned(inputs, last, changed)
        is_same_set = (
            last is not None
            and last.inputs == inputs
            and all(map(_has_same_names, last.scanned, scanned))
        )
        before = last if is_same_set else None
        layout = before.layout if before is not None else self._layout(inputs, scanned)
        wikis = self._indexed(layout.indexer, scanned, before)
        if changed is None:
            pages = [page for wiki in wikis for page in wiki.pages.values()]
            layout.indexer.sweep(pages)
        return _World(
            inputs,
            theme,
            scanned,
            layout,
            wikis,
            _same_report(before, wikis) or link_report(wikis),
            _same_composers(before, theme, wikis)
            or composed_site(
                wikis,
                layout.addresses,
                inputs.options,
                theme,
                layout.indexer,
                layout.table,
            ),
            _conflicts_now(scanned, before, changed),
        )

    def _layout(self, inputs: PreviewInputs, scanned: Sequence[ScannedWiki]) -> _Layout:
        addresses = site_addresses(scanned, inputs.options)
        table = WikiTable(inputs.wikis, addresses)
        indexer = Indexer(self._cache, table, self._progress, inputs.options.markup)
        folders = [wiki.source.folder for wiki in scanned]
        return _Layout(addresses, table, indexer, folders)

    def _theme(
        self, options: SiteOptions, last: _World | None, changed: frozenset[str] | None
    ) -> Theme:
        """The theme, read again where one of its files may have changed."""
        folders = tuple(f"{folder}/" for folder in _theme_folders(options))
        if (
            last is not None
            and changed is not None
            and not any(f"{path}/".startswith(folders) for path in changed)
        ):
            return last.theme
        theme = load_theme(
            options.theme,
            project=options.templates,
            options=options.theme_options,
            mermaid=options.mermaid,
        )
        # compiled templates are worth keeping
        is_same = last is not None and theme.fingerprint == last.theme.fingerprint
        return last.theme if last is not None and is_same else theme

    def _scanned(
        self, inputs: PreviewInputs, last: _World | None, changed: frozenset[str] | None
    ) -> tuple[ScannedWiki, ...]:
        if last is None or changed is None:
            return tuple(scan_wiki(source, self._cache) for source in inputs.wikis)
        return tuple(
            _edited(wiki, changed) or scan_wiki(wiki.source, self._cache)
            for wiki in last.scanned
        )

    def _indexed(
        self, indexer: Indexer, scanned: Sequence[ScannedWiki], last: _World | None
    ) -> tuple[IndexedWiki, ...]:
        total = sum(len(wiki.pages) for wiki in scanned)
        self._progress.start("reading pages", total)
        return tuple(
            last.wikis[number]
            if last is not None and last.scanned[number] is wiki
            else indexer.index(
                number, wiki, last.wikis[number].pages if last is not None else None
            )
            for number, wiki in enumerate(scanned)
        )


@dataclass(frozen=True, slots=True)
class _Composed:
    """A page that is ready to be rendered, if it has to be."""

    key: str
    template: str
    context: Callable[[], Mapping[str, object]]


def _edited(wiki: ScannedWiki, changed: frozenset[str]) -> ScannedWiki | None:
    """A wiki after edits of page files; None where only a look at all files tells."""
    top = f"{os.path.abspath(wiki.source.folder)}/"  # noqa: PTH100 - speed
    inside = {path.removeprefix(top) for path in changed if path.startswith(top)}
    touched = {path for path in inside if CONFLICT_MARK not in path}
    if not touched:
        return wiki if f"{top}"[:-1] not in changed else None
    pages: dict[Slug, SourcePage] = dict(wiki.pages)
    for path in touched:
        page = _page_at(wiki, path)
        content = _regular_content(top + path)
        if page is None or content is None:
            return None
        if (digest := digest_of(content)) != page.digest:
            pages[page.slug] = replace(page, digest=digest)
    return replace(wiki, pages=pages)


def _page_at(wiki: ScannedWiki, path: str) -> SourcePage | None:
    """The page that this very file is."""
    found = parse_path(path)
    page = wiki.pages.get(found[0]) if found else None
    return page if page is not None and page.path == path else None


def _regular_content(path: str) -> bytes | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as file:  # noqa: PTH123 - a string
            return file.read()
    except OSError:
        return None


def _not_found(world: _World, origin: str) -> Rendered:
    """The theme's page for addresses that lead nowhere."""
    page = world.generated[NOT_FOUND_PAGE]
    # its links must work from any depth: they begin at the top of the host
    site = replace(world.site.context, url=origin)
    context = {**page.context, "site": site}
    text = world.theme.render(page.template, context, at=NOT_FOUND_PAGE)
    return Rendered(MISSING, text.encode(), "text/html", is_found=False)


def _has_same_names(one: ScannedWiki, other: ScannedWiki) -> bool:
    return (
        one.pages.keys() == other.pages.keys()
        and one.attachments.keys() == other.attachments.keys()
    )


def _same_composers(
    last: _World | None, theme: Theme, wikis: Sequence[IndexedWiki]
) -> ComposedSite | None:
    """The composers of the last site where nothing that they hold changed."""
    if last is None or theme is not last.theme:
        return None
    for before, now in zip(last.wikis, wikis, strict=True):
        for slug, page in now.pages.items():
            old = before.pages[slug]
            if page is not old and (
                page.parsed.title != old.parsed.title
                or page.parsed.ids != old.parsed.ids
                or slug == SIDEBAR_SLUG
            ):
                return None
    for composer, now in zip(last.site.wikis, wikis, strict=True):
        composer.wiki = now
    return last.site


def _same_report(
    last: _World | None, wikis: Sequence[IndexedWiki]
) -> LinkReport | None:
    """The report of the last site where every page links to the same as before."""
    if last is None:
        return None
    for before, now in zip(last.wikis, wikis, strict=True):
        for slug, page in now.pages.items():
            old = before.pages[slug].finished
            new = page.finished
            if new is not old and (
                new.targets != old.targets or new.broken != old.broken
            ):
                return None
    return last.report


def _known_path(world: _World, path: str) -> str:
    """An output path as asked for; a browser may send another Unicode form."""
    if path in world.layout.places:
        return path
    composed = unicodedata.normalize("NFC", path)
    return composed if composed in world.layout.places else path


def _key_with_pictures(world: _World, place: Place, page: ComposedPage) -> str:
    """A page's key with the states of the attachments that it shows."""
    digest = hashlib.sha256(page.key)
    wiki = world.wikis[place.wiki]
    for name in wiki.pages[Slug(place.name)].finished.attachments:
        state = wiki.scanned.attachments.get(AttachmentPath(name))
        digest.update(f"\n{name}\0{state.digest if state else ''}".encode())
    return digest.hexdigest()


def _page_problems(world: _World, place: Place, file: str) -> Iterator[Problem]:
    """What is wrong with a page, with its file and line."""
    scanned = world.scanned[place.wiki]
    slug = Slug(place.name)
    content = read_file(scanned.source.folder, scanned.pages[slug].path)
    checks = page_checks(file, content) if content is not None else []
    codes = {check.code for check in checks}
    yield from checks
    for problem in world.wikis[place.wiki].pages[slug].parsed.problems:
        if problem.code not in codes:
            yield replace(problem, subject=file)


def _unreadable(world: _World, path: str) -> Iterator[Problem]:
    """Why a page is not there although its file is."""
    for number, wiki in enumerate(world.scanned):
        for problem in wiki.problems:
            found = parse_path(problem.subject) if problem.code == UNREADABLE else None
            if (
                found
                and page_path(world.layout.addresses[number].prefix, found[0]) == path
            ):
                yield replace(problem, subject=_shown(wiki, problem.subject))


def _conflicts_now(
    scanned: Sequence[ScannedWiki],
    last: _World | None,
    changed: frozenset[str] | None,
) -> Mapping[Place, str]:
    """The conflicts, looked for again only where one may have come or gone."""
    if last is None or changed is None or any(CONFLICT_MARK in one for one in changed):
        return dict(_conflicts(scanned))
    return last.conflicts


def _conflicts(scanned: Sequence[ScannedWiki]) -> Iterator[tuple[Place, str]]:
    """Pages beside whose file lies one that holds both texts of a conflict."""
    count = 0
    for number, wiki in enumerate(scanned):
        for path in _conflict_files(wiki.source.folder):
            stem, _, extension = path.rpartition(CONFLICT_MARK)
            page = _page_at(wiki, stem + extension)
            if page is not None and count < CONFLICTS_MAX:
                count += 1
                yield Place(number, page.slug), path


def _conflict_files(root: Path) -> Iterator[str]:
    """Conflict files of a wiki, relative to its folder."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not is_ignored_folder(name)]
        for name in names:
            if CONFLICT_MARK in name and split_extension(name) is not None:
                yield os.path.relpath(f"{folder}/{name}", root)


def _shown(wiki: ScannedWiki, path: str) -> str:
    """A file as its author calls it: with the name of its wiki's folder."""
    return f"{wiki.source.folder.name}/{path}"


def _of_error(error: WikisyncError) -> Problem:
    problems = getattr(error, "problems", ())
    message = "; ".join([error.message, *problems])
    return located("failed", message, error.hint)


def _error_key(error: WikisyncError) -> str:
    return hashlib.sha256(error.message.encode("utf-8", "replace")).hexdigest()


def _theme_folders(options: SiteOptions) -> tuple[Path, ...]:
    """Folders of the theme that somebody may be working on."""
    own = [Path(options.theme)] if "/" in options.theme else []
    return tuple(
        folder.absolute() for folder in (options.templates, *own) if folder is not None
    )

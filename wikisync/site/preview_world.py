"""One moment of a preview's site, and the next one after a change.

An edit of page files costs those pages, what includes them and what names their
headings; the rest is taken over as it is.  A file that comes or goes, or is no page,
is a look at all files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wikisync.folder.ignore import CONFLICT_MARK, is_ignored_folder
from wikisync.folder.naming import parse_path
from wikisync.model import Problem, Slug, digest_of, split_extension
from wikisync.site.addresses import SEARCH_FOLDER, SIDEBAR_SLUG, WikiAddresses
from wikisync.site.composing import (
    ComposedSite,
    composed_site,
    search_documents,
    site_addresses,
    site_problems,
)
from wikisync.site.crosslinks import Place, WikiTable
from wikisync.site.generated import GeneratedPages
from wikisync.site.index import IndexedWiki, Indexer
from wikisync.site.report import LinkReport, link_report
from wikisync.site.search import build_shards
from wikisync.site.sources import ScannedWiki, SourcePage, scan_wiki
from wikisync.site.theme import Theme, load_theme

if TYPE_CHECKING:
    from wikisync.progress import Progress
    from wikisync.site.cache import Cache
    from wikisync.site.generated import GeneratedPage
    from wikisync.site.model import SiteOptions, WikiSource

CONFLICTS_MAX = 500


@dataclass(frozen=True, slots=True)
class PreviewInputs:
    """What is to be shown."""

    wikis: tuple[WikiSource, ...]
    options: SiteOptions


@dataclass(frozen=True)
class Layout:
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
class World:
    """A site at one moment."""

    inputs: PreviewInputs
    theme: Theme
    scanned: tuple[ScannedWiki, ...]
    layout: Layout
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


def next_world(
    last: World | None,
    inputs: PreviewInputs,
    changed: frozenset[str] | None,
    cache: Cache,
    progress: Progress,
) -> World:
    """The site after a change.

    Args:
        last: The site before, which goes on being right.
        inputs: What is to be shown now.
        changed: Absolute paths of all that may have changed; None for anything.
        cache: Where rendered pages are kept.
        progress: Who watches.

    Raises:
        SiteError: the theme cannot be used.
        FolderError: the folder of a wiki cannot be read.
    """
    theme = _theme(inputs.options, last, changed)
    scanned = _scanned(inputs, last, changed, cache)
    is_same_set = (
        last is not None
        and last.inputs == inputs
        and all(map(_has_same_names, last.scanned, scanned))
    )
    before = last if is_same_set else None
    layout = (
        before.layout
        if before is not None
        else _layout(inputs, scanned, cache, progress)
    )
    wikis = _indexed(layout.indexer, scanned, before, progress)
    if changed is None:
        pages = [page for wiki in wikis for page in wiki.pages.values()]
        layout.indexer.sweep(pages)
    return World(
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


def _layout(
    inputs: PreviewInputs,
    scanned: Sequence[ScannedWiki],
    cache: Cache,
    progress: Progress,
) -> Layout:
    addresses = site_addresses(scanned, inputs.options)
    table = WikiTable(inputs.wikis, addresses)
    indexer = Indexer(cache, table, progress, inputs.options.markup)
    folders = [wiki.source.folder for wiki in scanned]
    return Layout(addresses, table, indexer, folders)


def _theme(
    options: SiteOptions, last: World | None, changed: frozenset[str] | None
) -> Theme:
    """The theme, read again where one of its files may have changed."""
    folders = tuple(f"{folder}/" for folder in theme_folders(options))
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
    inputs: PreviewInputs,
    last: World | None,
    changed: frozenset[str] | None,
    cache: Cache,
) -> tuple[ScannedWiki, ...]:
    if last is None or changed is None:
        return tuple(scan_wiki(source, cache) for source in inputs.wikis)
    return tuple(
        _edited(wiki, changed) or scan_wiki(wiki.source, cache) for wiki in last.scanned
    )


def _indexed(
    indexer: Indexer,
    scanned: Sequence[ScannedWiki],
    last: World | None,
    progress: Progress,
) -> tuple[IndexedWiki, ...]:
    total = sum(len(wiki.pages) for wiki in scanned)
    progress.start("reading pages", total)
    return tuple(
        last.wikis[number]
        if last is not None and last.scanned[number] is wiki
        else indexer.index(
            number, wiki, last.wikis[number].pages if last is not None else None
        )
        for number, wiki in enumerate(scanned)
    )


def _edited(wiki: ScannedWiki, changed: frozenset[str]) -> ScannedWiki | None:
    """A wiki after edits of page files; None where only a look at all files tells."""
    top = f"{os.path.abspath(wiki.source.folder)}/"  # noqa: PTH100 - speed
    inside = {path.removeprefix(top) for path in changed if path.startswith(top)}
    touched = {path for path in inside if CONFLICT_MARK not in path}
    if not touched:
        return wiki if f"{top}"[:-1] not in changed else None
    pages: dict[Slug, SourcePage] = dict(wiki.pages)
    for path in touched:
        page = page_at(wiki, path)
        content = _regular_content(top + path)
        if page is None or content is None:
            return None
        if (digest := digest_of(content)) != page.digest:
            pages[page.slug] = replace(page, digest=digest)
    return replace(wiki, pages=pages)


def page_at(wiki: ScannedWiki, path: str) -> SourcePage | None:
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


def _has_same_names(one: ScannedWiki, other: ScannedWiki) -> bool:
    return (
        one.pages.keys() == other.pages.keys()
        and one.attachments.keys() == other.attachments.keys()
    )


def _same_composers(
    last: World | None, theme: Theme, wikis: Sequence[IndexedWiki]
) -> ComposedSite | None:
    """The composers of the last site where nothing that they hold changed."""
    if last is None or theme is not last.theme:
        return None
    for before, now in zip(last.wikis, wikis, strict=True):
        for slug, page in now.pages.items():
            old = before.pages[slug]
            if page is not old and (
                page.parsed.title != old.parsed.title or slug == SIDEBAR_SLUG
            ):
                return None
    for composer, now in zip(last.site.wikis, wikis, strict=True):
        composer.wiki = now
    return last.site


def _same_report(last: World | None, wikis: Sequence[IndexedWiki]) -> LinkReport | None:
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


def _conflicts_now(
    scanned: Sequence[ScannedWiki],
    last: World | None,
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
            page = page_at(wiki, stem + extension)
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


def theme_folders(options: SiteOptions) -> tuple[Path, ...]:
    """Folders of the theme that somebody may be working on."""
    own = [Path(options.theme)] if "/" in options.theme else []
    return tuple(
        folder.absolute() for folder in (options.templates, *own) if folder is not None
    )

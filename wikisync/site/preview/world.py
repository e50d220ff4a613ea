"""One moment of a preview's site, and the next one after a change.

A page costs something when it is read; the lists and the report when they are asked
for.  An edit of page files costs those pages, what includes them
and what names their headings; a page that comes or goes costs those that name it, and
the tree.  Where many pages are unknown they stay unread: the site then shows the text
of those that are asked for, and of the others what their names tell, until they are
read too (``with_read``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import (
    AttachmentPath,
    PagePath,
    Problem,
    Slug,
    digest_of,
    split_extension,
)
from wikisync.core.versions import NO_DATES
from wikisync.folder import naming
from wikisync.folder.ignore import CONFLICT_MARK, is_ignored_folder
from wikisync.folder.naming import page_of_conflict, parse_path
from wikisync.markup.frontmatter import front_matter_problems
from wikisync.markup.resolve import REASONS
from wikisync.site.addresses import INDEX_PAGE, NOT_FOUND_PAGE, WikiAddresses, page_path
from wikisync.site.attempts import Attempts
from wikisync.site.composing import ComposedSite, composed_site, site_problems
from wikisync.site.crosslinks import ItemKey, WikiTable, service_address
from wikisync.site.facts import IndexedPage, IndexedWiki
from wikisync.site.frame import is_top, site_addresses
from wikisync.site.generated import GeneratedPages, changed_pages, newest
from wikisync.site.index import Indexer
from wikisync.site.model import SourcePage
from wikisync.site.preview.checks import page_checks
from wikisync.site.report import LinkReport, link_report, search_keys
from wikisync.site.sources import (
    ScannedWiki,
    SourceFile,
    is_template,
    is_text,
    read_file,
    scan_wiki,
    settle,
)
from wikisync.site.theme import Theme, load_theme

if TYPE_CHECKING:
    from wikisync.core.messages import Progress
    from wikisync.folder.index import IndexedFile
    from wikisync.site.cache import Cache
    from wikisync.site.generated import GeneratedPage
    from wikisync.site.model import SiteOptions, WikiSource

CONFLICTS_MAX = 500
READ_AT_ONCE_MAX = 32
"""Pages that are read before anything is shown; where more are unknown, each is read
when it is asked for."""
_UPLOAD = re.compile(r"uploads/[0-9a-f]{16,32}(?:/[^/]+)?")
"""A folder of one attachment, as the service and we name it, or a file in it."""
GENERATED_NAMES = frozenset({INDEX_PAGE, NOT_FOUND_PAGE})
"""Last names of the pages that no wiki has and that lie outside ``-/``."""


class PreviewInputs(Struct, frozen=True):
    """What is to be shown."""

    wikis: tuple[WikiSource, ...]
    options: SiteOptions


class Layout(Struct, frozen=True, dict=True):
    """What is the same for as long as no file comes or goes."""

    addresses: Sequence[WikiAddresses]
    indexer: Indexer
    folders: Sequence[Path]

    @cached_property
    def places(self) -> Mapping[str, ItemKey]:
        """Output path to page."""
        return {
            path: ItemKey(number, slug)
            for number, wiki in enumerate(self.addresses)
            for slug, path in wiki.pages.items()
        }

    @cached_property
    def moved(self) -> Mapping[str, str]:
        """Output path of a page by what would be that of its old name."""
        return {
            path: wiki.pages[slug]
            for wiki in self.addresses
            for path, slug in wiki.stubs.items()
        }

    @cached_property
    def attachments(self) -> Mapping[str, SourceFile]:
        """Output path to file of an attachment."""
        return {
            path: SourceFile(self.folders[number], name)
            for number, wiki in enumerate(self.addresses)
            for name, path in wiki.attachments.items()
        }


class World(Struct, frozen=True, dict=True):
    """A site at one moment."""

    inputs: PreviewInputs
    theme: Theme
    scanned: tuple[ScannedWiki, ...]
    layout: Layout
    wikis: tuple[IndexedWiki, ...]
    site: ComposedSite
    conflict_files: Sequence[tuple[int, str, str]]
    """Each file that holds two texts: number of its wiki, path, path of its page."""

    @cached_property
    def conflicts(self) -> Mapping[ItemKey, str]:
        """Pages in conflict, with the file that holds both texts."""
        found: dict[ItemKey, str] = {}
        for number, path, both in self.conflict_files:
            page = page_at(self.scanned[number], both)
            if page is not None and len(found) < CONFLICTS_MAX:
                found[ItemKey(number, page.slug)] = path
        return found

    @cached_property
    def unread(self) -> tuple[ItemKey, ...]:
        """Pages that were not read yet."""
        return tuple(
            ItemKey(wiki.number, slug)
            for wiki in self.wikis
            for slug, page in wiki.pages.items()
            if not page.parsed_key
        )

    @cached_property
    def linked(self) -> Mapping[str, SourceFile]:
        """Output path to file of each loose file that a page links to."""
        return {
            self.layout.addresses[wiki.number].file(name): SourceFile(
                wiki.scanned.source.folder, name
            )
            for wiki in self.wikis
            for name in wiki.linked
        }

    @cached_property
    def report(self) -> LinkReport:
        """What the links of all pages add up to."""
        return link_report(self.wikis)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that a build would report."""
        return tuple(site_problems(self.site.wikis, self.theme))

    @cached_property
    def generated(self) -> Mapping[str, GeneratedPage]:
        """Lists, reports and other pages that no wiki has, by output path."""
        changes = newest(
            replace(one, wiki=wiki.label if len(self.site.wikis) > 1 else "")
            for wiki in self.site.wikis
            for one in changed_pages(wiki, self.text)
        )
        keys = search_keys(self.site.wikis)
        around = self._generating.around(self.report, self.problems, changes, keys)
        pages = list(around)
        for composer in self.site.wikis:
            pages += self._generating.of_wiki(composer)
        return {page.path: page for page in pages}

    @cached_property
    def not_found(self) -> GeneratedPage:
        """The page for addresses that lead nowhere."""
        return self._generating.not_found()

    @cached_property
    def _generating(self) -> GeneratedPages:
        site = self.site
        only = site.wikis[0] if is_top(self.layout.addresses) else None
        return GeneratedPages(site.frame, site.reference, self.text, only)

    def has(self, path: str) -> bool:
        """Whether a page lies at an output path."""
        if path in self.layout.places:
            return True
        # nothing else is made, and making all lists to know is dear
        is_made = path.startswith("-/") or path.rpartition("/")[2] in GENERATED_NAMES
        return is_made and path in self.generated

    def page(self, place: ItemKey) -> IndexedPage:
        """What is known of a page."""
        return self.wikis[place.wiki].pages[Slug(place.name)]

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

    ``changed`` are absolute paths of all that may have changed; None for anything.

    Raises:
        SiteError: the theme cannot be used.
        FolderError: the folder of a wiki cannot be read.
    """
    theme = _theme(inputs.options, last, changed)
    before = last if last is not None and last.inputs == inputs else None
    scanned = _scanned(inputs, before, changed, cache)
    same = before
    if before and not all(map(_has_same_names, before.scanned, scanned)):
        same = None
    layout = same.layout if same else _layout(inputs, scanned, cache, progress)
    if before and not same:
        key, addresses = before.layout.indexer.table_key, before.layout.addresses
        for number, wiki in enumerate(before.wikis):
            known = [page for page in wiki.pages.values() if page.is_read]
            layout.indexer.believe(number, known, key, addresses[number])
    progress.start("reading pages", sum(len(wiki.pages) for wiki in scanned))
    chosen = _read_at_once(before, scanned)
    wikis = _indexed(layout.indexer, scanned, before, chosen)
    pages = [page for wiki in wikis for page in wiki.pages.values()]
    layout.indexer.sweep(len(pages), lambda: pages)
    site = _site(same, inputs, theme, layout, wikis)
    conflicts = _conflict_files(scanned, before, changed)
    return World(inputs, theme, scanned, layout, wikis, site, conflicts)


def with_read(world: World, places: Collection[ItemKey]) -> World:
    """The same files with some more of their pages read."""
    wikis = _indexed(world.layout.indexer, world.scanned, world, places)
    site = _site(world, world.inputs, world.theme, world.layout, wikis)
    return replace(world, wikis=wikis, site=site)


def with_draft(world: World, place: ItemKey, content: bytes) -> World:
    """The same files but for one page, which has a text that no file holds."""
    wiki = world.scanned[place.wiki]
    page = replace(wiki.pages[Slug(place.name)], digest=digest_of(content))
    drafts = {page.digest: content or b"\n"}
    drafted = wiki.edited(pages={**wiki.pages, page.slug: page}, drafts=drafts)
    scanned = list(world.scanned)
    scanned[place.wiki] = drafted
    indexer = world.layout.indexer
    wikis = _indexed(indexer, scanned, world, {place})
    # what its file holds is shown, too
    pages = [world.page(place)]
    pages += [one for each in wikis for one in each.pages.values()]
    indexer.sweep(len(pages), lambda: pages)
    site = _site(world, world.inputs, world.theme, world.layout, wikis)
    return replace(world, scanned=tuple(scanned), wikis=wikis, site=site)


def _layout(
    inputs: PreviewInputs,
    scanned: Sequence[ScannedWiki],
    cache: Cache,
    progress: Progress,
) -> Layout:
    # who writes has the sources
    addresses = site_addresses(scanned, replace(inputs.options, sources=False))
    table = WikiTable(
        map(service_address, inputs.wikis), addresses, [wiki.loose for wiki in scanned]
    )
    attempts = Attempts(inputs.options.slow_pages_seconds)
    indexer = Indexer(cache, table, progress, inputs.options.markup, attempts)
    return Layout(addresses, indexer, [wiki.source.folder for wiki in scanned])


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
        options.theme, project=options.templates, options=options.theme_options
    )
    if last is not None and theme.fingerprint == last.theme.fingerprint:
        return last.theme  # its compiled templates are worth keeping
    return theme


def _scanned(
    inputs: PreviewInputs,
    last: World | None,
    changed: frozenset[str] | None,
    cache: Cache,
) -> tuple[ScannedWiki, ...]:
    scan = partial(scan_wiki, cache=cache, page_templates=inputs.options.page_templates)
    if last is None:
        return tuple(map(scan, inputs.wikis))
    scanned = []
    for wiki in last.scanned:
        now = None if changed is None else changed_wiki(wiki, changed)
        if now is None:
            # what was read for links since the last look need not be read again
            settle(wiki, cache)
            now = scan(wiki.source)
        scanned.append(now)
    return tuple(scanned)


def _read_at_once(
    last: World | None, scanned: Sequence[ScannedWiki]
) -> Collection[ItemKey]:
    """Pages with another text than before, unless they are many."""
    found: list[ItemKey] = []
    for number, wiki in enumerate(scanned):
        known = last.scanned[number].pages if last is not None else {}
        news = [one for one, page in wiki.pages.items() if known.get(one) != page]
        found += [ItemKey(number, slug) for slug in news]
    return found if len(found) <= READ_AT_ONCE_MAX else ()


def _indexed(
    indexer: Indexer,
    scanned: Sequence[ScannedWiki],
    last: World | None,
    chosen: Collection[ItemKey],
) -> tuple[IndexedWiki, ...]:
    """What is known of all pages; those beside all others are read."""
    slugs = [set(wiki.beside) for wiki in scanned]
    for place in chosen:
        slugs[place.wiki].add(Slug(place.name))
    return tuple(
        indexer.index(
            number, wiki, last.wikis[number].pages if last else None, slugs[number]
        )
        for number, wiki in enumerate(scanned)
    )


def _has_same_names(one: ScannedWiki, other: ScannedWiki) -> bool:
    return (
        one.pages.keys() == other.pages.keys()
        and one.left_out == other.left_out
        and one.redirects == other.redirects
        and one.attachments.keys() == other.attachments.keys()
        and one.loose.names == other.loose.names
        # a file that a link names may come where no scan lists it
        and all(
            (path in other.loose) == (state is not None)
            for path, state in one.loose.seen.items()
        )
    )


def _site(
    last: World | None,
    inputs: PreviewInputs,
    theme: Theme,
    layout: Layout,
    wikis: Sequence[IndexedWiki],
) -> ComposedSite:
    """The composers of the last site where nothing that they hold changed, or new."""
    if last is not None and theme is last.theme and _has_same_frame(last, wikis):
        composers = zip(last.site.wikis, wikis, strict=True)
        kept = tuple(composer.with_pages(wiki) for composer, wiki in composers)
        return replace(last.site, wikis=kept)
    return composed_site(wikis, inputs.options, theme, layout.indexer)


def _has_same_frame(last: World, wikis: Sequence[IndexedWiki]) -> bool:
    """Whether all pages have the titles, and all wikis the sidebar, of before."""
    return all(
        page is (old := before.pages[slug])
        or (page.parsed.title == old.parsed.title and slug not in now.scanned.beside)
        for before, now in zip(last.wikis, wikis, strict=True)
        for slug, page in now.pages.items()
    )


def _conflict_files(
    scanned: Sequence[ScannedWiki], last: World | None, changed: frozenset[str] | None
) -> Sequence[tuple[int, str, str]]:
    """Files with both texts of a page, looked for again only where one may be new."""
    # a folder comes and goes with all that is in it
    if (
        last is not None
        and changed is not None
        and not any(CONFLICT_MARK in one for one in changed)
        and all(split_extension(one) or os.path.isfile(one) for one in changed)  # noqa: PTH113 - speed
    ):
        return last.conflict_files
    found = []
    for number, wiki in enumerate(scanned):
        root = wiki.source.folder
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not is_ignored_folder(name)]
            for name in (one for one in names if CONFLICT_MARK in one):
                path = os.path.relpath(f"{folder}/{name}", root)
                if page := page_of_conflict(path):
                    found.append((number, path, page))
    return found


def theme_folders(options: SiteOptions) -> tuple[Path, ...]:
    """Folders of the theme that somebody may be working on."""
    own = [Path(options.theme)] if "/" in options.theme else []
    return tuple(
        folder.absolute() for folder in (options.templates, *own) if folder is not None
    )


# The files of a wiki after changes that were told by their paths ------------------


def changed_wiki(wiki: ScannedWiki, changed: frozenset[str]) -> ScannedWiki | None:
    """A wiki after changes; None where only a look at all files tells.

    Edits of pages, pages that come and go in folders that hold pages, and attachments
    that come or change are seen without it; folders, links and second files are not.
    """
    top = f"{os.path.abspath(wiki.source.folder)}/"  # noqa: PTH100 - speed
    inside = {path.removeprefix(top) for path in changed if path.startswith(top)}
    touched = {path for path in inside if CONFLICT_MARK not in path}
    if not touched:
        return wiki if top[:-1] not in changed else None
    uploads = {path for path in touched if _UPLOAD.fullmatch(path)}
    if uploads and (attachments := _attachments_now(wiki, uploads)) is None:
        return None
    if uploads and attachments != wiki.attachments:
        wiki = wiki.edited(attachments=attachments)
    if not (touched := touched - uploads):
        return wiki
    contents = {path: read_file(wiki.source.folder, path) for path in touched}
    old = {path: page_at(wiki, path) for path in touched}
    pages = dict(wiki.pages)
    if all(contents[path] is not None and old[path] for path in touched):
        found = (_page_of(wiki, path, one or b"") for path, one in contents.items())
        pages |= {page.slug: page for page in found if page}
        return wiki if pages == wiki.pages else wiki.edited(pages=pages)
    if not _is_plain(wiki, touched):
        return None
    for page in filter(None, old.values()):
        del pages[page.slug]
    for path, content in contents.items():
        now = _page_of(wiki, path, content) if content is not None else None
        is_gone = old[path] is not None and not os.path.lexists(top + path)
        if (now.slug in pages) if now is not None else not is_gone:
            return None
        if now is not None and is_template(now.slug) and old[path] is None:
            return None
        if now is not None:
            pages[now.slug] = now
    if pages == wiki.pages:
        return wiki
    return replace(wiki, pages=dict(sorted(pages.items())))


def _attachments_now(
    wiki: ScannedWiki, touched: Iterable[str]
) -> Mapping[AttachmentPath, IndexedFile] | None:
    """Attachments after changes of these and their folders; None where a scan tells."""
    found, paths = dict(wiki.attachments), set(touched)
    odd = wiki.left_out.keys() | {one.subject for one in wiki.problems}
    # the watch may name the folder alone of a file that came with it
    for folder in [path for path in paths if path.count("/") == 1]:
        files = (wiki.source.folder / folder).glob("*")
        if not (listed := {f"{folder}/{one.name}" for one in files}):
            return None
        known = (one for one in (*found, *odd) if one.startswith(f"{folder}/"))
        paths |= listed.union(known)
        paths.remove(folder)
    for path in map(AttachmentPath, paths):
        is_plain = path not in odd and naming.is_listed_attachment(path)
        if not is_plain or (state := wiki.loose.look(path)) is None:
            return None
        found[path] = state
    return dict(sorted(found.items()))


def page_at(wiki: ScannedWiki, path: str) -> SourcePage | None:
    """The page that this very file is."""
    found = parse_path(path)
    page = wiki.pages.get(found[0]) if found else None
    return page if page is not None and page.path == path else None


def _page_of(wiki: ScannedWiki, path: str, content: bytes) -> SourcePage | None:
    found = parse_path(path)
    if found is None or not is_text(found[0]):
        return None
    known = wiki.pages.get(found[0])
    dates = known.dates if known else NO_DATES
    return SourcePage(*found, PagePath(path), digest_of(content), dates)


def _is_plain(wiki: ScannedWiki, touched: Iterable[str]) -> bool:
    """Whether pages may come and go there without a word from any other file."""
    # a second file of a page, or a folder in the place of one, is a problem
    if wiki.problems != wiki.source.problems:
        return False
    known = {page.path.rpartition("/")[0] for page in wiki.pages.values()}
    folders = {path.rpartition("/")[0] for path in touched}
    return folders <= known | {""} and all(
        _is_listed_as_reported(wiki, path) for path in touched
    )


def _is_listed_as_reported(wiki: ScannedWiki, path: str) -> bool:
    """Whether a file is there by this very name; a disk may take another for it."""
    folder, _, name = path.rpartition("/")
    place = wiki.source.folder / folder
    try:
        return (name in os.listdir(place)) == os.path.lexists(place / name)  # noqa: PTH208 - names alone
    except OSError:
        return False


# What is wrong ----------------------------------------------------------------------


class Mark(Struct, frozen=True):
    """A place of a text where something is wrong."""

    line: int
    """From 1; 0 where it is not known."""
    href: str
    """What the link there leads to, which is not there."""
    message: str


def marks_of(world: World, place: ItemKey, text: str) -> tuple[Mark, ...]:
    """What is wrong on a page that has this text."""
    broken = world.page(place).finished.broken
    links = [
        Mark(one.line, one.href, REASONS.get(one.reason, one.reason)) for one in broken
    ]
    checks = front_matter_problems("", text)
    return (*links, *(Mark(int(one.subject[1:]), "", one.message) for one in checks))


def page_problems(world: World, place: ItemKey, file: str) -> Iterator[Problem]:
    """What is wrong with a page, with its file and line."""
    scanned = world.scanned[place.wiki]
    slug = Slug(place.name)
    content = read_file(scanned.source.folder, scanned.pages[slug].path)
    checks = page_checks(file, content) if content is not None else []
    codes = {check.code for check in checks}
    yield from checks
    for problem in world.wikis[place.wiki].pages[slug].parsed.problems:
        if problem.code not in codes:
            # its subject is the page, or the page and a line
            yield replace(problem, subject=file + problem.subject.removeprefix(slug))


def unreadable(world: World, path: str) -> Iterator[Problem]:
    """Why a page is not there although its file is."""
    for number, wiki in enumerate(world.scanned):
        prefix = world.layout.addresses[number].prefix
        for problem in wiki.problems:
            found = parse_path(problem.subject)
            is_it = found is not None and page_path(prefix, found[0]) == path
            if problem.code == "unreadable" and is_it:
                yield replace(problem, subject=shown_file(wiki, problem.subject))


def shown_file(wiki: ScannedWiki, path: str) -> str:
    """A file as its author calls it: with the name of its wiki's folder."""
    return f"{wiki.source.folder.name}/{path}"

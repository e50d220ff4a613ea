"""The files of a wiki after changes that were told by their paths; its conflicts.

Edits of pages, and pages that come and go in folders that hold pages, are seen
without a look at the others.  Whatever is not plainly that (folders, attachments,
links, two files for one page) is found out by a look at everything.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from wikisync.core.model import PagePath, digest_of, split_extension
from wikisync.core.versions import NO_DATES
from wikisync.folder.ignore import CONFLICT_MARK, is_ignored_folder
from wikisync.folder.naming import parse_path
from wikisync.site.crosslinks import ItemKey
from wikisync.site.model import SourcePage
from wikisync.site.sources import ScannedWiki, is_template, is_text, read_file

CONFLICTS_MAX = 500


def changed_wiki(wiki: ScannedWiki, changed: frozenset[str]) -> ScannedWiki | None:
    """A wiki after changes; None where only a look at all files tells."""
    top = f"{os.path.abspath(wiki.source.folder)}/"  # noqa: PTH100 - speed
    inside = {path.removeprefix(top) for path in changed if path.startswith(top)}
    touched = {path for path in inside if CONFLICT_MARK not in path}
    if not touched:
        return wiki if top[:-1] not in changed else None
    contents = {path: read_file(wiki.source.folder, path) for path in touched}
    old = {path: page_at(wiki, path) for path in touched}
    is_edit = all(contents[path] is not None and old[path] for path in touched)
    if not is_edit and not _is_plain(wiki, touched):
        return None
    pages = dict(wiki.pages)
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


def conflicts_of(scanned: Sequence[ScannedWiki]) -> Iterator[tuple[ItemKey, str]]:
    """Pages beside whose file lies one that holds both texts of a conflict."""
    count = 0
    for number, wiki in enumerate(scanned):
        for path in _conflict_files(wiki.source.folder):
            stem, _, extension = path.rpartition(CONFLICT_MARK)
            page = page_at(wiki, stem + extension)
            if page is not None and count < CONFLICTS_MAX:
                count += 1
                yield ItemKey(number, page.slug), path


def _conflict_files(root: Path) -> Iterator[str]:
    """Conflict files of a wiki, relative to its folder."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not is_ignored_folder(name)]
        for name in names:
            if CONFLICT_MARK in name and split_extension(name) is not None:
                yield os.path.relpath(f"{folder}/{name}", root)

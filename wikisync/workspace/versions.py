"""Earlier texts of pages: what is kept of them, and writing one into its file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from wikisync.config import WikiSection
from wikisync.errors import FolderError, NotFound
from wikisync.folder.naming import page_of_conflict, parse_path
from wikisync.folder.text import decode_page
from wikisync.folder.trash import Trash, Trashed
from wikisync.layout import TRASH_FOLDER
from wikisync.model import Format, Page, Slug, path_of_title
from wikisync.sync.base.state import WikiState
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.holds import SETTLED
from wikisync.sync.run.undoing import put_back
from wikisync.workspace.opening import OpenWorkspace
from wikisync.workspace.times import local_time


class Version(Struct, frozen=True):
    """One text that a page had."""

    at: float | None
    """When it ceased to be the page's, in seconds since the epoch; None for the text
    of the last sync, which still is, or was until somebody edited it since."""
    where: str
    """Where it comes from, in words."""
    text: str
    format: Format
    is_conflict: bool = False
    """The text of its conflict file, which was never the page's."""


async def current_page(local: LocalReplica, slug: Slug) -> Page | None:
    """The page as its file is now; None where it has none.

    Raises:
        FolderError: there is something in its place that is no text.
    """
    try:
        return await local.read(slug)
    except NotFound:
        return None


def given_name(slug: Slug) -> Slug:
    """The name that the service gives a new page that was to have this one."""
    return Slug(path_of_title(slug) or slug)


def trash_of(opened: OpenWorkspace, section: WikiSection) -> Trash:
    """The trash of one wiki."""
    return Trash(opened.workspace.private / TRASH_FOLDER, wiki=section.folder)


def versions_of(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> Sequence[Version]:
    """Every text of the page that is kept, the newest first."""
    known = opened.known(section)
    base = known.base().get(slug)
    page_format = base.format if base else Format.MARKDOWN
    text = known.text(slug)
    trash = trash_of(opened, section)
    names = {slug, *(path for path, page in known.aliases().items() if page == slug)}
    late = _late(known, slug)
    mine = (
        entry
        for entry in trash.entries()
        if (page := _page_in(entry)) is not None
        if page[0] in names or _late(known, page[0]) == late
    )
    found = trashed(trash, mine)
    found += [
        Version(one.at, "replaced by a sync or a restore", one.replaced, page_format)
        for name in dict.fromkeys((slug, late))
        for one in known.replaced(name)
    ]
    found.sort(key=lambda one: one.at or 0.0, reverse=True)
    if text is not None:
        found.insert(0, Version(None, "the last sync", text, page_format))
    # a restore keeps what it replaces in the trash and beside the base
    return [
        one
        for before, one in pairwise([None, *found])
        if one and not _is_same(before, one)
    ]


def _late(known: WikiState, slug: Slug) -> Slug:
    """What the service called a page of this name; itself where one is there."""
    given = given_name(slug)
    return slug if known.base().keys() & {slug, given} else given


def _is_same(before: Version | None, one: Version) -> bool:
    return (
        before is not None
        and before.text == one.text
        and before.is_conflict == one.is_conflict
    )


def _page_in(entry: Trashed) -> tuple[Slug, Format] | None:
    """The page that a text in the trash was of, or was the conflict file of."""
    return parse_path(page_of_conflict(entry.path) or entry.path)


def was_page(entry: Trashed) -> bool:
    """Whether it was the text of a page's file here, and not only of the wiki's."""
    return entry.slug is not None and entry.why != SETTLED


def trashed(trash: Trash, entries: Iterable[Trashed]) -> list[Version]:
    """The texts of entries of the trash, without what is no text."""
    found: list[Version] = []
    for entry in entries:
        page = _page_in(entry)
        if page is None:
            continue
        try:
            text = decode_page(trash.read(entry), entry.path)
        except (NotFound, FolderError):
            continue  # purged a moment ago, or no file any more
        if isinstance(text, str):
            is_conflict = page_of_conflict(entry.path) is not None
            where = f"{'conflict file' if is_conflict else 'trash'}: {entry.why}"
            found.append(Version(entry.at, where, text, page[1], is_conflict))
    return found


async def bring_back(
    local: LocalReplica,
    known: WikiState,
    slug: Slug,
    version: Version,
    current: Page | None,
) -> None:
    """Write the file; what is in it now is kept first.

    Raises:
        PreconditionFailed: it was saved in this very moment.
        FolderError: it cannot be written, or the old text not be kept.
    """
    now = time.time()
    page_format = version.format if current is None else current.format
    page = Page(slug, page_format, version.text)
    await put_back(local, known, page, current, now, why="replaced by a restore")
    known.note_done(now, slug, f"restore {slug} as it was {when(version)}")


def when(version: Version) -> str:
    """Until when it was the page's text, as the end of a sentence."""
    if version.at is None:
        return "after the last sync"
    return f"until {local_time(version.at)}"

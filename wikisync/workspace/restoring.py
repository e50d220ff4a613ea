"""Earlier texts of pages, and pages brought back: one, or all as they were once."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from msgspec import Struct

from wikisync import errors
from wikisync.api.git import RemoteRepository
from wikisync.config.sections import WikiSection
from wikisync.core import versions
from wikisync.core.layout import CACHE_FOLDER, TRASH_FOLDER
from wikisync.core.model import Format, Page, Slug, is_named, path_of_title
from wikisync.errors import UsageError
from wikisync.folder.naming import decode_page, page_of_conflict, parse_path
from wikisync.folder.trash import Trash, Trashed
from wikisync.site.history import line_counts
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import Side
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.undoing import put_back
from wikisync.workspace.configured import (
    ConfiguredWorkspace,
    named_pages,
    refuse_unknown,
)
from wikisync.workspace.identity import find_wiki
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.sentences import local_time
from wikisync.workspace.service import Credentials

REPLACED = "replaced by a sync or a restore"
LAST_SYNC = "the last sync"


class Version(Struct, frozen=True):
    """One text that a page had."""

    at: float | None
    """When it ceased to be the page's, in seconds since the epoch; None for the text
    of the last sync, which still is, or was until somebody edited it since."""
    where: str
    text: str
    format: Format
    is_conflict: bool = False
    """The text of its conflict file, which was never the page's."""
    revision: str = ""
    """That of the wiki's history which it is from, if it is; ``at`` is its time."""


class Earlier(Struct, frozen=True):
    """A page that is not what it was, and what it was."""

    section: WikiSection
    slug: Slug
    version: Version
    current: Page | None
    file: Slug
    """What its file is called, which the service may call otherwise."""

    @property
    def name(self) -> str:
        """As a person names it."""
        return f"{self.section.folder}/{self.slug}"

    @property
    def what(self) -> str:
        """What happened to it since."""
        return "removed" if self.current is None else "replaced"


async def restore_pages(
    workspace: ConfiguredWorkspace, scope: str | None, since: float, *, is_real: bool
) -> tuple[Sequence[Earlier], Mapping[str, errors.WikisyncError]]:
    """Bring back every page of a workspace, or below a directory in it.

    Gives the pages that were, or would be; and why pages or wikis cannot be, by name.
    """
    failed: dict[str, errors.WikisyncError] = {}
    # a look alone forgets no name of a file that is gone
    with open_workspace(workspace, is_held=False, is_read_only=not is_real) as opened:
        # each wiki that is meant with the folder in it, empty for all of it
        if scope is None:
            scopes = dict.fromkeys(workspace.config.wikis, Slug(""))
        elif section := workspace.wiki_at(scope):
            scopes = {section: Slug("")}
        else:
            section, slug = named_pages(workspace, scope)
            scopes = {section: Slug(f"{slug.rstrip('/')}/")}
        found = await _found(opened, scopes, since, failed)
        if not is_real:
            return found, failed
        sections = dict.fromkeys(one.section for one in found)
        locals_ = {section: opened.local(section) for section in sections}
        done: list[Earlier] = []
        for one in found:
            local, known = locals_[one.section], opened.known(one.section)
            if one.file != one.slug:
                known.record_alias(one.file, one.slug)
            try:
                await bring_back(local, known, one.slug, one.version, one.current)
            except (errors.FolderError, errors.PreconditionFailed) as error:
                failed[one.name] = error
            else:
                done.append(one)
    return done, failed


async def _found(
    opened: OpenWorkspace,
    scopes: Mapping[WikiSection, Slug],
    since: float,
    failed: dict[str, errors.WikisyncError],
) -> Sequence[Earlier]:
    found: list[Earlier] = []
    for section, below in scopes.items():
        known, local = opened.known(section), opened.local(section)
        asked = opened.pages_of(section, [below])
        # before the snapshot, which forgets those of files that are gone
        files = known.files()
        try:
            versions = await _versions_at(known, local, since)
        except errors.FolderError as error:
            failed[section.folder] = error  # its disk may be away
            continue
        for slug, version in sorted(versions.items()):
            if below and not is_named(slug, asked):
                continue
            try:
                current = await current_page(local, slug)
            except errors.FolderError as error:
                failed[f"{section.folder}/{slug}"] = error
                continue
            if current is None or current.content != version.text:
                file = files.get(slug, slug)
                found.append(Earlier(section, slug, version, current, file))
    return found


async def _versions_at(
    known: WikiState, local: LocalReplica, since: float
) -> Mapping[Slug, Version]:
    """What each page was that was removed or replaced here since."""
    base, here = known.base(), await local.snapshot()
    gone = [page for slug, page in base.items() if slug not in here.pages]
    ignored = await local.untracked((page.slug, page.format) for page in gone)
    new = [page for slug, page in here.pages.items() if slug not in base]
    renamed = {page.digest for page in new}
    identities = {page.identity for page in new if page.identity}
    missing = {
        page.slug
        for page in gone
        if page.slug not in ignored
        if page.local not in renamed and page.local_identity not in identities
    }
    found = {
        slug: Version(one.at, REPLACED, one.replaced, one.format)
        for slug, one in known.replaced_since(since).items()
        # what is agreed on and has no file is missing, or has another name now
        if slug in here.pages or slug in missing or slug not in base
    }
    seen = known.sightings(Side.LOCAL)
    for slug in missing - found.keys():
        text = known.text(slug)
        is_late = slug not in seen or seen[slug].first_at >= since
        if text is not None and is_late:
            found[slug] = Version(None, LAST_SYNC, text, base[slug].format)
    return found


async def find_page(
    opened: OpenWorkspace, section: WikiSection, named: Slug
) -> tuple[Slug, Page | None]:
    """The page that a person names, and what its file says."""
    local = opened.local(section)
    slug = opened.page_of(section, named)
    current = await current_page(local, slug)
    base = opened.known(section).base()
    if current is None and slug not in base:
        # a file that is gone is no alias any more, though its page be there still
        given = given_name(slug)
        if given in base and await current_page(local, given) is None:
            return given, None
    return slug, current


async def refuse_missing(
    opened: OpenWorkspace, section: WikiSection, named: Slug
) -> None:
    """Refuse a page that has no file here and is in no record of a sync."""
    slug, current = await find_page(opened, section, named)
    if current is None and slug not in opened.known(section).base():
        refuse_unknown(section, [named])


def chosen_version(
    versions: Sequence[Version], current: Page | None, at: float | None, name: str
) -> Version:
    """The text that is meant; UsageError where there is none."""
    text = None if current is None else current.content
    if at is None:
        found = [one for one in versions if one.text != text]
        found.sort(key=lambda one: (one.at or 0.0) > time.time())  # a clock was ahead
    else:
        # the oldest of those that were replaced after that time stood there then
        found = [one for one in versions if one.at is None or one.at >= at][-1:]
    if not found:
        raise errors.UsageError(
            f"there is no other saved text of {name}"
            + (f" from {local_time(at)} or later" if at is not None else ""),
            hint="use --list to see the saved texts, and the page's history on the"
            " wiki",
        )
    if found[0].text == text:
        raise errors.UsageError(
            f"{name} already has that text", hint="use --list to see the saved texts"
        )
    return found[0]


async def current_page(local: LocalReplica, slug: Slug) -> Page | None:
    """The page as its file is now; None where it has none."""
    try:
        return await local.read(slug)
    except errors.NotFound:
        return None


def given_name(slug: Slug) -> Slug:
    """The name that the service gives a new page that was to have this one."""
    return Slug(path_of_title(slug) or slug)


def versions_of(
    opened: OpenWorkspace, section: WikiSection, slug: Slug
) -> Sequence[Version]:
    """Every text of the page that is kept, the newest first."""
    known = opened.known(section)
    base = known.base().get(slug)
    page_format = base.format if base else Format.MARKDOWN
    text = known.text(slug)
    trash = Trash(opened.workspace.private / TRASH_FOLDER, wiki=section.folder)
    names = {slug, *(path for path, page in known.aliases().items() if page == slug)}
    late = _late(known, slug)
    mine = (
        (entry, page[1])
        for entry in trash.entries()
        # what it was of, or was the conflict file of
        if (page := parse_path(page_of_conflict(entry.path) or entry.path))
        if page[0] in names or _late(known, page[0]) == late
    )
    trashed = _trashed(trash, mine)
    in_trash = {one.text for one in trashed}
    dated: list[tuple[float, Version]] = []
    now = time.time()
    for name in dict.fromkeys((slug, late)):
        since = 0.0
        # they are in their order, also where the clock was behind for a while
        for row in reversed(known.replaced(name, is_of_wiki=True)):
            since = max(since, row.at) if row.at <= now else since
            # of the wiki's texts those that no file here had are in the trash, too
            if row.written or row.replaced not in in_trash:
                version = Version(row.at, REPLACED, row.replaced, row.format)
                dated.append((max(since, row.at), version))
    dated += [(one.at or 0.0, one) for one in reversed(trashed)]
    found = [version for _, version in sorted(dated, key=itemgetter(0))[::-1]]
    if text is not None:
        found.insert(0, Version(None, LAST_SYNC, text, page_format))
    # a restore keeps what it replaces in the trash and beside the base
    kept = found[:1]
    for one in found[1:]:
        if (one.text, one.is_conflict) != (kept[-1].text, kept[-1].is_conflict):
            kept.append(one)
    return kept


def _late(known: WikiState, slug: Slug) -> Slug:
    """What the service called a page of this name; itself where one is there."""
    given = given_name(slug)
    return slug if known.base().keys() & {slug, given} else given


def _trashed(trash: Trash, entries: Iterable[tuple[Trashed, Format]]) -> list[Version]:
    found: list[Version] = []
    for entry, page_format in entries:
        try:
            text = decode_page(trash.read(entry), entry.path)
        except (errors.NotFound, errors.FolderError):
            continue  # purged a moment ago, or no file any more
        if isinstance(text, str):
            is_conflict = page_of_conflict(entry.path) is not None
            where = f"{'conflict file' if is_conflict else 'trash'}: {entry.why}"
            found.append(Version(entry.at, where, text, page_format, is_conflict))
    return found


async def bring_back(
    local: LocalReplica,
    known: WikiState,
    slug: Slug,
    version: Version,
    current: Page | None,
) -> None:
    """Write the file; what is in it now is kept first, or PreconditionFailed raised."""
    now = time.time()
    page_format = version.format if current is None else current.format
    page = Page(slug, page_format, version.text)
    await put_back(local, known, page, current, now, why="replaced by a restore")
    known.note(now, slug, f"restore {slug} as it was {when(version)}")


def when(version: Version) -> str:
    """Until when it was the page's text, as the end of a sentence."""
    if version.revision and version.at is not None:
        return f"in revision {version.revision} of {local_time(version.at)}"
    if version.at is None:
        return "after the last sync"
    return f"until {local_time(version.at)}"


# -- revisions of the wiki's history -----------------------------------------------


FOLDER = "history"
DIGITS = 8
DIGITS_MIN = 4


class Revisions(Struct, frozen=True):
    """What the history of a wiki tells of one page."""

    rows: Sequence[versions.Version]
    """The newest first, also under its earlier names."""
    since: int
    """Nothing before is known; 0 where everything is."""
    texts: Path

    def line_counts(self, row: versions.Version) -> tuple[int, int]:
        """Lines that a revision added and removed."""
        return line_counts(self.texts, row.old, row.blob) or (0, 0)


async def read_revisions(
    opened: OpenWorkspace, section: WikiSection, slug: Slug, credentials: Credentials
) -> Revisions:
    """The revisions of a page that is in the wiki, or was; else UsageError."""
    cache = opened.workspace.private / CACHE_FOLDER / FOLDER
    async with credentials.open(opened.workspace) as client:
        found = await find_wiki(opened.state, client, section)
        repository = RemoteRepository(client, found.owner, cache)
        known = await repository.versions(versions.UNKNOWN)
    rows = versions.versions_of(known, slug)
    if not rows:
        raise UsageError(
            f"the history of the wiki has no page {section.folder}/{slug}",
            hint="give the name that it has on the wiki",
        )
    return Revisions(rows, known.since, cache / known.texts)


async def read_revision(
    opened: OpenWorkspace,
    section: WikiSection,
    slug: Slug,
    revision: str,
    credentials: Credentials,
) -> Version:
    """The text of a page as the revision left it that begins so."""
    from wikisync.core.git_log import read_blobs

    revisions = await read_revisions(opened, section, slug, credentials)
    base = opened.known(section).base().get(slug)
    page_format = base.format if base else Format.MARKDOWN
    is_named = len(revision) >= DIGITS_MIN
    start = revision.lower()
    found = [r for r in revisions.rows if is_named and r.commit.startswith(start)]
    if len(found) != 1:
        raise UsageError(
            f"{revision} names {'no' if not found else 'more than one'} revision of the"
            " page",
            hint="list its revisions with wikisync log PAGE --revisions",
        )
    (row,) = found
    (text,) = await asyncio.to_thread(read_blobs, revisions.texts, [row.blob])
    if text is None:
        raise UsageError(
            f"the page has no text in revision {row.commit[:DIGITS]}",
            hint="name the revision before it",
        )
    by = f" by {row.author}" if row.author else ""
    where = f"revision {row.commit[:DIGITS]}{by}"
    return Version(row.at, where, text, page_format, revision=row.commit[:DIGITS])

"""Pages brought back: one to an earlier text, or all to what they were at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from wikisync.config import WikiSection
from wikisync.errors import FolderError, PreconditionFailed, UsageError, WikisyncError
from wikisync.folder.trash import Trash, Trashed
from wikisync.model import Format, Page, Slug, Snapshot
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import BasePage
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.named import named_page, refuse_unknown
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.times import local_time
from wikisync.workspace.versions import (
    Version,
    bring_back,
    current_page,
    given_name,
    trash_of,
    trashed,
    was_page,
)


class Earlier(Struct, frozen=True):
    """A page that is not what it was, and what it was."""

    section: WikiSection
    slug: Slug
    version: Version
    current: Page | None
    """What its file says now; None where there is none."""
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
) -> tuple[Sequence[Earlier], Mapping[str, WikisyncError]]:
    """Bring back every page of a workspace, or below a directory in it.

    Args:
        workspace: Which one.
        scope: A wiki, a directory in one or a page; all wikis for None.
        since: In seconds since the epoch.
        is_real: False to find out only what would be done.

    Returns:
        The pages that were brought back, or would be; and by their names those that
        cannot be, with wikis that cannot be read.
    """
    failed: dict[str, WikisyncError] = {}
    with open_workspace(workspace, is_held=False) as opened:
        found = await _found(opened, _scopes(workspace, scope), since, failed)
        done = await _restored(opened, found, failed) if is_real else found
    return done, failed


def _scopes(
    workspace: ConfiguredWorkspace, scope: str | None
) -> Mapping[WikiSection, str]:
    """The wikis that are meant, each with the directory in it; empty for all of it."""
    if scope is None:
        return dict.fromkeys(workspace.config.wikis, "")
    if section := workspace.wiki_at(scope):
        return {section: ""}
    section, slug = named_page(workspace, scope)
    return {section: slug}


async def _found(
    opened: OpenWorkspace,
    scopes: Mapping[WikiSection, str],
    since: float,
    failed: dict[str, WikisyncError],
) -> Sequence[Earlier]:
    """Every page that is not what it was; wikis that cannot be read have failed."""
    found: list[Earlier] = []
    for section, below in scopes.items():
        try:
            wiki = await _ChangedWiki.read(opened, section, since)
        except FolderError as error:
            failed[section.folder] = error  # its disk may be away
            continue
        local = opened.local(section)
        files = {page: file for file, page in wiki.aliases.items()}
        for slug, version in sorted(wiki.versions(), key=lambda pair: pair[0]):
            if below and not f"{slug}/".startswith(f"{below}/"):
                continue
            try:
                current = await current_page(local, slug)
            except FolderError as error:
                failed[f"{section.folder}/{slug}"] = error
                continue
            if current is None or current.content != version.text:
                file = files.get(slug, slug)
                found.append(Earlier(section, slug, version, current, file))
    return found


class _ChangedWiki(Struct, frozen=True):
    """What is known of one wiki, and what its folder holds now."""

    known: WikiState
    trash: Trash
    since: float
    base: Mapping[Slug, BasePage]
    aliases: Mapping[Slug, Slug]
    there: Snapshot
    missing: frozenset[Slug]
    """Pages that both sides agreed on and that have no file now, nor were renamed."""

    @classmethod
    async def read(
        cls, opened: OpenWorkspace, section: WikiSection, since: float
    ) -> _ChangedWiki:
        """Read the folder of a wiki.

        Raises:
            FolderError: it cannot be read.
        """
        known, local = opened.known(section), opened.local(section)
        # before the snapshot, which forgets those of files that are gone
        aliases, base = known.aliases(), known.base()
        there = await local.snapshot()
        gone = [page for slug, page in base.items() if slug not in there.pages]
        ignored = await local.untracked((page.slug, page.format) for page in gone)
        new = [page for slug, page in there.pages.items() if slug not in base]
        renamed = {page.digest for page in new}
        identities = {page.identity for page in new if page.identity}
        missing = frozenset(
            page.slug
            for page in gone
            if page.slug not in ignored
            if page.local not in renamed and page.local_identity not in identities
        )
        trash = trash_of(opened, section)
        return cls(known, trash, since, base, aliases, there, missing)

    def versions(self) -> Iterator[tuple[Slug, Version]]:
        """What each page was that was removed or replaced since, and may be again."""
        removed, replaced = self._removed(), self._replaced()
        for slug in removed.keys() | replaced.keys():
            both = [kept[slug] for kept in (removed, replaced) if slug in kept]
            # texts that a rename left behind are of a page that has another name now
            if slug in self.there.pages or slug in removed or slug in self.missing:
                yield slug, min(both, key=lambda one: one.at or 0.0)
        seen = self.known.sightings(Side.LOCAL)
        for slug in self.missing - removed.keys() - replaced.keys():
            text = self.known.text(slug)
            is_late = slug not in seen or seen[slug].first_at >= self.since
            if text is not None and is_late:
                page_format = self.base[slug].format
                yield slug, Version(None, "the last sync", text, page_format)

    def _removed(self) -> Mapping[Slug, Version]:
        """The oldest text of each page that came to the trash since."""
        oldest: dict[Slug, Trashed] = {}
        for entry in self.trash.entries():
            name = entry.slug
            if entry.at >= self.since and was_page(entry) and name is not None:
                oldest[self._page(name)] = entry
        found = {slug: trashed(self.trash, [one]) for slug, one in oldest.items()}
        return {slug: texts[0] for slug, texts in found.items() if texts}

    def _page(self, name: Slug) -> Slug:
        """The page of a file's name, also where the file and its alias are gone."""
        slug = self.aliases.get(name, name)
        is_there = slug in self.there.pages or slug in self.base
        return slug if is_there else given_name(slug)

    def _replaced(self) -> Mapping[Slug, Version]:
        """The oldest text of each page that was replaced since."""
        found: dict[Slug, Version] = {}
        for slug in self.known.replaced_since(self.since):
            texts = [one for one in self.known.replaced(slug) if one.at >= self.since]
            page_format = self.base[slug].format if slug in self.base else None
            where = "replaced by a sync or a restore"
            found[slug] = Version(
                texts[-1].at, where, texts[-1].replaced, page_format or Format.MARKDOWN
            )
        return found


async def _restored(
    opened: OpenWorkspace, found: Sequence[Earlier], failed: dict[str, WikisyncError]
) -> Sequence[Earlier]:
    """Bring the pages back; one that cannot be does not stop the others."""
    sections = dict.fromkeys(one.section for one in found)
    locals_ = {section: opened.local(section) for section in sections}
    done: list[Earlier] = []
    for one in found:
        local, known = locals_[one.section], opened.known(one.section)
        if one.file != one.slug:
            known.record_alias(one.file, one.slug)
        try:
            await bring_back(local, known, one.slug, one.version, one.current)
        except (FolderError, PreconditionFailed) as error:
            failed[one.name] = error
        else:
            done.append(one)
    return done


async def find_page(
    opened: OpenWorkspace, section: WikiSection, named: Slug
) -> tuple[Slug, Page | None]:
    """The page that a person names, and what its file says.

    Raises:
        FolderError: there is something in its scope that is no text.
    """
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
    """Refuse a page that has no file here and is in no record of a sync.

    Raises:
        UsageError: it is so.
    """
    slug, current = await find_page(opened, section, named)
    if current is None and slug not in opened.known(section).base():
        refuse_unknown(section, [named])


def chosen_version(
    versions: Sequence[Version], current: Page | None, at: float | None, name: str
) -> Version:
    """The text that is meant.

    Raises:
        UsageError: there is none.
    """
    text = None if current is None else current.content
    if at is None:
        found = [one for one in versions if one.text != text]
    else:
        # the oldest of those that were replaced after that time stood there then
        found = [one for one in versions if one.at is None or one.at >= at][-1:]
    if not found:
        raise UsageError(
            f"there is no other saved text of {name}"
            + (f" from {local_time(at)} or later" if at is not None else ""),
            hint="use --list to see the saved texts, and the page's history on the"
            " wiki",
        )
    if found[0].text == text:
        raise UsageError(
            f"{name} already has that text", hint="use --list to see the saved texts"
        )
    return found[0]

"""The public Python API above the client: what ``from wikisync import`` gives.

The functions block until their work is done and run an event loop of their own; call
them in a thread from code that has one (``asyncio.to_thread``).  What waits for a
person is in their results; what cannot go on is a ``wikisync.errors.WikisyncError``
with a ``message`` and a ``hint``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from wikisync.core.messages import Messages, Progress
from wikisync.core.model import Problem, WikiOwner
from wikisync.errors import WikisyncError
from wikisync.site.model import SiteOptions
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import describe
from wikisync.workspace import cloning, configured, exporting, sync_run
from wikisync.workspace.attention import waiting_sentences
from wikisync.workspace.discovery import Selection, find_wikis
from wikisync.workspace.opening import Synced
from wikisync.workspace.service import TOKEN_VARIABLE, URL_VARIABLE, Credentials

DIRECTIONS: Mapping[str, Direction] = {
    "both": Direction.BOTH,
    "pull": Direction.PULL,
    "push": Direction.PUSH,
}


class Workspace:
    """A workspace folder: ``wikisync.toml`` and one folder for each wiki."""

    def __init__(self, folder: str | os.PathLike[str] = ".") -> None:
        """Find the workspace that a folder is, or lies in.

        Raises:
            UsageError: the folder is in no workspace.
            ConfigError: its ``wikisync.toml`` is wrong, or names no wiki.
        """
        self._found = configured.find_workspace(Path(folder))

    @property
    def root(self) -> Path:
        """The folder that holds ``wikisync.toml``; absolute."""
        return self._found.root

    @property
    def wikis(self) -> tuple[str, ...]:
        """The folders of its wikis, relative to the root, in the configured order."""
        return tuple(wiki.folder for wiki in self._found.config.wikis)

    @property
    def service_url(self) -> str:
        """The base URL of the service that its wikis belong to."""
        return self._found.config.service.url

    def sync(
        self,
        pages: Sequence[str] = (),
        *,
        token: str | None = None,
        direction: Literal["both", "pull", "push"] = "both",
        adopt: Literal["push", "hold"] = "hold",
        is_dry_run: bool = False,
    ) -> SyncResult:
        """Sync it once, as ``wikisync sync`` does; see ``sync``."""
        request = sync_run.SyncRequest(
            direction=DIRECTIONS[direction], adopt=adopt, is_dry_run=is_dry_run
        )
        run = asyncio.run(
            sync_run.sync_workspace(self._found, pages, request, _credentials(token))
        )
        return SyncResult(
            wikis=tuple(map(_synced, run.wikis)), problems=tuple(run.problems)
        )


class WikiResult(Struct, frozen=True):
    """What a sync did with one wiki."""

    folder: str
    """Relative to the root of the workspace."""
    path: str
    """Full path of the project or group on the service."""
    pages: int
    """Pages of the wiki after the sync; 0 where it was not read."""
    actions: tuple[str, ...]
    """The lines of the plan: what was done, or would be done in a dry run."""
    waiting: tuple[str, ...]
    """One sentence for each page or batch that needs a person's decision."""
    problems: tuple[Problem, ...]
    error: WikisyncError | None
    """Why the wiki could not be synced; None where it was."""
    is_paused: bool


class SyncResult(Struct, frozen=True):
    """What one sync of a workspace did."""

    wikis: tuple[WikiResult, ...]
    """In order; where the service went away, those after it are missing."""
    problems: tuple[Problem, ...]
    """Problems of the workspace, which are no single wiki's."""

    @property
    def is_in_sync(self) -> bool:
        """Whether nothing failed, and nothing waits for a person."""
        return not self.problems and not any(
            wiki.error or wiki.waiting or wiki.problems for wiki in self.wikis
        )


class CloneResult(Struct, frozen=True):
    """What one clone did."""

    workspace: Workspace
    wikis: tuple[str, ...]
    """Full paths of the wikis that are in it, in its order."""
    pages: int
    problems: tuple[Problem, ...]


class ExportResult(Struct, frozen=True):
    """What one export did."""

    index: Path
    """The site's first page."""
    wikis: tuple[str, ...]
    """Full paths of the wikis that were read for the site."""
    pages: int
    written: int
    """Files that were written; those that were the same are left alone."""
    broken_links: tuple[str, ...]
    """``wiki: page: link`` for each link of the site that leads nowhere."""
    problems: tuple[Problem, ...]


def sync(
    workspace: Workspace | str | os.PathLike[str],
    pages: Sequence[str] = (),
    *,
    token: str | None = None,
    direction: Literal["both", "pull", "push"] = "both",
    adopt: Literal["push", "hold"] = "hold",
    is_dry_run: bool = False,
) -> SyncResult:
    """Sync a workspace once, as ``wikisync sync`` does.

    Interrupted, it leaves complete files; the next sync goes on from there.

    Args:
        workspace: A workspace, or a folder that is one or lies in one.
        pages: Files of pages, ``FOLDER/SLUG``, or folders of wikis; all for none.
        token: For the service; None for ``WIKISYNC_TOKEN``, or what the workspace's
            configuration names.
        direction: ``pull`` writes nothing to the wikis, ``push`` nothing to folders.
        adopt: What a first sync does with pages that are only local: upload them, or
            hold them.
        is_dry_run: Find out what would be done, and change nothing.

    Raises:
        Unagreed: the user has not agreed to the workspace's configuration.
        UsageError: a page is of no wiki, or the token cannot be read.
        FolderError: another process holds the workspace, or it cannot be used.
        Halted: its folder is not the one that was synced.
    """
    opened = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
    return opened.sync(
        pages, token=token, direction=direction, adopt=adopt, is_dry_run=is_dry_run
    )


def wikis(
    url: str,
    *,
    projects: Sequence[str] = (),
    groups: Sequence[str] = (),
    is_all: bool = False,
    excluded: Sequence[str] = (),
    token: str | None = None,
) -> tuple[WikiOwner, ...]:
    """The wikis that the arguments name, as ``clone`` and ``export`` find them.

    Raises:
        UsageError: no wiki is selected.
        RemoteError: the service is away, or a named one is not available.
    """

    async def found() -> tuple[WikiOwner, ...]:
        async with client:
            return tuple(one.owner for one in (await find_wikis(client, named)).wikis)

    selection = Selection(tuple(projects), tuple(groups), is_all, tuple(excluded))
    client, named = _credentials(token).open_selected(url, selection)
    return asyncio.run(found())


def clone(
    url: str,
    folder: str | os.PathLike[str],
    *,
    projects: Sequence[str] = (),
    groups: Sequence[str] = (),
    is_all: bool = False,
    excluded: Sequence[str] = (),
    token: str | None = None,
    allow_emptying: bool = False,
) -> CloneResult:
    """Copy wikis into a new workspace, or update it, as ``wikisync clone`` does.

    Interrupted, it leaves a workspace that the next clone finishes.

    Args:
        url: The service, or the address of a wiki, project or group there.
        folder: Of the workspace: a new or empty one, or an earlier clone of the same.
        projects: Full paths of projects whose wikis are meant.
        groups: Full paths of groups whose wikis are meant.
        is_all: With groups: all wikis below them; alone: every wiki that the token
            can see.
        excluded: Paths whose wikis, and those below them, are left out.
        token: None for ``WIKISYNC_TOKEN``; without one only public wikis are read.
        allow_emptying: Whether local pages may go even if most of a wiki is gone.

    Raises:
        UsageError: no wiki is selected.
        FolderError: there is something else in the folder.
        RemoteError: the service is away, or a named wiki is not available.
    """
    selection = Selection(tuple(projects), tuple(groups), is_all, tuple(excluded))
    client, selection = _credentials(token).open_selected(url, selection)
    pulled = asyncio.run(
        cloning.clone(
            client,
            selection,
            Path(folder),
            allow_emptying=allow_emptying,
            progress=Progress(),
        )
    )
    return CloneResult(
        workspace=Workspace(folder),
        wikis=tuple(one.wiki.owner.full_path for one in pulled.wikis),
        pages=sum(one.pages for one in pulled.wikis),
        problems=pulled.problems,
    )


def export(
    url: str,
    output: str | os.PathLike[str],
    *,
    projects: Sequence[str] = (),
    groups: Sequence[str] = (),
    is_all: bool = False,
    excluded: Sequence[str] = (),
    token: str | None = None,
    title: str | None = None,
    theme: str = exporting.DEFAULT_THEME,
    theme_options: Mapping[str, object] | None = None,
    cache: str | os.PathLike[str] | None = None,
    allow_emptying: bool = False,
) -> ExportResult:
    """Make a static website of wikis, or update it, as ``wikisync export`` does.

    Interrupted, it leaves the site as it was.

    Args:
        url: The service, or the address of a wiki, project or group there.
        output: Folder of the site: a new folder, or an earlier export.
        projects: Full paths of projects whose wikis are meant.
        groups: Full paths of groups whose wikis are meant.
        is_all: With groups: all wikis below them; alone: every wiki that the token
            can see.
        excluded: Paths whose wikis, and those below them, are left out.
        token: None for ``WIKISYNC_TOKEN``; without one only public wikis are read.
        title: Of the site; None for the title of the wiki.
        theme: A theme's name, or the path of its folder.
        theme_options: Values for the options of the theme.
        cache: Folder for data that speeds up the next export; None for a folder below
            the user's cache.
        allow_emptying: Whether the site may lose most of a wiki, or all of it.

    Raises:
        UsageError: no wiki is selected, or the site would lose one.
        RemoteError: the service is away, or a named wiki is not available.
        SiteError: the theme or the output folder cannot be used.
        FolderError: the cache cannot be used.
    """
    request = exporting.ExportRequest(
        url=url,
        output=Path(output),
        selection=Selection(tuple(projects), tuple(groups), is_all, tuple(excluded)),
        site=SiteOptions(
            title=title or "", theme=theme, theme_options=theme_options or {}
        ),
        cache=None if cache is None else Path(cache),
        allow_emptying=allow_emptying,
    )
    exported = exporting.export_wikis(request, _credentials(token))
    report = exported.report
    return ExportResult(
        index=exported.index,
        wikis=tuple(one.wiki.owner.full_path for one in exported.pulled.wikis),
        pages=report.pages,
        written=report.written,
        broken_links=tuple(
            f"{link.wiki}: {link.slug}: {link.href}" for link in report.broken_links
        ),
        problems=exported.problems,
    )


def _credentials(token: str | None) -> Credentials:
    """Those of the process, with a token that the caller gives in front."""
    own = {} if token is None else {TOKEN_VARIABLE: token, URL_VARIABLE: ""}
    return Credentials(Messages(), env={**os.environ, **own})


def _synced(wiki: Synced) -> WikiResult:
    folder = wiki.section.folder
    return WikiResult(
        folder=folder,
        path=wiki.section.path,
        pages=wiki.last.pages if wiki.results else 0,
        actions=tuple(
            describe(action)
            for result in wiki.results
            for action in result.plan.actions
        ),
        waiting=tuple(waiting_sentences(wiki)),
        problems=wiki.problems,
        error=wiki.failure,
        is_paused=wiki.paused is not None,
    )

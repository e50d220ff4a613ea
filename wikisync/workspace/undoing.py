"""Taking the last sync back: what it would do, and a person's decision on it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from wikisync.config import WikiSection
from wikisync.errors import SyncError, UsageError, command_line
from wikisync.folder.workspace import holder_of
from wikisync.messages import Messages
from wikisync.sync.base.steps import LastSync
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.run.options import CycleOptions
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.service import open_service
from wikisync.workspace.syncing import Synced, WikiCycles
from wikisync.workspace.times import local_time


class PlannedUndo(Struct, frozen=True):
    """A sync to take back, and what that would do."""

    section: WikiSection
    sync: LastSync
    synced: Synced
    """Of the dry run."""


async def planned_undo(
    messages: Messages,
    workspace: ConfiguredWorkspace,
    wiki: str | None,
    token_file: Path | None,
    env: Mapping[str, str],
) -> PlannedUndo | None:
    """What would be done; None where no sync is remembered.

    Raises:
        UsageError: the workspace has no such wiki, or it is paused.
        WikisyncError: the wiki cannot be scanned.
    """
    with open_workspace(workspace, is_read_only=True) as opened:
        found = last_sync(opened, workspace.wikis([wiki] if wiki else ()))
        if found is None:
            return None
        section, sync = found
        if opened.known(section).memory.paused is not None:
            raise UsageError(
                f"{section.folder} is paused, and an undo is a sync",
                hint=f"go on with it first: {command_line('resume', section.folder)}",
            )
        refuse_running(workspace, opened, section)
        # in the copied state: the dry run finds that it is wanted
        opened.known(section).undo(sync.number)
        options = CycleOptions(pages=sync.names)
        async with open_service(workspace, token_file, messages, env) as client:
            work = WikiCycles(opened, section, client, options)
            await work.cycle()
    return PlannedUndo(section, sync, work.synced)


def last_sync(
    opened: OpenWorkspace, wikis: Sequence[WikiSection]
) -> tuple[WikiSection, LastSync] | None:
    """The wiki that a sync changed last, and that sync; one under way comes first."""
    syncs = [
        (section, sync, known.memory.undoing == sync.number)
        for section in wikis
        for known in (opened.known(section),)
        if (sync := known.sync_of(known.memory.undoing)) is not None
    ]
    latest = max(syncs, key=lambda one: (one[2], one[1].at), default=None)
    return latest and latest[:2]


def refuse_running(
    workspace: ConfiguredWorkspace, opened: OpenWorkspace, section: WikiSection
) -> None:
    """See that the sync to undo has ended.

    One that was killed has ended, too: nobody holds its workspace.

    Raises:
        SyncError: it is still running, and only half of it could be undone.
    """
    is_running = opened.known(section).memory.is_syncing
    if is_running and holder_of(workspace.private) is not None:
        raise SyncError(
            f"a sync of {section.folder} is running",
            hint="when it has ended, run the same command again",
        )


def note_undo(opened: OpenWorkspace, planned: PlannedUndo) -> None:
    """Note that a person wants a sync undone; the next sync of its pages does so.

    Raises:
        SyncError: another sync changed something meanwhile.
    """
    section, sync = planned.section, planned.sync
    known = opened.known(section)
    with known.together():
        last = known.sync_of(known.memory.undoing)
        if last is None or last.number != sync.number:
            raise SyncError(
                f"{section.folder} was synced meanwhile",
                hint=f"check again: {command_line('undo', section.folder)}",
            )
        refuse_running(opened.workspace, opened, section)
        known.undo(sync.number)
        what = f"the user undoes the sync of {local_time(sync.at)}"
        known.note_done(time.time(), NO_SLUG, what)

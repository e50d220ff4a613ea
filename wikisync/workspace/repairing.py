"""Another wiki taken for a folder, and the last sync taken back."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from wikisync.api.settings import ClientSettings
from wikisync.config.sections import WikiSection
from wikisync.core.model import Problem, Snapshot
from wikisync.errors import SyncError, UsageError, WikisyncError, command_line
from wikisync.folder.workspace import holder_of
from wikisync.sync.base.history import LastSync, Step
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.run.parts import CycleOptions
from wikisync.sync.run.undoing import undo_sync
from wikisync.workspace import opening
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.failures import is_of_all
from wikisync.workspace.identity import Located, find_wiki
from wikisync.workspace.rights import ATTEMPTS_MAX
from wikisync.workspace.runner import Runner
from wikisync.workspace.sentences import local_time
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import say_attention


class Adoption(Struct, frozen=True):
    """Another wiki for a folder than before, and what its next sync would do."""

    section: WikiSection
    there: Located
    before: str
    """Which wiki it was; empty for none."""
    is_anew: bool
    """What was agreed on with the other one is forgotten: it is not proven the same."""
    planned: opening.Synced

    def __str__(self) -> str:
        service, _, was = self.before.partition(" ")
        return (
            f"{self.section.folder} was synced with {was} at {service}; from now on"
            f" with {self.there.owner} (id {self.there.id}) at {self.there.service}"
        )


async def planned_adoptions(
    workspace: ConfiguredWorkspace,
    wikis: Sequence[WikiSection],
    credentials: Credentials,
) -> Sequence[Adoption]:
    """The wikis that are others than before, each with the dry run of its next sync."""
    found: list[Adoption] = []
    with opening.open_workspace(
        workspace, is_read_only=True, is_guarded=False
    ) as opened:
        opened.is_adopting = True
        # the others can be of no other wiki than before, so nobody has to be asked
        wikis = [s for s in wikis if s.id is not None or opened.known(s).is_begun]
        if not wikis:
            return ()
        settings = ClientSettings(attempts_max=ATTEMPTS_MAX)
        async with credentials.open(workspace, settings) as client:
            for section in wikis:
                known = opened.known(section)
                before = known.memory.remote_id
                try:
                    there = await find_wiki(opened.state, client, section, adopts=True)
                    is_anew = opened.known(section) is not known
                    is_first = not before and section.id in {None, there.id}
                    if is_first or (there.remote_id == before and not is_anew):
                        continue
                    work = opening.WikiCycles(opened, section, client, CycleOptions())
                    await work.cycle()
                except WikisyncError as error:
                    credentials.messages.warn(
                        f"{section.folder} was not checked: {error.message}"
                    )
                    if await is_of_all(client, error):
                        break
                    continue
                found.append(Adoption(section, there, before, is_anew, work.synced))
    return found


def adopt_workspace(
    workspace: ConfiguredWorkspace,
    adoptions: Sequence[Adoption],
    *,
    allows_network_disk: bool,
) -> None:
    """Take the folders as they are, and these wikis: the next sync deletes nothing."""
    with opening.open_workspace(
        workspace, allows_network_disk=allows_network_disk, adopts=True
    ) as opened:
        for one in adoptions:
            known = opened.known(one.section)
            if one.is_anew:
                known = opened.state.begin_anew(one.section.owner)
            # else the age of the wiki before would ask this one for a proof
            known.remember(
                remote_id=one.there.remote_id, created_at=one.there.created_at
            )
            known.note(time.time(), NO_SLUG, f"the user adopts {one.there.owner}")


class Undo(Struct, frozen=True):
    """A sync that is taken back, or would be."""

    section: WikiSection
    folder: Path
    sync: LastSync
    there: Snapshot
    pages: Mapping[Step, str]
    """Why each of them is left alone; empty for what is taken back."""
    synced: opening.Synced | None = None
    """Of the sync that carries it to the wiki; None where another process does."""

    @property
    def steps(self) -> Sequence[Step]:
        """What is taken back."""
        return [step for step, why in self.pages.items() if not why]

    @property
    def left(self) -> Sequence[Problem]:
        """Pages that are left alone, and how to get at their earlier texts."""
        found = []
        for step, why in self.pages.items():
            name = f"{self.folder}/{step.name}"
            hint = f"see its earlier texts: {command_line('restore', name, '--list')}"
            what = f"it is not undone: {why}"
            if why:
                found.append(Problem("undo-left", step.name, what, hint))
        return found


async def undo(
    workspace: ConfiguredWorkspace,
    wiki: str | None,
    credentials: Credentials,
    *,
    planned: Undo | None = None,
) -> Undo | None:
    """Take the last sync of a wiki back, or of the one that a sync changed last.

    ``planned`` is what a person said yes to; None to find out only what would be done.
    None where no sync is remembered.
    """
    holder = holder_of(workspace.private)
    with opening.open_workspace(
        workspace, is_held=holder is None, is_read_only=planned is None
    ) as opened:
        wikis = (
            [planned.section] if planned else workspace.wikis([wiki] if wiki else ())
        )
        syncs = [
            (section, sync)
            for section in wikis
            if (sync := opened.known(section).last_sync()) is not None
        ]
        if not syncs:
            return None
        section, sync = max(syncs, key=lambda one: one[1].at)
        if planned is not None and sync.number != planned.sync.number:
            raise SyncError(
                f"{section.folder} was synced meanwhile",
                hint=f"check again: {command_line('undo', section.folder)}",
            )
        known, folder = opened.known(section), workspace.folder_of(section)
        if known.memory.paused is not None:
            raise UsageError(
                f"{section.folder} is paused, and an undo is a sync",
                hint=f"go on with it first: {command_line('resume', section.folder)}",
            )
        if holder is not None and known.memory.syncing:
            raise SyncError(
                f"a sync of {section.folder} is running",
                hint="when it has ended, run the same command again",
            )
        now = time.time()
        what = f"the user undoes the sync of {local_time(sync.at)}"
        known.note(now, NO_SLUG, what)
        if planned is not None and holder is not None:
            local, there = opened.local(section), planned.there
            pages = await undo_sync(local, known, sync, there, now)
            return Undo(section, folder, sync, there, pages)
        async with credentials.open(workspace) as client:
            if planned is None:
                both = await opened.synced(client, section)
                there = await both.remote.snapshot()
                pages = await undo_sync(both.local, known, sync, there, now)
                return Undo(section, folder, sync, there, pages)
            work = _UndoneSync(opened, section, client, CycleOptions(pages=sync.names))
            work.last = sync
            with credentials.messages.progress() as progress:
                runner = await Runner.to_rest([work], client, progress, "undo")
            work.synced.failure = runner.wikis[work.name].failure
        credentials.messages.problems(say_attention(opened, [work.synced]))
        return Undo(section, folder, sync, planned.there, work.undone, work.synced)


class _UndoneSync(opening.WikiCycles):
    """The sync of pages that begins with the folder as it was before the last one."""

    last: LastSync
    undone: Mapping[Step, str] = {}

    async def _begin(self, wiki: opening.SyncedWiki) -> None:
        local, there, now = wiki.local, await wiki.remote.snapshot(), time.time()
        self.undone = await undo_sync(local, wiki.known, self.last, there, now)

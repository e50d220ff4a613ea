"""Taking the wikis that are there now, whichever a folder was synced with before."""

import time
from collections.abc import Sequence

from msgspec import Struct

from wikisync.api.settings import ClientSettings
from wikisync.config import WikiSection
from wikisync.errors import WikisyncError
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.run.parts import CycleOptions
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.failures import is_of_all
from wikisync.workspace.identity import Located, RemoteId, find_wiki
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.rights import ATTEMPTS_MAX
from wikisync.workspace.service import Credentials
from wikisync.workspace.syncing import Synced, WikiCycles


class Adoption(Struct, frozen=True):
    """Another wiki for a folder than before, and what its next sync would do."""

    section: WikiSection
    there: Located
    before: RemoteId
    now: RemoteId
    is_anew: bool
    """What was agreed on with the other one is forgotten: it is not proven the same."""
    planned: Synced

    def __str__(self) -> str:
        was = f"{self.before.kind} {self.before.id} at {self.before.service}"
        return (
            f"{self.section.folder} was synced with {was}; from now on with"
            f" {self.there.owner} (id {self.there.id}) at {self.now.service}"
        )


async def planned_adoptions(
    workspace: ConfiguredWorkspace,
    wikis: Sequence[WikiSection],
    credentials: Credentials,
) -> Sequence[Adoption]:
    """The wikis that are others than before, each with the dry run of its next sync."""
    found: list[Adoption] = []
    with open_workspace(workspace, is_read_only=True, is_guarded=False) as opened:
        opened.is_adopting = True
        # the others can be of no other wiki than before, so nobody has to be asked
        wikis = [s for s in wikis if s.id is not None or opened.known(s).is_begun]
        if not wikis:
            return ()
        settings = ClientSettings(attempts_max=ATTEMPTS_MAX)
        async with credentials.open(workspace, settings) as client:
            for section in wikis:
                known = opened.known(section)
                before = RemoteId.parse(known.memory.remote_id)
                try:
                    there = await find_wiki(opened.state, client, section, adopts=True)
                    now = RemoteId.of(client, there.owner, there.id)
                    is_anew = opened.known(section) is not known
                    is_first = before.id is None and section.id in {None, there.id}
                    if is_first or (now == before and not is_anew):
                        continue
                    work = WikiCycles(opened, section, client, CycleOptions())
                    await work.cycle()
                except WikisyncError as error:
                    credentials.messages.warn(
                        f"{section.folder} was not checked: {error.message}"
                    )
                    if await is_of_all(client, error):
                        break
                    continue
                found.append(
                    Adoption(section, there, before, now, is_anew, work.synced)
                )
    return found


def adopt_workspace(
    workspace: ConfiguredWorkspace,
    adoptions: Sequence[Adoption],
    *,
    allows_network_disk: bool,
) -> None:
    """Take the folders as they are, and these wikis: the next sync deletes nothing."""
    with open_workspace(
        workspace, allows_network_disk=allows_network_disk, adopts=True
    ) as opened:
        for one in adoptions:
            known = opened.known(one.section)
            if one.is_anew:
                known = opened.state.begin_anew(one.section.owner)
            # else the age of the wiki before would ask this one for a proof
            known.remember(remote_id=str(one.now), created_at=one.there.created_at)
            known.note_done(time.time(), NO_SLUG, f"the user adopts {one.there.owner}")

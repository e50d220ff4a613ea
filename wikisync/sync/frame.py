"""How every cycle begins and ends, whichever way it carries texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from wikisync.model import Problem, Snapshot, WikiOwner
from wikisync.sync.flow import plain_errors
from wikisync.sync.identity import other_error
from wikisync.sync.replica import Replica
from wikisync.sync.state import WikiState


def refuse_other(known: WikiState, owner: WikiOwner, remote_id: str, hint: str) -> None:
    """See that the record is of this wiki; the first id that is met is noted.

    Raises:
        Halted: it is of a wiki with another id.
    """
    if remote_id and not known.is_same_wiki(remote_id):
        raise other_error(owner, known.remote_id, remote_id, hint)


async def look(local: Replica, remote: Replica) -> tuple[Snapshot, Snapshot]:
    """Look at both sides at once."""
    with plain_errors():
        async with asyncio.TaskGroup() as group:
            here = group.create_task(local.snapshot())
            there = group.create_task(remote.snapshot())
    return here.result(), there.result()


def note_health(
    known: WikiState,
    problems: Sequence[Problem],
    there: Snapshot,
    *,
    started_at: float,
    now: float,
) -> None:
    """Note how a cycle went; it was good where all was seen and nothing failed."""
    health = known.health()
    is_good = not problems and there.is_complete
    known.record_health(
        replace(
            health,
            last_started_at=started_at,
            last_good_at=now if is_good else health.last_good_at,
            problem=str(problems[0]) if problems else "",
        )
    )


def remember_tag(known: WikiState, there: Snapshot) -> None:
    """Note the wiki's mark if the base is exactly what it stands for."""
    if there.is_remembered or there.tag == known.remote_tag:
        return  # a base that changed since has lost its mark with that change
    agreed = known.remote_pages()
    known.remember_remote_tag(there.tag if agreed == there.pages else "")

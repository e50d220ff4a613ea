"""How every cycle begins and ends, whichever way it carries texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from wikisync.model import Problem, Snapshot, WikiOwner
from wikisync.sync.flow import plain_errors
from wikisync.sync.replica import Replica
from wikisync.sync.state import WikiState


def replaced_wiki(owner: WikiOwner) -> Problem:
    """What is said where the service's id is another one than last time."""
    return Problem(
        "wiki-replaced",
        str(owner),
        "another wiki than last time has this path; nothing was removed for it",
        "see whether the files here belong to the new wiki",
    )


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
    if there.tag == known.remote_tag:
        return
    agreed = known.remote_pages()
    known.remember_remote_tag(there.tag if agreed == there.pages else "")

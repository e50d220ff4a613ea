"""Absence is not deletion: asking again before a missing page counts as deleted.

A list can be wrong (a storage error is ``200 []``, Q1),
so a page that the base knows and the list lacks is read once: only "not found"
confirms it, and a page that the list does hold must still answer, or the service
answers "not found" to everything.  What is not confirmed makes the snapshot
incomplete, and an incomplete snapshot deletes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wikisync.errors import NotFound, RemoteError
from wikisync.model import Problem, Slug, Snapshot
from wikisync.sync.flow import each
from wikisync.sync.plan import BasePage
from wikisync.sync.replica import Replica
from wikisync.sync.safety import removals_max

CONTROL_READS_MAX = 3
"""Listed pages that are tried before the service counts as out of order."""


async def confirm_absences(
    remote: Replica,
    seen: Snapshot,
    base: Mapping[Slug, BasePage],
    *,
    reads_max: int,
) -> Snapshot:
    """The snapshot as far as it can be believed.

    A wiki that is suddenly empty is listed a second time.  So many absences that
    the brake stops them anyway are not asked for one by one: one is enough.
    """
    missing = _missing(seen, base)
    if not missing:
        return seen
    if not seen.pages and (again := await remote.snapshot()).pages:
        return _doubted(again, missing[0], "the wiki listed no pages, then some")
    asked = missing if len(missing) <= removals_max(len(base)) else missing[:1]
    liar = await still_there(remote, asked, reads_max=reads_max)
    if liar is not None:
        return _doubted(seen, liar, "missing from the wiki's list, but readable")
    if seen.pages and not await is_answering(remote, seen):
        return _doubted(seen, missing[0], "the wiki finds no page, even those it lists")
    return seen


def _missing(seen: Snapshot, base: Mapping[Slug, BasePage]) -> Sequence[Slug]:
    if not seen.is_complete:
        return ()
    return sorted(base.keys() - seen.pages.keys() - seen.unreadable)


async def still_there(
    remote: Replica, slugs: Sequence[Slug], *, reads_max: int
) -> Slug | None:
    """A slug that the service does not deny, or None where it denies all."""
    found: list[Slug] = []

    async def ask(slug: Slug) -> None:
        try:
            await remote.read(slug)
        except NotFound:
            return
        except RemoteError:
            pass  # no answer is no denial
        found.append(slug)

    await each(slugs, ask, in_flight=reads_max)
    return min(found, default=None)


async def is_answering(remote: Replica, seen: Snapshot) -> bool:
    """Whether a page that must exist can be read.

    More than one is tried, because a case twin is never found under its own slug.
    """
    known = sorted(seen.pages, key=lambda slug: (slug.count("/"), slug))
    for slug in known[:CONTROL_READS_MAX]:
        try:
            await remote.read(slug)
        except RemoteError:
            continue
        return True
    return False


def _doubted(seen: Snapshot, slug: Slug, message: str) -> Snapshot:
    problem = Problem(
        "absence-doubted",
        slug,
        f"{message}; nothing was removed",
        "run it again later; if it persists, check the service",
    )
    return replace(seen, is_complete=False, problems=(*seen.problems, problem))

"""How every cycle begins and ends, and what it writes into the log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from wikisync.core.model import Page, Problem, Slug, Snapshot
from wikisync.core.system.parallel import plain_errors
from wikisync.errors import FolderError, NotFound
from wikisync.sync.base.memory import PAGES_AGAIN_MAX
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.decided import (
    Decided,
    given_names,
    has_texts_to_send,
    is_saved_enough,
)
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.decide.plan import BasePage, Plan, describe
from wikisync.sync.run.parts import EVENTS_EACH_MAX, Confirm, Cycle

LASTING = frozenset(
    {
        "conflict-stray",
        "folder-left-out",
        "name-hidden",
        "page-copy",
        "page-in-uploads",
        "page-listed-twice",
        "page-malformed",
        "page-not-text",
        "page-not-utf-8",
        "page-refused",
        "page-shadowed",
        "page-unreadable",
        "page-unwritable",
    }
)
"""Problems of one page, which stay until somebody changes that page."""


def note_writes(cycle: Cycle, plan: Plan, *, is_first: bool) -> None:
    """Log what came from the wiki; a clone, and many pages at once, in one line."""
    known, now = cycle.state, cycle.clock()
    base = known.base()
    done = [
        write
        for write in plan.writes
        if write.slug in base and base[write.slug].remote == write.remote
    ]
    if len(done) > EVENTS_EACH_MAX or (done and is_first):
        known.note_done(now, NO_SLUG, f"{len(done)} pages came from the wiki")
    elif done:
        with known.together():
            for write in done:
                known.note_done(now, write.slug, describe(write))


async def scan(
    cycle: Cycle, confirm: Confirm | None = None
) -> tuple[Snapshot, Snapshot]:
    """Scan both sides; of the folder only what was saved, if that is enough.

    The one place that decides so.  Whatever is more than new texts of known pages here,
    or waits since an earlier cycle, takes a whole scan, and so does any news of the
    wiki; what earlier cycles of ours wrote there is none.

    Args:
        cycle: What it works with.
        confirm: Asked while the wiki answers where there is something to send; what
            else a cycle does takes the wiki's answer first.
    """
    options, state = cycle.options, cycle.state
    is_whole = options.folder.is_new or state.memory.troubles
    here = None
    if options.saved is not None and not is_whole:
        here = await cycle.local.saved(options.saved)
    if here is None:
        return await _scan_both(cycle, confirm)
    there = await cycle.remote.snapshot()
    if not is_saved_enough(state.base(), here, there):
        here = await cycle.local.snapshot()
    return here, there


async def _scan_both(
    cycle: Cycle, confirm: Confirm | None
) -> tuple[Snapshot, Snapshot]:
    """Scan both sides at once."""

    async def scan_here() -> Snapshot:
        seen = await cycle.local.snapshot()
        if confirm is not None and has_texts_to_send(cycle.state.base(), seen):
            await confirm()
        return seen

    with plain_errors():
        async with asyncio.TaskGroup() as group:
            here = group.create_task(scan_here())
            there = group.create_task(cycle.remote.snapshot())
    return here.result(), there.result()


def problems_and_notes(
    cycle: Cycle, found: Sequence[Problem], here: Snapshot
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """What is wrong, and what is only to be named.

    A folder that is left out with pages that were synced before is a problem.
    """
    unseen = cycle.state.base().keys() - here.pages.keys()
    notes = tuple(
        one
        for one in found
        if one.is_note and not any(f"/{_name(one)}" in f"/{slug}" for slug in unseen)
    )
    return tuple(one for one in found if one not in notes), notes


def new_notes(cycle: Cycle, notes: Sequence[Problem]) -> tuple[Problem, ...]:
    """Those that the log does not have yet; it has them then."""
    known = cycle.state
    new = tuple(note for note in notes if not known.events(1, _name(note)))
    for note in new:
        known.note_done(cycle.clock(), _name(note), note.message)
    return new


def _name(note: Problem) -> Slug:
    """That of a folder, as the log has it, which no page has.

    It stands for all folders of this name: a program makes some in every folder.
    """
    return Slug(note.subject.rpartition("/")[2] + "/")


def note_health(
    cycle: Cycle, problems: Sequence[Problem], decided: Decided, started_at: float
) -> None:
    """Note how a cycle went.

    It was good where all was seen and nothing failed but pages that would fail
    again: one that can never be read says nothing of all others.
    """
    health = cycle.state.memory.health
    is_whole = decided.here.is_complete and decided.there.is_complete
    is_good = is_whole and all(one.code in LASTING for one in problems)
    cycle.state.remember(
        health=replace(
            health,
            last_started_at=started_at,
            last_good_at=cycle.clock() if is_good else health.last_good_at,
            problem=str(problems[0]) if problems else "",
        )
    )


def remember_tag(known: WikiState, there: Snapshot) -> None:
    """Note the wiki's mark, and the pages that the base has otherwise.

    Those are pages that this cycle sent, and those that wait for a person.
    """
    if there.is_remembered:
        return  # each page that changed since was noted with its change
    agreed, again = known.remote_pages(), frozenset[Slug]()
    if agreed != there.pages:
        again = frozenset(
            slug
            for slug in agreed.keys() | there.pages.keys()
            if agreed.get(slug) != there.pages.get(slug)
        )
    tag = there.tag if len(again) <= PAGES_AGAIN_MAX else ""
    known.remember(remote_tag=tag, remote_again=again)


async def met_again(
    cycle: Cycle, base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
) -> tuple[Snapshot, Snapshot]:
    """The scans with pages as one that are the same, and whose record was lost.

    A record knew which file is which page where the service writes its name otherwise,
    and which upload a link to a file is.
    """
    names = given_names(base, here, there)
    for file, name in names.items():
        cycle.state.record_alias(file, name)
    if names:
        pages = {names.get(slug, slug): page for slug, page in here.pages.items()}
        pages |= {name: replace(pages[name], slug=name) for name in names.values()}
        busy = {names.get(slug, slug): lock for slug, lock in here.busy.items()}
        here = replace(here, pages=pages, busy=busy)
    new = (here.pages.keys() & there.pages.keys()) - base.keys()
    found: dict[Slug, Page] = {}
    for slug in sorted(new - here.unreadable - there.unreadable):
        theirs = there.pages[slug]
        if cycle.linked is None or here.pages[slug].has_same_text(theirs):
            continue
        text = there.texts.get(slug)
        if text is not None and "uploads/" not in text.content:
            continue  # no file of here has a link in it
        with suppress(NotFound, FolderError):
            page = await cycle.local.read(slug)
            same = await cycle.linked.recognised(page, slug)
            if same is not None:
                found[slug] = same
    if found:
        ids = {slug: there.pages[slug].identity for slug in found}
        states = {slug: page.state(ids[slug]) for slug, page in found.items()}
        pages, texts = {**there.pages, **states}, {**there.texts, **found}
        there = replace(there, pages=pages, texts=texts)
    return here, there

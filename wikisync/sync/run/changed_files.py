"""What becomes of pages whose pictures or other files changed here.

They are sent again, though their texts are what both sides agreed on: the wiki has
another upload then (``linking``).  Where that would undo what somebody did with the
picture on the wiki, or meanwhile here, the page waits for a person instead.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from msgspec.structs import replace

from wikisync.core.mentions import mentioned_attachments
from wikisync.core.model import Page, Slug, Snapshot
from wikisync.errors import NotFound, ProtocolViolation
from wikisync.sync.decide.plan import Action, Hold, HoldReason, Plan, Pull, Push
from wikisync.sync.run.parts import Cycle

log = logging.getLogger(__name__)


def sent_again(
    plan: Plan, outdated: Collection[Slug], here: Snapshot, there: Snapshot
) -> Plan:
    """The plan with these pages sent, of which it says nothing: they are in sync."""
    planned = {action.slug for action in plan.actions}
    more = [
        Push(slug, mine.format, mine.digest, theirs.digest)
        for slug in outdated
        if slug not in planned
        and (mine := here.pages.get(slug))
        and (theirs := there.pages.get(slug))
    ]
    return Plan.from_actions([*plan.actions, *more]) if more else plan


def held_in_other_folder(
    cycle: Cycle, plan: Plan, outdated: Collection[Slug], there: Snapshot
) -> tuple[Plan, Snapshot]:
    """The plan with these pages held, and the scan with their texts as the wiki's.

    In a folder that may be an older copy the picture is the older one as well.  The
    pages are met as new ones, with the link that each side has.
    """
    planned = {action.slug for action in plan.actions}
    pages = (there.pages.keys() & frozenset(outdated)) - planned
    if pages:
        cycle.state.record(dropped=pages)
        texts = {slug: text for slug, text in there.texts.items() if slug not in pages}
        there = replace(there, texts=texts)
    holds = [Hold(slug, HoldReason.CREATED_BOTH) for slug in sorted(pages)]
    return Plan.from_actions([*plan.actions, *holds]), there


async def held_where_both_changed(
    cycle: Cycle, plan: Plan, outdated: Collection[Slug], there: Snapshot
) -> Plan:
    """The plan with pages held whose changed attachment the wiki shows no more.

    Somebody put another one there, and taking that would hide the one of here.
    """
    outcomes: dict[Action, Hold | None] = {}
    for action in plan.actions:
        if not (isinstance(action, Pull) and action.slug in outdated):
            continue
        try:
            theirs = there.texts.get(action.slug)
            theirs = theirs or await cycle.remote.read(action.slug)
        except (NotFound, ProtocolViolation) as error:
            # without its text nothing can be decided; the next cycle tries again
            log.info("%s is left alone: %s", action.slug, error.message)
            outcomes[action] = None
            continue
        if await _hides_a_change(cycle, theirs):
            outcomes[action] = Hold(action.slug, HoldReason.CREATED_BOTH)
    return plan.map(lambda action: outcomes.get(action, action))


async def _hides_a_change(cycle: Cycle, theirs: Page) -> bool:
    mine = mentioned_attachments(cycle.state.text(theirs.slug) or "")
    known = cycle.state.attachments()
    gone = set(mine) - set(mentioned_attachments(theirs.content))
    found = await cycle.local.attachments(gone & known.keys())
    return any(file.digest != known[path].digest for path, file in found.items())

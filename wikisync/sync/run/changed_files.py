"""What becomes of pages whose pictures or other files changed here."""

from __future__ import annotations

import logging

from msgspec.structs import replace

from wikisync.core.mentions import mentioned_attachments
from wikisync.core.model import Page
from wikisync.errors import NotFound, ProtocolViolation
from wikisync.sync.decide.decided import Decided
from wikisync.sync.decide.plan import Action, Hold, HoldReason, Plan, Pull, Push
from wikisync.sync.run.options import FolderMatch
from wikisync.sync.run.parts import Cycle

log = logging.getLogger(__name__)


async def send_changed_files(cycle: Cycle, decided: Decided) -> None:
    """Send pages again whose files changed here, though their texts are agreed on.

    The wiki has another upload then (``linking``).  Where that would undo what somebody
    did with the picture on the wiki, or meanwhile here, the page waits for a person.
    """
    # files beside the pages change by other events, which take a whole scan
    linked = None if decided.here.is_partial else cycle.linked
    outdated = frozenset() if linked is None else await linked.outdated()
    cycle.tally.outdated = outdated
    if not outdated:
        return
    plan, here, there = decided.plan, decided.here, decided.there
    pages = sorted(there.pages.keys() & outdated - {one.slug for one in plan.actions})
    more: list[Action] = []
    outcomes: dict[Action, Hold | None] = {}
    if cycle.options.folder is FolderMatch.OTHER:
        # In a folder that may be an older copy the picture is the older one as well.
        # The pages are met as new ones, with the link that each side has.
        cycle.state.record(dropped=pages)
        texts = {slug: text for slug, text in there.texts.items() if slug not in pages}
        decided.there = replace(there, texts=texts)
        more += [Hold(slug, HoldReason.CREATED_BOTH) for slug in pages]
    else:
        pulls = (one for one in plan.actions if isinstance(one, Pull))
        for pull in (one for one in pulls if one.slug in outdated):
            try:
                theirs = there.texts.get(pull.slug)
                theirs = theirs or await cycle.remote.read(pull.slug)
            except (NotFound, ProtocolViolation) as error:
                # without its text nothing can be decided; the next cycle tries again
                log.info("%s is left alone: %s", pull.slug, error.message)
                outcomes[pull] = None
                continue
            if await _hides_a_change(cycle, theirs):
                outcomes[pull] = Hold(pull.slug, HoldReason.CREATED_BOTH)
        more += [
            Push(slug, mine.format, mine.digest, there.pages[slug].digest)
            for slug in pages
            if (mine := here.pages.get(slug))
        ]
    left = plan.map(lambda action: outcomes.get(action, action))
    decided.plan = Plan.from_actions([*left.actions, *more])


async def _hides_a_change(cycle: Cycle, theirs: Page) -> bool:
    """Whether an attachment that was changed here is shown by the wiki's text no more.

    Somebody put another one there, and taking that would hide the one of here.
    """
    mine = mentioned_attachments(cycle.state.text(theirs.slug) or "")
    known = cycle.state.attachments()
    gone = set(mine) - set(mentioned_attachments(theirs.content))
    found = await cycle.local.attachments(gone & known.keys())
    return any(file.digest != known[path].digest for path, file in found.items())

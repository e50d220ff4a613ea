"""Merging what both sides edited, and what an old editor window saved.

A clean result goes into the folder and is pushed by the next cycle, a clash holds the
page.  A save of a text that we replaced since (``stale``) has that text as ancestor.
Saves that reached a file only after it had been replaced are settled before the scans.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence, Set
from typing import TypeAlias

from msgspec.structs import replace

from wikisync import errors
from wikisync.core import model
from wikisync.merging.conflict import Clash, MergedText, Piece
from wikisync.merging.diff import changes
from wikisync.merging.merge import Parts, kept_share
from wikisync.merging.merge import merge as merge_texts
from wikisync.sync.decide import renames
from wikisync.sync.decide.ledger import Agreed, Replaced
from wikisync.sync.decide.plan import (
    Action,
    Base,
    Hold,
    HoldReason,
    Merge,
    MoveRemote,
    Plan,
    Push,
)
from wikisync.sync.run.parts import Cycle, Decided, MergedPage, on_texts

log = logging.getLogger(__name__)

_WORD = re.compile(r"\w+|\W")
WORDS_MAX = 20_000
"""Words on one side of a change beyond which all of it counts as changed."""
STALE_TEXTS_MAX = 8
"""Replacements of a page that a save is compared with, the newest first."""
WINDOW_S = 3600.0
"""A save is taken for one of an older text only so long after a text was replaced:
whoever takes back what the wiki brought earlier means it."""
LATE_SAVE = (
    "a program kept writing to its file after the file was replaced; the program's text"
    " is in the trash"
)
IN_THE_TRASH = "written by a program while its file was replaced"

Candidate: TypeAlias = Merge | Push | Hold


async def merge(cycle: Cycle, decided: Decided) -> None:
    """Find out what comes of the merges of a plan; write nothing."""
    if not (decided.plan.actions or decided.unmerged):
        return
    # pages whose text is not the one that the plan was made on are taken out of it
    names, outcomes, superseded = _Names(decided.plan), dict[Action, Action](), set()
    merges: dict[model.Slug, MergedPage] = {}
    for action in decided.plan.actions:
        if not isinstance(action, Candidate):
            continue
        if isinstance(action, Hold) and action.reason is not HoldReason.CREATED_BOTH:
            continue
        try:
            merged = await _merged(cycle, decided.there, action, names)
        except (errors.NotFound, errors.FolderError, errors.PreconditionFailed):
            superseded.add(action.slug)
            continue
        if merged is not None:
            merges[action.slug] = merged
            outcomes[action] = _outcome(action, merged)
    plan = decided.plan.map(lambda a: outcomes.get(a, a))
    left = [a for a in plan.actions if a.slug not in superseded]
    decided.plan = Plan.from_actions([*left, *decided.unmerged])
    decided.merges, decided.superseded = merges, frozenset(superseded)


async def names_taken(
    cycle: Cycle,
    base: Base,
    changed: Collection[model.Slug],
    here: model.Snapshot,
    there: model.Snapshot,
) -> tuple[renames.Taken, renames.Taken]:
    """Names that another page has by now, here and on the wiki."""
    # a line that the other side added belongs to the page that had the name
    edited_here = {s for s in changed if _is_edited(here, base[s].local_state)}
    edited_there = {s for s in changed if _is_edited(there, base[s].remote_state)}

    async def theirs(slug: model.Slug) -> model.Page:
        return await cycle.remote_page(slug, there, known="", expected=None)

    doubted = edited_here | (edited_there - here.pages.keys())
    names = renames.names_in_doubt(base, here, doubted, is_wiki=False)
    taken_here = await _taken(cycle, base, names, cycle.local.read, edited_there)
    names = renames.names_in_doubt(base, there, edited_there, is_wiki=True)
    return taken_here, await _taken(cycle, base, names, theirs, edited_here)


def _is_edited(side: model.Snapshot, agreed: model.PageState) -> bool:
    now = side.pages.get(agreed.slug)
    return now is not None and now.digest != agreed.digest


async def _taken(
    cycle: Cycle,
    base: Base,
    names: renames.Names | None,
    read: Callable[[model.Slug], Awaitable[model.Page]],
    edited: Set[model.Slug],
) -> renames.Taken:
    """Names of one side that another page has by now, by the texts."""
    if names is None:
        return renames.NOTHING_TAKEN
    seen: dict[model.Slug, Parts | None] = {
        s: Parts("", base[s].format) for s in names.gone
    }
    new_names = [new for new in names.new if new not in names.likely.values()]

    async def kept(agreed: Parts | None, slug: model.Slug) -> float:
        if slug not in seen:
            try:
                page = await read(slug)
                seen[slug] = Parts(page.content, page.format)
            except (errors.NotFound, errors.FolderError, errors.RemoteError):
                seen[slug] = None  # its turn will say what is wrong
        now = seen[slug]
        if agreed is None or now is None:
            return 1.0
        return await on_texts(lambda: kept_share(agreed, now), agreed.text, now.text)

    found = dict(names.certain)
    for old in sorted((names.old | names.gone) - found.keys()):
        if not (old in names.likely or new_names):
            continue
        text = cycle.state.text(old)
        agreed = None if text is None else Parts(text, base[old].format)
        left = await kept(agreed, old)
        new = names.likely.get(old)
        # into a name that another page had, nobody copies a page
        if new is not None and (new in base or left < renames.HALF):
            found[old] = new
        elif left < renames.LITTLE:
            like = [new for new in new_names if await kept(agreed, new) >= renames.HALF]
            found |= {old: like[0]} if len(like) == 1 and seen[like[0]] else {}
    renamed, circle = renames.without_circles(found, base)
    # who changed places with others is a page like any other where nobody edited one
    doubtful = circle if not circle.isdisjoint(edited) else frozenset[model.Slug]()
    return renames.Taken(renamed, doubtful | ((names.others - renamed.keys()) & edited))


async def _merged(
    cycle: Cycle, there: model.Snapshot, action: Candidate, names: _Names
) -> MergedPage | None:
    """The merge of one page; None for a plain push."""
    slug = action.slug
    record = names.record.get(slug, slug)
    replaced: list[Replaced] = []
    if not isinstance(action, Hold):
        # what really was replaced, and not only about to be when a crash came
        kept = cycle.state.replaced(record, STALE_TEXTS_MAX)
        replaced = [one for one in kept if one.is_written]
    if isinstance(action, Push) and not replaced:
        return None
    mine = await cycle.local.read(names.here.get(slug, slug))
    if not isinstance(action, Hold) and mine.digest != action.local:
        raise errors.PreconditionFailed(f"{mine.slug} was edited here meanwhile")
    text, now = mine.content, cycle.clock()
    stale = await on_texts(lambda: stale_ancestor(text, replaced, now), text)
    base = cycle.state.text(record) or ""
    if isinstance(action, Push) and (stale is None or text == base):
        # what both sides agreed on is sent for its pictures, and is no save
        return None
    theirs = model.Page(slug, mine.format, base)
    if not isinstance(action, Push):
        expected = action.remote if isinstance(action, Merge) else None
        name = names.there.get(slug, slug)
        theirs = await cycle.remote_page(name, there, known=base, expected=expected)
    if isinstance(action, Hold):
        return MergedPage(slug, mine, theirs, await _side_by_side(mine, theirs))
    if stale is not None:
        # The save is an edit of the older text.  Merged with what was written
        # since, it is an edit of the newest one, and the base decides as usual.
        old, new = stale.replaced, replaced[0].written
        repaired = (await _merged_text(old, text, new, action.format)).text
        if repaired is None:
            beside = await _side_by_side(mine, theirs)
            return MergedPage(slug, mine, theirs, beside, stale)
        text = repaired
    result = await _merged_text(base, text, theirs.content, action.format)
    if isinstance(action, Push) and result.text == mine.content:
        return None
    return MergedPage(slug, mine, theirs, result, stale)


async def _merged_text(
    base: str, mine: str, theirs: str, page_format: model.Format
) -> MergedText:
    texts = base, mine, theirs
    return await on_texts(lambda: merge_texts(*texts, page_format=page_format), *texts)


class _Names:
    """Names of pages before the renames of a plan, by their names after them."""

    def __init__(self, plan: Plan) -> None:
        self.here = plan.files
        self.record = plan.records
        self.there: dict[model.Slug, model.Slug] = {}
        for move in plan.moves:
            if isinstance(move, MoveRemote):
                for old, new in move.renamed:
                    self.there[new] = self.there.get(old, old)


def _outcome(action: Candidate, merged: MergedPage) -> Action:
    if merged.result.text is None:
        # of a push the wiki has nothing new
        is_old = isinstance(action, Push)
        reason = HoldReason.EDITED_OLDER if is_old else HoldReason.EDITED_BOTH
        return action if isinstance(action, Hold) else Hold(action.slug, reason)
    if isinstance(action, Hold):
        return action
    is_stale = merged.stale is not None
    return Merge(action.slug, action.format, action.local, action.remote, is_stale)


async def _side_by_side(mine: model.Page, theirs: model.Page) -> MergedText:
    """Two texts without an ancestor, as a merge of which nothing is settled."""
    one, other = mine.content, theirs.content
    return MergedText(
        await on_texts(lambda: tuple(_differences(one, other)), one, other)
    )


def _differences(local: str, remote: str) -> Iterator[Piece]:
    """Two texts without an ancestor: every difference is a clash."""
    mine, theirs = local.splitlines(keepends=True), remote.splitlines(keepends=True)
    done = 0
    for change in changes(mine, theirs):
        if settled := "".join(mine[done : change.old_start]):
            yield settled
        yield Clash(
            "",
            "".join(mine[change.old_start : change.old_end]),
            "".join(theirs[change.new_start : change.new_end]),
        )
        done = change.old_end
    if settled := "".join(mine[done:]):
        yield settled


# -- saves of older texts


def stale_ancestor(
    text: str, replaced: Sequence[Replaced], now: float
) -> Replaced | None:
    """The replacement that a save knows nothing of, or None."""
    # a text that this guard has merged once and that is saved once more is meant
    if not replaced or now - replaced[0].at > WINDOW_S:
        return None
    if any(one.is_stale and one.replaced == text for one in replaced):
        return None
    written = replaced[0].written
    nearest = min(replaced, key=lambda one: _distance(text, one.replaced))
    is_stale = _distance(text, nearest.replaced) < _distance(text, written)
    return nearest if is_stale else None


def _distance(one: str, other: str) -> int:
    """How many characters of either text the other lacks, by lines, then words."""
    # lines alone would take a word mended in a line that came from the wiki for that
    # line added once more: one line away from the old text, two from the new one
    mine, theirs = one.splitlines(), other.splitlines()
    return sum(
        _word_distance(
            "\n".join(mine[change.old_start : change.old_end]),
            "\n".join(theirs[change.new_start : change.new_end]),
        )
        for change in changes(mine, theirs)
    )


def _word_distance(one: str, other: str) -> int:
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    if not mine or not theirs or max(len(mine), len(theirs)) > WORDS_MAX:
        return len(one) + len(other)
    return sum(
        sum(map(len, mine[change.old_start : change.old_end]))
        + sum(map(len, theirs[change.new_start : change.new_end]))
        for change in changes(mine, theirs)
    )


# -- saves that came late


async def take_late_save(cycle: Cycle, late: model.LateSave) -> None:
    """Bring one save into its page, or into the trash, and say so."""
    # one that could not be taken is given again
    try:
        if late.text is None:
            _warn(cycle, late.slug, "find it in .wikisync/trash")
        else:
            await _take_text(cycle, late, late.text)
        await cycle.local.acknowledge(late)
    except errors.PreconditionFailed as error:
        cycle.tally.supersede(late.slug, error)
    except errors.FolderError as error:
        if error.is_of_disk:
            raise
        cycle.tally.fail("page-unwritable", late.slug, error)


async def _take_text(cycle: Cycle, late: model.LateSave, text: str) -> None:
    slug, before = _edited_text(cycle, late)
    try:
        page = await cycle.local.read(slug)
    except errors.NotFound:
        _remember(cycle, slug, text, text)
        known = cycle.state.base().get(slug)
        page = model.Page(slug, known.format if known else model.Format.MARKDOWN, text)
        await cycle.local.write(page, expected=None)
        cycle.tally.merged.append(slug)
        return
    if text == page.content:
        _remember(cycle, slug, text, text)
    elif before is None or not await _merge_late(cycle, page, before, text):
        await cycle.local.keep(slug, text, IN_THE_TRASH)
        _remember(cycle, slug, text, page.content)
        name = f"{cycle.local.name}/{slug}"
        _warn(
            cycle,
            slug,
            f"see it with: {errors.command_line('restore', name, '--list')}",
        )


def _edited_text(cycle: Cycle, late: model.LateSave) -> tuple[model.Slug, str | None]:
    """The page, by the name it has now, and the text that was edited, if known."""
    if late.before is None:
        return late.slug, None
    agreed = cycle.state.text(late.slug)
    if agreed is not None and model.digest_of(agreed) == late.before:
        return late.slug, agreed
    return cycle.state.replaced_text(late.slug, late.before) or (late.slug, None)


async def _merge_late(cycle: Cycle, page: model.Page, before: str, text: str) -> bool:
    """Bring both edits together; False where that is a person's to do."""
    # a page that nobody edited since is taken back to before we replaced its text, and
    # the cycle decides about both edits as if it saw them for the first time
    known = cycle.state.base().get(page.slug)
    is_in_sync = known is not None and known.local == page.digest
    if not is_in_sync:
        late, now = text, page.content
        again = await on_texts(
            lambda: merge_texts(before, late, now, page_format=page.format), late, now
        )
        if again.text is None:
            return False
        _remember(cycle, page.slug, text, again.text)
        text = again.text
    else:
        # a save from an old window may replace it before it is scanned
        _remember(cycle, page.slug, text, text)
    kept = _remember(cycle, page.slug, page.content, text)
    if known is not None and is_in_sync:
        # the earlier text is the agreed one again, and the base first: until the page
        # follows, both sides hold the same text
        digest = model.digest_of(before)
        earlier = replace(known, local=digest, remote=digest)
        cycle.state.record([Agreed.of(earlier, before)])
    await cycle.local.write(replace(page, content=text), expected=page.digest)
    cycle.state.confirm_replaced([kept])
    cycle.tally.merged.append(page.slug)
    return True


def _remember(cycle: Cycle, slug: model.Slug, old: str, new: str) -> int:
    """Know a text again, for the next save of the program is an edit of it."""
    return cycle.state.remember_replaced(slug, old, new, cycle.clock())


def _warn(cycle: Cycle, slug: model.Slug, step: str) -> None:
    # the cycle may come to nothing
    cycle.note_new({slug: LATE_SAVE})
    cycle.tally.warn("late-save", slug, LATE_SAVE, step, is_once=True)

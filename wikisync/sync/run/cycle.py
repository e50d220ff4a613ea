"""One cycle: scan both sides, decide, carry out, record.

The story of ``docs/sync.md`` "A cycle", for all directions.  What a cycle leaves to do
at once (a merge is pushed by the next one) it says in ``has_more``; after a crash the
next one finds by comparing, and by the intents, what this one did.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from wikisync import errors
from wikisync.core import model
from wikisync.core.mentions import mentioned_attachments
from wikisync.core.system.parallel import each, plain_errors
from wikisync.sync.decide import plan as actions
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import Base, Plan, Send, describe
from wikisync.sync.decide.safety import NO_ID, BatchKind, Decision
from wikisync.sync.run import parts, pull
from wikisync.sync.run.deciding import decide_cycle, has_texts_to_send, is_saved_enough
from wikisync.sync.run.holds import WITH_CONFLICT_FILE, Holds
from wikisync.sync.run.merging import take_late_save
from wikisync.sync.run.parts import Decided
from wikisync.sync.run.push import Pushes, Pushing, note_unmet, settle_intents
from wikisync.sync.run.removals import lasting, put_off, waiting_removals

log = logging.getLogger(__name__)

SENDS_MAX = 3
"""Pages on their way to the wiki: one is written, the next ones are got ready."""
UNCERTAIN = frozenset({actions.SkipReason.GONE_HERE, actions.SkipReason.GONE_THERE})
SEND_SHARE = 2.0
"""How long pages are sent before the rest of them can wait for a newer change: so many
times the time from the start of the cycle to its first push."""
LASTING = frozenset(
    [
        *("attachment-name", "attachment-unwritable", "conflict-stray"),
        *("duplicate-page", "file-elsewhere", "folder-in-place", "folder-left-out"),
        *("ignore-pattern", "link-ignored"),
        *("name-hidden", "name-not-text", "no-regular-file", "page-copy"),
        *("page-below-uploads", "page-in-uploads", "page-listed-twice"),
        *("page-malformed", "page-not-text", "page-not-utf-8", "page-refused"),
        *("page-shadowed", "page-unreadable", "page-unwritable", "unknown-format"),
    ]
)
"""Problems of one page or file, which stay until somebody changes it."""


async def run_cycle(cycle: parts.Cycle) -> parts.CycleResult:
    """Carry edits from each side to the other, once; or one way, as asked.

    With a copied state it only plans.  Interrupted at any point, it leaves whole pages,
    and a base that knows no more than what was verified.  Raises where folder, service
    or disk are away.
    """
    known = cycle.state
    with known.cycle():
        try:
            one = _Run(cycle)
            return await (one.plan() if known.is_copy else one.run())
        except errors.WikisyncError as error:
            health = replace(known.memory.health, problem=error.message)
            known.remember(health=health)
            known.end_sync()
            known.save()
            raise


_Single: TypeAlias = actions.Rebase | actions.Move | actions.Merge | actions.Delete
"""What is carried out one after the other; all else many at a time."""


class _Run:
    def __init__(self, cycle: parts.Cycle) -> None:
        self._cycle = cycle
        self._state, self._tally = cycle.state, cycle.tally
        self._holds = Holds(cycle)
        self._settled: frozenset[model.Slug] = frozenset()
        self._began = cycle.clock()
        self._shown: Mapping[model.Slug, str | errors.FolderError] = {}
        self._agreed: Base | None = None
        """The base before anything was carried out; None where nothing was."""
        self._errors: tuple[model.Problem, ...] = ()
        self._waiting: Mapping[model.Slug, Sequence[model.Problem]] = {}
        self._is_way_free = False
        """What kept removals back is held from now on, and so in nobody's way."""

    async def run(self) -> parts.CycleResult:
        cycle, options = self._cycle, self._cycle.options
        state, tally = cycle.state, cycle.tally
        # what a first sync finds, also after a lost state, is older than it
        if options.is_undoable and state.memory.health.last_good_at is not None:
            state.begin_sync(self._began)
        # Both change what the scans will find, so they come first: the base is then as
        # the wiki is, and the folder has every text that was saved.
        await settle_intents(cycle)
        for late in await cycle.local.late_saves():
            await take_late_save(cycle, late)
        decided = await self._decide()
        # before anything is done: what comes to nothing has left them here, too
        if state.memory.left_out is not None:
            skips, unasked = decided.whole.skipped, actions.SkipReason.NOT_ASKED
            left = frozenset(one.slug for one in skips if one.reason is unasked)
            state.remember(left_out=left)
        state.save()
        await self._carry_out(decided)
        # for whoever asks how the wiki stands, and tries nothing
        failed = [*tally.errors, *tally.missing]
        if options.is_partial:
            tried = {action.slug for action in decided.plan.actions}
            before = state.memory.troubles
            failed += [one for one in before if model.Slug(one.subject) not in tried]
        state.remember(troubles=tuple(dict.fromkeys(failed)))
        await self._note_head(decided)
        decided, problems, notes = self._found(decided)
        # it was good where all was seen and nothing failed but pages that would fail
        # again: one that can never be read says nothing of all others
        is_whole = decided.here.is_complete and decided.there.is_complete
        health = replace(
            state.memory.health,
            last_started_at=self._began,
            problem=str(problems[0]) if problems else "",
        )
        if is_whole and all(one.code in LASTING for one in problems):
            health = replace(health, last_good_at=cycle.clock())
        state.remember(health=health)
        reported = (*problems, *tally.absent)
        warnings = {model.Slug(one.subject): one.message for one in reported}
        held = {one.slug: str(one.reason) for one in decided.plan.held}
        cycle.note_new(warnings | held)
        notes = tuple(note for note in notes if not state.events(1, _name(note)))
        for note in notes:
            state.note(cycle.clock(), _name(note), note.message)
        result = self._result(decided, problems, notes)
        waits = options.waits and result.next_scan_s is not None
        if options.is_undoable and not (result.has_more or waits):
            state.end_sync()
        if not problems and not decided.there.is_remembered:
            # else each page that changed since was noted with its change
            state.remember_mark(decided.there)
        return result

    async def plan(self) -> parts.CycleResult:
        cycle = self._cycle
        known = {batch.id for batch in cycle.state.memory.batches}
        decided = await self._decide()
        # what went wrong last time, and would again
        is_seen = not decided.there.is_remembered
        failed = lasting(cycle.state, decided.plan, is_wiki_seen=is_seen)
        cycle.tally.errors += failed
        own = {one.slug for one in decided.plan.removals}
        self._errors = tuple(one for one in failed if one.subject not in own)
        self._waiting = await waiting_removals(cycle, decided, self._errors)
        if cycle.state.conflict_files():
            self._shown = await self._holds.show(decided, writes=False)
        # nobody can decide on what is not remembered
        batches = tuple(
            batch if batch.id in known else replace(batch, id=NO_ID)
            for batch in decided.batches
        )
        return self._result(*self._found(replace(decided, batches=batches)))

    async def _decide(self) -> Decided:
        cycle = self._cycle
        if cycle.state.conflict_files():
            self._settled = await self._holds.take_resolved()
        cycle.progress.start("list", None)
        try:
            here, there = await scan(cycle)
        except (errors.NotFound, errors.PermissionDenied, errors.ProtocolViolation):
            # where the wiki is now says why, if it is elsewhere
            if cycle.confirm is not None:
                await cycle.confirm()
            raise
        decided = await decide_cycle(cycle, here, there, settled=self._settled)
        is_more = decided.whole.actions or decided.superseded
        if is_more and cycle.confirm is not None:
            await cycle.confirm()
        return decided

    def _found(
        self, decided: Decided
    ) -> tuple[Decided, tuple[model.Problem, ...], tuple[model.Problem, ...]]:
        """The decision as it came out, what is wrong, and what is only named."""
        # files that this cycle takes for conflict files are no problems of the folder:
        # they were there before their conflicts, for another machine wrote them
        tally = self._tally
        postponed: tuple[model.Problem, ...] = ()
        if self._waiting:
            # an error kept these removals back
            plan, postponed = put_off(decided.plan, self._waiting)
            decided = replace(decided, plan=plan)
        if postponed:
            log.info("%s", postponed[0])
            is_refused = (one.subject in tally.refused for one in self._errors)
            self._is_way_free = all(is_refused)
        held = [h.slug for h in decided.plan.held if h.reason in WITH_CONFLICT_FILE]
        in_conflict = {self._state.file_of(slug) for slug in held}
        found = (
            *(
                one
                for one in decided.here.problems
                if one.code != model.STRAY_CONFLICT or one.subject not in in_conflict
            ),
            *decided.there.problems,
            *tally.warnings,
            *tally.errors,
            *tally.missing,
            *postponed,
        )
        # a folder that is left out is a problem where the wiki has pages of it, or had
        unseen = decided.ignored | (self._state.base().keys() - decided.here.pages)
        notes = tuple(
            one
            for one in found
            if one.is_note
            and not any(f"/{_name(one)}" in f"/{slug}" for slug in unseen)
        )
        return decided, tuple(one for one in found if one not in notes), notes

    # -- carrying out ------------------------------------------------------------

    async def _carry_out(self, decided: Decided) -> None:
        """The plan in its order (``docs/sync.md`` "Order"), removals last."""
        # Nothing was written yet.  Each step below may fail for single pages; what that
        # means for later steps is in the tally (``lost_names``, ``errors``).
        self._agreed = self._state.base()
        self._tally.superseded += len(decided.superseded)
        if not decided.plan.actions and not self._state.conflict_files():
            await self._fetch_attachments(decided)
            return
        push = Pushes(self._cycle, decided).run
        plan = decided.plan
        # before the renames: another page may get the name beside which the file lies
        if self._state.conflict_files():
            await self._holds.remove_settled(decided)
            await self._holds.clear_names(plan)
        for action in plan.actions:
            if isinstance(action, actions.Rebase | actions.Move):
                await self._one(action, decided, push)
        # From here on pages go by the names that the plan gives them, but for those in
        # ``lost_names``, about which nothing more is done in this cycle.
        if self._state.conflict_files():
            await self._holds.follow(plan)
        if plan.held:
            is_pushed = self._cycle.options.direction is Direction.PUSH
            self._shown = await self._holds.show(decided, writes=not is_pushed)
        ended = [a.slug for a in plan.actions if isinstance(a, actions.DropRecord)]
        if any(isinstance(a, actions.Write | actions.Adopt) for a in plan.actions):
            await pull.pull_pages(self._cycle, decided)
            note_writes(self._cycle, plan, is_first=not self._agreed)
        for merge in plan.merges:
            await self._one(merge, decided, push)
        if plan.sends:
            await self._send(plan.sends, push)
        await self._fetch_attachments(decided)
        # All texts are where they go, or their errors are known: only now can be said
        # which removals would take away the last copy of one.
        self._errors = tuple(self._tally.errors)
        self._waiting = await waiting_removals(self._cycle, decided, self._errors)
        if self._tally.superseded:
            return
        # not before: a page that was to come back under its new name, and could
        # not, would be a stranger to the one under its old name
        self._state.record(dropped=[one for one in ended if one not in self._waiting])
        for action in plan.actions:
            if not isinstance(action, actions.Delete):
                continue
            if action.slug not in self._waiting:
                await self._one(action, decided, push)

    async def _send(self, sends: Sequence[Send], push: Pushing) -> None:
        cycle, now = self._cycle, self._cycle.clock
        cycle.progress.start("pages to the wiki", len(sends))
        waits_at = now() + SEND_SHARE * (now() - self._began)

        async def send(action: Send) -> None:
            if now() > waits_at and cycle.is_awaited():
                cycle.tally.superseded += 1
                return
            await push(action)
            cycle.progress.advance()

        saved = {path.rpartition(".")[0] for path in cycle.options.saved or ()}
        ordered = sorted(sends, key=lambda one: one.slug not in saved)
        # while one is answered, the next is got ready
        await each(ordered, send, in_flight=SENDS_MAX)

    async def _one(self, action: _Single, decided: Decided, push: Pushing) -> None:
        match action:
            case actions.MoveLocal() | actions.Rebind():
                await pull.move_here(self._cycle, action)
            case actions.DeleteLocal():
                await pull.remove_here(self._cycle, action)
            case actions.Merge():
                await pull.merge_here(self._cycle, action, decided.merges[action.slug])
            case actions.Rebase():
                await pull.rebase_here(self._cycle, action, decided.there)
            case actions.MoveRemote() | actions.DeleteRemote():
                await push(action)
            case _:
                assert_never(action)

    async def _fetch_attachments(self, decided: Decided) -> None:
        """What pages mention, and other files of the wiki that they link to."""
        options, memory = self._cycle.options, self._state.memory
        head = decided.there.head
        is_same = head and head == memory.files_at and not memory.troubles
        # what was agreed on since then, was by a cycle that looked for its files
        if is_same and not decided.whole.actions:
            known = self._state.attachments()
            here = {path: one.here for path, one in known.items() if one.here}
            if await self._cycle.local.attachments(here.keys()) == here:
                return
        mentions = self._mentions(decided)
        is_push = options.direction is Direction.PUSH
        is_whole = not (is_push or decided.here.is_partial)
        is_whole &= options.pages is None
        files: Mapping[model.AttachmentPath, str] | None = None
        # also after saves alone: a commit may have brought a file, or another one
        if not (is_push or decided.there.is_remembered):
            linked = self._state.linked_paths(options.pages)
            new = (actions.Adopt, actions.CreateLocal, actions.MoveLocal)
            if any(isinstance(one, new) for one in decided.plan.actions):
                # renames that were not seen here; the state has the others
                linked |= {model.REDIRECTS_PATH}
            found = await self._cycle.remote.other_files() if linked else None
            is_whole &= found is not None or not linked
            if found is not None:
                files = {
                    model.AttachmentPath(path): version
                    for path, version in found.items()
                    if model.in_form_c(path) in linked
                }
        if mentions or files:
            is_whole &= await pull.MissingFiles(self._cycle, mentions, files).fetch()
        self._state.remember(files_at=head if is_whole else "")
        note_unmet(self._cycle, decided.plan.sends, files or {})

    def _mentions(self, decided: Decided) -> Sequence[model.AttachmentPath]:
        """Attachments to have in the folder, of the pages asked for or saved."""
        options, state = self._cycle.options, self._state
        pages, is_partial = options.pages, decided.here.is_partial
        if is_partial:
            pages = frozenset(action.slug for action in decided.plan.actions)
        if options.direction is Direction.PUSH:
            return ()
        if pages is None:
            return state.mentions()
        asked = sorted(slug for slug in state.base() if model.is_named(slug, pages))
        texts = [state.text(slug) or "" for slug in asked]
        found = [path for text in texts for path in mentioned_attachments(text)]
        if is_partial and not decided.there.is_remembered:
            # a commit may have brought a file that the wiki lacked
            known = state.attachments()
            found += [path for path in state.mentions() if path not in known]
        return tuple(dict.fromkeys(found))

    async def _note_head(self, decided: Decided) -> None:
        """Remember the wiki's newest commit, which its history must hold next time."""
        # Not while a person has to say what becomes of a wiki that went back in time.
        # One request, in cycles that moved something, and in the first one; two in a
        # cycle that looked at nothing.
        if not self._cycle.options.is_undoable:
            return  # a clone; the first sync remembers it
        tally, known = self._tally, self._state
        is_first = known.memory.head is None
        said = {b.decision for b in decided.batches if b.kind is BatchKind.REWOUND}
        if Decision.WAITING in said:
            return
        plan, base = decided.plan, known.base()
        is_sent = any(isinstance(one, actions.RemoteWrite) for one in plan.actions)
        moved = is_sent or tally.pulled or tally.renamed or tally.removed
        # what is renamed or removed here asked already, if a commit was known
        if not (moved or decided.head or is_first):
            return
        # a page may have been read as it was after that question
        is_later = any(
            one.slug in base and base[one.slug].remote != one.remote
            for one in plan.writes
        )
        head = decided.head
        if is_sent or is_later or not head:
            head = await self._cycle.remote.head()
        # A wiki at which a save does not look may have gone back before it; so may one
        # of which nobody answers, some page cannot be seen, or was not put back.
        is_seen = decided.there.is_complete and not decided.there.unreadable
        is_unseen = decided.there.is_remembered or decided.is_unanswered or not is_seen
        if decided.is_set_back is not False and Decision.REFUSED in said:
            is_unseen |= bool(tally.errors or tally.superseded)
        earlier = known.memory.head if head and is_unseen else ""
        if earlier and not await self._cycle.remote.follows(head, earlier):
            return
        if head or is_first:
            known.remember(head=head)

    # -- what is said of it ------------------------------------------------------

    def _result(
        self,
        decided: Decided,
        problems: tuple[model.Problem, ...],
        notes: tuple[model.Problem, ...],
    ) -> parts.CycleResult:
        tally, pages = self._tally, self._cycle.options.pages
        waits = any(skip.reason in UNCERTAIN for skip in decided.plan.skipped)
        batches = (one for one in decided.batches if one.decision is Decision.WAITING)
        seen = decided.there.pages.keys()
        new, gone = set[model.Slug](), set[model.Slug]()
        kinds = ("pulled", "pushed", "merged", "renamed", "removed", "attachments")
        names: Mapping[str, Sequence[str]] = {one: getattr(tally, one) for one in kinds}
        if self._agreed is not None:
            # what was recorded or dropped since the scan came to the wiki, or left it
            before, after = self._agreed.keys(), self._state.base().keys()
            new, gone = after - before, before - after
        return parts.CycleResult(
            plan=decided.plan,
            **{kind: len(slugs) for kind, slugs in names.items()},
            names=names,
            held=tuple(
                parts.Held.of(hold, self._state, shown=self._shown.get(hold.slug, ""))
                for hold in decided.plan.held
            ),
            batches=tuple(
                batch
                for batch in batches
                if pages is None
                or any(model.is_named(one.slug, pages) for one in batch.members)
            ),
            problems=problems,
            absent=tuple(tally.absent),
            notes=notes,
            pages=len(seen) + len(new - seen) - len(gone & seen),
            settled=self._settled,
            has_more=bool(
                tally.merged
                or tally.renamed
                or tally.superseded
                or tally.outdated.intersection(tally.pulled)
                or self._is_way_free
            ),
            next_scan_s=decided.absences.due_s if waits else None,
        )


async def scan(cycle: parts.Cycle) -> tuple[model.Snapshot, model.Snapshot]:
    """Scan both sides; of the folder only what was saved, if that is enough.

    Whatever is more than new texts of known pages here, or waits since an earlier
    cycle, takes a whole scan, and so does any news of the wiki.  ``confirm`` is asked
    while the wiki answers where there is something to send.
    """
    options, state = cycle.options, cycle.state
    is_whole = options.folder.is_new or state.memory.troubles
    if options.saved is not None and not is_whole:
        seen = await cycle.local.saved(options.saved)
        if seen is not None:
            there = await cycle.remote.snapshot()
            if not is_saved_enough(state.base(), seen, there):
                seen = await cycle.local.snapshot()
            return seen, there

    async def scan_here() -> model.Snapshot:
        seen = await cycle.local.snapshot()
        if cycle.confirm is not None and has_texts_to_send(state.base(), seen):
            await cycle.confirm()
        return seen

    with plain_errors():
        async with asyncio.TaskGroup() as group:
            here = group.create_task(scan_here())
            remote = group.create_task(cycle.remote.snapshot())
    return here.result(), remote.result()


def note_writes(cycle: parts.Cycle, plan: Plan, *, is_first: bool) -> None:
    """Log what came from the wiki; a clone, and many pages at once, in one line."""
    known, now = cycle.state, cycle.clock()
    base = known.base()
    done = [
        write
        for write in plan.writes
        if write.slug in base and base[write.slug].remote == write.remote
    ]
    if len(done) > parts.EVENTS_EACH_MAX or (done and is_first):
        known.note(now, NO_SLUG, f"{len(done)} pages came from the wiki")
    elif done:
        with known.together():
            for write in done:
                known.note(now, write.slug, describe(write))


def _name(note: model.Problem) -> model.Slug:
    # it stands for all folders of this name: a program makes some in every folder
    return model.Slug(note.subject.rpartition("/")[2] + "/")

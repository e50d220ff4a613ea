"""One cycle: scan both sides, decide, carry out, record.

The story of ``docs/sync.md`` "A cycle", for all directions.  Deciding
is ``deciding``'s, the effects are ``pull``'s and ``push``'s, conflict
files are ``holds``'.  What a cycle leaves to do at once (a merge is pushed by the next
one) it says in ``has_more``; after a crash the next cycle finds by comparing, and by
the intents, what this one did.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from wikisync.core.mentions import mentioned_attachments
from wikisync.core.messages import Progress, SilentProgress
from wikisync.core.model import (
    STRAY_CONFLICT,
    AttachmentPath,
    Problem,
    Slug,
    Snapshot,
    WikiOwner,
    in_form_c,
)
from wikisync.core.system.parallel import each
from wikisync.errors import (
    FolderError,
    Halted,
    NotFound,
    PermissionDenied,
    ProtocolViolation,
    WikisyncError,
)
from wikisync.sync.base.state import State
from wikisync.sync.decide.decided import Decided
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import (
    Action,
    Adopt,
    BasePage,
    CreateLocal,
    CreateRemote,
    Delete,
    DeleteLocal,
    DeleteRemote,
    DropRecord,
    Hold,
    Merge,
    Move,
    MoveLocal,
    MoveRemote,
    Plan,
    Pull,
    Push,
    Rebase,
    Rebind,
    RemoteWrite,
    Send,
    Skip,
    Write,
)
from wikisync.sync.decide.safety import NO_ID, BatchKind, Decision
from wikisync.sync.replica import LocalReplica, RemoteReplica, Replica
from wikisync.sync.run.attachments import fetch_attachments, note_unmet
from wikisync.sync.run.deciding import decide_cycle
from wikisync.sync.run.frame import (
    new_notes,
    note_health,
    note_writes,
    problems_and_notes,
    remember_tag,
    scan,
)
from wikisync.sync.run.holds import WITH_CONFLICT_FILE, Holds
from wikisync.sync.run.intents import settle_intents, take_late_save
from wikisync.sync.run.parts import (
    Confirm,
    Cycle,
    CycleOptions,
    CycleResult,
    Held,
    LinkedPages,
)
from wikisync.sync.run.pull import (
    merge_here,
    move_here,
    pull_pages,
    rebase_here,
    remove_here,
)
from wikisync.sync.run.push import Pushes, Pushing
from wikisync.sync.run.removals import in_the_way, lasting, put_off, waiting_removals

log = logging.getLogger(__name__)

TEXTS_COMPARED_MAX = 20
"""Pages with an error whose texts are compared with those of removed pages."""
SENDS_MAX = 3
"""Pages on their way to the wiki: one is written, the next ones are got ready."""


async def run_cycle(
    remote: RemoteReplica,
    local: LocalReplica,
    state: State,
    *,
    owner: WikiOwner,
    remote_id: str = "",
    options: CycleOptions | None = None,
    clock: Callable[[], float] = time.time,
    progress: Progress | None = None,
    linked: LinkedPages | None = None,
    confirm: Confirm | None = None,
) -> CycleResult:
    """Carry edits from each side to the other, once; or one way, as asked.

    ``confirm`` is asked before anything is done; None where the wiki is known to be the
    one that is meant.

    Interrupted at any point, it leaves whole pages, and a base that knows no more
    than what was verified; the next cycle finishes the work.

    Raises:
        Halted: the folder was synced with another wiki.
        WikisyncError: the cycle could not go on: the folder is gone, the service
            away, the token refused, the disk full.
    """
    cycle = Cycle(
        remote,
        local,
        state.wiki(owner),
        options or CycleOptions(),
        clock,
        progress or SilentProgress(),
        linked,
    )
    known = cycle.state
    with known.cycle():
        try:
            if state.is_copy:
                return await _Run(cycle, confirm).plan(owner, remote_id)
            return await _Run(cycle, confirm).run(owner, remote_id)
        except WikisyncError as error:
            health = replace(known.memory.health, problem=error.message)
            known.remember(health=health)
            known.end_sync()
            known.save()
            raise


class _Run:
    """One cycle under way."""

    def __init__(self, cycle: Cycle, confirm: Confirm | None) -> None:
        self._cycle = cycle
        self._confirm = confirm
        self._holds = Holds(cycle)
        self._settled: frozenset[Slug] = frozenset()
        self._shown: Mapping[Slug, str | FolderError] = {}
        """Conflict files of held pages, or what is in their way."""
        self._agreed: Mapping[Slug, BasePage] | None = None
        """The base before anything was carried out; None where nothing was."""
        self._errors: tuple[Problem, ...] = ()
        self._waiting: Mapping[Slug, Sequence[Problem]] = {}
        """Removals that wait, and for which errors."""
        self._is_way_free = False
        """What kept removals back is held from now on, and so in nobody's way."""

    async def run(self, owner: WikiOwner, remote_id: str) -> CycleResult:
        """The whole cycle."""
        cycle, options = self._cycle, self._cycle.options
        state, tally = cycle.state, cycle.tally
        started_at = cycle.clock()
        self._refuse_other(owner, remote_id)
        # what a first sync finds, also after a lost state, is older than it
        if options.is_undoable and state.memory.health.last_good_at is not None:
            state.begin_sync(started_at)
        # Both change what the scans will find, so they come first: the base is then as
        # the wiki is, and the folder has every text that was saved.
        await settle_intents(cycle)
        for late in await cycle.local.late_saves():
            await take_late_save(cycle, late)
        decided = await self._decide()
        # before anything is done: what comes to nothing has left them here, too
        if state.memory.left_out is not None:
            state.remember(left_out=decided.left_out)
        state.save()
        await self._carry_out(decided)
        # for whoever asks how the wiki stands, and tries nothing
        errors = [*tally.errors, *tally.missing]
        if options.is_partial:
            tried = {action.slug for action in decided.plan.actions}
            before = state.memory.troubles
            errors += [one for one in before if Slug(one.subject) not in tried]
        state.remember(troubles=tuple(dict.fromkeys(errors)))
        await self._note_head(decided)
        decided, problems, notes = self._found(decided)
        note_health(cycle, problems, decided, started_at)
        warnings = {Slug(p.subject): p.message for p in (*problems, *tally.absent)}
        cycle.note_new(
            warnings | {one.slug: str(one.reason) for one in decided.plan.held}
        )
        result = self._result(decided, problems, new_notes(cycle, notes))
        waits = options.waits and result.next_scan_s is not None
        if options.is_undoable and not (result.has_more or waits):
            state.end_sync()
        if not problems:
            remember_tag(state, decided.there)
        return result

    async def plan(self, owner: WikiOwner, remote_id: str) -> CycleResult:
        """A dry run: what the cycle would do, and what went wrong last time."""
        cycle = self._cycle
        known = {batch.id for batch in cycle.state.memory.batches}
        self._refuse_other(owner, remote_id)
        decided = await self._decide()
        # what went wrong last time, and would again
        is_seen = not decided.there.is_remembered
        errors = lasting(cycle.state, decided.plan, is_wiki_seen=is_seen)
        cycle.tally.errors += errors
        self._errors = in_the_way(errors, decided.plan)
        self._waiting = await self._put_off(decided)
        if cycle.state.conflict_files():
            self._shown = await self._holds.show(decided, writes=False)
        # nobody can decide on what is not remembered
        batches = tuple(
            batch if batch.id in known else replace(batch, id=NO_ID)
            for batch in decided.batches
        )
        return self._result(*self._found(replace(decided, batches=batches)))

    def _refuse_other(self, owner: WikiOwner, remote_id: str) -> None:
        known = self._cycle.state
        if remote_id and not known.is_same_wiki(remote_id):
            raise Halted(
                f"{owner.full_path} is another {owner.kind} now ({remote_id}, not"
                f" {known.memory.remote_id}); nothing was changed",
                hint="correct wikisync.toml; or, to sync the folder with this one, run:"
                " wikisync adopt",
            )

    async def _decide(self) -> Decided:
        """Scan both sides and decide."""
        cycle = self._cycle
        if cycle.state.conflict_files():
            self._settled = await self._holds.take_resolved()
        cycle.progress.start("list", None)
        try:
            here, there = await scan(cycle, self._confirm)
        except (NotFound, PermissionDenied, ProtocolViolation):
            # where the wiki is now says why, if it is elsewhere
            await self._confirmed()
            raise
        decided = await decide_cycle(cycle, here, there, settled=self._settled)
        if decided.whole.actions or decided.superseded:
            await self._confirmed()
        return decided

    def _found(
        self, decided: Decided
    ) -> tuple[Decided, tuple[Problem, ...], tuple[Problem, ...]]:
        """The decision as it came out, what is wrong, and what is only named."""
        tally = self._cycle.tally
        decided, postponed = self._without_removals(decided)
        found = (
            *self._without_taken(decided),
            *decided.there.problems,
            *tally.warnings,
            *tally.errors,
            *tally.missing,
            *postponed,
        )
        return decided, *problems_and_notes(self._cycle, found, decided.here)

    async def _confirmed(self) -> None:
        """Make sure that the wiki is the one that is meant, where nobody has yet."""
        if self._confirm is not None:
            await self._confirm()

    # -- carrying out ------------------------------------------------------------

    async def _carry_out(self, decided: Decided) -> None:
        """The plan in its order (``docs/sync.md`` "Order"), removals last."""
        # Nothing was written yet.  Each step below may fail for single pages; what that
        # means for later steps is in the tally (``lost_names``, ``errors``).
        self._agreed = self._cycle.state.base()
        self._cycle.tally.superseded += len(decided.superseded)
        if not decided.plan.actions and not self._cycle.state.conflict_files():
            await self._fetch_attachments(decided)
            return
        push = Pushes(self._cycle, decided.here, decided.there).run
        plan = decided.plan
        # before the renames: another page may get the name beside which the file lies
        if self._cycle.state.conflict_files():
            await self._holds.remove_settled(decided)
            await self._holds.clear_names(plan)
        for action in plan.actions:
            if isinstance(action, Rebase | Move):
                await self._one(action, decided, push)
        # From here on pages go by the names that the plan gives them, but for those in
        # ``lost_names``, about which nothing more is done in this cycle.
        if self._cycle.state.conflict_files():
            await self._holds.follow(plan)
        if plan.held:
            is_pushed = self._cycle.options.direction is Direction.PUSH
            self._shown = await self._holds.show(decided, writes=not is_pushed)
        ended = [a.slug for a in plan.actions if isinstance(a, DropRecord)]
        if any(isinstance(a, Write | Adopt) for a in plan.actions):
            await pull_pages(self._cycle, plan, decided.here, decided.there)
            note_writes(self._cycle, plan, is_first=not self._agreed)
        for merge in plan.merges:
            await self._one(merge, decided, push)
        await self._send(plan, push)
        await self._fetch_attachments(decided)
        # All texts are where they go, or their errors are known: only now can be said
        # which removals would take away the last copy of one.
        self._errors = tuple(self._cycle.tally.errors)
        self._waiting = await self._put_off(decided)
        if self._cycle.tally.superseded:
            return
        # not before: a page that was to come back under its new name, and could
        # not, would be a stranger to the one under its old name
        self._cycle.state.record(
            dropped=[one for one in ended if one not in self._waiting]
        )
        for action in plan.actions:
            if not isinstance(action, Delete):
                continue
            if action.slug not in self._waiting:
                await self._one(action, decided, push)

    async def _one(self, action: Action, decided: Decided, push: Pushing) -> None:
        match action:
            case MoveLocal() | Rebind():
                await move_here(self._cycle, action)
            case DeleteLocal():
                await remove_here(self._cycle, action)
            case Merge():
                await merge_here(self._cycle, action, decided.merges[action.slug])
            case Rebase():
                await rebase_here(self._cycle, action, decided.there)
            case MoveRemote() | DeleteRemote():
                await push(action)
            case CreateLocal() | Pull() | Adopt() | CreateRemote() | Push():
                pass  # many at a time
            case DropRecord() | Hold() | Skip():
                pass
            case _:
                assert_never(action)

    async def _send(self, plan: Plan, push: Pushing) -> None:
        """Texts for the wiki; while one is answered, the next is got ready."""
        if not plan.sends:
            return
        self._cycle.progress.start("pages to the wiki", len(plan.sends))

        async def send(action: Send) -> None:
            await push(action)
            self._cycle.progress.advance()

        await each(plan.sends, send, in_flight=SENDS_MAX)

    async def _fetch_attachments(self, decided: Decided) -> None:
        mentions = self._mentions(decided)
        files = await self._other_files(decided)
        if mentions or files:
            await fetch_attachments(self._cycle, mentions, files)
        if self._cycle.linked is not None:
            sent = {one.slug for one in decided.plan.sends}
            note_unmet(self._cycle, self._cycle.linked.unmet, sent, files or {})

    async def _other_files(
        self, decided: Decided
    ) -> Mapping[AttachmentPath, str] | None:
        """Files of the wiki beside the uploads that pages link to, with their ids."""
        options = self._cycle.options
        if options.direction is Direction.PUSH or decided.there.is_remembered:
            return None
        # also after saves alone: a commit may have brought a file, or another one
        linked = self._cycle.state.linked_paths(options.pages)
        files = await self._cycle.remote.other_files() if linked else None
        return (
            None
            if files is None
            else {
                AttachmentPath(path): version
                for path, version in files.items()
                if in_form_c(path) in linked
            }
        )

    def _mentions(self, decided: Decided) -> Sequence[AttachmentPath]:
        """Attachments to have in the folder, of the pages asked for or saved."""
        options, state = self._cycle.options, self._cycle.state
        pages, is_partial = options.pages, decided.here.is_partial
        if is_partial:
            pages = frozenset(action.slug for action in decided.plan.actions)
        if options.direction is Direction.PUSH:
            return ()
        if pages is None:
            return state.mentions()
        texts = [state.text(slug) or "" for slug in sorted(pages)]
        found = [path for text in texts for path in mentioned_attachments(text)]
        if is_partial and not decided.there.is_remembered:
            # a commit may have brought a file that the wiki lacked
            known = state.attachments()
            found += [path for path in state.mentions() if path not in known]
        return tuple(dict.fromkeys(found))

    async def _note_head(self, decided: Decided) -> None:
        """Remember the wiki's newest commit, which its history has to hold next time.

        Not while a person has to say what becomes of a wiki that went back in time.
        One request, in cycles that moved something, and in the first one.
        """
        if not self._cycle.options.is_undoable:
            return  # a clone or an export; the first sync remembers it
        tally, known = self._cycle.tally, self._cycle.state
        is_first = known.memory.head is None
        undone = {Decision.WAITING}
        if tally.errors or tally.superseded:
            undone.add(Decision.REFUSED)
        for batch in decided.batches:
            if batch.kind is BatchKind.REWOUND and batch.decision in undone:
                return
        if decided.is_unanswered:
            return  # the next question is about the history since the same commit
        is_sent = any(
            isinstance(action, RemoteWrite) for action in decided.plan.actions
        )
        moved = (
            is_sent or tally.pulled or tally.merged or tally.renamed or tally.removed
        )
        if not (moved or decided.head or is_first):
            return
        head = decided.head
        if is_sent or not head:
            head = await self._cycle.remote.head()
        if head or is_first:
            known.remember(head=head)

    # -- what went wrong ---------------------------------------------------------

    async def _put_off(self, decided: Decided) -> Mapping[Slug, Sequence[Problem]]:
        """Removals that wait for what went wrong."""
        if not self._errors:
            return {}
        texts: dict[Slug, str] = {}
        for error in self._errors[:TEXTS_COMPARED_MAX]:
            slug = Slug(error.subject)
            text = await self._text_of(slug, decided, error)
            if text is not None:
                texts[slug] = text
        return waiting_removals(decided.plan, self._errors, self._cycle.state, texts)

    async def _text_of(
        self, slug: Slug, decided: Decided, error: Problem
    ) -> str | None:
        """The text that could not be carried over; None where it cannot be had."""
        is_sent = any(one.slug == slug for one in decided.plan.sends)
        known = None if is_sent else decided.there.texts.get(slug)
        if known is not None:
            return known.content
        if error.code == "page-unreadable":
            return None
        try:
            side: Replica = self._cycle.local if is_sent else self._cycle.remote
            return (await side.read(slug)).content
        except WikisyncError:
            return None

    def _without_removals(self, decided: Decided) -> tuple[Decided, Sequence[Problem]]:
        """The decision as it came out where an error kept the removals back."""
        if not self._waiting:
            return decided, ()
        plan, postponed = put_off(decided.plan, self._waiting)
        if postponed:
            log.info("%s", postponed[0])
            refused = self._cycle.tally.refused
            self._is_way_free = all(error.subject in refused for error in self._errors)
        return replace(decided, plan=plan), postponed

    def _without_taken(self, decided: Decided) -> Sequence[Problem]:
        """The folder's problems but for files that this cycle takes for conflict files.

        They were there before their conflicts: another machine wrote them.
        """
        held = [h.slug for h in decided.plan.held if h.reason in WITH_CONFLICT_FILE]
        names = self._cycle.state.aliases()
        return [
            one
            for one in decided.here.problems
            if one.code != STRAY_CONFLICT
            or names.get(Slug(one.subject), one.subject) not in held
        ]

    # -- what is said of it ------------------------------------------------------

    def _result(
        self,
        decided: Decided,
        problems: tuple[Problem, ...],
        notes: tuple[Problem, ...],
    ) -> CycleResult:
        tally, pages = self._cycle.tally, self._cycle.options.pages
        batches = (one for one in decided.batches if one.decision is Decision.WAITING)
        return CycleResult(
            plan=decided.plan,
            pulled=len(tally.pulled),
            pushed=len(tally.pushed),
            merged=len(tally.merged),
            renamed=len(tally.renamed),
            removed=len(tally.removed),
            attachments=len(tally.attachments),
            names=tally.names,
            held=tuple(
                Held.of(hold, self._cycle.state, shown=self._shown.get(hold.slug, ""))
                for hold in decided.plan.held
            ),
            batches=tuple(
                batch
                for batch in batches
                if pages is None or any(one.slug in pages for one in batch.members)
            ),
            problems=problems,
            absent=tuple(tally.absent),
            notes=notes,
            pages=self._count(decided.there),
            settled=self._settled,
            has_more=bool(
                tally.merged
                or tally.renamed
                or tally.superseded
                or tally.outdated.intersection(tally.pulled)
                or self._is_way_free
            ),
            next_scan_s=decided.next_scan_s,
        )

    def _count(self, there: Snapshot) -> int:
        """How many pages the wiki has now, without another scan of it."""
        if self._agreed is None:
            return len(there.pages)
        # what was recorded or dropped since the scan came to the wiki, or left it
        before, after = self._agreed.keys(), self._cycle.state.base().keys()
        seen, new, gone = there.pages.keys(), after - before, before - after
        return len(seen) + len(new - seen) - len(gone & seen)

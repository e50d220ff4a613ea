"""The decision of one cycle: from two scans to the plan carried out.

``reconcile`` decides, and everything that may stop or change its plan has its say
here in turn: open editors, the texts themselves, safety stops, and the patience that an
absence needs.  What a person asked for comes last: it narrows what is carried out,
never what is known, so that a page left out of a cycle does not seem to be one with
which all is well.  Writes nothing but what it saw: sightings, batches and the base's
digests where only line ends differ.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from wikisync.errors import FolderError, NotFound
from wikisync.merging.conflict import git_conflicts, has_any_marker, has_marker
from wikisync.merging.front_matter import front_matter_of, with_front_matter
from wikisync.merging.metadata import differs_in_time_only
from wikisync.model import (
    Digest,
    PageState,
    Problem,
    Slug,
    Snapshot,
    digest_of,
    fold_text,
    folders_above,
    in_form_c,
    is_blank,
    renames_under_way,
)
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import narrowing
from wikisync.sync.decide.capabilities import Capabilities
from wikisync.sync.decide.comparing import (
    are_alike,
    changed_pages,
    is_at_rest,
    met_anew,
)
from wikisync.sync.decide.decided import Decided
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import (
    Action,
    BasePage,
    CreateRemote,
    Delete,
    HoldReason,
    Merge,
    MoveLocal,
    Plan,
    Push,
    Skip,
    SkipReason,
)
from wikisync.sync.decide.reconcile import reconcile
from wikisync.sync.decide.rewinding import NotAgreed, not_agreed
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run import changed_files
from wikisync.sync.run.frame import met_again
from wikisync.sync.run.merging import merge_texts, names_taken
from wikisync.sync.run.parts import Cycle
from wikisync.sync.run.sightings import (
    UNCERTAIN,
    Absences,
    is_certain,
    seen_again,
    watch_absences,
)
from wikisync.sync.run.stopping import (
    emptied_pages,
    what_goes_back,
    with_safety_stops,
    without_pointers,
)
from wikisync.sync.run.undoing import Undone

SAME_TEXT_MAX = 4
"""Times that one text of a page may be sent within ten minutes."""
REFUSAL_S = 900.0
"""A page that the service refused is not sent again as it is for so long."""


async def decide_cycle(
    cycle: Cycle,
    here: Snapshot,
    there: Snapshot,
    *,
    undone: Undone | None = None,
) -> Decided:
    """Decide one cycle.

    Args:
        cycle: What it works with.
        here: The scan of the folder.
        there: The scan of the wiki.
        undone: What is taken back: nobody is asked about it once more.
    """
    return await _Deciding(cycle, undone).run(here, there)


class _Deciding:
    def __init__(self, cycle: Cycle, undone: Undone | None) -> None:
        self._cycle = cycle
        self._undone = undone
        self._head = ""
        self._is_unanswered = False
        """Nobody could say whether the wiki went back in time."""

    def _base(self) -> Mapping[Slug, BasePage]:
        return self._cycle.state.base()

    async def run(self, here: Snapshot, there: Snapshot) -> Decided:
        """From two scans to a plan."""
        here, ignored = await without_ignored(
            self._cycle.local, self._base(), here, there
        )
        there = self._without_renames_under_way(there)
        here, there = await met_again(self._cycle, self._base(), here, there)
        is_other = self._cycle.options.is_other_folder
        if self._cycle.options.adopts or is_other:
            anew = met_anew(self._base(), here, there, is_other_folder=is_other)
            self._forget(anew)
        here = _with_elsewhere(self._cycle.state, here, there)
        here = await self._with_likely_copies(here, there)
        # What ``base`` knows from here on is what both sides held under the names of
        # now; pages that were forgotten above are new pages to everything below.
        base = self._base()
        changed = changed_pages(base, here, there)
        if is_at_rest(base, here, there, changed):
            # most cycles; the table would go through every page to find nothing
            plan = Plan()
            absences = await watch_absences(self._cycle, plan, here, there)
        else:
            base, plan, absences, there = await self._compared(changed, here, there)
        # The plan says what would bring both sides together.  Each step below leaves an
        # action, takes it out or replaces it.  Pages whose files changed are added
        # first, so that every later step decides about them, too.
        plan = plan.map(lambda a: None if a.slug in ignored else a)
        plan, there = await self._with_outdated(plan, here, there)
        plan, here = _without_copies(plan, here)
        # What the wiki has of a page is decided on while its history tells how it came
        # to that, also where the page is left out from here on and changed later.
        files = self._cycle.state.conflict_files()
        shown = {slug: digest_of(file.remote) for slug, file in files.items()}
        seen = not_agreed(plan, base, there, shown)
        is_set_back = await self._is_set_back(plan, seen, there)
        plan = await self._allowed(plan, base, here)
        rewinding = what_goes_back(
            self._cycle.state,
            plan,
            base,
            there,
            seen,
            here=here,
            is_set_back=is_set_back,
        )
        # merged with an older text, a page would lose what that lacks; what is in
        # conflict with it stays so, or is held once the merge would be clean
        unmerged: set[Action] = {
            merge
            for merge in plan.merges
            if rewinding.takes_back(merge) and merge.remote != shown.get(merge.slug)
        }
        unmerged |= {a for a in rewinding.sent if isinstance(a, Push | Merge)}
        plan = plan.map(lambda a: None if a in unmerged else a)
        plan = await without_pointers(self._cycle, plan, here, there)
        plan, merges, superseded = await merge_texts(self._cycle, plan, there)
        plan = Plan.from_actions([*plan.actions, *unmerged])
        plan = narrowing.holding(plan, await self._with_markers(plan))
        plan = await self._without_empty(plan)
        plan, batches = with_safety_stops(
            self._cycle.state,
            plan,
            base,
            here,
            there,
            emptied=await emptied_pages(
                self._cycle.local, plan, base, here, self._cycle.state
            ),
            rewinding=rewinding,
            stops=self._cycle.options.stops,
            agreed_to=self._agreed_to(),
            now=self._cycle.clock(),
        )
        # after the safety stops, so that these count also the removals that are not
        # certain yet
        waiting = absences.waiting
        if self._undone is not None:
            gone = self._undone.removed
            waiting = {slug: waiting[slug] for slug in waiting.keys() - gone}
        if self._cycle.options.is_shared:
            removed = [a.slug for a in plan.actions if isinstance(a, Delete)]
            waiting = dict.fromkeys(removed, SkipReason.SHARED)
        # ``whole`` is what is known; what a person asked for only narrows ``plan``, so
        # that a page left out of this cycle does not count as settled.
        whole = narrowing.without_removals(plan, waiting)
        plan = narrowing.in_direction(whole, self._cycle.options.direction)
        plan = narrowing.only_pages(plan, self._cycle.options.pages)
        waits = any(skip.reason in UNCERTAIN for skip in plan.skipped)
        return Decided(
            plan,
            whole,
            here,
            there,
            merges,
            batches,
            superseded,
            absences.due_s if waits else None,
            self._head,
            self._is_unanswered,
        )

    async def _compared(
        self, changed: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
    ) -> tuple[Mapping[Slug, BasePage], Plan, Absences, Snapshot]:
        """The base to believe, the plan by the table, and what absences make of it."""
        service = self._capabilities(there)
        base = self._believed_base(changed, here, there)
        taken = await names_taken(self._cycle, base, changed, here, there)
        plan = reconcile(base, here, there, service, taken)
        absences = await watch_absences(self._cycle, plan, here, there)
        if absences.doubted is not None:
            there = _doubted(there, absences.doubted)
            plan = reconcile(base, here, there, service, taken)
        return base, plan, absences, there

    # -- what is decided on ------------------------------------------------------

    def _forget(self, pages: frozenset[Slug]) -> None:
        """Forget pages, so that what either side has of them is a new page."""
        self._cycle.state.record(dropped=pages)

    def _capabilities(self, there: Snapshot) -> Capabilities:
        """What is known of the service, with what this scan shows."""
        service = self._cycle.state.memory.capabilities
        if not service.strips_front_matter_of:
            return service
        service = service.without_shown(there)
        self._cycle.state.remember(capabilities=service)
        return service

    # -- what counts as an edit --------------------------------------------------

    def _believed_base(
        self, changed: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
    ) -> Mapping[Slug, BasePage]:
        """The base, with differences of line ends and final newlines taken as known.

        They are no edits: an editor or the service made them (``docs/sync.md`` "Echo").
        """
        base = self._base()
        by_identity = {page.identity: slug for slug, page in here.pages.items()}
        refreshed = {
            slug: now
            for slug, page in changed.items()
            if (now := self._refreshed(page, here, there, by_identity)) is not page
        }
        if not refreshed:
            return base
        self._cycle.state.refresh(refreshed.values())
        return {**base, **refreshed}

    def _refreshed(
        self,
        page: BasePage,
        here: Snapshot,
        there: Snapshot,
        known: Mapping[str, Slug],
    ) -> BasePage:
        """A page with what is no edit of it, nor another page under its name.

        Args:
            page: As the base has it.
            here: The scan of the folder.
            there: The scan of the wiki.
            known: Files of the folder, by their identities.
        """
        mine, theirs = here.pages.get(page.slug), there.pages.get(page.slug)
        if mine is not None:
            if mine.digest != page.local and self._is_folded(mine):
                page = replace(page, local=mine.digest)
            if (
                mine.identity not in {"", page.local_identity}
                and known.get(page.local_identity, page.slug) == page.slug
            ):
                page = replace(page, local_identity=mine.identity)
        if theirs is not None:
            if theirs.digest != page.remote and (
                self._is_folded(theirs) or self._is_stripped(theirs, there)
            ):
                page = replace(page, remote=theirs.digest)
            if theirs.identity not in {"", page.remote_identity} and (
                theirs.digest == page.remote or not page.remote_identity
            ):
                page = replace(page, remote_identity=theirs.identity)
        return page

    def _is_folded(self, seen: PageState) -> bool:
        """Whether a text differs from the agreed one by line ends alone."""
        text = self._cycle.state.text(seen.slug)
        if text is None:
            return False
        return (seen.folded or seen.digest) == digest_of(fold_text(text))

    async def _with_outdated(
        self, plan: Plan, here: Snapshot, there: Snapshot
    ) -> tuple[Plan, Snapshot]:
        """The plan with what becomes of pages whose files changed here."""
        # files beside the pages change by other events, which take a whole scan
        linked = None if here.is_partial else self._cycle.linked
        outdated = frozenset() if linked is None else await linked.outdated()
        if not outdated:
            return plan, there
        if self._cycle.options.is_other_folder:
            return changed_files.held_in_other_folder(
                self._cycle, plan, outdated, there
            )
        plan = await changed_files.held_where_both_changed(
            self._cycle, plan, outdated, there
        )
        return changed_files.sent_again(plan, outdated, here, there), there

    def _is_stripped(self, seen: PageState, there: Snapshot) -> bool:
        """Whether a text differs from the agreed one by front matter alone."""
        page = there.texts.get(seen.slug)
        formats = self._cycle.state.memory.capabilities.strips_front_matter_of
        text = self._cycle.state.text(seen.slug)
        if page is None or text is None or page.format not in formats:
            return False
        return bool(front_matter_of(text)) and (
            fold_text(with_front_matter(page.content, text)) == fold_text(text)
        )

    # -- who has a say -----------------------------------------------------------

    def _agreed_to(self) -> frozenset[Slug]:
        """Pages about which nobody is asked once more."""
        return self._undone.names if self._undone else frozenset()

    async def _is_set_back(
        self, plan: Plan, seen: NotAgreed, there: Snapshot
    ) -> bool | None:
        """Whether the wiki's history lacks the last sync.

        Asked where the wiki would take something back, now or later: one request, and
        a second one where its newest commit is another.  None where that is not known.
        """
        earlier = self._cycle.state.memory.head
        is_renamed = any(isinstance(move, MoveLocal) for move in plan.moves)
        if not earlier or not (
            seen.texts.keys() - seen.shown or seen.missing or is_renamed
        ):
            return None
        self._head = await self._cycle.remote.head()
        # then the last sync made, or brought, a later commit that nobody knows
        is_old = self._cycle.state.memory.is_head_old
        if self._head == earlier and is_old:
            return True
        self._is_unanswered = not self._head
        if self._head in {"", earlier}:
            return None
        is_after = await self._cycle.remote.follows(self._head, earlier)
        self._is_unanswered = is_after is None
        if is_after and is_old:
            return await self._is_taken_back(seen, there, earlier) or None
        return None if is_after is None else not is_after

    async def _is_taken_back(
        self, seen: NotAgreed, there: Snapshot, earlier: str
    ) -> bool:
        """Whether a text that both sides agreed on is in no commit since then.

        Somebody pushed over it by force before the commit that has it was known here,
        and the page is gone, or was edited anew.
        """
        now = {
            record: there.texts[one.slug].content
            for record, one in seen.texts.items()
            if one.slug in there.texts
        }
        before: dict[Slug, str] = {}
        base = self._base()
        for record in seen.missing | now.keys():
            text, known = self._cycle.state.text(record), base.get(record)
            # else the wiki has the agreed text otherwise: the service changed it
            if text is not None and known and digest_of(text) == known.remote:
                before[record] = text
        if not before:
            return False
        now = {record: now[record] for record in before.keys() - seen.missing}
        remote = self._cycle.remote
        return bool(await remote.taken_back(self._head, earlier, before, now))

    async def _allowed(
        self, plan: Plan, base: Mapping[Slug, BasePage], here: Snapshot
    ) -> Plan:
        """The plan without what must wait, or what nobody wants on the wiki."""
        left = self._cycle.state.memory.left_out
        if left is not None:
            if not base:
                left = frozenset(action.slug for action in plan.sends)
            # who names a page asks for it
            left -= self._cycle.options.pages or frozenset()
            plan = narrowing.without_creates(plan, left) if left else plan
        plan = narrowing.around_editors(plan, here.busy, self._long_open(here))
        refused: Mapping[Slug, Digest] = {}
        if not self._cycle.options.tries_again:
            refused = refused_texts(self._cycle.state, self._cycle.clock())
        looping = await self._looping(plan, base)
        return narrowing.without_futile(plan, refused, looping)

    def _without_renames_under_way(self, there: Snapshot) -> Snapshot:
        """The wiki without pages that somebody is renaming to a look-alike name.

        Between two writes such a page has a temporary name, which no person gave it; it
        and those below it are decided on once they have their new names.  One that
        keeps the name, because nobody finishes the rename, is renamed here, too.
        """
        base, now = self._base(), self._cycle.clock()
        options = self._cycle.options
        missing = base.keys() - there.pages.keys()
        found = renames_under_way(missing, there.pages.keys() - base.keys())
        before = self._cycle.state.sightings(Side.RENAME)
        seen = seen_again(before, found.keys(), now)
        self._cycle.state.record_sightings(Side.RENAME, seen)
        found = {
            slug: name
            for slug, name in found.items()
            if not is_certain(seen[slug], options.remote_scans, options.remote_span_s)
        }
        if not found:
            return there
        names = tuple(f"{name}/" for name in found.values())
        slugs = tuple(f"{slug}/" for slug in found)
        pages = {
            name: page
            for name, page in there.pages.items()
            if name not in found.values() and not name.startswith(names)
        }
        waiting = {slug for slug in missing if slug in found or slug.startswith(slugs)}
        return replace(there, pages=pages, unreadable=there.unreadable | waiting)

    def _long_open(self, here: Snapshot) -> frozenset[Slug]:
        """Pages that have been open in an editor for longer than we wait."""
        now = self._cycle.clock()
        before = self._cycle.state.sightings(Side.EDITOR)
        seen = seen_again(before, here.busy.keys(), now)
        self._cycle.state.record_sightings(Side.EDITOR, seen)
        span_s = self._cycle.options.editor_span_s
        return frozenset(
            [slug for slug, one in seen.items() if now - one.first_at >= span_s]
        )

    async def _looping(
        self, plan: Plan, base: Mapping[Slug, BasePage]
    ) -> frozenset[tuple[Slug, Digest]]:
        """Texts that were sent so often that something must be changing them back.

        Texts that differ only in the times of their changes are the same here: two
        machines whose editors write them would send a page to each other for ever.
        Not those that both sides agree on: a picture in them is another one.
        """
        state, now = self._cycle.state, self._cycle.clock()
        files = {slug: file for file, slug in _sent_files(plan).items()}
        found: set[tuple[Slug, Digest]] = set()
        for action in plan.actions:
            if not isinstance(action, Push) or _is_agreed(action, base):
                continue
            is_looping = (
                state.times_sent(action.slug, action.local, now) >= SAME_TEXT_MAX
            )
            if (
                not is_looping
                and state.times_sent(action.slug, None, now) >= SAME_TEXT_MAX
            ):
                is_looping = await self._is_only_later(action.slug, files[action.slug])
            if is_looping:
                found.add((action.slug, action.local))
        return frozenset(found)

    async def _is_only_later(self, slug: Slug, file: Slug) -> bool:
        """Whether a page says nothing new but when it was changed."""
        try:
            text = (await self._cycle.local.read(file)).content
        except (NotFound, FolderError):
            return False  # its turn will say what is wrong
        return differs_in_time_only(self._cycle.state.text(slug) or "", text)

    async def _with_likely_copies(self, here: Snapshot, there: Snapshot) -> Snapshot:
        """The scan with the copies of pages that are here and like them, or missing.

        A file that is the original's own was renamed by a person.  What was left out
        stays so when the original is deleted.
        """
        base = self._base()
        asked = here.likely_copies.keys() - base.keys() - there.pages.keys()
        left_out = self._cycle.state.sightings(Side.UNREAD) if asked else {}
        copies: dict[Slug, Problem] = {}
        for slug in asked:
            for original, copy in here.likely_copies[slug].items():
                if original not in here.pages and slug in left_out:
                    copies[slug] = copy
                elif slug not in here.pages or (
                    original not in here.pages
                    and (
                        original not in base
                        or _is_same_file(here.pages[slug], base[original])
                    )
                ):
                    continue
                elif are_alike(await self._text(slug), await self._text(original)):
                    copies[slug] = copy
        return replace(here, copies={**copies, **here.copies}) if copies else here

    async def _text(self, slug: Slug) -> str:
        """A page's text here; the agreed one where it is not here."""
        try:
            return (await self._cycle.local.read(slug)).content
        except (NotFound, FolderError):
            return self._cycle.state.text(slug) or ""

    async def _with_markers(self, plan: Plan) -> Mapping[Slug, HoldReason]:
        """Pages that would be sent with marker lines of a conflict in them.

        Git's may be what a page is about: they count where the agreed text does not
        have them, and a person does not ask for the page by its name.
        """
        if not plan.sends:
            return {}
        sent, records = _sent_files(plan), plan.records
        found: dict[Slug, HoldReason] = {}
        for file in await self._cycle.local.having(sent, has_any_marker):
            slug = sent[file]
            try:
                text = (await self._cycle.local.read(file)).content
            except (NotFound, FolderError):
                continue  # its turn will say what is wrong
            agreed = self._cycle.state.text(records.get(slug, slug)) or ""
            if has_marker(text):
                found[slug] = HoldReason.MARKER
            elif slug in (self._cycle.options.pages or ()):
                continue
            elif not git_conflicts(text) <= git_conflicts(agreed):
                found[slug] = HoldReason.GIT_MARKER
        return found

    async def _without_empty(self, plan: Plan) -> Plan:
        """The plan without texts that say nothing, where the service refuses those.

        A note that was just made waits for its text; a page that lost its text is a
        person's to decide.
        """
        if self._cycle.state.memory.capabilities.takes_empty or not plan.sends:
            return plan
        sent = _sent_files(plan)
        empty = {sent[file] for file in await self._cycle.local.having(sent, is_blank)}
        held = {
            one.slug: HoldReason.EMPTY
            for one in plan.sends
            if isinstance(one, Push) and one.slug in empty
        }
        plan = narrowing.holding(plan, held)
        return plan.map(
            lambda a: (
                Skip(a.slug, SkipReason.EMPTY)
                if isinstance(a, CreateRemote) and a.slug in empty
                else a
            )
        )


def _sent_files(plan: Plan) -> Mapping[Slug, Slug]:
    """The pages to be sent, by what their files are called before its renames."""
    before = plan.files
    return {before.get(one.slug, one.slug): one.slug for one in plan.sends}


async def without_ignored(
    local: LocalReplica,
    base: Mapping[Slug, BasePage],
    here: Snapshot,
    there: Snapshot,
) -> tuple[Snapshot, frozenset[Slug]]:
    """The scan of the folder, and pages whose absence in it means nothing."""
    missing = (base.keys() | there.pages.keys()) - here.pages.keys()
    if not missing:
        return here, frozenset()
    known = {slug: page.format for slug, page in base.items()}
    known |= {slug: page.format for slug, page in there.pages.items()}
    ignored = await local.untracked((slug, known[slug]) for slug in missing)
    return replace(here, unreadable=here.unreadable | ignored), ignored


def refused_texts(known: WikiState, now: float) -> Mapping[Slug, Digest]:
    """Texts that the service refused so lately that they are not sent as they are."""
    return {
        slug: one.local
        for slug, one in known.memory.refusals.items()
        if now - one.at < REFUSAL_S
    }


def _with_elsewhere(known: WikiState, here: Snapshot, there: Snapshot) -> Snapshot:
    """The scan with what is said of stubs of what the wiki has or links to.

    A folder of a cloud drive has stubs, and links to online documents, of which the
    wiki knows nothing.
    """
    if not here.elsewhere:
        return here
    ours = {*known.base(), *there.pages, *known.linked_paths(), *known.attachments()}
    ours = {in_form_c(path) for path in ours}
    ours |= {folder for path in tuple(ours) for folder in folders_above(path)}
    others = {path for path in here.elsewhere if in_form_c(path) not in ours}
    return replace(
        here,
        problems=(
            *here.problems,
            *(p for path, p in here.elsewhere.items() if path not in others),
        ),
        unreadable=here.unreadable - others,
    )


def _is_same_file(page: PageState, agreed: BasePage) -> bool:
    """Whether a page's file is that of another page, by its text if nothing else."""
    if page.identity and agreed.local_identity:
        return page.identity == agreed.local_identity
    return page.digest == agreed.local


def _without_copies(plan: Plan, here: Snapshot) -> tuple[Plan, Snapshot]:
    """The plan without copies that other programs made, and the scan that reports them.

    Not of those that are on the wiki already: they are pages as all others.
    """
    plan = narrowing.without_copies(plan, here.copies.keys())
    left = [one.slug for one in plan.skipped if one.reason is SkipReason.COPY]
    problems = tuple(here.copies[slug] for slug in left if slug in here.copies)
    return plan, replace(here, problems=(*here.problems, *problems))


def _is_agreed(action: Push, base: Mapping[Slug, BasePage]) -> bool:
    known = base.get(action.slug)
    return known is not None and (
        (action.format, action.local) == (known.format, known.local)
    )


def _doubted(there: Snapshot, slug: Slug) -> Snapshot:
    problem = Problem(
        "absence-doubted",
        slug,
        "the wiki does not list it but still returns it; nothing is removed here",
        "run it again later; if it persists, check the service",
    )
    return replace(there, is_complete=False, problems=(*there.problems, problem))

"""From the folder to the wiki: create, edit, rename, delete.

Without a compare-and-swap every write is noted as an *intent* first and its answer is
examined (``docs/sync.md`` "Pushing"): the base learns what the service holds, not what
was sent.  An intent that is still there at the start of a cycle says that process or
line broke off: the wiki shows whether the call came through (``docs/sync.md``
"Crashes"), and it is never sent again.
"""

import asyncio
import logging
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import assert_never

from msgspec.structs import replace

from wikisync import errors
from wikisync.core import model
from wikisync.core.mentions import ways_lead_to
from wikisync.core.system.parallel import finish
from wikisync.merging.metadata import front_matter_of
from wikisync.sync.decide import plan
from wikisync.sync.decide.ledger import NO_DIGEST, NO_SLUG, Agreed, Intent, WriteKind
from wikisync.sync.run.parts import FINISH_TIMEOUT_S, UNAGREED, Cycle, Decided
from wikisync.sync.run.pull import rebase

log = logging.getLogger(__name__)

UNAVAILABLE_MAX = 3
STEPS_TO_SEND = 3
"""Turns of the loop that a request needs from its turn to write to the socket."""


Pushing = Callable[[plan.RemoteWrite], Awaitable[None]]


class Normalisation(StrEnum):
    """The class of a difference; the value says what the service does."""

    SAME = "keeps the text"
    FOLDED = "changes line ends, the final newline or the byte order mark"
    UNICODE = "changes the Unicode form of letters"
    FRONT_MATTER = "returns texts without their front matter"
    OTHER = "changes the text"


def normalisation_of(sent: str, answered: str) -> Normalisation:
    """What a service did to a text that it took."""
    if sent == answered:
        return Normalisation.SAME
    mine, theirs = model.fold_text(sent), model.fold_text(answered)
    if mine == theirs:
        return Normalisation.FOLDED
    if unicodedata.normalize("NFC", mine) == unicodedata.normalize("NFC", theirs):
        return Normalisation.UNICODE
    block = front_matter_of(sent)
    body = model.fold_text(sent[len(block) :])
    if block and body.lstrip("\n") == theirs.lstrip("\n"):
        return Normalisation.FRONT_MATTER
    return Normalisation.OTHER


class Pushes:
    """Carries out actions of a plan; a cancelled one ends, or leaves its intent."""

    def __init__(self, cycle: Cycle, decided: Decided) -> None:
        self._cycle = cycle
        self._state, self._local = cycle.state, cycle.local
        self._remote, self._tally = cycle.remote, cycle.tally
        self._here, self._there = decided.here, decided.there
        self._silent_in_row = 0
        self._is_limited = False
        """Changes of this wiki wait; what can be read of it goes on."""

    async def run(self, action: plan.RemoteWrite) -> None:
        """Carry one action out; RemoteError where the service is gone."""
        if self._is_limited or action.slug in self._tally.lost_names:
            self._lose(action)  # the first one of them reported why
            return
        try:
            await finish(self._send(action), within_s=FINISH_TIMEOUT_S)
        except errors.AuthenticationFailed:
            raise
        except errors.RateLimited as error:
            if error.is_everywhere or not error.is_write:
                raise
            # the service wants no changes now: none of this cycle is tried any more
            self._lose(action)
            self._settle_all(action.slug)  # a limit says that it was not carried out
            if not self._is_limited:
                self._tally.fail("page-limited", action.slug, error)
            self._is_limited = True
            return
        except errors.RefusedInFront as error:
            # the page was read just now: a filter takes offence at this change alone
            if not error.is_write:
                raise
            self._lose(action)
            self._settle_all(action.slug)
            self._tally.fail("page-blocked", action.slug, error)
            return
        except errors.Unavailable as error:
            self._silent_in_row += 1
            if self._silent_in_row >= UNAVAILABLE_MAX:
                raise
            self._lose(action)
            self._tally.fail("page-unavailable", action.slug, error)
            return
        except (errors.PreconditionFailed, errors.NotFound) as error:
            # someone was faster; nothing was sent, so no intent is left
            self._lose(action)
            self._settle_all(action.slug)
            self._tally.supersede(action.slug, error)
        except errors.RemoteError as error:
            self._lose(action)
            await self._refused(action, error)
        except errors.FolderError as error:
            self._lose(action)
            self._tally.fail("page-unreadable", action.slug, error)
        self._silent_in_row = 0

    async def _send(self, action: plan.RemoteWrite) -> None:
        match action:
            case plan.CreateRemote():
                await self._create(action)
            case plan.Push():
                await self._replace(action)
            case plan.MoveRemote():
                await self._move(action)
            case plan.DeleteRemote():
                await self._delete(action)
            case _:
                assert_never(action)

    # -- texts -------------------------------------------------------------------

    async def _create(self, action: plan.CreateRemote) -> None:
        page = await self._local_page(action)
        # The intent is on the disk before the request leaves: without an answer the
        # next cycle asks the wiki what it has, and does not send blindly again.
        intent = self._begin(WriteKind.CREATE, page)
        answer, normalisation = await self._write(page, None)
        if answer.slug != page.slug:
            self._take_name(page.slug, answer.slug)
        self._agree(page, answer, normalisation, intent, action)

    async def _replace(self, action: plan.Push) -> None:
        page = await self._local_page(action)
        known = self._state.base().get(action.slug)
        if known is not None and known.remote != action.remote:
            # such as that of a wiki which went back in time, where the newer one goes:
            # it can be restored here, and the push can be undone
            there = self._there.texts.get(action.slug)
            if there is None or there.digest != action.remote:
                there = await self._remote.read(action.slug)
            text = there.content
            if text != self._state.text(action.slug):
                await self._local.keep(action.slug, text, UNAGREED, is_again=True)
                self._state.note_replaced_there(action.slug, text, there.format)
        intent = self._begin(WriteKind.REPLACE, page, action.remote)
        answer, normalisation = await self._write(page, action.remote)
        # The text was taken; under which name, the answer says alone (Q3).
        if answer.slug == page.slug:
            self._agree(page, answer, normalisation, intent, action)
        elif answer.slug == model.path_of_title(page.slug):
            with self._state.together():
                self._take_spelling(page.slug, answer.slug)
                self._agree(page, answer, normalisation, intent, action)
        else:
            answer = await self._move_back(page.slug, answer)
            normalisation = normalisation_of(page.content, answer.content)
            self._agree(page, answer, normalisation, intent, action)

    async def _write(
        self, page: model.Page, expected: model.Digest | None
    ) -> tuple[model.Page, Normalisation]:
        """Send a text; what the service made of it is learned (front matter).

        The next page may be sent before this answer is noted.
        """
        answer = await self._remote.write(page, expected=expected)
        self._note_window(page.slug)
        for _ in range(STEPS_TO_SEND):
            await asyncio.sleep(0)
        normalisation = normalisation_of(page.content, answer.content)
        known = self._state.memory.capabilities
        formats = known.strips_front_matter_of
        if normalisation is Normalisation.FRONT_MATTER and page.format not in formats:
            # one answer may show an edit of somebody else, so the page is read again
            again = await self._remote.read(answer.slug)
            normalisation = normalisation_of(page.content, again.content)
            if (
                normalisation is Normalisation.FRONT_MATTER
                and again.digest == answer.digest
            ):
                # only an answer to our own write shows that: on any other service a
                # page without front matter is one whose front matter somebody removed
                known = replace(known, strips_front_matter_of=formats | {page.format})
                self._state.remember(capabilities=known)
            else:
                normalisation = Normalisation.OTHER
        return answer, normalisation

    async def _local_page(self, action: plan.Send) -> model.Page:
        page = await self._local.read(action.slug)
        if page.digest != action.local:
            raise errors.PreconditionFailed(f"{action.slug} was edited here meanwhile")
        return model.Page(action.slug, action.format, page.content, page.title)

    def _agree(
        self,
        sent: model.Page,
        answer: model.Page,
        normalisation: Normalisation,
        intent: int,
        action: plan.RemoteWrite,
    ) -> None:
        """Note what both sides hold now: the folder's bytes, the service's text."""
        if normalisation is not Normalisation.SAME:
            log.info("%s: the service %s", answer.slug, normalisation)
        if answer.format is not sent.format:
            self._tally.add(
                "format-changed",
                answer.slug,
                f"sent as {sent.format}, but the service stored it as {answer.format}",
                "check the page on the wiki",
                is_once=True,
            )
        agreed = plan.BasePage.agreed(
            replace(answer, format=sent.format, content=sent.content),
            local=sent.digest,
            # an answer with another text shows somebody's edit: the next snapshot
            # has it, and it is pulled
            remote=sent.digest
            if normalisation is Normalisation.OTHER
            else answer.digest,
            here=self._here.pages.get(sent.slug),
            there=self._there.pages.get(answer.slug, self._there.pages.get(sent.slug)),
        )
        # One transaction: an intent that outlives its record would be checked against a
        # page that may have been edited since.
        with self._state.together():
            self._state.note_sent(answer.slug, self._cycle.clock(), sent.digest)
            self._state.record([Agreed.of(agreed, sent.content)], is_step=True)
            self._state.settle(intent)
            self._state.drop_refusal(sent.slug)
            self._cycle.note_done(action, answer.slug)
        self._tally.pushed.append(answer.slug)

    def _take_spelling(self, slug: model.Slug, given: model.Slug) -> None:
        """Keep the file of a page that the service cannot keep under its name."""
        # only git gives a page a name with a space; whoever edits it on the wiki, the
        # service writes the name with dashes
        if given in self._state.base():
            raise errors.PreconditionFailed(
                f"the page {slug} is the same as {given} on the wiki"
            )
        self._state.keep_file(slug, given)
        self._state.record(renamed={slug: given})
        now, what = self._cycle.clock(), f"the service renamed {slug}"
        self._state.note(now, given, what)
        self._tally.renamed.append(given)

    def _take_name(
        self, asked: model.Slug, given: model.Slug, *, is_known: bool = False
    ) -> None:
        """Keep the file's name for a page that the service calls otherwise."""
        # else two files would be one page
        if given in self._state.base() and not is_known:
            raise errors.PreconditionFailed(
                f"the service gave {asked} the name of the page {given}"
            )
        self._state.record_alias(asked, given)

    async def _move_back(self, wanted: model.Slug, answer: model.Page) -> model.Page:
        """Undo a move that nobody asked for (Q3)."""
        log.warning("the service moved %s to %s with an edit", wanted, answer.slug)
        moved = await self._remote.move(answer.slug, wanted, expected=answer.digest)
        if moved.slug != wanted:
            self._tally.add(
                "page-moved",
                wanted,
                f"the service renamed it to {moved.slug} when its text was sent",
                "rename it back on the wiki",
                is_once=True,
            )
        return moved

    # -- names and removals ------------------------------------------------------

    async def _move(self, action: plan.MoveRemote) -> None:
        page = model.Page(action.slug, action.format, "")
        intent = self._begin(WriteKind.MOVE, page, action.remote, action.target)
        answer = await self._remote.move(
            action.slug, action.target, expected=action.remote
        )
        self._note_window(action.slug)
        # The wiki has a new name for the page, the one asked for or another; the file
        # has had its new name all along, so only records change.
        with self._state.together():
            self._bind(action, answer.slug)
            self._state.settle(intent)
            self._cycle.note_done(action, answer.slug)
        self._tally.renamed.append(answer.slug)

    def _bind(self, action: plan.MoveRemote, given: model.Slug) -> None:
        is_same = given == action.record
        if given != action.target:
            self._take_name(action.target, given, is_known=is_same)
        if not is_same:
            self._state.record(renamed={action.record: given}, is_step=True)
        if given != action.target:
            # those below went along, to other names than the plan knows
            self._lose(action)
            self._tally.given_names |= {
                new: model.Slug(given + new.removeprefix(action.target))
                for _, new in action.renamed
            }

    async def _delete(self, action: plan.DeleteRemote) -> None:
        # In the trash before it is gone from the wiki: a crash in between leaves one
        # copy too many, never one too few.
        text = self._state.text(action.slug)
        if text is not None:
            refusal = self._state.memory.refusals.get(action.slug)
            await self._local.keep(
                action.slug,
                text,
                "deleted on the wiki by a sync",
                is_again=refusal is not None and refusal.local == action.remote,
            )
        page = model.Page(action.slug, action.format, "")
        intent = self._begin(WriteKind.DELETE, page, action.remote)
        # The wiki is read and compared right before: what differs from what was decided
        # on is left alone.
        await self._remote.delete(action.slug, expected=action.remote)
        self._note_window(action.slug)
        with self._state.together():
            self._state.record(dropped=[action.slug], is_step=True)
            self._state.settle(intent)
            self._cycle.note_done(action, action.slug)
        self._tally.removed.append(action.slug)

    def _begin(
        self,
        operation: WriteKind,
        page: model.Page,
        before: model.Digest = NO_DIGEST,
        target: model.Slug = NO_SLUG,
    ) -> int:
        has_text = operation in {WriteKind.CREATE, WriteKind.REPLACE}
        after, at = page.digest if has_text else NO_DIGEST, self._cycle.clock()
        names = operation, page.slug, target, page.format
        return self._state.begin(Intent(*names, before, after, page.content, at))

    def _note_window(self, slug: model.Slug) -> None:
        """Right after the answer: the next write has a window of its own."""
        window_s = self._remote.last_window_s
        health = self._state.memory.health
        if window_s > health.worst_window_s:
            health = replace(health, worst_window_s=window_s, worst_window_slug=slug)
            self._state.remember(health=health)

    # -- what goes wrong ---------------------------------------------------------

    def _lose(self, action: plan.RemoteWrite) -> None:
        if isinstance(action, plan.MoveRemote):
            self._tally.lost_names.update(new for _, new in action.renamed)

    async def _refused(
        self, action: plan.RemoteWrite, error: errors.RemoteError
    ) -> None:
        """The service said no: not asked again until the page is another."""
        page = None
        if isinstance(error, errors.Rejected) and isinstance(action, plan.Send):
            page = await self._cycle.page_here(action.slug)
        if page is not None and model.is_blank(page.content):
            # the next cycle leaves it here, as all such texts from now on
            known = self._state.memory.capabilities
            self._state.remember(capabilities=replace(known, takes_empty=False))
            self._settle_all(action.slug)
            self._tally.supersede(action.slug, error)
            return
        if isinstance(error, errors.Rejected | errors.PermissionDenied):
            self._settle_all(action.slug)
            if not isinstance(action, plan.MoveRemote):
                # what it says may be about the text, or about the token's rights
                said = f"{error.message}; {error.hint}" if error.hint else error.message
                digest = (
                    action.local if isinstance(action, plan.Send) else action.remote
                )
                now = self._cycle.clock()
                self._state.record_refusal(action.slug, digest, said, now)
                self._tally.refused.add(action.slug)
            elif isinstance(error, errors.Rejected):
                self._leave_name(action, error)
                return
        self._tally.fail("page-refused", action.slug, error)

    def _leave_name(self, action: plan.MoveRemote, error: errors.Rejected) -> None:
        """Leave a page its name on the wiki, and its file the new one here."""
        # so the refusal is reported once, and keeps back neither edits of the page nor
        # removals of others
        with self._state.together():
            self._bind(action, action.slug)
        self._tally.superseded += 1
        self._tally.warn(
            "rename-refused",
            action.target,
            f"{error.message}; the page keeps the name {action.slug} on the wiki,"
            f" and edits of the file go there",
            error.hint or "give the file another name",
            is_once=True,
        )

    def _settle_all(self, slug: model.Slug) -> None:
        with self._state.together():
            for intent in self._state.intents():
                if intent.slug == slug:
                    self._state.settle(intent.id)


# -- calls whose answer was lost


async def settle_intents(cycle: Cycle) -> None:
    """Find out what came of every intent; all stay where the wiki cannot be asked."""
    for intent in cycle.state.intents():
        log.info("checking the result of: %s %s", intent.operation, intent.slug)
        is_known = True
        match intent.operation:
            case WriteKind.CREATE:
                await _settle_create(cycle, intent)
            case WriteKind.REPLACE:
                # another text there is an edit, or the one before: comparing finds out
                held = await _held(cycle, intent.slug)
                if held is not None and _is_sent(held, intent):
                    _agree_on_sent(cycle, intent, held)
            case WriteKind.MOVE:
                is_known = await _settle_move(cycle, intent)
            case WriteKind.DELETE:
                if await _held(cycle, intent.slug) is None:
                    cycle.state.record(dropped=[intent.slug], is_step=True)
            case WriteKind.REBASE:
                # a merge that reached the folder: what it was merged with is agreed on
                with suppress(errors.NotFound):
                    page = await cycle.local.read(intent.slug)
                    if page.digest == intent.after:
                        rebase(cycle.state, intent)
            case _:
                assert_never(intent.operation)
        if is_known:
            cycle.state.settle(intent.id)


async def _settle_create(cycle: Cycle, intent: Intent) -> None:
    """Adopt the page if it was made, under whatever name the service gave it."""
    held = await _held(cycle, intent.slug)
    if held is None or not _is_sent(held, intent):
        # under another name it is found by its text, if no record owns a page of that
        # and there is just one
        base, there = cycle.state.base(), await cycle.remote.snapshot()
        found = [
            slug
            for slug, page in there.pages.items()
            if slug not in base and page.digest == intent.after
        ]
        if not there.is_complete or len(found) != 1:
            return
        # a page of its own here is no page that was made for another name
        if found[0] in (await cycle.local.snapshot()).pages:
            return
        held = model.Page(found[0], intent.format, intent.text)
        cycle.state.record_alias(intent.slug, held.slug)
    _agree_on_sent(cycle, intent, held)


async def _settle_move(cycle: Cycle, intent: Intent) -> bool:
    """Note a rename that came through, or finish it; whether it is known now."""
    base = cycle.state.base()
    if intent.slug not in base or intent.target in base:
        return True
    moved = await _held(cycle, intent.target)
    if moved is not None and moved.digest != intent.before:
        return True
    if await _held(cycle, intent.slug) is not None:
        return True
    # Under neither name: it is between the two writes of a rename, or gone.  The
    # temporary name shows which.
    if moved is None:
        return await _finish_move(cycle, intent)
    cycle.state.record(renamed={intent.slug: intent.target}, is_step=True)
    return True


async def _finish_move(cycle: Cycle, intent: Intent) -> bool:
    """Give a page its new name that was left under the temporary one."""
    # Where the service refuses that, the page gets its old name back.  A page that is
    # under no name may be one that the service hides by mistake: nobody else would
    # finish its rename.  False where it waits for the next cycle.
    left = await _held(cycle, model.temporary_name(intent.slug, intent.target))
    if left is None:
        return False
    log.warning("finishing the rename of %s to %s", intent.slug, intent.target)
    try:
        await cycle.remote.move(left.slug, intent.target, expected=left.digest)
    except (errors.Rejected, errors.PreconditionFailed):
        return await _give_back(cycle, intent, left)
    cycle.state.record(renamed={intent.slug: intent.target}, is_step=True)
    return True


async def _give_back(cycle: Cycle, intent: Intent, left: model.Page) -> bool:
    try:
        await cycle.remote.move(left.slug, intent.slug, expected=left.digest)
    except errors.PreconditionFailed:
        return False
    except errors.Rejected as error:
        log.warning("%s stays: %s", left.slug, error.message)
    return True


def _is_sent(held: model.Page, intent: Intent) -> bool:
    """Whether the wiki has what was sent; links to files are other ones there."""
    return model.digest_of(held.content) == intent.after


def _agree_on_sent(cycle: Cycle, intent: Intent, held: model.Page) -> None:
    """Agree on what was sent; whatever the wiki has by now is an edit of it."""
    agreed = plan.BasePage.agreed(
        replace(held, format=intent.format),
        local=intent.after,
        known=cycle.state.base().get(held.slug),
    )
    cycle.state.record([Agreed.of(agreed, intent.text)], is_step=True)


async def _held(cycle: Cycle, slug: model.Slug) -> model.Page | None:
    try:
        return await cycle.remote.read(slug)
    except (errors.NotFound, errors.ProtocolViolation):
        return None


# -- what the pages link to


def note_unmet(
    cycle: Cycle, sends: Sequence[plan.Send], files: Collection[str]
) -> None:
    """Report links of pages that were sent, which lead to nothing here or there."""
    base, unmet = cycle.state.base(), cycle.linked.unmet if cycle.linked else {}
    sent = {one.slug for one in sends} & base.keys()
    asked = {slug: unmet[slug] for slug in unmet.keys() & sent}
    if not any(asked.values()):
        return
    pages = (f"{slug}{base[slug].format.extensions[0]}" for slug in base)
    known = {*files, *cycle.state.attachments(), *base, *pages}
    for slug, ways in sorted(asked.items()):
        for way in ways:
            if known.isdisjoint(ways_lead_to(slug, [way])):
                message = f"links to {way}, which is neither here nor on the wiki"
                hint = "correct the link, or put the file there"
                problem = model.Problem("attachment-missing", slug, message, hint)
                cycle.tally.absent.append(problem)

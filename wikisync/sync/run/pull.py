"""From the wiki to the folder: texts, merges, renames, removals, files of pages.

Readers hand pages to one writer, which writes them in batches: a batch and its record
in the base are one unit that an interrupt waits for.  What is replaced or removed here
is kept first.  One page that fails becomes a problem; a full disk, a refused token or a
service that stays away ends the cycle.

The service has no list of attachments (Q11), only the mentions in texts.  An upload
never gets other content, so what the folder has is not asked for again.  Other files
are listed by the wiki's git repository, with an id for each version.  What is not on
the wiki may be an example of code: it is reported in the first round alone.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec.structs import replace

from wikisync import errors
from wikisync.core import model
from wikisync.core.fetching import MISSING_HINT, Fetching, Spellings, Unfetched
from wikisync.core.mentions import is_upload, unmet_mentions
from wikisync.core.system.parallel import UNAVAILABLE_MAX, each, finish, plain_errors
from wikisync.merging.metadata import with_front_matter
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import ledger
from wikisync.sync.decide import plan as plans
from wikisync.sync.run import parts

log = logging.getLogger(__name__)

BATCH_PAGES = 256
BATCH_CHARS = 8 * 1024 * 1024
"""A batch is written when it has this many pages or this much text."""

_Fetched: TypeAlias = tuple[model.Page, model.Digest | None]
"""A page on its way from the wiki to the folder, and what it replaces."""


async def pull_pages(cycle: parts.Cycle, decided: parts.Decided) -> None:
    """Write what the wiki created and edited, and record what is equal already."""
    lost, pulls = cycle.tally.lost_names, _Pulls(cycle, decided)
    left = decided.plan.map(lambda a: None if a.slug in lost else a)
    await pulls.write_pages(left)
    adopted = [a for a in left.actions if isinstance(a, plans.Adopt)]
    for start in range(0, len(adopted), BATCH_PAGES):
        batch = adopted[start : start + BATCH_PAGES]
        agreed = [await pulls.agreed(action) for action in batch]
        cycle.state.record(filter(None, agreed))


class _Pulls:
    def __init__(self, cycle: parts.Cycle, decided: parts.Decided) -> None:
        self._cycle = cycle
        self._state, self._tally = cycle.state, cycle.tally
        self._here, self._there = decided.here, decided.there
        self._failures_in_row = 0
        self._keeping: dict[model.Slug, int] = {}
        """Numbers of texts that are kept because they are about to be replaced."""

    # -- pages from the wiki to the folder ---------------------------------------

    async def write_pages(self, plan: plans.Plan) -> None:
        if not plan.writes:
            return
        self._cycle.progress.start("pages", len(plan.writes))
        queue: asyncio.Queue[_Fetched | None] = asyncio.Queue(parts.READS_MAX)
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read_pages(plan.writes, queue))
                group.create_task(self._write_batches(queue))

    async def _read_pages(
        self, writes: tuple[plans.Write, ...], queue: asyncio.Queue[_Fetched | None]
    ) -> None:
        # The queue holds as many pages as reads are in flight: a slow disk holds the
        # readers up, so that few texts are in memory.
        async def read(action: plans.Write) -> None:
            page = self._there.texts.get(action.slug) or await self._read(action.slug)
            if page is not None:
                expected = action.local if isinstance(action, plans.Pull) else None
                await queue.put((page, expected))

        await each(writes, read, in_flight=parts.READS_MAX)
        await queue.put(None)

    async def _read(self, slug: model.Slug) -> model.Page | None:
        try:
            page = await self._cycle.remote.read(slug)
        except (errors.AuthenticationFailed, errors.RateLimited):
            raise
        except errors.Unavailable as error:
            self._failures_in_row += 1
            if self._failures_in_row >= UNAVAILABLE_MAX:
                raise
            self._tally.add("page-unavailable", slug, error.message, "run it again")
            return None
        except errors.NotFound as error:
            self._tally.supersede(slug, error)
            return None
        except errors.RemoteError as error:
            self._tally.fail("page-unreadable", slug, error)
            return None
        self._failures_in_row = 0
        return page

    async def _write_batches(self, queue: asyncio.Queue[_Fetched | None]) -> None:
        batch: list[_Fetched] = []
        chars = 0
        while (fetched := await queue.get()) is not None:
            batch.append(fetched)
            chars += len(fetched[0].content)
            if len(batch) >= BATCH_PAGES or chars >= BATCH_CHARS:
                await finish(self._write_batch(batch), within_s=parts.FINISH_TIMEOUT_S)
                batch, chars = [], 0
        await finish(self._write_batch(batch), within_s=parts.FINISH_TIMEOUT_S)

    async def _write_batch(self, batch: list[_Fetched]) -> None:
        pages = [
            (page if old is None else await self._kept(page, old), old)
            for page, old in batch
        ]
        texts = [page.content for page, _ in batch]
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._cycle.local.write_pages(pages))
                packing = group.create_task(
                    asyncio.to_thread(lambda: list(map(ledger.packed_text, texts)))
                )
        agreed: list[ledger.Agreed] = []
        for (page, _), result, text in zip(
            batch, writing.result(), packing.result(), strict=True
        ):
            if isinstance(result, model.Page):
                log.info("pulled %s", page.slug)
                there = self._there.pages.get(page.slug)
                base = plans.BasePage.agreed(page, local=result.digest, there=there)
                agreed.append(ledger.Agreed(base, *text))
            elif isinstance(result, errors.PreconditionFailed):
                self._tally.supersede(page.slug, result)
            else:
                self._tally.fail("page-unwritable", page.slug, result)
        # ``agreed`` has the pages whose files were written and nothing else: a page
        # that failed keeps its record, and the next cycle finds the same difference.
        slugs = [one.page.slug for one in agreed]
        kept = [self._keeping[slug] for slug in slugs if slug in self._keeping]
        self._state.record(agreed, is_step=True)
        self._state.confirm_replaced(kept)
        self._tally.pulled += slugs
        self._cycle.progress.advance(len(agreed))

    async def _kept(self, page: model.Page, expected: model.Digest) -> model.Page:
        """Keep what is about to be replaced; give the new text the file's form."""
        mine = await self._cycle.page_here(page.slug)
        if mine is None or mine.digest != expected:
            return page  # the write will not replace it, and it is not to be kept
        content = page.content
        if page.format in self._state.memory.capabilities.strips_front_matter_of:
            content = with_front_matter(content, mine.content)
        content = with_line_ends_of(content, mine.content)
        self._keeping[page.slug] = self._state.remember_replaced(
            page.slug, mine.content, content, self._cycle.clock()
        )
        return model.Page(page.slug, page.format, content, page.title)

    # -- the base alone ----------------------------------------------------------

    async def agreed(self, action: plans.Adopt) -> ledger.Agreed | None:
        """What both sides hold; None where it changed on both meanwhile."""
        page = self._there.texts.get(action.slug)
        if page is None:
            page = await self._read_equal(action)
        if page is None:
            return None
        agreed = plans.BasePage.agreed(
            replace(page, slug=action.slug, format=action.format),
            local=action.local,
            remote=action.remote,
            here=self._here.pages.get(action.slug),
            there=self._there.pages.get(action.slug),
        )
        return ledger.Agreed.of(agreed, page.content)

    async def _read_equal(self, action: plans.Adopt) -> model.Page | None:
        """The text that both sides held, from the side that still has it."""
        # a text of one side alone would be the ancestor that makes the other side win
        with suppress(errors.NotFound, errors.FolderError):
            page = await self._cycle.local.read(action.slug)
            if page.digest == action.local:
                return page
        try:
            page = await self._cycle.remote.read(action.slug)
        except errors.NotFound as error:
            self._tally.supersede(action.slug, error)
            return None
        if page.digest == action.remote:
            return page
        self._tally.supersede(
            action.slug, errors.PreconditionFailed("it was saved meanwhile")
        )
        return None


def with_line_ends_of(text: str, like: str) -> str:
    """The text with the line ends of most lines of another text, and its mark."""
    mark = model.BYTE_ORDER_MARK
    if like.startswith(mark):
        text = mark + text.removeprefix(mark)
    if like.count("\r\n") * 2 <= like.count("\n") or "\r" in text:
        return text
    return text.replace("\n", "\r\n")


# -- names, removals and merges in the folder


STALE_SAVE = (
    "saved over an older text: the wiki's newer edits are kept; save again to remove"
    " them"
)
"""Said of a save that seems to be of a window which was not loaded anew."""


async def remove_here(cycle: parts.Cycle, action: plans.DeleteLocal) -> None:
    """Move a page's file to the trash."""
    await _is_done(cycle, action.slug, _remove(cycle, action))


async def _remove(cycle: parts.Cycle, action: plans.DeleteLocal) -> None:
    await cycle.local.delete(action.slug, expected=action.local)
    cycle.state.record(dropped=[action.slug], is_step=True)
    cycle.note_done(action, action.slug)
    cycle.tally.removed.append(action.slug)


async def move_here(cycle: parts.Cycle, action: plans.MoveLocal | plans.Rebind) -> None:
    """Rename a file as its page was renamed, or only its record."""
    given = None
    if isinstance(action, plans.Rebind):
        given = cycle.tally.given_names.get(action.target)
    if given is None and action.target in cycle.tally.lost_names:
        return  # a rename on the wiki was to give it that name, and failed
    move = _move(cycle, action, given or action.target)
    if not await _is_done(cycle, action.slug, move):
        cycle.tally.lost_names.add(action.target)


async def _move(
    cycle: parts.Cycle, action: plans.MoveLocal | plans.Rebind, given: model.Slug
) -> None:
    record = action.slug
    if isinstance(action, plans.MoveLocal):
        record = action.record
        await cycle.local.move(action.slug, action.target, expected=action.local)
    if given != action.target:
        await cycle.remote.read(given)  # it may be where it was
    # The file has its new name.  If the process ends before the record has it, the next
    # cycle matches the two again: both sides have the page under one name.
    with cycle.state.together():
        if given != action.target:
            cycle.state.record_alias(action.target, given)
        elif isinstance(action, plans.Rebind) and action.file is not None:
            cycle.state.keep_file(action.file, given)
        if given != record:
            is_step = isinstance(action, plans.MoveLocal)
            cycle.state.record(renamed={record: given}, is_step=is_step)
        cycle.note_done(action, action.slug)
    cycle.tally.renamed.append(given)


async def rebase_here(
    cycle: parts.Cycle, action: plans.Rebase, there: model.Snapshot
) -> None:
    """Take the wiki's older text as agreed on: what the folder has is an edit of it."""
    known = cycle.state.text(action.slug) or ""
    try:
        page = await cycle.remote_page(
            action.there, there, known=known, expected=action.remote
        )
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.supersede(action.slug, error)
    except (errors.AuthenticationFailed, errors.RateLimited):
        raise
    except errors.RemoteError as error:
        cycle.tally.fail("page-unreadable", action.slug, error)
    else:
        await _is_done(cycle, action.slug, _rebase(cycle, action, page.content))


async def _rebase(cycle: parts.Cycle, action: plans.Rebase, text: str) -> None:
    # the push replaces it, and the wiki's history is not at hand here
    await cycle.local.keep(action.slug, text, parts.UNAGREED, is_again=True)
    intent = ledger.Intent(
        ledger.WriteKind.REBASE,
        action.slug,
        format=action.format,
        before=action.remote,
        text=text,
        at=cycle.clock(),
    )
    with cycle.state.together():
        rebase(cycle.state, intent)
        cycle.note_done(action, action.slug)


def rebase(state: WikiState, intent: ledger.Intent) -> None:
    """Take the wiki's text that was merged as the one both sides agreed on."""
    agreed = plans.BasePage.agreed(
        model.Page(intent.slug, intent.format, intent.text),
        remote=intent.before,
        known=state.base().get(intent.slug),
    )
    with state.together():
        state.record([ledger.Agreed.of(agreed, intent.text)], is_step=True)
        state.note_replaced_there(intent.slug, intent.text, intent.format)


async def merge_here(
    cycle: parts.Cycle, action: plans.Merge, merged: parts.MergedPage
) -> None:
    """Write a clean merge here, and take the wiki's text as agreed on."""
    if action.slug not in cycle.tally.lost_names:
        await _is_done(cycle, action.slug, _merge(cycle, action, merged))


async def _merge(
    cycle: parts.Cycle, action: plans.Merge, merged: parts.MergedPage
) -> None:
    text = merged.result.text
    assert text is not None, "a clash is held, not merged"
    page = model.Page(action.slug, action.format, text)
    intent = ledger.Intent(
        ledger.WriteKind.REBASE,
        action.slug,
        format=merged.remote.format,
        before=action.remote,
        after=page.digest,
        text=merged.remote.content,
        at=cycle.clock(),
    )
    number = kept = 0
    if text != merged.local.content or action.format is not merged.local.format:
        with cycle.state.together():
            number = cycle.state.begin(intent)
            kept = cycle.state.remember_replaced(
                action.slug,
                merged.local.content,
                text,
                cycle.clock(),
                is_stale=merged.stale is not None,
                is_contained=merged.stale is None,
            )
        try:
            await cycle.local.write(page, expected=action.local)
        except (errors.PreconditionFailed, errors.FolderError):
            cycle.state.settle(number)
            raise
    # At this point the file holds the merged text.  The wiki's text that went into it
    # counts as agreed on, so what the file has beyond it is an edit made here.
    with cycle.state.together():
        rebase(cycle.state, intent)
        if number:
            cycle.state.settle(number)
            cycle.state.confirm_replaced([kept])
        if merged.stale is None:
            cycle.note_done(action, action.slug)
        else:
            log.warning("%s: %s", action.slug, STALE_SAVE)
            now = cycle.clock()
            cycle.state.note(now, action.slug, STALE_SAVE, is_warning=True)
    cycle.tally.merged.append(action.slug)


async def _is_done(
    cycle: parts.Cycle, slug: model.Slug, work: Coroutine[None, None, None]
) -> bool:
    """Do it, and say so where the page changed meanwhile, or cannot be written."""
    try:
        await finish(work, within_s=parts.FINISH_TIMEOUT_S)
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.supersede(slug, error)
    except errors.FolderError as error:
        if error.is_of_disk:
            raise
        cycle.tally.fail("page-unwritable", slug, error)
    else:
        return True
    return False


# -- files that pages mention


class MissingFiles:
    """Attachments that are mentioned and not here yet."""

    def __init__(
        self,
        cycle: parts.Cycle,
        mentions: Sequence[model.AttachmentPath],
        versions: Mapping[model.AttachmentPath, str] | None,
    ) -> None:
        self._cycle = cycle
        self._state, self._local, self._tally = cycle.state, cycle.local, cycle.tally
        self._is_listed, found = versions is not None, versions or {}
        asked = dict.fromkeys((*mentions, *found))
        self._mentions = [path for path in asked if not cycle.local.keeps_out(path)]
        self._versions = {path: found[path] for path in self._mentions if path in found}
        self._has_all = len(self._mentions) == len(asked)
        self._replaced: dict[model.AttachmentPath, model.Digest] = {}
        """Files of which the wiki has another version, as they are here."""
        self._known: Mapping[model.AttachmentPath, ledger.FetchedFile] = {}

    async def fetch(self) -> bool:
        """Whether all are here then, as the wiki has them or as they were changed here.

        errors.FolderError where the disk is full.
        """
        wanted = await self._wanted()
        if not wanted:
            return self._has_all
        failed = await Fetching(self._fetch).run(
            wanted, self._cycle.progress, in_flight=parts.READS_MAX
        )
        for one in failed:
            self._report(one)
        for found in (self._tally.missing, self._tally.absent):
            found.sort(key=lambda problem: problem.subject)
        here = self._state.attachments_here()
        unmet = unmet_mentions(self._mentions, here)
        return self._has_all and not (failed or self._replaced or unmet)

    async def _wanted(self) -> Sequence[Spellings]:
        """Mentions whose file the folder lacks; the base learns of the others."""
        self._known = self._state.attachments()
        before = {
            path: known.here if (known := self._known.get(path)) else None
            for path in self._mentions
        }
        there = await self._local.attachments(self._mentions)
        for path in self._versions.keys() & there.keys():
            await self._compare(path, there[path])
        # files that stay here though the wiki has them no more
        fetched = (path for path, one in self._known.items() if one.version)
        for path in fetched if self._is_listed else ():
            if path in there and path not in self._versions:
                message = f"{path} was removed on the wiki, and stays here"
                hint = "remove the links to it; a file that changes here is sent again"
                problem = model.Problem("attachment-other", path, message, hint)
                self._report(Unfetched(problem, is_absent=True))
        await self._meet_again([path for path in there if path not in self._known])
        self._state.record_attachments(
            [
                self._as_now(path, there.get(path))
                for path in self._mentions
                if there.get(path) != before[path]
                and (path in self._known or (path in there and is_upload(path)))
            ]
        )
        return unmet_mentions(self._mentions, there.keys() - self._replaced.keys())

    async def _compare(self, path: model.AttachmentPath, here: model.LooseFile) -> None:
        """See whether a file here is the wiki's, or an older version of it."""
        # what is neither is a person's, and nothing takes its place
        known, version = self._known.get(path), self._versions[path]
        if known is not None and known.version == version:
            return
        is_own = known is None or not known.version
        if await self._git_id(path, here, version) == version:
            fetched = ledger.FetchedFile(path, here.digest, here, version)
            self._state.record_attachments([fetched])
            self._known = self._state.attachments()
        elif known and not is_own and known.digest == here.digest:
            self._replaced[path] = here.digest
        elif is_own:
            if known is None:
                # without a version: links lead to the wiki's until this one changes
                own = ledger.FetchedFile(path, here.digest, here)
                self._state.record_attachments([own])
                self._known = self._state.attachments()
            message = f"{path} is another file here than on the wiki, and stays"
            problem = model.Problem("attachment-other", path, message, MISSING_HINT)
            self._report(Unfetched(problem, is_absent=True))

    async def _meet_again(self, paths: Sequence[model.AttachmentPath]) -> None:
        """Note what the wiki has for uploads that are here and on no record."""
        # Somebody may have changed one of them while its record was lost.  Those that
        # are the wiki's are recorded by the caller.
        uploads = [path for path in paths if is_upload(path)]
        if not uploads:
            return
        ids = await self._cycle.remote.other_files(has_uploads=True) or {}
        here = await self._local.attachments(uploads)
        for path, file in here.items():
            if path in ids and await self._git_id(path, file, ids[path]) != ids[path]:
                digest = hashlib.sha256()
                with suppress(errors.RemoteError):
                    async for chunk in self._cycle.remote.read_attachment(path):
                        digest.update(chunk)
                    fetched = ledger.FetchedFile(
                        path, model.Digest(digest.hexdigest()), file
                    )
                    self._state.record_attachments([fetched])
        self._known = self._state.attachments()

    async def _git_id(
        self, path: model.AttachmentPath, here: model.LooseFile, like: str
    ) -> str:
        """What git calls a file here, by the hash that another id was made with."""
        digest = hashlib.sha1(usedforsecurity=False)
        if len(like) == hashlib.sha256().digest_size * 2:
            digest = hashlib.sha256()
        digest.update(b"blob %d\0" % here.size)
        async for chunk in self._local.read_attachment(path):
            digest.update(chunk)
        return digest.hexdigest()

    def _as_now(
        self, path: model.AttachmentPath, here: model.LooseFile | None
    ) -> ledger.FetchedFile:
        """What to remember of a file; one that nobody fetched counts as the wiki's."""
        known = self._known.get(path)
        if known is not None:
            return replace(known, here=here)
        assert here is not None, path
        return ledger.FetchedFile(path, here.digest, here)

    async def _fetch(self, path: model.AttachmentPath) -> Unfetched | None:
        try:
            here = await self._local.write_attachment(
                path, self._noted(path), replaces=self._replaced.get(path)
            )
        except errors.PreconditionFailed:
            return None  # somebody put it there meanwhile; the next round takes it
        except errors.FolderError as error:
            if error.is_of_disk:
                raise
            # a file that the wiki keeps for other uses, or a page shows in an example
            is_other, hint = path in self._versions, error.hint or MISSING_HINT
            problem = model.Problem("attachment-unwritable", path, error.message, hint)
            return Unfetched(problem, is_absent=is_other)
        if path != model.REDIRECTS_PATH:  # no page shows it
            self._tally.attachments.append(path)
        fetched = self._as_now(path, here)
        if path in self._versions:
            fetched = ledger.FetchedFile(path, here.digest, here, self._versions[path])
        self._state.record_attachments([fetched])
        log.info("fetched %s", path)
        return None

    async def _noted(self, path: model.AttachmentPath) -> AsyncIterator[bytes]:
        """The wiki's bytes, whose digest is on record before a file shows them."""
        # if this process ends then, and somebody changes the file, the next one notices
        digest = hashlib.sha256()
        known = self._known.get(path)
        version = self._versions.get(path) or (known.version if known else "")
        async for chunk in self._cycle.remote.read_attachment(path, version):
            digest.update(chunk)
            yield chunk
        if known is None:
            fetched = ledger.FetchedFile(
                path, model.Digest(digest.hexdigest()), None, version
            )
            self._state.record_attachments([fetched])

    def _report(self, failed: Unfetched) -> None:
        """Make a problem of it; what is not on the wiki is reported once."""
        problem = failed.problem
        tally = self._tally
        reported = tally.absent if failed.is_absent else tally.missing
        if failed.is_absent:
            last = self._state.events(1, model.Slug(problem.subject))
            if last and last[0].what == problem.message:
                return
        if problem not in reported:
            reported.append(problem)

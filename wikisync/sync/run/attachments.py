"""Fetching the attachments that pages mention; each one that fails is a problem.

The service has no list of attachments (Q11), only the mentions in texts.  An upload
never gets other content, so what the folder has is not asked for again.  Other files
are listed by the wiki's git repository, with an id for each version.  What is not on
the wiki may be an example of code: it is reported in the first round alone.
"""

import hashlib
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from wikisync.core import model
from wikisync.core.fetching import MISSING_HINT, Fetching, Spellings, Unfetched
from wikisync.core.mentions import is_upload, unmet_mentions, ways_lead_to
from wikisync.errors import FolderError, PreconditionFailed, RemoteError
from wikisync.sync.decide.ledger import FetchedFile
from wikisync.sync.run.parts import Cycle, is_disk_error

log = logging.getLogger(__name__)


def note_unmet(
    cycle: Cycle,
    unmet: Mapping[model.Slug, Sequence[str]],
    sent: Collection[model.Slug],
    files: Collection[str],
) -> None:
    """Report links of pages that were sent, which lead to nothing here or there."""
    base = cycle.state.base()
    asked = {slug: unmet[slug] for slug in unmet.keys() & sent & base.keys()}
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


class MissingFiles:
    """Attachments that are mentioned and not here yet."""

    def __init__(
        self,
        cycle: Cycle,
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
        self._known: Mapping[model.AttachmentPath, FetchedFile] = {}

    async def fetch(self) -> bool:
        """Whether all are here then, as the wiki has them or as they were changed here.

        FolderError where the disk is full.
        """
        wanted = await self._wanted()
        if not wanted:
            return self._has_all
        failed = await Fetching(self._fetch).run(
            wanted, self._cycle.progress, in_flight=self._cycle.options.reads_max
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
            fetched = FetchedFile(path, here.digest, here, version)
            self._state.record_attachments([fetched])
            self._known = self._state.attachments()
        elif known and not is_own and known.digest == here.digest:
            self._replaced[path] = here.digest
        elif is_own:
            if known is None:
                # without a version: links lead to the wiki's until this one changes
                own = FetchedFile(path, here.digest, here)
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
                with suppress(RemoteError):
                    async for chunk in self._cycle.remote.read_attachment(path):
                        digest.update(chunk)
                    fetched = FetchedFile(path, model.Digest(digest.hexdigest()), file)
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
    ) -> FetchedFile:
        """What to remember of a file; one that nobody fetched counts as the wiki's."""
        known = self._known.get(path)
        if known is not None:
            return replace(known, here=here)
        assert here is not None, path
        return FetchedFile(path, here.digest, here)

    async def _fetch(self, path: model.AttachmentPath) -> Unfetched | None:
        try:
            stored = await self._local.write_attachment(
                path, self._noted(path), replaces=self._replaced.get(path)
            )
        except PreconditionFailed:
            return None  # somebody put it there meanwhile; the next round takes it
        except FolderError as error:
            if is_disk_error(error):
                raise
            # a file that the wiki keeps for other uses, or a page shows in an example
            is_other, hint = path in self._versions, error.hint or MISSING_HINT
            problem = model.Problem("attachment-unwritable", path, error.message, hint)
            return Unfetched(problem, is_absent=is_other)
        if path != model.REDIRECTS_PATH:  # no page shows it
            self._tally.attachments.append(path)
        here = model.LooseFile(path, stored.digest, stored.size)
        fetched = self._as_now(path, here)
        if path in self._versions:
            fetched = FetchedFile(path, here.digest, here, self._versions[path])
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
            fetched = FetchedFile(path, model.Digest(digest.hexdigest()), None, version)
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

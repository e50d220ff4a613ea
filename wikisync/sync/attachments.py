"""Fetching the attachments that pages mention; each one that fails is a problem.

The service has no list of attachments (``service-behaviour.md`` 6.2), so the
mentions in the texts of the base are all that can be known.  A path holds a
random part and never gets other content: what the folder has is not asked for
again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from wikisync.errors import (
    FolderError,
    NotFound,
    RemoteError,
    Unavailable,
    WikisyncError,
)
from wikisync.model import Attachment, AttachmentPath, Problem
from wikisync.progress import Progress
from wikisync.sync.apply import UNAVAILABLE_MAX, is_disk_error
from wikisync.sync.flow import each
from wikisync.sync.replica import Replica
from wikisync.sync.state import WikiState

log = logging.getLogger(__name__)

MISSING_HINT = "the pages that mention it show a placeholder instead"


class AttachmentFetch:
    """One round of fetching for one wiki."""

    def __init__(
        self,
        remote: Replica,
        local: Replica,
        state: WikiState,
        *,
        progress: Progress,
        reads_max: int,
        mentions: Sequence[AttachmentPath] | None = None,
    ) -> None:
        """Args: ``mentions`` are the attachments to have; by default all of them."""
        self._mentions = state.mentions() if mentions is None else mentions
        self._remote = remote
        self._local = local
        self._state = state
        self._progress = progress
        self._reads_max = reads_max
        self._failures_in_row = 0
        self.fetched = 0
        self.problems: list[Problem] = []

    async def run(self) -> None:
        """Fetch what is mentioned and not in the folder yet.

        Cancelled, it leaves whole files; what the base does not know of them is
        found in the folder by the next round.

        Raises:
            FolderError: the disk takes no more.
        """
        wanted = await self._wanted()
        if not wanted:
            return
        self._progress.start("attachments", len(wanted))
        await each(wanted, self._fetch, in_flight=self._reads_max)
        self.problems.sort(key=lambda problem: problem.subject)

    async def _wanted(self) -> list[AttachmentPath]:
        """Mentioned paths that the folder lacks; the base learns of the others."""
        known = self._state.attachments()
        wanted: list[AttachmentPath] = []
        found: list[Attachment] = []
        for path in self._mentions:
            held = await self._held(path)
            if held is None:
                wanted.append(path)
            elif known.get(path) != held:
                found.append(held)
        lost = [path for path in wanted if path in known]
        if found or lost:
            self._state.record_attachments(found, lost)
        return wanted

    async def _held(self, path: AttachmentPath) -> Attachment | None:
        try:
            return await self._local.attachment(path)
        except FolderError:
            # said once, by the attempt to write it
            return None

    async def _fetch(self, path: AttachmentPath) -> None:
        self._progress.advance()
        if self._failures_in_row >= UNAVAILABLE_MAX:
            self._fail("attachment-missing", path, "the service does not answer")
            return
        try:
            stored = await self._local.write_attachment(
                path, self._remote.read_attachment(path)
            )
        except Unavailable as error:
            self._failures_in_row += 1
            self._fail("attachment-missing", path, error.message)
        except (NotFound, RemoteError) as error:
            self._failures_in_row = 0
            self._fail("attachment-missing", path, error.message, error)
        except FolderError as error:
            if is_disk_error(error):
                raise
            self._fail("attachment-unwritable", path, error.message, error)
        else:
            # no waiting between the file and its record
            self._failures_in_row = 0
            self.fetched += 1
            self._state.record_attachments([stored])
            log.info("fetched %s", path)

    def _fail(
        self,
        code: str,
        path: AttachmentPath,
        message: str,
        error: WikisyncError | None = None,
    ) -> None:
        hint = (error.hint if error else None) or MISSING_HINT
        log.info("problem with %s: %s", path, message)
        self.problems.append(Problem(code, path, message, hint))

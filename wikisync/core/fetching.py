"""Fetching the files that pages mention; each one that fails is a problem.

Where a name ends is not always clear, so a mention may have several spellings
(``mentions``): they are tried in turn, and the first file is enough.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from wikisync.core.messages import Progress
from wikisync.core.model import AttachmentPath, Problem
from wikisync.core.system.parallel import UNAVAILABLE_MAX, each
from wikisync.errors import NotFound, RateLimited, RemoteError, Unavailable

log = logging.getLogger(__name__)

MISSING_HINT = "pages that use it show a placeholder instead"

Spellings: TypeAlias = Sequence[AttachmentPath]
"""The names that one mention may stand for, the likeliest first."""


class Unfetched(Struct, frozen=True):
    """A file that was not fetched."""

    problem: Problem
    is_absent: bool = False
    """The wiki was asked, and has no such file."""
    is_reported: bool = False
    """The same was reported of another file."""


class Fetching:
    """One round of fetching for one wiki."""

    def __init__(
        self, fetch: Callable[[AttachmentPath], Awaitable[Unfetched | None]]
    ) -> None:
        """``fetch`` stores a file, or raises what the service says."""
        self._fetch = fetch
        self._failures_in_row = 0
        self._has_limit = False
        """The service wants no requests for files now."""
        self._failed: list[Unfetched] = []

    async def run(
        self, wanted: Sequence[Spellings], progress: Progress, *, in_flight: int
    ) -> list[Unfetched]:
        """Fetch them, a few at a time; what of them was not, each mention once."""
        if wanted:
            progress.start("attachments", len(wanted))
        self._progress = progress
        # by what mentions may share, so that no file is fetched twice at once
        apart: dict[AttachmentPath, list[Spellings]] = {}
        for spellings in wanted:
            apart.setdefault(min(spellings, key=len), []).append(spellings)
        await each(apart.values(), self._fetch_all, in_flight=in_flight)
        return self._failed

    async def _fetch_all(self, mentions: Sequence[Spellings]) -> None:
        tried: dict[AttachmentPath, Unfetched | None] = {}
        for spellings in mentions:
            self._progress.advance()
            failed: list[Unfetched] = []
            if self._has_limit:
                return  # reported for the first one; the next round asks for the others
            for path in spellings:
                if path not in tried:
                    tried[path] = await self._fetched(path)
                failure = tried[path]
                if failure is None:
                    break
                failed.append(failure)
            else:
                # of a file that may be there rather than of a name that is none
                first = next((one for one in failed if not one.is_absent), failed[0])
                if not first.is_reported:
                    self._failed.append(first)

    async def _fetched(self, path: AttachmentPath) -> Unfetched | None:
        if self._failures_in_row >= UNAVAILABLE_MAX:
            message = "the service does not answer"
            return Unfetched(Problem("attachment-missing", path, message, MISSING_HINT))
        is_absent, is_reported, hint = False, False, None
        try:
            failed = await self._fetch(path)
        except RateLimited as error:
            is_reported, self._has_limit = self._has_limit, True
            message = f"{error.message}; the files after it also wait"
            hint = error.hint
        except Unavailable as error:
            self._failures_in_row += 1
            message = error.message
        except RemoteError as error:
            self._failures_in_row = 0
            # with a cause it is the way to the file that is not there
            is_absent = isinstance(error, NotFound) and error.__cause__ is None
            message, hint = error.message, error.hint
        else:
            self._failures_in_row = 0
            return failed
        log.info("problem with %s: %s", path, message)
        problem = Problem("attachment-missing", path, message, hint or MISSING_HINT)
        return Unfetched(problem, is_absent, is_reported)

"""The published site in sync with the folders: built beside the cycles, never in them.

However often pages change while a build runs, one more follows, after a rest as long
as that build took: constant edits cost half of one core at most.  What goes wrong
leaves the last good site, and is reported once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from wikisync.errors import UsageError, WikisyncError
from wikisync.site.publish import publish
from wikisync.workspace.building import after_command, bucket_of
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.failures import guarded
from wikisync.workspace.folders import ShownFolder, cache_folder

log = logging.getLogger(__name__)

QUIET_S = 1.0
"""Changes within this time are one build."""
RETRY_S = 300.0
"""A build that failed is tried again after this time, also when nothing changes."""

TO_REPLACE = "to remove it from the site run: wikisync build --publish --replace"


class PublishedSite:
    """One site that follows its folders."""

    def __init__(
        self,
        workspace: ConfiguredWorkspace,
        on_problem: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Make one."""
        self._workspace = workspace
        self._on_problem = on_problem
        self._changed = asyncio.Event()
        self._problem = ""
        self._clock = clock
        self._sleep = sleep
        self._rests_until = 0.0
        """By the clock: when the next build may begin."""
        self.builds = 0

    def change(self) -> None:
        """Pages changed, or may have."""
        self._changed.set()

    async def run(self) -> None:
        """Build whenever something changed, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S if self._problem else None):
                    await self._changed.wait()
            await self._sleep(max(QUIET_S, self._rests_until - self._clock()))
            self._changed.clear()
            started = self._clock()
            try:
                problem = await guarded("the site", self._build())
            except UsageError as error:
                # a wiki would leave the site: the option is of another command
                problem = f"{error.message}; {TO_REPLACE}"
            except WikisyncError as error:
                problem = error.message
            ended = self._clock()
            self._rests_until = ended + (ended - started)
            if problem != self._problem:
                self._problem = problem
                self._on_problem(problem)

    async def _build(self) -> str:
        """Build once; what is wrong with the version that is shown, or nothing.

        Raises:
            WikisyncError: there is no new version; the last good one stays.
        """
        root = self._workspace.root
        shown = ShownFolder(root, root)
        config = self._workspace.config
        self.builds += 1
        wikis, options = shown.site()
        published = await publish(
            wikis,
            root / config.site.output,
            options,
            cache=cache_folder(shown, "site", os.environ),
            keep=config.site.keep,
            bucket=bucket_of(shown, config, os.environ),
            after=after_command(shown, config, os.environ),
        )
        if published.is_switched:
            log.info("the site %s is up to date", config.site.output)
        return str(published.problems[0]) if published.problems else ""

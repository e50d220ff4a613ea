"""Calling a person: a command of theirs.

Once for each change of what waits for them, and never so that anything waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from wikisync.core.system.processes import PIPE, end_session, start_program_async

log = logging.getLogger(__name__)

CALL_S_MAX = 30.0
"""For one command."""


class Caller:
    """Runs what notifies a person that they are needed."""

    def __init__(
        self,
        command: Sequence[str],
        root: Path,
        environment: Mapping[str, str],
        *,
        seconds_max: float = CALL_S_MAX,
        shown: str = "",
    ) -> None:
        """Make one."""
        self._command = tuple(command)
        self._root = root
        self._environment = environment
        self._seconds_max = seconds_max
        self._shown = shown

    async def call(self, text: str, attention_file: Path) -> None:
        """Notify of what waits now; the same text twice in a row is one notification.

        The command gets the text on stdin, and the file's path in the variable
        ``WIKISYNC_ATTENTION``.  Cancelled, it kills what runs.
        """
        if text == self._shown:
            return
        self._shown = text
        words = self._command
        if not (text and words):
            return
        try:
            process = await start_program_async(
                words,
                folder=self._root,
                environment={
                    **self._environment,
                    "WIKISYNC_ATTENTION": os.fspath(attention_file),
                },
                stdin=PIPE,
            )
        except OSError as exc:
            log.warning("%s cannot be started: %s", words[0], exc.strerror)
            return
        try:
            async with asyncio.timeout(self._seconds_max):
                await process.communicate(text.encode("utf-8", "replace"))
        except TimeoutError:
            log.warning("%s took longer than %.0f s", words[0], self._seconds_max)
        finally:
            if process.returncode is None:
                await end_session(process)
        if process.returncode:
            log.warning("%s ended with exit code %d", words[0], process.returncode)

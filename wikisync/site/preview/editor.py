"""Opening a page's file in the author's own editor.

The editor outlives the preview and is waited for only so long that one which does not
come up is told.  Which one it is, who started the preview chose; what a browser sends
only names a page.
"""

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from wikisync.core.system.processes import Child, TimeoutExpired, start_program
from wikisync.errors import SiteError

START_S = 1.0
"""An editor that fails, fails within this time."""
LINE_CHARS_MAX = 200
EDITORS_MAX = 20
"""Editors open at once; a person has fewer, a page gone wild has more."""
_HINT = "set VISUAL, or start with --editor COMMAND"


class Editor:
    """The author's editor, as a command that takes a file."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._running: list[Child] = []

    def open(self, file: Path) -> None:
        """Start the editor with a file and go on.

        Raises:
            SiteError: there is none, it cannot be started or fails at once, or too
                many are open.
        """
        if not self._command:
            raise SiteError("no editor is known", hint=_HINT)
        self._running = [one for one in self._running if one.poll() is None]
        if len(self._running) >= EDITORS_MAX:
            message = f"{EDITORS_MAX} editors are open already"
            raise SiteError(message, hint="close some of them")
        # a file, which an editor that stays open may fill after we have ended
        with tempfile.TemporaryFile() as errors:
            try:
                process = start_program([*self._command, str(file)], errors)
            except OSError as exc:
                message = f"cannot start the editor {self._command[0]}: {exc.strerror}"
                raise SiteError(message, hint=_HINT) from exc
            self._running.append(process)
            with suppress(TimeoutExpired):
                if code := process.wait(START_S):
                    errors.seek(0)
                    said = errors.read(LINE_CHARS_MAX).decode("utf-8", "replace")
                    why = next(iter(said.strip().splitlines()), "it says nothing")
                    ended = f"the editor {self._command[0]} ended with exit code {code}"
                    raise SiteError(f"{ended}: {why}", hint=_HINT)

    def leave(self) -> None:
        """Forget the editors; those that are open stay open."""
        for process in self._running:
            if process.poll() is None:
                # it is nobody's child any more: the system waits for it
                process.returncode = 0
        self._running = []

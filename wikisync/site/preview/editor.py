"""Opening a page's file in the author's own editor.

The editor outlives the preview and is never waited for.  Which one it is was chosen
by who started the preview; what a browser sends only names a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wikisync.core.system.processes import Child, start_program
from wikisync.errors import SiteError

EDITORS_MAX = 20
"""Editors open at once; a person has fewer, a page gone wild has more."""


class Editor:
    """The author's editor, as a command that takes a file."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._running: list[Child] = []

    def open(self, file: Path) -> None:
        """Start the editor with a file and go on.

        Raises:
            SiteError: there is none, it cannot be started, or too many are open.
        """
        if not self._command:
            raise SiteError(
                "no editor is known", hint="set VISUAL, or start with --editor COMMAND"
            )
        self._running = [one for one in self._running if one.poll() is None]
        if len(self._running) >= EDITORS_MAX:
            raise SiteError(
                f"{EDITORS_MAX} editors are open already", hint="close some of them"
            )
        try:
            words = [*self._command, str(file)]
            process = start_program(words)
        except OSError as exc:
            raise SiteError(
                f"cannot start the editor {self._command[0]}: {exc.strerror}",
                hint="set VISUAL, or start with --editor COMMAND",
            ) from exc
        self._running.append(process)

    def leave(self) -> None:
        """Forget the editors; those that are open stay open."""
        for process in self._running:
            if process.poll() is None:
                # it is nobody's child any more: the system waits for it
                process.returncode = 0
        self._running = []

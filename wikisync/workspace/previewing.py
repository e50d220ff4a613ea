"""What a preview shows of a folder, and the editor that it opens pages in."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from wikisync.errors import UsageError
from wikisync.site.preview.world import PreviewInputs
from wikisync.workspace.folders import ShownFolder

TERMINAL_EDITORS = frozenset(
    [
        *("ed", "ex", "helix", "hx", "joe", "kak", "mcedit", "micro", "nano"),
        *("nvi", "nvim", "pico", "vi", "view", "vim"),
    ]
)
"""Editors that want the terminal, which the preview has."""


def preview_inputs(shown: ShownFolder) -> PreviewInputs:
    """What a folder shows, as the configuration says now.

    Raises:
        ConfigError: the configuration is wrong.
    """
    return PreviewInputs(*shown.site())


def editor_command(
    given: str | None, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The command that opens a page's file.

    An editor that needs the terminal is passed over, since the preview has it; the
    desktop's own way to open a file is the last.

    Raises:
        UsageError: ``--editor`` is no command.
    """
    if given is not None:
        try:
            words = shlex.split(given)
        except ValueError:
            words = []
        if not words or shutil.which(words[0]) is None:
            raise UsageError(
                f"--editor {given} is not a command on this machine",
                hint='write it like --editor "code --reuse-window"',
            )
        return tuple(words)
    for name in ("VISUAL", "EDITOR"):
        with suppress(ValueError):
            words = shlex.split(environment.get(name, ""))
            if words and Path(words[0]).name not in TERMINAL_EDITORS:
                return tuple(words)
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    return (opener,) if shutil.which(opener) else ()

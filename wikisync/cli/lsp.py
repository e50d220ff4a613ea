"""``wikisync lsp``: the pages of a folder for an editor that speaks the protocol."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wikisync.cli.options import folder_argument
from wikisync.errors import UsageError
from wikisync.site.preview.site import Load
from wikisync.site.preview.world import PreviewInputs
from wikisync.workspace.folders import cache_folder, find_shown


@click.command(name="lsp", epilog="Example: wikisync lsp my-wikis")
@folder_argument
def command(folder: Path) -> None:
    """Serve the pages of FOLDER to an editor over the Language Server Protocol.

    It speaks on standard input and output; the editor starts it.  The default is the
    folder that the editor has open.  Needs the extra lsp.
    """
    try:
        from wikisync.site.preview.language import PageServer
    except ImportError as error:
        raise UsageError(
            "the library of the Language Server Protocol is not installed",
            hint="install wikisync with its extra lsp",
        ) from error

    def find(root: str | None) -> tuple[Load, Path, Path | None, Path | None]:
        shown = find_shown(folder)
        if folder == Path() and shown.workspace is None:
            shown = find_shown(Path(root or folder))
            # an editor without a folder is often at home: who means all pages there?
            wide = {"/", os.path.realpath(os.environ.get("HOME") or "/")}
            if shown.workspace is None and os.path.realpath(root or folder) in wide:
                raise UsageError("no folder is open", hint="open one that has pages")
        cache = cache_folder(shown, "lsp", os.environ)
        places = cache, shown.private, shown.settings
        return lambda: PreviewInputs(*shown.site()), *places

    PageServer(find).start_io()

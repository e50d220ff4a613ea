"""``wikisync preview``: a folder as a site on this machine that follows every save."""

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

import click
from msgspec.structs import replace

from wikisync.cli.console import Console
from wikisync.cli.options import flag, folder_argument
from wikisync.cli.site import theme_options
from wikisync.config.sections import PreviewSection
from wikisync.core.system.processes import open_browser
from wikisync.core.system.running import beside, give_back_memory, stop_signal
from wikisync.errors import ExitCode
from wikisync.site.preview.server import Preview
from wikisync.watch.previewing import previewing
from wikisync.workspace import folders
from wikisync.workspace.service import Credentials


@click.command(name="preview", epilog="Example: wikisync preview my-wikis --open")
@folder_argument
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="Port; 0 for any free port. [default: 8000 or the next free port]",
)
@flag("--open", "is_opened", help="Open the site in the browser.")
@click.option(
    "--editor",
    metavar="COMMAND",
    help="Command that opens a page's file. [default: $VISUAL, $EDITOR, or the"
    " desktop's editor]",
)
@flag("--read-only", "is_read_only", help="Let nobody write in the browser.")
@theme_options
@click.pass_obj
def command(
    console: Console,
    folder: Path,
    port: int | None,
    editor: str | None,
    *,
    choice: folders.ThemeChoice,
    is_opened: bool,
    is_read_only: bool,
) -> int:
    """Serve FOLDER as a site on this machine and reload on every save.

    FOLDER is a workspace, one wiki of it, or any folder with pages; the default is the
    current folder.  Pages can be written in the browser, too.  The service is
    contacted only for the history of a page.  Stop it with Ctrl-C.
    """
    shown = folders.find_shown(folder, choice)
    config = shown.config()
    section = config.preview if config else PreviewSection()
    if port is not None:
        section = replace(section, port=port)
    shows = previewing(
        shown,
        Credentials(console),
        section,
        editor=editor,
        is_port_wanted=port is not None,
        is_read_only=is_read_only,
    )
    return asyncio.run(preview(console, shows, is_opened=is_opened))


async def preview(
    console: Console, shows: AbstractAsyncContextManager[Preview], *, is_opened: bool
) -> int:
    """Run the preview until the first SIGINT or SIGTERM; a second one kills."""
    stopped = stop_signal()
    async with shows as running:
        console.result(running.url)
        console.note("stop it with Ctrl-C")
        if is_opened:
            with suppress(OSError):  # the URL was printed anyway
                await asyncio.to_thread(open_browser, running.url)
        async with beside(report_failure(console, running), give_back_memory()):
            await stopped.wait()
        console.note("stopping")
    return int(ExitCode.DONE)


async def report_failure(console: Console, running: Preview) -> None:
    """Say in the terminal as well why there is nothing to see."""
    await running.ready()
    if running.failure is not None:
        console.error(running.failure)

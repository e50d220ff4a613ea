"""The ``wikisync`` command: a table of commands, loaded when they are called.

``--help`` prints from the table, so that nothing heavy is imported for it.
"""

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from wikisync.cli.console import Console
from wikisync.cli.options import flag
from wikisync.core.version import __version__
from wikisync.errors import ExitCode, Unagreed, UsageError, WikisyncError
from wikisync.folder.safe_open import folder_error

SECTIONS: dict[str, dict[str, str]] = {
    "Every day": {
        "sync": "Sync folders and their wikis once, in both directions.",
        "watch": "Sync folders and their wikis continuously.",
        "status": "Show what is not in sync and what needs your decision.",
        "resolve": "Resolve the conflict of a page.",
        "restore": "Restore an earlier text of a page.",
        "undo": "Undo the last sync, here and on the wiki.",
    },
    "Workspace": {
        "init": "Create a workspace: ask, check, write wikisync.toml.",
        "clone": "Copy wikis into a new workspace folder.",
        "import": "Make a folder of pages from the wiki of another program.",
        "copy": "Copy a wiki from one service to another.",
        "mv": "Rename a page or folder with all links to it.",
        "diff": "Show differences between the folder and the wiki.",
        "log": "Show what was done, newest first.",
        "approve": "Approve a held batch.",
        "refuse": "Reject a held batch.",
        "pause": "Pause the sync of a wiki.",
        "resume": "Resume the sync of a paused wiki.",
        "adopt": "Accept the folders and their wikis as they are; deletes nothing.",
        "doctor": "Check everything that a sync needs.",
        "mcp": "Let an agent read and edit the pages.",
    },
    "Site": {
        "export": "Export wikis as a static website.",
        "build": "Build a static website from a folder, without a service.",
        "preview": "Serve a folder as a site on this machine, with live reload.",
        "lsp": "Serve the pages to an editor, with its language protocol.",
        "check": "Check for broken links and invalid pages.",
        "render": "Print the HTML of pages, without a theme.",
        "fleet": "Keep the sites of very many wikis up to date, on several machines.",
        "theme": "List themes, show theme options, create a theme.",
        "demo": "Export the user guide from an embedded service.",
    },
    "Single pages and projects": {
        "page": "List, read and change pages of a wiki.",
        "project": "List, show and change projects.",
    },
    "Service": {"serve": "Run the embedded service on this machine."},
}
"""The sections of ``--help``: command name to its line."""

MODULES = {
    **dict.fromkeys(
        ("approve", "refuse", "pause", "resume", "adopt", "undo"), "repair"
    ),
    **dict.fromkeys(("status", "diff", "log"), "status"),
    **dict.fromkeys(("clone", "copy"), "clone"),
    "build": "site",
}
"""Where commands are that share a module; any other is ``command`` in its own."""

COMMANDS: dict[str, str] = {
    name: line for section in SECTIONS.values() for name, line in section.items()
}
"""Every command and its line."""


class LazyGroup(click.Group):
    """A click group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Every command name, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        name = MODULES.get(cmd_name, cmd_name)
        module = importlib.import_module(f"wikisync.cli.{name}")
        command = getattr(module, cmd_name if cmd_name in MODULES else "command")
        assert isinstance(command, click.Command)
        return command

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Commands and options for a shell, without importing any command."""
        return [
            *(
                CompletionItem(name, help=line)
                for name, line in COMMANDS.items()
                if name.startswith(incomplete)
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``help``, ``help COMMAND`` and ``version`` as the options they mean."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, ["-V"] if args == ["version"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named first; a misspelt one is reported with the nearest."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            known = (*COMMANDS, "help", "version")
            near = difflib.get_close_matches(args[0], known, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise click.UsageError(f"no such command: {args[0]}{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the sections of commands without importing them."""
        column = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(column), line) for name, line in commands.items()]
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: wikisync export URL --project docs/handbook -o site",
)
@click.version_option(__version__, "-V", "--version", prog_name="wikisync")
@flag("-q", "--quiet", help="Print only errors and results.")
@click.option(
    "-v", "--verbose", count=True, help="Log actions (-v) and decisions (-vv)."
)
@click.pass_context
def cli(ctx: click.Context, *, quiet: bool, verbose: int) -> None:
    """Sync the wikis of a GitLab-compatible service with a folder, and publish them."""
    ctx.obj = Console(quiet=quiet)
    if verbose:
        ctx.obj.log_to_stderr(debug=verbose > 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; never a traceback."""
    console = Console()
    try:
        result = _run(console, arguments)
    except WikisyncError as error:
        console.error(error)
        return int(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        # a group without a command: what it prints is no error of anybody
        error.show(sys.stdout)
        return int(ExitCode.DONE)
    except click.ClickException as error:
        # as our other errors are said; click lists choices in lines of their own
        message = " ".join(error.format_message().split()).rstrip(".")
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"see {ctx.command_path if ctx else 'wikisync'} --help"
        console.error(UsageError(message[:1].lower() + message[1:], hint=hint))
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        console.note("interrupted; run the same command again to continue")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # the reader of stdout went away (| head)
        _forget_stdout()
        return int(ExitCode.FAILED)
    except OSError as error:
        # the last net: a full disk behind stdout, whatever no module translated
        # a descriptor is a number; only what asks for the current folder names none
        is_here = error.filename is None and error.errno == errno.ENOENT
        path = "." if is_here else error.filename or ""
        path = "" if isinstance(path, int) else path
        named = folder_error("use", os.fsdecode(path), error)
        words = named.message.removeprefix("cannot use : ")
        console.error(named if path else WikisyncError(words, hint=named.hint))
        _forget_stdout()
        return int(ExitCode.FAILED)
    except (MemoryError, RuntimeError, ImportError, ExceptionGroup) as error:
        # pathlib says so before Python 3.13, the path in quotes
        if (path := str(error).removeprefix("Symlink loop from ")) != str(error):
            looped = f"{path[1:-1]} is a symbolic link that leads to itself"
            console.error(UsageError(looped, hint="remove it, or give another path"))
            return int(ExitCode.USAGE)
        if not lacks_memory(error):
            raise
        console.error(
            WikisyncError(
                "there is not enough memory",
                hint="close other programs or raise the limit (ulimit -v), then run it"
                " again; completed work is kept",
            )
        )
        return int(ExitCode.FAILED)
    return int(result) if isinstance(result, int) else int(ExitCode.DONE)


def _run(console: Console, arguments: Sequence[str] | None) -> object:
    """Run a command line; again where a person agrees to the configuration."""
    while True:
        try:
            return cli.main(
                args=list(arguments) if arguments is not None else None,
                prog_name="wikisync",
                standalone_mode=False,
            )
        except Unagreed as error:
            console.error(error)
            if not console.ask("Do you trust who wrote it, and agree to all of this?"):
                return error.exit_code
            error.agree()


_OF_MEMORY = ("can't start new thread", "failed to map", "cannot allocate memory")
"""What Python and the system say where memory is missing, besides ``MemoryError``."""


def lacks_memory(error: BaseException) -> bool:
    """Whether this is what comes of too little memory."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(lacks_memory, error.exceptions))
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in _OF_MEMORY)


def _forget_stdout() -> None:
    """What stdout still holds is lost anyway; flushing it at the end must not raise."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

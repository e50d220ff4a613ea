"""``wikisync watch``: keep folders and wikis in sync until it is stopped.

SIGINT and SIGTERM end it after the page that is under way, a second one at once;
SIGHUP reads ``wikisync.toml`` and the token anew, and keeps the old ones where the
new ones are wrong.
"""

import asyncio
from pathlib import Path

import click

from wikisync.cli import options
from wikisync.cli.console import Console
from wikisync.cli.options import flag
from wikisync.config.sections import SETTLE_MS
from wikisync.watch.process import WatchRequest, watch_workspace
from wikisync.watch.systemd import command_path, unit_text
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.service import Credentials

NOT_IN_UNITS = frozenset({"start", "print_unit", "system"})
"""Options that say which unit is printed, and are none of the watch in it."""


@click.command(name="watch", epilog="Example: wikisync watch -C my-wikis --site")
@options.start_option
@options.joined(
    "request",
    WatchRequest,
    click.option(
        "--adopt",
        type=click.Choice(["push", "hold"]),
        default="hold",
        show_default=True,
        help="First sync: upload pages that exist only locally, or hold them.",
    ),
    click.option(
        "--settle",
        "settle_ms",
        type=click.IntRange(SETTLE_MS.low, SETTLE_MS.high),
        metavar="MS",
        help="Quiet time after a save before it is uploaded.",
    ),
    flag("--site", "has_site", help="Also keep the published site up to date."),
    flag("--preview", "has_preview", help="Also serve a live preview of the folder."),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Format of .wikisync/log.",
    ),
    options.network_disk_option,
    options.exclude_option,
)
@flag("--print-unit", help="Print a systemd unit file for this command.")
@flag("--system", help="With --print-unit: print a system unit, not a user unit.")
@options.token_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    start: Path,
    credentials: Credentials,
    request: WatchRequest,
    *,
    print_unit: bool,
    system: bool,
) -> None:
    """Sync the workspace's folders and their wikis continuously.

    Local saves are uploaded within a second; edits on the wiki arrive within 20
    seconds, or minutes where the token cannot read the wiki's git.
    WIKISYNC-ATTENTION.md and .wikisync/log list what needs your decision.
    """
    console: Console = ctx.obj
    if print_unit:
        workspace, words = find_workspace(start), _given_words(ctx)
        publishes = request.has_site or workspace.config.site.publish
        root, command = workspace.root, command_path()
        text = unit_text(root, command, words, is_system=system, publishes=publishes)
        console.result(text)
        return
    console.shows_time = True
    asyncio.run(watch_workspace(credentials, start, request))


def _given_words(ctx: click.Context) -> list[str]:
    """The options of this command line that its unit takes over, as words."""
    words: list[str] = []
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        is_given = source is click.core.ParameterSource.COMMANDLINE
        if not is_given or option.name in NOT_IN_UNITS:
            continue
        value = ctx.params[option.name or ""]
        if isinstance(value, Credentials):
            value = value.token_file
        values = value if isinstance(value, tuple) else (value,)
        for one in values:
            words.append(option.opts[0])
            if not isinstance(one, bool):
                words.append(str(one.absolute() if isinstance(one, Path) else one))
    return words

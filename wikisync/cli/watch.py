"""``wikisync watch``: keep folders and wikis in sync until it is stopped.

SIGINT and SIGTERM end it after the page that is under way, a second one at once;
SIGHUP reads ``wikisync.toml`` and the token anew, and keeps the old ones where the
new ones are wrong.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikisync.cli.options import exclude_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.errors import ExitCode, WikisyncError
from wikisync.workspace.configured import Workspace, find_workspace
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.service import open_service
from wikisync.workspace.token import workspace_token

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console
    from wikisync.watch.run import Watch
    from wikisync.watch.systemd import Notifier
    from wikisync.watch.wiki import WatchedWiki

NOT_IN_UNITS = frozenset({"start", "print_unit", "system"})
"""Options that say which unit is printed, and are none of the watch in it."""
STOP_S = 1.5
"""How long a request under way may hold up the end; what came of it is found out
by the next start."""
PAUSE_MAX_S = 10.0
"""A longer pause that the service asks for is made by what met it alone, and told."""
QUIET_MAX_S = 600.0
"""Then a request may be made again; the next cycle that makes it comes within five
minutes, so that one is made every 15 minutes at least."""
ANEW_LOOK_S = 2.0
"""How often it is looked whether to begin anew."""


@click.command(name="watch", epilog="Example: wikisync watch -C my-wikis --site")
@workspace_option()
@click.option(
    "--adopt",
    type=click.Choice(["push", "hold"]),
    default="hold",
    show_default=True,
    help="First sync: upload pages that exist only locally, or hold them.",
)
@click.option(
    "--settle",
    "settle_ms",
    type=click.IntRange(0, 60_000),
    metavar="MS",
    help="Quiet time after a save before it is uploaded.",
)
@click.option("--site", is_flag=True, help="Also keep the published site up to date.")
@click.option(
    "--preview", is_flag=True, help="Also serve a live preview of the folder."
)
@click.option(
    "--notify",
    is_flag=True,
    help="Show a desktop notification when your decision is needed.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of .wikisync/log.",
)
@click.option(
    "--print-unit", is_flag=True, help="Print a systemd unit file for this command."
)
@click.option(
    "--system",
    is_flag=True,
    help="With --print-unit: print a system unit, not a user unit.",
)
@click.option(
    "--network-disk",
    is_flag=True,
    help="Allow a network disk that only this machine writes to.",
)
@exclude_option()
@token_option()
@click.pass_context
def command(ctx: click.Context, /, start: Path, **options: Any) -> int:
    """Sync the workspace's folders and their wikis continuously.

    Local saves are uploaded within a second; edits on the wiki arrive within seconds to
    minutes. WIKISYNC-ATTENTION.md and .wikisync/log list what needs your decision.
    """
    console: Console = ctx.obj
    if options["print_unit"]:
        from wikisync.watch.systemd import command_path, unit_text

        root = find_workspace(start).root
        unit = unit_text(
            root, command_path(), is_system=options["system"], words=_given_words(ctx)
        )
        console.result(unit)
        return ExitCode.DONE
    return asyncio.run(_watch(console, start, options))


def _given_words(ctx: click.Context) -> list[str]:
    """The options of this command line that its unit takes over, as words.

    Files are named as they are found from anywhere.
    """
    words: list[str] = []
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        is_given = source is click.core.ParameterSource.COMMANDLINE
        if not is_given or option.name in NOT_IN_UNITS:
            continue
        value = ctx.params[option.name or ""]
        values = value if isinstance(value, tuple) else (value,)
        for one in values:
            words.append(option.opts[0])
            if not isinstance(one, bool):
                words.append(str(one.absolute() if isinstance(one, Path) else one))
    return words


class _Signals:
    """What the process was told from outside."""

    def __init__(self) -> None:
        self.stopped, self.reload = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._stop)
        self._loop.add_signal_handler(signal.SIGHUP, self.reload.set)

    def _stop(self) -> None:
        """Begin the end; from now on a signal ends the process at once."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)
        self.stopped.set()
        # every change is journaled before it is made, so that this is safe
        self._loop.call_later(STOP_S, os._exit, int(ExitCode.DONE))


async def _watch(console: Console, start: Path, options: dict[str, Any]) -> int:
    """Watch until a signal ends it; SIGHUP goes on with the new configuration."""
    from wikisync.watch.log import logging_to
    from wikisync.watch.systemd import Notifier

    signals, notifier = _Signals(), Notifier(os.environ)
    workspace, before = find_workspace(start).without(options["excluded"]), None
    with logging_to(workspace.private, options["log_format"]):
        while not signals.stopped.is_set():
            try:
                following = await _watch_with(
                    console, workspace, options, signals, notifier
                )
            except WikisyncError as error:
                if before is None:
                    raise
                console.error(error)
                console.note("the previous configuration stays in use")
                workspace, before = before, None
            else:
                workspace, before = following, workspace
    console.note("stopped")
    return ExitCode.DONE


async def _watch_with(
    console: Console,
    workspace: Workspace,
    options: dict[str, Any],
    signals: _Signals,
    notifier: Notifier,
) -> Workspace:
    """Watch under one configuration; the one to go on with.

    Raises:
        WikisyncError: it cannot begin.
    """
    from wikisync.api.settings import ClientSettings
    from wikisync.cli.hook_secret import hook_secret
    from wikisync.watch.run import Watch, answering
    from wikisync.workspace.attention_file import told_where_halted
    from wikisync.workspace.reach import is_of_all

    async with AsyncExitStack() as stack:
        stack.enter_context(told_where_halted(workspace.root))
        opened = stack.enter_context(
            open_workspace(
                workspace,
                allows_network_disk=options["network_disk"],
                is_watch=True,
            )
        )
        for notice in opened.notices():
            console.warn(notice)
        service = open_service(
            workspace,
            options["token_file"],
            console,
            os.environ,
            settings=ClientSettings(
                rate_limit_pause_max_s=PAUSE_MAX_S, quiet_max_s=QUIET_MAX_S
            ),
        )
        client = await stack.enter_async_context(service)
        watch = Watch(
            console,
            opened,
            _wikis(opened, client, options),
            notifier,
            client.quiet,
            is_away=partial(is_of_all, client),
            publishes=options["site"] or workspace.config.site.publish,
            notifies=options["notify"],
        )
        sync = workspace.config.sync
        if sync.listen:
            secret = hook_secret(
                sync.hook_secret_file, os.environ, "[sync] hook_secret_file"
            )
            url = await stack.enter_async_context(answering(watch, sync.listen, secret))
            console.note(f"webhooks and health: {url}")
        if options["preview"]:
            await stack.enter_async_context(_previewing(console, workspace, watch))
        return await _until_ended(console, watch, workspace, options, signals, notifier)


def _wikis(
    opened: OpenWorkspace, client: Client, options: dict[str, Any]
) -> Sequence[WatchedWiki]:
    from wikisync.sync.exchange import ExchangeOptions
    from wikisync.watch.wiki import WatchedWiki

    asked = ExchangeOptions(
        puts_new=options["adopt"] == "push",
        reads_max=opened.workspace.config.sync.reads_max,
    )
    settle_ms = options["settle_ms"]
    settle_s = None if settle_ms is None else settle_ms / 1000
    return [
        WatchedWiki(opened, section, client, asked, settle_s=settle_s)
        for section in opened.workspace.synced
    ]


@asynccontextmanager
async def _previewing(
    console: Console, workspace: Workspace, watch: Watch
) -> AsyncIterator[None]:
    """A preview of the workspace that shows how far each page is."""
    from wikisync.cli.preview import editor_command, preview_inputs
    from wikisync.site.preview.server import PreviewOptions, running_preview
    from wikisync.workspace.folders import ShownFolder, cache_folder

    shown = ShownFolder(workspace.root, workspace.root)
    section = workspace.config.preview
    options = PreviewOptions(
        host=section.host,
        port=section.port,
        is_port_wanted=False,
        editor=editor_command(None, os.environ),
        settings=shown.settings,
    )
    async with running_preview(
        lambda: preview_inputs(shown),
        cache_folder(shown, "preview", os.environ),
        options,
        states=watch.states,
        notice=lambda problem: console.problems([problem]),
    ) as preview:
        console.result(preview.url)
        yield


async def _until_ended(
    console: Console,
    watch: Watch,
    workspace: Workspace,
    options: dict[str, Any],
    signals: _Signals,
    notifier: Notifier,
) -> Workspace:
    """Run the watch until a signal ends it, or a new configuration is there."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(watch.run())
        anew = group.create_task(_begin_anew(watch, workspace, options, signals))
        stop = group.create_task(signals.stopped.wait())
        while True:
            reload = group.create_task(signals.reload.wait())
            await asyncio.wait({stop, reload}, return_when=asyncio.FIRST_COMPLETED)
            reload.cancel()
            following = _reread(console, workspace, options, signals, notifier)
            if following is not None:
                break
            notifier.ready()
        for task in (working, anew, stop):
            task.cancel()
    return following


def _reread(
    console: Console,
    workspace: Workspace,
    options: dict[str, Any],
    signals: _Signals,
    notifier: Notifier,
) -> Workspace | None:
    """The configuration to go on with; None where the new one is wrong."""
    if signals.stopped.is_set():
        notifier.stopping()
        return workspace
    signals.reload.clear()
    notifier.reloading()
    try:
        new = find_workspace(workspace.root).without(options["excluded"])
        workspace_token(new.config, options["token_file"], console, os.environ)
    except WikisyncError as error:
        console.error(error)
        console.note("the previous configuration stays in use")
        return None
    console.note("reloading the configuration")
    return new


async def _begin_anew(
    watch: Watch, workspace: Workspace, options: dict[str, Any], signals: _Signals
) -> None:
    """Begin anew with another token after a refusal, or where the state is damaged."""
    from wikisync.sync.standing import Condition
    from wikisync.sync.standings import REFUSED_RETRY_S

    named = options["token_file"] or workspace.config.service.token_file
    path = _expanded(named)
    is_asked = bool(workspace.config.service.token_command)
    before = _stamp(path)
    while True:
        await asyncio.sleep(ANEW_LOOK_S)
        if watch.has_damaged_state:
            signals.reload.set()
            return
        trouble = watch.daemon.trouble
        if trouble is None or trouble.condition is not Condition.REFUSED:
            before = _stamp(path)
            continue
        is_old = watch.daemon.now() - trouble.since > REFUSED_RETRY_S
        if _stamp(path) != before or (is_asked and is_old):
            signals.reload.set()
            return


def _expanded(named: str | Path | None) -> Path | None:
    return Path(named).expanduser() if named else None


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns

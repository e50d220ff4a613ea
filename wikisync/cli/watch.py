"""``wikisync watch``: keep folders and wikis in step until it is stopped.

SIGINT and SIGTERM end it after the page that is under way, a second one at once;
SIGHUP reads ``wikisync.toml`` anew.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikisync.cli.service_command import token_option
from wikisync.cli.workspace import (
    OpenWorkspace,
    Workspace,
    find_workspace,
    open_service,
    open_workspace,
)
from wikisync.errors import ExitCode

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console
    from wikisync.cli.watching import WatchedWiki
    from wikisync.sync.daemon import CycleOutcome, Daemon, Standing, WikiWork


@click.command(name="watch", epilog="Example: wikisync watch -C my-wikis")
@click.option(
    "--workspace",
    "-C",
    "start",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The workspace; else the one that the current folder is in.",
)
@click.option(
    "--adopt",
    type=click.Choice(["push", "hold"]),
    default="hold",
    show_default=True,
    help="In a first sync, put pages that are only here on the wiki, or leave them.",
)
@click.option(
    "--settle",
    "settle_ms",
    type=click.IntRange(0, 60_000),
    metavar="MS",
    help="Quiet time after a save before it is carried over.",
)
@click.option(
    "--network-disk", is_flag=True, help="Only this machine writes on that disk."
)
@token_option()
@click.pass_obj
def command(console: Console, /, start: Path, **options: Any) -> int:
    """Keep the workspace's folders and their wikis in step, both ways.

    Saves are carried over within a second, edits on the wiki within seconds to
    minutes.  What needs you stands in WIKISYNC-ATTENTION.md and in the log.
    """
    return asyncio.run(_watch(console, start, options))


async def _watch(console: Console, start: Path, options: dict[str, Any]) -> int:
    """Watch until a signal ends it; SIGHUP begins anew with the new configuration."""
    stopped, reload = asyncio.Event(), asyncio.Event()
    _on_signals(stopped, reload)
    while not stopped.is_set():
        reload.clear()
        workspace = find_workspace(start)
        with open_workspace(
            workspace, allows_network_disk=options["network_disk"]
        ) as opened:
            async with open_service(
                workspace, options["token_file"], console, os.environ
            ) as client:
                wikis = await _wikis(opened, client, options)
                await _watch_until(console, opened, wikis, (stopped, reload))
    console.note("stopped")
    return ExitCode.DONE


def _on_signals(stopped: asyncio.Event, reload: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    endings = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in endings:
            loop.remove_signal_handler(number)
        stopped.set()

    for number in endings:
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, reload.set)


async def _wikis(
    opened: OpenWorkspace, client: Client, options: dict[str, Any]
) -> list[WatchedWiki]:
    from wikisync.cli.watching import WatchedWiki
    from wikisync.sync.exchange import ExchangeOptions

    asked = ExchangeOptions(
        puts_new=options["adopt"] == "push",
        reads_max=opened.workspace.config.sync.reads_max,
    )
    settle_ms = options["settle_ms"]
    settle_s = None if settle_ms is None else settle_ms / 1000
    return [
        WatchedWiki(
            opened,
            await opened.synced(client, section, settle_s=settle_s),
            client,
            asked,
        )
        for section in opened.workspace.config.wikis
    ]


async def _watch_until(
    console: Console,
    opened: OpenWorkspace,
    wikis: Sequence[WatchedWiki],
    ends: Sequence[asyncio.Event],
) -> None:
    """Run the daemon and the watcher until one of the events is set."""
    from wikisync.cli.attention import show_attention
    from wikisync.sync.daemon import Daemon

    root = opened.workspace.root

    async def after_cycle(_work: WikiWork, _outcome: CycleOutcome) -> None:
        done = [wiki.synced for wiki in wikis if wiki.synced.results]
        await asyncio.to_thread(show_attention, root, done)
        if opened.is_adopting and len(done) == len(wikis):
            opened.note_adopted()

    def told(standing: Standing) -> None:
        text = f": {standing.problem}" if standing.problem else ""
        console.note(f"{standing.work.name}: {standing.condition.value}{text}")

    daemon = Daemon(wikis, clock=time.monotonic, told=told, after_cycle=after_cycle)
    console.note(f"watching {root}; stop it with Ctrl-C")
    async with asyncio.TaskGroup() as group:
        working = [
            group.create_task(daemon.run()),
            group.create_task(_watch_folders(opened.workspace, daemon)),
        ]
        waits = [group.create_task(end.wait()) for end in ends]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in (*working, *waits):
            task.cancel()


async def _watch_folders(workspace: Workspace, daemon: Daemon) -> None:
    """Ask for a cycle of the wiki below whose folder something happened."""
    from wikisync.folder.ignore import CONFLICT_MARK
    from wikisync.folder.watch import is_watched, watch_folders
    from wikisync.sync.daemon import Why

    def is_wanted(path: str) -> bool:
        # a conflict file is ignored as a page, but its saving settles one
        return is_watched(path) or f"{CONFLICT_MARK}." in path

    roots = {
        str(workspace.folder_of(wiki).resolve()): wiki.folder
        for wiki in workspace.config.wikis
    }
    places = [Path(root) for root in roots]
    async for hint in watch_folders(places, is_wanted=is_wanted):
        for root, name in roots.items():
            below = root + os.sep
            if hint.is_everything or any(
                path == root or path.startswith(below) for path in hint.paths
            ):
                daemon.ask(name, Why.FOLDER)

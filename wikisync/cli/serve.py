"""``wikisync serve``: run the embedded service until a signal ends it."""

import asyncio
import socket
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import click
from msgspec.structs import replace

from wikisync.cli import serve_admin
from wikisync.cli.console import Console
from wikisync.cli.options import InputPath, flag
from wikisync.core.origin import origin_of
from wikisync.core.system.connections import USUAL_LIMITS, is_loopback
from wikisync.core.system.private import make_private_file, read_private_file
from wikisync.core.system.running import beside, give_back_memory, stop_signal
from wikisync.errors import ExitCode, UsageError, command_line
from wikisync.service.instance import Service
from wikisync.service.loading import LoadedFolder, load_folder
from wikisync.service.server import running_service
from wikisync.service.settings import Deletion, Hook, Imports, Profile, Settings
from wikisync.workspace.service import Credentials

PORT_FILE = "port"
PORT_BYTES_MAX = 16
PORT_MAX = 65_535
DELETION_DAYS_MAX = 90


@click.group(
    "serve",
    invoke_without_command=True,
    epilog="Example: wikisync serve --data ./data --load sample-site",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data folder of the service; created if it does not exist.",
)
@click.option(
    "--load",
    "folder",
    type=InputPath("folder"),
    help="Folder of wikis to load first; loading it again is harmless.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
@click.option(
    "--port",
    type=click.IntRange(0, PORT_MAX),
    help="Port; 0 for any free port. [default: the previous port, or a free one]",
)
@flag("--allow-remote", help="Allow other machines to connect, not only this one.")
@click.option(
    "--allow-imports-from",
    "import_hosts",
    metavar="HOST",
    multiple=True,
    help="Allow projects to be imported from this server, HOST or HOST:PORT.",
)
@click.option(
    "--connections-per-address",
    metavar="NUMBER",
    type=click.IntRange(0),
    help="Maximum connections per client address; use 0 behind a proxy. [default: 250]",
)
@click.option(
    "--edition",
    type=click.Choice(["community", "enterprise"]),
    default="enterprise",
    show_default=True,
    help="Edition of the service to imitate.",
)
@click.option(
    "--deletion-delay",
    metavar="DAYS",
    type=click.IntRange(0, DELETION_DAYS_MAX),
    default=7,
    show_default=True,
    help="Days to keep a deleted project; 0 removes it immediately.",
)
@flag("--new-token", help="Create a new token and print it.")
@click.option(
    "--hook",
    "hook_urls",
    metavar="URL",
    multiple=True,
    help="Send a webhook to this URL for each wiki page edit; repeatable.",
)
@click.option(
    "--hook-secret-file",
    metavar="FILE",
    default="",
    help="File with the secret sent with each webhook. [default:"
    " $WIKISYNC_HOOK_SECRET]",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    data: Path | None,
    folder: Path | None,
    host: str,
    port: int | None,
    allow_remote: bool,
    import_hosts: tuple[str, ...],
    connections_per_address: int | None,
    edition: str,
    deletion_delay: int,
    new_token: bool,
    hook_urls: tuple[str, ...],
    hook_secret_file: str,
) -> int:
    """Run the embedded GitLab-compatible service on this machine.

    Prints its URL to standard output, and at the first start a token. Stop it with
    SIGINT or SIGTERM.
    """
    if ctx.invoked_subcommand is not None:
        return int(ExitCode.DONE)
    if data is None:
        raise click.UsageError("Missing option '--data'.", ctx)
    console: Console = ctx.obj
    connections = USUAL_LIMITS
    if connections_per_address is not None:
        connections = replace(connections, per_address_max=connections_per_address)
    settings = Settings(
        profile=Profile(is_enterprise=edition == "enterprise"),
        deletion=Deletion(deletion_delay),
        imports=Imports(frozenset(import_hosts)),
        connections=connections,
        hooks=parse_hooks(console, hook_urls, hook_secret_file),
    )
    if not (allow_remote or is_loopback(host)):
        raise UsageError(
            f"{host} can be reached from other machines",
            hint="add --allow-remote if this is intended, or omit --host",
        )
    if port is None:
        port = kept_port(console, data, host)

    async def serve() -> None:
        async with running_service(
            data, host=host, port=port, settings=settings
        ) as service:
            await run(console, data, folder, service, wants_token=new_token)

    asyncio.run(serve())
    return int(ExitCode.DONE)


command.add_command(serve_admin.command)


def parse_hooks(
    console: Console, urls: Iterable[str], secret_file: str
) -> tuple[Hook, ...]:
    """Who is notified of edits."""
    secret = Credentials(console).hook_secret(secret_file, "--hook-secret-file")
    hooks = tuple(Hook(url, secret) for url in urls)
    if not all((to := origin_of(hook.url)) and to.port for hook in hooks):
        raise UsageError(
            "--hook needs the URL of a web server",
            hint="such as --hook http://127.0.0.1:8001/",
        )
    return hooks


async def run(
    console: Console,
    data: Path,
    folder: Path | None,
    service: Service,
    *,
    wants_token: bool,
) -> None:
    """Serve until the first SIGINT or SIGTERM; a second one ends at once."""
    # for the next start
    port_file = data / PORT_FILE
    make_private_file(port_file)
    port_file.write_text(f"{urlsplit(service.url).port or ''}\n", encoding="ascii")
    if service.was_open:
        console.warn(
            f"other users of this machine could read {data} until now; now only you can"
        )
    token = service.first_token
    if token is None and wants_token:
        token = await service.new_token()
    # first of all: if loading fails, the token must not be lost unseen
    if token is not None:
        console.result(f"token: {token}")
        console.note("save the token: it is not stored and will not be shown again")
    else:
        console.note(
            "the token was shown when it was created; for a new one, run "
            + command_line("serve", "--data", data, "--new-token")
        )
    loaded = await load_folder(service, folder) if folder is not None else None
    stopped = stop_signal()
    console.result(f"url: {service.url}")
    if not is_loopback(urlsplit(service.url).hostname or ""):
        console.warn(
            "other machines can reach this service, and connections are not encrypted"
        )
    if loaded is not None:
        describe_load(console, loaded, service.url)
    console.note("stop it with Ctrl-C")
    async with beside(give_back_memory()):
        await stopped.wait()
    console.note("stopping")


def kept_port(console: Console, data: Path, host: str) -> int:
    """The port that a data folder was served at before; 0 where any will do."""
    try:
        port = int(read_private_file(data / PORT_FILE, PORT_BYTES_MAX))
    except (OSError, ValueError):
        return 0
    if not 0 < port <= PORT_MAX:
        return 0
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as exc:
            console.warn(
                f"port {port}, which this data was served on before, is not available"
                f" ({exc.strerror}); the address has changed"
            )
            return 0
    return port


def describe_load(console: Console, loaded: LoadedFolder, url: str) -> None:
    """Say what was loaded, what was not, and how to export it."""
    for owner in loaded.owners:
        console.note(f"loaded the wiki of {owner}")
    for path in loaded.ignored:
        console.warn(f"{path} is neither a page nor an attachment; skipped")
    for path in loaded.kept:
        console.warn(f"{path} was also changed here; the service keeps its text")
    if loaded.owners:
        console.note("to export it as a website, set WIKISYNC_TOKEN and run:")
        console.note(f"  wikisync export {url} --all -o site")

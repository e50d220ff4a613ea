"""Cases of the machine that commands run on."""

import asyncio
import os
import resource
import signal
import socket
import stat
import sys
from collections.abc import Callable

from tests.instances.cases import case
from tests.instances.stage import Play, eventually
from tests.support.bending import bending_proxy
from tests.support.watching import watching
from tests.support.workspaces import PAGES

PART = "Machine"
MIB = 1024 * 1024


def on(
    name: str,
    *,
    environment: dict[str, str | None] | None = None,
    before: Callable[[], None] | None = None,
    check: Callable[[Play], None] | None = None,
) -> None:
    """A case in which commands work, or end with one line, and lose nothing."""

    async def run(play: Play) -> None:
        await play.service.add_project("docs/handbook", PAGES)
        words = ("clone", play.proxy.url, "--project", "docs/handbook", play.root)
        cloned = await play.run(*words, environment=environment, before=before)
        play.ended(cloned, 0)
        expected = await play.edit_both()
        play.cloned.write("日本.md", "é\n")
        ran = await play.sync(environment=environment, before=before)
        play.ended(ran, 0)
        await play.agree({**expected, "日本.md": "é\n"})
        looked = ("status", "-C", play.root)
        play.ended(await play.run(*looked, environment=environment, before=before), 0)
        play.ended(await play.export(environment=environment, before=before), 0)
        if check:
            check(play)

    case(PART, name)(run)


def limit(kind: int, number: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (number, number))


def is_private(play: Play) -> None:
    mode = stat.S_IMODE((play.root / ".wikisync").stat().st_mode)
    play.safe(mode & 0o022 == 0, f".wikisync is {mode:o}")


on("ulimit -n 64", before=limit(resource.RLIMIT_NOFILE, 64))
on("HOME unset", environment={"HOME": None, "XDG_CACHE_HOME": None})
on("LANG=C", environment={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": None})
on("PATH of cron", environment={"PATH": "/usr/bin:/bin", "LANG": None})
on("TZ far away", environment={"TZ": "Pacific/Kiritimati"})
on("umask 077", before=lambda: void(os.umask(0o077)))
on("umask 000", before=lambda: void(os.umask(0)), check=is_private)
on("PYTHONIOENCODING=latin-1", environment={"PYTHONIOENCODING": "latin-1"})


def void(_value: object) -> None:
    """Nothing: what is called before a program starts gives nothing back."""


def one_line(name: str, before: Callable[[], None]) -> None:
    """A case in which a command may fail, in one line, and harm nothing."""

    async def run(play: Play) -> None:
        await play.begin(site=False)
        expected = await play.edit_both()
        ran = await play.sync(before=before)
        play.right(ran.code in {0, 1, 3}, f"sync ends with {ran.code}")
        if ran.code:
            play.told(ran, "error:|warning:")
            play.right(len(ran.err.splitlines()) <= 6, "more than a few lines")
        play.ended(await play.sync(), 0)
        await play.agree(expected)

    case(PART, name)(run)


one_line("ulimit -n 24", limit(resource.RLIMIT_NOFILE, 24))
one_line("200 MB of address space", limit(resource.RLIMIT_AS, 200 * MIB))


@case(PART, "stdout closed, and full")
async def _stdout(play: Play) -> None:
    await play.begin(site=False)
    expected = await play.edit_both()
    for to in (">&-", "> /dev/full"):
        line = f'"$0" -m wikisync sync -C "$1" {to}'
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", line, sys.executable, str(play.root)),
            stderr=asyncio.subprocess.PIPE,
            env=play.environment(),
        )
        _out, err = await asyncio.wait_for(process.communicate(), 60)
        play.runs.append(f"sync {to} {process.returncode}")
        play.right(b"Traceback" not in err, f"traceback with {to}")
    play.ended(await play.sync(), 0)
    await play.agree(expected)


@case(PART, "odd folder names, linked workspace")
async def _odd_folders(play: Play) -> None:
    await play.service.add_project("docs/handbook", PAGES)
    for name in ("a b", "é日本", "-dash", "a\nb", "100%", "quo'te"):
        real = play.scratch / "places" / name
        real.parent.mkdir(exist_ok=True)
        words = ("clone", play.proxy.url, "--project", "docs/handbook", real)
        play.ended(await play.run(*words), 0)
        link = play.scratch / "link"
        link.symlink_to(real)
        (link / "handbook/home.md").write_text(f"from {name}\n")
        play.ended(await play.run("sync", "-C", link), 0)
        text = (await play.on_wiki())["home.md"]
        play.right(text == f"from {name}\n", f"the edit of {name!r} does not arrive")
        link.unlink()


@case(PART, "SIGSTOP of a watch for a while")
async def _stopped(play: Play) -> None:
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    async with watching(play.service, play.root, url=play.proxy.url) as watch:
        await watch.in_sync()
        watch.signal(signal.SIGSTOP)
        watch.save("home", "mine\n")
        await asyncio.sleep(3)
        watch.signal(signal.SIGCONT)

        async def is_there() -> bool:
            return await watch.wiki_text("home") == "mine\n"

        play.right(await eventually(is_there), "the save is not carried")


@case(PART, "service away at the start of a watch")
async def _away(play: Play) -> None:
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    rule = play.proxy.bend(status=502, html=b"<title>Bad Gateway</title>")
    async with watching(play.service, play.root, url=play.proxy.url) as watch:
        await rule.has_met.wait()
        rule.end()
        came = await eventually(lambda: watch.text("home") == "one\n")
        play.right(came, "the wiki does not come")


async def at(play: Play, host: str, below: str = "") -> None:
    """Clone and sync with the service at another address."""
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    async with bending_proxy(play.service.url, host=host, below=below) as proxy:
        words = ("clone", proxy.url, "--project", "docs/handbook", play.root)
        play.ended(await play.run(*words), 0)
        play.cloned.write("home.md", "two\n")
        play.ended(await play.sync(), 0)
    await play.agree({"home.md": "two\n"})


@case(PART, "service below /gitlab")
async def _below(play: Play) -> None:
    await at(play, "127.0.0.1", "/gitlab")


def has_ipv6() -> bool:
    """Whether this machine has a loopback of IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


if has_ipv6():

    @case(PART, "service on [::1]")
    async def _ipv6(play: Play) -> None:
        await at(play, "::1")

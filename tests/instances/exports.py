"""Cases of a published site: interrupted exports, and wikis that a fault hides."""

import asyncio
import resource
import signal
import sys
from typing import Any

import pygit2

from tests.instances.cases import case
from tests.instances.in_front import BLOCKED
from tests.instances.stage import Play, eventually
from wikisync.core.model import WikiOwner

PART = "Export"
ALL = ("--group", "docs", "--all")
NAMES = tuple(f"docs/p{number}" for number in range(1, 5))
THREE = tuple(word for path in NAMES[:3] for word in ("--project", path))
BROKEN = "docs/p2"
JSON = {"Content-Type": "application/json"}


async def begin_of_many(play: Play, chosen: tuple[str, ...] = ALL) -> dict[str, int]:
    """Four wikis of a group, and their site; the projects' ids."""
    await play.service.add_group("docs", wiki=False)
    pages = {f"page{number}": f"text {number}\n" for number in range(4)}
    ids = {
        path: await play.service.add_project(path, {"home": f"{path} words\n", **pages})
        for path in NAMES
    }
    play.ended(await play.export(*chosen), 0)
    return ids


def pages_of(play: Play, path: str) -> dict[str, bytes]:
    start = f"{path}/-/wikis/"
    files = play.published()
    return {name: files[name] for name in files if name.startswith(start)}


def hides(name: str, chosen: tuple[str, ...] = ALL, **bent: Any) -> None:
    """A case in which one wiki cannot be read: it stays, and the others are new."""
    short = bent.pop("short", False)

    async def run(play: Play) -> None:
        ids = await begin_of_many(play, chosen)
        before, kept = play.pages(), pages_of(play, BROKEN)
        other = WikiOwner("project", NAMES[0])
        await play.service.add_pages(other, {"page1": "newer words\n"})
        of_wiki = f"/projects/(docs%2Fp2|{ids[BROKEN]})/wikis"
        if bent.get("body") == b"[]":
            play.proxy.bend(of_wiki + "/", status=404, body=b"{}", headers=JSON)
            rule = play.proxy.bend(of_wiki + r"(\?|$)", **bent)
        else:
            rule = play.proxy.bend(of_wiki, **bent)
        ran = await play.export(*chosen)
        play.right(rule.met > 0, "no request met the fault")
        play.ended(ran, 3, 4)
        play.safe(before <= play.pages(), "pages left the site")
        play.safe(pages_of(play, BROKEN) == kept, "the wiki is not as it was")
        play.right(play.shows("newer words"), "the other wikis are old")
        play.told(ran, BROKEN, "the site keeps")
        quiet = await play.run(
            *("--quiet", "export", play.proxy.url, *chosen, "-o", str(play.site)),
            *("--cache", str(play.scratch / "exported"), "--verify"),
        )
        play.told(quiet, BROKEN)
        play.safe(pages_of(play, BROKEN) == kept, "the second export removed it")
        strict = await play.export("--strict", *chosen)
        play.right(strict.code == 1, f"--strict ends with {strict.code}")
        play.proxy.straighten()
        play.ended(await play.export(*chosen), 0)

    case(PART, name, short=short)(run)


hides("one wiki of several 500", status=500, body=b"{}", headers=JSON)
hides("one wiki of several 401", status=401, body=b"{}", headers=JSON)
hides("one wiki of several 403", status=403, body=b"{}", headers=JSON)
hides("one wiki of several 403 (WAF)", status=403, html=BLOCKED)
hides("one wiki of several 404", status=404, body=b"{}", headers=JSON)
hides("one wiki of several emptied", status=200, body=b"[]", headers=JSON, short=True)
hides("one wiki of three named emptied", THREE, status=200, body=b"[]", headers=JSON)


@case(PART, "list of projects is empty", short=True)
async def _unlisted(play: Play) -> None:
    await begin_of_many(play)
    before = play.published()
    play.proxy.bend(r"/groups/\d+/projects", body=b"[]")
    ran = await play.export(*ALL)
    play.ended(ran, 3)
    play.safe(before == play.published(), "the site changed")
    play.told(ran, *NAMES, "the service does not list it")


@case(PART, "export without the token of the last one", short=True)
async def _no_token(play: Play) -> None:
    await begin_of_many(play)
    before = play.published()
    ran = await play.export(*ALL, environment={"WIKISYNC_TOKEN": None})
    play.right(ran.code != 0, "export ends with 0")
    play.safe(before == play.published(), "the site changed")
    play.told(ran, "no token is given, and the site was exported with one")


@case(PART, "site of another selection")
async def _selection(play: Play) -> None:
    await begin_of_many(play)
    before = play.published()
    ran = await play.export("--project", NAMES[0])
    play.ended(ran, 2)
    play.safe(before == play.published(), "the site changed")
    play.told(ran, "this would remove", "docs/p2", "--replace")


@case(PART, "one of many wikis 500: clone, sync")
async def _others_go_on(play: Play) -> None:
    ids = await begin_of_many(play)
    of_wiki = f"/projects/(docs%2Fp2|{ids[BROKEN]})/wikis"
    rule = play.proxy.bend(of_wiki, status=500, body=b"{}", headers=JSON)
    cloned = await play.run("clone", play.proxy.url, *ALL, play.root)
    play.ended(cloned, 3)
    play.told(cloned, "docs/p2: left out")
    (play.root / "p4/home.md").write_text("edited here\n")
    ran = await play.sync()
    play.right(ran.code != 0, "sync ends with 0")
    play.told(ran, "p2")
    last = await play.on_wiki(WikiOwner("project", "docs/p4"))
    play.right(last["home.md"] == "edited here\n", "a healthy wiki waits")
    status = await play.run("status", "-C", play.root)
    play.told(
        status, never=("p3: could not be looked at", "p4: could not be looked at")
    )
    excluded = await play.sync("--exclude", "p2")
    play.ended(excluded, 0)
    rule.end()
    play.ended(await play.sync(), 0)
    play.right((play.root / "p2/home.md").exists(), "the wiki does not come")


# -- interrupted -------------------------------------------------------------------


def interrupted(number: signal.Signals) -> None:
    """A case of a signal at four moments: the old site is whole, the next is new."""

    async def run(play: Play) -> None:
        await begin_of_many(play)
        for turn in range(4):
            before = play.pages()
            for path in NAMES:
                owner = WikiOwner("project", path)
                await play.service.add_pages(owner, {"page1": f"turn {turn}\n"})
            # at a known moment of it: while so many requests have come
            asked = len(play.proxy.asked) + 1 + 3 * turn
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "wikisync", "export", play.proxy.url, *ALL),
                *("-o", str(play.site), "--cache", str(play.scratch / "exported")),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=play.environment(),
            )
            await eventually(
                lambda process=process, asked=asked: (  # type: ignore[misc]
                    process.returncode is not None or len(play.proxy.asked) >= asked
                )
            )
            if process.returncode is None:
                process.send_signal(number)
            _out, err = await asyncio.wait_for(process.communicate(), 30)
            play.runs.append(f"export {process.returncode}")
            said = err[-600:].decode(errors="replace")
            play.right(b"Traceback" not in err, f"a traceback: {said}")
            play.safe(before <= play.pages(), "pages left the site")
        play.ended(await play.export(*ALL), 0)
        play.right(play.shows("turn 3"), "the next export is not whole")
        left = [path for path in play.site.rglob("*") if ".tmp" in path.name]
        play.right(not left, f"left in the site: {left}")

    case(PART, f"{number.name} during an export")(run)


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
    interrupted(number)


@case(PART, "disk that takes no more (limit on file sizes)")
async def _disk(play: Play) -> None:
    await play.begin({"home": "one\n"})
    before = play.pages()
    await play.service.add_pages(
        WikiOwner("project", "docs/handbook"), {"big": "big " * 200_000}
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    ran = await play.export(before=limit)
    play.right(ran.code in {1, 3}, f"export ends with {ran.code}")
    play.safe(before <= play.pages(), "pages left the site")
    play.ended(await play.export(), 0)
    play.right(play.shows("big big"), "the next export is not whole")


@case(PART, "two exports at once")
async def _two(play: Play) -> None:
    await begin_of_many(play)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(play.export(*ALL)) for _ in range(2)]
    codes = sorted(task.result().code for task in tasks)
    play.right(codes[0] == 0 and codes[1] in {0, 1}, f"exit codes {codes}")
    play.ended(await play.export(*ALL), 0)
    play.safe(all(pages_of(play, path) for path in NAMES), "a wiki left the site")


@case(PART, "foreign files in the output")
async def _foreign(play: Play) -> None:
    await play.begin()
    (play.site / "CNAME").write_text("docs.example.com\n")
    (play.site / "own").mkdir()
    (play.site / "own" / "x.html").write_text("own\n")
    await play.cloned.remove("guide")
    play.ended(await play.export(), 0)
    text = (play.site / "CNAME").read_text() + (
        play.site / "own" / "x.html"
    ).read_text()
    play.safe(text == "docs.example.com\nown\n", "a foreign file changed")


@case(PART, "output is the workspace, /, or a checkout of git")
async def _output(play: Play) -> None:
    await play.begin()
    checkout = play.scratch / "code"
    checkout.mkdir()
    (checkout / "index.html").write_text("own\n")
    pygit2.init_repository(checkout)
    before = play.cloned.files()
    for output in (play.root, "/", checkout):
        chosen = ("--project", "docs/handbook", "-o", output)
        ran = await play.run("export", play.proxy.url, *chosen)
        play.right(ran.code in {1, 2}, f"export into {output} ends with {ran.code}")
    play.safe(play.cloned.files() == before, "the folder changed")
    play.safe((checkout / "index.html").read_text() == "own\n", "a file was replaced")
    play.safe((play.root / "wikisync.toml").exists(), "the configuration is gone")

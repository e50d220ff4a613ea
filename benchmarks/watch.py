"""How soon ``wikisync watch`` carries an edit over, and what it costs while idle.

    python benchmarks/watch.py [carry changes idle many mass] [--pages 2000]

The service and the watch run in processes of their own.  ``carry``: a page's file is
saved, and the clock stops when the service tells of the edit; and the other way
round.  ``idle``: nothing happens for a while; processor time and memory are those that
the kernel accounts, traffic goes through a counter; ``many`` is the same with a hundred
wikis, and each takes four minutes.  ``mass``: many files are made at once, and all of
them changed at once, which a safety stop holds until somebody approves it; each text
has to be on the wiki.  ``changes``: a page is edited on the wiki every ten seconds, and
bytes and requests are counted that pass between the watch and the service; afterwards
the same for one ``wikisync sync``.  What grows in hours of edits is proved by ``make
soak``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

import aiohttp
from aiohttp import web
from measured import WIKISYNC
from pull import generate

SECRET = "bench"
PROJECT = "local/wiki"
LATENCY_S = 0.05
PAUSE_S = 0.7
"""Between two saves."""
WARM_S = 60.0
"""After the first sync, before an idle time is measured: a watch rests after 50 s."""
MASS_PER_FOLDER = 100
EDITS = 6
EDIT_EACH_S = 10.0
HINT_S = 20.0
"""After the first sync, the first hint has come by then."""
TICKS = os.sysconf("SC_CLK_TCK")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["carry", "mass"])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--idle-pages", type=int, default=10_000)
    parser.add_argument("--wikis", type=int, default=100)
    parser.add_argument("--saves", type=int, default=15)
    parser.add_argument("--idle-s", type=float, default=120.0)
    parser.add_argument("--mass", type=int, default=500)
    options = parser.parse_args()
    parts = {
        "carry": carry,
        "changes": changes,
        "idle": idle,
        "many": many,
        "mass": mass,
    }
    for part in options.parts:
        with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as place:
            await parts[part](Path(place), options)


# -- the parts ---------------------------------------------------------------------


async def carry(place: Path, options: argparse.Namespace) -> None:
    """Both ways, one edit after the other."""
    wiki = place / "wiki"
    generate(wiki, options.pages, 2048)
    print(f"{options.pages} pages, 50 ms latency {'median s':>25} {'worst s':>9}")
    for settle in (300, 50):
        async with bench(wiki, place / str(settle), ("--settle", str(settle))) as b:
            times = [await b.time_save(n) for n in range(options.saves)]
            row(f"save -> on the service, --settle {settle}", times)
            if settle == 50:
                continue
            times = [await b.time_edit(n) for n in range(options.saves)]
            row("edit on the service -> folder, webhook", times)
    async with bench(wiki, place / "hints", hooks=False) as b:
        times = [await b.time_edit(n) for n in range(max(3, options.saves // 5))]
        row("edit on the service -> folder, hints", times)


async def changes(place: Path, options: argparse.Namespace) -> None:
    """What edits on the wiki cost, with nobody to tell of them."""
    generate(place / "wiki", options.pages, 2048)
    async with bench(place / "wiki", place / "ws", latency_s=0.0, hooks=False) as b:
        await asyncio.sleep(HINT_S)
        before, times, began = list(b.traffic), [], time.monotonic()
        for number in range(EDITS):
            times.append(await b.time_edit(number))
            await asyncio.sleep(max(0.0, EDIT_EACH_S - times[-1]))
        size, requests = (now - was for now, was in zip(b.traffic, before, strict=True))
        hour = 3600 / (time.monotonic() - began)
        print(f"{options.pages} pages, an edit on the wiki every {EDIT_EACH_S:.0f} s")
        row("edit on the service -> folder, hints", times)
        print(f"  each: {size / EDITS / 1024:.1f} KiB, {requests / EDITS:.1f} requests")
        print(f"  traffic: {size * hour / 1e6:.2f} MB/h")
        b.watch.terminate()
        await b.watch.wait()
        for name in ("nothing new", "one edit"):
            if name == "one edit":
                await b.put("part-001/page-150", f"edited at {time.time()}\n")
            before = list(b.traffic)
            await b.say("sync")
            size, requests = (n - was for n, was in zip(b.traffic, before, strict=True))
            print(f"  sync, {name}: {size / 1024:.1f} KiB, {requests} requests")


async def idle(place: Path, options: argparse.Namespace) -> None:
    """One large wiki at rest."""
    generate(place / "wiki", options.idle_pages, 2048)
    async with bench(place / "wiki", place / "ws", latency_s=0.0, hooks=False) as b:
        print(f"{options.idle_pages} pages")
        await b.measure_idle(options.idle_s)


async def many(place: Path, options: argparse.Namespace) -> None:
    """Many small wikis at rest."""
    generate(place / "wiki", 3, 500)
    more = [f"local/wiki-{number}" for number in range(options.wikis - 1)]
    async with bench(
        place / "wiki", place / "ws", latency_s=0.0, hooks=False, more=more
    ) as b:
        print(f"{options.wikis} wikis")
        await b.measure_idle(options.idle_s)


async def mass(place: Path, options: argparse.Namespace) -> None:
    """So many files made at once, and then all of them changed at once."""
    generate(place / "wiki", 500, 1000)
    async with bench(place / "wiki", place / "ws", latency_s=0.0) as b:
        await change_at_once(b, options.mass)


async def change_at_once(b: Bench, count: int) -> None:
    names = [f"mass-{n // MASS_PER_FOLDER}/page-{n}" for n in range(count)]
    for what in ("made", "changed"):
        texts = {name: f"# {name}\n\n{what} at {time.time()}\n" for name in names}
        began = time.monotonic()
        for name, text in texts.items():
            path = b.folder / f"{name}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        wrote_s = time.monotonic() - began
        await b.until(partial(b.has_all, texts), 120 + count)
        passed = time.monotonic() - began
        print(
            f"{count} files {what} at once (in {wrote_s:.1f} s): all on the wiki after"
            f" {passed:.0f} s, {passed / max(count, 1) * 1000:.0f} ms each;"
            f" memory {b.memory_mb():.0f} MB",
            flush=True,
        )


def row(name: str, times: list[float]) -> None:
    print(f"{name:<48} {statistics.median(times):>6.2f} {max(times):>9.2f}", flush=True)


# -- what they share ---------------------------------------------------------------


@dataclass
class Bench:
    """A service, a watch, and who listens to both."""

    url: str
    token: str
    root: Path
    session: aiohttp.ClientSession
    watch: asyncio.subprocess.Process
    told: dict[str, float] = field(default_factory=dict)
    """When the service told of each page last."""
    traffic: list[int] = field(default_factory=lambda: [0, 0])
    """Bytes and requests between the watch and the service."""

    @property
    def folder(self) -> Path:
        """The wiki's folder."""
        return self.root / "wiki"

    async def time_save(self, number: int) -> float:
        """Seconds from a save to the service's word of it."""
        path = self.folder / f"part-000/page-{number}.md"
        slug = f"part-000/page-{number}"
        await asyncio.sleep(PAUSE_S)
        self.told.pop(slug, None)
        text = path.read_text() + f"\nsaved at {time.time()}\n"
        began = time.monotonic()
        path.write_text(text)
        await self.until(lambda: slug in self.told)
        return self.told[slug] - began

    async def time_edit(self, number: int) -> float:
        """Seconds from the answer to an edit to the changed file."""
        slug = f"part-001/page-{100 + number}"
        path = self.folder / f"{slug}.md"
        text = path.read_text() + f"\nedited at {time.time()}\n"
        await asyncio.sleep(PAUSE_S)
        await self.put(slug, text)
        began = time.monotonic()
        await self.until(lambda: path.read_text() == text)
        return time.monotonic() - began

    async def put(self, slug: str, text: str) -> None:
        """Edit a page as another person would."""
        project = quote(PROJECT, safe="")
        path = f"{self.url}/api/v4/projects/{project}/wikis/{quote(slug, safe='')}"
        body = {"title": slug, "content": text, "format": "markdown"}
        async with self.session.put(path, json=body) as answer:
            assert answer.status == 200, await answer.text()

    async def pages(self) -> dict[str, str]:
        """Every page's text on the service."""
        project = quote(PROJECT, safe="")
        path = f"{self.url}/api/v4/projects/{project}/wikis?with_content=1"
        async with self.session.get(path) as answer:
            return {one["slug"]: one["content"] for one in await answer.json()}

    async def has_all(self, texts: dict[str, str]) -> bool:
        """Whether the service has each of these pages with its text.

        What a safety stop holds meanwhile is said yes to.
        """
        await asyncio.sleep(2)
        for number in self.asked():
            await self.say("approve", f"wiki:{number}")
        there = await self.pages()
        return all(there.get(slug) == text for slug, text in texts.items())

    def asked(self) -> list[str]:
        """The batches that the attention file asks about."""
        try:
            text = (self.root / "WIKISYNC-ATTENTION.md").read_text()
        except FileNotFoundError:
            return []
        return re.findall(r"wikisync approve wiki:(\d+)", text)

    async def say(self, *words: str) -> str:
        """What a command of ``wikisync`` prints."""
        process = await asyncio.create_subprocess_exec(
            *(WIKISYNC, *words, "-C", str(self.root)),
            env={**os.environ, "WIKISYNC_TOKEN": self.token},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        out, _ = await process.communicate()
        return out.decode()

    async def measure_idle(self, seconds: float) -> None:
        """Print what an idle watch costs."""
        await asyncio.sleep(WARM_S)
        traffic, cpu, began = self.traffic[0], self.cpu_s(), time.monotonic()
        await asyncio.sleep(seconds)
        passed = time.monotonic() - began
        share = (self.cpu_s() - cpu) / passed * 100
        hour = (self.traffic[0] - traffic) / passed * 3600
        before, cpu = self.traffic[0], self.cpu_s()
        (self.root / ".wikisync" / "ask").touch()
        await asyncio.sleep(8)
        look = self.traffic[0] - before
        look_s = self.cpu_s() - cpu
        share += look_s / 600 * 100
        print(f"  processor, whole looks included: {share:.2f} % of a core")
        print(f"  one whole look: {look / 1024:.1f} KiB, {look_s:.2f} s of processor")
        print(f"  traffic: {(hour + 6 * look) / 1e6:.2f} MB/h")
        print(
            f"  memory: {self.memory_mb():.0f} MB, at most {self.memory_mb('HWM'):.0f}"
        )

    def cpu_s(self) -> float:
        """Seconds of processor that the watch has used."""
        text = Path(f"/proc/{self.watch.pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self, kind: str = "RSS") -> float:
        """What the watch holds of memory."""
        lines = Path(f"/proc/{self.watch.pid}/status").read_text().splitlines()
        line = next(line for line in lines if line.startswith(f"Vm{kind}:"))
        return int(line.split()[1]) / 1024

    async def until(
        self, is_so: Callable[[], bool | Awaitable[bool]], seconds: float = 600
    ) -> None:
        """Wait until something is so, and not for ever."""
        async with asyncio.timeout(seconds):
            while True:
                answer = is_so()
                if answer if isinstance(answer, bool) else await answer:
                    return
                await asyncio.sleep(0.002)


@asynccontextmanager
async def bench(
    wiki: Path,
    root: Path,
    words: tuple[str, ...] = (),
    *,
    latency_s: float = LATENCY_S,
    hooks: bool = True,
    more: list[str] | None = None,
) -> AsyncIterator[Bench]:
    """A service with a wiki in it, and a watch that is in sync with it."""
    told: dict[str, float] = {}
    traffic = [0, 0]
    port = free_port()
    async with hearing(told) as hook:
        named = [hook, *([f"http://127.0.0.1:{port}/hook"] if hooks else [])]
        async with serving(wiki, root, latency_s, named) as (url, token):
            headers = {"PRIVATE-TOKEN": token}
            async with (
                aiohttp.ClientSession(headers=headers) as session,
                counting(url, traffic) as counted,
            ):
                for path in more or ():
                    await add_wiki(session, url, path)
                make_workspace(root, counted, port, [PROJECT, *(more or ())])
                async with watching(root, token, words) as process:
                    made = Bench(url, token, root, session, process, told, traffic)
                    await made.until(lambda: is_ready(root))
                    yield made


def is_ready(root: Path) -> bool:
    with suppress(OSError, ValueError):
        text = (root / ".wikisync" / "health.json").read_text()
        return bool(json.loads(text)["condition"] == "in sync")
    return False


def make_workspace(root: Path, url: str, port: int, projects: list[str]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    wikis = "".join(f'[[wiki]]\nproject = "{path}"\n' for path in projects)
    listen = f'[sync]\nlisten = "127.0.0.1:{port}"\n'
    (root / "wikisync.toml").write_text(
        f'[service]\nurl = "{url}"\n{wikis}{listen}', encoding="utf-8"
    )


async def add_wiki(session: aiohttp.ClientSession, url: str, path: str) -> None:
    namespace, _, name = path.partition("/")
    async with session.get(f"{url}/api/v4/groups/{namespace}") as answer:
        group = (await answer.json())["id"]
    body = {"name": name, "path": name, "namespace_id": group}
    async with session.post(f"{url}/api/v4/projects", json=body) as answer:
        assert answer.status == 201, await answer.text()
        number = (await answer.json())["id"]
    for title in ("home", "two", "three"):
        page = {"title": title, "content": f"# {title}\n"}
        place = f"{url}/api/v4/projects/{number}/wikis"
        async with session.post(place, json=page) as answer:
            assert answer.status == 201, await answer.text()


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@asynccontextmanager
async def hearing(told: dict[str, float]) -> AsyncIterator[str]:
    """Hear of the service's edits."""

    async def hook(request: web.Request) -> web.Response:
        event = await request.json()
        told[event["object_attributes"]["slug"]] = time.monotonic()
        return web.Response()

    app = web.Application()
    app.router.add_post("/", hook)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def counting(url: str, traffic: list[int]) -> AsyncIterator[str]:
    """The service behind another port, whose bytes and requests are counted."""
    host, _, port = url.removeprefix("http://").partition(":")

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                traffic[0] += len(chunk)
                traffic[1] += chunk.count(b" HTTP/1.1\r\n")
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(host, int(port))
        async with asyncio.TaskGroup() as group:
            group.create_task(copy(reader, there[1]))
            group.create_task(copy(there[0], writer))

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@asynccontextmanager
async def serving(
    wiki: Path, root: Path, latency_s: float, hooks: list[str]
) -> AsyncIterator[tuple[str, str]]:
    late = str(Path(__file__).with_name("late_service.py"))
    words = [sys.executable, late, str(latency_s), "serve"]
    words += ["--data", f"{root}-service", "--load", str(wiki)]
    for hook in hooks:
        words += ["--hook", hook]
    process = await asyncio.create_subprocess_exec(
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "WIKISYNC_HOOK_SECRET": SECRET},
    )
    assert process.stdout is not None
    said: dict[str, str] = {}
    while "url" not in said:
        name, _, value = (await process.stdout.readline()).decode().partition(": ")
        said[name] = value.strip()
    try:
        yield said["url"], said["token"]
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def watching(
    root: Path, token: str, words: tuple[str, ...]
) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {
        **os.environ,
        "WIKISYNC_TOKEN": token,
        "WIKISYNC_HOOK_SECRET": SECRET,
    }
    process = await asyncio.create_subprocess_exec(
        *(WIKISYNC, "watch", "-C", str(root), *words),
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

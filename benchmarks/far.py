"""What commands cost over a slow line, and under limits on requests.

    python benchmarks/far.py [--pages 2000] [--edits 300] [--round-trip 0.15]
        [--bytes-per-s 0] [--no-limits] [--no-line]

The embedded service runs in a process of its own, and this process stands between it
and the commands: it delays each request by a round trip, sends answers no faster than
the line allows, and refuses with 429 what a limit does not let through.

Prints one row for each command: requests, how many of them one after the other, and
megabytes of answers, beside their targets.  With a limit: how many were refused, the
exit code, and the longest wait of a ``page get`` that was run every five seconds with
the same token beside a push, and before it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from aiohttp import ClientSession, ClientTimeout, web
from measured import WIKISYNC, serving
from pull import generate
from yarl import URL

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.limiting import FixedWindow, TokenBucket

PAGE_BYTES = 4_000
FILES_PER_PAGE = 0.09
COMMAND_EVERY_S = 5.0
COMMANDS_ALONE = 3
_PASSED = ("Content-Type", "ETag", "Location", "X-Request-Id", "Date")


@dataclass
class Line:
    """A slow line to a service, which counts."""

    target: str
    round_trip_s: float
    bytes_per_s: float
    limit: TokenBucket | FixedWindow | None = None
    retry_after: bool = False
    requests: int = 0
    sent_bytes: int = 0
    depth: int = 0
    """The longest chain of requests of which each began when the one before ended."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def begin(self) -> None:
        """Count anew."""
        self.requests = self.sent_bytes = self.depth = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass one request on."""
        self.requests += 1
        depth = self.depth + 1
        await asyncio.sleep(self.round_trip_s)
        if self.limit is not None and self.limit.refuses():
            headers = {"Retry-After": "1"} if self.retry_after else {}
            if self.retry_after and isinstance(self.limit, FixedWindow):
                headers["Retry-After"] = str(int(self.limit.left_s) + 1)
            return web.Response(status=429, text="Retry later\n", headers=headers)
        kept = {n: v for n, v in request.headers.items() if n.lower() != "host"}
        # as it was sent: names of pages are encoded once
        url = URL(self.target + request.raw_path, encoded=True)
        async with (
            ClientSession(
                auto_decompress=False, timeout=ClientTimeout(total=None)
            ) as session,
            session.request(
                request.method,
                url,
                data=await request.read(),
                headers=kept,
                allow_redirects=False,
            ) as found,
        ):
            body = await found.read()
        self.sent_bytes += len(body)
        if self.bytes_per_s:
            async with self.turn:
                await asyncio.sleep(len(body) / self.bytes_per_s)
        self.depth = max(self.depth, depth)
        passed = {n: found.headers[n] for n in _PASSED if n in found.headers}
        if "Content-Encoding" in found.headers:
            passed["Content-Encoding"] = found.headers["Content-Encoding"]
        return web.Response(status=found.status, body=body, headers=passed)


@dataclass(frozen=True)
class Bench:
    """A wiki behind a line, and the commands about it."""

    line: Line
    url: str
    token: str
    place: Path

    async def run(self, *words: str) -> tuple[int, float]:
        """One command: its exit code, and its seconds."""
        env = {
            **os.environ,
            "WIKISYNC_TOKEN": self.token,
            "XDG_CACHE_HOME": str(self.place / "cache"),
        }
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *(WIKISYNC, "--quiet", *words),
            env=env,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return await process.wait(), time.monotonic() - started

    async def row(self, what: str, target: str, *words: str) -> None:
        """Run a command and print what it cost."""
        self.line.begin()
        code, seconds = await self.run(*words)
        line = self.line
        print(
            f"| {what} | {line.requests} ({line.depth}) | {target}"
            f" | {line.sent_bytes / 1e6:.2f} | {seconds:.1f} | {code} |",
            flush=True,
        )

    def edit_there(self, slug: str, text: str) -> None:
        """An edit by somebody else, past the line."""
        url = f"{self.line.target}/api/v4/projects/local%2Fwiki/wikis/{slug}"
        body = json.dumps({"content": text})
        asked = urllib.request.Request(url, body.encode(), method="PUT")
        asked.add_header("PRIVATE-TOKEN", self.token)
        asked.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(asked) as answer:
            assert answer.status == 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--round-trip", type=float, default=0.15)
    parser.add_argument("--bytes-per-s", type=float, default=0.0)
    parser.add_argument("--no-limits", action="store_true")
    parser.add_argument("--no-line", action="store_true")
    options = parser.parse_args()
    # more at once is held back until a person says yes
    options.edits = min(options.edits, options.pages // 6)
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        fill(place / "wiki", options.pages)
        with serving(place / "wiki") as (url, token):
            asyncio.run(measure(place, url, token, options))


def fill(folder: Path, pages: int) -> None:
    """The pages, and their attachments."""
    generate(folder, pages, PAGE_BYTES)
    links = []
    for number in range(int(pages * FILES_PER_PAGE)):
        path = folder / f"uploads/{number:032x}/picture.png"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\x89PNG\r\n" + bytes(2_000))
        links.append(f"![p]({path.relative_to(folder)})\n")
    (folder / "pictures.md").write_text("".join(links))


async def measure(
    place: Path, target: str, token: str, options: argparse.Namespace
) -> None:
    """Both tables."""
    line = Line(target, options.round_trip, options.bytes_per_s)
    server = web.ServerRunner(web.Server(line.answer))
    await server.setup()
    site = web.TCPSite(server, "127.0.0.1", 0)
    await site.start()
    port = server.addresses[0][1]
    bench = Bench(line, f"http://127.0.0.1:{port}", token, place)
    try:
        if not options.no_line:
            await line_rows(bench, options)
        if not options.no_limits:
            await limit_rows(bench, options)
    finally:
        await server.cleanup()


async def line_rows(bench: Bench, options: argparse.Namespace) -> None:
    """Table one: what the line is used for."""
    print(f"{options.pages:,} pages, {options.round_trip * 1000:.0f} ms\n")
    print("| what | requests (in sequence) | target in sequence | MB | s | exit |")
    print("|---|---|---|---|---|---|")
    root, edits = bench.place / "far", options.edits
    clone = ("clone", bench.url, "--project", "local/wiki", str(root))
    sync = ("sync", "-C", str(root))
    await bench.row("clone", "", *clone)
    await bench.row("first sync", "", *sync)
    await bench.row("no-op", "1", *sync)
    names = pages_in(root)
    extend(names[0], "edited here\n")
    await bench.row("push 1 edit", "3", *sync)
    bench.edit_there(slug_of(names[1]), f"{names[1].read_text()}edited there\n")
    await bench.row("pull 1 web edit", "5, 0.05 MB", *sync)
    for path in names[2 : edits + 2]:
        extend(path, "edited again\n")
    await bench.row(f"push {edits} edits", f"< {edits + 10}", *sync)
    for number in range(edits):
        (names[0].parent / f"new-{number}.md").write_text("new\n")
    await bench.row(f"push {edits} new pages", f"{edits}", *sync)


async def limit_rows(bench: Bench, options: argparse.Namespace) -> None:
    """Table two: what limits refuse."""
    print("\n| limit | command | refused of | target | s | exit | longest page get |")
    print("|---|---|---|---|---|---|---|")
    limits: Sequence[tuple[str, Callable[[], TokenBucket | FixedWindow], bool]] = (
        ("2/s, burst 4", lambda: TokenBucket(2.0, 4.0), False),
        ("10/s, burst 20", lambda: TokenBucket(10.0, 20.0), True),
        ("200/min", lambda: FixedWindow(200), True),
        ("600/min, no header", lambda: FixedWindow(600), False),
    )
    for number, (name, limit, retry_after) in enumerate(limits):
        # what the commands learned of one limit is nothing to the next
        bench = replace(bench, place=bench.place / f"limit-{number}")
        root = bench.place / "limited"
        clone = ("clone", bench.url, "--project", "local/wiki", str(root))
        bench.line.limit, bench.line.retry_after = limit(), retry_after
        code, seconds = await bench.run(*clone)
        print(limited(bench, name, "clone", seconds, code, ""), flush=True)
        for path in pages_in(root)[: options.edits]:
            extend(path, f"{name}\n")
        get = ("page", "get", "pictures", "--project", "local/wiki", "--url", bench.url)
        # on a busy machine the start of a process alone takes seconds
        alone = [(await bench.run(*get))[1] for _ in range(COMMANDS_ALONE)]
        bench.line.limit.accepted = bench.line.limit.refused = 0
        waited: list[float] = []
        async with asyncio.TaskGroup() as group:
            push = group.create_task(bench.run("sync", "-C", str(root)))
            while not push.done():
                await asyncio.wait({push}, timeout=COMMAND_EVERY_S)
                waited.append((await bench.run(*get))[1])
        code, seconds = push.result()
        longest = f"{max(waited):.1f} s (target 3; alone {max(alone):.1f})"
        print(limited(bench, name, "push", seconds, code, longest), flush=True)
        bench.line.limit = None


def limited(
    bench: Bench, name: str, what: str, seconds: float, code: int, longest: str
) -> str:
    """One row."""
    limit = bench.line.limit
    assert limit is not None
    total = limit.accepted + limit.refused
    return (
        f"| {name} | {what} | {limit.refused} of {total}"
        f" ({100 * limit.refused / max(total, 1):.1f} %) | < 2 %"
        f" | {seconds:.0f} | {code} | {longest} |"
    )


def pages_in(root: Path) -> list[Path]:
    """The pages of the one wiki of a workspace, but the one with the pictures."""
    found = [
        path
        for path in root.rglob("*.md")
        if ".wikisync" not in path.parts and path.name != "pictures.md"
    ]
    return sorted(found)


def extend(path: Path, text: str) -> None:
    """Edit a page as a person does: most of it stays."""
    path.write_text(path.read_text() + text)


def slug_of(path: Path) -> str:
    """The slug of a page in the top folder of its wiki, as a path holds it."""
    folder = next(one for one in path.parents if (one.parent / ".wikisync").is_dir())
    return str(path.relative_to(folder).with_suffix("")).replace("/", "%2F")


if __name__ == "__main__":
    main()

"""``wikisync watch`` as a process beside the embedded service, as a person has it.

async with watching(service, tmp_path) as watch:
    await watch.in_sync()
    watch.save("home", "two\\n")
    await watch.until(lambda: ...)
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.agreed import write_config
from tests.support.service import EmbeddedService
from tests.support.waiting import until
from wikisync.core.model import WikiOwner

OWNER = WikiOwner("project", "docs/handbook")
WAIT_S = 60.0
END_S = 30.0


@dataclass
class WatchProcess:
    """The process, and the workspace that it watches."""

    service: EmbeddedService
    root: Path
    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    """What it said on stderr so far."""
    out: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "handbook"

    @property
    def health(self) -> Any:
        try:
            text = (self.root / ".wikisync" / "health.json").read_text()
        except OSError:
            return {}
        return json.loads(text)

    @property
    def log(self) -> str:
        return (self.root / ".wikisync" / "log").read_text()

    def save(self, slug: str, text: str) -> None:
        (self.folder / f"{slug}.md").write_text(text)

    def text(self, slug: str) -> str | None:
        try:
            return (self.folder / f"{slug}.md").read_text()
        except OSError:
            return None

    async def wiki_text(self, slug: str) -> str | None:
        found = (await self.service.files(OWNER)).get(f"{slug}.md")
        return None if found is None else found.decode()

    async def until(
        self, is_so: Callable[[], Awaitable[bool] | bool], wait_s: float = WAIT_S
    ) -> None:
        """Wait until something is so; with all that was said where it never is."""
        try:
            await until(is_so, wait_s)
        except TimeoutError:
            raise AssertionError("\n".join(["never so:", *self.lines])) from None

    async def said(self, words: str, times: int = 1) -> None:
        """Wait until a line with these words was said."""
        await self.until(lambda: sum(words in line for line in self.lines) >= times)

    async def in_sync(self) -> None:
        await self.said("in sync")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        async with asyncio.timeout(END_S):
            return await self.process.wait()

    async def listen(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_collect(self.process.stderr, self.lines))
            group.create_task(_collect(self.process.stdout, self.out))


async def _collect(stream: asyncio.StreamReader | None, lines: list[str]) -> None:
    assert stream is not None
    while line := await stream.readline():
        lines.append(line.decode().rstrip("\n"))


def make_workspace(
    root: Path, url: str, *, more: str = "", project: str | None = OWNER.full_path
) -> Path:
    """A workspace of the wiki of a project, never synced; None: of those in more."""
    root.mkdir(parents=True, exist_ok=True)
    wiki = f'[[wiki]]\nproject = "{project}"\n' if project else ""
    write_config(root, f'[service]\nurl = "{url}"\n{wiki}{more}')
    return root


@asynccontextmanager
async def watching(
    service: EmbeddedService,
    root: Path,
    *words: str,
    more: str = "",
    url: str | None = None,
    project: str | None = OWNER.full_path,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[WatchProcess]:
    """Watch a workspace until the block ends."""
    make_workspace(root, url or service.url, more=more, project=project)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", "watch", "-C", str(root), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            **os.environ,
            "WIKISYNC_TOKEN": service.token,
            "PYTHONUNBUFFERED": "1",
            **(environment or {}),
        },
    )
    watch = WatchProcess(service, root, process)
    async with asyncio.TaskGroup() as group:
        group.create_task(watch.listen())
        try:
            yield watch
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert not any("Traceback" in line for line in watch.lines), watch.lines

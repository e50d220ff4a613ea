"""A preview of a wiki folder that tests write to and ask."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import aiohttp
from msgspec.structs import replace

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from wikisync.core.model import Problem, Slug, WikiOwner
from wikisync.site.model import SiteOptions, WikiSource
from wikisync.site.preview.server import Preview, PreviewOptions, running_preview
from wikisync.site.preview.states import Decisions, PageStatus, StateName, SyncStatus
from wikisync.site.preview.world import PreviewInputs

WAIT_S = 30
PAGE = "# Guide\n\nFirst words.\n\nMiddle words.\n\nLast words.\n"
FOREIGN = "https://evil.example.com"
"""Another site that a browser has open."""
HASH = "0123456789abcdef0123456789abcdef"
WIKI = f"""\
-- home.md --
# Welcome

See [the guide](guide#part) and ![a map](uploads/{HASH}/map.svg).
-- guide.md --
## Part

Words of the guide.
-- uploads/{HASH}/map.svg --
<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>
"""

ACTIONS: dict[str, dict[str, Any]] = {
    "source": {},
    "draft": {"text": "x"},
    "save": {"text": "x", "base": "## Part\n\nWords of the guide.\n"},
    "create": {"name": "new"},
    "rename": {"name": "new"},
    "delete": {"text": "## Part\n\nWords of the guide.\n"},
    "restore": {},
    "names": {},
    "file": {"name": "a.png", "content": ""},
    "edit": {},
    "tick": {"number": 0, "is_done": True},
    "decide": {"batch": 1, "is_approved": True},
    "settle": {"text": "x", "seen": ""},
    "back": {"id": "abcd"},
}
"""What an editor may ask that changes something or shows a source."""


@dataclass
class Desk:
    """An author's folder with one wiki, and what its preview is told."""

    root: Path
    sources: list[WikiSource] = field(default_factory=list)
    options: SiteOptions = field(default_factory=lambda: SiteOptions("Docs"))
    notices: list[Problem] = field(default_factory=list)

    def add(self, archive: str, path: str = "docs/handbook") -> Path:
        """A wiki from a text archive; its folder."""
        folder = unpack(archive, self.root / path.rpartition("/")[2])
        self.sources.append(wiki_source(folder, path))
        return folder

    def set(self, **changes: Any) -> None:
        """Change options of the site."""
        self.options = replace(self.options, **changes)

    def inputs(self) -> PreviewInputs:
        """What the configuration says now."""
        return PreviewInputs(tuple(self.sources), self.options)

    @asynccontextmanager
    async def previewing(
        self, options: PreviewOptions | None = None
    ) -> AsyncIterator[Reader]:
        """A reader of a preview that is ready."""
        cache = self.root / "cache"
        async with (
            running_preview(
                self.inputs,
                cache,
                options or PreviewOptions(),
                notice=self.notices.append,
            ) as preview,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(WAIT_S)) as session,
        ):
            await preview.ready()
            yield Reader(preview, session)


@dataclass
class Reader:
    """A browser as plain requests."""

    preview: Preview
    session: aiohttp.ClientSession

    @property
    def origin(self) -> str:
        return self.preview.url.rstrip("/")

    async def get(
        self, path: str, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Status and text of an answer."""
        answer = await self.ask("GET", path, headers=headers)
        return answer.status, await answer.text()

    async def texts(self, *paths: str) -> dict[str, str]:
        """The texts at some paths, all asked for at once."""
        async with asyncio.TaskGroup() as tasks:
            asked = {path: tasks.create_task(self.get(path)) for path in paths}
        return {path: task.result()[1] for path, task in asked.items()}

    async def ask(self, method: str, path: str, **how: Any) -> aiohttp.ClientResponse:
        """A request as it is; the answer's headers and status."""
        answer = await self.session.request(method, self.preview.url + path, **how)
        await answer.read()
        return answer

    @asynccontextmanager
    async def window(self, at: str = "index.html") -> AsyncIterator[Window]:
        """A window that shows a page and listens."""
        url = f"{self.preview.url}-/preview/events"
        headers = {"Origin": self.origin}
        connecting = self.session.ws_connect(url, params={"at": at}, headers=headers)
        async with connecting as socket:
            yield Window(socket)


@dataclass
class Window:
    """What one window hears."""

    socket: aiohttp.ClientWebSocketResponse

    async def hear(self) -> dict[str, Any]:
        """The next news."""
        while not (word := await self.socket.receive_str(timeout=WAIT_S)):
            pass
        news: dict[str, Any] = json.loads(word)
        return news

    async def hear_until(self, name: str, value: object) -> dict[str, Any]:
        """The first news in which something is so."""
        async with asyncio.timeout(WAIT_S):
            while (news := await self.hear())[name] != value:
                pass
        return news

    async def hear_other_key(self, key: str) -> dict[str, Any]:
        """The first news that tells of a page that looks different."""
        async with asyncio.timeout(WAIT_S):
            while (news := await self.hear())["key"] in {key, ""}:
                pass
        return news


class StatesOfTest:
    """How a wiki stands as a workspace would tell it, set by the test."""

    def __init__(self) -> None:
        self.now = SyncStatus()
        self.options = PreviewOptions(decisions=cast("Decisions", self))

    def set(self, state: StateName, note: str = "", slug: str = "guide") -> None:
        pages = {**self.now.pages, Slug(slug): PageStatus(state, note)}
        self.now = replace(self.now, pages=pages)

    def stamp(self) -> object:
        return self.now

    def sync_status(self, owner: WikiOwner) -> SyncStatus:
        return self.now if owner.full_path == "docs/handbook" else SyncStatus()


@dataclass
class Writer:
    """The editor of one window as plain requests."""

    reader: Reader
    headers: dict[str, str]

    async def ask(self, action: str, **wish: Any) -> tuple[int, Any]:
        answer = await self.reader.ask(
            "POST", f"-/preview/{action}", json=wish, headers=self.headers
        )
        return answer.status, await answer.json()


@asynccontextmanager
async def writing(
    desk: Desk, options: PreviewOptions | None = None
) -> AsyncIterator[Writer]:
    async with desk.previewing(options) as reader:
        yield Writer(reader, await headers_of(reader))


async def headers_of(reader: Reader) -> dict[str, str]:
    found = re.search(r'data-token="([^"]+)"', (await reader.get(""))[1])
    assert found is not None
    return {"Origin": reader.origin, "X-Wikisync-Token": found[1]}


def files_of(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files if "cache" not in path.parts}

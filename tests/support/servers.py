"""Each server of ours alone: the service, a preview, the listener of a watch.

Each gives its address and, where somebody may write, a token.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from tests.support.preview import Desk
from tests.support.service import embedded_service
from wikisync.watch.listen import listening, watch_app
from wikisync.watch.report import WatchReport


@asynccontextmanager
async def a_service(root: Path) -> AsyncIterator[tuple[str, str]]:
    async with embedded_service(root) as service:
        await service.add_project("docs/handbook")
        yield service.url, service.token


@asynccontextmanager
async def a_preview(root: Path) -> AsyncIterator[tuple[str, str]]:
    desk = Desk(root)
    desk.add("-- home.md --\nhello\n")
    async with desk.previewing() as reader:
        yield reader.preview.url, ""


@asynccontextmanager
async def a_listener(root: Path) -> AsyncIterator[tuple[str, str]]:
    del root
    # nothing that is sent here gets as far as the report
    report = cast(WatchReport, None)
    app = watch_app("word", lambda *_: False, report)
    async with listening(app, "127.0.0.1:0") as url:
        yield url, ""

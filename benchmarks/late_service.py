"""`wikisync serve` on a far machine: ``late_service.py SECONDS serve ...``.

It waits so many seconds before each answer.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web

from wikisync.cli.start import run
from wikisync.service.server import App

LATENCY_S = float(sys.argv.pop(1))
answer_at_once = App.answer


async def answer(app: App, request: web.BaseRequest, id_: str) -> web.StreamResponse:
    await asyncio.sleep(LATENCY_S)
    return await answer_at_once(app, request, id_)


App.answer = answer  # type: ignore[method-assign, assignment]

if __name__ == "__main__":
    run()

"""What a worker answers: figures for Prometheus, and webhooks."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from aiohttp import web

from wikisync.fleet.rows import DEAD_S, Counts, Rows
from wikisync.watch.listen import answer_hook, new_app

GAUGES = ("wikis", "pages", "due", "running", "halted", "failing", "oldest_due_s")


class Meter:
    """Counts what happens in the cycles of one worker."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self.seconds: Counter[str] = Counter()
        self.ends: Counter[str] = Counter(done=0, lost=0, refused=0)
        self._steps: MutableMapping[Any, tuple[str, float]] = WeakKeyDictionary()

    async def at(self, step: str) -> None:
        """Note that a cycle came to a step."""
        task, now = asyncio.current_task(), time.monotonic()
        if task is None or step == "put":
            return  # a part of the upload
        if step in self.ends:
            self.ends[step] += 1
        before = self._steps.pop(task, None)
        if before:
            self.seconds[before[0]] += now - before[1]  # type: ignore[assignment]
        if step not in ("done", "lost"):
            self._steps[task] = (step, now)


def lines(counts: Counts, meter: Meter) -> Iterator[str]:
    """The text that Prometheus reads."""
    for name in GAUGES:
        shown = name.replace("_due_s", "_due_seconds")
        yield f"wikisync_fleet_{shown} {getattr(counts, name)}"
    silent = sum(age >= DEAD_S for age in counts.workers.values())
    yield f"wikisync_fleet_workers {len(counts.workers) - silent}"
    yield f"wikisync_fleet_workers_silent {silent}"
    yield f"wikisync_fleet_budget_wait_seconds {counts.budget_wait_s}"
    for end, count in meter.ends.items():
        yield f'wikisync_fleet_cycles_total{{end="{end}"}} {count}'
    for step, seconds in meter.seconds.items():
        yield f'wikisync_fleet_step_seconds_total{{step="{step}"}} {seconds:.3f}'


def worker_app(rows: Rows, meter: Meter, secret: str) -> web.Application:
    """What answers at ``/metrics``, and takes webhooks at ``/hook``."""

    async def see(event: Any, path: str, _slug: str) -> bool:
        return event.object_kind == "wiki_page" and await rows.hint(path)

    async def hook(request: web.Request) -> web.Response:
        return await answer_hook(request, secret.encode(), see)

    async def show(_request: web.Request) -> web.Response:
        text = "\n".join(lines(await rows.counts(), meter))
        return web.Response(text=f"{text}\n")

    app = new_app(hook)
    app.router.add_get("/metrics", show)
    return app

"""The state of a watch for programs: health file, ``/healthz`` and ``/metrics``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wikisync import __version__
from wikisync.api.budget import Budget, Wait
from wikisync.layout import HEALTH_FILE
from wikisync.private import read_private_file
from wikisync.watch.daemon.daemon import Daemon
from wikisync.watch.daemon.wiki_status import Condition, WikiStatus
from wikisync.watch.wiki import WatchedWiki

STOPPED = "stopped"
HEALTH_BYTES_MAX = 16 * 1024 * 1024
UNHEALTHY = frozenset({Condition.OFFLINE, Condition.REFUSED, Condition.FAILING})


class WatchReport:
    """What can be said of a watch that runs."""

    def __init__(
        self, daemon: Daemon, wikis: Sequence[WatchedWiki], budget: Budget
    ) -> None:
        self._daemon = daemon
        self._budget = budget
        self._wikis = {wiki.name: wiki for wiki in wikis}
        self._started_at = time.time()
        self.is_stopped = False
        self.attention: Sequence[str] = ()
        """Lines of the attention file."""
        self.site_problem = ""
        """Why the published site is not of now."""
        self.hooks = 0
        """Webhooks taken so far."""
        self.pushed = self.pulled = 0
        """Pages carried over so far."""

    @property
    def condition(self) -> str:
        """The worst of all wikis' conditions, in one word or a few."""
        if self.is_stopped:
            return STOPPED
        if self._daemon.trouble is not None:
            return str(self._daemon.trouble.condition.value)
        found = {one.condition for one in self._daemon.schedule.values()}
        for condition in (
            Condition.FAILING,
            Condition.REFUSED,
            Condition.NEEDS_PERSON,
            Condition.LIMITED,
            Condition.PARTLY,
            Condition.STARTING,
            Condition.SYNCING,
            Condition.OPEN,
        ):
            if condition in found:
                return str(condition.value)
        return str(Condition.IN_SYNC.value)

    @property
    def is_healthy(self) -> bool:
        """Whether pages of any wiki are carried over.

        A page that is held is no trouble, nor is one wiki of many that is lost: a
        start anew would not mend it.
        """
        if self.is_stopped or self._daemon.trouble is not None:
            return False
        active = [one for one in self._daemon.schedule.values() if not one.is_paused]
        return not active or len(self.lost) < len(active)

    @property
    def lost(self) -> Sequence[WikiStatus]:
        """Wikis of which no page is carried over, though they are not paused."""
        return [
            one
            for one in self._daemon.schedule.values()
            if not one.is_paused
            # a halted wiki needs a person, too, but carries nothing
            and (one.failure is not None or one.condition in UNHEALTHY)
        ]

    def health_lines(self) -> Sequence[str]:
        """The condition, and what is wrong with the service or each lost wiki."""
        trouble = self._daemon.trouble
        if trouble is not None:  # what a wiki had before is not why it is lost
            return [self.condition, trouble.problem]
        lost = [
            f"{one.name}: {one.condition.value}"
            + (f": {one.problem}" if one.problem else "")
            for one in self.lost
        ]
        return [self.condition, *lost]

    def waits(self) -> Sequence[Wait]:
        """What the service limits requests of."""
        return self._budget.waits()

    def health(self) -> Mapping[str, object]:
        """Everything but the pages, as JSON has it; times are of the epoch."""
        trouble = self._daemon.trouble
        return {
            "version": __version__,
            "pid": os.getpid(),
            "started_at": self._started_at,
            "at": time.time(),
            "condition": self.condition,
            "is_healthy": self.is_healthy,
            "service": {
                "condition": trouble.condition.value if trouble else "in reach",
                "problem": trouble.problem if trouble else "",
                "hint": trouble.hint if trouble else "",
                "since": self._epoch(trouble.since) if trouble else None,
                "next_try_at": self._epoch(trouble.until) if trouble else None,
            },
            "waits": [
                {
                    "what": one.what,
                    "until": one.ends_at,
                    "next_try_at": self._epoch(one.until),
                }
                for one in self.waits()
            ],
            "attention": [line.removeprefix("- ") for line in self.attention],
            "site_problem": self.site_problem,
            "wikis": [self.wiki(one) for one in self._daemon.schedule.values()],
        }

    def wiki(self, wiki_status: WikiStatus) -> Mapping[str, object]:
        """The state of one wiki."""
        synced = self._wikis[wiki_status.name].synced
        return {
            "folder": wiki_status.name,
            "condition": wiki_status.condition.value,
            "problem": wiki_status.problem,
            "hint": wiki_status.hint,
            "held": len(synced.held),
            "batches": len(synced.batches),
            "cycles": wiki_status.cycles,
            "failures": wiki_status.failures,
            "last_good_at": self._epoch(wiki_status.last_good_at),
            "next_try_at": (
                self._epoch(wiki_status.not_before)
                if wiki_status.not_before > self._daemon.now()
                else None
            ),
        }

    def health_text(self) -> str:
        """``health`` as a file's content."""
        return json.dumps(self.health(), ensure_ascii=False, indent=2) + "\n"

    def status_line(self) -> str:
        """One line for the system's own list of services."""
        count = len(self._daemon.schedule)
        waiting = sum(
            one.condition is Condition.NEEDS_PERSON
            for one in self._daemon.schedule.values()
        )
        line = f"{count} wiki{'s' * (count != 1)}: {self.condition}"
        return f"{line}, {waiting} need a decision" if waiting and count > 1 else line

    def metrics(self) -> str:
        """Figures in the text format of Prometheus, version 0.0.4."""
        up = _Metric("wikisync_up", "gauge", "1 while pages are being synced")
        up.value(int(self.is_healthy))
        hooks = _Metric("wikisync_hooks_total", "counter", "webhooks accepted")
        hooks.value(self.hooks)
        pushed = _Metric("wikisync_pushed_total", "counter", "pages uploaded to wikis")
        pushed.value(self.pushed)
        what = "pages downloaded to folders"
        pulled = _Metric("wikisync_pulled_total", "counter", what)
        pulled.value(self.pulled)
        cycles = _Metric("wikisync_cycles_total", "counter", "sync cycles started")
        held = _Metric("wikisync_held_pages", "gauge", "pages that need a decision")
        what = "Unix time of the last sync"
        good = _Metric("wikisync_last_good_seconds", "gauge", what)
        state = _Metric("wikisync_condition", "gauge", "1 for the current condition")
        for one in self._daemon.schedule.values():
            at = self._epoch(one.last_good_at)
            cycles.value(one.cycles, wiki=one.name)
            held.value(len(self._wikis[one.name].synced.held), wiki=one.name)
            good.value(at or 0, wiki=one.name)
            state.value(1, wiki=one.name, condition=one.condition.value)
        metrics = (up, hooks, pushed, pulled, cycles, held, good, state)
        return "".join(f"{line}\n" for metric in metrics for line in metric.lines)

    def _epoch(self, at: float | None) -> float | None:
        """A time of the daemon's clock as seconds since the epoch."""
        if at is None:
            return None
        return round(time.time() - (self._daemon.now() - at), 3)


def read_health(private: Path) -> Mapping[str, Any]:
    """What a watch that runs wrote of itself; empty where that cannot be read."""
    try:
        found = json.loads(read_private_file(private / HEALTH_FILE, HEALTH_BYTES_MAX))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class _Metric:
    """One metric with its values."""

    def __init__(self, name: str, kind: str, meaning: str) -> None:
        self._name = name
        self.lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]

    def value(self, value: float, **labels: str) -> None:
        """Add a value; what labels hold may be anything."""
        shown = ",".join(f'{name}="{_quoted(text)}"' for name, text in labels.items())
        self.lines.append(
            f"{self._name}{{{shown}}} {value}" if shown else f"{self._name} {value}"
        )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

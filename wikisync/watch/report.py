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
_WORST = (
    Condition.FAILING,
    Condition.REFUSED,
    Condition.NEEDS_PERSON,
    Condition.LIMITED,
    Condition.PARTLY,
    Condition.STARTING,
    Condition.SYNCING,
    Condition.OPEN,
)
"""Conditions of wikis, the worst first; with none of them, all is in sync."""
_METRICS = (
    ("up", "gauge", "1 while pages are being synced", "is_healthy"),
    ("hooks_total", "counter", "webhooks accepted", "hooks"),
    ("pushed_total", "counter", "pages uploaded to wikis", "pushed"),
    ("pulled_total", "counter", "pages downloaded to folders", "pulled"),
)
_WIKI_METRICS = (
    ("cycles_total", "counter", "sync cycles started", "cycles"),
    ("held_pages", "gauge", "pages that need a decision", "held"),
    ("last_good_seconds", "gauge", "Unix time of the last sync", "last_good_at"),
    ("condition", "gauge", "1 for the current condition", "condition"),
)
"""Name, kind, meaning, and where ``health`` has it."""


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
            return self._daemon.trouble.condition.value
        found = {one.condition for one in self._daemon.schedule.values()}
        return next(filter(found.__contains__, _WORST), Condition.IN_SYNC).value

    @property
    def is_healthy(self) -> bool:
        """Whether pages of any wiki are carried over.

        A page that is held is no trouble, nor is one wiki of many that is lost: a
        start anew would not mend it.
        """
        if self.is_stopped or self._daemon.trouble is not None:
            return False
        active = [one for one in self._daemon.schedule.values() if not one.is_paused]
        return not active or not all(map(_is_lost, active))

    def health_lines(self) -> Sequence[str]:
        """The condition, and what is wrong with the service or each lost wiki."""
        trouble = self._daemon.trouble
        if trouble is not None:  # what a wiki had before is not why it is lost
            return [self.condition, trouble.problem]
        lost = filter(_is_lost, self._daemon.schedule.values())
        return [
            self.condition,
            *(
                ": ".join(filter(None, (o.name, o.condition.value, o.problem)))
                for o in lost
            ),
        ]

    def waits(self) -> Sequence[Wait]:
        """What the service limits requests of."""
        return self._budget.waits()

    def health(self) -> Mapping[str, Any]:
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
            "hooks": self.hooks,
            "pushed": self.pushed,
            "pulled": self.pulled,
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
        health = self.health()
        lines: list[str] = []
        for name, kind, meaning, key in _METRICS:
            lines += _head(name, kind, meaning)
            lines.append(f"wikisync_{name} {int(health[key])}")
        for name, kind, meaning, key in _WIKI_METRICS:
            lines += _head(name, kind, meaning)
            for wiki in health["wikis"]:
                labels, value = f'wiki="{_quoted(wiki["folder"])}"', wiki[key] or 0
                if isinstance(value, str):
                    labels, value = f'{labels},{key}="{value}"', 1
                lines.append(f"wikisync_{name}{{{labels}}} {value}")
        return "\n".join([*lines, ""])

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


def _is_lost(wiki_status: WikiStatus) -> bool:
    """Whether no page of a wiki is carried over, though it is not paused."""
    # a halted wiki needs a person, too, but carries nothing
    is_failing = wiki_status.failure is not None or wiki_status.condition in UNHEALTHY
    return is_failing and not wiki_status.is_paused


def _head(name: str, kind: str, meaning: str) -> Sequence[str]:
    return f"# HELP wikisync_{name} {meaning}", f"# TYPE wikisync_{name} {kind}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

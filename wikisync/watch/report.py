"""The state of a watch for programs: health file, ``/healthz`` and ``/metrics``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from wikisync import __version__
from wikisync.api.budget import Budget, Wait, shown_time
from wikisync.errors import SyncError, WikisyncError
from wikisync.layout import HEALTH_FILE
from wikisync.private import read_private_file
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.attention import SERVICE, refused_sentence
from wikisync.workspace.failures import (
    LASTING_S,
    OF_SERVICE,
    REFUSED_RETRY_S,
    Condition,
    is_transient,
)
from wikisync.workspace.runner import Runner, WikiRun
from wikisync.workspace.syncing import Synced

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


_LONG = f"for more than {LASTING_S / 3600:.0f} hours"
_LIMIT_STEP = (
    "requests wait, and one is tried at least every"
    f" {REFUSED_RETRY_S / 60:.0f} minutes; use this token in fewer programs, or ask"
    f" the administrator of the service"
)
_HINT = "run: wikisync doctor"


class WatchReport:
    """What can be said of a watch that runs."""

    def __init__(
        self, runner: Runner, wikis: Sequence[WatchedWiki], budget: Budget
    ) -> None:
        self._runner = runner
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
        if self._runner.outage is not None:
            return self._runner.outage.condition.value
        found = {one.condition for one in self._runner.wikis.values()}
        return next(filter(found.__contains__, _WORST), Condition.IN_SYNC).value

    @property
    def is_healthy(self) -> bool:
        """Whether pages of any wiki are carried over.

        A page that is held is no outage, nor is one wiki of many that is lost: a
        start anew would not mend it.
        """
        if self.is_stopped or self._runner.outage is not None:
            return False
        active = [one for one in self._runner.wikis.values() if not one.is_paused]
        return not active or not all(map(_is_lost, active))

    def health_lines(self) -> Sequence[str]:
        """The condition, and what is wrong with the service or each lost wiki."""
        outage = self._runner.outage
        if outage is not None:  # what a wiki had before is not why it is lost
            return [self.condition, outage.error.message]
        lost = filter(_is_lost, self._runner.wikis.values())
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
        outage = self._runner.outage
        return {
            "version": __version__,
            "pid": os.getpid(),
            "started_at": self._started_at,
            "at": time.time(),
            "condition": self.condition,
            "is_healthy": self.is_healthy,
            "service": {
                "condition": outage.condition.value if outage else "in reach",
                "problem": outage.error.message if outage else "",
                "hint": (outage.error.hint or "") if outage else "",
                "since": self._epoch(outage.since) if outage else None,
                "next_try_at": self._epoch(outage.until) if outage else None,
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
            "wikis": [self.wiki(one) for one in self._runner.wikis.values()],
        }

    def wiki(self, run: WikiRun) -> Mapping[str, object]:
        """The state of one wiki."""
        synced = self._wikis[run.name].synced
        return {
            "folder": run.name,
            "condition": run.condition.value,
            "problem": run.problem,
            "hint": run.hint,
            "held": len(synced.held),
            "batches": len(synced.batches),
            "cycles": run.cycles,
            "failures": run.failures,
            "last_good_at": self._epoch(run.last_good_at),
            "next_try_at": (
                self._epoch(run.not_before)
                if run.not_before > self._runner.clock()
                else None
            ),
        }

    def health_text(self) -> str:
        """``health`` as a file's content."""
        return json.dumps(self.health(), ensure_ascii=False, indent=2) + "\n"

    def status_line(self) -> str:
        """One line for the system's own list of services."""
        count = len(self._runner.wikis)
        waiting = sum(
            one.condition is Condition.NEEDS_PERSON
            for one in self._runner.wikis.values()
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
        """A time of the runner's clock as seconds since the epoch."""
        if at is None:
            return None
        return round(time.time() - (self._runner.clock() - at), 3)


def service_sentence(runner: Runner, waits: Sequence[Wait] = ()) -> str:
    """What is wrong with the service; empty where that is nobody's business yet."""
    outage = runner.outage
    long = [wait for wait in waits if wait.asked_s > REFUSED_RETRY_S]
    if long and (outage is None or outage.condition is Condition.LIMITED):
        return f"{SERVICE}: {'; '.join(map(_limit_words, long))}; {_LIMIT_STEP}"
    if outage is None:
        return ""
    if outage.condition is Condition.REFUSED:
        return refused_sentence(outage.error.hint)
    if runner.clock() - outage.since < LASTING_S:
        return ""
    # in words that are the same after each try, so that a person is called once
    is_limited = outage.condition is Condition.LIMITED
    what = "it limits requests" if is_limited else "unreachable"
    return f"{SERVICE}: {what} {_LONG}; saves wait; {_HINT}"


def _limit_words(wait: Wait) -> str:
    return f"it accepts no {wait.what} until {shown_time(wait.ends_at)}"


def seen(runner: Runner, wikis: Sequence[WatchedWiki]) -> list[Synced]:
    """Each wiki with what keeps it from going on, where a person is needed for it."""
    found = []
    for wiki in wikis:
        run = runner.wikis[wiki.name]
        paused, failure = "" if run.is_paused else None, _failure(runner, run)
        found.append(replace(wiki.synced, paused=paused, failure=failure))
    return found


def _failure(runner: Runner, run: WikiRun) -> WikisyncError | None:
    error = run.failure
    if error is None:
        return None
    if isinstance(error, OF_SERVICE) and runner.outage is not None:
        return None  # it is reported for the service
    if not is_transient(error):
        return error
    if runner.clock() - run.failing_since < LASTING_S:
        return None
    return SyncError(f"{error.message}, {_LONG}", hint=_HINT)


def read_health(private: Path) -> Mapping[str, Any]:
    """What a watch that runs wrote of itself; empty where that cannot be read."""
    try:
        found = json.loads(read_private_file(private / HEALTH_FILE, HEALTH_BYTES_MAX))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_lost(run: WikiRun) -> bool:
    """Whether no page of a wiki is carried over, though it is not paused."""
    # a halted wiki needs a person, too, but carries nothing
    is_failing = run.failure is not None or run.condition in UNHEALTHY
    return is_failing and not run.is_paused


def _head(name: str, kind: str, meaning: str) -> Sequence[str]:
    return f"# HELP wikisync_{name} {meaning}", f"# TYPE wikisync_{name} {kind}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""The state of a watch: health, metrics, and what needs a person."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from wikisync.api.budget import Budget, Wait, shown_time
from wikisync.core.layout import HEALTH_FILE
from wikisync.core.messages import Progress
from wikisync.core.system.private import read_private_file
from wikisync.core.version import __version__
from wikisync.errors import FolderError, SyncError
from wikisync.folder.workspace import WATCH, holder_of
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.attention import SERVICE, refused_sentence
from wikisync.workspace.failures import (
    LASTING_S,
    OF_SERVICE,
    REFUSED_RETRY_S,
    Condition,
    is_transient,
)
from wikisync.workspace.opening import Synced
from wikisync.workspace.runner import Runner

SAY_S = 10.0
"""How often a long step says how far it is."""
STOPPED = "stopped"
HEALTH_BYTES_MAX = 16 * 1024 * 1024
UNHEALTHY = frozenset(
    one.value for one in (Condition.OFFLINE, Condition.REFUSED, Condition.FAILING)
)
_PAUSED = Condition.PAUSED.value
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


class LoggedProgress(Progress):
    """Writes into the log how far a long step of a wiki's cycle is."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self._name, self._say = name, say

    def start(self, label: str, total: int | None) -> None:
        """Begin a step."""
        self._step, self._total, self._done = label, total, 0
        self._said_at = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """Count, and say the count if the last line is ``SAY_S`` old."""
        self._done += steps
        if time.monotonic() > self._said_at + SAY_S:
            self._said_at = time.monotonic()
            self._say(f"{self._name}: {self._step}: {self._done} of {self._total}")


class WatchReport:
    """What can be said of a watch that runs, as one value; all others print it."""

    def __init__(
        self, runner: Runner, wikis: Sequence[WatchedWiki], budget: Budget
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._wikis = {wiki.name: wiki for wiki in wikis}
        self._started_at = time.time()
        self.is_stopped = False
        self.attention: Sequence[str] = ()
        self.renamed: Sequence[str] = ()
        """What is said of files that a person renamed, and of the links to them."""
        self.site_problem = ""
        self.hooks = 0
        self.pushed = self.pulled = 0
        """Pages carried over so far."""

    def health(self) -> Mapping[str, Any]:
        """Everything but the pages, as JSON has it; times are of the epoch."""
        runner, outage = self._runner, self._runner.outage
        now, epoch = runner.clock(), time.time()

        def of_epoch(at: float | None) -> float | None:
            return None if at is None else round(epoch + at - now, 3)

        wikis = [
            {
                "folder": run.name,
                "condition": runner.condition_of(run).value,
                "problem": run.problem,
                "hint": run.hint,
                "held": len(synced.last.held),
                "batches": len(synced.last.batches),
                "cycles": run.cycles,
                "failures": run.failures,
                "last_good_at": of_epoch(run.last_good_at),
                "next_try_at": of_epoch(
                    run.not_before if run.not_before > now else None
                ),
            }
            for run in runner.wikis.values()
            for synced in (self._wikis[run.name].synced,)
        ]
        found = {run.condition for run in runner.wikis.values()}
        worst = next(filter(found.__contains__, _WORST), Condition.IN_SYNC)
        condition = outage.condition if outage else worst
        lost = [_is_lost(one) for one in wikis if one["condition"] != _PAUSED]
        return {
            "version": __version__,
            "pid": os.getpid(),
            "started_at": self._started_at,
            "at": epoch,
            # the worst of all wikis
            "condition": STOPPED if self.is_stopped else condition.value,
            # a page that is held is no trouble, nor is one wiki of many that is lost:
            # a start anew would not mend it
            "is_healthy": not (self.is_stopped or outage or (lost and all(lost))),
            "service": {
                "condition": outage.condition.value if outage else "in reach",
                "problem": outage.error.message if outage else "",
                "hint": (outage.error.hint or "") if outage else "",
                "since": of_epoch(outage.since) if outage else None,
                "next_try_at": of_epoch(outage.until) if outage else None,
            },
            "waits": [
                {
                    "what": one.what,
                    "until": one.ends_at,
                    "next_try_at": of_epoch(one.until),
                }
                for one in self._budget.waits()
            ],
            "attention": [line.removeprefix("- ") for line in self.attention],
            "renamed": list(self.renamed),
            "site_problem": self.site_problem,
            "hooks": self.hooks,
            "pushed": self.pushed,
            "pulled": self.pulled,
            "wikis": wikis,
        }


def _is_lost(wiki: Mapping[str, object]) -> bool:
    """Whether no page of a wiki is carried over that is not paused."""
    # a halted wiki needs a person, too, but carries nothing
    return bool(wiki["failures"]) or wiki["condition"] in UNHEALTHY


def health_lines(health: Mapping[str, Any]) -> Sequence[str]:
    """The condition, and what is wrong with the service or each lost wiki."""
    if health["service"]["problem"]:  # what a wiki had before is not why it is lost
        return [health["condition"], health["service"]["problem"]]
    lost = [one for one in health["wikis"] if _is_lost(one)]
    words = [
        (one["folder"], one["condition"], one["problem"])
        for one in lost
        if one["condition"] != _PAUSED
    ]
    return [health["condition"], *(": ".join(filter(None, one)) for one in words)]


def status_line(health: Mapping[str, Any]) -> str:
    """One line for the system's own list of services."""
    conditions = [wiki["condition"] for wiki in health["wikis"]]
    waiting, count = conditions.count(Condition.NEEDS_PERSON.value), len(conditions)
    line = f"{count} wiki{'s' * (count != 1)}: {health['condition']}"
    return f"{line}, {waiting} need a decision" if waiting and count > 1 else line


def metrics(health: Mapping[str, Any]) -> str:
    """Figures in the text format of Prometheus, version 0.0.4."""
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


def service_sentence(runner: Runner, waits: Sequence[Wait] = ()) -> str:
    """What is wrong with the service; empty where that is nobody's business yet."""
    outage = runner.outage
    long = [wait for wait in waits if wait.asked_s > REFUSED_RETRY_S]
    if long and (outage is None or outage.condition is Condition.LIMITED):
        limits = [
            f"it accepts no {one.what} until {shown_time(one.ends_at)}" for one in long
        ]
        return f"{SERVICE}: {'; '.join(limits)}; {_LIMIT_STEP}"
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


def seen(runner: Runner, wikis: Sequence[WatchedWiki]) -> list[Synced]:
    """Each wiki with what keeps it from going on, where a person is needed for it."""
    found = []
    for wiki in wikis:
        run = runner.wikis[wiki.name]
        error, paused = run.failure, "" if run.is_paused else None
        if isinstance(error, OF_SERVICE) and runner.outage is not None:
            error = None  # it is reported for the service
        if error is not None and is_transient(error):
            lasts = runner.clock() - run.failing_since >= LASTING_S
            message = f"{error.message}, {_LONG}"
            error = SyncError(message, hint=_HINT) if lasts else None
        found.append(replace(wiki.synced, paused=paused, failure=error))
    return found


def read_health(private: Path) -> Mapping[str, Any]:
    """What a watch that runs wrote of itself; empty where that cannot be read."""
    try:
        found = json.loads(read_private_file(private / HEALTH_FILE, HEALTH_BYTES_MAX))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def health_of_watch(private: Path) -> Mapping[str, Any]:
    """The health of the watch that runs; empty where none does."""
    try:
        holder = holder_of(private) or ""
    except FolderError:
        return {}
    found = read_health(private) if holder.startswith(WATCH) else {}
    return {} if found.get("condition") == STOPPED else found


def _head(name: str, kind: str, meaning: str) -> Sequence[str]:
    return f"# HELP wikisync_{name} {meaning}", f"# TYPE wikisync_{name} {kind}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

"""Hints that something below some folders changed: by events, else by walking.

A hint says where to scan, never what happened: events come in no order, and a full
queue loses them.  They come from the backend of watchfiles, which its manual describes:
the ``watch`` of the package begins only once somebody waits.  Where the system has no
watch left, of which watchfiles says nothing, the folders are walked now and then, with
a notice, and events are tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import Struct
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from wikisync.core.model import Problem
from wikisync.core.system.file_status import FileStatus, status_of
from wikisync.core.system.libc import check_watches_left
from wikisync.errors import FolderError
from wikisync.folder.ignore import is_ignored_file, is_ignored_folder
from wikisync.folder.naming import attachment_path, is_hidden
from wikisync.folder.workspace import FolderIdentity, current_folder

DEBOUNCE_MS = 50
"""Changes of one burst are reported together after at most this time."""
STEP_MS = 10
"""Between two reads of the queue of events; each read costs the processor."""
IDLE_STEP_MS = 80
"""The same after a while without a change, at a quarter of the cost; a save is then
reported after at most 160 ms.
"""
IDLE_AFTER_S = 30.0
ROOTS_INTERVAL_S = 1.0
"""How often the roots themselves are checked ..."""
IDLE_ROOTS_INTERVAL_S = 3.0
"""... and after a while without a change."""
SCAN_INTERVAL_S = 2.0
"""Between two walks through the folders, where there are no events."""
SCAN_SHARE_MAX = 0.02
"""Part of the time that walks may take; large folders are walked through less often."""
RETRY_INTERVAL_S = 60.0
"""How long folders are walked through before events are tried again."""
PATHS_MAX = 5_000
"""More changed paths than this are reported as everything."""

NO_EVENTS = "watch-limit"
"""Code of the notice that folders are walked through."""

log = logging.getLogger(__name__)


class FolderHint(Struct, frozen=True):
    """Where something may have changed."""

    paths: frozenset[str]
    """Absolute; files, or folders as a whole."""
    is_everything: bool = False
    """Anything may have changed, whatever ``paths`` says."""


EVERYTHING = FolderHint(frozenset(), is_everything=True)


class EventSource(Protocol):
    """What ``watchfiles`` gives for some folders."""

    def watch(
        self,
        debounce_ms: int,
        step_ms: int,
        timeout_ms: int,
        stop_event: threading.Event,
        /,
    ) -> set[tuple[int, str]] | str:
        """Changes, or a word for why there are none."""

    def close(self) -> None:
        """Stop watching."""


OpenEvents = Callable[[Sequence[str]], EventSource]
IsWanted = Callable[[str], bool]
Notice = Callable[[Problem], None]


def is_watched(path: str) -> bool:
    """Whether a path relative to a wiki's folder is any of wikisync's business."""
    if is_hidden(path):
        return attachment_path(path) is not None
    return not is_ignored_file(path.rpartition("/")[2])


def open_events(roots: Sequence[str]) -> EventSource:
    """Watch folders with everything below them; raises where not all can be watched."""
    source = RustNotify(
        list(roots),
        debug=False,
        force_polling=False,
        poll_delay_ms=0,
        recursive=True,
        ignore_permission_denied=True,
    )
    try:
        check_watches_left(roots[0])
    except OSError:
        source.close()
        raise
    return source


def log_notice(problem: Problem) -> None:
    """Log that folders are walked through."""
    log.warning("%s (%s)", problem, problem.hint)


async def watch_folders(
    roots: Sequence[Path],
    *,
    is_wanted: IsWanted = is_watched,
    notice: Notice = log_notice,
    rests: bool = True,
    events: OpenEvents = open_events,
) -> AsyncGenerator[FolderHint, None]:
    """Hints without end, the first of them as soon as changes are noticed.

    Roots need not exist yet; ``rests`` is False where a person waits for each change.
    The hint is ``EVERYTHING`` at first, after a root vanished or came back, and
    whenever changes may have been missed.
    """
    stop = threading.Event()
    idle_step_ms = IDLE_STEP_MS if rests else STEP_MS
    how = _How(is_wanted, events, idle_step_ms, stop)
    watched = _Watched(roots, how)
    noticed: Problem | None = None
    thread = ThreadPoolExecutor(1, "wikisync-watch")
    loop = asyncio.get_running_loop()
    try:
        while True:
            watch = await loop.run_in_executor(thread, watched.open)
            if watch.problem is not None and watch.problem != noticed:
                notice(watch.problem)
            noticed = watch.problem
            until = time.monotonic() + RETRY_INTERVAL_S
            yield EVERYTHING
            while watch.problem is None or time.monotonic() < until:
                found = await loop.run_in_executor(thread, watch.wait)
                if found is None:
                    break
                if found:
                    is_too_much = len(found) > PATHS_MAX
                    yield EVERYTHING if is_too_much else FolderHint(frozenset(found))
            await loop.run_in_executor(thread, watched.close)
    finally:
        stop.set()
        # at most one step of the watch that has to stop
        thread.shutdown(wait=True)
        watched.close()


# What runs in the thread ----------------------------------------------------------


class _How(NamedTuple):
    """How folders are watched."""

    is_wanted: IsWanted
    events: OpenEvents
    idle_step_ms: int
    stop: threading.Event


class _Watched:
    """The folders, and how they are watched just now."""

    def __init__(self, roots: Sequence[Path], how: _How) -> None:
        self._roots = tuple(os.path.abspath(root) for root in roots)  # noqa: PTH100 - strings
        self._how = how
        self._watch: _Events | _Walks | None = None
        """As they are watched until one of the roots is another one."""

    def open(self) -> _Events | _Walks:
        """Watch them by events where that is possible, else by walks."""
        held, problem = _Roots(self._roots), None
        if held.present:
            try:
                events = self._how.events(held.present)
            except FileNotFoundError:
                pass  # gone since it was listed; the next walk reports it
            except (OSError, WatchfilesRustInternalError) as exc:
                reason = str(getattr(exc, "strerror", None) or exc).rstrip(".")
                problem = Problem(
                    NO_EVENTS,
                    "the watch on the folders",
                    f"{reason}; they are scanned instead, small ones every 2 seconds"
                    " and large ones less often",
                    "raise the limit: sysctl fs.inotify.max_user_watches=524288",
                )
            else:
                self._watch = _Events(held, self._how, events)
                return self._watch
        self._watch = _Walks(held, self._how, problem)
        return self._watch

    def close(self) -> None:
        """Watch nothing any more."""
        if self._watch is not None:
            self._watch.close()
        self._watch = None


class _Roots:
    """The roots that exist, and which folders they are; no descriptor is held open."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._places: dict[str, FolderIdentity] = {}
        for root in roots:
            with contextlib.suppress(FolderError):
                self._places[root] = current_folder(Path(root))
        self.present = tuple(self._places)

    def are_same(self) -> bool:
        """Whether each root still is the folder that it was, or still absent."""
        for root in self._roots:
            before = self._places.get(root)
            now: FolderIdentity | None = None
            with contextlib.suppress(FolderError):
                now = current_folder(Path(root), before)
            is_same = before and now and now.is_same_folder(before)
            if now is not before and not is_same:
                return False
        return True

    def relative(self, path: str) -> str | None:
        """A path below its root; empty for a root itself, None for any other."""
        for root in self._roots:
            if path == root:
                return ""
            if path.startswith(f"{root}/"):
                return path[len(root) + 1 :]
        return None


class _Events:
    """Folders of which the system reports changes."""

    problem: Problem | None = None

    def __init__(self, roots: _Roots, how: _How, source: EventSource) -> None:
        self._roots = roots
        self._how = how
        self._source = source
        self._last_change = time.monotonic()

    def wait(self) -> set[str] | None:
        """Changed paths, none after a while; None when it is of no use any more."""
        step_ms, check_s = STEP_MS, ROOTS_INTERVAL_S
        if time.monotonic() - self._last_change > IDLE_AFTER_S:
            step_ms, check_s = self._how.idle_step_ms, IDLE_ROOTS_INTERVAL_S
        try:
            raw = self._source.watch(
                DEBOUNCE_MS, step_ms, int(check_s * 1000), self._how.stop
            )
        except (OSError, WatchfilesRustInternalError) as exc:
            # a folder that was made cannot be watched; opening anew reports why
            log.debug("events were lost: %s", exc)
            self._how.stop.wait(ROOTS_INTERVAL_S)
            return None
        found: set[str] = set()
        for _, path in raw if isinstance(raw, set) else ():
            inside = self._roots.relative(path)
            if inside == "":
                return None
            if inside is not None and self._how.is_wanted(inside):
                found.add(path)
        if not found:
            return found if self._roots.are_same() else None
        self._last_change = time.monotonic()
        if any(map(os.path.isdir, found)):
            # folders that were made may have got no watches
            try:
                check_watches_left(self._roots.present[0])
            except OSError:
                return None
        return found

    def close(self) -> None:
        self._source.close()


class _Walks:
    """Folders that are walked through, or that are waited for."""

    def __init__(self, roots: _Roots, how: _How, problem: Problem | None) -> None:
        self.problem = problem
        self._roots = roots
        self._how = how
        self._known, self._next = self._walk()

    def wait(self) -> set[str] | None:
        """As that of ``_Events``."""
        self._how.stop.wait(min(ROOTS_INTERVAL_S, SCAN_INTERVAL_S))
        if self._how.stop.is_set():
            return set()
        if not self._roots.are_same():
            return None
        if time.monotonic() < self._next:
            return set()
        before = self._known
        self._known, self._next = self._walk()
        return {path for path, _ in before.items() ^ self._known.items()}

    def close(self) -> None:
        """Nothing is held."""

    def _walk(self) -> tuple[Mapping[str, FileStatus], float]:
        started = time.monotonic()
        found: dict[str, FileStatus] = {}
        for root in self._roots.present:
            for path in _files(root, self._how.is_wanted, self._how.stop):
                with contextlib.suppress(OSError):
                    found[path] = status_of(os.lstat(path))
        now = time.monotonic()
        pause = max(SCAN_INTERVAL_S, (now - started) / SCAN_SHARE_MAX)
        return found, now + pause


def _files(root: str, is_wanted: IsWanted, stop: threading.Event) -> Iterator[str]:
    waiting = [root]
    while waiting and not stop.is_set():
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not is_ignored_folder(entry.name):
                            waiting.append(entry.path)
                    elif is_wanted(entry.path[len(root) + 1 :]):
                        yield entry.path
        except OSError:
            continue

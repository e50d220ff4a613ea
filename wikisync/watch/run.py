"""One watch of a workspace under one configuration: the runner and all around it.

No notification delays a cycle: a change is noted, and one task of its own shows it.
The published site is built beside the cycles, with a rest as long as the last build
took: constant edits cost half of one core.  What goes wrong leaves the last good site.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from wikisync import errors
from wikisync.api.budget import shown_time
from wikisync.api.client import Client
from wikisync.core.layout import ASK_FILE, HEALTH_FILE
from wikisync.core.messages import Messages
from wikisync.core.model import Problem, Slug, some_of
from wikisync.core.system.file_status import status_at
from wikisync.core.system.private import write_private_file
from wikisync.core.system.processes import PIPE, end_session, start_program_async
from wikisync.core.system.running import give_back_memory
from wikisync.folder.ignore import CONFLICT_MARK, locked_name
from wikisync.folder.naming import parse_path
from wikisync.folder.safe_open import folder_errors
from wikisync.folder.watch import is_watched, watch_folders
from wikisync.site.preview.writing import WikiDesk
from wikisync.site.publish import publish
from wikisync.sync.decide.plan import MoveRemote
from wikisync.watch import report
from wikisync.watch.systemd import Notifier
from wikisync.watch.triggers import Triggers
from wikisync.watch.wiki import WatchedWiki, lists_of
from wikisync.workspace import attention, folders, runner
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.failures import Condition, guarded
from wikisync.workspace.opening import OpenWorkspace, other_folder
from wikisync.workspace.sent_pages import NAMED_MAX, old_links
from wikisync.workspace.sentences import with_hint

log = logging.getLogger(__name__)

NOTIFY_QUIET_S = 0.05
SHOW_AGAIN_S = 300.0
"""Without a change, what is so is shown again: an outage may have lasted for hours."""
NOTIFY_WAIT_S = 60.0
"""A wait longer than this is reported with its end."""
ASK_SCAN_S = 1.0
"""How often ``ASK_FILE`` is checked: who touches it asks for a scan of every wiki, and
so does who writes into the state, such as ``wikisync approve``."""


class Watch:
    """A watch that runs."""

    def __init__(
        self,
        messages: Messages,
        opened: OpenWorkspace,
        client: Client,
        notifier: Notifier,
        *,
        uploads_new: bool = False,
        publishes: bool = False,
    ) -> None:
        """Make it; ``publishes`` keeps the site up to date, too.

        ``uploads_new`` asks a first sync for pages that are only here.
        """
        self._messages = messages
        self.opened = opened
        workspace = opened.workspace
        wikis = [
            WatchedWiki(opened, section, client, uploads_new=uploads_new)
            for section in workspace.config.synced_wikis
        ]
        self._wikis = {wiki.name: wiki for wiki in wikis}
        for wiki in wikis:
            wiki.progress = report.LoggedProgress(wiki.name, self._say)
        self._notifier = notifier
        self._budget = client.budget
        self._changed = asyncio.Event()
        sync = workspace.config.sync
        self._root, self._private = workspace.root, workspace.private
        self.runner = runner.Runner(
            wikis,
            client,
            on_status=self._on_status,
            on_outage=self._on_outage,
            after_cycle=self._after_cycle,
        )
        self._triggers = Triggers(
            self.runner, wikis, lists_of(client, wikis), hint_max_s=sync.poll_interval_s
        )
        self.report = report.WatchReport(self.runner, wikis, client.budget)
        self._site = (
            PublishedSite(workspace, self._on_site_problem) if publishes else None
        )
        self._caller = Caller(
            sync.attention_command,
            self._root,
            shown=attention.attention_text(self._attention()),
        )
        self._renames: dict[tuple[str, Slug, Slug], str] = {}
        """Files that a person renamed, and what is said of the links to them."""
        self._waiting: dict[str, Sequence[str]] = {}
        """What needed a person when a wiki's condition was told last."""
        self._relinked: set[str] = set()
        """Wikis whose links may be others than those that were counted."""
        self._notes: set[str] = set()
        self._unshown: dict[str, str] = {}
        """What could not be shown the last time, and why."""

    async def run(self) -> None:
        """Work until cancelled; the health file says then that it has ended."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.runner.run())
                group.create_task(self._triggers.run())
                group.create_task(self._watch_folders())
                group.create_task(self._show_changes())
                group.create_task(self._follow_requests())
                group.create_task(give_back_memory())
                if self._notifier.watchdog_s is not None:
                    group.create_task(self._live(self._notifier.watchdog_s))
                if self._site is not None:
                    self._site.change()
                    group.create_task(self._site.run())
                self._messages.note(f"watching {self._root}; stop it with Ctrl-C")
                self._notifier.ready()
        finally:
            self.report.is_stopped = True
            with suppress(errors.FolderError):
                self._write_health(self.report.health())

    # -- what the runner reports -------------------------------------------------

    async def _after_cycle(
        self, work: runner.WikiWork, outcome: runner.CycleOutcome
    ) -> None:
        wiki = self._wikis[work.name]
        result = wiki.synced.last
        if wiki.synced.has_other_folder:
            warning = other_folder(self.opened.workspace.folder_of(wiki.section))
            log.warning("%s", warning)
            self._messages.warn(warning)
        for note in (*wiki.synced.notes, *result.notes):
            sentence = attention.problem_sentence(wiki.section, note)
            # those of a cycle are about what it met for the first time
            if note in result.notes or sentence not in self._notes:
                self._notes.add(sentence)
                log.warning("%s", sentence)
                self._messages.note(sentence)
        self.report.pushed += result.pushed
        self.report.pulled += result.pulled
        if not outcome.is_quiet:
            words = ", ".join(
                f"{len(names)} {kind} ({some_of(names)})"
                for kind, names in result.names.items()
                if names
            )
            self._say(f"{wiki.name}: {words}")
            self._relinked.add(wiki.name)
            if self._site is not None:
                self._site.change()
        self._renames |= {
            (wiki.name, one.slug, one.target): ""
            for one in result.plan.actions
            if isinstance(one, MoveRemote) and len(self._renames) < NAMED_MAX
        }
        is_anew = self.opened.is_adopting or self.opened.is_shared
        if is_anew and all(one.synced.results for one in self._wikis.values()):
            self.opened.note_adopted()
        self._changed.set()

    def _on_status(self, run: runner.WikiRun) -> None:
        self._changed.set()
        problem, before = run.problem, self._waiting.pop(run.name, ())
        if run.condition is Condition.NEEDS_PERSON:
            waiting = tuple(attention.sentences(self._wikis[run.name].synced))
            self._waiting[run.name] = waiting
            if not problem and waiting:
                problem = next((one for one in waiting if one not in before), "")
                if not problem:
                    return  # a page that was refused is held by now, which is no news
        text = f": {problem}" if problem else ""
        line = with_hint(f"{run.name}: {run.condition.value}{text}", run.hint)
        self._say(line + self._next_try(run.not_before))

    def _say(self, line: str) -> None:
        log.info("%s", line)
        self._messages.note(line)

    def _on_outage(self, outage: runner.Outage | None) -> None:
        if outage is None:
            self._messages.note("the service is back")
        else:
            error = outage.error
            log.error("%s", error.message)
            line = with_hint(f"{outage.condition.value}: {error.message}", error.hint)
            again = self._next_try(outage.until)
            self._messages.note(f"{line}; saves wait and are uploaded later{again}")
        self._changed.set()

    def _next_try(self, at: float) -> str:
        wait_s = at - self.runner.clock()
        if wait_s < NOTIFY_WAIT_S:
            return ""
        return f"; next try at {shown_time(time.time() + wait_s)}"

    def _on_site_problem(self, problem: str) -> None:
        self.report.site_problem = problem
        if problem:
            log.warning("the site is out of date: %s", problem)
            self._messages.warn(f"the last good site is kept: {problem}")
        else:
            log.info("the site is up to date again")
        self._changed.set()

    def _on_notice(self, problem: Problem) -> None:
        log.warning("%s", problem)
        self._messages.problems([problem])

    async def _show_changes(self) -> None:
        while True:
            # or it may have lasted so long that it is reported
            with suppress(TimeoutError):
                async with asyncio.timeout(SHOW_AGAIN_S):
                    await self._changed.wait()
            await asyncio.sleep(NOTIFY_QUIET_S)
            self._changed.clear()
            try:
                await guarded("what is shown", self._show())
            except errors.WikisyncError as error:
                log.warning("%s", error.message)

    async def _show(self) -> None:
        await self._count_links()
        for sentence in set(self._renames.values()).difference(self.report.renamed):
            self._messages.note(sentence)
        self.report.renamed = tuple(self._renames.values())
        lines = await asyncio.to_thread(self._attention)
        self.report.attention = lines
        health, write = self.report.health(), asyncio.to_thread
        self._notifier.status(report.status_line(health))
        await self._show_one("the health file", write(self._write_health, health))
        file = write(attention.write_attention, self._root, lines)
        await self._show_one("the attention file", file)
        # last, since a command may take its time
        await self._caller.call(attention.attention_text(lines))

    async def _count_links(self) -> None:
        """Say how many links lead to old names, where that may have changed."""
        changed, self._relinked = self._relinked, set()
        for key in [one for one in self._renames if one[0] in changed]:
            section = self._wikis[key[0]].section
            desk = WikiDesk(self.opened.folder_of(section), self._private)
            note = await asyncio.to_thread(old_links, desk, section, *key[1:])
            if note:
                self._renames[key] = attention.problem_sentence(section, note)
            else:
                del self._renames[key]

    async def _show_one(self, what: str, write: Awaitable[None]) -> None:
        """Show one thing; that it fails is reported once, until it fails otherwise."""
        why = ""
        try:
            await guarded(what, write)
        except errors.WikisyncError as error:
            why = attention.failure_sentence(what, error)
        if why and self._unshown.get(what) != why:
            log.warning("%s", why)
            self._messages.warn(why)
        self._unshown[what] = why

    def _attention(self) -> Sequence[str]:
        """What needs a person by now; of what was not scanned yet, what did."""
        before: Sequence[str] = ()
        with suppress(errors.FolderError):
            before = attention.read_attention(self._root)
        return attention.attention_lines(
            [wiki.section for wiki in self._wikis.values()],
            report.seen(self.runner, tuple(self._wikis.values())),
            before,
            service=report.service_sentence(self.runner, self._budget.waits()),
        )

    def _write_health(self, health: Mapping[str, Any]) -> None:
        path = self._private / HEALTH_FILE
        text = json.dumps(health, ensure_ascii=False, indent=2) + "\n"
        with folder_errors("write", path):
            write_private_file(path, text.encode())

    async def _live(self, interval_s: float) -> None:
        while True:
            self._notifier.alive()
            await asyncio.sleep(interval_s)

    # -- requests ----------------------------------------------------------------

    def note_hook(self, path: str, slug: Slug) -> bool:
        """Request a scan of this project's wiki and page; whether it is one of ours."""
        for wiki in self._wikis.values():
            if wiki.section.kind == "project" and path in wiki.paths:
                self.runner.wikis[wiki.name].note_hook(self.runner.clock())
                self.runner.request_cycle(wiki.name, runner.ScanScope.WIKI, [slug])
                return True
        return False

    async def _follow_requests(self) -> None:
        """See that another command asks, or wrote what a person decided."""
        path = self._private / ASK_FILE
        before = status_at(path), self.opened.state.seen_writes()
        while True:
            await asyncio.sleep(ASK_SCAN_S)
            try:
                now = status_at(path), self.opened.state.seen_writes()
                if now == before:
                    continue
                for wiki in self._wikis.values():
                    # a person knows better: what was refused is sent again, too
                    self.opened.known(wiki.section).forget_when_refused()
            except errors.StateError:
                continue  # the cycles meet it, too, and say so
            before = now
            self._budget.forget()
            self.runner.retry()

    async def _watch_folders(self) -> None:
        """Ask for a cycle of the wiki below whose folder something happened."""
        workspace = self.opened.workspace
        roots = {
            str(workspace.folder_of(wiki.section).resolve()): wiki
            for wiki in self._wikis.values()
        }
        places = [Path(root) for root in roots]
        watched = watch_folders(places, is_wanted=_is_wanted, notice=self._on_notice)
        async with aclosing(watched) as hints:
            async for hint in hints:
                for root, wiki in roots.items():
                    below = root + os.sep
                    inside = [path for path in hint.paths if path.startswith(below)]
                    names = [path.removeprefix(below) for path in inside]
                    locks = set(filter(_is_lock, names))
                    if not all(map(os.path.lexists, (below + one for one in locks))):
                        # pages that waited for an editor can be carried over
                        self.runner.request_cycle(wiki.name, runner.ScanScope.FOLDER)
                    names = [name for name in names if name not in locks]
                    run = self.runner.wikis[wiki.name]
                    if hint.is_everything and isinstance(
                        run.failure, errors.FolderError | errors.Halted
                    ):
                        # it may wait for the folder, which may be back
                        run.not_before = 0.0
                    if hint.is_everything or names or root in hint.paths:
                        # a picture, or anything where no names are given
                        is_file = any(parse_path(name) is None for name in names)
                        if self._site is not None and (is_file or not names):
                            self._site.change()
                        known = None if hint.is_everything else names or None
                        self.runner.request_cycle(
                            wiki.name, runner.ScanScope.FOLDER, known
                        )


def _is_wanted(path: str) -> bool:
    # a conflict file is ignored as a page, but its saving settles one
    return is_watched(path) or f"{CONFLICT_MARK}." in path or _is_lock(path)


def _is_lock(path: str) -> bool:
    """Whether it says that a page's file is open in an editor."""
    folder, slash, name = path.rpartition("/")
    locked = locked_name(name)
    if locked is None:
        return False
    page = folder + slash + locked
    return is_watched(page) and parse_path(page) is not None


CALL_S_MAX = 30.0


class Caller:
    """Runs what notifies a person that they are needed."""

    def __init__(self, command: Sequence[str], root: Path, shown: str = "") -> None:
        self._command = tuple(command)
        self._root = root
        self._shown = shown

    async def call(self, text: str) -> None:
        """Notify of what waits now; the same text twice in a row is one notification.

        The command gets the text on stdin, and its file as ``WIKISYNC_ATTENTION``.
        """
        if text == self._shown:
            return
        self._shown = text
        words, file = self._command, self._root / attention.ATTENTION_FILE
        if not (text and words):
            return
        try:
            process = await start_program_async(
                words,
                folder=self._root,
                environment={**os.environ, "WIKISYNC_ATTENTION": os.fspath(file)},
                stdin=PIPE,
            )
        except OSError as exc:
            log.warning("%s cannot be started: %s", words[0], exc.strerror)
            return
        try:
            async with asyncio.timeout(CALL_S_MAX):
                await process.communicate(text.encode("utf-8", "replace"))
        except TimeoutError:
            log.warning("%s took longer than %.0f s", words[0], CALL_S_MAX)
        finally:
            if process.returncode is None:
                await end_session(process)
        if process.returncode:
            log.warning("%s ended with exit code %d", words[0], process.returncode)


QUIET_S = 1.0
RETRY_S = 300.0
"""A build that failed is tried again after this time, also when nothing changes."""

TO_REPLACE = "to remove it from the site run: wikisync build --publish --replace"


class PublishedSite:
    """One site that follows its folders."""

    def __init__(
        self,
        workspace: ConfiguredWorkspace,
        on_problem: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._workspace = workspace
        self._on_problem = on_problem
        self._changed = asyncio.Event()
        self._problem = ""
        self._clock = clock
        self._sleep = sleep
        self._rests_until = 0.0
        """By the clock: when the next build may begin."""

    def change(self) -> None:
        """Pages changed, or may have."""
        self._changed.set()

    async def run(self) -> None:
        """Build whenever something changed, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S if self._problem else None):
                    await self._changed.wait()
            await self._sleep(max(QUIET_S, self._rests_until - self._clock()))
            self._changed.clear()
            started = self._clock()
            try:
                problem = await guarded("the site", self._build())
            except errors.UsageError as error:
                # a wiki would leave the site: the option is of another command
                problem = f"{error.message}; {TO_REPLACE}"
            except errors.WikisyncError as error:
                problem = error.message
            ended = self._clock()
            self._rests_until = ended + (ended - started)
            if problem != self._problem:
                self._problem = problem
                self._on_problem(problem)

    async def _build(self) -> str:
        root = self._workspace.root
        shown = folders.ShownFolder(root, root)
        config = self._workspace.config
        wikis, options = shown.site()
        bucket, after = folders.after_publishing(shown, config)
        published = await publish(
            wikis,
            root / config.site.output,
            options,
            cache=folders.cache_folder(shown, "site", os.environ),
            keep=config.site.keep,
            bucket=bucket,
            after=after,
        )
        if published.is_switched:
            log.info("the site %s is up to date", config.site.output)
        return str(published.problems[0]) if published.problems else ""

"""``make war``: real processes, real HTTP, and nothing of what they share is trusted.

    python -m tests.war.prove_war [--minutes 10] [--seed N] [--schedules N] [--jobs 2]

Persons edit the folders of one or two workspaces, the website and a clone of its
repository, at random.  Meanwhile ``wikisync sync`` and ``wikisync watch`` run through
a proxy that drops, cuts, delays and falsifies answers, and they and the service are
killed.  Each text has a marker of its own.  At rest every marker is accounted for,
and each page that differs must be named by ``wikisync status``.

This harness knows only commands, files and the REST API: it imports nothing of
wikisync and nothing of the other tests, whose assumptions it would share.  A seed
repeats the acts; how they meet the processes is left to the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.war.account import Account, Copy, accounted
from tests.war.persons import Desk, Git, Ledger, Person, Web, git, markers
from tests.war.proxy import Proxy

WIKISYNC = str(Path(sys.executable).with_name("wikisync"))
GROUP = "docs"
WIKI = "handbook"
PROJECT = f"{GROUP}/{WIKI}"
PAGES = 8
COMMAND_TIMEOUT_S = 300.0
"""A command that takes longer hangs."""
START_TIMEOUT_S = 120.0
LIFE_S = (0.2, 2.5)
"""From the start of a process to its SIGKILL; starting takes some of it."""
FAULT_RATES = (0.0, 0.05, 0.1, 0.2)
SEEDS = 1_000_000
HEADER = (
    "| seed | copies | acts | markers | kills | faults | apart | kept | history"
    " | removed | overwritten | named | LOST | DIFFERENT | odd | s |\n"
    "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass(frozen=True, slots=True)
class Length:
    """How long a schedule is."""

    rounds: int
    rest_rounds: int
    """Most calm rounds until everything must be at rest."""
    waits: bool
    """Whether calm syncs wait until missing pages are surely deleted; else pages
    that wait for that are named at the end."""


FULL = Length(rounds=14, rest_rounds=12, waits=True)
SHORT = Length(rounds=2, rest_rounds=2, waits=False)


@dataclass(slots=True)
class Outcome:
    """One schedule."""

    seed: int
    root: Path
    copies: int = 0
    acts: int = 0
    markers: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    account: Account = field(default_factory=Account)
    odd: list[str] = field(default_factory=list)
    """Commands that hung or ended with a traceback, and what never came to rest."""
    seconds: float = 0.0

    @property
    def is_bad(self) -> bool:
        return bool(self.account.lost or self.account.different or self.odd)

    def numbers(self) -> list[int]:
        account = self.account
        parts = (account.apart, account.kept, account.history, account.removed)
        return [
            *(self.copies, self.acts, self.markers, self.kills.total(), self.faults),
            *(len(part) for part in parts),
            *(len(account.overwritten), account.named, len(account.lost)),
            *(len(account.different), len(self.odd), int(self.seconds)),
        ]


def row(name: object, numbers: list[int]) -> str:
    return f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"


class Machine:
    """The service, the proxy and the commands of one schedule."""

    def __init__(
        self,
        root: Path,
        seed: int,
        outcome: Outcome,
        wikis: tuple[str, ...] = (WIKI,),
        pages: int = PAGES,
        serve: tuple[str, ...] = (),
    ) -> None:
        """Start a service.

        Args:
            root: folder for everything.
            seed: of the proxy's faults.
            outcome: takes the kills.
            wikis: names of the projects of the group, and of their folders.
            pages: how many each begins with.
            serve: more options of ``wikisync serve``.
        """
        self.root = root
        self.outcome = outcome
        self._options = serve
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy")
            and not name.startswith(("WIKISYNC_", "XDG_"))
        } | {"HOME": str(root / "home")}
        (root / "home").mkdir()
        self.token, self.port = "", 0
        self._service = self._serve("--load", str(self._content(wikis, pages)))
        self._environment["WIKISYNC_TOKEN"] = self.token
        self.proxy = Proxy(self.port, seed)

    def _content(self, wikis: tuple[str, ...], pages: int) -> Path:
        folder = self.root / "load"
        folder.mkdir()
        lines = [f'[[group]]\npath = "{GROUP}"\n']
        for wiki in wikis:
            (folder / wiki).mkdir()
            lines.append(f'[[project]]\npath = "{GROUP}/{wiki}"\nwiki = "{wiki}"\n')
            for number in range(pages):
                name = "home" if not number else f"page-p{number}"
                text = f"# {name}\n\nSome words.\n\nSome more words.\n"
                (folder / wiki / f"{name}.md").write_text(text)
        (folder / "service.toml").write_text("".join(lines))
        return folder

    def _serve(self, *more: str) -> subprocess.Popen[bytes]:
        said = self.root / "serve.txt"
        said.write_text("")
        with said.open("ab") as out, (self.root / "serve-log.txt").open("ab") as log:
            process = subprocess.Popen(
                (
                    *(WIKISYNC, "serve", "--data", str(self.root / "service")),
                    *("--port", str(self.port), *self._options, *more),
                ),
                env=self._environment,
                stdout=out,
                stderr=log,
            )
        ends = time.monotonic() + START_TIMEOUT_S
        while not (
            url := re.search(r"^url: .*:(\d+)$", said.read_text(), re.MULTILINE)
        ):
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"no service: {said.read_text()}")
            time.sleep(0.05)
        self.port = int(url[1])
        if token := re.search(r"^token: (\S+)$", said.read_text(), re.MULTILINE):
            self.token = token[1]
        return process

    def kill_service(self, away_s: float = 0.0) -> None:
        """End the service as a power cut would, and start it again."""
        self._service.kill()
        self._service.wait()
        self.outcome.kills["service"] += 1
        time.sleep(away_s)
        self._service = self._serve()

    @property
    def service_pid(self) -> int:
        """The service's process."""
        return self._service.pid

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a wikisync command; its output is logged and its results are kept."""
        log = self.root / "commands.txt"
        with log.open("a") as out:
            out.write(f"$ {time.time():.2f} wikisync {' '.join(words)}\n")
            out.flush()
            return subprocess.Popen(
                (WIKISYNC, *words),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if "--json" in words else out,
                stderr=out,
            )

    def end(self, process: subprocess.Popen[bytes]) -> bytes:
        """What the process printed, at its end; one that hangs is odd."""
        try:
            printed, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.outcome.odd.append(f"hangs: {process.args!r}")
            printed, _ = self.kill(process)
        return printed or b""

    def kill(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        process.kill()
        return process.communicate()

    def run(self, *words: str) -> Any:
        """What a command printed as JSON; None where it failed."""
        try:
            return json.loads(self.end(self.start(*words)))
        except ValueError:
            return None

    def close(self) -> None:
        self._service.kill()
        self._service.wait()
        self.proxy.close()
        said = (self.root / "commands.txt").read_text(errors="replace")
        said += (self.root / "serve-log.txt").read_text(errors="replace")
        if "Traceback (most recent call last)" in said:
            self.outcome.odd.append("a traceback in commands.txt or serve-log.txt")


class Schedule:
    """One war: persons, commands, kills and faults; then rest."""

    def __init__(self, root: Path, seed: int, length: Length) -> None:
        self.random = random.Random(seed)
        self.outcome = Outcome(seed, root)
        self.length = length
        self.ledger = Ledger()
        self.machine = Machine(root, seed, self.outcome)
        port, token = self.machine.port, self.machine.token
        count = 1 if not length.waits else self.random.randint(1, 2)
        self.copies = [root / f"copy{number}" / "handbook" for number in range(count)]
        self.outcome.copies = count
        self.url = f"http://oauth2:{token}@127.0.0.1:{port}/{PROJECT}.wiki.git"
        project = (
            f"http://127.0.0.1:{port}/api/v4/projects/{PROJECT.replace('/', '%2F')}"
        )
        self.desks = [
            Desk(copy, seed + 1 + number, self.ledger)
            for number, copy in enumerate(self.copies)
        ]
        self.persons: list[Person] = [
            *self.desks * 3,
            *[Web(f"{project}/wikis", token, seed + 10, self.ledger)] * 2 * count,
        ]
        if shutil.which("git"):
            self.persons.append(Git(root / "git", self.url, seed + 11, self.ledger))
        self.ledger.names |= {f"page-p{number}.md" for number in range(1, PAGES)}
        self.watches: dict[Path, subprocess.Popen[bytes]] = {}

    def run(self) -> Outcome:
        begun = time.monotonic()
        try:
            self._clone()
            self.machine.proxy.rate = self.random.choice(FAULT_RATES)
            watched = [
                copy
                for copy in self.copies
                if self.length.waits and self.random.random() < 0.35
            ]
            for _ in range(self.length.rounds):
                self._round(watched)
            self._stop_watches()
            self.machine.proxy.rate = 0.0
            self._rest()
            self._account()
        finally:
            for watch in self.watches.values():
                self.machine.kill(watch)
            self.machine.close()
        self.outcome.acts = sum(person.done for person in set(self.persons))
        self.outcome.markers = len(self.ledger.written)
        self.outcome.faults = self.machine.proxy.faults.total()
        self.outcome.seconds = time.monotonic() - begun
        (self.outcome.root / "ledger.json").write_text(
            json.dumps(self.ledger.written, indent=0)
        )
        return self.outcome

    def _clone(self) -> None:
        for copy in self.copies:
            words = ("clone", self.machine.proxy.url, str(copy.parent))
            self.machine.run(*words, "--project", PROJECT, "--json")
            if not copy.is_dir():
                raise RuntimeError("the clone failed; see commands.txt")

    def _round(self, watched: list[Path]) -> None:
        """Persons act; then commands run, while persons act and something dies."""
        for _ in range(self.random.randint(1, 4)):
            self._act()
        for copy in watched:
            if copy not in self.watches:
                self.watches[copy] = self._watch(copy)
        idle = [copy for copy in self.copies if copy not in self.watches]
        chosen = [copy for copy in idle if self.random.random() < 0.8]
        if self.random.random() < 0.05:
            chosen.append(self.random.choice(self.copies))  # a second one at once
        running = [
            (
                self.machine.start("sync", "-C", str(copy.parent), "--adopt", "push"),
                self.random.random() < 0.4,
            )
            for copy in chosen
        ]
        for _ in range(self.random.randint(0, 3)):
            self._act()
        if self.watches or any(dies for _, dies in running):
            time.sleep(self.random.uniform(*LIFE_S))
        if self.random.random() < 0.12:
            self.machine.kill_service()
        for process, dies in running:
            if dies and process.poll() is None:
                self.machine.kill(process)
                self.outcome.kills["sync"] += 1
            else:
                self.machine.end(process)
        for copy in list(self.watches):
            if self.random.random() < 0.25:
                self.machine.kill(self.watches.pop(copy))
                self.outcome.kills["watch"] += 1
        if self.length.waits and self.random.random() < 0.2:
            self._decide(self.random.choice(self.copies))

    def _watch(self, copy: Path) -> subprocess.Popen[bytes]:
        """Start a watch and wait until it holds its folder.

        A sync that starts at the same moment may hold the folder first; then the watch
        ends, and that is no fault.
        """
        words = ("watch", "-C", str(copy.parent), "--adopt", "push")
        watch = self.machine.start(*words)
        ends = time.monotonic() + START_TIMEOUT_S
        while watch.poll() is None and not self._status(copy).get("held_by"):
            if time.monotonic() > ends:
                self.outcome.odd.append("watch does not hold its folder")
                break
        return watch

    def _act(self) -> None:
        self.random.choice(self.persons).act()

    def _stop_watches(self) -> None:
        while self.watches:
            _, watch = self.watches.popitem()
            if watch.poll() is not None:
                self.outcome.odd.append(f"watch ended by itself: {watch.returncode}")
            watch.send_signal(signal.SIGTERM)
            self.machine.end(watch)

    def _status(self, copy: Path) -> dict[str, Any]:
        said = self.machine.run("status", "-C", str(copy.parent), "--json")
        return said if isinstance(said, dict) else {}

    def _decide(self, copy: Path) -> bool:
        """Whether there was something that waits for a person, who has decided it."""
        there = ("-C", str(copy.parent))
        decided = False
        for wiki in self._status(copy).get("wikis", ()):
            for batch in wiki["batches"]:
                word = self.random.choice(("approve", "approve", "refuse"))
                number = f"handbook:{batch['id']}"
                self.machine.end(self.machine.start(word, *there, number))
                decided = True
            for page in (x["page"] for x in wiki["differences"] if x["side"] == "held"):
                self._settle(copy / f"{page}.conflict.md", f"handbook/{page}", there)
                decided = True
        return decided

    def _settle(self, file: Path, page: str, there: tuple[str, ...]) -> None:
        """Settle a conflict by a command, or by hand in its file."""
        choice = self.random.choice(("--both", "--both", "--mine", "--wiki", ""))
        if choice or not file.exists():
            words = ("resolve", *there, page, choice or "--both")
            self.machine.end(self.machine.start(*words))
            return
        lines = file.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("%%%% wikisync")]
        file.write_text("".join(kept))

    def _rest(self) -> None:
        """Sync without faults until nothing changes any more."""
        before: object = None
        flags = ("--wait",) if self.length.waits else ()
        for _ in range(self.length.rest_rounds):
            running = [
                self.machine.start(
                    "sync", "-C", str(copy.parent), "--adopt", "push", *flags
                )
                for copy in self.copies
            ]
            for process in running:
                self.machine.end(process)
            now = (git("ls-remote", self.url), [_files(copy) for copy in self.copies])
            if now == before:
                return
            before = now
            if self.length.waits and [c for c in self.copies if self._decide(c)]:
                before = None
        if self.length.waits:
            self.outcome.odd.append("never at rest")

    def _account(self) -> None:
        wiki = self.outcome.root / "wiki"
        git("clone", "-q", self.url, str(wiki))
        copies = [Copy(copy, self._status(copy)) for copy in self.copies]
        for copy in copies:
            if not copy.status.get("wikis") or copy.status["wikis"][0]["error"]:
                self.outcome.odd.append(f"no status at rest: {copy.folder.parent.name}")
        self.outcome.account = accounted(self.ledger, wiki, copies, self._earlier)
        (self.outcome.root / "status.json").write_text(
            json.dumps([copy.status for copy in copies], indent=1)
        )

    def _earlier(self, missing: set[str]) -> set[str]:
        """Of these markers those in the texts that ``restore`` lists."""
        found: set[str] = set()
        for copy in self.copies:
            for name in sorted(self.ledger.names):
                if found >= missing:
                    break
                words = ("restore", "-C", str(copy.parent), f"handbook/{name}")
                listed = self.machine.run(*words, "--list", "--json")
                found |= markers(json.dumps(listed)) & missing
        return found


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def fight(root: Path, seed: int, length: Length) -> Outcome:
    """Run one schedule; what breaks in the harness itself is odd, too."""
    root.mkdir(parents=True)
    try:
        return Schedule(root, seed, length).run()
    except (OSError, RuntimeError, subprocess.SubprocessError):
        return Outcome(seed, root, odd=[traceback.format_exc()])


def report(outcome: Outcome) -> None:
    """Print a schedule's row, and what is wrong with it; remove a good one's folder."""
    print(row(outcome.seed, outcome.numbers()), flush=True)
    if not outcome.is_bad:
        shutil.rmtree(outcome.root)
        return
    for kind in ("lost", "different"):
        for what in sorted(getattr(outcome.account, kind)):
            print(f"  {kind}: {what}")
    for what in outcome.odd:
        print(f"  odd: {what}")
    print(f"  kept in {outcome.root}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="of the first schedule")
    parser.add_argument("--schedules", type=int, default=SEEDS, help="at most")
    parser.add_argument("--jobs", type=int, default=2, help="schedules at once")
    options = parser.parse_args()
    seed = random.randrange(SEEDS) if options.seed is None else options.seed
    root = Path(tempfile.mkdtemp(prefix="war-"))
    ends = time.monotonic() + options.minutes * 60
    print(f"seed {seed}; schedules that go wrong stay in {root}\n{HEADER}", flush=True)
    done: list[Outcome] = []
    begun = 0
    running: set[Future[Outcome]] = set()
    with ThreadPoolExecutor(options.jobs) as pool:
        while running or not begun:
            while (
                len(running) < options.jobs
                and begun < options.schedules
                and (time.monotonic() < ends or not begun)
            ):
                name = root / str(seed + begun)
                running.add(pool.submit(fight, name, seed + begun, FULL))
                begun += 1
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                done.append(future.result())
                report(done[-1])
    total = [sum(column) for column in zip(*(o.numbers() for o in done), strict=True)]
    print(row(f"{len(done)} schedules", total))
    kills = sum((outcome.kills for outcome in done), Counter[str]())
    print("killed: " + ", ".join(f"{count} {name}" for name, count in kills.items()))
    return int(any(outcome.is_bad for outcome in done))


if __name__ == "__main__":
    sys.exit(main())

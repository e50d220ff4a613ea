"""``make soak``: hours of ``wikisync watch --site``, and what grows meanwhile.

    python -m tests.war.prove_soak [--minutes 60] [--seed N] [--pause 2]

Persons edit three wikis in folders and on the website, one act every two seconds:
edits, new pages, renames, deletions, moved subtrees, attachments.  The service tells
the watch by webhook, and is away five times.  Every 30 s one line says what the watch,
the service and their files take.  At the end both sides must hold the same pages, each
text must be accounted for, and nothing may have grown with the edits but what is
bounded elsewhere (``LIMITS``).

Like the war this harness knows only commands, files and the REST API.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread

from tests.war.account import Account, Copy, accounted
from tests.war.persons import Acts, Desk, Ledger, Person, Web, git, markers
from tests.war.prove_war import GROUP, Machine, Outcome

WIKIS = ("handbook", "manual", "notes")
PAGES = 330
PAUSE_S = 2.0
SAMPLE_S = 30.0
OUTAGES = 5
AWAY_S = 60.0
"""In an hour; in a shorter run the service is away for a shorter time."""
REST_S = 300.0
"""From the last act until both sides must be equal."""
JUDGED_SAMPLES = 20
"""With fewer a slope says nothing."""
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What one moment takes; megabytes but for counts."""

    edits: int
    watch: float
    children: float
    descriptors: float
    threads: float
    service: float
    state: float
    cache: float
    trash: float
    temporary: float
    loose: float
    git: float


LIMITS = {
    "watch": 12.0,
    "children": 6.0,
    "descriptors": 4.0,
    "threads": 3.0,
    "service": 12.0,
    "state": 5.0,
    "cache": 30.0,
    "temporary": 1.0,
}
"""The most by which each may grow in 1,000 edits, in the later half of a run."""
LOOSE_MAX = 6_500
"""Loose objects of one repository; above 5,000 they are packed."""


class Soaker(Desk):
    """A person with an editor who adds pictures, too."""

    acts: Acts = (*Desk.acts, ("attach", 3))

    def attach(self) -> bool:
        """Put a picture beside a page, and a link to it into the page."""
        path = self._page()
        self.ledger.count += 1
        name = f"picture-k{self.ledger.count}.png"
        picture = self.random.randbytes(2000)
        path.with_name(name).write_bytes(b"\x89PNG\r\n\x1a\n" + picture)
        text = path.read_text()
        return self._save(
            path, text, f"{text.rstrip()}\n\n![a]({name}) {self.marker()}\n"
        )


@dataclass(slots=True)
class Soak:
    """One run."""

    root: Path
    seed: int
    minutes: float
    pause_s: float
    pages: int = PAGES
    samples: list[Sample] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    def run(self) -> Outcome:
        """Soak, rest, and account for everything."""
        self.root.mkdir(parents=True)
        outcome = Outcome(self.seed, self.root, odd=self.odd)
        port = _free_port()
        os.environ["WIKISYNC_HOOK_SECRET"] = "soak"
        hook = ("--hook", f"http://127.0.0.1:{port}/hook")
        machine = Machine(self.root, self.seed, outcome, WIKIS, self.pages, hook)
        workspace = self.root / "copy"
        watch = None
        try:
            self._make_workspace(machine, workspace, port)
            machine.end(machine.start("sync", "-C", str(workspace)))
            ledger = Ledger()
            persons = self._persons(machine, workspace, ledger)
            watch = machine.start(
                "watch", "-C", str(workspace), "--site", "--adopt", "push"
            )
            _wait_at_rest(workspace)
            self._act(machine, workspace, watch, persons)
            if not _wait_at_rest(workspace):
                self.odd.append(f"not equal {REST_S:.0f} s after the last act")
            self._sample(machine, workspace, watch, persons)
            watch.send_signal(signal.SIGTERM)
            machine.end(watch)
            outcome.acts = sum(person.done for person in persons)
            outcome.markers = len(ledger.written)
            for wiki in WIKIS:
                self._account(machine, workspace, wiki, ledger, outcome.account)
            if (left := self.samples[-1].temporary) > 0:
                self.odd.append(f"{left:.0f} temporary files at the end")
        finally:
            if watch is not None and watch.poll() is None:
                machine.kill(watch)
            machine.close()
        return outcome

    def _make_workspace(self, machine: Machine, workspace: Path, port: int) -> None:
        workspace.mkdir()
        wikis = "".join(f'[[wiki]]\nproject = "{GROUP}/{wiki}"\n' for wiki in WIKIS)
        (workspace / "wikisync.toml").write_text(
            f'[service]\nurl = "http://127.0.0.1:{machine.port}"\n{wikis}'
            f'[sync]\nlisten = "127.0.0.1:{port}"\n'
        )
        # the commands have a home of their own, and so agreements of their own
        machine.end(machine.start("init", "--trust", str(workspace)))

    def _persons(
        self, machine: Machine, workspace: Path, ledger: Ledger
    ) -> list[Person]:
        persons: list[Person] = []
        for number, wiki in enumerate(WIKIS):
            desk = Soaker(workspace / wiki, self.seed + number, ledger)
            wikis = (
                f"http://127.0.0.1:{machine.port}/api/v4/projects/"
                f"{GROUP}%2F{wiki}/wikis"
            )
            web = Web(wikis, machine.token, self.seed + 10 + number, ledger)
            desk.place, web.place = f"{wiki}: desk", f"{wiki}: web"
            persons += [desk, web]
        return persons

    def _act(
        self,
        machine: Machine,
        workspace: Path,
        watch: subprocess.Popen[bytes],
        persons: list[Person],
    ) -> None:
        """Act, sample, and let the service go away now and then."""
        chance = random.Random(self.seed)
        begun = time.monotonic()
        seconds = self.minutes * 60
        outages = [seconds * (at + 1) / (OUTAGES + 2) for at in range(OUTAGES)]
        away_s = min(AWAY_S, seconds / 20)
        acts, sampled = 0, 0
        outage: Thread | None = None
        print(_head(), flush=True)
        while (passed := time.monotonic() - begun) < seconds:
            if watch.poll() is not None:
                self.odd.append(f"watch ended by itself: {watch.returncode}")
                return
            if outages and passed > outages[0]:
                outages.pop(0)
                if outage is not None:
                    outage.join()
                outage = Thread(target=machine.kill_service, args=(away_s,))
                outage.start()
            if passed >= sampled * min(SAMPLE_S, seconds / 6):
                sampled += 1
                self._sample(machine, workspace, watch, persons)
                print(_line(passed, self.samples[-1]), flush=True)
            chance.choice(persons).act()
            acts += 1
            time.sleep(max(0.0, begun + acts * self.pause_s - time.monotonic()))
        if outage is not None:
            outage.join()

    def _sample(
        self,
        machine: Machine,
        workspace: Path,
        watch: subprocess.Popen[bytes],
        persons: list[Person],
    ) -> None:
        private = workspace / ".wikisync"
        repositories = list((self.root / "service" / "wikis").rglob("*.git"))
        self.samples.append(
            Sample(
                edits=sum(person.done for person in persons),
                watch=_memory(watch.pid),
                children=sum(_memory(pid) for pid in _children(watch.pid)),
                descriptors=_count(Path(f"/proc/{watch.pid}/fd")),
                threads=_count(Path(f"/proc/{watch.pid}/task")),
                service=_memory(machine.service_pid),
                state=_size(private, lambda path: path.name.startswith("state.db")),
                cache=_size(private, lambda path: "cache" in path.parts),
                trash=_size(private, lambda path: "trash" in path.parts),
                temporary=_temporary(workspace),
                loose=max(_loose(path) for path in repositories),
                git=sum(_size(path) for path in repositories),
            )
        )

    def _account(
        self,
        machine: Machine,
        workspace: Path,
        wiki: str,
        ledger: Ledger,
        total: Account,
    ) -> None:
        """Account for one wiki's texts and pages."""
        clone = self.root / f"clone-{wiki}"
        address = f"http://oauth2:{machine.token}@127.0.0.1:{machine.port}"
        git("clone", "-q", f"{address}/{GROUP}/{wiki}.wiki.git", str(clone))
        status = machine.run("status", "-C", str(workspace), "--json")
        written = {
            marker: place
            for marker, place in ledger.written.items()
            if place.startswith(f"{wiki}:")
        }
        copies = [Copy(workspace / wiki, status or {})]

        def earlier(missing: set[str]) -> set[str]:
            found: set[str] = set()
            for name in sorted(ledger.names):
                if found >= missing:
                    break
                words = ("restore", "-C", str(workspace), f"{wiki}/{name}")
                listed = machine.run(*words, "--list", "--json")
                found |= markers(json.dumps(listed)) & missing
            return found

        account = accounted(replace(ledger, written=written), clone, copies, earlier)
        total.lost |= account.lost
        total.different += [f"{wiki}/{page}" for page in account.different]
        total.named += account.named
        total.in_sync |= account.in_sync

    def slopes(self) -> dict[str, float]:
        """Growth in 1,000 edits of everything that has a limit, later half only."""
        later = self.samples[len(self.samples) // 2 : -1]
        # in an outage nothing is known of the service
        later = [sample for sample in later if sample.service]
        if len(later) < JUDGED_SAMPLES // 2:
            return {}
        edits = [float(sample.edits) for sample in later]
        return {
            name: 1000 * _slope(edits, [getattr(sample, name) for sample in later])
            for name in LIMITS
        }

    def faults(self, outcome: Outcome) -> list[str]:
        """Everything for which the run is no success."""
        found = [f"lost: {marker}" for marker in sorted(outcome.account.lost)]
        found += [f"different: {page}" for page in outcome.account.different]
        found += self.odd
        found += [
            f"{name} grows by {slope:.1f} in 1,000 edits (limit {LIMITS[name]:g})"
            for name, slope in self.slopes().items()
            if slope > LIMITS[name]
        ]
        loose = max(sample.loose for sample in self.samples)
        if loose > LOOSE_MAX:
            found.append(f"{loose:.0f} loose objects in a repository")
        return found


def _wait_at_rest(workspace: Path) -> bool:
    """Whether the watch comes to say that nothing is left to do but for a person."""
    health = workspace / ".wikisync" / "health.json"
    ends = time.monotonic() + REST_S
    while time.monotonic() < ends:
        time.sleep(1)
        try:
            condition = json.loads(health.read_text())["condition"]
        except (OSError, ValueError):
            continue
        if condition == "in sync" or condition.startswith("needs"):
            return True
    return False


# -- figures -----------------------------------------------------------------------


def _memory(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(found[0]) / 1024 if found else 0.0


def _children(pid: int) -> list[int]:
    """All processes below one."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    own = [int(child) for child in listed]
    return own + [below for child in own for below in _children(child)]


def _count(folder: Path) -> float:
    try:
        return float(len(os.listdir(folder)))  # noqa: PTH208 - processes end meanwhile
    except OSError:
        return 0.0


def _files(folder: Path) -> Iterator[Path]:
    """All below it, without the folders that go away meanwhile."""
    for below, _, names in os.walk(folder):  # it skips them, and `rglob` raises
        yield from (Path(below, name) for name in names)


def _size(folder: Path, counts: Callable[[Path], bool] = lambda _path: True) -> float:
    total = 0
    for path in _files(folder):
        with suppress(FileNotFoundError):
            if counts(path.relative_to(folder)):
                total += path.lstat().st_size
    return total / MB


def _temporary(workspace: Path) -> float:
    """Files of ours on their way to their name."""
    return float(
        sum(
            path.name.startswith(".wikisync-") or path.name.endswith(".tmp")
            for path in _files(workspace)
        )
    )


def _loose(repository: Path) -> float:
    objects = repository / "objects"
    return float(sum(len(path.parent.name) == 2 for path in _files(objects)))


def _slope(xs: list[float], ys: list[float]) -> float:
    """Of the line with the least squares."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    width = sum((x - mean_x) ** 2 for x in xs)
    if not width:
        return 0.0
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / width


COLUMNS = [name for name in Sample.__slots__ if name != "edits"]


def _head() -> str:
    names = " ".join(f"{name:>11}" for name in COLUMNS)
    return f"{'s':>6} {'edits':>6} {names}"


def _line(passed: float, sample: Sample) -> str:
    figures = " ".join(f"{getattr(sample, name):>11.1f}" for name in COLUMNS)
    return f"{passed:>6.0f} {sample.edits:>6} {figures}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=PAUSE_S, help="between acts, s")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(root / "soak", options.seed, options.minutes, options.pause)
    outcome = soak.run()
    print(
        f"{outcome.acts} acts, {outcome.markers} texts, {outcome.kills.total()} kills"
    )
    for name, slope in soak.slopes().items():
        print(f"  {name}: {slope:+.2f} in 1,000 edits (limit {LIMITS[name]:g})")
    faults = soak.faults(outcome)
    for fault in faults:
        print(f"  FAULT {fault}")
    if faults:
        print(f"  kept in {root}")
        return 1
    shutil.rmtree(root)
    print("  sound: nothing lost, both sides equal, nothing grows")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``make prove-real``: the real process killed at random, and nothing is lost.

    python -m tests.sync.prove_real [--kills 200] [--seed 0]

``wikisync watch`` runs on a real folder against the embedded service over loopback
while persons save on both sides, and is killed with SIGKILL after a random time,
again and again.  Then it runs once to its end, and every mark that a person ever
saved must be in the page or in a conflict file.  Half of the rounds kill ``wikisync
sync`` instead, which does more at once and dies in the middle of it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.model import WikiOwner
from wikisync.folder.naming import parse_path
from wikisync.sync.base.state import State

OWNER = WikiOwner("project", "docs/handbook")
WIKISYNC = str(Path(sys.executable).with_name("wikisync"))
MARK = re.compile(r"<\d+>")
PAGES = 12
SAVE_EVERY_S = 0.03
LIFE_S = (0.3, 1.6)
"""From the start of a process to its end; starting takes some of it."""
REST_ROUNDS = 6
TIDY_ROUNDS_MAX = 20
LEFTOVERS_MAX = 20
"""Files that may lie in our own places after any number of kills."""


@dataclass(slots=True)
class Outcome:
    """What became of it."""

    kills: int = 0
    edits: int = 0
    lost: set[str] = field(default_factory=set)
    """Marks that are in no page and in no conflict file."""
    in_history: set[str] = field(default_factory=set)
    """Those of them that another save replaced on the wiki between the read and the
    write of ours, or of a person's; they are in the wiki's history."""
    different: set[str] = field(default_factory=set)
    held: int = 0
    leftovers: int = 0
    """Temporary files in ``.wikisync`` at the end."""
    most_leftovers: int = 0
    seconds: float = 0.0

    @property
    def is_bad(self) -> bool:
        many = self.leftovers > LEFTOVERS_MAX
        return bool(self.lost or self.different or many)

    def __str__(self) -> str:
        return (
            f"| {self.kills} | {self.edits:,} | {len(self.lost)}"
            f" | {len(self.in_history)}"
            f" | {len(self.different)} | {self.held} | {self.most_leftovers}"
            f" | {self.leftovers} | {self.seconds:.0f} |"
        )


HEADER = (
    "| kills | edits | lost | in the window | different | held | most leftovers"
    " | leftovers | s |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


class Persons:
    """Who saves pages here and there, each line with a mark of its own.

    Here a person appends a line to a file in place, there to a page as it is at that
    moment; nobody ever takes a line away.
    """

    def __init__(self, service: EmbeddedService, folder: Path, seed: int) -> None:
        self._service = service
        self._folder = folder
        self._random = random.Random(seed)
        self.marks = 0

    def _line(self) -> str:
        self.marks += 1
        return f"line <{self.marks}>\n"

    async def work(self, stop: asyncio.Event) -> None:
        """Save until told to stop."""
        while not stop.is_set():
            slug = f"page-{self._random.randrange(PAGES)}"
            if self._random.random() < 0.5:
                self.save_here(slug)
            else:
                await self.save_there(slug)
            await asyncio.sleep(SAVE_EVERY_S)

    def save_here(self, slug: str) -> None:
        """Append to the file, as an editor that has just read it."""
        path = self._folder / f"{slug}.md"
        with path.open("a", encoding="utf-8") as file:
            file.write(self._line())

    async def save_there(self, slug: str) -> None:
        """Put a line before the page's text."""
        path = f"{slug}.md"
        held = (await self._service.files(OWNER)).get(path, b"")
        text = self._line().encode() + held
        await self._service.put_files(OWNER, {path: text})


class Process:
    """The command, started and ended as a person or a power cut would."""

    def __init__(self, root: Path, service: EmbeddedService) -> None:
        self._root = root
        self._environment = {**os.environ, "WIKISYNC_TOKEN": service.token}

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        log = (self._root / "output.txt").open("ab")
        with log:
            return await asyncio.create_subprocess_exec(
                *(WIKISYNC, "--quiet", *arguments, "-C", str(self._root)),
                env=self._environment,
                stdout=log,
                stderr=log,
            )

    async def killed(self, *arguments: str, after_s: float) -> bool:
        """Run the command and kill it; False where it had ended before."""
        process = await self.start(*arguments)
        try:
            await asyncio.wait_for(process.wait(), after_s)
        except TimeoutError:
            process.send_signal(signal.SIGKILL)
            await process.wait()
            return True
        return False

    async def run(self, *arguments: str) -> int:
        process = await self.start(*arguments)
        return await process.wait()


async def prove(kills: int, seed: int, place: Path) -> Outcome:
    """So many kills under load, then the calm, then the count."""
    outcome = Outcome()
    started = time.monotonic()
    chance = random.Random(seed)
    async with embedded_service(place / "service") as service:
        pages = {f"page-{number}": f"# {number}\n" for number in range(PAGES)}
        await service.add_project(OWNER.full_path, pages)
        root = place / "workspace"
        process = Process(root, service)
        await _clone(service, root)
        folder = next(path.parent for path in root.glob("*/page-0.md"))
        persons = Persons(service, folder, seed + 1)
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(persons.work(stop))
            while outcome.kills < kills:
                command = ("watch",) if chance.random() < 0.5 else ("sync",)
                life_s = chance.uniform(*LIFE_S)
                outcome.kills += await process.killed(*command, after_s=life_s)
                found = leftovers(root)
                outcome.most_leftovers = max(outcome.most_leftovers, found)
            stop.set()
        for _ in range(REST_ROUNDS):
            await process.run("sync", "--wait")
        # a replaced file waits two seconds for a late save before a sync removes it
        for _ in range(TIDY_ROUNDS_MAX):
            if not leftovers(root):
                break
            await process.run("sync", "--wait")
        outcome.edits = persons.marks
        await judge(outcome, service, root, folder, place / "service")
    outcome.seconds = time.monotonic() - started
    return outcome


async def _clone(service: EmbeddedService, root: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(WIKISYNC, "--quiet", "clone", service.url),
        *("--project", OWNER.full_path, str(root)),
        env={**os.environ, "WIKISYNC_TOKEN": service.token},
    )
    assert await process.wait() == 0


async def judge(
    outcome: Outcome,
    service: EmbeddedService,
    root: Path,
    folder: Path,
    service_data: Path,
) -> None:
    """Where every mark is."""
    here = {
        str(page[0]): path.read_text()
        for path in folder.rglob("*.md")
        if (page := parse_path(path.relative_to(folder).as_posix())) is not None
    }
    there = {
        path.removesuffix(".md"): content.decode()
        for path, content in (await service.files(OWNER)).items()
    }
    conflict_files = [path.read_text() for path in folder.rglob("*.conflict.md")]
    shown = "".join([*here.values(), *there.values(), *conflict_files])
    made = {f"<{number}>" for number in range(1, outcome.edits + 1)}
    missing = made - set(MARK.findall(shown))
    if missing:
        outcome.in_history = missing & set(MARK.findall(_history(service_data)))
    outcome.lost = missing - outcome.in_history
    with State.open(root / ".wikisync" / "state.db") as state:
        held = set(map(str, state.wiki(OWNER).conflict_files()))
    outcome.held = len(held)
    outcome.different = {
        slug
        for slug in here.keys() | there.keys()
        if here.get(slug) != there.get(slug) and slug not in held
    }
    outcome.leftovers = leftovers(root)


def _history(service_data: Path) -> str:
    """Every text that the wiki ever held."""
    texts = []
    for head in service_data.rglob("*.git/HEAD"):
        repository = pygit2.Repository(str(head.parent))
        for object_id in repository:
            found = repository[object_id]
            if isinstance(found, pygit2.Blob):
                texts.append(found.data.decode())
    return "".join(texts)


def leftovers(root: Path) -> int:
    """Files that a writer made for itself and did not take away."""
    places = [root / ".wikisync" / "tmp", root / ".wikisync" / "limbo"]
    return sum(path.is_file() for place in places for path in place.rglob("*"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wikisync-prove-") as name:
        outcome = asyncio.run(prove(arguments.kills, arguments.seed, Path(name)))
    print(f"{HEADER}\n{outcome}")
    if outcome.is_bad:
        print(f"lost: {sorted(outcome.lost)}, differ: {sorted(outcome.different)}")
    return int(outcome.is_bad)


if __name__ == "__main__":
    raise SystemExit(main())

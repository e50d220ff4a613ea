"""How long a site takes, beside other generators: from nothing, unchanged, after edits.

    python benchmarks/site.py [--pages 10000] [--rounds 3] [--without-peers] [FOLDER]
    python benchmarks/site.py --growth [--sizes 1000 3000 10000 30000] [--rounds 3]

FOLDER holds one wiki's pages; without it so many are made up (``corpus.py``).  In each
round every generator is at work once, in turn: wikisync with the extra ``fast`` and
without it, and the peers that ``make bench-peers`` installed.  Each step is a process
of its own, from its start to its exit.  Time is that of the clock, and that of the
processor with all children; memory is the sum of all processes at their peak.  Shown
are the median of the rounds, and the least and the most of the clock.  Each build from
nothing has a new folder, and none is removed before the end: ext4 without a journal
passes over each inode that was freed in the last minutes, for each new file.  Python's
own build counts, too: one with PGO and LTO, as Debian's is, takes a sixth less.

With ``--growth`` wikis of several sizes are built from nothing, once with all pages in
one folder and once in deep ones.  The exponent is the slope of the time of the
processor over the pages, both as logarithms: 1 is a line.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

from corpus import generate
from measured import Run, run_process
from site_peers import Peer, installed

OLD_NS = 1_600_000_000_000_000_000
"""No file is so new that its times could not be believed."""
EXPONENT_MAX = 1.05
PAGES_IN_DEPTH = ("flat", "deep")
NAV = re.compile(r'<nav class="site-nav".*?</nav>', re.DOTALL)
ENGINES = {"wikisync": "auto", "wikisync without fast": "markdown-it"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000]
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        if arguments.growth:
            return measure_growth(place, sorted(arguments.sizes), arguments.rounds)
        wiki = arguments.folder
        if wiki is None:
            wiki = place / "made-up"
            generate(wiki, arguments.pages)
        peers = [] if arguments.without_peers else installed()
        compare(wiki, place, peers, arguments.rounds)
    return 0


class Ours:
    """wikisync at work on a copy of a wiki, and what a person does to it."""

    def __init__(self, wiki: Path, folder: Path, engine: str) -> None:
        self.wiki, self._work, self._engine = folder / "wiki", folder, engine
        shutil.copytree(wiki, self.wiki)
        for path in self.wiki.rglob("*"):
            os.utime(path, ns=(OLD_NS, OLD_NS))
        leaves = [path for path in self.wiki.rglob("*.md") if is_leaf(path)]
        self._leaves = sorted(leaves, key=lambda path: (-len(path.parts), path))
        self._number = 0

    def steps(self) -> Iterator[tuple[str, Run]]:
        """All steps of a round, each after its edit."""
        self._work = Path(tempfile.mkdtemp(dir=self.wiki.parent))
        yield "from nothing", self.step()
        yield "unchanged", self.step()
        edits: dict[str, Callable[[], object]] = {
            "one page": self._add_line,
            "one title": self._set_title,
            "one page moved": lambda: self._leaf().rename(self._new_path()),
            "one page deleted": lambda: self._leaf().unlink(),
            "one page more": lambda: self._new_path().write_text("# A page\n\nText.\n"),
        }
        for name, edit in edits.items():
            edit()
            yield name, self.step()

    def step(self) -> Run:
        """One build in a process of its own."""
        return run(
            [
                *(sys.executable, str(Path(__file__).with_name("site_step.py"))),
                *(str(self.wiki), str(self._work), self._engine),
            ],
            self.wiki.parent,
        )

    @property
    def site(self) -> Path:
        """What it made."""
        return self._work / "site"

    def _leaf(self) -> Path:
        return self._leaves.pop(len(self._leaves) // 2)

    def _new_path(self) -> Path:
        self._number += 1
        return self._leaves[0].with_name(f"a-new-page-{self._number}.md")

    def _add_line(self) -> None:
        with self._leaf().open("a", encoding="utf-8") as file:
            file.write("\nOne more line.\n")

    def _set_title(self) -> None:
        page = self._leaf()
        text = page.read_text(encoding="utf-8")
        page.write_text(f"---\ntitle: Other title\n---\n{text}", encoding="utf-8")


class Theirs:
    """A peer at work on its copy of a wiki."""

    def __init__(self, peer: Peer, wiki: Path, folder: Path) -> None:
        self._peer, self._folder = peer, folder
        peer.prepare(wiki, folder)
        pages = [path for path in (folder / peer.pages).rglob("*.md") if is_leaf(path)]
        self._page = sorted(pages)[len(pages) // 2]

    def steps(self) -> Iterator[tuple[str, Run]]:
        """The steps of a round that every generator knows."""
        if self.site.exists():
            place = tempfile.mkdtemp(dir=self._folder.parent)
            self.site.rename(Path(place, "site"))
        for name in ("from nothing", "unchanged", "one page"):
            if name == "one page":
                with self._page.open("a", encoding="utf-8") as file:
                    file.write("\nOne more line.\n")
            yield name, run(self._peer.command, self._folder)

    @property
    def site(self) -> Path:
        """What it made."""
        return self._folder / self._peer.out


def compare(wiki: Path, place: Path, peers: Sequence[Peer], rounds: int) -> None:
    """Let all work in turn, and print the table."""
    works: dict[str, Ours | Theirs] = {
        name: Ours(wiki, place / name, engine) for name, engine in ENGINES.items()
    }
    works |= {peer.name: Theirs(peer, wiki, place / peer.name) for peer in peers}
    figures: dict[tuple[str, str], list[Run]] = {}
    for number in range(rounds):
        for name, work in works.items():
            for step, one in work.steps():
                figures.setdefault((name, step), []).append(one)
            print(f"round {number + 1}: {name}", file=sys.stderr)
    print(f"{sum(1 for _ in wiki.rglob('*.md'))} pages, median of {rounds}\n")
    head = f"{'s':>8}{'least':>8}{'most':>8}{'CPU s':>8}{'MB':>7}"
    print(f"{'generator':<22}{'step':<18}{head}")
    for (name, step), some in figures.items():
        print(f"{name:<22}{step:<18}{shown(some)}")
    print()
    for name, work in works.items():
        files = [path for path in work.site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"{name}: {len(files)} files, {size / 1e6:.1f} MB")
    ours = works["wikisync"]
    show_pages(ours.site)
    nothing = {name: figures[name, "from nothing"] for name in works}
    walls = {
        name: statistics.median(x.seconds for x in nothing[name]) for name in works
    }
    cpus = {
        name: statistics.median(x.cpu_seconds for x in nothing[name]) for name in works
    }
    if peers:
        for name, peer in product(ENGINES, peers):
            by_clock = walls[name] / walls[peer.name]
            by_processor = cpus[name] / cpus[peer.name]
            print(
                f"{name}: {by_clock:.2f} times {peer.name} from nothing,"
                f" {by_processor:.2f} times its processor time"
            )
    else:
        print("no peers: make bench-peers")


def show_pages(site: Path) -> None:
    """How large pages are, and how many links their trees have."""
    texts = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    sizes = [len(text.encode()) for text in texts]
    links = [found[0].count("<a ") for text in texts if (found := NAV.search(text))]
    print(
        f"median page: {statistics.median(sizes) / 1000:.1f} KB of HTML;"
        f" at most {max(links)} links in a tree"
    )


def shown(some: Sequence[Run]) -> str:
    """The columns of one step."""
    walls = [one.seconds for one in some]
    cpu = statistics.median(one.cpu_seconds for one in some)
    peak = max(one.sum_mb for one in some)
    times = statistics.median(walls), min(walls), max(walls), cpu
    return "".join(f"{one:>8.2f}" for one in times) + f"{peak:>7.0f}"


def measure_growth(place: Path, sizes: Sequence[int], rounds: int) -> int:
    """Build wikis of several sizes from nothing; 1 where time outgrows the pages."""
    exponents = {}
    print(
        f"{'shape':<8}{'pages':>8}{'s':>8}{'least':>8}{'most':>8}{'CPU s':>8}{'MB':>7}"
    )
    for shape in PAGES_IN_DEPTH:
        times = []
        for pages in sizes:
            wiki, folder = place / "made-up", place / "ours"
            generate(wiki, pages, shape=shape)
            ours = Ours(wiki, folder, "auto")
            some = [next(ours.steps())[1] for _ in range(rounds)]
            times.append(statistics.median(one.cpu_seconds for one in some))
            print(f"{shape:<8}{pages:>8}{shown(some)}", flush=True)
            shutil.rmtree(wiki)
            shutil.rmtree(folder)
        exponents[shape] = slope(sizes, times)
    for shape, exponent in exponents.items():
        print(f"{shape}: exponent {exponent:.2f}, the goal is {EXPONENT_MAX}")
    return int(max(exponents.values()) > EXPONENT_MAX)


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The exponent of the power of the size that fits the times best."""
    points = [math.log(size) for size in sizes], [math.log(one) for one in times]
    return statistics.linear_regression(*points).slope


def run(command: Sequence[str], folder: Path) -> Run:
    """Run a program, and look at all its processes meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    return run_process(command, environment, folder=folder)


def is_leaf(path: Path) -> bool:
    return not path.with_suffix("").is_dir() and path.stem not in {"home", "_index"}


if __name__ == "__main__":
    sys.exit(main())

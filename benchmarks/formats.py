"""Pages a second of rdoc, org and asciidoc, beside their own engines.

    python benchmarks/formats.py [CORPUS]

CORPUS is that of ``tools/conformance_formats.py``.  The engines are ruby with rdoc and
org-ruby, each in one process for all pages, and ``asciidoctor``, started for each
page as a build without a worker would; what is not installed is left out.  An engine
and ours take turns, ``ROUNDS`` times, so that both see the same machine, and the best
of each counts; the last column compares the processors' time, which another program
on the machine does not lengthen.  Pages that an engine refuses are counted apart.

Asciidoc's aims are for pages up to ``SHORT_BYTES_MAX``, where starting a process for
each page is most of its cost; the long ones have a row of their own, since there
Asciidoctor's work is compared with itself in another language.  A worker's start is
the time to its first page, the best of ``STARTS``.
"""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.corpus import CORPUS  # noqa: E402
from wikisync.core.model import Slug  # noqa: E402
from wikisync.errors import RenderError  # noqa: E402
from wikisync.markup.asciidoc.document import (  # noqa: E402
    KINDS,
    SERVICE_ATTRIBUTES,
    choose_engine,
    is_installed,
)
from wikisync.markup.asciidoc.engine import Engine  # noqa: E402
from wikisync.markup.context import ParseContext, include_nothing  # noqa: E402
from wikisync.markup.org.document import to_html as org_html  # noqa: E402
from wikisync.markup.rdoc.blocks import to_html as rdoc_html  # noqa: E402

PAGE = ParseContext(Slug("home"))
ORG_BYTES_MAX = 60_000
SHORT_BYTES_MAX = 20_000
SHORT_PAGES = 16
LONG_PAGES = 4
STARTS = 5
MEMORY_PAGES = 500
MEMORY_PAGES_BEFORE = 25
"""Until a worker has what it needs for every page."""
ROUNDS = 3
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
RUBY = {
    "rdoc": "require 'rdoc'; work = ->(s)"
    " { RDoc::Markup::ToHtml.new(RDoc::Options.new).convert(s) }",
    "org": "require 'org-ruby'; work = ->(s)"
    " { Orgmode::Parser.new(s, allow_include_files: false,"
    " skip_syntax_highlight: true).to_html }",
}
RUN = (
    "; require 'json'; pages = JSON.parse(STDIN.read); work.(pages[0]);"
    " now = -> { [Process::CLOCK_MONOTONIC, Process::CLOCK_PROCESS_CPUTIME_ID]"
    ".map { |c| Process.clock_gettime(c) } }; t = now.();"
    " pages.each { |s| begin; work.(s); rescue StandardError; end };"
    " puts now.().zip(t).map { |a, b| a - b }.join(' ')"
)


def main() -> int:
    corpus = Path(sys.argv[1]) if sys.argv[1:] else CORPUS
    if not corpus.is_dir():
        print(f"{corpus} is no folder: nothing to measure with", file=sys.stderr)
        return 0 if not sys.argv[1:] else 2
    heads = f"{'pages':>6}{'pages/s':>9}{'x engine':>10}{'x by cpu':>10}"
    print(f"{'what':<40}{heads}")
    rdoc = texts_of(corpus / "rdoc" / "files", "*.rdoc")
    parser("rdoc", rdoc, lambda text: rdoc_html(text, PAGE))
    org = texts_of(corpus / "org" / "in", "*.org", ORG_BYTES_MAX)
    parser("org", org, lambda text: org_html(text, PAGE))
    asciidoc(corpus / "asciidoc" / "in")
    return 0


@dataclass(slots=True)
class Cost:
    """The least that a run over some pages took, in seconds."""

    wall: float = float("inf")
    cpu: float = float("inf")

    def add(self, wall: float, cpu: float) -> None:
        """Take note of one run."""
        self.wall, self.cpu = min(self.wall, wall), min(self.cpu, cpu)


def texts_of(folder: Path, pattern: str, bytes_max: int = 1 << 30) -> list[str]:
    return [
        path.read_text("utf-8")
        for path in sorted(folder.glob(pattern))
        if path.stat().st_size <= bytes_max
    ]


def row(what: str, pages: int, cost: Cost, engine: Cost | None = None) -> None:
    times = ""
    if engine is not None:
        times = f"{engine.wall / cost.wall:>10.1f}{engine.cpu / cost.cpu:>10.1f}"
    print(f"{what:<40}{pages:>6}{pages / cost.wall:>9.1f}{times}")


def timed(work: Callable[[str], object], texts: list[str]) -> tuple[float, float]:
    """Wall and own processor's time."""
    began, cpu = time.perf_counter(), time.process_time()
    for text in texts:
        work(text)
    return time.perf_counter() - began, time.process_time() - cpu


def parser(name: str, texts: list[str], work: Callable[[str], object]) -> None:
    """One of our own parsers beside the engine of its format."""
    work(texts[0])
    engine, ours = Cost(), Cost()
    is_there = True
    for _ in range(ROUNDS):
        ours.add(*timed(work, texts))
        is_there = is_there and add_ruby(name, texts, engine)
    if is_there:
        row(f"{name}, its engine in one ruby process", len(texts), engine)
        row(f"{name}, ours", len(texts), ours, engine)
    else:
        print(f"{name}: ruby has no such library, nothing to compare with")
        row(f"{name}, ours", len(texts), ours)


def add_ruby(name: str, texts: list[str], cost: Cost) -> bool:
    """Whether ruby has the engine; what it took goes to ``cost``."""
    if shutil.which("ruby") is None:
        return False
    run = subprocess.run(
        ["ruby", "-W0", "-e", RUBY[name] + RUN],
        check=False,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
    )
    if run.returncode:
        return False
    wall, cpu = run.stdout.split()
    cost.add(float(wall), float(cpu))
    return True


def asciidoc(folder: Path) -> None:
    short = texts_of(folder, "*.adoc", SHORT_BYTES_MAX)
    long = [text for text in texts_of(folder, "*.adoc") if text not in short]
    samples = {
        "short pages": short[:: max(len(short) // SHORT_PAGES, 1)],
        "long pages": long[:: max(len(long) // LONG_PAGES, 1)],
    }
    has_command = shutil.which("asciidoctor") is not None
    if not has_command:
        print("asciidoc: no asciidoctor to compare with (apt-get install asciidoctor)")
    for name in KINDS:
        if is_installed(name):
            engine = choose_engine(name)
            try:
                for what, sample in samples.items():
                    measure(engine, what, sample, has_command=has_command)
                start_and_memory(engine, short)
            finally:
                engine.close()


def measure(engine: Engine, what: str, sample: list[str], *, has_command: bool) -> None:
    """A worker beside a process for each page."""
    refused = 0

    def render(text: str) -> None:
        nonlocal refused
        try:
            engine.render(text, SERVICE_ATTRIBUTES, include_nothing)
        except RenderError:
            refused += 1

    timed(render, sample)
    command, ours = Cost(), Cost()
    for _ in range(ROUNDS):
        refused = 0
        before = cpu_seconds(engine)
        wall, _ = timed(render, sample)
        ours.add(wall, cpu_seconds(engine) - before)
        if has_command:
            before = cpu_of_children()
            wall, _ = timed(asciidoctor, sample)
            command.add(wall, cpu_of_children() - before)
    if has_command:
        row(f"asciidoc, a process each, {what}", len(sample), command)
    if refused:
        print(f"asciidoc, {engine.name}: refuses {refused} of {len(sample)} pages")
        return
    beside = command if has_command else None
    row(f"asciidoc, {engine.name}, {what}", len(sample), ours, beside)


def start_and_memory(engine: Engine, texts: list[str]) -> None:
    """What a worker takes to its first page, and how its memory grows."""
    start = Cost()
    for _ in range(STARTS):
        engine.close()
        wall, _ = timed(lambda text: render_or_refuse(engine, text), ["x"])
        start.add(wall, cpu_seconds(engine))
    print(
        f"    its first page after {start.wall:.2f} s, {start.cpu:.2f} s by cpu", end=""
    )
    tiny = [text for text in texts if len(text) < 3000] or texts
    sizes = []
    for number in range(MEMORY_PAGES + MEMORY_PAGES_BEFORE):
        if number == MEMORY_PAGES_BEFORE:
            sizes.append(resident_mb(engine))
        render_or_refuse(engine, tiny[number % len(tiny)])
    sizes.append(resident_mb(engine))
    print(f"; {sizes[0]:.0f} MB, {MEMORY_PAGES} pages later {sizes[1]:.0f} MB")


def render_or_refuse(engine: Engine, text: str) -> None:
    with contextlib.suppress(RenderError):
        engine.render(text, SERVICE_ATTRIBUTES, include_nothing)


def asciidoctor(text: str) -> None:
    command = ["asciidoctor", "-S", "secure", "-e", "-o", "-", "-"]
    subprocess.run(command, check=True, input=text.encode(), capture_output=True)


def cpu_of_children() -> float:
    """What processes that have ended used of the processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds(engine: Engine) -> float:
    """What the engine's process has used of the processors."""
    process = engine._worker._process  # noqa: SLF001 - only its time is looked at
    if process is None:
        return 0.0
    stat = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2]
    user, system = stat.split()[11:13]
    return (int(user) + int(system)) / TICKS_PER_S


def resident_mb(engine: Engine) -> float:
    # A worker that has refused the last page is gone.
    render_or_refuse(engine, "x")
    process = engine._worker._process  # noqa: SLF001 - only its size is looked at
    assert process is not None
    pages = Path(f"/proc/{process.pid}/statm").read_text("utf-8").split()[1]
    return int(pages) * 4096 / 1e6


if __name__ == "__main__":
    sys.exit(main())

"""Pages a second of rdoc, org and asciidoc, beside their own engines.

    python benchmarks/formats.py [CORPUS]

CORPUS is that of ``tools/conformance_formats.py``.  The engines are ruby with rdoc and
org-ruby, each in one process for all pages, and ``asciidoctor``, started for each
page as a build without a worker would; what is not installed is left out.  The runs
of one format follow each other, so that both see the same machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.corpus import CORPUS  # noqa: E402
from wikisync.markup.asciidoc.document import SERVICE_ATTRIBUTES  # noqa: E402
from wikisync.markup.asciidoc.engine import WorkerEngine  # noqa: E402
from wikisync.markup.asciidoc.engines import (  # noqa: E402
    KINDS,
    choose_engine,
    is_installed,
)
from wikisync.markup.context import PageContext, include_nothing  # noqa: E402
from wikisync.markup.org import to_html as org_html  # noqa: E402
from wikisync.markup.rdoc import to_html as rdoc_html  # noqa: E402
from wikisync.model import Slug  # noqa: E402

PAGE = PageContext(Slug("home"))
ORG_BYTES_MAX = 60_000
ASCIIDOC_PAGES = 16
MEMORY_PAGES = 500
RUBY = {
    "rdoc": "require 'rdoc'; work = ->(s)"
    " { RDoc::Markup::ToHtml.new(RDoc::Options.new).convert(s) }",
    "org": "require 'org-ruby'; work = ->(s)"
    " { Orgmode::Parser.new(s, allow_include_files: false,"
    " skip_syntax_highlight: true).to_html }",
}
RUN = (
    "; require 'json'; pages = JSON.parse(STDIN.read); work.(pages[0]);"
    " t = Process.clock_gettime(Process::CLOCK_MONOTONIC);"
    " pages.each { |s| begin; work.(s); rescue StandardError; end };"
    " puts Process.clock_gettime(Process::CLOCK_MONOTONIC) - t"
)


def main() -> int:
    corpus = Path(sys.argv[1]) if sys.argv[1:] else CORPUS
    if not corpus.is_dir():
        print(f"{corpus} is no folder: nothing to measure with", file=sys.stderr)
        return 0 if not sys.argv[1:] else 2
    print(f"{'what':<40}{'pages':>6}{'pages/s':>9}{'x engine':>10}")
    rdoc = texts_of(corpus / "rdoc" / "files", "*.rdoc")
    parser("rdoc", rdoc, lambda text: rdoc_html(text, PAGE))
    org = texts_of(corpus / "org" / "in", "*.org", ORG_BYTES_MAX)
    parser("org", org, lambda text: org_html(text, PAGE))
    asciidoc(texts_of(corpus / "asciidoc" / "in", "*.adoc", 20_000))
    return 0


def texts_of(folder: Path, pattern: str, bytes_max: int = 1 << 30) -> list[str]:
    return [
        path.read_text("utf-8")
        for path in sorted(folder.glob(pattern))
        if path.stat().st_size <= bytes_max
    ]


def row(what: str, pages: int, seconds: float, engine_rate: float = 0) -> None:
    rate = pages / seconds
    times = f"{rate / engine_rate:>10.1f}" if engine_rate else ""
    print(f"{what:<40}{pages:>6}{rate:>9.1f}{times}")


def timed(work: Callable[[str], object], texts: list[str]) -> float:
    started = time.perf_counter()
    for text in texts:
        work(text)
    return time.perf_counter() - started


def parser(name: str, texts: list[str], work: Callable[[str], object]) -> None:
    """One of our own parsers beside the engine of its format."""
    work(texts[0])
    engine = ruby_seconds(name, texts)
    ours = min(timed(work, texts) for _ in range(3))
    if engine is None:
        print(f"{name}: ruby has no such library, nothing to compare with")
        row(f"{name}, ours", len(texts), ours)
        return
    row(f"{name}, its engine in one ruby process", len(texts), engine)
    row(f"{name}, ours", len(texts), ours, len(texts) / engine)


def ruby_seconds(name: str, texts: list[str]) -> float | None:
    if shutil.which("ruby") is None:
        return None
    run = subprocess.run(
        ["ruby", "-W0", "-e", RUBY[name] + RUN],
        check=False,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
    )
    return None if run.returncode else float(run.stdout)


def asciidoc(texts: list[str]) -> None:
    sample = texts[:: max(len(texts) // ASCIIDOC_PAGES, 1)]
    rate = 0.0
    if shutil.which("asciidoctor") is None:
        print("asciidoc: no asciidoctor to compare with (apt-get install asciidoctor)")
    else:
        seconds = timed(asciidoctor, sample)
        rate = len(sample) / seconds
        row("asciidoc, asciidoctor for each page", len(sample), seconds)
    for name in KINDS:
        if is_installed(name):
            engine = choose_engine(name)
            try:
                measure(engine, sample, rate)
            finally:
                engine.close()


def asciidoctor(text: str) -> None:
    command = ["asciidoctor", "-S", "secure", "-e", "-o", "-", "-"]
    subprocess.run(command, check=True, input=text.encode(), capture_output=True)


def measure(engine: WorkerEngine, sample: list[str], rate: float) -> None:
    def render(text: str) -> str:
        return engine.render(text, SERVICE_ATTRIBUTES, include_nothing)

    started = time.perf_counter()
    render("x")
    start = time.perf_counter() - started
    timed(render, sample)
    row(f"asciidoc, {engine.name}", len(sample), timed(render, sample), rate)
    print(f"    its first page comes after {start:.2f} s", end="")
    short = [text for text in sample if len(text) < 3000] or sample
    before = resident_mb(engine)
    for number in range(MEMORY_PAGES):
        render(short[number % len(short)])
    print(f"; {before:.0f} MB, after {MEMORY_PAGES} pages {resident_mb(engine):.0f} MB")


def resident_mb(engine: WorkerEngine) -> float:
    process = engine._process  # noqa: SLF001 - only its size is looked at
    assert process is not None
    pages = Path(f"/proc/{process.pid}/statm").read_text("utf-8").split()[1]
    return int(pages) * 4096 / 1e6


if __name__ == "__main__":
    sys.exit(main())

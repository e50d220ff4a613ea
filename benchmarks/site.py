"""How long a site takes: from nothing, unchanged, after one edit, after a new title.

    python benchmarks/site.py [FOLDER]

FOLDER holds one wiki's pages; it is copied, the copy is edited.  Without it, 1,000
pages are made up.  Each step is a
process of its own, so that imports count and memory is the step's.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from corpus import generate

OLD_NS = 1_600_000_000_000_000_000
PAGES = 1000


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "--step":
        print(json.dumps(build(Path(sys.argv[2]), Path(sys.argv[3]))))
        return 0
    if len(sys.argv) > 2 or not all(Path(name).is_dir() for name in sys.argv[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        made_up = Path(place, "made-up")
        if len(sys.argv) == 1:
            generate(made_up, PAGES)
        measure(Path(sys.argv[1]) if len(sys.argv) == 2 else made_up, Path(place))
    return 0


def measure(folder: Path, place: Path) -> None:
    """Run every step on a copy of the folder and print the table."""
    wiki, work = place / "wiki", place / "work"
    shutil.copytree(folder, wiki)
    for path in wiki.rglob("*"):
        os.utime(path, ns=(OLD_NS, OLD_NS))
    pages = sorted(wiki.rglob("*.md"))
    leaf = max(pages, key=lambda path: len(path.parts))
    top = min(pages, key=lambda path: (len(path.parts), path.name == "home.md"))
    print(f"{len(pages)} markdown pages\n")
    print(f"{'step':<22}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'written':>9}")
    run("from nothing", wiki, work)
    run("unchanged", wiki, work)
    run("one line in one page", wiki, work, lambda: append_line(leaf))
    run("new title, deep", wiki, work, lambda: set_title(leaf))
    run("new title, top level", wiki, work, lambda: set_title(top))
    run("one page more", wiki, work, lambda: add_page(wiki))
    files = [path for path in (work / "site").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"\n{len(files)} files, {size / 1e6:.1f} MB")


def run(
    step: str, wiki: Path, work: Path, edit: Callable[[], None] = lambda: None
) -> None:
    """Edit, then build in a process of its own, and print its line."""
    edit()
    command = [sys.executable, __file__, "--step", str(wiki), str(work)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)
    print(
        f"{step:<22}{figures['wall']:>8.2f}{figures['cpu']:>8.2f}"
        f"{figures['peak']:>9.0f}{figures['written']:>9}",
        flush=True,
    )


def build(wiki: Path, work: Path) -> dict[str, float]:
    """One build; seconds from the first import on, memory of the process."""
    started = time.perf_counter()
    from wikisync.model import WikiOwner
    from wikisync.site.build import build_site
    from wikisync.site.model import SiteOptions, WikiSource

    owner = WikiOwner("project", "docs/handbook")
    source = WikiSource(owner, "Handbook", wiki, visibility="public")
    options = SiteOptions("Handbook")
    report = build_site([source], work / "site", options, cache=work / "cache")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "wall": time.perf_counter() - started,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss / 1024,
        "written": report.written,
    }


def append_line(page: Path) -> None:
    with page.open("a", encoding="utf-8") as file:
        file.write("\nOne more line.\n")


def set_title(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    page.write_text(f"---\ntitle: Quite another title\n---\n{text}", encoding="utf-8")


def add_page(wiki: Path) -> None:
    (wiki / "a-new-page.md").write_text("# New\n\nSee [home](home).\n")


if __name__ == "__main__":
    sys.exit(main())

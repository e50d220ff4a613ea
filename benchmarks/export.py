"""How long ``wikisync export`` takes: cold, again unchanged, after one edit.

    python benchmarks/export.py [--pages 1000] [--repeat 3] [--wiki FOLDER]
    python benchmarks/export.py --wikis 1000 [--pages 100] [--repeat 1]

Two wikis are generated (``corpus.py``), one of markdown and one in four formats, or
one is given as a folder of pages; each is served by the embedded service in a
process of its own, and the command runs as a person would run it, from its start to
its exit.

With ``--wikis`` so many wikis of so many pages are in one service, and ``export --all``
makes one site of them.  ``sum MB`` is the memory of all processes of the command
together.  Targets, for 1,000 wikis of 100 pages on two cores: 300 s from nothing, 10 s
unchanged, 3 s after one edit, and 400 MB.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from corpus import generate
from measured import HEADER, HEADER_WITH_SUM, run_command, serving

GROUPS = 20
"""That many wikis are spread over."""
FIRST = "group-00/wiki-0000"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int)
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--wiki", type=Path, help="a folder of pages instead")
    parser.add_argument("--wikis", type=int, help="so many in one service")
    arguments = parser.parse_args()
    many = arguments.wikis
    pages = arguments.pages or (100 if many else 1000)
    repeat = arguments.repeat or (1 if many else 3)
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        if many:
            generate_many(place / "many", many, pages)
            with serving(place / "many") as (url, token):
                measure_many(url, token, f"{many} x {pages}", place, repeat)
            return
        wikis = [arguments.wiki] if arguments.wiki else []
        if not wikis:
            wikis = [place / "markdown", place / "mixed"]
            generate(wikis[0], pages)
            generate(wikis[1], pages, is_mixed=True)
        for wiki in wikis:
            with serving(wiki) as (url, token):
                measure(url, token, wiki.name, place, repeat)


def measure(url: str, token: str, wiki: str, place: Path, repeat: int) -> None:
    print(f"{f'export of {wiki}':<18} {'run':>3} {HEADER}")
    owner = f"local/{wiki}"
    for number in range(1, repeat + 1):
        command = ["export", url, "--project", owner, *folders(place, wiki, number)]
        for step in steps(url, token, owner):
            print(f"{step:<18} {number:>3} {run_command(command, token)}")


def measure_many(url: str, token: str, name: str, place: Path, repeat: int) -> None:
    print(f"{f'export of {name}':<18} {'run':>3} {HEADER_WITH_SUM}", flush=True)
    for number in range(1, repeat + 1):
        command = ["export", url, "--all", *folders(place, "all", number)]
        for step in steps(url, token, FIRST):
            run = run_command(command, token, is_summed=True)
            print(f"{step:<18} {number:>3} {run}", flush=True)


def generate_many(folder: Path, wikis: int, pages: int) -> None:
    """A folder for the service: wikis of different pages, in groups."""
    lines = []
    for number in range(wikis):
        path = f"group-{number % GROUPS:02}/wiki-{number:04}"
        generate(folder / path, pages, seed=number)
        lines.append(f'[[project]]\npath = "{path}"\nwiki = "{path}"\n')
    (folder / "service.toml").write_text("".join(lines), encoding="utf-8")


def folders(place: Path, name: str, number: int) -> list[str]:
    """The options that name a site and a cache of one run."""
    site, cache = place / f"{name}-site-{number}", place / f"{name}-cache-{number}"
    return ["-o", str(site), "--cache", str(cache)]


def steps(url: str, token: str, owner: str) -> Iterator[str]:
    """What is measured one after the other, each after its edit."""
    yield "cold"
    yield "unchanged"
    edit_one_page(url, token, owner)
    yield "one page edited"


def edit_one_page(url: str, token: str, owner: str) -> None:
    """Add a line to the page ``home`` through the API."""
    project = quote(owner, safe="")
    address = f"{url}/api/v4/projects/{project}/wikis/home"
    headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as it:
        page = json.load(it)
    changed = json.dumps({"content": page["content"] + "\none more line\n"}).encode()
    request = urllib.request.Request(address, changed, headers, method="PUT")
    urllib.request.urlopen(request).close()


if __name__ == "__main__":
    main()

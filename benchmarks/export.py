"""How long ``wikisync export`` takes: cold, again unchanged, after one edit.

    python benchmarks/export.py [--pages 1000] [--repeat 3] [--wiki FOLDER]

Two wikis are generated (``corpus.py``), one of markdown and one in four formats, or
one is given as a folder of pages; each is served by the embedded service in a
process of its own, and the command runs as a person would run it, from its start to
its exit.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import quote

from corpus import generate
from measured import HEADER, run_command, serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--wiki", type=Path, help="a folder of pages instead")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        wikis = [arguments.wiki] if arguments.wiki else []
        if not wikis:
            wikis = [place / "markdown", place / "mixed"]
            generate(wikis[0], arguments.pages)
            generate(wikis[1], arguments.pages, is_mixed=True)
        for wiki in wikis:
            with serving(wiki) as (url, token):
                measure(url, token, wiki.name, place, arguments.repeat)


def measure(url: str, token: str, wiki: str, place: Path, repeat: int) -> None:
    print(f"{f'export of {wiki}':<18} {'run':>3} {HEADER}")
    for number in range(1, repeat + 1):
        site = place / f"{wiki}-site-{number}"
        cache = place / f"{wiki}-cache-{number}"
        command = ["export", url, "--project", f"local/{wiki}", "-o", str(site)]
        command += ["--cache", str(cache)]
        print(f"{'cold':<18} {number:>3} {run_command(command, token)}")
        print(f"{'unchanged':<18} {number:>3} {run_command(command, token)}")
        edit_one_page(url, token, wiki)
        print(f"{'one page edited':<18} {number:>3} {run_command(command, token)}")


def edit_one_page(url: str, token: str, wiki: str) -> None:
    """Add a line to the page ``home`` through the API."""
    project = quote(f"local/{wiki}", safe="")
    address = f"{url}/api/v4/projects/{project}/wikis/home"
    headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as it:
        page = json.load(it)
    changed = json.dumps({"content": page["content"] + "\none more line\n"}).encode()
    request = urllib.request.Request(address, changed, headers, method="PUT")
    urllib.request.urlopen(request).close()


if __name__ == "__main__":
    main()

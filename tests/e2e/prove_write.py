"""``make prove-write``: two tabs, another program, a person on the wiki and SIGKILLs.

    python -m tests.e2e.prove_write [--minutes 10] [--seed N]

Ten pages under ``watch --preview``, with the acts of ``test_write_chaos`` and a person
who edits on the wiki.  At the end both sides are synced, clashes with both texts, and
every sentence must be there; exit code 1 names those that are not, and the file that
tells after which act each sentence was where.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.test_write_chaos import PLACES, TEXT, Desk, fight, free_port
from tests.support.browser import running_chromium
from tests.support.service import AUTHOR, ROOT, EmbeddedService, embedded_service
from tests.support.watching import OWNER, make_workspace
from wikisync.service.editing import CommitPlan
from wikisync.service.tree import WikiTree

PAGES = tuple(f"page-{number}" for number in range(10))
CONFLICTS_MAX = 20
"""Rounds in which clashes are settled at the end."""


async def command(desk: Desk, root: Path, *words: str) -> int:
    """Run another command in the workspace."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", *words, "-C", str(root)),
        env=dict(desk.environment),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()


async def fought(root: Path, seed: int, minutes: float) -> tuple[int, list[str]]:
    """Fight; gives how many sentences were written, and those that are lost."""
    chance, port = random.Random(seed), free_port()
    until = time.monotonic() + minutes * 60
    async with (
        embedded_service(root / "service") as service,
        running_chromium() as chromium,
    ):
        await service.add_project(OWNER.full_path, dict.fromkeys(PAGES, TEXT))
        workspace = root / "wikis"
        make_workspace(workspace, service.url, more=f"[preview]\nport = {port}\n")
        desk = Desk(
            workspace / "handbook",
            port,
            ("watch", "-C", str(workspace), "--preview"),
            PAGES,
            {"WIKISYNC_TOKEN": service.token, "PATH": "/usr/bin:/bin"},
        )
        await command(desk, workspace, "sync")
        await desk.start()

        async def wiki() -> None:
            await edit_on_the_wiki(service, desk, chance)

        def is_over(_: int) -> bool:
            return time.monotonic() > until

        # the editor holds only the lines that are seen, and people click on any
        context = await chromium.new_context(viewport={"width": 1280, "height": 8000})
        try:
            await fight(context, desk, chance, is_over, {"wiki": wiki})
            # a text that is left there was offered to nobody
            left = str((await context.storage_state())["origins"])
        except TimeoutError:
            # what stands in the way can be seen
            told = Path(tempfile.gettempdir(), f"prove-write-{seed}")
            told.with_suffix(".trail").write_text("\n".join(desk.trail))
            for number, page in enumerate(context.pages):
                await page.screenshot(path=f"{told}-{number}.png")
            print(f"what was done, and the tabs, are in {told}*")
            raise
        finally:
            await desk.kill()
        for _ in range(CONFLICTS_MAX):
            await command(desk, workspace, "sync")
            clashing = sorted(desk.folder.glob("*.conflict.md"))
            if not clashing:
                break
            names = [str(one).replace(".conflict", "") for one in clashing]
            await command(desk, workspace, "resolve", *names, "--both")
        texts = [path.read_text() for path in desk.folder.glob("*.md")]
        texts += [one.decode() for one in (await service.files(OWNER)).values()]
    lost = [one for one in desk.written if not any(one in text for text in texts)]
    if lost:
        trail = Path(tempfile.gettempdir(), f"prove-write-{seed}.trail")
        trail.write_text("\n".join(desk.trail))
        print(f"what was done is in {trail}")
    return len(desk.written), [f"{one} {remains(root, left, one)}" for one in lost]


def remains(root: Path, left: str, sentence: str) -> list[str]:
    """Where else a sentence is: in the browser, the trash, the wiki's history."""
    files = (one for one in root.rglob("*") if one.is_file())
    found = [str(one) for one in files if sentence.encode() in one.read_bytes()]
    for wiki in root.rglob("*.git"):
        command = ["git", "-C", str(wiki), "log", "--all", "--oneline", "-S", sentence]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        found += ran.stdout.splitlines()
    return [*found, *(["the browser"] if sentence in left else [])]


async def edit_on_the_wiki(
    service: EmbeddedService, desk: Desk, chance: random.Random
) -> None:
    """A person on the wiki adds a sentence to what the page says there.

    Nobody else writes in between, as the wiki refuses a form that was opened before
    another write: a text read and then put would take away what was sent since.
    """
    page, place = chance.choice(PAGES), chance.choice(PLACES)
    line = desk.sentence("a person on the wiki")
    wiki = await service.wiki(OWNER)

    def add(tree: WikiTree) -> CommitPlan:
        text = wiki.repository.read(tree.page(f"{page}.md").blob).decode()
        new = text.replace(f"## {place}\n", f"## {place}\n\n{line}\n")
        return CommitPlan("edit", writes={f"{page}.md": new.encode()})

    await wiki.change(add, AUTHOR)
    wiki.note_write(ROOT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prove-write-") as folder:
        count, lost = asyncio.run(fought(Path(folder), asked.seed, asked.minutes))
    summary = f"seed {asked.seed}: {len(lost)} of {count} sentences lost"
    print(summary, *lost, sep="\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

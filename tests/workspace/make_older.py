r"""Makes a workspace with the program of an older commit, and prints it as text.

    git worktree add ../older COMMIT && cd ../older && make .venv/dev && cd -
    python -m tests.workspace.make_older ../older/.venv/bin/python \
        > tests/workspace/older/schema-N.txt

``test_older`` opens it.  The older program runs as a person runs it, against the
service of today: pages, an attachment, edits of both sides, a page that the wiki
removed, a conflict, a removal that a safety stop holds, and at last a process that is
killed after the wiki took its page and before the answer came.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.support.bending import BendingProxy, bending_proxy
from tests.support.service import EmbeddedService, embedded_service
from tests.support.workspaces import HANDBOOK

EXAMPLE_URL = "https://gitlab.example.com"
STATE = ".wikisync/state.db"
DUMP = ".wikisync/state.sql"
HEAD = "{the newest commit of the last sync}"
FOLDER = "{the identity of the folder}"
WORKSPACE = "{the identity of the workspace}"
PLAN = f"uploads/{'0123456789abcdef' * 2}/plan.txt"
TEAM = {f"team/{name}": f"{name}\n" for name in ("ann", "ben", "cid", "dan", "eve")}
PAGES = {
    "home": "one\n\ntwo\n\nthree\n",
    "guide": "a guide\n",
    "notes": "notes\n",
    "old": "of an old time\n",
    "index": f"an index with [a plan]({PLAN})\n",
    "rules": "be kind\n",
    **TEAM,
}
ANSWER_S = 3600.0
SETTLED_S = 100
"""A page that is missing for longer is removed."""
_NOT_KEPT = {"looks", "log", "lock", "tmp", "state.db", "state.db-wal", "state.db-shm"}
"""Caches, which are believed on one machine only, and what a process has open."""


class Older:
    """A workspace of an older program."""

    def __init__(self, python: Path, root: Path, service: EmbeddedService) -> None:
        self._python = python
        self._root = root
        self._service = service

    @property
    def folder(self) -> Path:
        return self._root / "handbook"

    async def start(self, *words: str | Path) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(self._python, "-P", "-m", "wikisync", *words),
            env={**os.environ, "WIKISYNC_TOKEN": self._service.token},
            stdout=sys.stderr,
        )

    async def run(self, *words: str | Path) -> None:
        await (await self.start(*words)).wait()

    async def sync(self) -> None:
        await self.run("sync", "-C", self._root)

    async def edit(self, slug: str, text: str) -> None:
        await self._service.add_pages(HANDBOOK, {slug: text})

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def age_sightings(self) -> None:
        with closing(sqlite3.connect(self._root / STATE)) as state, state:
            state.execute(f"UPDATE sighting SET first_at = first_at - {SETTLED_S}")

    async def live(self, proxy: BendingProxy) -> None:
        """All that becomes of the workspace until its process is killed."""
        await self.run("clone", proxy.url, "--project", HANDBOOK.full_path, self._root)
        for text in ("second\n", "third\n"):
            await self.edit("guide", text)
            await self.sync()
        await self._service.remove_file(HANDBOOK, "old.md")
        await self.sync()
        self.age_sightings()
        await self.sync()
        self.write("rules.md", "be kind, please\n")
        await self.sync()
        await self.edit("home", "one\n\ntheirs\n\nthree\n")
        self.write("home.md", "one\n\nours\n\nthree\n")
        await self.sync()
        shutil.rmtree(self.folder / "team")
        await self.sync()
        self.write("notes.md", "notes of today\n")
        written = asyncio.Event()

        def taken(answer: bytes) -> bytes:
            written.set()
            return answer

        # the wiki has the page then, and the process waits for the rest of the answer
        proxy.bend("/wikis/notes", method="PUT", body=taken, drip_s=ANSWER_S)
        process = await self.start("sync", "-C", self._root)
        await written.wait()
        process.kill()
        await process.wait()

    def texts(self, url: str) -> dict[str, str]:
        """Every file by its path, the state as SQL, and nothing of this machine."""
        shown = {
            str(path.relative_to(self._root)): path.read_text().rstrip("\n") + "\n"
            for path in sorted(self._root.rglob("*"))
            if path.is_file()
            and _NOT_KEPT.isdisjoint(path.relative_to(self._root).parts)
        }
        with closing(sqlite3.connect(self._root / STATE)) as state:
            (version,) = state.execute("PRAGMA user_version").fetchone()
            dump = [*state.iterdump(), f"PRAGMA user_version = {version};"]
        shown[DUMP] = "\n".join(dump) + "\n"
        replaced: tuple[Callable[[str], str], ...] = (
            lambda text: text.replace(url, EXAMPLE_URL),
            lambda text: re.sub(r"NULL,'[0-9a-f]{40}'", f"NULL,'{HEAD}'", text),
            lambda text: re.sub(r'\{"disk":[^}]*\}', FOLDER, text),
            lambda text: re.sub(r'\{"marker":[^}]*\}', WORKSPACE, text),
        )
        for change in replaced:
            shown = {path: change(text) for path, text in shown.items()}
        return shown


async def make(python: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        async with (
            embedded_service(root) as service,
            bending_proxy(service.url) as proxy,
        ):
            await service.add_project(HANDBOOK.full_path, PAGES)
            await service.put_file(HANDBOOK, PLAN, b"a plan\n")
            older = Older(python, root / "wikis", service)
            await older.live(proxy)
            shown = older.texts(proxy.url)
            for path, content in (await service.files(HANDBOOK)).items():
                shown[f"wiki/{path}"] = content.decode()
    for path, text in shown.items():
        sys.stdout.write(f"-- {path} --\n{text}")


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1])))

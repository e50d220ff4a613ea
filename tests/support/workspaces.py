"""A cloned workspace for the tests of commands that work on one."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.agreed import agree_to
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.ledger import Side, Sighting

if TYPE_CHECKING:
    from tests.support.commands import Ran, Run

HANDBOOK = WikiOwner("project", "docs/handbook")
PAGES = {
    "home": "one\n\ntwo\n\nthree\n",
    "guide": "a guide\n",
    "team/people": "Ann\n",
    "team/rules": "be kind\n",
}
FILES = {f"{slug}.md": text for slug, text in PAGES.items()}
"""The same by the names of their files."""
HERE = "ONE\n\ntwo\n\nTHREE here\n"
THERE = "one\n\nTWO there\n\nTHREE there\n"
"""``home`` edited on both sides, in part at the same place."""


@dataclass(frozen=True, slots=True)
class Cloned:
    """The workspace of one wiki, and the service it came from."""

    service: EmbeddedService
    root: Path
    run_main: Run

    @property
    def folder(self) -> Path:
        """The wiki's folder."""
        return self.root / "handbook"

    @property
    def settings(self) -> Path:
        """The workspace's configuration."""
        return self.root / "wikisync.toml"

    @property
    def attention(self) -> str:
        """What waits for a person, by the file that says so."""
        path = self.root / "WIKISYNC-ATTENTION.md"
        return path.read_text() if path.exists() else ""

    def configure(self, old: str, new: str) -> None:
        """Change the configuration, and agree to it."""
        text = self.settings.read_text()
        assert old in text
        self.settings.write_text(text.replace(old, new))
        agree_to(self.root)

    async def add_wiki(self, name: str, pages: dict[str, str]) -> Path:
        """One more wiki, which is not synced yet; its folder."""
        await self.service.add_project(f"docs/{name}", pages)
        with self.settings.open("a") as file:
            file.write(f'\n[[wiki]]\nproject = "docs/{name}"\nfolder = "{name}"\n')
        return self.root / name

    def copied(self, name: str = "copy") -> Cloned:
        """The whole workspace once more, in another place."""
        root = self.root.with_name(name)
        shutil.copytree(self.root, root)
        return Cloned(self.service, root, self.run_main)

    async def run(self, *words: str | Path) -> Ran:
        """Run a command in the workspace."""
        return await self.run_main(*words, "-C", self.root)

    async def sync_later(self) -> Ran:
        """Sync, and again when what is missing now has been so for an hour."""
        await self.run("sync")
        self.age_sightings(3600)
        return await self.run("sync")

    async def clash(self) -> Ran:
        """Edit ``guide`` in the same line on both sides, and sync."""
        self.write("guide.md", "mine\n")
        await self.edit({"guide": "theirs\n"})
        return await self.run("sync")

    def write(self, name: str, text: str) -> None:
        """Save a file as an editor does."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name: str) -> str:
        """What a file says."""
        return (self.folder / name).read_text()

    def files(self) -> dict[str, str]:
        """Every file of the wiki's folder."""
        return {
            str(path.relative_to(self.folder)): path.read_text(errors="replace")
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    async def edit(self, pages: dict[str, str]) -> None:
        """Edit pages on the wiki."""
        await self.service.add_pages(HANDBOOK, pages)

    async def remove(self, slug: str) -> None:
        """Delete a page on the wiki."""
        await self.service.remove_file(HANDBOOK, f"{slug}.md")

    async def wiki(self) -> dict[str, str]:
        """Every file of the wiki."""
        files = await self.service.files(HANDBOOK)
        return {path: text.decode(errors="replace") for path, text in files.items()}

    def state(self) -> State:
        """The workspace's state, to be closed."""
        return State.open(self.root / ".wikisync/state.db")

    def age_sightings(self, seconds: float) -> None:
        """Let what was seen missing have been missing for longer."""
        with self.state() as state:
            age_sightings(state.wiki(HANDBOOK), seconds)


def age_sightings(known: WikiState, seconds: float) -> None:
    """Let what was seen missing or unreadable have been so for longer."""
    for side in Side:
        seen = {
            slug: Sighting(one.count, one.first_at - seconds, one.last_at - seconds)
            for slug, one in known.sightings(side).items()
        }
        known.record_sightings(side, seen)


async def clone_handbook(service: EmbeddedService, run: Run, root: Path) -> Cloned:
    """Fill a wiki, and clone it."""
    await service.add_project("docs/handbook", PAGES)
    ran = await run("clone", service.url, "--project", "docs/handbook", root)
    assert ran.code == 0, ran.err
    settings = root / "wikisync.toml"
    text = settings.read_text().replace("# settle_ms = 300", "settle_ms = 50")
    settings.write_text(text)
    return Cloned(service, root, run)

"""Where a case is played: a service, what bends its answers, and a person's folders.

Commands are processes, each ended after a time.  What was expected and did not come
is noted with its verdict; the worst one is the verdict of the case::

    good      texts and site are safe, the cause is named, and all is carried later
    poor      safe, but a message misleads
    wrong     a wrong result, a traceback, or no end
    harmful   a text or a published page is removed, shown to others or lost
"""

import asyncio
import enum
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.exports import digest_of_tree
from tests.support.bending import BendingProxy, bending_proxy
from tests.support.commands import Ran
from tests.support.service import EmbeddedService, embedded_service
from tests.support.waiting import until
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned
from wikisync.core.model import WikiOwner

COMMAND_S = 180.0
"""A command that runs longer counts as one that never ends."""
TREE = Path(__file__).resolve().parents[2]


class Verdict(enum.IntEnum):
    """From the best to the worst."""

    GOOD = 0
    POOR = 1
    WRONG = 2
    HARMFUL = 3


@dataclass
class Play:
    """One case while it is played."""

    service: EmbeddedService
    proxy: BendingProxy
    scratch: Path
    token: str
    runs: list[str] = field(default_factory=list)
    missed: list[tuple[Verdict, str]] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.scratch / "wikis"

    @property
    def site(self) -> Path:
        """The published site."""
        return self.scratch / "site"

    @property
    def cloned(self) -> Cloned:
        """The workspace, as tests of commands know it."""
        return Cloned(self.service, self.root, self.run)

    @property
    def verdict(self) -> Verdict:
        return max((verdict for verdict, _what in self.missed), default=Verdict.GOOD)

    @property
    def seen(self) -> str:
        """The commands with their exit codes, and what was missed."""
        missed = [f"{verdict.name.lower()}: {what}" for verdict, what in self.missed]
        return "; ".join([", ".join(self.runs), *missed])

    # -- what is expected ----------------------------------------------------------

    def _expect(self, verdict: Verdict, what: str, *, is_so: bool) -> None:
        if not is_so:
            self.missed.append((verdict, what))

    def safe(self, is_so: bool, what: str) -> None:
        """Else a text was lost, removed from the site or given to a stranger."""
        self._expect(Verdict.HARMFUL, what, is_so=is_so)

    def right(self, is_so: bool, what: str) -> None:
        """Else the result is wrong."""
        self._expect(Verdict.WRONG, what, is_so=is_so)

    def told(self, ran: Ran | str, *words: str, never: tuple[str, ...] = ()) -> None:
        """Else the message misleads: all of these words stand in it, and none of those.

        ``a|b`` takes either.
        """
        said = ran if isinstance(ran, str) else ran.out + ran.err
        said = " ".join(said.split())
        for word in words:
            found = any(one in said for one in word.split("|"))
            what = f"does not say {word!r} but {said[-300:]!r}"
            self._expect(Verdict.POOR, what, is_so=found)
        for word in never:
            self._expect(Verdict.POOR, f"says {word!r}", is_so=word not in said)

    def ended(self, ran: Ran, *codes: int) -> None:
        """Else the exit code is wrong."""
        said = " ".join((ran.out + ran.err).split())[-300:]
        what = f"exit code {ran.code}, not {' or '.join(map(str, codes))}: {said!r}"
        self._expect(Verdict.WRONG, what, is_so=ran.code in codes)

    # -- commands ------------------------------------------------------------------

    async def run(
        self,
        *words: str | Path,
        limits: Mapping[str, float] | None = None,
        environment: Mapping[str, str | None] | None = None,
        before: Callable[[], None] | None = None,
        token: str | None = None,
        within_s: float = COMMAND_S,
    ) -> Ran:
        """Run a command to its end; -9 where it does not end in time.

        Args:
            words: behind ``wikisync``.
            limits: of the client, where the real ones take minutes.
            environment: variables, None for those that are not there.
            before: called in the new process.
            token: of somebody else than the administrator.
            within_s: how long it may run.
        """
        program = [sys.executable, "-m", "wikisync"]
        if limits:
            shortened = "tests.instances.shortened"
            program = [sys.executable, "-m", shortened, json.dumps(dict(limits))]
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *program,
            *map(str, words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
            env=self.environment(environment, token),
            preexec_fn=before,
        )
        code = -9
        try:
            async with asyncio.timeout(within_s):
                out, err = await process.communicate()
                code = process.returncode or 0
        except TimeoutError:
            process.kill()
            out, err = await process.communicate()
            self.right(False, f"{words[0]} ran for {within_s:.0f} s")
        ran = Ran(code, out.decode(errors="replace"), err.decode(errors="replace"))
        seconds = time.monotonic() - began
        took = f" in {seconds:.0f} s" if seconds > 5 else ""
        self.runs.append(f"{words[0]} {code}{took}")
        has_traceback = "Traceback" in ran.err + ran.out
        self.right(not has_traceback, f"traceback of {words[0]}: {ran.err[-300:]}")
        return ran

    def environment(
        self, changes: Mapping[str, str | None] | None = None, token: str | None = None
    ) -> dict[str, str]:
        """What a command finds in its environment."""
        variables: dict[str, str | None] = {
            **os.environ,
            "PYTHONPATH": str(TREE),
            "XDG_CACHE_HOME": str(self.scratch / "cache"),
            "WIKISYNC_TOKEN": token or self.token,
            **(changes or {}),
        }
        return {name: value for name, value in variables.items() if value is not None}

    async def sync(self, *words: str, **options: object) -> Ran:
        return await self.run("sync", "-C", self.root, *words, **options)  # type: ignore[arg-type]

    async def export(self, *words: str, **options: object) -> Ran:
        """Export what ``begin`` exported, asking each wiki for what it has.

        One that had no activity since is not asked otherwise, and meets no fault.
        """
        where = ("-o", self.site, "--cache", self.scratch / "exported", "--verify")
        chosen = words or ("--project", "docs/handbook")
        return await self.run("export", self.proxy.url, *chosen, *where, **options)  # type: ignore[arg-type]

    # -- what is there -------------------------------------------------------------

    async def begin(
        self, pages: Mapping[str, str] = PAGES, *, site: bool = True
    ) -> None:
        """A wiki, its clone behind the proxy, and its site."""
        await self.service.add_project("docs/handbook", pages)
        words = ("clone", self.proxy.url, "--project", "docs/handbook", self.root)
        self.ended(await self.run(*words), 0)
        settings = self.root / "wikisync.toml"
        text = settings.read_text().replace("# settle_ms = 300", "settle_ms = 50")
        settings.write_text(text)
        if site:
            self.ended(await self.export(), 0)

    def published(self) -> dict[str, bytes]:
        return digest_of_tree(self.site) if self.site.exists() else {}

    def pages(self) -> set[str]:
        """Names of the site's pages; parts of its search come and go with words."""
        return {path for path in self.published() if path.endswith("html")}

    def shows(self, words: str) -> bool:
        """Whether a page of the site has these words."""
        files = self.published()
        return any(
            words.encode() in files[path] for path in files.keys() & self.pages()
        )

    async def on_wiki(self, owner: WikiOwner = HANDBOOK) -> dict[str, str]:
        files = await self.service.files(owner)
        return {path: text.decode(errors="replace") for path, text in files.items()}

    async def edit_both(self) -> dict[str, str]:
        """Edits on both sides, and what both have when they were carried."""
        self.cloned.write("home.md", "edited here\n")
        self.cloned.write("mine.md", "new here\n")
        await self.cloned.edit({"guide": "edited there\n", "theirs": "new there\n"})
        return {
            **FILES,
            "home.md": "edited here\n",
            "mine.md": "new here\n",
            "guide.md": "edited there\n",
            "theirs.md": "new there\n",
        }

    async def agree(self, expected: Mapping[str, str]) -> None:
        """Folder and wiki have these files, or somebody lost something."""
        here, there = self.cloned.files(), await self.on_wiki()
        for name, files in (("the folder", here), ("the wiki", there)):
            different = sorted(
                path
                for path in {*files, *expected}
                if files.get(path) != expected.get(path)
            )
            self.safe(not different, f"{name} differs in {different}")


async def eventually(
    is_so: Callable[[], Awaitable[bool] | bool], within_s: float = 60.0
) -> bool:
    """Whether something becomes so in time; another process does it."""
    try:
        await until(is_so, within_s)
    except TimeoutError:
        return False
    return True


@asynccontextmanager
async def staged(scratch: Path) -> AsyncIterator[Play]:
    """A service behind a proxy, for one case."""
    async with (
        embedded_service(scratch) as service,
        bending_proxy(service.url) as proxy,
    ):
        yield Play(service, proxy, scratch, service.token)

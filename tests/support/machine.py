"""A clean machine for the documents: a home, wikisync, a service, noted programs."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.service import EmbeddedService, embedded_service

SERVICE_URL = "https://gitlab.example.com"
"""The service of every example."""
RUN_S = 120.0
BLOCK = re.compile(
    r"^```(?P<md>\w+)\n(?P<md_text>.*?)^```$"
    r"|^\[source,(?P<adoc>\w+)\]\n----\n(?P<adoc_text>.*?)^----$"
    r"|^#\+begin_src (?P<org>\w+)\n(?P<org_text>.*?)^#\+end_src$",
    re.MULTILINE | re.DOTALL,
)


def code_blocks(path: Path) -> list[tuple[str, str]]:
    """Language and text of each block of code in a document, in order."""
    return [
        next(
            (match[kind], match[f"{kind}_text"])
            for kind in ("md", "adoc", "org")
            if match[kind]
        )
        for match in BLOCK.finditer(path.read_text(encoding="utf-8"))
    ]


@dataclass(frozen=True, slots=True)
class Machine:
    """A clean machine: a home, wikisync, and programs that note their calls."""

    home: Path
    service: EmbeddedService

    @property
    def programs(self) -> Path:
        return self.home / "bin"

    @property
    def calls(self) -> list[str]:
        noted = self.home / "calls"
        return noted.read_text().splitlines() if noted.exists() else []

    def add_program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def note_calls_of(self, *names: str) -> None:
        for name in names:
            self.add_program(name, f'echo "{name} $*" >> {self.home}/calls')

    def localised(self, code: str) -> str:
        """The recipe with the example's service replaced by the one that runs."""
        return code.replace(SERVICE_URL, self.service.url)

    async def run(
        self,
        code: str,
        *,
        shell: Sequence[str] = ("sh", "-e"),
        folder: Path | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a piece of shell at home, with nothing but these variables."""
        environment = {
            "HOME": str(self.home),
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            **variables,
        }
        return await asyncio.to_thread(
            subprocess.run,
            [*shell, "-c", self.localised(code)],
            cwd=folder or self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
        )

    async def clone(self) -> Path:
        """A workspace with the handbook, as ``~/my-wikis``."""
        done = await self.run(
            f"wikisync clone {SERVICE_URL} --project docs/handbook my-wikis",
            WIKISYNC_TOKEN=self.service.token,
        )
        assert done.returncode == 0, done.stderr
        return self.home / "my-wikis"


@asynccontextmanager
async def clean_machine(folder: Path) -> AsyncIterator[Machine]:
    async with embedded_service(folder) as service:
        machine = Machine(folder / "home", service)
        machine.home.mkdir()
        machine.add_program("wikisync", f'exec {sys.executable} -m wikisync "$@"')
        yield machine

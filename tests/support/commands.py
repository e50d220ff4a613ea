"""The command line against a running service."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.bending import BendingProxy, bending_proxy
from tests.support.service import EmbeddedService, embedded_service
from tests.support.workspaces import HERE, THERE, Cloned, clone_handbook
from wikisync.cli.main import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def told(self) -> str:
        """All that was printed."""
        return self.out + self.err

    def ended(self, code: int, *said: str) -> None:
        """Check how it ended, and that all of this was said on stderr."""
        missing = [sentence for sentence in said if sentence not in self.err]
        assert (self.code, missing) == (code, []), self.told

    @property
    def problem_codes(self) -> list[str]:
        return sorted(problem["code"] for problem in self.json["problems"])


Run = Callable[..., Awaitable[Ran]]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        yield running


def runner(
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run ``wikisync`` with these words, a token and a cache of its own.

    One-way commands look as often as they should for missing pages, but do not wait.
    """
    monkeypatch.setattr("wikisync.workspace.cloning.REMOTE_SPAN_S", 0.0)
    monkeypatch.setenv("WIKISYNC_TOKEN", token)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    async def call(*words: str | Path) -> Ran:
        code = await asyncio.to_thread(main, [str(word) for word in words])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def run(
    service: EmbeddedService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    return runner(service.token, tmp_path, monkeypatch, capsys)


@pytest.fixture
def run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Where no service is needed."""
    return runner("glpat-EXAMPLE", tmp_path, monkeypatch, capsys)


@pytest.fixture
async def cloned(service: EmbeddedService, run: Run, tmp_path: Path) -> Cloned:
    """A workspace of one wiki, as ``clone`` leaves it."""
    return await clone_handbook(service, run, tmp_path / "wikis")


@pytest.fixture
async def clashing(cloned: Cloned) -> Cloned:
    """``home`` is edited on both sides, in part at the same place, and held."""
    cloned.write("home.md", HERE)
    await cloned.edit({"home": THERE})
    assert (await cloned.run("sync")).code == 3
    return cloned


@pytest.fixture
async def proxy(service: EmbeddedService) -> AsyncIterator[BendingProxy]:
    """What stands between the service and its callers."""
    async with bending_proxy(service.url) as running:
        yield running

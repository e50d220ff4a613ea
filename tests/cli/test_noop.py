"""What a ``wikisync sync`` loads that finds nothing to do, as most of them do.

Started by a timer every few minutes, it spends nearly all its time on imports: a
module that is needed only where there is something to do is loaded there.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.workspaces import Cloned, clone_handbook
from tests.support.service import EmbeddedService
from wikisync.folder import pages

SYNC = (
    "import sys; from wikisync.cli.main import main; code = main(sys.argv[1:]);"
    "print(*sys.modules, file=sys.stderr); sys.exit(code)"
)

FOR_OTHER_COMMANDS = {
    "wikisync.config.writing",
    "wikisync.markup",
    "wikisync.site",
    "wikisync.service",
    "wikisync.api.parameters",
    "wikisync.api.project_schema",
    "wikisync.api.values",
    "wikisync.sync.absence",
    "wikisync.sync.cycle",
    "wikisync.sync.daemon",
}
FOR_SOMETHING_TO_DO = {
    "wikisync.api.entries",
    "wikisync.api.pool",
    "wikisync.folder.clashes",
    "wikisync.folder.coding",
    "wikisync.folder.contents",
    "wikisync.folder.moving",
    "wikisync.folder.swap",
    "wikisync.sync.arrive",
    "wikisync.sync.conflict",
    "wikisync.sync.diff",
    "wikisync.sync.echo",
    "wikisync.sync.holds",
    "wikisync.sync.intents",
    "wikisync.sync.merge",
    "wikisync.sync.mentions",
    "wikisync.sync.merging",
    "wikisync.sync.push",
    "wikisync.sync.reconcile",
    "wikisync.sync.renames",
    "wikisync.sync.stripping",
    "wikisync.sync.two_way",
}
LIBRARIES = {
    "aiohttp",
    "ctypes",
    "jinja2",
    "json",
    "lxml",
    "multidict",
    "nh3",
    "pygit2",
    "random",
    "rich",
    "shlex",
    "shutil",
    "tenacity",
    "tomlkit",
    "yarl",
}


@pytest.fixture
async def cloned(
    service: EmbeddedService,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Cloned:
    """A workspace in which nothing is left to do, and whose files are known."""
    workspace = await clone_handbook(service, run, tmp_path / "wikis")
    # files that were saved a moment ago would be read once more
    monkeypatch.setattr(pages, "SETTLED_NS", -3_600_000_000_000)
    await workspace.run("sync")
    return workspace


async def loaded_by(words: Sequence[str | Path], expected: str) -> set[str]:
    """Modules that a process of its own has loaded at the end of a command."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SYNC, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, modules = await process.communicate()
    assert out.decode() == expected
    return set(modules.decode().split())


async def test_a_sync_with_nothing_to_do_loads_nothing_to_do_it_with(
    cloned: Cloned,
) -> None:
    loaded = await loaded_by(
        ["sync", "-C", cloned.root], "handbook: 4 pages, nothing to do\n"
    )

    assert "wikisync.sync.exchange" in loaded
    too_much = loaded & (FOR_OTHER_COMMANDS | FOR_SOMETHING_TO_DO | LIBRARIES)
    assert too_much == set()


async def test_a_sync_with_something_to_do_loads_what_does_it(cloned: Cloned) -> None:
    """The names above are those of real modules."""
    cloned.write("home.md", "one, edited here\n\ntwo\n\nthree\n")
    await cloned.edit({"home": "one\n\ntwo\n\nthree, edited there\n"})

    loaded = await loaded_by(
        ["sync", "-C", cloned.root], "handbook: 4 pages, 1 pushed, 1 merged\n"
    )

    idle = {
        "wikisync.folder.contents",
        "wikisync.sync.holds",
        "wikisync.sync.intents",
        "wikisync.sync.stripping",
    }
    assert loaded >= FOR_SOMETHING_TO_DO - idle
    assert {"aiohttp", "ctypes"} <= loaded

"""Git as a child process ends in time, and takes what it started with it."""

import asyncio
from pathlib import Path

import pytest

from tests.support.git import needs_git, run_git
from wikisync.service.git_process import GitFailed, GitRunner
from wikisync.service.settings import GitService

pytestmark = needs_git

NAP = ("-c", "alias.nap=!echo $$; sleep 600 #", "nap")


@pytest.fixture
async def repository(tmp_path: Path) -> Path:
    await run_git("init", "-q", "--bare", tmp_path / "a.git")
    return tmp_path / "a.git"


class Kept:
    """What git said."""

    def __init__(self) -> None:
        self.text = ""
        self.came = asyncio.Event()

    async def __call__(self, chunk: bytes) -> None:
        self.text += chunk.decode()
        self.came.set()


def is_running(pid: str) -> bool:
    """Whether a process is there and not just waiting to be reaped."""
    try:
        state = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def wait_until_gone(pid: str) -> None:
    """Killed at once it is, but the system takes its time on a busy machine."""
    async with asyncio.timeout(60):
        # nobody tells of the death of a process that is not ours
        while is_running(pid):  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_output_comes_and_a_success_is_one(repository: Path) -> None:
    kept = Kept()
    words = ("rev-parse", "--absolute-git-dir")
    await GitRunner(GitService()).run(words, repository, kept)
    assert kept.text.startswith(f"{repository}\n")


async def test_environment_of_the_service_does_not_count(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_TOKEN", "glpat-EXAMPLE")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    kept = Kept()

    words = ("-c", "alias.surroundings=!env #", "surroundings")
    await GitRunner(GitService()).run(words, repository, kept)

    assert "PATH=" in kept.text
    assert "glpat-EXAMPLE" not in kept.text
    assert "GIT_CONFIG_COUNT" not in kept.text


async def test_git_that_outlives_its_time_is_killed_with_its_children(
    repository: Path,
) -> None:
    kept = Kept()
    with pytest.raises(GitFailed):
        await GitRunner(GitService(seconds_max=0.3)).run(NAP, repository, kept)
    assert kept.text.strip().isdecimal()
    await wait_until_gone(kept.text.strip())


async def test_git_is_killed_when_its_caller_is_cancelled(repository: Path) -> None:
    kept = Kept()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(GitRunner(GitService()).run(NAP, repository, kept))
        await kept.came.wait()
        task.cancel()

    await wait_until_gone(kept.text.strip())


async def test_no_more_run_at_once_than_may(repository: Path) -> None:
    runner = GitRunner(GitService(processes_max=1))
    first, second = Kept(), Kept()

    async with asyncio.TaskGroup() as tasks:
        nap = tasks.create_task(runner.run(NAP, repository, first))
        await first.came.wait()
        waiting = tasks.create_task(
            runner.run(("rev-parse", "--git-dir"), repository, second)
        )
        for _ in range(100):
            await asyncio.sleep(0)
        was_waiting = not second.text
        nap.cancel()

    assert was_waiting
    assert waiting.done()
    assert second.text

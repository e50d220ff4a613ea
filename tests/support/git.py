"""The git executable for tests: runs alone, asks nobody, reads no configuration."""

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(
    shutil.which("git") is None, reason="there is no git executable on this machine"
)


@dataclass(frozen=True, slots=True)
class GitRan:
    """What a command of git did."""

    code: int
    out: str
    err: str


async def run_git(*words: str | Path, folder: Path | None = None) -> GitRan:
    """Run git; its author is Git Tester."""
    executable = shutil.which("git")
    assert executable is not None
    process = await asyncio.create_subprocess_exec(
        executable,
        *map(str, words),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "HOME": os.devnull,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "Git Tester",
            "GIT_AUTHOR_EMAIL": "git@example.com",
            "GIT_COMMITTER_NAME": "Git Tester",
            "GIT_COMMITTER_EMAIL": "git@example.com",
        },
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return GitRan(process.returncode, out.decode(), err.decode())


def with_token(url: str, token: str, user: str = "oauth2") -> str:
    """An address with a user and a token in it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{user}:{token}@{rest}"


async def clone(address: str, folder: Path, *words: str) -> Path:
    """A clone, which must succeed."""
    ran = await run_git("clone", "-q", *words, address, folder)
    assert ran.code == 0, ran.err
    return folder


async def commit_and_push(folder: Path, *words: str) -> GitRan:
    """Commit everything in a clone and push it."""
    await run_git("add", "--all", folder=folder)
    ran = await run_git("commit", "-q", "-m", "edit", folder=folder)
    assert ran.code == 0, ran.out + ran.err
    return await run_git("push", "-q", *words, folder=folder)

"""Fetching a repository from another server, by git in a bounded child process.

A server may be slow, silent or hostile: the process has a deadline and a limit for
what it writes, follows no redirection, and reads no configuration of the account.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from pathlib import Path

import pygit2
from msgspec.structs import replace

from wikisync.private import make_private_folder
from wikisync.service.copying import DEFAULT_BRANCH
from wikisync.service.git_process import GitFailed, GitInput, GitRunner
from wikisync.service.import_address import has_query, shown, without_user
from wikisync.service.settings import GitService, Imports

REASON_CHARS_MAX = 300
_HEAD = b"ref: refs/heads/"
_NO_LOGIN = "could not read Username"
_TOO_LARGE = ("signal 25", "File too large", "invalid index-pack output")
"""What git says when it may write no more."""
_REDIRECTED = re.compile(r"returned error: 30[1278]")
_EVERYTHING = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class FetchFailed(Exception):
    """The repository did not come; the text is for people and has no secrets."""


async def fetch_repository(address: str, folder: Path, imports: Imports) -> None:
    """Make the folder a copy of the repository: its branches and tags.

    When it fails or is cancelled, the process is gone and part of the folder
    may be there.

    Raises:
        FetchFailed: no repository there, too large, or not in time.
    """
    if has_query(address):
        # it would be an argument of a process, which everybody on the machine sees
        raise FetchFailed(f"The address {shown(address)} has a query; remove it.")
    bare, user = without_user(address)
    given = GitInput(file_bytes_max=imports.bytes_max)
    if user is not None:
        login = b64encode(":".join(user).encode()).decode()
        given = replace(given, header=f"Authorization: Basic {login}")
    try:
        async with asyncio.timeout(imports.deadline_s):
            await _copy(bare, folder, given, imports.deadline_s)
    except TimeoutError:
        raise FetchFailed(
            f"The repository at {shown(address)} did not arrive within"
            f" {imports.deadline_s:g} seconds."
        ) from None
    except GitFailed as error:
        reason = _reason(str(error), has_user=user is not None, imports=imports)
        raise FetchFailed(
            f"The repository at {shown(address)} could not be copied: {reason}."
        ) from error


async def _copy(address: str, folder: Path, given: GitInput, deadline_s: float) -> None:
    make_private_folder(folder)
    repository = pygit2.init_repository(str(folder), bare=True)
    git = GitRunner(GitService(seconds_max=2 * deadline_s))
    said = bytearray()

    async def hear(chunk: bytes) -> None:
        said.extend(chunk)

    await git.run(("ls-remote", "--symref", address, "HEAD"), folder, hear, given)
    await git.run(("fetch", "--quiet", address, *_EVERYTHING), folder, hear, given)
    branch = DEFAULT_BRANCH
    if said.startswith(_HEAD):
        branch = said[len(_HEAD) :].split(b"\t")[0].decode("utf-8", "replace")
    repository.set_head(f"refs/heads/{branch}")
    repository.free()


def _reason(text: str, *, has_user: bool, imports: Imports) -> str:
    if _NO_LOGIN in text:
        if has_user:
            return "it refuses the user or the password"
        return "it wants a user and a password"
    if any(sign in text for sign in _TOO_LARGE):
        return f"it is larger than {imports.bytes_max} bytes"
    if _REDIRECTED.search(text):
        return "its server redirects to another address, which is not followed"
    return text[:REASON_CHARS_MAX].rstrip(".")

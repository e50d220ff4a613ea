"""Imports: the address of a repository checked, and the repository fetched from there.

An address may hold a password: ``shown`` is its form for answers, errors and logs.  A
server may be hostile: git has a deadline and a limit for what it writes, follows no
redirection, and reads no configuration of the account.
"""

import asyncio
from base64 import b64encode
from collections.abc import Collection
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import pygit2
from msgspec.structs import replace

from wikisync.core.origin import origin_of
from wikisync.core.system.private import make_private_folder
from wikisync.service.committing import DEFAULT_BRANCH
from wikisync.service.git_process import GitFailed, GitInput, GitRunner
from wikisync.service.settings import GitService, Imports

ADDRESS_CHARS_MAX = 2048
_BLOCKED = "is blocked: "
_NOT_ALLOWED = "Requests to hosts and IP addresses not on the Allow List are denied"
HOSTLESS = frozenset({"file"})


def address_problem(
    address: str, schemes: Collection[str], hosts: Collection[str] | None = None
) -> str | None:
    """What is wrong with an address; hosts are ``name`` or ``name:port``, None all."""
    parts = _parts(address)
    if parts is None:
        return f"{_BLOCKED}URI is invalid"
    if parts.scheme not in schemes:
        allowed = ", ".join(sorted(schemes))
        return f"{_BLOCKED}Only allowed schemes are {allowed}"
    if not parts.hostname:
        if parts.scheme in HOSTLESS:
            return None
        return f"{_BLOCKED}Hostname or IP address invalid"
    origin = origin_of(address)
    names = {parts.hostname, f"{parts.hostname}:{origin.port if origin else ''}"}
    if hosts is not None and names.isdisjoint(host.lower() for host in hosts):
        return f"{_BLOCKED}{_NOT_ALLOWED}"
    return None


def shown(address: str) -> str:
    """An address without user, password, query and fragment; empty for what is none."""
    parts = _parts(address)
    if parts is None:
        return ""
    bare = parts._replace(netloc=_host(parts), query="", fragment="")
    return urlunsplit(bare)


def without_user(address: str) -> tuple[str, tuple[str, str] | None]:
    """An address to ask for, and the user and password that were in it."""
    parts = _parts(address)
    assert parts is not None, "an address was checked when it was sent"
    bare = urlunsplit(parts._replace(netloc=_host(parts), fragment=""))
    if parts.username is None and parts.password is None:
        return bare, None
    return bare, (unquote(parts.username or ""), unquote(parts.password or ""))


def _host(parts: SplitResult) -> str:
    # a password may hold an @ of its own, so the last one ends it
    return parts.netloc.rpartition("@")[2]


def _parts(address: str) -> SplitResult | None:
    """The address taken apart; None for what is no address.

    ``urlsplit`` drops tabs and line ends silently, and those forge requests.
    """
    if len(address) > ADDRESS_CHARS_MAX or not address.isprintable() or " " in address:
        return None
    try:
        parts = urlsplit(address)
        # read for what it raises where the port is no number
        _port = parts.port
    except ValueError:
        return None
    return parts if parts.scheme else None


REASON_CHARS_MAX = 300
_HEAD = b"ref: refs/heads/"
_EVERYTHING = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class FetchFailed(Exception):
    """The repository did not come; the text is for people and has no secrets."""


async def fetch_repository(address: str, folder: Path, imports: Imports) -> None:
    """Make the folder a copy of the repository: its branches and tags.

    After a failure (FetchFailed) part of the folder may be there.
    """
    parts = _parts(address)
    if parts is not None and parts.query:
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
        reason = str(error)[:REASON_CHARS_MAX].rstrip(".")
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

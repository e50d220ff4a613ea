"""What REST cannot give, from a wiki's git repository: its HEAD, and attachments.

``wiki_head`` is one small request and tells whether anything changed.  The files
come by git's own protocol into a bare repository of the newest commit alone, kept
in the workspace (``git_fetch``).  The token is handed to git's library when it asks
for it, for the service's own origin alone, and stands in no address, no error and no
log; git follows no redirect to another host.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from pathlib import Path

from wikisync.api.address import encode_path
from wikisync.api.answers import Answer, Purpose
from wikisync.api.client import Client
from wikisync.api.request import Request
from wikisync.errors import (
    AuthenticationFailed,
    FolderError,
    NotFound,
    PermissionDenied,
    ProtocolViolation,
    RefusedInFront,
    Rejected,
    Unavailable,
)
from wikisync.model import AttachmentPath, WikiOwner

log = logging.getLogger(__name__)

ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
FETCH_TIMEOUT_S = 900.0
"""One fetch of a wiki's repository from its first to its last byte."""
RECHECK_S = 10.0
"""A file that is missing is looked for again on the service after this time."""
SCOPE_HINT = (
    "make a token with the scopes api and read_repository, or save the files from"
    " the wiki in a browser"
)

RETRY_S = 60.0
"""A fetch that failed is tried again after this time ..."""
REFUSED_S = 600.0
"""... and one that was refused after this time."""

_HEAD = rb"[0-9a-f]{4}(?P<id>[0-9a-f]{40}(?:[0-9a-f]{24})?) HEAD[\0\n]"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class NoRepository(NotFound):
    """A wiki's git repository cannot be had at all; the message says why."""


async def wiki_head(client: Client, owner: WikiOwner) -> str | None:
    """The newest commit of a wiki, as a sign of change.

    Returns:
        A commit's id; None where the service does not tell it: the wiki is empty,
        there is no access by git, or the token may not use it.

    Raises:
        Unavailable: the service does not answer now.
        RateLimited: it wants fewer requests.
    """
    try:
        return await _head(client, owner, waits=False)
    except NoRepository:
        return None


class WikiRepository:
    """The files of one wiki's newest commit, fetched when they are asked for."""

    def __init__(self, client: Client, owner: WikiOwner, cache: Path) -> None:
        """Name the wiki; nothing is fetched.

        Args:
            client: the open session.
            owner: the project or group.
            cache: folder for repositories, which can be removed at any time.
        """
        self._client = client
        self._owner = owner
        self._address = client.address.url(_path(owner))
        name = hashlib.sha256(self._address.encode()).hexdigest()[:16]
        self._folder = cache / f"{name}.git"
        self._turn = asyncio.Lock()
        self._checked_at: float | None = None
        self._failure: NoRepository | Unavailable | None = None
        """Why the last try failed: it stands for every file until the next one."""

    async def read(self, path: AttachmentPath) -> bytes:
        """A file's content.

        Cancelled, it waits until git's library notices, half a minute at most.

        Raises:
            NotFound: it is not in the wiki's repository.
            NoRepository: that cannot be had.
            Unavailable: the repository did not come in time.
            FolderError: the cache cannot be written.
        """
        content = await asyncio.to_thread(_read_file, self._folder, path)
        if content is None:
            async with self._turn:
                await self._renew()
                content = await asyncio.to_thread(_read_file, self._folder, path)
        if content is None:
            raise NotFound(
                f"cannot read attachment {path} of {self._owner}: it is not in the"
                " wiki's git repository",
                url=self._address,
                hint="look for it in the pages that mention it",
            )
        if content.startswith(_LFS_POINTER):
            raise NotFound(
                f"cannot read attachment {path} of {self._owner}: the wiki's git"
                " repository holds only a pointer to it (Git LFS)",
                url=self._address,
                hint="save the file from the wiki in a browser",
            )
        return content

    async def _renew(self) -> None:
        """Fetch the newest commit if it is not here yet."""
        if self._failure is not None:
            is_refused = isinstance(self._failure, NoRepository)
            if not self._is_due(REFUSED_S if is_refused else RETRY_S):
                raise self._failure
        elif self._folder.exists() and not self._is_due(RECHECK_S):
            return
        self._checked_at = self._client.now()
        try:
            head = await _head(self._client, self._owner, waits=True)
            held = await asyncio.to_thread(_held_commit, self._folder)
            if head is not None and head != held:
                await self._fetch()
        except (NoRepository, Unavailable) as error:
            self._failure = error
            raise
        self._failure = None

    def _is_due(self, pause_s: float) -> bool:
        return self._checked_at is None or (
            self._client.now() - self._checked_at >= pause_s
        )

    async def _fetch(self) -> None:
        # git's library is loaded only where a file has to come by git
        from wikisync.api import git_fetch

        log.info("fetching the git repository of the wiki of %s", self._owner)
        fetching = git_fetch.Fetching(self._client.token, self._address)
        job = asyncio.get_running_loop().run_in_executor(
            None,
            git_fetch.fetch,
            self._address,
            self._folder,
            fetching,
            self._client.proxy,
        )
        what = f"fetch the git repository of the wiki of {self._owner}"
        try:
            with self._client.telling(what):
                await asyncio.wait({job}, timeout=FETCH_TIMEOUT_S)
        finally:
            # git's library cannot be left alone with the folder
            fetching.stop.set()
            await asyncio.wait({job})
        try:
            job.result()
        except git_fetch.FetchRefused as exc:
            raise _no_git(self._owner, self._address, str(exc)) from exc
        except git_fetch.FetchStopped as exc:
            raise self._not_fetched(str(exc)) from exc
        except OSError as exc:
            raise FolderError(
                f"{self._folder} cannot be written: {exc.strerror or exc}",
                path=str(self._folder),
                hint="see that the disk has room and the folder is writable",
            ) from exc

    def _not_fetched(self, reason: str) -> Unavailable:
        token = self._client.token
        return Unavailable(
            f"cannot fetch the git repository of the wiki of {self._owner}:"
            f" {token.redact(reason) if token else reason}",
            url=self._address,
            hint="try again later",
        )


def _read_file(folder: Path, path: AttachmentPath) -> bytes | None:
    if not folder.is_dir():
        return None
    from wikisync.api.git_fetch import read_file

    return read_file(folder, path)


def _held_commit(folder: Path) -> str | None:
    if not folder.is_dir():
        return None
    from wikisync.api.git_fetch import held_commit

    return held_commit(folder)


# -- HEAD --------------------------------------------------------------------------


def _path(owner: WikiOwner) -> str:
    return f"/{encode_path(owner.full_path)}.wiki.git"


async def _head(client: Client, owner: WikiOwner, *, waits: bool) -> str | None:
    """The newest commit, or None where the wiki has none.

    Args:
        client: the open session.
        owner: the project or group.
        waits: whether it is worth waiting for where the service limits git.

    Raises:
        NoRepository: the service gives no access by git.
        RemoteError: it does not answer now.
    """
    purpose = Purpose(
        action=f"read the git repository of the wiki of {owner}",
        about="attachment",
        owner_kind=owner.kind,
        owner=owner.full_path,
        has_token=client.has_token,
    )
    path = f"{_path(owner)}/info/refs"
    request = Request(
        "GET", path, purpose, "service=git-upload-pack", is_git=True, waits=waits
    )
    try:
        answer = await client.send(request)
    except RefusedInFront as error:
        reason = f"something in front of the service refused it: {error.what}"
        raise _no_git(owner, client.shown(request), reason) from error
    except (AuthenticationFailed, PermissionDenied) as error:
        reason = "the token may not read the wiki's git repository"
        raise _no_git(owner, client.shown(request), reason) from error
    except (NotFound, ProtocolViolation, Rejected) as error:
        reason = "the service has no git repository of the wiki at its address"
        raise _no_git(owner, client.shown(request), reason) from error
    if answer.content_type != ADVERTISEMENT:
        reason = "something else than git answers there"
        raise _no_git(owner, client.shown(request), reason)
    return _head_of(answer)


def _head_of(answer: Answer) -> str | None:
    found = re.search(_HEAD, answer.body)
    return found["id"].decode() if found else None


def _no_git(owner: WikiOwner, url: str, reason: str) -> NoRepository:
    return NoRepository(
        f"the git repository of the wiki of {owner} cannot be had: {reason}",
        url=url,
        hint=SCOPE_HINT,
    )

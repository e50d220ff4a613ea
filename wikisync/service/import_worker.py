"""Fetching a repository from another server, in a process of its own.

A server may be slow, silent or hostile, and git's library cannot be stopped in
the middle: so the process is ended when the time is up, and nothing of it is
left.  Run as a module this is that process.  The address goes through the pipe
because it may hold a password, and arguments of a process are seen by everyone on the
machine.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import IO, NoReturn

import msgspec
import pygit2

from wikisync.child import standard_streams
from wikisync.decoding import json_decoder
from wikisync.frames import READY, read_frames, write_frame
from wikisync.processes import python_worker
from wikisync.service.committing import GitRefused
from wikisync.service.copying import copy_repository
from wikisync.service.import_address import is_same_server, shown, without_user
from wikisync.service.import_tunnel import NoWay, tunnel_to
from wikisync.worker import Worker, WorkerLost, WorkerNotStarted

GRACE_S = 5
"""After the deadline the process ends itself, if nobody is left to end it."""
REASON_CHARS_MAX = 300
TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables that say which servers it may believe."""


class FetchJob(msgspec.Struct, frozen=True):
    """One repository to be fetched."""

    address: str
    folder: str
    """Where to, as an absolute path; not there yet."""
    deadline_s: float
    bytes_max: int
    allows_private: bool = False
    """Whether it may come from this machine or a private network."""


_JOB = json_decoder(FetchJob)
_REASON = json_decoder(str)


class FetchFailed(Exception):
    """The repository did not come; the text is for people and has no secrets."""


async def fetch_repository(job: FetchJob) -> None:
    """Make the folder a copy of the repository.

    When it fails or is cancelled, the process is gone and part of the folder
    may be there.

    Raises:
        FetchFailed: no repository there, too large, or not in time.
    """
    worker = Worker(
        python_worker("wikisync.service.import_worker"),
        _REASON,
        wait_seconds_max=job.deadline_s,
        variables=TRUST,
        stderr=None,
    )
    try:
        reason = await worker.ask_async(job)
    except WorkerNotStarted:
        reason = "no process can be started for it"
    except WorkerLost as lost:
        if lost.is_late:
            raise FetchFailed(
                f"The repository at {shown(job.address)} did not arrive within"
                f" {job.deadline_s:g} seconds."
            ) from None
        reason = "git broke off"
    finally:
        await asyncio.to_thread(worker.end)
    if reason:
        raise FetchFailed(
            f"The repository at {shown(job.address)} could not be copied: {reason}."
        )


class _Fetching(pygit2.RemoteCallbacks):
    """What git's library asks while it fetches."""

    def __init__(
        self,
        address: str,
        user: tuple[str, str] | None,
        bytes_max: int,
        give_up: Callable[[str], NoReturn],
    ) -> None:
        super().__init__()
        self._give_up = give_up
        self._address = address
        self._user = user
        self._bytes_max = bytes_max
        self._is_asked = False

    def credentials(
        self,
        url: str,
        username_from_url: str | None,
        allowed_types: pygit2.enums.CredentialType,
    ) -> pygit2.UserPass:
        """The user and password of the address, once."""
        del username_from_url
        if not is_same_server(self._address, url):
            raise GitRefused("it sends on to another server, which gets no password")
        is_wanted = allowed_types & pygit2.enums.CredentialType.USERPASS_PLAINTEXT
        if self._user is None or not is_wanted:
            raise GitRefused("it wants a user and a password")
        if self._is_asked:
            raise GitRefused("it refuses the user or the password")
        self._is_asked = True
        return pygit2.UserPass(*self._user)

    def certificate_check(self, certificate: object, valid: bool, host: bytes) -> bool:
        """Refuse a server that is not who it says.

        Through a proxy the library asks again for ever, so the process ends here.
        """
        del certificate, host
        if not valid:
            self._give_up("the certificate of its server is not trusted")
        return True

    def transfer_progress(self, stats: pygit2.remotes.TransferProgress) -> None:
        """Stop at the most that is taken."""
        if stats.received_bytes > self._bytes_max:
            raise GitRefused(f"it is larger than {self._bytes_max} bytes")


def main(source: IO[bytes], target: IO[bytes]) -> None:
    """Do jobs; the answer to each is what went wrong, or an empty text."""

    def answer(reason: str) -> None:
        write_frame(target, msgspec.json.encode(reason))

    def give_up(reason: str) -> NoReturn:
        answer(reason)
        os._exit(0)

    write_frame(target, READY)
    for frame in read_frames(source):
        job = _JOB.decode(frame)
        signal.alarm(ceil(job.deadline_s) + GRACE_S)
        answer(_reason(job, give_up))
        signal.alarm(0)


def _reason(job: FetchJob, give_up: Callable[[str], NoReturn]) -> str:
    address, user = without_user(job.address)
    try:
        _fetch(job, address, user, give_up)
    except NoWay as error:
        return str(error)
    except GitRefused as error:
        # the query of an address may hold a token
        text = str(error).replace(job.folder, "the copy")
        query = address.partition("?")[2]
        text = text.replace(query, "...") if query else text
        return " ".join(text.split())[:REASON_CHARS_MAX].rstrip(".") or "git failed"
    return ""


def _fetch(
    job: FetchJob,
    address: str,
    user: tuple[str, str] | None,
    give_up: Callable[[str], NoReturn],
) -> None:
    def copy(source: str, proxy: str | None) -> None:
        copy_repository(
            source,
            Path(job.folder),
            callbacks=lambda: _Fetching(source, user, job.bytes_max, give_up),
            proxy=proxy,
        )

    if address.startswith("file:"):
        copy(address, None)
        return
    with tunnel_to(address, allows_private=job.allows_private) as tunnel:
        try:
            copy(tunnel.address, tunnel.proxy)
        except GitRefused:
            if tunnel.failure:
                raise NoWay(tunnel.failure) from None
            raise


if __name__ == "__main__":
    with standard_streams() as streams:
        main(*streams)

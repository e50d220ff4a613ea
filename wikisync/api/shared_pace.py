"""The pace of a token, shared by all processes of this user with the token.

One small file for each service and token, for this user alone; the token is in its
name as a digest.  It is locked for as long as it takes to read and write it.  Where
that cannot be done the process goes on with what it knows itself: a budget that is not
shared costs some refusals, and nothing else.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from wikisync.api.address import ServiceAddress
from wikisync.api.pace import Pace
from wikisync.api.secret import Secret
from wikisync.decoding import json_decoder
from wikisync.locks import lock, unlock
from wikisync.private import FILE_MODE, keep_private, make_private_folder

log = logging.getLogger(__name__)

BYTES = 4096
"""Every file has this size, so that none is ever half as long."""
LOCK_TRIES = 250
LOCK_PAUSE_S = 0.001
"""A process holds the lock for less than this, but for longer where the processor was
taken from it.  One that has it after all tries was stopped."""
WITHOUT_S = 10.0
"""The time without the file, where it could not be locked or opened."""
KEPT_S = 86_400.0
"""A file that nobody wrote for so long is removed."""

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_PACE = json_decoder(Pace)


def pace_file(folder: Path, address: ServiceAddress, token: Secret | None) -> Path:
    """The file of a service and a token, in the folder of all of them."""
    secret = "" if token is None else token.reveal()
    digest = hashlib.sha256(f"{address}\n{secret}".encode())
    return folder / f"{digest.hexdigest()[:32]}.json"


class SharedPace:
    """What is known of a token's limits, by this process or by all of them."""

    def __init__(
        self,
        path: Path | None,
        clock: Callable[[], float],
        *,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open nothing yet.

        Args:
            path: of the file; None for this process alone.
            clock: seconds since any moment.
            wall: seconds since the epoch, which is what the processes share.
            sleep: waits for another process to unlock the file.
        """
        self._path = path
        self._clock, self._wall, self._sleep = clock, wall, sleep
        self._pace = Pace.unknown(clock())
        self._is_unread = True
        self._descriptor: int | None = None
        self._next_try_at = float("-inf")

    @contextmanager
    def held(self) -> Iterator[Pace]:
        """The state, which nobody else changes while the block lasts."""
        self._is_unread = False
        descriptor = self._locked()
        if descriptor is None:
            self._pace = self._pace.settled(self._clock())
            yield self._pace
            return
        try:
            ahead_s = self._wall() - self._clock()
            self._pace = self._read(descriptor, ahead_s).settled(self._clock())
            yield self._pace
            written = msgspec.json.encode(self._pace.shifted(ahead_s)).ljust(BYTES)
            os.pwrite(descriptor, written[:BYTES], 0)
        except OSError as exc:
            self._go_on_without(exc)
        finally:
            with suppress(OSError):
                unlock(descriptor)

    @property
    def known(self) -> Pace:
        """The state as this process saw it last."""
        if self._is_unread:
            with self.held():
                pass
        return self._pace

    def forget(self) -> None:
        """Nothing is known any more: a person knows better."""
        with self.held() as pace:
            fresh = Pace.unknown(self._clock())
            for name in Pace.__struct_fields__:
                setattr(pace, name, getattr(fresh, name))

    def close(self) -> None:
        """Leave the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _read(self, descriptor: int, ahead_s: float) -> Pace:
        data = os.pread(descriptor, BYTES, 0)
        try:
            return _PACE.decode(data.rstrip(b"\0 ")).shifted(-ahead_s)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self._pace

    def _locked(self) -> int | None:
        """The file, open and locked; None where that is not possible now."""
        if self._path is None or self._clock() < self._next_try_at:
            return None
        try:
            descriptor = self._open(self._path)
            for _ in range(LOCK_TRIES):
                try:
                    lock(descriptor)
                except BlockingIOError:
                    self._sleep(LOCK_PAUSE_S)
                else:
                    return descriptor
        except OSError as exc:
            self._go_on_without(exc)
        else:
            self._go_on_without("another process keeps it locked")
        return None

    def _open(self, path: Path) -> int:
        if self._descriptor is not None and os.fstat(self._descriptor).st_nlink:
            return self._descriptor
        self.close()
        make_private_folder(path.parent)
        is_new = not path.exists()
        self._descriptor = os.open(path, _FLAGS, FILE_MODE)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise OSError(f"{path} is not a file")
        keep_private(path)
        if is_new:
            _sweep(path, self._wall() - KEPT_S)
        return self._descriptor

    def _go_on_without(self, reason: object) -> None:
        log.info("the request budget is not shared: %s: %s", self._path, reason)
        self._next_try_at = self._clock() + WITHOUT_S
        self.close()


def _sweep(own: Path, before: float) -> None:
    """Remove the files of services and tokens that are not used any more."""
    for path in own.parent.glob("*.json"):
        with suppress(OSError):
            if path != own and path.stat().st_mtime < before:
                path.unlink()

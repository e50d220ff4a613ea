"""Every error that wikisync raises on purpose, and the exit codes.  Pure.

::

    WikisyncError
    ├── UsageError              a command line that cannot be meant
    ├── ConfigError             wikisync.toml, all problems at once
    │   └── Unagreed            it is not agreed to what it runs, reads and contacts
    ├── RemoteError             the service, always with the URL asked
    │   ├── Unavailable         no answer, or the service says "later"
    │   │   ├── RefusedInFront  a gateway or the like answered in its place
    │   │   └── NoAnswerInTime  it said nothing, or too little
    │   ├── RateLimited         429; retry_after_s when the service told it
    │   ├── AuthenticationFailed
    │   ├── PermissionDenied
    │   ├── NotFound
    │   ├── Rejected            the service refused what was sent
    │   └── ProtocolViolation   an answer that is not this API
    │       └── AnswerTooLarge  it is more than the client takes
    ├── FolderError             a path in the local folder
    │   └── PlaceTaken          a link, a folder or a pipe has a file's name
    ├── SyncError
    │   ├── PreconditionFailed  the other side changed since it was read
    │   ├── Halted              a safety stop; a person must say yes
    │   └── StateError          .wikisync/state.db
    │       └── StateDamaged    it is set aside and made anew
    ├── RenderError             a page that cannot be rendered
    │   └── LimitExceeded       it takes too much time or memory
    ├── SiteError               theme or output folder
    │   └── UnknownTheme        a theme, or an option of one, that is not there
    └── ServiceError            the embedded service cannot start or load

A message says what failed with the object named, in lower case, without a full
stop.  A hint says the next command to run or key to set.  No message holds a
secret: URLs are given without user information and token parameters.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import PurePath

Breach = Literal["time", "memory", "lost"]
"""Which limit: processor time, memory, or none that is known: the process ended, or
did not answer, as on a machine that has no memory or no time left."""


def command_line(*words: str | PurePath) -> str:
    """A command for a hint, to be copied: each word is one, whatever it is called."""
    import shlex

    return shlex.join(["wikisync", *map(str, words)])


def lowered(text: str) -> str:
    """A foreign sentence as part of one of ours."""
    return text[:1].lower() + text[1:]


class ExitCode(IntEnum):
    """What a command returns to the shell."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    HELD = 3
    """Done, but something is held or a problem remains."""
    HALTED = 4
    INTERRUPTED = 130


class WikisyncError(Exception):
    """Base of all errors meant for a person; shown without a traceback."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(WikisyncError):
    """The command line names something that cannot be."""

    exit_code = ExitCode.USAGE


class ConfigError(WikisyncError):
    """``wikisync.toml`` is wrong; carries every problem found in it."""

    exit_code = ExitCode.USAGE

    def __init__(
        self, message: str, *, problems: tuple[str, ...] = (), hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class Unagreed(ConfigError):
    """This user has not agreed to what ``wikisync.toml`` runs, reads and contacts."""

    def __init__(
        self,
        message: str,
        *,
        problems: tuple[str, ...],
        hint: str,
        agree: Callable[[], None],
    ) -> None:
        super().__init__(message, problems=problems, hint=hint)
        self.agree = agree
        """Keeps that the user agrees to what ``problems`` names."""


class RemoteError(WikisyncError):
    """The service did not do what was asked."""

    may_pass = False
    """Whether the client asks again, which may help."""

    def __init__(
        self,
        message: str,
        *,
        url: str = "",
        status: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.url = url
        self.status = status
        self.after_s: float | None = None
        """Pause that the service asked for; after a 429 the one to make."""


class Unavailable(RemoteError):
    """No connection, a time-out, or a server error that may pass."""


class RefusedInFront(Unavailable):
    """A gateway, a filter or a sign-in page refused, whatever the token may do."""

    def __init__(
        self,
        message: str,
        *,
        url: str = "",
        status: int | None = None,
        hint: str | None = None,
        what: str = "",
        is_write: bool = False,
    ) -> None:
        super().__init__(message, url=url, status=status, hint=hint)
        self.what = what
        """What it answered, in a few words."""
        self.is_write = is_write
        """Whether a change was refused, which may be for its text alone."""


class NoAnswerInTime(Unavailable):
    """The service said nothing, or so little that it would never end."""


class RateLimited(RemoteError):
    """The service answered 429 and kept doing so."""

    def __init__(
        self,
        message: str,
        *,
        url: str = "",
        status: int | None = 429,
        retry_after_s: float | None = None,
        hint: str | None = None,
        is_write: bool = False,
    ) -> None:
        super().__init__(message, url=url, status=status, hint=hint)
        self.retry_after_s = retry_after_s
        self.is_write = is_write
        """Whether a change was refused; reads may have a limit of their own."""
        self.is_everywhere = False
        """Whether all wikis of the service met it, not this one alone."""


class AuthenticationFailed(RemoteError):
    """The token is missing, wrong, expired or revoked."""


class PermissionDenied(RemoteError):
    """The token is known but may not do this."""


class NotFound(RemoteError):
    """The object does not exist, or the token may not know that it does."""


class Rejected(RemoteError):
    """The service refused the values sent (400, 409, 413, 422)."""


class ProtocolViolation(RemoteError):
    """An answer that this API never gives: HTML, a cut body, a wrong shape."""


class AnswerTooLarge(ProtocolViolation):
    """An answer with more bytes than the client takes; asked again, it is as large."""


class FolderError(WikisyncError):
    """A path in the local folder cannot be used."""

    def __init__(
        self, message: str, *, path: str = "", hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        """The part of a path that is in the way (``folder.safe_open``), else empty."""

    @property
    def is_of_disk(self) -> bool:
        """Whether the disk itself refuses, so that no other file can be written."""
        return getattr(self.__cause__, "errno", None) in _OF_DISK


_OF_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class PlaceTaken(FolderError):
    """Something that is no file has a file's name; it is left alone."""


class SyncError(WikisyncError):
    """A cycle cannot go on."""


class PreconditionFailed(SyncError):
    """A replica no longer holds what the decision was made on."""


class Halted(SyncError):
    """A safety stop stopped the cycle before it did harm."""

    exit_code = ExitCode.HALTED


class StateError(SyncError):
    """The workspace's state cannot be read or belongs elsewhere."""


class StateDamaged(StateError):
    """The workspace's state is damaged, or of another version of wikisync."""


class RenderError(WikisyncError):
    """A page cannot be rendered; the page is shown as source instead."""


class LimitExceeded(RenderError):
    """A page takes more time or memory than it may; its text may be sound."""

    def __init__(
        self, message: str, breach: Breach, *, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.breach = breach


class SiteError(WikisyncError):
    """The site cannot be built: theme, option or output folder."""


class UnknownTheme(SiteError):
    """There is no theme of this name, or it has no such option."""

    exit_code = ExitCode.USAGE


class ServiceError(WikisyncError):
    """The embedded service cannot start, or cannot load a folder."""

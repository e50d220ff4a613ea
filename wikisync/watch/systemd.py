"""What systemd wants of a service: a unit file, and messages on the state of the watch.

The protocol is one datagram of ``KEY=value`` lines to the socket that
``NOTIFY_SOCKET`` names (sd_notify(3)); elsewhere nothing is said to anybody.
"""

import getpass
import os
import re
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from wikisync.core.packaged import packaged_text
from wikisync.errors import FolderError, UsageError

SOCKET_VARIABLE = "NOTIFY_SOCKET"
WATCHDOG_VARIABLE = "WATCHDOG_USEC"
STATUS_CHARS_MAX = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Notifier:
    """Notifies systemd, where it wants that; never fails for it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get(SOCKET_VARIABLE, "")
        # a name that begins with @ is in the abstract name space
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        try:
            usec = int(environment.get(WATCHDOG_VARIABLE, "0"))
        except ValueError:
            usec = 0
        self.watchdog_s = usec / 2_000_000 if usec > 0 and name else None
        """How often it wants to hear that we live; None for never."""

    def ready(self) -> None:
        """Everything is set up."""
        self._notify("READY=1")

    def reloading(self) -> None:
        """The configuration is read anew; ``ready`` follows."""
        self._notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The end has begun."""
        self._notify("STOPPING=1")

    def alive(self) -> None:
        """Nothing hangs."""
        self._notify("WATCHDOG=1")

    def status(self, line: str) -> None:
        """The state in one line for people."""
        clean = re.sub(r"\s+", " ", line)[:STATUS_CHARS_MAX]
        self._notify(f"STATUS={clean}")

    def _notify(self, message: str) -> None:
        if not self._address:
            return
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        with socket.socket(socket.AF_UNIX, kind) as link:
            link.setblocking(False)
            try:
                link.sendto(message.encode(), self._address)
            except OSError:
                return  # nobody listens any more; that is no reason to fail


def unit_text(
    workspace: Path,
    command: str,
    words: Sequence[str] = (),
    *,
    is_system: bool,
    publishes: bool = False,
) -> str:
    """A unit file that watches one workspace, unless none can name the folder.

    A published site is for a web server to read, and shows what the pages say.
    """
    why = "it has a line break or another control character"
    if _CONTROL.search(str(workspace)):
        said = f"a unit file cannot name the folder {str(workspace)!r}: {why}"
        raise FolderError(said, hint="rename the folder")
    for word in filter(_CONTROL.search, words):
        said = f"a unit file cannot name {word!r}: {why}"
        raise UsageError(said, hint="omit that option")
    # what begins so is in one kind of unit alone
    ours, others = ("system:", "user:") if is_system else ("user:", "system:")
    lines = packaged_text(__package__, "unit.service").split("\n")
    wanted = [one.removeprefix(ours) for one in lines if not one.startswith(others)]
    line = [command, "watch", "-C", str(workspace), *words]
    return "\n".join(wanted).format(
        description=str(workspace).replace("%", "%%"),
        user=getpass.getuser() if is_system else "",
        start=" ".join(map(_quoted, line)),
        workspace=_quoted(str(workspace)),
        umask="0022" if publishes else "0077",
    )


def _quoted(word: str) -> str:
    """A word of a command line as unit files write it; plain where it may be."""
    word = word.replace("%", "%%")
    if re.fullmatch(r"[A-Za-z0-9_./%+:@-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"'


def command_path() -> str:
    """Where the ``wikisync`` command is, beside the Python that runs it."""
    beside = Path(sys.executable).with_name("wikisync")
    return os.fspath(beside if beside.exists() else Path(sys.argv[0]).resolve())

"""Guards of a workspace: one process, its own folder, and nothing nested.

The kernel's lock ends with its process.  The marker ``.wikisync/folder-id``
distinguishes a workspace from another one, and from an empty folder where a disk should
be.  One that was copied or moved is adopted anew: its first cycle deletes nothing.  One
that comes back is shared by two machines with its state.  Whether the folder of a wiki
is the one that was synced before, its disk, inode and birth tell.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from wikisync.core import layout
from wikisync.core.decoding import KeptAsText, json_decoder
from wikisync.core.system.libc import identity_of
from wikisync.core.system.locks import close_locked, is_locked, lock
from wikisync.core.system.private import (
    FILE_MODE,
    make_private_folder,
    read_private_file,
)
from wikisync.errors import FolderError, Halted
from wikisync.folder import safe_open
from wikisync.folder.ignore import CONFIG_FILE
from wikisync.folder.swap import PRIVATE, write_atomically

WATCH = "`wikisync watch` is running"
"""What is said of a holder that carries edits over all the time."""
HOLDER_BYTES_MAX = 4096
MARKER_BYTES_MAX = 200
MOUNTS = Path("/proc/self/mountinfo")
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))

FileNumber = tuple[int, int]
"""Device and inode: one pair for all names of a folder."""

_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NETWORK = re.compile(
    r"9p|afs|ceph|cifs|coda|drvfs|glusterfs|lustre|ncpfs|nfs4?|smb3|smbfs|vboxsf|virtiofs"
    r"|fuse\.(?:glusterfs|rclone|s3fs|sshfs|vmhgfs-fuse)"
)
"""File systems on which locks or renames do not hold for everyone who writes."""


# -- one process -------------------------------------------------------------------


@contextmanager
def locked(private: Path, what: str, *, is_watch: bool = False) -> Iterator[int]:
    """Hold a folder of ours against another wikisync by its lock; makes both."""
    try:
        # the folder above is a person's, who may want it open
        safe_open.make_folder(private.parent)
        make_private_folder(private)
        descriptor = os.open(private / layout.LOCK_FILE, _LOCK_FLAGS, FILE_MODE)
    except OSError as exc:
        raise safe_open.folder_error(
            "write to", str(exc.filename or private), exc
        ) from exc
    try:
        try:
            lock(descriptor)
        except BlockingIOError as exc:
            holder = _holder(descriptor)
            message = f"another wikisync is running in {what}{holder}"
            hint = "wait until it finishes, or stop it"
            if WATCH in holder:
                message = f"{holder.removeprefix(': ')} in {what}"
                ask = private / layout.ASK_FILE
                hint = f"to run this command, stop it; to sync now: touch {ask}"
            raise FolderError(message, hint=hint) from exc
        except OSError as exc:
            raise safe_open.folder_error("lock", str(private), exc) from exc
        _sign(descriptor, is_watch=is_watch)
        yield descriptor
    finally:
        close_locked(descriptor)


def holder_of(private: Path) -> str | None:
    """Who holds a folder of ours, for a message; None where nobody does."""
    path = private / layout.LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise safe_open.folder_error("read", str(path), exc) from exc
    # a disk without locks: whoever wants one gets an error
    with safe_open.closing(descriptor), suppress(OSError):
        if is_locked(descriptor):
            return _holder(descriptor).removeprefix(": ") or "another process"
    return None


class _Holder(msgspec.Struct, frozen=True):
    pid: int
    host: str
    since: float
    is_watch: bool


_HOLDER = json_decoder(_Holder)


def _sign(descriptor: int, *, is_watch: bool) -> None:
    holder = _Holder(os.getpid(), socket.gethostname(), time.time(), is_watch)
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)


def _holder(descriptor: int) -> str:
    try:
        holder = _HOLDER.decode(os.pread(descriptor, HOLDER_BYTES_MAX, 0))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.since))
    except (OSError, msgspec.DecodeError, ValueError, OverflowError):
        return ""
    when = f"{holder.pid} on {holder.host}, since {since}"
    return f": {WATCH} (pid {when})" if holder.is_watch else f": process {when}"


# -- the marker --------------------------------------------------------------------


class Identity(KeptAsText, frozen=True):
    """Which workspace this is, and where; kept in its state as one text."""

    marker: str
    """What ``folder-id`` says."""
    place: str
    """Device and inode of the workspace's own folder."""
    machine: str
    """Of the machine, made unrecognisable."""


class StateMatch(Enum):
    """How a workspace stands to its state."""

    NEW = "new"
    """The state knows nothing yet."""
    SAME = "same"
    COPIED = "copied"
    """It was copied or moved, or the state is another's: no deletes this cycle."""
    SHARED = "shared"
    """It is back where it was before: two machines use one state in turn."""


def adopt(private: Path) -> Identity:
    """The workspace's identity, with a marker made where there is none."""
    marker = _marker(private)
    if marker is None:
        marker = os.urandom(16).hex()
        # or `git add` takes the state, and `git clean` and a checkout replace it
        files = {layout.GIT_IGNORE_FILE: "*", layout.FOLDER_ID_FILE: marker}
        # a writer clears its folder of what others left: never the trash's folder
        temporary = private / layout.TEMPORARY_FOLDER
        for name, line in files.items():
            content = f"{line}\n".encode()
            write_atomically(private, name, content, temporary=temporary, modes=PRIVATE)
    return _identity(private, marker)


def state_match(
    private: Path, recorded: Identity | None, earlier: Collection[Identity] = ()
) -> StateMatch:
    """See whether this is the workspace that the state knows.

    ``recorded`` and ``earlier`` are what ``adopt`` gave, None before the first sync.
    Halted where the state knows a workspace, and here is no marker of one.
    """
    marker = _marker(private)
    if recorded is None:
        return StateMatch.NEW
    if marker is None:
        raise Halted(
            f"{private.parent} does not look like the workspace that was synced:"
            f" {private / layout.FOLDER_ID_FILE} is missing; nothing was changed",
            hint="if its disk is not mounted, mount it; to accept the folder as it is,"
            " run wikisync adopt, which deletes nothing",
        )
    now = _identity(private, marker)
    if now == recorded:
        return StateMatch.SAME
    # a disk may have another number after each start, its machine is the same
    is_back = any(
        now == one or now.machine == one.machine != recorded.machine for one in earlier
    )
    return StateMatch.SHARED if is_back else StateMatch.COPIED


def _marker(private: Path) -> str | None:
    path = private / layout.FOLDER_ID_FILE
    try:
        marker = read_private_file(path, MARKER_BYTES_MAX).decode().strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        marker = ""
    except OSError as exc:
        raise safe_open.folder_error("read", str(path), exc) from exc
    return marker or None


def _identity(private: Path, marker: str) -> Identity:
    with safe_open.folder_errors("read", private):
        status = private.stat()
    name = socket.gethostname()
    for path in MACHINE_IDS:
        # without a free descriptor it would look like another machine
        if path.is_file() and os.access(path, os.R_OK):
            with safe_open.folder_errors("read", path):
                name = path.read_text("ascii", "replace").strip() or name
            break
    # a number of this machine; the system's own is secret, so it is hashed
    machine = hashlib.sha256(f"wikisync {name}".encode()).hexdigest()[:32]
    return Identity(marker, f"{status.st_dev:x}:{status.st_ino:x}", machine)


# -- a wiki's folder ---------------------------------------------------------------


class FolderIdentity(KeptAsText, frozen=True):
    """Which folder a wiki has; kept in the workspace's state as one text.

    Another one, or an older copy of its disk, lacks pages that nobody deleted.
    """

    disk: int
    """The number that the file system gives itself, or 0.

    Not the device's number, which for many disks is another one after each start:
    most file systems make theirs of what is written on the disk.  Where one is made
    of the device's number all the same, its change costs a cycle without removals.
    """
    inode: int
    changed_ns: int
    """When something in it was last made, renamed or removed.  As long as that
    stays, it is the same folder, and nobody has to ask for its birth, which takes a
    library."""
    birth: str
    """See ``identity_of``: a folder that is removed and copied back often gets the
    inode that it had.  Empty where the disk does not know."""

    def is_same_folder(self, other: FolderIdentity) -> bool:
        """Whether both are one folder; a copy of its disk, block by block, counts."""
        mine = (self.disk, self.inode, self.birth)
        return mine == (other.disk, other.inode, other.birth)


def current_folder(root: Path, known: FolderIdentity | None = None) -> FolderIdentity:
    """Which folder is at a path now."""
    with safe_open.opened_root(root) as descriptor:
        with safe_open.folder_errors("read", root):
            disk = os.fstatvfs(descriptor).f_fsid
            status = os.fstat(descriptor)
        now = FolderIdentity(disk, status.st_ino, status.st_ctime_ns, "")
        if known is not None and now == replace(known, birth=""):
            return known
        return replace(now, birth=identity_of(descriptor))


def refuse_emptied(root: Path, *, known_pages: int) -> None:
    """Stop where a folder that had pages is empty now; a disk may be away."""
    if not known_pages:
        return
    step = "check that its disk is there; nothing was deleted on the wiki"
    with (
        safe_open.opened_root(root, missing=step) as descriptor,
        safe_open.folder_errors("read", root),
        os.scandir(descriptor) as entries,
    ):
        is_empty = not any(entry.name != layout.PRIVATE_FOLDER for entry in entries)
    if is_empty:
        raise Halted(
            f"{root} is empty but had {known_pages} pages; nothing was changed",
            hint="if its disk is not mounted, mount it; to download the pages again,"
            " run wikisync adopt, which deletes nothing",
        )


# -- one folder in another ---------------------------------------------------------


def refuse_overlaps(workspace: Path, folders: Sequence[Path]) -> None:
    """See that no wiki's folder lies in another, nor this workspace in one."""
    paths = {folder: os.path.realpath(folder) for folder in folders}
    _refuse_twins(folders, paths)
    own = os.path.realpath(workspace)
    private = os.path.join(own, layout.PRIVATE_FOLDER)  # noqa: PTH118 - speed
    above_own = [own, *_parents(own)]
    for folder, path in paths.items():
        if path in above_own:
            raise _overlap(folder, "contains the workspace itself")
        if f"{path}/".startswith(f"{private}/"):
            raise _overlap(folder, "is inside wikisync's private folder")
        if _is_workspace(path):
            raise _overlap(folder, "is another workspace")
    outer = next((above for above in above_own[1:] if _is_workspace(above)), None)
    if outer is not None:
        raise _overlap(workspace, f"is inside the workspace {outer}")


def _refuse_twins(folders: Sequence[Path], paths: Mapping[Path, str]) -> None:
    """Linear, for a workspace can have thousands: no folder is compared twice."""
    known: dict[str | FileNumber, Path] = {}
    for folder in folders:
        names = _names(paths[folder])
        for name in names:
            if (other := known.get(name)) is not None:
                raise _overlap(folder, f"is the same folder as {other}")
        known |= dict.fromkeys(names, folder)
    free: set[str] = set()
    for folder in folders:
        for above in _parents(paths[folder]):
            if above in free:
                break
            for name in _names(above):
                if (other := known.get(name)) is not None:
                    raise _overlap(folder, f"is inside {other}, another wiki's folder")
            free.add(above)


def _names(path: str) -> list[str | FileNumber]:
    """What a path is known by: itself, and the number of its file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - speed
    except OSError:
        return [path]
    return [path, (status.st_dev, status.st_ino)]


def _parents(path: str) -> Iterator[str]:
    """The folders above a real path, the nearest first."""
    while (above := os.path.dirname(path)) != path:  # noqa: PTH120 - speed
        yield above
        path = above


def _is_workspace(folder: str) -> bool:
    """Where it cannot be read: no; whoever goes on to use it reports why."""
    has_file = os.path.exists(f"{folder}/{CONFIG_FILE}")  # noqa: PTH110 - speed
    return has_file and os.path.isdir(f"{folder}/{layout.PRIVATE_FOLDER}")  # noqa: PTH112


def _overlap(folder: Path, what: str) -> FolderError:
    return FolderError(
        f"{folder} {what}", hint="give each wiki its own folder, side by side"
    )


# -- the disk ----------------------------------------------------------------------


def refuse_network_disk(folder: Path, *, is_allowed: bool = False) -> str:
    """See that a folder is on no network's disk, as far as Linux says.

    Gives its file system; empty where that is not known, or not asked for.
    """
    if is_allowed:
        return ""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    kind = file_system_of(str(folder.resolve()), mounts)
    if _NETWORK.fullmatch(kind):
        raise FolderError(
            f"{folder} is on a network file system ({kind}), where locks and renames"
            f" are not reliable across machines",
            hint="use a local folder, or add --network-disk if only this machine"
            " writes there",
        )
    return kind


def file_system_of(path: str, mounts: str) -> str:
    """The file system that a path is on, by the kernel's list of mounts, or empty."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split(" ")
        if not separator or len(fields) < 5:
            continue
        # the kernel writes space, tab, newline and backslash as octal numbers
        point = fields[4]
        for octal, char in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
            point = point.replace(f"\\{octal}", char)
        is_above = path == point or path.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind

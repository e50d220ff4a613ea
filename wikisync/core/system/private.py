"""Folders and files for this user alone, whatever the umask says.

Everything of ours that pages, tokens or their traces can lie in is made here.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a file is made: nothing has its name yet, and no link is followed."""
_LOOK = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def expanded(path: str) -> Path:
    """The path with ``~`` as a user's folder, or as it is where none is known."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib raises there


def make_private_folder(folder: Path) -> bool:
    """Make a folder, and those above it that are missing, for this user alone.

    Gives whether it was there and others could use it until now; OSError where it
    cannot be made (FileNotFoundError: another process removed it meanwhile).
    """
    try:
        return _make(folder)
    except FileNotFoundError:
        make_private_folder(folder.parent)
        return _make(folder)


def _make(folder: Path) -> bool:
    """Make one folder in a folder that is there; returns and raises the same."""
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        if not (stat.S_ISDIR(folder.lstat().st_mode) or folder.is_dir()):
            raise
        return keep_private(folder)
    if os.geteuid() == 0:
        descriptor = os.open(folder, _LOOK | os.O_DIRECTORY | os.O_NOFOLLOW)
        leave_to_owner(descriptor, folder.parent)
        os.close(descriptor)
    return False


def leave_to_owner(new: int, folder: Path | int) -> None:
    """From root: give what it made in a private folder of somebody to them.

    They run the next command, which has to read it.  What the system refuses stays.
    """
    if os.geteuid() == 0:
        above = os.stat(folder)  # noqa: PTH116 - or a descriptor
        if not above.st_mode & _OTHERS:
            with suppress(OSError):
                os.fchown(new, above.st_uid, above.st_gid)


def _opened_new(path: Path) -> int:
    descriptor = os.open(path, NEW_FILE, FILE_MODE)
    leave_to_owner(descriptor, path.parent)
    return descriptor


def make_private_file(path: Path) -> None:
    """Make an empty file for this user alone, for a library that says what is wrong."""
    try:
        os.close(_opened_new(path))
    except FileExistsError:
        keep_private(path)
    except OSError:
        return


def keep_private(path: Path) -> bool:
    """Take away everybody else's rights to a file of this user's, if there are any."""
    with suppress(OSError):
        descriptor = os.open(path, _LOOK)
        try:
            status = os.fstat(descriptor)
            if status.st_mode & _OTHERS and status.st_uid == os.geteuid():
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~_OTHERS)
                return True
        finally:
            os.close(descriptor)
    return False


def read_private_file(path: Path, bytes_max: int) -> bytes:
    """What a file of ours holds; OSError for a link, a pipe or a larger one."""
    descriptor = os.open(path, _LOOK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if status.st_size > bytes_max:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
        # a buffer is made for all that is asked for
        return file.read(status.st_size)


def write_private_file(path: Path, content: bytes) -> None:
    """Put a file in the place of another one, in a folder of ours; or OSError.

    Whoever reads it meanwhile sees a whole one; after a power cut there may be none.
    """
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with os.fdopen(_opened_new(new), "wb") as file:
            file.write(content)
        new.replace(path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def private_opener(path: str, flags: int) -> int:
    """For ``open``: a file that is made is for this user alone."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)

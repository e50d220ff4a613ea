"""Going down a folder by descriptors, never through a symbolic link.

Slugs come from the network, so each component is opened in the folder opened before it,
with no-follow, and made the same way.  Every ``OSError`` below a folder becomes a
``FolderError`` with the path relative to that folder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from wikisync.errors import FolderError, PlaceTaken
from wikisync.folder.attributes import inherit_owner

CHUNK_BYTES = 1024 * 1024
"""How much of a file of any size goes through memory at once."""
SMALL_BYTES = 32 * 1024
"""What is read first: memory is taken for all that is asked for."""

_MAKING_TRIES_MAX = 100
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_RIGHTS = "check the permissions of it and of its folder"
_WORDS = {
    errno.ENOSPC: ("the disk is full", "free some space and run the command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run again"),
    errno.EFBIG: ("the file is larger than allowed here", "make it smaller"),
    errno.EROFS: ("the disk is read-only", "mount it writable or use another folder"),
    errno.EIO: ("the disk reports an error", "check the disk first"),
    errno.EACCES: ("permission denied", _RIGHTS),
    errno.EPERM: ("not permitted", _RIGHTS),
    errno.ENAMETOOLONG: ("the name is too long for this disk", "use a shorter name"),
    errno.EISDIR: ("a folder exists at this path", "rename the folder"),
    errno.ENOTDIR: ("a file exists where a folder is needed", "move the file away"),
    errno.EEXIST: ("something else has this name", "move it away"),
    errno.ELOOP: ("a symbolic link exists at this path", "remove the link"),
    errno.EMFILE: ("too many open files", "raise the limit with ulimit -n"),
    errno.EXDEV: ("it is on another disk than its folder", "keep both on one disk"),
    errno.ENOENT: ("it does not exist", "check the path"),
}

REMOVED_HINT = (
    "if the folder was deleted on purpose, run: wikisync adopt, then wikisync sync"
)
"""For a wiki's folder, which no clone makes again where its pages are known."""


def folder_error(doing: str, path: str, exc: OSError) -> FolderError:
    """What a person reads instead of an ``OSError``."""
    words, hint = _WORDS.get(exc.errno or 0, (exc.strerror or str(exc), None))
    if exc.errno == errno.EBADF and not _has_input():
        words = "standard input is closed"
        hint = "start it from a program or terminal that is connected to its input"
    if exc.errno == errno.EACCES and (user := _other_owner(Path(path))) is not None:
        hint = f"it belongs to another user (uid {user}): run this command as that user"
        hint += ", or use a folder of your own"
    return FolderError(f"cannot {doing} {path}: {words}", path=path, hint=hint)


def _has_input() -> bool:
    """Whether standard input can be read; it was opened to write if it was closed."""
    try:
        return fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    except OSError:
        return False


@contextmanager
def folder_errors(doing: str, path: Path | str) -> Iterator[None]:
    """Raise as ``folder_error`` what the disk refuses while the block lasts."""
    try:
        yield
    except OSError as exc:
        raise folder_error(doing, str(path), exc) from exc


def _other_owner(path: Path) -> int | None:
    """Whose a file is, or the folder around it; None: this user's, or not known."""
    for way in (path, *path.parents) if path.is_absolute() else ():
        with suppress(OSError):
            owner = way.lstat().st_uid
            return None if owner == os.geteuid() else owner
    return None


def refused_write(folder: Path, bytes_min: int = 0) -> OSError | None:
    """The error that a write of so much in a folder would end with, if any."""
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize if disk.f_blocks else bytes_min
    code = errno.ENOSPC if free < bytes_min else 0
    if not os.access(folder, os.W_OK | os.X_OK):
        code = errno.EROFS if disk.f_flag & os.ST_RDONLY else errno.EACCES
    return OSError(code, os.strerror(code)) if code else None


def split_path(path: str) -> list[str]:
    """A relative path's components, none of them empty, ``.``, ``..`` or with NUL."""
    parts = path.split("/")
    if "\x00" in path or not {"", ".", ".."}.isdisjoint(parts):
        raise FolderError(f"not a path inside the folder: {path!r}")
    return parts


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """An open file or folder, closed at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_root(
    root: Path, *, missing: str = "check that its disk is there"
) -> Iterator[int]:
    """A descriptor of the folder itself, which a person chose: links are followed.

    ``missing`` is what to do where it does not exist.
    """
    try:
        descriptor = os.open(root, _FOLDER_FLAGS)
    except FileNotFoundError as exc:
        raise FolderError(
            f"the folder {root} does not exist", hint=f"{missing}; {REMOVED_HINT}"
        ) from exc
    except NotADirectoryError as exc:
        hint = f"move the file with its name; {REMOVED_HINT}"
        raise FolderError(f"{root} is not a folder", hint=hint) from exc
    except OSError as exc:
        raise folder_error("read", str(root), exc) from exc
    with closing(descriptor):
        yield descriptor


def open_folder(
    root: int,
    parts: Sequence[str],
    *,
    made: set[tuple[str, ...]] | None = None,
    mode: int = 0o777,
    below: Sequence[str] = (),
) -> int:
    """Open the folder that the components lead to; the caller closes it.

    Missing folders are made, and added to ``made``, where that is given: again where
    another writer removes one while it is still empty.  ``below`` leads to ``root``,
    for messages.  FileNotFoundError where one is missing, FolderError where something
    on the way is no folder, or cannot be opened.
    """
    tries_left = _MAKING_TRIES_MAX
    while True:
        try:
            descriptor = root
            for index, part in enumerate(parts):
                way = [*below, *parts[: index + 1]]
                try:
                    inner = _open_inner(descriptor, part, way, made, mode)
                finally:
                    if descriptor != root:
                        os.close(descriptor)
                descriptor = inner
            return descriptor if parts else os.dup(root)
        except FileNotFoundError as exc:
            tries_left -= 1
            if made is None:
                raise
            if not tries_left:
                path = "/".join([*below, *parts])
                raise folder_error("make the folder", path, exc) from exc


def make_folder(path: Path) -> None:
    """Make a folder that a person chose, and those above it; links are followed."""
    if not path.parent.exists():
        make_folder(path.parent)
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        with opened_root(path.parent) as parent, opened_root(path) as made:
            inherit_owner(parent, made)


def _open_inner(
    parent: int,
    name: str,
    way: Sequence[str],
    made: set[tuple[str, ...]] | None,
    mode: int,
) -> int:
    path = "/".join(way)
    try:
        return os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    except FileNotFoundError:
        if made is None:
            raise
    except OSError as exc:
        raise _refusal(parent, name, path, exc) from exc
    is_ours = True
    try:
        os.mkdir(name, mode, dir_fd=parent)
        made.add(tuple(way))
    except FileExistsError:
        is_ours = False
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise folder_error("make the folder", path, exc) from exc
    inner = _open_inner(parent, name, way, None, mode)
    if is_ours:
        inherit_owner(parent, inner)
    return inner


def _refusal(parent: int, name: str, path: str, exc: OSError) -> FolderError:
    """Why a component was not opened, in words."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError:
        return folder_error("open", path, exc)
    if stat.S_ISLNK(mode):
        return link_error(path)
    if exc.errno == errno.ENOTDIR:
        return FolderError(
            f"cannot open {path}: a file is in the folder's place",
            path=path,
            hint="rename the file",
        )
    return folder_error("open", path, exc)


def link_error(path: str) -> PlaceTaken:
    """A symbolic link is in the way."""
    return PlaceTaken(
        f"{path} is a symbolic link, which wikisync does not follow",
        path=path,
        hint="replace the link with a real file or folder",
    )


def file_status(parent: int, name: str, path: str) -> os.stat_result | None:
    """What is under a name in an open folder, a regular file; None where nothing."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise folder_error("read", path, exc) from exc
    _check_regular(status, path)
    return status


def _check_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise link_error(path)
    if not stat.S_ISREG(status.st_mode):
        what = "it is not a regular file"
        if stat.S_ISDIR(status.st_mode):
            what = "a folder is in the file's place"
        raise PlaceTaken(f"cannot use {path}: {what}", path=path, hint="move it away")


def open_file(parent: int, name: str, path: str) -> int:
    """Open a regular file for reading; the caller closes it.

    FileNotFoundError where nothing is there, FolderError where it is something else,
    or cannot be opened.
    """
    try:
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise link_error(path) from exc
        raise folder_error("read", path, exc) from exc
    try:
        _check_regular(os.fstat(descriptor), path)
    except FolderError:
        os.close(descriptor)
        raise
    return descriptor


def read_file(parent: int, name: str, path: str) -> bytes:
    """All that a regular file holds; raises what ``open_file`` raises."""
    with closing(open_file(parent, name, path)) as descriptor:
        return read_all(descriptor, path)


class Folders:
    """Opens folders below a root, keeps the last one, remembers the touched ones."""

    def __init__(self, root: int, *, mode: int = 0o777) -> None:
        self._root = root
        self._mode = mode
        self._last: tuple[list[str], int] | None = None
        self.touched: set[tuple[str, ...]] = set()

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, *args: object) -> None:
        self._close()

    def open(self, parts: list[str], *, makes: bool) -> int:
        """A folder's descriptor, good until the next call."""
        if self._last is None or self._last[0] != parts:
            made: set[tuple[str, ...]] = set()
            descriptor = open_folder(
                self._root, parts, made=made if makes else None, mode=self._mode
            )
            self._close()
            self._last = parts, descriptor
            self.touched |= {tuple(parts), *(way[:-1] for way in made)}
        return self._last[1]

    def fsync(self) -> None:
        """Fsync the entries of the touched folders, inner ones first."""
        for way in sorted(self.touched, reverse=True):
            with closing(open_folder(self._root, way)) as descriptor:
                os.fsync(descriptor)

    def _close(self) -> None:
        if self._last is not None:
            os.close(self._last[1])
            self._last = None


@contextmanager
def opened_file(folders: Folders, path: str) -> Iterator[int]:
    """A file below the folders' root; raises what ``open_file`` raises."""
    *parts, name = split_path(path)
    parent = folders.open(parts, makes=False)
    with closing(open_file(parent, name, path)) as descriptor:
        yield descriptor


@contextmanager
def opened_below(root: Path, path: str) -> Iterator[int]:
    """The same below a folder by its path."""
    with (
        opened_root(root) as top,
        Folders(top) as folders,
        opened_file(folders, path) as descriptor,
    ):
        yield descriptor


def read_below(root: Path, path: str, bytes_max: int, end: bytes = b"") -> bytes:
    """What one file below a folder holds, as ``read_limited`` gives it."""
    with opened_below(root, path) as descriptor:
        return read_limited(descriptor, path, bytes_max, end)


@contextmanager
def opened_inside(root: Path, path: str) -> Iterator[int]:
    """The same where links are followed that stay below the folder."""
    with ExitStack() as opened:
        try:
            descriptor = opened.enter_context(opened_below(root, path))
        except PlaceTaken:
            # what is resolved holds no link, unless somebody puts one there now
            inside = _resolved(root, path)
            descriptor = opened.enter_context(opened_below(root, inside))
        yield descriptor


def _resolved(root: Path, path: str) -> str:
    """A path below a folder without the links on its way."""
    real = root.resolve()
    try:
        # realpath: pathlib fails where links lead in a circle, until Python 3.13
        return Path(os.path.realpath(real / path)).relative_to(real).as_posix()
    except ValueError:
        raise FolderError(
            f"{path} is a link to outside its folder",
            hint="replace it with a copy of the file",
        ) from None


def read_chunks(descriptor: int, path: str) -> Iterator[bytes]:
    """The rest of an open file in pieces, for a file of any size."""
    room = SMALL_BYTES
    with folder_errors("read", path):
        while chunk := os.read(descriptor, room):
            yield chunk
            if len(chunk) == room:
                room = CHUNK_BYTES


def read_all(descriptor: int, path: str) -> bytes:
    """The rest of an open file."""
    return b"".join(read_chunks(descriptor, path))


def read_limited(descriptor: int, path: str, bytes_max: int, end: bytes = b"") -> bytes:
    """The rest of an open file, or not much behind ``end``; raises if it is larger."""
    content = bytearray()
    if os.fstat(descriptor).st_size <= bytes_max:
        # a file that grows, and one of the kernel's, has more than its status says
        for chunk in read_chunks(descriptor, path):
            content += chunk
            if len(content) > bytes_max:
                break
            if end and end in content:
                return bytes(content)
        else:
            return bytes(content)
    raise FolderError(
        f"{path} is larger than {bytes_max >> 10} KiB",
        hint="make it shorter, or move the file into uploads",
    )

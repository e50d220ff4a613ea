"""Power cuts: every state that a disk may legally be in after some calls.

The calls are made for real and recorded.  ``cuts`` then goes through every moment
between two calls and gives what the disk may hold if the power fails there: what a
file was written since its last fsync is there, half there or not at all; a change
of names that no fsync of its folders followed is there or not, in the order of the
journal, or lost for one folder alone.

    with recorded(tmp_path) as disk:
        writer.write_many(...)
    for state in disk.cuts():
        assert state["wiki/home.md"] in {b"old", b"new"}
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from wikisync.core.system import libc

State = Mapping[str, bytes]
"""Content by path relative to the recorded place."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes added to a file."""

    file: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Synced:
    """A file, a folder (by path), or with neither the whole disk is on the disk."""

    file: int | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """A change of names: ``create``, ``link``, ``rename``, ``swap``, ``remove``."""

    what: str
    path: str
    target: str = ""
    file: int = 0

    @property
    def folders(self) -> frozenset[str]:
        """Those whose entries it changes."""
        ways = [self.path, self.target] if self.target else [self.path]
        if self.what == "link":
            ways = [self.target]
        return frozenset(way.rpartition("/")[0] for way in ways)


Call = Write | Synced | Names


@dataclass(slots=True)
class Disk:
    """What was there at first, and the calls since."""

    place: Path
    names: dict[str, int] = field(default_factory=dict)
    """Files by path, before the calls."""
    contents: dict[int, bytes] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def scan(self) -> None:
        """Note what is there, all of it safely on the disk."""
        for path in self.place.rglob("*"):
            if path.is_file() and not path.is_symlink():
                number = path.stat().st_ino
                self.names[str(path.relative_to(self.place))] = number
                self.contents[number] = path.read_bytes()

    def cuts(self) -> Iterator[State]:
        """Every state after a power cut, the last call included."""
        for end in range(len(self.calls) + 1):
            yield from self._states(self.calls[:end])

    def _states(self, calls: Sequence[Call]) -> Iterator[State]:
        pending = _pending(calls)
        folders = {
            folder
            for number in pending
            if isinstance(call := calls[number], Names)
            for folder in call.folders
        }
        losses = [frozenset(pending[kept:]) for kept in range(len(pending) + 1)]
        losses += [
            frozenset(
                number
                for number in pending
                if isinstance(call := calls[number], Names) and folder in call.folders
            )
            for folder in folders
        ]
        for lost in dict.fromkeys(losses):
            names = self._names_after(calls, lost)
            for torn in ("kept", "half", "gone"):
                contents = self._contents_after(calls, torn)
                yield {path: contents.get(file, b"") for path, file in names.items()}

    def _names_after(
        self, calls: Sequence[Call], lost: frozenset[int]
    ) -> dict[str, int]:
        names = dict(self.names)
        for number, call in enumerate(calls):
            if isinstance(call, Names) and number not in lost:
                _apply(call, names)
        return names

    def _contents_after(self, calls: Sequence[Call], torn: str) -> dict[int, bytes]:
        contents = dict(self.contents)
        for number, call in enumerate(calls):
            if not isinstance(call, Write):
                continue
            is_safe = any(
                isinstance(later, Synced)
                and (later.file == call.file or later == Synced())
                for later in calls[number + 1 :]
            )
            kept = {"kept": len(call.content), "half": len(call.content) // 2}
            count = len(call.content) if is_safe else kept.get(torn, 0)
            before = contents.get(call.file, b"")
            contents[call.file] = before + call.content[:count]
        return contents


def _pending(calls: Sequence[Call]) -> list[int]:
    """Changes of names that may be lost; none that a safe one stands on."""
    found: list[int] = []
    needed: set[str] = set()
    for number in reversed(range(len(calls))):
        call = calls[number]
        if not isinstance(call, Names):
            continue
        is_needed = bool({call.path, call.target} & needed)
        if is_needed or _is_durable(call, calls[number + 1 :]):
            needed.add(call.path)
        else:
            found.append(number)
    return found[::-1]


def _is_durable(call: Names, later: Sequence[Call]) -> bool:
    """A name is on the disk with the folder that it was given in."""
    folder = (call.target or call.path).rpartition("/")[0]
    return Synced() in later or Synced(folder=folder) in later


def _apply(call: Names, names: dict[str, int]) -> None:
    """One change; one whose file was never there changes nothing."""
    if call.what == "create":
        names[call.path] = call.file
        return
    if call.path not in names:
        return
    match call.what:
        case "link":
            names[call.target] = names[call.path]
        case "rename":
            names[call.target] = names.pop(call.path)
        case "swap" if call.target in names:
            ours, theirs = names[call.path], names[call.target]
            names[call.path], names[call.target] = theirs, ours
        case "remove":
            del names[call.path]


class _Recorder:
    """The calls of ``os`` that matter, made and noted."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._open, self._write, self._fsync = os.open, os.write, os.fsync
        self._rename, self._replace = os.rename, os.replace
        self._link, self._unlink = os.link, os.unlink
        self._call = libc._rename

    def _way(self, name: str | os.PathLike[str], folder: int | None) -> str | None:
        """A path relative to the place; None outside of it."""
        start = "" if folder is None else self._path_of(folder)
        path = Path(start, name)
        if not path.is_relative_to(self._disk.place):
            return None
        return str(path.relative_to(self._disk.place))

    def _path_of(self, descriptor: int) -> str:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())

    def _note(self, what: str, path: str | None, target: str | None = "") -> None:
        if path is not None and target is not None:
            self._disk.calls.append(Names(what, path, target))

    def open(
        self,
        path: str | os.PathLike[str],
        flags: int,
        mode: int = 0o777,
        *,
        dir_fd: int | None = None,
    ) -> int:
        descriptor = self._open(path, flags, mode, dir_fd=dir_fd)
        way = self._way(path, dir_fd) if flags & os.O_CREAT else None
        if way is not None and flags & os.O_EXCL:
            number = os.fstat(descriptor).st_ino
            self._disk.contents.pop(number, None)  # of a file that is gone
            self._disk.calls.append(Names("create", way, file=number))
        return descriptor

    def write(self, descriptor: int, content: Any) -> int:
        count = self._write(descriptor, content)
        number = os.fstat(descriptor).st_ino
        self._disk.calls.append(Write(number, bytes(content[:count])))
        return count

    def fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        path = Path(self._path_of(descriptor))
        if path.is_dir():
            way = self._way(path, None)
            folder = "" if way == "." else way
            self._disk.calls.append(Synced(folder=folder))
        else:
            self._disk.calls.append(Synced(file=os.fstat(descriptor).st_ino))

    def rename(
        self,
        src: str,
        dst: str,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        self._rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self._note("rename", self._way(src, src_dir_fd), self._way(dst, dst_dir_fd))

    def link(
        self,
        src: str,
        dst: str,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        self._link(
            src,
            dst,
            src_dir_fd=src_dir_fd,
            dst_dir_fd=dst_dir_fd,
            follow_symlinks=follow_symlinks,
        )
        self._note("link", self._way(src, src_dir_fd), self._way(dst, dst_dir_fd))

    def unlink(self, path: str, *, dir_fd: int | None = None) -> None:
        self._unlink(path, dir_fd=dir_fd)
        self._note("remove", self._way(path, dir_fd))

    def call(
        self, what: str, source_folder: int, source: str, target: int, name: str
    ) -> None:
        self._call(what, source_folder, source, target, name)
        kind = "swap" if what == "swap" else "rename"
        self._note(kind, self._way(source, source_folder), self._way(name, target))

    def whole_disk(self, descriptor: int) -> bool:
        del descriptor
        self._disk.calls.append(Synced())
        return True


@contextmanager
def recorded(place: Path) -> Iterator[Disk]:
    """Record every call below a place, which holds what is on the disk already."""
    disk = Disk(place)
    disk.scan()
    recorder = _Recorder(disk)
    changes: dict[tuple[Any, str], Callable[..., Any]] = {
        (os, "open"): recorder.open,
        (os, "write"): recorder.write,
        (os, "fsync"): recorder.fsync,
        (os, "rename"): recorder.rename,
        (os, "replace"): recorder.rename,
        (os, "link"): recorder.link,
        (os, "unlink"): recorder.unlink,
        (libc, "_rename"): recorder.call,
    }
    with ExitStack() as stack:
        for (owner, name), function in changes.items():
            stack.enter_context(patch.object(owner, name, function))
        whole = patch("wikisync.folder.swap.sync_disk", recorder.whole_disk)
        stack.enter_context(whole)
        yield disk

"""Swap and examine: files that came out of a folder, kept until they are known.

Comparing a file and then replacing it loses what a program saves in between.
Here the new file takes the other's name in one step, and then what came out is
examined.  Is it not what was expected, it goes back in; what cannot go back
stays here.  A program may also still hold the file open that came out, and write
to it: a file stays here as long as that may be so (``Writers``), and no longer.

The content of a file in limbo says what it is, also after a crash: the text that was
expected, or our own, is no loss; any other is a *late save*, which a person made
and which stands in no page.  So before any name is touched a record of both
digests is on the disk.  A late save that stands in a page by now is what is
expected from then on.  The files of one batch are ``<batch>-<number>``, its record
is ``<batch>.json``; without a record no name was touched.

What holds throughout, and why nothing is lost:

1. Every text that ever had a page's name is under that name or here, from the moment
   it lost the name until it is judged: names are swapped or renamed, never replaced
   (but for disks that cannot swap, see ``_replace``).
2. A file here is removed only when its content is known from the record or empty, and
   nobody can write to it any more.  In doubt it stays.
3. What lies here is judged by its content alone, so that it makes no difference
   whether the process that brought it here still lives.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from wikisync.core.model import Digest, digest_of
from wikisync.core.system.libc import NotSupported, swap_names
from wikisync.core.system.private import NEW_FILE, make_private_folder
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder import disk, safe_open
from wikisync.folder.disk import gone_errors, link_to_free, put_back

LATE_S = 2.0
"""So long a file that is open must have been left alone before it is read."""
STREAM_S = 30.0
"""A file that is written to all the time is read so often all the same."""
TIMES_S = 2.0
"""Disks note times no finer than this."""
SWAPS_MAX = 16
"""So often in a row a text goes back in while a program keeps saving."""
ORPHAN_S = 60.0
"""Files without a record that are older than this belong to no living writer."""
RECORD_BYTES_MAX = 64 * 1024 * 1024
"""A record larger than this is not ours."""
UNTOLD_S = 3600.0
"""Where the system says nothing, a file may be written to for so long after its last
change."""

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ASIDE = ".aside"
_RECORD = ".json"
_PROCESSES = Path("/proc")


class Late(Struct, frozen=True):
    """A text that a program saved into a file after it had lost its name."""

    path: str
    """Of the page's file, relative to the wiki's folder."""
    content: bytes
    id: str
    before: Digest | None = None
    """Of the text that was edited; None where that is not known."""


class _Kept(Struct, frozen=True):
    """What is known of a file before it comes here."""

    path: str
    expected: Digest
    """Of the text that is to come out."""
    ours: Digest | None
    """Of the text that is to go in; None where none is."""


class _Scanned(Struct, frozen=True):
    """A file as it was seen: two that are equal are the same, untouched."""

    inode: int
    digest: Digest | None
    """None for what is no readable file."""


class Limbo:
    """The files that came out of one wiki's folder a moment ago.

    ``path`` is a folder of ours on the same disk, made at need.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self.can_swap: bool | None = None
        """Whether the disk can swap names; None until it was tried."""

    @contextmanager
    def batch(self) -> Iterator[LimboBatch]:
        """Files that leave their folder together."""
        with safe_open.folder_errors("keep files in", self._path):
            make_private_folder(self._path)
            descriptor = os.open(self._path, _FOLDER_FLAGS)
        with safe_open.closing(descriptor):
            path = str(self._path)
            if self.can_swap is None:
                self.can_swap = _can_swap(descriptor, path)
            batch = LimboBatch(self, descriptor, path, can_swap=self.can_swap)
            try:
                yield batch
            finally:
                batch.clear()

    def late_saves(self) -> list[Late]:
        """Texts that are neither what was expected to come out nor ours.

        Files that turned out to be no loss are removed on the way.
        """
        try:
            descriptor = os.open(self._path, _FOLDER_FLAGS)
        except FileNotFoundError:
            return []
        except OSError as exc:
            raise safe_open.folder_error("read", str(self._path), exc) from exc
        with safe_open.closing(descriptor) as folder:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - a descriptor
            batches: dict[str, list[str]] = {
                name.removesuffix(_RECORD): []
                for name in names
                if name.endswith(_RECORD)
            }
            for name in names:
                files = batches.get(name.partition("-")[0])
                if files is not None:
                    files.append(name)
                elif not name.endswith(_RECORD):
                    # The record is there before the first name is touched, so a file of
                    # no record is ours and took no name.  A batch under way has such
                    # files for a moment.
                    status = _status(folder, name)
                    if status and abs(self._clock() - status.st_ctime) >= ORPHAN_S:
                        _remove(folder, name)
            return [
                late
                for batch, files in batches.items()
                for late in self._late_of(
                    folder, batch, files, _read_record(folder, batch + _RECORD)
                )
            ]

    def acknowledge(self, late_id: str) -> None:
        """Expect a late save's text from now on; the next check may end its file."""
        name, _, digest = late_id.partition(":")
        batch, entry = name.partition("-")[0], name.removesuffix(_ASIDE)
        with (
            safe_open.folder_errors("keep files in", self._path),
            safe_open.closing(os.open(self._path, _FOLDER_FLAGS)) as descriptor,
        ):
            kept = _read_record(descriptor, batch + _RECORD)
            path = kept[entry].path if entry in kept else ""
            # Only this text is no loss from now on: what is saved after it has another
            # digest, and is late once more.
            kept[entry] = _Kept(path, Digest(digest), None)
            _write_record(descriptor, batch, kept)

    def end(self, folder: int, batch: str, kept: Mapping[str, _Kept]) -> None:
        """Remove files of a batch that nobody can write to, and maybe its record."""
        names = [entry + suffix for entry in kept for suffix in ("", _ASIDE)]
        self._late_of(folder, batch, names, kept)

    def _late_of(
        self, folder: int, batch: str, names: Iterable[str], kept: Mapping[str, _Kept]
    ) -> list[Late]:
        """The late saves of one batch, whose record goes with its last file."""
        writers = Writers()
        record = _status(folder, batch + _RECORD)
        known_at = record.st_mtime if record else 0.0
        judged = [
            self._judge(
                folder, name, kept.get(name.removesuffix(_ASIDE)), writers, known_at
            )
            for name in names
        ]
        # A file that waits needs its record: without it the text that was expected
        # would be a late save of a page that nobody knows.
        if all(late is None for late in judged):
            _remove(folder, batch + _RECORD)
        return [late for late in judged if isinstance(late, Late)]

    def _judge(
        self,
        folder: int,
        name: str,
        kept: _Kept | None,
        writers: Writers,
        known_at: float,
    ) -> Late | bool | None:
        """A late save; True for a file that must wait; None where it is gone."""
        try:
            descriptor = safe_open.open_file(folder, name, name)
        except FileNotFoundError:
            return None
        except FolderError:
            return True
        try:
            with safe_open.closing(descriptor):
                status = os.fstat(descriptor)
                # also where the clock was set back since
                unchanged_s = abs(self._clock() - status.st_ctime)
                # Who may write is asked before the content is read: what nobody had
                # open then is the same for good, since it has no name in the folder by
                # which a program could open it.
                is_open = writers.may_write(descriptor, unchanged_s)
                # one that is older than its record needs no check
                is_old = status.st_mtime < known_at - TIMES_S
                is_streamed = abs(self._clock() - known_at) < STREAM_S
                is_being_saved = unchanged_s < LATE_S and is_streamed
                if is_open and (is_old or is_being_saved):
                    return True
                content = safe_open.read_all(descriptor, name)
        except FolderError:
            return True
        # At this point we know a content, and that it is final unless ``is_open``.
        digest = digest_of(content)
        is_known = kept is not None and digest in {kept.expected, kept.ours}
        # an aside with two names is still the page's own file
        is_page = name.endswith(_ASIDE) and status.st_nlink > 1
        if content and not is_known and not is_page:
            before = kept.expected if kept else None
            return Late(kept.path if kept else "", content, f"{name}:{digest}", before)
        # What is left is no loss as it is now: the text that was expected, our own,
        # nothing, or another name of the page.  An open file may still become one.
        if is_open:
            return True
        _remove(folder, name)
        return None


class LimboBatch:
    """Files that leave their folder together; made by ``Limbo.batch``."""

    def __init__(self, limbo: Limbo, folder: int, path: str, *, can_swap: bool) -> None:
        self._limbo = limbo
        self.folder = folder
        """Descriptor of the limbo."""
        self._path = path
        self._can_swap = can_swap
        self._id = os.urandom(8).hex()
        self._kept: dict[str, _Kept] = {}
        self._unused: set[str] = set()
        self._is_sealed = False

    def expect(
        self, path: str, *, expected: Digest, content: bytes | None = None
    ) -> str:
        """Announce a file that is to come out, and the content to take its name.

        Gives the name here for the new content, under which the old one will lie.
        """
        assert not self._is_sealed
        name = f"{self._id}-{len(self._kept)}"
        ours = None if content is None else digest_of(content)
        self._kept[name] = _Kept(path, expected, ours)
        return name

    def new_file(self, name: str) -> int:
        """An empty file for the new content, open for writing."""
        descriptor = os.open(name, NEW_FILE, 0o666, dir_fd=self.folder)
        self._unused.add(name)
        return descriptor

    def seal(self) -> None:
        """Write and fsync the record; only then may names be touched."""
        with safe_open.folder_errors("keep files in", self._path):
            _write_record(self.folder, self._id, self._kept)
        self._is_sealed = True

    def swap(self, entry: str, folder: int, name: str) -> None:
        """Put the new content under a file's name, and examine what came out.

        PreconditionFailed where that was another text, or none: it is back in, or a
        late save.  After OSError nothing has changed.
        """
        assert self._is_sealed
        kept = self._kept[entry]
        if not self._can_swap:
            self._replace(entry, folder, name)
            return
        # At this point ``entry`` is our new file, which nobody else has open, and the
        # record says what is to come out for it.
        ours = _scan(self.folder, entry)
        with gone_errors(kept.path):
            swap_names(self.folder, entry, folder, name)
        # The name has our file, and ``entry`` is whatever had the name in the moment of
        # the swap: the race is over, and there is time to examine it.
        self._unused.discard(entry)
        came_out = _scan(self.folder, entry)
        if came_out.digest == kept.expected:
            # A program that still has it open may write to it: ``late_saves`` finds it.
            return
        # A person's save came out, which must have its name again.
        self._give_back(entry, folder, name, put=ours, held=came_out)
        raise PreconditionFailed(f"{kept.path} was changed in the meantime")

    def _give_back(
        self, entry: str, folder: int, name: str, *, put: _Scanned, held: _Scanned
    ) -> None:
        """Swap until what comes out is what was put in last, untouched.

        Before each step the name has ``put`` or something newer, and ``held`` lies
        here.  If what comes out is not ``put``, a program saved over it: it is the
        newest text, and the next step puts it back.
        """
        for _ in range(SWAPS_MAX):
            try:
                swap_names(self.folder, entry, folder, name)
            except FileNotFoundError:
                # removed meanwhile; a save nobody has read yet comes first
                with suppress(FileExistsError):
                    put_back(self.folder, entry, folder, name)
                    return
                continue
            # The name has ``held`` now.
            came_out = _scan(self.folder, entry)
            if came_out == put:
                # Nobody saved since the swap before: the newest text has the name, and
                # the one before it lies here.
                return
            # A save took the name from ``put``: it came out and is newer than what went
            # in.  ``put`` itself was replaced by whoever saved, as in any editor.
            put, held = held, came_out
        # A program saves faster than we swap.  The text that lies here is in no record,
        # so it will be found as a late save.

    def _replace(self, entry: str, folder: int, name: str) -> None:
        """As ``swap``, for a disk that cannot swap; saves into the old file are found.

        A file that takes its name in the last moment is replaced unseen.
        """
        kept = self._kept[entry]
        aside = entry + _ASIDE
        with gone_errors(kept.path):
            if not link_to_free(folder, name, self.folder, aside):
                aside = ""
        # Either the file has a second name here, by which a later save into it is
        # found, or the disk has no second names: such a save is lost with the name.
        scanned = _scan(self.folder, aside) if aside else _scan(folder, name)
        if scanned.digest != kept.expected or scanned != _scan(folder, name):
            if aside:
                _remove(self.folder, aside)
            raise PreconditionFailed(f"{kept.path} was changed in the meantime")
        # The name had the expected file just now: the same inode, the same text.
        os.replace(entry, name, src_dir_fd=self.folder, dst_dir_fd=folder)
        self._unused.discard(entry)
        # ``entry`` is free again: it becomes what ``swap`` would have left there.
        if aside:
            os.rename(aside, entry, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def take(self, entry: str, folder: int, name: str) -> None:
        """Take a file out of its folder, and examine it; raises as ``swap``."""
        assert self._is_sealed
        kept = self._kept[entry]
        with gone_errors(kept.path):
            os.rename(name, entry, src_dir_fd=folder, dst_dir_fd=self.folder)
        # Nothing has the name now, or what a program made there since.
        if _scan(self.folder, entry).digest == kept.expected:
            return
        # Another text came out.  It goes back unless the name was taken meanwhile; then
        # it stays here, and is a late save since no record knows it.
        with suppress(FileExistsError):
            put_back(self.folder, entry, folder, name)
        raise PreconditionFailed(f"{kept.path} was changed in the meantime")

    def clear(self) -> None:
        """Remove what was made ready and not used, and what is over already."""
        for name in tuple(self._unused):
            with suppress(OSError):
                _remove(self.folder, name)
        # what cannot be removed now has its record still: the next check ends it
        with suppress(OSError):
            self._limbo.end(self.folder, self._id, self._kept)


def _can_swap(folder: int, path: str) -> bool:
    names = [f"probe-{os.urandom(8).hex()}" for _ in range(2)]
    try:
        for name in names:
            disk.write_new(folder, name, b"")
        swap_names(folder, names[0], folder, names[1])
    except NotSupported:
        return False
    except OSError as exc:
        raise safe_open.folder_error("keep files in", path, exc) from exc
    finally:
        for name in names:
            with suppress(OSError):
                _remove(folder, name)
    return True


def _write_record(folder: int, batch: str, kept: Mapping[str, _Kept]) -> None:
    """Write and fsync the record of a batch, which is as it was after an error."""
    record = {name: [one.path, one.expected, one.ours] for name, one in kept.items()}
    # of no batch, so that what a crash leaves of it is no file of one
    temporary = f"record-{os.urandom(8).hex()}"
    try:
        disk.write_new(folder, temporary, json.dumps(record).encode("ascii"))
        disk.fsync_file(folder, temporary)
        os.rename(temporary, batch + _RECORD, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        _remove(folder, temporary)
        raise
    os.fsync(folder)


def _read_record(folder: int, name: str) -> dict[str, _Kept]:
    content = _content(folder, name) or b""
    if len(content) > RECORD_BYTES_MAX:
        return {}
    try:
        record = json.loads(content)
        return {
            entry: _Kept(str(path), Digest(str(expected)), ours and Digest(str(ours)))
            for entry, (path, expected, ours) in record.items()
        }
    except (ValueError, AttributeError, TypeError):
        # Then no text is known, and each file of the batch is given as a late save:
        # rather a text too many than one too few.
        return {}


def _content(folder: int, name: str) -> bytes | None:
    try:
        return safe_open.read_file(folder, name, name)
    except (FileNotFoundError, FolderError):
        return None


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _scan(folder: int, name: str) -> _Scanned:
    status = _status(folder, name)
    content = _content(folder, name)
    return _Scanned(
        status.st_ino if status else 0, None if content is None else digest_of(content)
    )


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


# -- programs that have files open -------------------------------------------------


class Writers:
    """The programs that have files open for writing, for one check of some files.

    Linux says so by read leases, of this user's files alone and not on every disk;
    other systems say nothing.
    """

    def may_write(self, descriptor: int, unchanged_s: float) -> bool:
        """Whether more may come to an open file that has no name any more."""
        found = has_writer(descriptor)
        if found is not None:
            return found
        return unchanged_s < UNTOLD_S or _key(os.fstat(descriptor)) in self._written

    @cached_property
    def _written(self) -> set[tuple[int, int]]:
        """Files that processes have open for writing, of those that show it to us."""
        found: set[tuple[int, int]] = set()
        for link in _PROCESSES.glob("[0-9]*/fd/*"):
            with suppress(OSError, ValueError):
                about = link.parents[1] / "fdinfo" / link.name
                flags = next(x for x in about.read_text().splitlines() if "flags" in x)
                if int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    found.add(_key(link.stat()))
        return found


def has_writer(descriptor: int) -> bool | None:
    """Whether a program has an open file open for writing, too; None if unknown."""
    import fcntl

    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    import signal

    try:
        # whoever opens the file now, by a name of it, must not end this process
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino

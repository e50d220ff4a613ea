"""The output folder: what is ours in it, and how a new site takes its place.

A build first writes everything that changed into ``-/staging/``, the new manifest
last; only then are files renamed into place, files that are gone removed, and
the manifest swapped.  So a full disk or an error leaves the old site as it was,
byte for byte, and an interrupt during the swap leaves whole files, all of them
named in one of two manifests, which the next build puts right.

Rules that hold here: a file that no manifest of ours names is never replaced or
removed; no symbolic link is followed; a manifest is read as hostile input.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from wikisync.decoding import json_decoder
from wikisync.errors import FolderError, SiteError
from wikisync.file_status import FileStatus, status_at
from wikisync.folder.safe_open import opened_below, read_chunks, refused_write
from wikisync.locks import open_locked_folder
from wikisync.markup.file_types import file_extension, file_type
from wikisync.model import Digest, Problem, folders_above
from wikisync.site.addresses import MANIFEST
from wikisync.site.output_place import STAGED_MANIFEST, STAGING, OutputPlace
from wikisync.site.published import PublishedWiki

MANIFEST_VERSION = 1
GENERATOR = "wikisync"

_TYPES: Mapping[str, str] = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".xml": "application/xml",
}
"""What only our own files are called; those of strangers, ``file_types`` knows.
A table of ours, since systems' tables differ."""


class ManifestFile(msgspec.Struct, frozen=True):
    """One file of the site."""

    path: str
    size: int
    sha256: str
    type: str


class SiteManifest(msgspec.Struct, frozen=True):
    """``-/manifest.json``: every file that a build of ours put here."""

    generator: str
    version: int
    files: tuple[ManifestFile, ...]
    wikis: tuple[PublishedWiki, ...] = ()
    """The wikis whose pages they are; older versions of wikisync named none."""


_MANIFESTS = json_decoder(SiteManifest)


class FileState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file as it was when its digest was known; equal stat means equal bytes."""

    size: int
    mtime_ns: int
    digest: Digest


class Changes(Struct, frozen=True):
    """What a build did to the folder, and the state of every file in it now."""

    written: int
    unchanged: int
    removed: int
    states: Mapping[str, FileState]
    problems: tuple[Problem, ...]


def open_output(root: Path, trusted: Mapping[str, FileState]) -> Output:
    """Look at an output folder and make sure that a site may be written there.

    Args:
        root: The folder; made where it is missing.
        trusted: Files as the last build left them, by output path.

    Raises:
        SiteError: Not a folder, not writable, or holding files of others.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        has_files = any(root.iterdir())
    except FileExistsError as exc:
        raise SiteError(
            f"output {root} is not a folder", hint="choose another path with -o"
        ) from exc
    except OSError as exc:
        raise _unusable(root, exc) from exc
    if refused := refused_write(root):
        raise _unusable(root, refused)
    left = _left_files(root, trusted)
    if has_files and not left.is_ours:
        raise SiteError(
            f"output {root} is not empty and is not a wikisync site",
            hint="choose an empty folder with -o; this one was not changed",
        )
    return Output(root, left, trusted)


class _Left(Struct, frozen=True):
    """What builds of ours left in a folder, as their manifests name it."""

    is_ours: bool
    wikis: tuple[PublishedWiki, ...]
    files: Mapping[str, Digest | None]
    """None: what the file holds is uncertain."""
    statuses: tuple[FileStatus | None, ...]
    """Of the manifests."""


class Output:
    """An output folder during one build: put every file, then ``commit`` once."""

    def __init__(
        self,
        root: Path,
        left: _Left,
        trusted: Mapping[str, FileState],
    ) -> None:
        self._root = root
        self._left = left
        self._trusted = trusted
        self._place: OutputPlace
        """While it is held."""
        self._staged: dict[str, str] = {}
        """Output path to name in staging."""
        self._numbers = count()
        self._files: dict[str, tuple[int, Digest]] = {}
        self._kept: dict[str, FileState] = {}
        """Those that lie there as they were left."""
        self._foreign: list[str] = []
        self._problems: list[Problem] = []

    @contextlib.contextmanager
    def staging(self) -> Iterator[None]:
        """Keep a place for new files; whatever happens, it is gone afterwards.

        Raises:
            SiteError: for any file that cannot be written, and where another
                build writes to the same folder.
        """
        with _held(self._root) as top:
            self._place = OutputPlace(self._root, top)
            with self._held_staging():
                yield

    @contextlib.contextmanager
    def _held_staging(self) -> Iterator[None]:
        # another build may have ended since the folder was opened
        if self._left.statuses != _manifest_statuses(self._root):
            self._left = _left_files(self._root, self._trusted)
        try:
            with self._place.staging():
                yield
        except OSError as exc:
            raise _failed(self._root, exc) from exc

    def current(self, path: str) -> Digest | None:
        """Digest of what lies at a path now; None where nothing of ours does."""
        full = self._root / path
        state = self._trusted.get(path)
        try:
            found = full.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        if state and (state.size, state.mtime_ns) == (found.st_size, found.st_mtime_ns):
            return state.digest
        return _file_digest(full)

    def keep(self, path: str) -> bool:
        """Take over a file if it still holds what the last build left in it.

        It is read only where it was restored, and so has another time.
        """
        state = self._trusted.get(path)
        if state is None or path not in self._left.files:
            return False
        if _is_as_left(self._root, path, state):
            self._kept[path] = state
        elif self.current(path) != state.digest:
            return False
        self._files[path] = (state.size, state.digest)
        return True

    @property
    def wikis(self) -> tuple[PublishedWiki, ...]:
        """The wikis that the site holds."""
        return self._left.wikis

    @property
    def known(self) -> tuple[str, ...]:
        """Files that builds of ours put here."""
        return tuple(self._left.files)

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        """The same by how a disk that folds case names them; of a held folder."""
        return {path.casefold(): path for path in self._left.files}

    def read(self, path: str) -> bytes | None:
        """What a file of ours holds now; None where it cannot be read."""
        if self.current(path) is None or _has_link_above(self._root, path):
            return None
        return (self._root / path).read_bytes()

    def keep_published(self, path: str) -> None:
        """Leave a file as it is, where it still is there and nothing replaces it."""
        digest = self.current(path)
        if digest is not None and path not in self._files:
            self._files[path] = ((self._root / path).lstat().st_size, digest)

    @property
    def files(self) -> Mapping[str, tuple[int, Digest]]:
        """What the site shall have so far: output path to size in bytes and digest."""
        return self._files

    def content(self, path: str) -> bytes:
        """What a file shall hold that was put or kept; safe in any thread."""
        staged = self._staged.get(path)
        if staged is not None:
            return self._place.staged_content(staged)
        return (self._root / path).read_bytes()

    def put(self, path: str, content: bytes) -> None:
        """The file shall have this content, whatever it was to have before.

        Staged only where it differs from what is there.
        """
        digest = Digest(hashlib.sha256(content).hexdigest())
        self._files[path] = (len(content), digest)
        if self._is_to_be_written(path, digest):
            with self._new_staged(path) as staged:
                staged.write(content)
        else:
            self._staged.pop(path, None)

    def put_copy(
        self, path: str, folder: Path, name: str, known: tuple[int, Digest]
    ) -> bool:
        """The file shall be a copy of one in a folder, of known size and digest.

        Returns:
            False where that file cannot be read any more; then it is not in the site.
        """
        self._files[path] = known
        if not self._is_to_be_written(path, known[1]):
            return True
        try:
            with (
                opened_below(folder, name) as source,
                self._new_staged(path) as staged,
            ):
                copied = _copy(source, name, staged)
        except (FileNotFoundError, FolderError):
            self.leave_out(path, name)
            return False
        # the source may have changed since it was looked at: say what was copied
        self._files[path] = copied
        return True

    def leave_out(self, path: str, name: str) -> None:
        """The site shall not have this file, whose source cannot be read."""
        self._files.pop(path, None)
        self._staged.pop(path, None)
        self._problems.append(_unread(name))

    def commit(self, wikis: Sequence[PublishedWiki] = ()) -> Changes:
        """Swap the staged files in, remove what is gone, the manifest last.

        ``wikis`` are those whose files they are, for whoever writes the next site.
        """
        manifest = encode_manifest(self._files, wikis)
        with self._place.staged_file(STAGED_MANIFEST) as file:
            file.write(manifest)
        gone = [path for path in sorted(self._left.files) if path not in self._files]
        problems = [*self._problems, *(_foreign(path) for path in self._foreign)]
        early = _in_the_way(gone, self._staged)
        removed = self._remove(early, problems)
        for path, staged in self._staged.items():
            self._place.swap_in(staged, path)
        removed += self._remove([path for path in gone if path not in early], problems)
        written = len(self._staged)
        if self.current(MANIFEST) != hashlib.sha256(manifest).hexdigest():
            self._place.swap_in(STAGED_MANIFEST, MANIFEST)
            written += 1
        unchanged = len(self._files) + 1 - written
        return Changes(written, unchanged, removed, self._states(), tuple(problems))

    def _is_to_be_written(self, path: str, digest: Digest) -> bool:
        if path in self._left.files:
            return self.current(path) != digest
        twin = self._folded.get(path.casefold())
        if twin is not None and _is_same_file(self._root / path, self._root / twin):
            # the disk folds case: the old name goes first, then this one comes
            return True
        found = self.current(path)
        if found == digest:
            return False
        if found is None and self._is_free(path):
            return True
        self._foreign.append(path)
        del self._files[path]
        return False

    def _is_free(self, path: str) -> bool:
        """Whether nothing is at a path, or a folder that will be empty in time."""
        full = self._root / path
        if not os.path.lexists(full):
            return True
        if full.is_symlink() or not full.is_dir():
            return False
        return all(
            entry.is_dir()
            or entry.relative_to(self._root).as_posix() in self._left.files
            for entry in full.rglob("*")
        )

    def _new_staged(self, path: str) -> BinaryIO:
        staged = f"{next(self._numbers):08}"
        self._staged[path] = staged
        return self._place.staged_file(staged)

    def _remove(self, paths: list[str], problems: list[Problem]) -> int:
        """Remove files of an older build, and folders that this leaves empty."""
        removed = 0
        for path in paths:
            found, expected = self.current(path), self._left.files[path]
            if found is None or _has_link_above(self._root, path):
                continue
            if expected is not None and found != expected:
                problems.append(_edited(path))
                continue
            removed += self._place.remove(path)
        return removed

    def _states(self) -> dict[str, FileState]:
        states: dict[str, FileState] = {}
        for path in (*self._files, MANIFEST):
            if path in self._kept and path not in self._staged:
                states[path] = self._kept[path]
                continue
            found = (self._root / path).lstat()
            digest = self._files[path][1] if path in self._files else Digest("")
            states[path] = FileState(found.st_size, found.st_mtime_ns, digest)
        return states


@contextlib.contextmanager
def _held(root: Path) -> Iterator[int]:
    """Hold the folder against other builds; the kernel frees it with the process.

    The folder itself is locked, so that no lock file is published with the site.
    """
    try:
        descriptor = open_locked_folder(root)
    except BlockingIOError as exc:
        raise SiteError(
            f"another wikisync is writing to output {root}",
            hint="wait until it finishes, or choose another folder with -o",
        ) from exc
    except OSError as exc:
        raise _unusable(root, exc) from exc
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_untouched(root: Path, states: Mapping[str, FileState]) -> bool:
    """Whether every file still is as a build left it, by size and time."""
    return bool(states) and all(
        _is_as_left(root, path, state) for path, state in states.items()
    )


def encode_manifest(
    files: Mapping[str, tuple[int, Digest]], wikis: Sequence[PublishedWiki] = ()
) -> bytes:
    """The manifest of a site: sorted, one wiki and one file a line, no dates."""
    entries = tuple(
        ManifestFile(path, size, digest, content_type(path))
        for path, (size, digest) in sorted(files.items())
    )
    head = f'{{"generator":"{GENERATOR}","version":{MANIFEST_VERSION},"wikis":[\n'
    named = b",\n".join(msgspec.json.encode(wiki) for wiki in wikis)
    lines = b",\n".join(msgspec.json.encode(entry) for entry in entries)
    return head.encode() + named + b'\n],"files":[\n' + lines + b"\n]}\n"


def content_type(path: str) -> str:
    """Content type of an output file by its extension."""
    name = path.rpartition("/")[2]
    return _TYPES.get(file_extension(name)) or file_type(name)


def published_wikis(root: Path) -> tuple[PublishedWiki, ...]:
    """The wikis that the site in a folder holds; none where there is no site.

    Raises:
        SiteError: there is something else, or it cannot be read.
    """
    manifest = _read_manifest(root / MANIFEST)
    return manifest.wikis if manifest else ()


def _left_files(root: Path, trusted: Container[str]) -> _Left:
    """What builds of ours left here, and whether the folder is ours.

    A manifest that an interrupted build left in staging counts as well; what its
    files hold now is uncertain, so they come without a digest.  Paths that are noted
    in the cache are ours: only those of a manifest need a check.
    """
    statuses = _manifest_statuses(root)
    known: dict[str, Digest | None] = {}
    current = _read_manifest(root / MANIFEST)
    for file in current.files if current else ():
        known[file.path] = Digest(file.sha256)
    staged = _read_manifest(root / STAGING / STAGED_MANIFEST, is_optional=True)
    for file in staged.files if staged else ():
        known[file.path] = None
    is_ours = current is not None or (root / STAGING).is_dir()
    files = {
        path: digest
        for path, digest in known.items()
        if path in trusted or _is_inside(path)
    }
    return _Left(is_ours, current.wikis if current else (), files, statuses)


def _manifest_statuses(root: Path) -> tuple[FileStatus | None, ...]:
    """What tells whether another build has written a manifest since."""
    return status_at(root / MANIFEST), status_at(root / STAGING / STAGED_MANIFEST)


def _read_manifest(path: Path, *, is_optional: bool = False) -> SiteManifest | None:
    try:
        manifest = _MANIFESTS.decode(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise _unusable(path, exc) from exc
    except msgspec.DecodeError as exc:
        # a staged manifest that was cut off names files that were not swapped in
        if is_optional:
            return None
        raise SiteError(
            f"{path} is not a manifest of wikisync: {exc}",
            hint="choose an empty folder with -o",
        ) from exc
    if manifest.generator != GENERATOR or manifest.version > MANIFEST_VERSION:
        raise SiteError(
            f"{path} was written by {manifest.generator}, "
            f"version {manifest.version} of the manifest",
            hint="choose an empty folder with -o, or update wikisync",
        )
    return manifest


_NO_NAMES = frozenset({"", ".", ".."})


def _is_inside(path: str) -> bool:
    """Whether a path from a manifest stays in the folder, in plain spelling."""
    if "\\" in path or "\0" in path or ":" in path.partition("/")[0]:
        return False
    return _NO_NAMES.isdisjoint(path.split("/"))


def _is_as_left(root: Path, path: str, state: FileState) -> bool:
    try:
        found = os.lstat(f"{root}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return False
    return (
        stat.S_ISREG(found.st_mode)
        and found.st_size == state.size
        and found.st_mtime_ns == state.mtime_ns
    )


def _is_same_file(path: Path, twin: Path) -> bool:
    try:
        return path.samefile(twin)
    except OSError:
        return False


def _has_link_above(root: Path, path: str) -> bool:
    return any((root / parent).is_symlink() for parent in folders_above(path))


def _in_the_way(gone: list[str], new: Mapping[str, str]) -> list[str]:
    """Files to remove before the swap, because a new one needs their name.

    A folder takes their place, a file takes that of a folder above them, or
    only the case of the name changed.
    """
    folders = {parent for path in new for parent in folders_above(path)}
    folded = {path.casefold() for path in new}
    return [
        path
        for path in gone
        if path in folders
        or path.casefold() in folded
        or any(parent in new for parent in folders_above(path))
    ]


def _copy(source: int, name: str, target: BinaryIO) -> tuple[int, Digest]:
    """Copy an open file and say what was copied: size in bytes and digest."""
    digest, size = hashlib.sha256(), 0
    for chunk in read_chunks(source, name):
        digest.update(chunk)
        target.write(chunk)
        size += len(chunk)
    return size, Digest(digest.hexdigest())


def _file_digest(path: Path) -> Digest:
    with path.open("rb") as file:
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())


def _unread(name: str) -> Problem:
    return Problem(
        "unreadable",
        name,
        "could not be read and is not in the site",
        "check that it is a file with read permission, then build again",
    )


def _foreign(path: str) -> Problem:
    return Problem(
        "output-foreign",
        path,
        "another file is there that wikisync did not write; it was not changed",
        "remove it and build again, or choose another folder",
    )


def _edited(path: str) -> Problem:
    return Problem(
        "output-edited",
        path,
        "is no longer part of the site but was changed by something else; it was kept",
        "remove it when you no longer need it",
    )


def _unusable(path: Path, exc: OSError) -> SiteError:
    return SiteError(
        f"cannot use output {path}: {exc.strerror}",
        hint="choose a writable folder with -o",
    )


def _failed(root: Path, exc: OSError) -> SiteError:
    if exc.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return SiteError(
            f"no space for the site in {root}: {exc.strerror}",
            hint="free some space and run the same command again; the previous site is"
            " intact",
        )
    name = f" {exc.filename}" if exc.filename else ""
    return SiteError(
        f"cannot write the site{name}: {exc.strerror}",
        hint="fix the cause and run the same command again",
    )

"""The output folder: what is ours in it, and how a new site takes its place.

A build first writes everything that changed into ``-/staging/``, the new manifest
last; only then do files take the places of those before, are gone ones removed, and
the manifest swapped.  So a full disk or an error leaves the old site as it was, byte
for byte, and an interrupt during the swap leaves whole files, all of them named in one
of two manifests, which the next build puts right, as what a power cut made shorter.

Rules that hold here: a file that no manifest of ours names is never replaced or
removed; no symbolic link is followed; a manifest is read as hostile input.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Digest, Problem, digest_of, folders_above
from wikisync.core.system.locks import close_locked, open_locked_folder
from wikisync.errors import FolderError, SiteError
from wikisync.folder import safe_open
from wikisync.site import manifest as manifests
from wikisync.site import output_place
from wikisync.site.addresses import HISTORY_FOLDER, MANIFEST
from wikisync.site.manifest import FileState, PublishedWiki, SiteFiles, wiki_part
from wikisync.site.output_place import Written
from wikisync.site.sources import SourceFile

NO_FILES = SiteFiles({})
"""What is trusted of an output that nothing is known of."""
SAID_AGAIN = frozenset({"output-foreign", "unreadable", "drawing-large"})
"""Problems of files that each build finds when it puts them."""
_STAGED_MANIFEST = f"{output_place.NEW_FILES}/{MANIFEST}"
_TIMES_END = 1 << 63
READ_BYTES_MAX = 64 * 1024 * 1024


class Changes(Struct, frozen=True):
    """What a build did to the folder, and the state of every file in it now."""

    written: int
    unchanged: int
    removed: int
    files: Mapping[str, FileState]
    """By output path, the manifest among them; those of no part that is kept."""
    problems: tuple[Problem, ...]


def open_output(root: Path, trusted: SiteFiles = NO_FILES) -> Output:
    """Make sure that a site may be written to a folder; raises ``SiteError``."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        has_files = any(root.iterdir())
    except FileExistsError as exc:
        raise SiteError(
            f"output {root} is not a folder", hint="choose another path with -o"
        ) from exc
    except OSError as exc:
        raise manifests.unusable(root, exc) from exc
    if refused := safe_open.refused_write(root):
        raise manifests.unusable(root, refused)
    if has_files and not _is_ours(root):
        raise SiteError(
            f"output {root} is not empty and is not a wikisync site",
            hint="choose an empty folder with -o; this one was not changed",
        )
    return Output(root, trusted)


class Output:
    """An output folder during one build: put every file, then ``commit`` once."""

    def __init__(self, root: Path, trusted: SiteFiles) -> None:
        self.root = root
        self._top: int
        """The folder itself, open: a path from there is found sooner."""
        self.known: SiteFiles
        """What builds of ours put there; read while it is held, as what follows."""
        self.wikis: tuple[PublishedWiki, ...] = ()
        self._trusted = trusted
        self._place: output_place.OutputPlace
        self.files: dict[str, FileState] = {}
        """What the site shall have so far, beside the parts that are kept."""
        self.kept: dict[str, int] = {}
        """How many files each of these has."""
        self._new: set[str] = set()
        """Those that are in staging."""
        self._keys: dict[str, tuple[str, bytes]] = {}
        """Paths as they were named, which many share, with keys of what is to come."""
        self._missing: dict[str, bool] = {"": False}
        """Folders that were not there when a file of theirs was first put."""
        self._problems: list[Problem] = []

    @contextlib.contextmanager
    def staging(self) -> Iterator[None]:
        """Keep a place for new files, gone afterwards whatever happens.

        Raises:
            SiteError: a file cannot be written, or another build writes to the folder.
        """
        with _held(self.root) as self._top:
            self._place = output_place.OutputPlace(self.root, self._top)
            self.known = _known_files(self.root, self._top, self._trusted)
            self.wikis = manifests.published_wikis(self.root)
            try:
                with self._place.staging():
                    yield
            except OSError as exc:
                raise _failed(self.root, exc) from exc

    def current(self, path: str) -> Digest | None:
        """Digest of what lies at a path now; None where nothing of ours does."""
        if (state := self._trusted.get(path)) and _is_as_left(self._top, path, state):
            return state.digest
        full = self.root / path
        is_file = full.is_file() and not full.is_symlink()
        return _file_digest(full) if is_file else None

    def keep_parts(self, prefix: str) -> bool:
        """Take over all files of a wiki, if each is as the last build left it."""
        parts = self.known.parts & {prefix, HISTORY_FOLDER + prefix}
        for part in parts:
            files = self.known.unpacked(part)
            if _are_as_left(self._top, files):
                self.kept[part] = len(files)
        return bool(parts) and parts <= self.kept.keys()

    def keep(self, path: str, key: bytes = b"") -> bool:
        """Take over a file if it was made from this and holds what the last build left.

        It is read only where it was restored.  One that is not kept is put later, by
        this key.
        """
        return not self.keep_all({path: key})

    def keep_all(self, keys: Mapping[str, bytes | None]) -> list[str]:
        """The same for files by keys, None for any key; those not kept."""
        lost = []
        known, trusted, files = self.known, self._trusted, self.files
        for path, key in keys.items():
            last = trusted.get(path)
            if last and (key is None or last.key == key) and path in known:
                if _is_as_left(self._top, path, last):
                    files[path] = last
                    continue
                if self.current(path) == last.digest:
                    files[path] = replace(last, mtime_ns=0)
                    continue
            self._keys[path] = path, key or b""
            lost.append(path)
        return lost

    def read(self, path: str) -> bytes | None:
        """What a file of ours holds now; None where it cannot be read."""
        try:
            return safe_open.read_below(self.root, path, READ_BYTES_MAX)
        except (FileNotFoundError, FolderError):
            return None

    def keep_published(self, path: str) -> None:
        """Leave a file as it is, where it still is there and nothing replaces it."""
        digest = self.current(path)
        if digest is not None and path not in self.files:
            self.files[path] = FileState((self.root / path).lstat().st_size, digest)

    def state(self, path: str) -> FileState | None:
        """What is known of a file that the site shall have."""
        return (self.known if wiki_part(path) in self.kept else self.files).get(path)

    def content(self, path: str) -> bytes:
        """What a file shall hold; nothing where it is left out."""
        if (state := self.state(path)) is None:
            return b""
        if path in self._new:
            return self._place.staged.content(path)
        return safe_open.read_below(self.root, path, state.size)

    def put(self, path: str, content: bytes, key: bytes = b"") -> None:
        """Give a file its content, staged where it differs; ``key`` as of ``keep``."""
        if self.put_staged(Written(path, len(content), digest_of(content)), key):
            self.staged.put(path, content)

    @property
    def staged(self) -> output_place.Staging:
        """The new files so far."""
        return self._place.staged

    def put_staged(self, new: Written, key: bytes = b"") -> bool:
        """Give a file staged content; whether it differs from what is there."""
        path, size, digest, time = new
        path, noted = self._keys.pop(path, (path, b""))
        key = key or noted
        self.files[path] = FileState(size, digest, key=key)
        self._new.discard(path)
        is_wanted = self._is_to_be_written(path, digest)
        if is_wanted:
            self.files[path] = FileState(size, digest, _known_time(time), key)
            self._new.add(path)
        return is_wanted

    def put_copy(
        self, path: str, place: SourceFile, name: str, known: tuple[int, Digest]
    ) -> bool:
        """Make a file the copy of a wiki's; False where that cannot be read."""
        self.files[path] = FileState(*known)
        if not self._is_to_be_written(path, known[1]):
            return True
        self._new.add(path)
        try:
            with (
                safe_open.opened_below(place.folder, place.name) as source,
                self.staged.file(path) as staged,
            ):
                size, digest = _copy(source, name, staged)
        except (FileNotFoundError, FolderError):
            self.leave_out(path, name)
            return False
        # the source may have changed since it was looked at: say what was copied
        self.files[path] = replace(self.files[path], size=size, digest=digest)
        return True

    def leave_out(self, path: str, name: str) -> None:
        """The site shall not have this file, whose source cannot be read."""
        self.files.pop(path, None)
        self.staged.drop(path)
        said = "could not be read and is not in the site"
        advice = "check that it is a file with read permission, then build again"
        self._problems.append(Problem("unreadable", name, said, advice))

    def commit(self, wikis: Sequence[PublishedWiki] = ()) -> Changes:
        """Swap staged files in, remove what is gone, the manifest last."""
        # what is at old names, and in the place of a missing start page, comes later
        for part in self.kept.keys() & set(map(wiki_part, self.files)):
            rest = self.known.unpacked(part).items()
            self.files |= {path: one for path, one in rest if path not in self.files}
            del self.kept[part]
        with self.staged.file(MANIFEST) as file:
            kept = self.kept.keys(), self.known.lines
            file.writelines(manifests.manifest_parts(self.files, wikis, *kept))
        there = chain.from_iterable(self.known.without(self.kept))
        gone = sorted({*there} - self.files.keys() - {MANIFEST})
        new = self._new & self.files.keys()
        early = _in_the_way(gone, new) if gone else []
        removed = self._remove(early)
        self._place.swap_in(new)
        removed += self._remove([path for path in gone if path not in early])
        written = len(new)
        if new or gone or self.current(MANIFEST) != self.current(_STAGED_MANIFEST):
            self._place.swap_in({MANIFEST})
            written += 1
        self._place.is_swapping = False
        unsettled = [path for path, one in self.files.items() if not one.mtime_ns]
        for path in (*unsettled, MANIFEST):
            found = os.lstat(path, dir_fd=self._top)
            state = self.files.get(path, FileState(0, None))
            time = _known_time(found.st_mtime_ns)
            self.files[path] = FileState(found.st_size, state.digest, time, state.key)
        unchanged = len(self.files) + sum(self.kept.values()) - written
        return Changes(written, unchanged, removed, self.files, tuple(self._problems))

    def _is_to_be_written(self, path: str, digest: Digest) -> bool:
        if path in self.known:
            return self.current(path) != digest
        folder = path.rpartition("/")[0]
        if folder not in self._missing:
            self._missing[folder] = not os.path.lexists(self.root / folder)
        if self._missing[folder]:  # so nothing can be there
            return True
        found = self.current(path)
        if found is not None and self._has_twin(path):
            # the disk folds case: the old name goes first, then this one comes
            return True
        if found == digest:
            return False
        if found is None and self._is_free(path):
            return True
        said = "another file is there that wikisync did not write; it was not changed"
        advice = "remove it and build again, or choose another folder"
        self._problems.append(Problem("output-foreign", path, said, advice))
        del self.files[path]
        return False

    def _has_twin(self, path: str) -> bool:
        full, folded = self.root / path, path.casefold()
        for twin in [known for known in self.known if known.casefold() == folded]:
            with contextlib.suppress(OSError):
                if full.samefile(self.root / twin):
                    return True
        return False

    def _is_free(self, path: str) -> bool:
        """Whether nothing is at a path, or a folder that will be empty in time."""
        full = self.root / path
        if not os.path.lexists(full):
            return True
        if full.is_symlink() or not full.is_dir():
            return False
        return all(
            entry.is_dir() or entry.relative_to(self.root).as_posix() in self.known
            for entry in full.rglob("*")
        )

    def _remove(self, paths: list[str]) -> int:
        removed = 0
        for path in paths:
            found, expected = self.current(path), self.known[path].digest
            above = (self.root / parent for parent in folders_above(path))
            if found is None or any(parent.is_symlink() for parent in above):
                continue
            if expected is not None and found != expected:
                said = "is no longer part of the site but was changed by something"
                said += " else; it was kept"
                advice = "remove it when you no longer need it"
                self._problems.append(Problem("output-edited", path, said, advice))
                continue
            removed += self._place.remove(path)
        return removed


def _known_time(mtime_ns: int) -> int:
    """The time of a file; 0 where it is out of bounds, so that the file is read."""
    return mtime_ns if 0 < mtime_ns < _TIMES_END else 0


@contextlib.contextmanager
def _held(root: Path) -> Iterator[int]:
    """Hold the folder against other builds; a lock file would be published with it."""
    try:
        descriptor = open_locked_folder(root)
    except BlockingIOError as exc:
        raise SiteError(
            f"another wikisync is writing to output {root}",
            hint="wait until it finishes, or choose another folder with -o",
        ) from exc
    except OSError as exc:
        raise manifests.unusable(root, exc) from exc
    try:
        yield descriptor
    finally:
        close_locked(descriptor)


def untouched(root: Path, files: SiteFiles) -> int:
    """How many files there are, if all are as a build left them, none staged; else 0.

    Size and time tell.
    """
    count = 0
    if MANIFEST not in files.rest or os.path.lexists(root / output_place.NEW_FILES):
        return 0
    with contextlib.suppress(FolderError), safe_open.opened_root(root) as top:
        for part in files.without(()):
            if not _are_as_left(top, part):
                return 0
            count += len(part)
    return count


def _is_ours(root: Path) -> bool:
    return (
        manifests.manifest_head(root) is not None
        or (root / output_place.NEW_FILES).parent.is_dir()
        # a build that was ended as it made the two folders leaves the first alone
        or [*root.iterdir(), *root.glob("-/*")] == [root / "-"]
    )


def _known_files(root: Path, top: int, trusted: SiteFiles) -> SiteFiles:
    """Files that builds of ours put here.

    Those of an interrupted build's manifest hold nobody knows what: without a digest.
    """
    manifest = trusted.get(MANIFEST)
    is_whole = not os.path.lexists(root / _STAGED_MANIFEST)
    if is_whole and manifest and _is_as_left(top, MANIFEST, manifest):
        return trusted
    named = manifests.named_files(root, MANIFEST)
    known = {file.path: FileState(0, Digest(file.sha256)) for file in named}
    staged = manifests.named_files(root, _STAGED_MANIFEST, is_optional=True)
    return SiteFiles(known | {file.path: FileState(0, None) for file in staged})


def _is_as_left(top: int, path: str, state: FileState) -> bool:
    return _are_as_left(top, {path: state})


def _are_as_left(top: int, files: Mapping[str, FileState]) -> bool:
    try:
        for path, state in files.items():
            found = os.lstat(path, dir_fd=top)
            if (
                not stat.S_ISREG(found.st_mode)
                or found.st_size != state.size
                or found.st_mtime_ns != state.mtime_ns
            ):
                return False
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _in_the_way(gone: Sequence[str], new: Set[str]) -> list[str]:
    """Files to remove before the swap: a new file needs their name or place."""
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
    digest, size = hashlib.sha256(), 0
    for chunk in safe_open.read_chunks(source, name):
        digest.update(chunk)
        target.write(chunk)
        size += len(chunk)
    return size, Digest(digest.hexdigest())


def _file_digest(path: Path) -> Digest:
    # a pipe that came meanwhile would be waited for
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())


def _failed(root: Path, exc: OSError) -> SiteError:
    if exc.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return SiteError(
            f"no space for the site in {root}: {exc.strerror}",
            hint="free some space and run the same command again; the previous site is"
            " intact",
        )
    # where a file is moved into its place, the first name is a temporary one
    found = exc.filename2 or exc.filename
    name = f" {found}" if found else ""
    return SiteError(
        f"cannot write the site{name}: {exc.strerror}",
        hint="fix the cause and run the same command again",
    )

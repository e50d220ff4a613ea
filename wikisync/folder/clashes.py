"""Paths for many pages at once, no two the same for the disk.

In the way of the name that ``naming`` gives can be names that a disk folds into one,
which is tried, and names that people made themselves.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from wikisync.core.model import EXTENSIONS, Format, PagePath, Slug, split_extension
from wikisync.folder import naming
from wikisync.folder.ignore import is_ignored_file
from wikisync.folder.safe_open import folder_errors

_IGNORABLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's ignorable characters, which some disks skip when they compare."""


class Folding(Struct, frozen=True):
    """What a disk ignores when it compares names."""

    case: bool = False
    """``Home`` and ``home`` are one file."""
    unicode: bool = False
    """``é`` as one character and as two are one file."""


NO_FOLDING = Folding()


class PathBook:
    """A path for each page, no two the same for a disk that folds names.

    A page that has a file keeps its name, or at least its stem where only its
    format changed.  Of two pages whose names the disk takes for one, the later
    gets the mark; the same holds for folders.
    """

    def __init__(
        self, known: Mapping[Slug, PagePath], folding: Folding = NO_FOLDING
    ) -> None:
        key: Callable[[str], str] = str
        if folding.case:
            key = fold_all
        elif folding.unicode:
            key = _composed
        self._top = _Folder(key)
        self._paths = dict(known)
        self._homes = {slug: _keep(path, self._top) for slug, path in known.items()}

    def assign(
        self, slug: Slug, page_format: Format, *, extension: str = ""
    ) -> PagePath:
        """The page's path, which is taken from now on."""
        path = None
        if slug in self._homes:
            home, known = self._homes[slug], self._paths[slug]
            path = _keep_name(known, home, slug, page_format)
        if path is None:
            path, home = _place(slug, page_format, self._top, extension)
        self._paths[slug], self._homes[slug] = path, home
        return path

    def release(self, slug: Slug) -> None:
        """Forget a page, whose name is free from now on."""
        path, home = self._paths.pop(slug, None), self._homes.pop(slug, None)
        if path is not None and home is not None:
            home.names.pop(home.key(path.rpartition("/")[2]), None)


def fold_all(name: str) -> str:
    """What names share that differ in case, in composed signs or in unseen ones."""
    if name.isascii():
        return name.lower()
    name = unicodedata.normalize("NFD", _IGNORABLE.sub("", name)).casefold()
    return unicodedata.normalize("NFC", name)


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", _IGNORABLE.sub("", name))


class _Folder:
    """A folder while paths are given out: what is in it and who is where."""

    def __init__(
        self,
        key: Callable[[str], str],
        digest: naming.PathDigest | None = None,
        *,
        is_handmade: bool = False,
    ) -> None:
        self.key = key
        self.digest = naming.PathDigest() if digest is None else digest
        self.is_top = True
        self.is_handmade = is_handmade
        """Whether a name on the way here is not the one we would give."""
        self.names: dict[str, str] = {}
        """Key to name, of files and folders."""
        self.parts: dict[str, tuple[str, _Folder]] = {}
        """Name without mark to the name on disk and the folder."""
        self.components: dict[str, tuple[tuple[str, ...], _Folder]] = {}
        """Slug component to names on disk and the innermost folder."""

    def enter(self, part: str, name: str | None = None) -> tuple[str, _Folder]:
        """The folder for a name without mark; made, with a mark if need be."""
        if part not in self.parts:
            digest = self.digest.copy()
            digest.enter(part)
            folder = _Folder(self.key, digest, is_handmade=self.is_handmade)
            folder.is_top = False
            taken = self.take(part, "") if name is None else self.hold(name)
            self.parts[part] = taken, folder
        return self.parts[part]

    def adopt(
        self, component: str, names: list[str], parts: list[str], inner: _Folder
    ) -> None:
        """Remember which folders on the disk a slug's component has."""
        if component in self.components:
            return
        own = naming.encode_component(
            component, None, self.digest.copy(), is_top=self.is_top
        )
        inner.is_handmade |= own != parts
        self.components[component] = tuple(names), inner

    def has(self, name: str) -> bool:
        """Whether something is in the way of a new file."""
        return self.key(name) in self.names

    def hold(self, name: str) -> str:
        """Reserve a name that is on the disk."""
        self.names[self.key(name)] = name
        return name

    def take(self, stem: str, extension: str) -> str:
        """Reserve a free name: as it is, else with as few digits as it needs."""
        digits = self.digest.of(stem)
        marks = (f"~{digits[:count]}" for count in naming.MARK_DIGITS)
        names = (f"{stem}{mark}{extension}" for mark in ("", *marks))
        return self.hold(next(n for n in names if not self.has(n)))


def _keep(path: PagePath, top: _Folder) -> _Folder:
    *folders, name = path.split("/")
    stem, page_format = split_extension(name) or (name, Format.MARKDOWN)
    bare = naming.without_marks(_composed_parts([*folders, stem]))
    folder, start = top, 0
    for component, end in naming.decode_parts(bare, page_format):
        inner = folder
        for index in range(start, min(end, len(folders))):
            _, inner = inner.enter(bare[index], folders[index])
        if end <= len(folders):
            folder.adopt(component, folders[start:end], bare[start:end], inner)
        folder, start = inner, end
    folder.hold(name)
    return folder


def _keep_name(
    known: PagePath, home: _Folder, slug: Slug, page_format: Format
) -> PagePath | None:
    """The path a page has, if only with another extension; None where it cannot."""
    way, slash, name = known.rpartition("/")
    split = split_extension(name)
    if split is None or not _means(known, split[1], slug):
        return None
    if split[1] is page_format:
        return known
    other = split[0] + EXTENSIONS[page_format][0]
    path = PagePath(way + slash + other)
    if home.has(other) or not _means(path, page_format, slug):
        return None
    home.hold(other)
    return path


def _place(
    slug: Slug, page_format: Format, top: _Folder, extension: str
) -> tuple[PagePath, _Folder]:
    path, home = _way(slug, page_format, top, extension, joins=True)
    if (home.is_handmade or extension) and not _means(path, page_format, slug):
        home.names.pop(home.key(path.rpartition("/")[2]))
        path, home = _way(slug, page_format, top, "", joins=not home.is_handmade)
    return path, home


def _way(
    slug: Slug, page_format: Format, top: _Folder, extension: str, *, joins: bool
) -> tuple[PagePath, _Folder]:
    """A path and its folder; with ``joins`` also one whose name people gave it."""
    *components, leaf = slug.split("/")
    names: list[str] = []
    folder = top
    for component in components:
        if joins and component in folder.components:
            known, folder = folder.components[component]
            names += known
            continue
        is_top = not names
        for part in naming.encode_component(
            component, None, folder.digest.copy(), is_top=is_top
        ):
            name, folder = folder.enter(part)
            names.append(name)
    *parts, stem = naming.encode_component(
        leaf, page_format, folder.digest.copy(), is_top=False
    )
    for part in parts:
        name, folder = folder.enter(part)
        names.append(name)
    names.append(folder.take(stem, extension or EXTENSIONS[page_format][0]))
    return PagePath("/".join(names)), folder


def _means(path: str, page_format: Format, slug: Slug) -> bool:
    name = path.rpartition("/")[2]
    split = split_extension(name)
    if split is None or split[1] is not page_format or is_ignored_file(name):
        return False
    parts = path[: len(path) - len(name) + len(split[0])].split("/")
    return naming.decode_slug(_composed_parts(parts), page_format) == slug


def _composed_parts(parts: list[str]) -> list[str]:
    return [unicodedata.normalize("NFC", part) for part in parts]


def probe_folding(folder: Path) -> Folding:
    """Try it with two hidden files in the folder itself: it may fold alone."""
    stem = f".wikisync-probe-{os.urandom(4).hex()}"
    return Folding(
        case=_is_found(folder, f"{stem}-a", f"{stem}-A"),
        unicode=_is_found(folder, f"{stem}-\u00e9", f"{stem}-e\u0301"),
    )


def _is_found(folder: Path, made: str, asked: str) -> bool:
    path = folder / made
    with folder_errors("write in", folder):
        path.touch(0o600, exist_ok=False)
    try:
        return (folder / asked).exists()
    finally:
        with suppress(FileNotFoundError):
            path.unlink()

"""The manifest of a site: the files that builds of ours put there, and its wikis.

It is read as hostile input, and written a line for each file: there are many.

A wiki leaves a site only where somebody said so: a list that came short, a token that
lost a right and a folder that is empty look like a wiki that is gone.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from wikisync.core.decoding import json_decoder
from wikisync.core.model import Digest, OwnerKind, WikiOwner
from wikisync.errors import FolderError, SiteError, UsageError
from wikisync.folder.safe_open import read_below
from wikisync.markup.file_types import OCTETS, OPENED, SAVED, file_extension
from wikisync.site.addresses import MANIFEST, WIKI_FOLDER
from wikisync.site.model import WikiInfo, WikiOrigin

T = TypeVar("T")

WIKIS_SHOWN_MAX = 10
"""Wikis that a message names one by one."""
MANIFEST_VERSION = 1
MANIFEST_BYTES_MAX = 256 * 1024 * 1024
"""For a million files and more."""
GENERATOR = "wikisync"
FILES_PER_WRITE = 1000
PARTS_HELD = 4
"""Unpacked at once: the pages of one wiki, their history, and those of another."""

_TYPES: Mapping[str, str] = {
    **SAVED,
    **OPENED,
    # what only our own files are called
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".xml": "application/xml",
}
"""Content types by extension: tables of ours, since systems' tables differ."""
_NO_NAMES = frozenset({"", ".", ".."})
_NO_PART: Any = {}.__getitem__


class PublishedWiki(WikiInfo, frozen=True, omit_defaults=True, kw_only=True):
    """One wiki of a site."""

    prefix: str
    """Folder of its files in the site, with a slash behind; empty for the top."""
    pages: int
    changed: str = ""
    """When a page of it changed last, where no page of it is there to tell."""
    apart: str = ""
    """Version of the site of its own that lies below the prefix, where it is one; this
    site has none of its files."""

    def __str__(self) -> str:
        pages = "1 page" if self.pages == 1 else f"{self.pages} pages"
        return f"the wiki of {self.owner} ({pages})"


class WikiIndex(Generic[T]):
    """Wikis of a service by what they are known by: the id, and else the path."""

    def __init__(self, wikis: Iterable[tuple[WikiOwner, WikiOrigin, T]]) -> None:
        self._by_id: dict[tuple[str, OwnerKind, int], T] = {}
        self._by_path: dict[tuple[OwnerKind, str], list[tuple[WikiOrigin, T]]] = {}
        for owner, origin, value in wikis:
            if origin.id:
                self._by_id[origin.service, owner.kind, origin.id] = value
            at = self._by_path.setdefault((owner.kind, owner.full_path.casefold()), [])
            at.append((origin, value))

    def find(self, owner: WikiOwner, origin: WikiOrigin) -> T | None:
        """What is known of a wiki; another project under its path is another wiki."""
        found = self._by_id.get((origin.service, owner.kind, origin.id))
        if origin.id and found is not None:
            return found
        for other, value in self._by_path.get(
            (owner.kind, owner.full_path.casefold()), ()
        ):
            is_one_service = other.service == origin.service or not (
                other.service and origin.service
            )
            if is_one_service and not (other.id and origin.id):
                return value
        return None


MayLeave = Callable[[PublishedWiki], bool]
"""Whether a wiki may be removed from the site."""


def leave(*, replaces: bool) -> MayLeave:
    """What ``--replace`` says: every wiki may leave, or none."""
    return lambda _wiki: replaces


nothing_may_leave = leave(replaces=False)


def refuse_leaving(wikis: Sequence[PublishedWiki]) -> None:
    """Raise ``UsageError`` if there are wikis that would be removed from a site."""
    if not wikis:
        return
    named = [str(wiki) for wiki in wikis[:WIKIS_SHOWN_MAX]]
    if len(wikis) > WIKIS_SHOWN_MAX:
        named.append(f"{len(wikis) - WIKIS_SHOWN_MAX} more")
    raise UsageError(
        f"this would remove {', '.join(named)} from the site; nothing was changed",
        hint="add --replace to remove it from the site,"
        " or choose another folder with -o",
    )


class FileState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of an output; equal size and time mean equal bytes."""

    size: int
    digest: Digest | None
    """None where nobody knows what the file holds."""
    mtime_ns: int = 0
    """As a build left it; 0 before that, and for a time that no clock of today has."""
    key: bytes = b""
    """Hash of what it was made from, as far as somebody asks for it."""


class SiteFiles(Mapping[str, FileState]):
    """Files of an output by path, as a build left them.

    Those of a wiki may be a part, which is unpacked when somebody asks for one of them.
    """

    def __init__(
        self,
        rest: Mapping[str, FileState],
        parts: Collection[str] = (),
        unpacked: Callable[[str], Mapping[str, FileState]] = _NO_PART,
        lines: Callable[[str], bytes] = _NO_PART,
    ) -> None:
        self.rest, self.parts = rest, frozenset(parts)
        self.unpacked, self.lines = unpacked, lines
        self._held = lru_cache(PARTS_HELD)(unpacked)

    def without(self, parts: Collection[str]) -> Iterator[Mapping[str, FileState]]:
        """All files but those of some parts."""
        return chain([self.rest], map(self.unpacked, self.parts.difference(parts)))

    def __getitem__(self, path: str) -> FileState:
        part = wiki_part(path) if self.parts else ""
        return (self._held(part) if part in self.parts else self.rest)[path]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.without(()))

    def __len__(self) -> int:
        return sum(map(len, self.without(())))


def wiki_part(path: str) -> str:
    """The folder of a wiki that a file is in; nothing where it is in none.

    In a manifest no other file is between those of one.
    """
    top, found, _ = path.partition(WIKI_FOLDER)
    return top + found if found else ""


class ManifestFile(msgspec.Struct, frozen=True):
    """One file of the site."""

    path: str
    size: int
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    type: str


class ManifestHead(msgspec.Struct, frozen=True):
    """``-/manifest.json`` without the files, which are many."""

    generator: str
    version: int
    wikis: tuple[PublishedWiki, ...] = ()


class SiteManifest(ManifestHead, frozen=True, kw_only=True):
    """``-/manifest.json``: every file that a build of ours put here."""

    files: tuple[ManifestFile, ...]


HeadT = TypeVar("HeadT", bound=ManifestHead)
_HEADS = json_decoder(ManifestHead)
_MANIFESTS = json_decoder(SiteManifest)
_FILES = b'\n],"files":['
"""Ends the head: what is behind has megabytes."""
_ENCODER = msgspec.json.Encoder()


def manifest_head(root: Path) -> ManifestHead | None:
    """What the site's manifest says first, if there is one; raises ``SiteError``."""
    return _read(root, MANIFEST, _HEADS)


def published_wikis(root: Path) -> tuple[PublishedWiki, ...]:
    """The wikis that the site in a folder holds; raises as ``manifest_head``."""
    head = manifest_head(root)
    return head.wikis if head else ()


def named_files(
    root: Path, name: str, *, is_optional: bool = False
) -> Iterator[ManifestFile]:
    """The files inside the folder that a manifest names, in plain spelling.

    Raises ``SiteError``.
    """
    manifest = _read(root, name, _MANIFESTS, is_optional=is_optional)
    for file in manifest.files if manifest else ():
        path = file.path
        is_odd = "\\" in path or "\0" in path or ":" in path.partition("/")[0]
        if not is_odd and _NO_NAMES.isdisjoint(path.split("/")):
            yield file


def _read(
    root: Path,
    name: str,
    decoder: msgspec.json.Decoder[HeadT],
    *,
    is_optional: bool = False,
) -> HeadT | None:
    path = root / name
    try:
        if not os.path.lexists(path):
            return None
        end = _FILES if decoder is _HEADS else b""
        content = read_below(root, name, MANIFEST_BYTES_MAX, end)
        if end and end in content:
            content = content.partition(end)[0] + b"]}"
        manifest = decoder.decode(content)
    except FileNotFoundError:
        return None
    except FolderError as exc:
        raise SiteError(
            f"cannot use output {root}: {exc.message}",
            hint="remove it, or choose another folder with -o",
        ) from exc
    except msgspec.DecodeError as exc:
        # a staged manifest that was cut off names files that were not swapped in
        if is_optional:
            return None
        raise SiteError(
            f"{path} is not a manifest of wikisync: {exc}",
            hint="restore it, or empty the folder, and run it again",
        ) from exc
    if manifest.generator != GENERATOR or manifest.version != MANIFEST_VERSION:
        raise SiteError(
            f"{path} was written by {manifest.generator}, "
            f"version {manifest.version} of the manifest",
            hint="choose an empty folder with -o, or update wikisync",
        )
    return manifest


def manifest_parts(
    files: Mapping[str, FileState],
    wikis: Sequence[PublishedWiki],
    kept: Collection[str] = (),
    lines: Callable[[str], bytes] = _NO_PART,
) -> Iterator[bytes]:
    """The manifest of a site: sorted, one wiki and one file a line, no dates.

    ``kept`` are parts whose files are not among these, with their ``lines``.
    """
    head = f'{{"generator":"{GENERATOR}","version":{MANIFEST_VERSION},"wikis":[\n'
    yield head.encode() + b",\n".join(msgspec.json.encode(wiki) for wiki in wikis)
    before = b'\n],"files":[\n'
    for part, paths in groupby(sorted([*files, *kept]), wiki_part):
        while some := list(islice(paths, FILES_PER_WRITE)):
            rows = ((path, files[path]) for path in some)
            yield before + (lines(part) if part in kept else manifest_lines(rows))
            before = b",\n"
    yield (b"" if files or kept else before) + b"\n]}\n"


def manifest_lines(files: Iterable[tuple[str, FileState]]) -> bytes:
    """What a manifest says of some files, sorted by path."""
    entries = []
    for path, state in files:
        assert state.digest is not None, "what was put or kept is known"
        kind = content_type(path)
        entries.append(ManifestFile(path, state.size, state.digest, kind))
    # a line end inside a path is written as an escape
    return _ENCODER.encode_lines(entries).removesuffix(b"\n").replace(b"\n", b",\n")


def content_type(path: str) -> str:
    """Content type of an output file by its extension."""
    return _TYPES.get(file_extension(path), OCTETS)


def unusable(path: Path, exc: OSError) -> SiteError:
    """The error for an output, or a manifest in it, that the system does not give."""
    return SiteError(
        f"cannot use output {path}: {exc.strerror}",
        hint="choose a writable folder with -o",
    )

"""Commits and trees of a wiki's git repository: read, and compared.

Pure.  libgit2 reads packs from files with an index alone, and
cannot ask for commits and trees without their files, so the few objects of an answer
are read here.
"""

import hashlib
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Set

from msgspec import Struct, field

from wikisync.core.git_trees import (
    DIRECTORY,
    SHA1_BYTES,
    TreeMissing,
    Unexplained,
    tree_entries,
)
from wikisync.core.model import EXTENSIONS, Slug, split_extension

UPLOADS = b"uploads"
"""The directory of attachments at the top."""
ENTRIES_MAX = 4_000_000
"""Names of directories that differ; a few trees that hold each other could make any
number of paths."""

_SUBMODULE = 0o160000
_FILES = frozenset({0o100644, 0o100755, 0o100664})
_UPLOAD = re.compile(r"uploads/[0-9a-fA-F]{32}")
_ENDINGS = tuple(one for many in EXTENSIONS.values() for one in many)


class PageChanges(Struct, frozen=True):
    """The pages that differ between two trees."""

    there: Mapping[Slug, bytes] = field(default_factory=dict)
    """Those of the later one that are new or other, with the id of the file."""
    gone: frozenset[Slug] = frozenset()
    """Those of the earlier one alone."""


def page_changes(
    trees: Mapping[bytes, bytes], before: bytes, after: bytes
) -> PageChanges:
    """The pages that differ between two trees, given all trees of the earlier one.

    TreeMissing for one that is not among them, else Unexplained: no page by rule.
    """
    there: dict[Slug, bytes] = {}
    gone: set[Slug] = set()
    room = ENTRIES_MAX
    waiting: list[tuple[str, bytes | None, bytes | None]] = [("", before, after)]
    while waiting:
        folder, old_id, new_id = waiting.pop()
        old, new = _entries(trees, old_id), _entries(trees, new_id)
        changed: dict[str, set[bytes]] = {}
        room -= len(old) + len(new)
        if room < 0:
            raise Unexplained("more directories differ than a wiki has")
        for name in {name for name, _ in old.items() ^ new.items()}:
            if name == UPLOADS and not folder:
                continue
            was, now = old.get(name), new.get(name)
            path = f"{folder}{_text(name)}"
            below = _tree_of(was), _tree_of(now)
            if any(below):
                waiting.append((f"{path}/", *below))
            if _is_file(path, was) or _is_file(path, now):
                slug, _ = split_extension(path) or ("", None)
                changed.setdefault(slug, set()).add(name)
        for slug, names in changed.items():
            if slug:
                names |= {f"{slug[len(folder) :]}{one}".encode() for one in _ENDINGS}
                _one_of(slug, names, old)
                file = _one_of(slug, names, new)
                there |= {} if file is None else {Slug(slug): file}
                gone |= {Slug(slug)} if file is None else set()
    return PageChanges(there, frozenset(gone))


def file_of(trees: Mapping[bytes, bytes], root: bytes, slug: Slug) -> bytes | None:
    """The id of a tree's file that is this page, if any; Unexplained for several."""
    *folders, stem = slug.encode("utf-8", "surrogatepass").split(b"/")
    below: bytes | None = root
    for folder in folders:
        below = _tree_of(_entries(trees, below).get(folder))
    names = {stem + ending.encode() for ending in _ENDINGS}
    return _one_of(slug, names, _entries(trees, below))


def other_files(
    trees: Mapping[bytes, bytes], root: bytes, *, has_uploads: bool
) -> dict[str, str]:
    """Ids by path of a tree's files that are no pages, with or without uploads."""
    found: dict[str, str] = {}
    room = ENTRIES_MAX
    waiting = [("", root)]
    while waiting:
        folder, below = waiting.pop()
        entries = _entries(trees, below)
        room -= len(entries)
        if room < 0:
            raise Unexplained("it has more files than a wiki has")
        for name, (mode, id_) in entries.items():
            try:
                path = f"{folder}{_text(name)}"
            except Unexplained:
                continue
            if mode == DIRECTORY and (has_uploads or not _UPLOAD.fullmatch(path)):
                waiting.append((f"{path}/", id_))
            elif mode in _FILES and (
                split_extension(path) is None or path.startswith("uploads/")
            ):
                found[path] = id_.hex()
    return found


def reachable(trees: Mapping[bytes, bytes], root: bytes) -> dict[bytes, bytes]:
    """A tree with all below it, or TreeMissing."""
    found: dict[bytes, bytes] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = _content(trees, name)
        waiting += [
            i for m, _, i in tree_entries(found[name], len(name)) if m == DIRECTORY
        ]
    return found


def require_whole(
    trees: Mapping[bytes, bytes], root: bytes | None, fresh: Collection[bytes]
) -> bytes:
    """See that a tree and all that is new of it have what is below them."""
    if root is None:
        raise TreeMissing("the commit did not come")
    for name in (root, *fresh):
        for mode, _, below in tree_entries(_content(trees, name), len(name)):
            if mode == DIRECTORY and below not in trees:
                raise TreeMissing(below.hex())
    return root


_Entry = tuple[int, bytes]
"""Mode and id."""


def _entries(trees: Mapping[bytes, bytes], name: bytes | None) -> dict[bytes, _Entry]:
    if name is None:
        return {}
    listed = tree_entries(_content(trees, name), len(name))
    return {entry: (mode, id_) for mode, entry, id_ in listed}


def _content(trees: Mapping[bytes, bytes], name: bytes) -> bytes:
    try:
        return trees[name]
    except KeyError:
        raise TreeMissing(name.hex()) from None


def _tree_of(entry: _Entry | None) -> bytes | None:
    return entry[1] if entry is not None and entry[0] == DIRECTORY else None


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise Unexplained("a name is not UTF-8") from None


def _is_file(path: str, entry: _Entry | None) -> bool:
    """Whether it is a file; a link to one may be a page or none."""
    if entry is None or entry[0] in {DIRECTORY, _SUBMODULE}:
        return False
    if entry[0] not in _FILES:
        raise Unexplained(f"{path} is a link")
    return True


def _one_of(
    slug: str, names: Set[bytes], entries: Mapping[bytes, _Entry]
) -> bytes | None:
    """The id of the one file of a directory that is this page; None without any."""
    stem = slug.rpartition("/")[2]
    found = [
        entries[name][1]
        for name in names & entries.keys()
        if entries[name][0] in _FILES
        and (split_extension(name.decode()) or ("",))[0] == stem
    ]
    if len(found) > 1:
        raise Unexplained(f"{slug} is the name of several pages")
    return found[0] if found else None


CONTENT_BYTES_MAX = 256 * 1024 * 1024
"""Of all objects of an answer, unpacked."""

_COMMIT, _TREE, _OFFSET_DELTA, _REFERENCE_DELTA = 1, 2, 6, 7
_KINDS = {_COMMIT: b"commit", _TREE: b"tree"}
_SAID = (b"NAK", b"ACK ", b"shallow ", b"unshallow ")
"""What a server says before the pack."""
_PACKET_LENGTH = 4
_PACK_HEADER = 12
_PIECE_BYTES = 4096
_HEXADECIMAL = re.compile("[0-9a-f]+")
_COPY_ALL = 0x10000
"""A delta that copies no bytes by its word copies so many."""


class Objects(Struct):
    """Commits and trees by their ids; files are left out."""

    commits: dict[bytes, bytes] = field(default_factory=dict)
    trees: dict[bytes, bytes] = field(default_factory=dict)

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the commits in hexadecimal, each with those of its parents."""
        return {one.hex(): _listed(b"parent", c) for one, c in self.commits.items()}

    def root_of(self, commit: str) -> bytes | None:
        """The id of a commit's tree; None where the commit is not here."""
        content = self.commits.get(bytes.fromhex(commit))
        if content is None:
            return None
        for named in _listed(b"tree", content):
            if len(named) == len(commit) and _HEXADECIMAL.fullmatch(named):
                return bytes.fromhex(named)
        raise Unexplained("a commit without a tree")


def objects_in(
    answer: bytes, *, id_bytes: int, held: Mapping[bytes, bytes] | None = None
) -> Objects:
    """The commits and trees of an answer: packets, then a pack without offset deltas.

    ``held`` are trees that the answer may give changes of.  Unexplained for all else.
    """
    found = Objects()
    of_kind = {_COMMIT: found.commits, _TREE: found.trees}
    deltas: list[tuple[bytes, bytes]] = []
    for entry in _pack_entries(_pack_of(answer), id_bytes):
        if entry.kind in of_kind:
            name = id_of(_KINDS[entry.kind], entry.content, id_bytes)
            of_kind[entry.kind][name] = entry.content
        elif entry.kind == _REFERENCE_DELTA:
            deltas.append((entry.base, entry.content))
    # a delta may stand before what it was made of, and many are of files
    room = CONTENT_BYTES_MAX
    is_going_on = True
    while deltas and is_going_on:
        waiting, deltas = deltas, []
        for base, delta in waiting:
            kind = _COMMIT if base in found.commits else _TREE
            whole = of_kind[kind].get(base) or (held or {}).get(base)
            if whole is None:
                deltas.append((base, delta))
                continue
            content = _patched(whole, delta, room)
            room -= len(content)
            of_kind[kind][id_of(_KINDS[kind], content, id_bytes)] = content
        is_going_on = len(deltas) < len(waiting)
    return found


class _PackEntry(Struct, frozen=True):
    kind: int
    base: bytes
    """The id of what a delta is to be applied to."""
    content: bytes


def _pack_of(answer: bytes) -> memoryview:
    """What follows the packets, in which the server says what both have."""
    at = 0
    while (head := bytes(answer[at : at + _PACKET_LENGTH])) != b"PACK":
        try:
            length = int(head, 16)
        except ValueError:
            raise Unexplained("no packet") from None
        said = bytes(answer[at + _PACKET_LENGTH : at + length])
        if length and not said.startswith(_SAID):
            raise Unexplained(said.decode("utf-8", "replace"))
        at += max(length, _PACKET_LENGTH)
    return memoryview(answer)[at:]


def _pack_entries(pack: memoryview, id_bytes: int) -> Iterator[_PackEntry]:
    count, at = int.from_bytes(pack[8:_PACK_HEADER]), _PACK_HEADER
    room = CONTENT_BYTES_MAX
    for _ in range(count):
        kind = int.from_bytes(pack[at : at + 1]) >> 4 & 7
        _, at = _number(pack, at)
        base = b""
        if kind == _OFFSET_DELTA:
            raise Unexplained("an offset delta that nobody asked for")
        if kind == _REFERENCE_DELTA:
            base, at = bytes(pack[at : at + id_bytes]), at + id_bytes
        content, at = _inflated(pack, at)
        room -= len(content)
        if room < 0:
            raise Unexplained("too large")
        yield _PackEntry(kind, base, content)


def _inflated(pack: memoryview, at: int) -> tuple[bytes, int]:
    unpacking, content = zlib.decompressobj(), bytearray()
    while not unpacking.eof:
        piece = pack[at : at + _PIECE_BYTES]
        if not piece or len(content) > CONTENT_BYTES_MAX:
            raise Unexplained("cut, or too large")
        try:
            content += unpacking.decompress(piece)
        except zlib.error as exc:
            raise Unexplained(str(exc)) from exc
        at += len(piece) - len(unpacking.unused_data)
    return bytes(content), at


def id_of(kind: bytes, content: bytes, id_bytes: int) -> bytes:
    """The id of an object: of a ``commit``, a ``tree`` or a ``blob``."""
    whole = b"%s %d\0%s" % (kind, len(content), content)
    name = "sha1" if id_bytes == SHA1_BYTES else "sha256"
    return hashlib.new(name, whole, usedforsecurity=False).digest()


def file_id(text: str, id_bytes: int) -> bytes:
    """The id of a file with this text; empty where the length of an id is not known."""
    if not id_bytes:
        return b""
    return id_of(b"blob", text.encode("utf-8", "surrogatepass"), id_bytes)


def _listed(word: bytes, commit: bytes) -> tuple[str, ...]:
    """What the head of a commit says by this word."""
    lines = commit.partition(b"\n\n")[0].splitlines()
    named = (line.partition(b" ") for line in lines)
    return tuple(
        what.decode("ascii", "replace") for one, _, what in named if one == word
    )


def _patched(base: bytes, delta: bytes, bytes_max: int) -> bytes:
    _, at = _number(delta, 0)
    size, at = _number(delta, at)
    if size > bytes_max:
        raise Unexplained("too large")
    made = bytearray()
    while at < len(delta) and len(made) <= size:
        word, at = delta[at], at + 1
        if not word & 0x80:
            made += delta[at : at + word]
            at += word
            continue
        start = count = 0
        for bit in range(7):
            if word >> bit & 1:
                if at >= len(delta):
                    raise Unexplained("a delta is cut")
                if bit < 4:
                    start |= delta[at] << 8 * bit
                else:
                    count |= delta[at] << 8 * (bit - 4)
                at += 1
        made += base[start : start + (count or _COPY_ALL)]
    if len(made) != size:
        raise Unexplained("a delta makes another size than it says")
    return bytes(made)


def _number(content: bytes | memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    for byte in content[at:]:
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not byte & 0x80:
            return number, at
    raise Unexplained("cut")

"""The git side of a simulated wiki: HEAD, and packs of commits and trees.

It answers in git's own protocol, as a server that leaves files out and one that does
not, that sends changes of trees or whole ones, by ids of either length, and that has
forgotten what was pushed over.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.sync.persons import Copy, World
from wikisync.api.trees import id_of
from wikisync.core.model import EXTENSIONS

COMMIT, TREE, BLOB, CHANGED = 1, 2, 3, 7
KINDS = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}
Objects = dict[bytes, tuple[int, bytes]]


class SimulatedGit:
    """The repository of the wiki of a world."""

    def __init__(self, world: World, seed: int, cache: Path) -> None:
        self._world = world
        self.cache = cache
        """A folder for what clients keep of it."""
        self._id_bytes = 32 if seed % 3 == 0 else 20
        self._can_filter = seed % 4 != 0
        self._built: dict[str, tuple[bytes, Objects]] = {}
        """The id of each commit, and what it has without those before it."""
        self._roots: dict[bytes, bytes] = {}

    def refs(self) -> bytes:
        """What is advertised."""
        head = self._head()
        can = " filter" * self._can_filter
        line = f"{head.hex()} HEAD\0thin-pack shallow{can}\n" if head else ""
        return b"001e# service=git-upload-pack\n0000" + _packet(line) + b"0000"

    def pack(self, packets: bytes) -> bytes:
        """The answer to what a client wants and has."""
        head = self._head()
        wanted = re.search(rb"want ([0-9a-f]+)([^\n]*)", packets)
        had = re.search(rb"have ([0-9a-f]+)", packets)
        assert wanted is not None, packets
        if wanted[1].decode() != head.hex():
            return _packet("ERR upload-pack: not our ref")
        earlier = self._held(bytes.fromhex(had[1].decode())) if had else {}
        objects = self._held(head)
        said = b""
        if deepen := re.search(rb"deepen (\d+)", packets):
            newest = self._commits(head)[-int(deepen[1]) :]
            objects = _together(objects for _, objects in newest)
            said = _packet(f"shallow {newest[0][0].hex()}") + b"0000"
        hidden = {BLOB} if b"filter blob:none" in packets else set[int]()
        hidden = {BLOB, TREE} if b"filter tree:0" in packets else hidden
        sent = {
            one: (kind, content)
            for one, (kind, content) in objects.items()
            if kind not in hidden and (one not in earlier or one == head)
        }
        is_thin = b"thin-pack" in wanted[2]
        base = self._roots.get(bytes.fromhex(had[1].decode())) if had else None
        entries = [
            _changed(base, earlier[base][1], content)
            if is_thin and base in earlier and kind == TREE
            else _entry(kind, content)
            for kind, content in sent.values()
        ]
        self._world.trace.append(f"git sends {len(entries)} objects")
        count = len(entries).to_bytes(4)
        return said + _packet("NAK\n") + b"PACK\0\0\0\2" + count + b"".join(entries)

    def _head(self) -> bytes:
        self._world.commit()
        parent: bytes | None = None
        for name, copy in self._world.commits:
            if name not in self._built:
                self._built[name] = self._build(name, copy, parent)
            parent = self._built[name][0]
        return parent or b""

    def _commits(self, last: bytes) -> list[tuple[bytes, Objects]]:
        """A commit and those before it, the newest last; none if it was pushed over."""
        commits = [
            self._built[name] for name, _ in self._world.commits if name in self._built
        ]
        ids = [commit for commit, _ in commits]
        return commits[: ids.index(last) + 1] if last in ids else []

    def _held(self, commit: bytes) -> Objects:
        """All that is reachable from a commit."""
        return _together(objects for _, objects in self._commits(commit))

    def _build(
        self, name: str, copy: Copy, parent: bytes | None
    ) -> tuple[bytes, Objects]:
        objects: Objects = {}
        files = {
            f"{slug}{EXTENSIONS[page_format][0]}": text
            for slug, (text, page_format, _) in copy.pages.items()
        }
        root = self._tree(objects, files)
        lines = [f"tree {root.hex()}"]
        lines += [f"parent {parent.hex()}"] if parent else []
        commit = self._add(objects, COMMIT, "\n".join((*lines, "", name)).encode())
        self._roots[commit] = root
        return commit, objects

    def _tree(self, objects: Objects, files: Mapping[str, str]) -> bytes:
        below: dict[str, dict[str, str]] = {}
        entries: dict[str, tuple[str, bytes]] = {}
        for path, text in files.items():
            folder, slash, rest = path.partition("/")
            if slash:
                below.setdefault(folder, {})[rest] = text
            else:
                entries[path] = "100644", self._add(objects, BLOB, text.encode())
        for folder, held in below.items():
            entries[folder] = "40000", self._tree(objects, held)
        content = b"".join(
            f"{mode} {name}\0".encode() + one
            for name, (mode, one) in sorted(entries.items())
        )
        return self._add(objects, TREE, content)

    def _add(self, objects: Objects, kind: int, content: bytes) -> bytes:
        name = id_of(KINDS[kind], content, self._id_bytes)
        objects[name] = kind, content
        return name


def _together(many: Iterable[Objects]) -> Objects:
    return {name: one for objects in many for name, one in objects.items()}


def _packet(line: str) -> bytes:
    return f"{len(line) + 4:04x}{line}".encode() if line else b""


def _entry(kind: int, content: bytes, base: bytes = b"") -> bytes:
    size, head = len(content), bytearray()
    first, size = size & 15, size >> 4
    head.append(kind << 4 | first | (0x80 if size else 0))
    while size:
        part, size = size & 0x7F, size >> 7
        head.append(part | (0x80 if size else 0))
    return bytes(head) + base + zlib.compress(content)


def _changed(name: bytes, base: bytes, content: bytes) -> bytes:
    """A tree as what it begins with as another one does, and the rest."""
    same = next(
        (
            at
            for at, pair in enumerate(zip(base, content, strict=False))
            if len(set(pair)) > 1
        ),
        min(len(base), len(content)),
    )
    delta = bytearray((*_number(len(base)), *_number(len(content))))
    if same:
        delta += bytes((0x80 | 0x01 | 0x10 | 0x20, 0, same & 0xFF, same >> 8))
    for at in range(same, len(content), 127):
        piece = content[at : at + 127]
        delta += bytes((len(piece), *piece))
    return _entry(CHANGED, bytes(delta), name)


def _number(number: int) -> Iterator[int]:
    while number > 0x7F:
        yield number & 0x7F | 0x80
        number >>= 7
    yield number

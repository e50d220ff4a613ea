"""Many blobs into a git repository at once: one pack file and its index.

Git keeps a new object as a file of its own; ten thousand of them take seconds
to write and again to read.  A pack takes a third of a second.  The formats are
git's documented pack version 2 and index version 2.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path

BLOB_TYPE = 3
LARGE_OFFSET = 1 << 31
COMPRESSION = 0
"""Stored, not squeezed: reading ten thousand pages back takes half the time."""

_Entry = tuple[bytes, int, int]


def blob_id(content: bytes) -> bytes:
    """The raw git object id of a blob with this content."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).digest()


def write_blob_pack(objects: Path, contents: Iterable[bytes]) -> None:
    """Write a pack with these blobs, each once, and its index.

    The index comes last and by renaming, so that a reader sees all or nothing.

    Args:
        objects: the ``objects`` folder of a bare repository.
        contents: read one after the other, never all at once.
    """
    folder = objects / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="incoming-") as incoming:
        pack = Path(incoming, "pack")
        rows, checksum = _write_pack(pack, contents)
        if not rows:
            return
        index = Path(incoming, "index")
        index.write_bytes(_index(rows, checksum))
        for path, suffix in ((pack, "pack"), (index, "idx")):
            path.chmod(0o444)
            path.rename(folder / f"pack-{checksum.hex()}.{suffix}")


def _write_pack(path: Path, contents: Iterable[bytes]) -> tuple[list[_Entry], bytes]:
    """Write the pack; gives its entries by object id, and its checksum."""
    entries: dict[bytes, tuple[int, int]] = {}
    with path.open("w+b") as pack:
        # the count in the header is known only at the end, and the trailing
        # checksum covers it, so the file is hashed once more when it is whole
        pack.write(_pack_header(0))
        offset = pack.tell()
        for content in contents:
            name = blob_id(content)
            if name in entries:
                continue
            packed = _object_header(len(content)) + zlib.compress(content, COMPRESSION)
            pack.write(packed)
            entries[name] = (zlib.crc32(packed), offset)
            offset += len(packed)
        pack.seek(0)
        pack.write(_pack_header(len(entries)))
        pack.seek(0)
        checksum = hashlib.file_digest(pack, _sha1).digest()
        pack.write(checksum)
    rows = sorted((name, crc, at) for name, (crc, at) in entries.items())
    return rows, checksum


def _sha1() -> hashlib._Hash:
    return hashlib.sha1(usedforsecurity=False)


def _pack_header(count: int) -> bytes:
    return b"PACK" + struct.pack(">II", 2, count)


def _object_header(size: int) -> bytes:
    """Type and size: four bits of size in the first byte, then seven a byte."""
    first, size = (BLOB_TYPE << 4) | (size & 0x0F), size >> 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    header.append(first)
    return bytes(header)


def _index(rows: list[_Entry], checksum: bytes) -> bytes:
    """Fan-out, names, checksums, offsets; far offsets in a table of their own."""
    counts = [0] * 256
    for name, _crc, _offset in rows:
        counts[name[0]] += 1
    fan_out, total = [], 0
    for count in counts:
        total += count
        fan_out.append(total)
    far = [offset for _name, _crc, offset in rows if offset >= LARGE_OFFSET]
    rows_of = {offset: LARGE_OFFSET | at for at, offset in enumerate(far)}
    body = b"".join(
        (
            b"\xfftOc",
            struct.pack(">I", 2),
            struct.pack(">256I", *fan_out),
            b"".join(name for name, _crc, _offset in rows),
            b"".join(struct.pack(">I", crc) for _name, crc, _offset in rows),
            b"".join(struct.pack(">I", rows_of.get(at, at)) for _n, _c, at in rows),
            b"".join(struct.pack(">Q", offset) for offset in far),
            checksum,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()

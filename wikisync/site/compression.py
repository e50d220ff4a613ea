"""Text files of a site as ``.gz`` and ``.br`` beside themselves.

Servers that can send such files (``gzip_static``, ``brotli_static``) need not compress
a page for every reader.  The same file always gives the same bytes.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wikisync.errors import SiteError
from wikisync.parallel import in_order, usable_cores
from wikisync.site.manifest import content_type
from wikisync.site.output import Output

GZIP_LEVEL = 9
BROTLI_QUALITY = 9
"""The best one, 11, takes ten times as long for a twentieth less."""
BYTES_MIN = 256
"""Of a file; a smaller one fits into one packet as it is."""
AHEAD = 8
"""Files of each thread that are packed before the first of them is wanted."""
_TEXTS = frozenset({"application/json", "application/xml", "image/svg+xml"})


class Encoder(NamedTuple):
    """One way to pack a file."""

    suffix: str
    version: str
    """Another one may give other bytes."""
    pack: Callable[[bytes], bytes]


class _Job(NamedTuple):
    path: str
    encoder: Encoder


def encoders() -> Sequence[Encoder]:
    """What a site is packed with.

    Raises:
        SiteError: brotli is not installed.
    """
    try:
        import brotli
    except ImportError as exc:
        raise SiteError(
            "the site cannot be compressed: brotli is not installed",
            hint="install the package brotli, the extra compress of wikisync",
        ) from exc

    def pack(content: bytes) -> bytes:
        packed: bytes = brotli.compress(
            content, mode=brotli.MODE_TEXT, quality=BROTLI_QUALITY
        )
        return packed

    return (
        Encoder(".gz", f"{zlib.ZLIB_RUNTIME_VERSION} {GZIP_LEVEL}", _gzip),
        Encoder(".br", f"{brotli.__version__} {BROTLI_QUALITY}", pack),
    )


def put_compressed(output: Output) -> None:
    """Put the packed forms of the text files of a site; the others are all put."""
    jobs = _jobs(output)

    def packed(job: _Job) -> tuple[str, bytes]:
        content = output.content(job.path)
        return job.path + job.encoder.suffix, job.encoder.pack(content)

    # both encoders let other threads run meanwhile
    for path, content in in_order(packed, jobs, threads=usable_cores(), ahead=AHEAD):
        output.put(path, content)


def _jobs(output: Output) -> Iterator[_Job]:
    """What is to be packed; a file that the site has under such a name stays."""
    used = encoders()
    files = output.files
    # packed files come to them meanwhile
    for path in list(files):
        state = files[path]
        if state.size < BYTES_MIN or not is_text(path):
            continue
        for encoder in used:
            target = path + encoder.suffix
            key = f"{encoder.version} {state.digest}".encode()
            if target not in files and not output.keep(target, key):
                yield _Job(path, encoder)


def is_text(path: str) -> bool:
    """Whether a file of a site is worth packing."""
    kind = content_type(path)
    return kind.startswith("text/") or kind in _TEXTS


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, GZIP_LEVEL, mtime=0)

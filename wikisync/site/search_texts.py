"""The texts of a document as the search shows them: cut, packed, for a browser.  Pure.

They are half of the bytes of a search index, and only those of the hits on the screen
are ever read.  So each document's are compressed by themselves, where it is parsed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from wikisync.core.decoding import json_decoder
from wikisync.markup.record import Section
from wikisync.site.titles import shortened

SECTION_CHARS_MAX = 20_000
"""Of one section's text that is kept for snippets; all of it is searched."""
LEAD_CHARS_MAX = 120
TEXT_BYTES_MAX = 64 * 1024 * 1024
"""Of one document that is unpacked: the files of an index may have been edited."""
_LEVEL = 4
"""Higher ones take twice as long for a twentieth less."""
_WINDOW_BITS = -13
"""Raw deflate; a text is seldom longer than this window of 8 KiB."""
_MEMORY_LEVEL = 6

_TEXTS = json_decoder(list[str])


class DocumentText(Struct, frozen=True, array_like=True):
    """The sections of a document."""

    headings: tuple[tuple[str, str], ...]
    """Id and text of each section's heading."""
    texts: str
    """Their texts, packed."""
    lead: str = ""
    """How the first of them begins: what the page is about."""

    @classmethod
    def of(cls, sections: Iterable[Section]) -> DocumentText:
        """The sections as they are kept."""
        parts = tuple(sections)
        headings = tuple((part.id, part.heading) for part in parts)
        texts = [part.text for part in parts]
        first = next((text for text in texts if text.strip()), "")
        lead = " ".join(first[: 2 * LEAD_CHARS_MAX].split())
        return cls(headings, packed_texts(texts), shortened(lead, LEAD_CHARS_MAX))

    @property
    def sections(self) -> tuple[Section, ...]:
        """What was kept of the sections; raises ``ValueError`` if it is damaged."""
        pairs = zip(self.headings, unpacked_texts(self.texts), strict=True)
        return tuple(Section(*heading, text) for heading, text in pairs)


def packed_texts(texts: Iterable[str]) -> str:
    """Texts as the browser unpacks them: base64 of raw deflate of JSON."""
    plain = json_bytes([text[:SECTION_CHARS_MAX].rstrip() for text in texts])
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
    return base64.b64encode(packer.compress(plain) + packer.flush()).decode()


def unpacked_texts(packed: str) -> list[str]:
    """The texts that were packed; raises ``ValueError`` if they are damaged."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = base64.b64decode(packed)
        return _TEXTS.decode(unpacker.decompress(data, TEXT_BYTES_MAX))
    except (ValueError, zlib.error, msgspec.DecodeError) as exc:
        raise ValueError("the texts are damaged") from exc


def json_bytes(value: object) -> bytes:
    """Any value as JSON, half a character in it as a question mark."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace")

"""The list of a wiki's pages, of which single entries may be no records.  Pure.

One of them stops no other page: a sound list is decoded at once, another one entry
by entry.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from wikisync.api.answers import Answer, CutAnswer, Purpose, decode
from wikisync.api.schema import WikiPageRecord
from wikisync.decoding import json_decoder
from wikisync.errors import ProtocolViolation, lowered
from wikisync.terminal import one_line

_PAGE = json_decoder(WikiPageRecord)


class OddEntry(Struct, frozen=True):
    """An entry that is no record of a page."""

    number: int
    """In the list, from 1."""
    slug: str
    """Empty where it has none that is text."""
    title: str
    reason: str


def decode_pages(
    answer: Answer, purpose: Purpose
) -> tuple[tuple[WikiPageRecord, ...], tuple[OddEntry, ...]]:
    """The list's records, and what else is in it.

    Raises:
        CutAnswer: the JSON ends too early.
        ProtocolViolation: no JSON, no list, or one that is about no page at all.
    """
    try:
        return decode(answer, tuple[WikiPageRecord, ...], purpose), ()
    except CutAnswer:
        raise
    except ProtocolViolation:
        records, odd = _one_by_one(decode(answer, list[msgspec.Raw], purpose))
        if not records and not any(entry.slug for entry in odd):
            raise
        return records, odd


def _one_by_one(
    parts: list[msgspec.Raw],
) -> tuple[tuple[WikiPageRecord, ...], tuple[OddEntry, ...]]:
    records: list[WikiPageRecord] = []
    odd: list[OddEntry] = []
    for number, part in enumerate(parts, start=1):
        try:
            records.append(_PAGE.decode(part))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            odd.append(_odd(number, part, str(exc)))
    return tuple(records), tuple(odd)


def _odd(number: int, part: msgspec.Raw, said: str) -> OddEntry:
    try:
        entry = msgspec.json.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        entry = None
    fields = entry if isinstance(entry, dict) else {}
    slug, title = fields.get("slug"), fields.get("title")
    return OddEntry(
        number,
        slug if isinstance(slug, str) else "",
        one_line(title) if isinstance(title, str) else "",
        lowered(said.replace(" - at `$.", " at `")),
    )

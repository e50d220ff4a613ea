"""How a service's answer differs from what it was sent, and what to make of it.

Pure.  Services keep line ends, final newlines, Unicode forms and front matter each in
their own way (``docs/sync.md`` "Echo").  A difference of such a class is the service's
own and no edit: both digests are noted, and nothing is sent again for it.
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum

from wikisync.merging.front_matter import front_matter_of
from wikisync.model import BYTE_ORDER_MARK, fold_text


class Normalisation(StrEnum):
    """The class of a difference; the value says what the service does."""

    SAME = "keeps the text"
    FOLDED = "changes line ends, the final newline or the byte order mark"
    UNICODE = "changes the Unicode form of letters"
    FRONT_MATTER = "returns texts without their front matter"
    OTHER = "changes the text"


def normalisation_of(sent: str, answered: str) -> Normalisation:
    """What a service did to a text that it took."""
    if sent == answered:
        return Normalisation.SAME
    mine, theirs = fold_text(sent), fold_text(answered)
    if mine == theirs:
        return Normalisation.FOLDED
    if unicodedata.normalize("NFC", mine) == unicodedata.normalize("NFC", theirs):
        return Normalisation.UNICODE
    block = front_matter_of(sent)
    if block and _body(sent, block) == theirs.lstrip("\n"):
        return Normalisation.FRONT_MATTER
    return Normalisation.OTHER


def with_line_ends_of(text: str, like: str) -> str:
    """The text with the line ends of most lines of another text, and its mark."""
    if like.startswith(BYTE_ORDER_MARK) and not text.startswith(BYTE_ORDER_MARK):
        text = BYTE_ORDER_MARK + text
    if like.count("\r\n") * 2 <= like.count("\n") or "\r" in text:
        return text
    return text.replace("\n", "\r\n")


def _body(text: str, block: str) -> str:
    return fold_text(text[len(block) :]).lstrip("\n")

"""How a service's answer differs from what it was sent, and what to make of it.

Pure.  Services keep line ends, final newlines, Unicode forms and front matter each in
their own way (``docs/sync.md`` "Echo").  A difference of such a class is the service's
own and no edit: both digests are noted, and nothing is sent again for it.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

from wikisync.model import fold_text

_FRONT_MATTER = re.compile(
    r"(?P<mark>---|\+\+\+|;;;)[ \t]*\r?\n.*?^(?P=mark)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)


class Normalisation(StrEnum):
    """The class of a difference; the value says what the service does."""

    SAME = "keeps the text"
    FOLDED = "changes line ends or the final newline"
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


def front_matter_of(text: str) -> str:
    """The block at the text's start with its closing line, or empty."""
    found = _FRONT_MATTER.match(text)
    return found.group() if found else ""


def with_front_matter(text: str, known: str) -> str:
    """A text from a service that strips front matter, with the block we know of.

    Args:
        text: As the service gave it.
        known: The page as the folder or the base has it.
    """
    block = front_matter_of(known)
    if not block or front_matter_of(text):
        return text
    gap = known[len(block) :]
    blank = gap[: len(gap) - len(gap.lstrip("\r\n"))]
    return block + blank + text.lstrip("\r\n")


def with_line_ends_of(text: str, like: str) -> str:
    """The text with the line ends that most lines of another text have."""
    if like.count("\r\n") * 2 <= like.count("\n") or "\r" in text:
        return text
    return text.replace("\n", "\r\n")


def _body(text: str, block: str) -> str:
    return fold_text(text[len(block) :]).lstrip("\n")

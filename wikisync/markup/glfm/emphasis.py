"""Emphasis: what stands around its markers, as the service's parser sees it.

CommonMark lets ``**text！**more`` open and not close, since it waits for a space
behind the sign; the service's parser takes the letters and signs of Chinese, Japanese
and Korean, which have no spaces, for letters.  And it reads past tildes: the second
run in ``**a ~~**`` stands behind a space and cannot close.
"""

from __future__ import annotations

import unicodedata

from markdown_it.common.utils import isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned

WIDE = frozenset("WF")
FIRST_CJK = 0x1100


class FlankedState(StateInline):
    """Running text whose runs of ``*``, ``_`` and ``~`` see these neighbours."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - overridden
        """Whether the run at a position can open, and can close, and its length."""
        marker, end = self.src[start], start + 1
        while end < self.posMax and self.src[end] == marker:
            end += 1
        before, after = self._neighbours(start, end)
        return Scanned(*flanks(before, after, splits_words=canSplitWord), end - start)

    def _neighbours(self, start: int, end: int) -> tuple[str, str]:
        """The characters around a run that are no tildes; spaces where none are."""
        source = self.src
        while start and source[start - 1] == "~":
            start -= 1
        while end < self.posMax and source[end] == "~":
            end += 1
        before = source[start - 1] if start else " "
        return before, source[end] if end < self.posMax else " "


def is_cjk(character: str) -> bool:
    """Whether a character stands in text without spaces: wide, and no emoji."""
    return (
        ord(character) >= FIRST_CJK
        and unicodedata.east_asian_width(character) in WIDE
        and unicodedata.category(character) != "So"
    )


def flanks(before: str, after: str, *, splits_words: bool) -> tuple[bool, bool]:
    """Whether markers between two characters can open, and can close.

    CommonMark 0.31.2, 6.2, where the punctuation of CJK counts as letters.
    """
    before_space, after_space = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
    before_sign, after_sign = is_sign(before), is_sign(after)
    left = not after_space and (
        not after_sign or before_space or before_sign or is_cjk(before)
    )
    right = not before_space and (
        not before_sign or after_space or after_sign or is_cjk(after)
    )
    if splits_words:
        return left, right
    is_before_punctuation = isPunctChar(before)
    is_after_punctuation = isPunctChar(after)
    return (
        left and (not right or is_before_punctuation),
        right and (not left or is_after_punctuation),
    )


def is_sign(character: str) -> bool:
    """Whether a character is punctuation or a symbol outside CJK."""
    category = unicodedata.category(character)[0]
    return category in "PS" and not is_cjk(character)

"""Emphasis next to Chinese, Japanese and Korean text, which has no spaces.

CommonMark lets ``**text！**more`` open and not close, since it waits for a space
behind the sign.  The service's parser takes such letters and signs for letters.
"""

from __future__ import annotations

import unicodedata

from markdown_it import MarkdownIt
from markdown_it.common.utils import isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

MARKERS = frozenset("*_")
WIDE = frozenset("WF")
FIRST_CJK = 0x1100


def emphasis_rule(md: MarkdownIt) -> None:
    """Read the markers here; pairing them stays with markdown-it."""
    md.inline.ruler.at("emphasis", emphasis)


def emphasis(state: StateInline, silent: bool) -> bool:
    """A run of markers, each a text that may become a tag."""
    start = state.pos
    marker = state.src[start]
    if silent or marker not in MARKERS:
        return False
    scanned = state.scanDelims(start, marker == "*")
    can_open, can_close = scanned.can_open, scanned.can_close
    before = state.src[start - 1] if start else " "
    end = start + scanned.length
    after = state.src[end] if end < state.posMax else " "
    if is_cjk(before) or is_cjk(after):
        can_open, can_close = flanks(before, after, splits_words=marker == "*")
    for _ in range(scanned.length):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(
                marker=ord(marker),
                length=scanned.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=can_open,
                close=can_close,
            )
        )
    state.pos = end
    return True


def is_cjk(character: str) -> bool:
    """Whether a character stands in text without spaces: wide, and no emoji."""
    return (
        ord(character) >= FIRST_CJK
        and unicodedata.east_asian_width(character) in WIDE
        and unicodedata.category(character) != "So"
    )


def flanks(before: str, after: str, *, splits_words: bool) -> tuple[bool, bool]:
    """Whether markers between two characters can open, and can close.

    One of the characters is CJK; its punctuation counts as a letter.
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

"""Source code to spans with short class names, by Pygments.

The classes are Pygments' own short ones (``k``, ``nf``, ``s2``), which are also
those of the service's highlighter for 77 of its 82 kinds of token.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from wikisync.core.packaged import packaged_rows
from wikisync.markup.lexing import lexed
from wikisync.markup.tokens import escape

if TYPE_CHECKING:
    from pygments.lexer import Lexer

CODE_CHARS_MAX = 100_000
"""Longer code is shown plain: a lexer may take more than linear time."""
REMEMBERED_CODES = 1024
BETWEEN_TEXTS = "\0"
"""No page has it: ``clean_source`` takes it out."""

ALIASES: Mapping[str, str] = {
    alias: name
    for name, *aliases in packaged_rows(__package__, "highlight.txt")
    for alias in aliases
}
"""Names that the service's highlighter knows to names that Pygments knows."""

PLAIN = frozenset({"text"})
CLASSES: dict[object, str] = {}
"""Kind of token to its class, filled as kinds are met: there are some hundred."""


def highlight(code: str, language: str) -> str | None:
    """HTML of the code with its tokens in spans.

    Returns:
        None where the language is unknown, plain, or the code too long or no text.
    """
    name = ALIASES.get(language.lower(), language.lower())
    if name in PLAIN or len(code) > CODE_CHARS_MAX or BETWEEN_TEXTS in code:
        return None
    if lexer_of(name) is None:
        return None
    return highlighted(code, name)


@functools.lru_cache(maxsize=256)
def lexer_of(name: str) -> Lexer | None:
    """Pygments' lexer of that name; it must not touch the code's line ends."""
    # Pygments takes as long to load as all else that parses pages
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@functools.lru_cache(maxsize=REMEMBERED_CODES)
def highlighted(code: str, name: str) -> str:
    """The work itself; remembered, since wikis repeat their snippets."""
    lexer = lexer_of(name)
    assert lexer is not None
    classes: list[str] = []
    texts: list[str] = []
    last_class = None
    # the step that get_tokens adds is about line ends, which are in order here
    for kind, value in lexed(lexer, code):
        css_class = CLASSES.get(kind)
        if css_class is None:
            css_class = CLASSES[kind] = class_of(kind)
        if css_class == last_class:
            texts[-1] += value
            continue
        classes.append(css_class)
        texts.append(value)
        last_class = css_class
    # at once: there are hundreds, of a few characters each
    escaped = escape(BETWEEN_TEXTS.join(texts)).split(BETWEEN_TEXTS)
    return "".join(map(span, classes, escaped))


def class_of(kind: object) -> str:
    """Short class of a kind of token, its nearest ancestor's where it has none."""
    from pygments.token import STANDARD_TYPES

    while kind is not None:
        if (css_class := STANDARD_TYPES.get(kind)) is not None:  # type: ignore[call-overload]
            return "" if css_class == "w" else str(css_class)
        kind = getattr(kind, "parent", None)
    return ""


def span(css_class: str, html: str) -> str:
    """Escaped text, in a span where it has a class."""
    return f'<span class="{css_class}">{html}</span>' if css_class and html else html

"""Source code to spans with short class names, by Pygments.

The classes are Pygments' own short ones (``k``, ``nf``, ``s2``), which are also
those of the service's highlighter for 77 of its 82 kinds of token.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from re import _parser  # type: ignore[attr-defined,unused-ignore]
from typing import TYPE_CHECKING, Any

from wikisync.core.packaged import packaged_rows
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


def highlight(code: str, language: str) -> str | None:
    """HTML of the code with its tokens in spans; None where it cannot be coloured."""
    name = ALIASES.get(language.lower(), language.lower())
    if name == "text" or len(code) > CODE_CHARS_MAX or BETWEEN_TEXTS in code:
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
        css_class = class_of(kind)
        if css_class == last_class:
            texts[-1] += value
            continue
        classes.append(css_class)
        texts.append(value)
        last_class = css_class
    # at once: there are hundreds, of a few characters each
    escaped = escape(BETWEEN_TEXTS.join(texts)).split(BETWEEN_TEXTS)
    return "".join(map(span, classes, escaped))


@functools.cache
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


# -- fewer attempts --------------------------------------------------------------
#
# A lexer of Pygments tries the rules of its state one after the other, some twenty for
# each token.  Here only those are tried whose parsed pattern can begin so, which takes
# a fifth off the build of a wiki full of code.


MISSES_MIN = 64
"""Of a character in a state; to parse the patterns costs as much as some tokens."""
Rule = tuple[Callable[[str, int], re.Match[str] | None], Any, Any]
"""As Pygments has it: match, kind of token or callback, next state."""


def lexed(lexer: Any, text: str) -> Iterator[tuple[Any, str]]:
    """Kind and text of each token, as ``lexer.get_tokens_unprocessed`` gives them."""
    # Pygments takes as long to load as all else that parses pages
    from pygments.lexer import RegexLexer
    from pygments.token import Error, Whitespace, _TokenType

    if type(lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        yield from (
            (kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)
        )
        return
    states = states_of(lexer)
    position, stack = 0, ["root"]
    rules = states["root"]
    while True:
        for match, action, target in rules[text[position : position + 1]]:
            found = match(text, position)
            if found is None:
                continue
            if type(action) is _TokenType:
                yield action, found[0]
            elif action is not None:
                for _, kind, value in action(lexer, found):
                    yield kind, value
            position = found.end()
            if target is not None:
                change(stack, target)
                rules = states[stack[-1]]
            break
        else:
            if position >= len(text):
                return
            char = text[position]
            if char == "\n":
                stack, rules = ["root"], states["root"]
            yield (Whitespace if char == "\n" else Error), char
            position += 1


def change(stack: list[str], target: object) -> None:
    """Enter or leave states, but for the first one."""
    if isinstance(target, int):
        del stack[max(1, len(stack) - abs(target)) :]
        return
    for state in target if isinstance(target, tuple) else (target,):
        if state != "#pop":
            stack.append(stack[-1] if state == "#push" else state)
        elif len(stack) > 1:
            stack.pop()


@functools.lru_cache(maxsize=256)
def states_of(lexer: Any) -> Mapping[str, RulesByCharacter]:
    """The rules of each state; some lexers have other ones than their class."""
    tokens = lexer._tokens  # noqa: SLF001
    return {state: RulesByCharacter(rules) for state, rules in tokens.items()}


class RulesByCharacter(dict[str, tuple[Rule, ...]]):
    """The rules of a state that can match where a character is, in their order."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._misses = Counter[str]()

    def __missing__(self, char: str) -> tuple[Rule, ...]:
        self._misses[char] += 1
        if not "" < char < "\x80" or self._misses[char] < MISSES_MIN:
            return self._rules
        made = self[char] = tuple(
            rule for rule in self._rules if any(leads(*parsed(rule[0]), char))
        )
        return made


@functools.lru_cache(maxsize=8192)
def parsed(match: Any) -> tuple[Any, int]:
    """The form of a rule's pattern, and its flags."""
    pattern = match.__self__
    return _parser.parse(pattern.pattern, pattern.flags), pattern.flags


def leads(nodes: Any, flags: int, char: str) -> tuple[bool, bool]:
    """Whether a match can begin with a character, or be empty; in doubt it can."""
    for op, value in nodes:
        begins = is_empty = False
        match str(op):
            case "LITERAL":
                begins = is_in([(op, value)], flags, char)
            case "IN":
                begins = is_in(value, flags, char)
            case "BRANCH":
                ways = [leads(way, flags, char) for way in value[1]]
                begins, is_empty = map(any, zip(*ways, strict=True))
            case "SUBPATTERN":
                _, added, taken, inner = value
                begins, is_empty = leads(inner, (flags | added) & ~taken, char)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                begins, is_empty = leads(value[2], flags, char)
                is_empty = is_empty or value[0] == 0
            case "AT" | "ASSERT" | "ASSERT_NOT":
                is_empty = True
            case _:
                begins = True
        if begins or not is_empty:
            return begins, False
    return False, True


def is_in(items: Any, flags: int, char: str) -> bool:
    """Whether a character may be one of a set."""
    is_folded = bool(flags & re.IGNORECASE)
    is_negated = str(items[0][0]) == "NEGATE"
    if is_folded and is_negated:
        return True
    chars = {char.lower(), char.upper()} if is_folded else {char}
    for op, value in items[is_negated:]:
        if str(op) == "CATEGORY":
            name = str(value).removeprefix("CATEGORY_")
            sign = name[4] if name.startswith("NOT_") else name[0].lower()
            is_found = re.match(rf"\{sign}", char) is not None
        else:
            low, high = value if isinstance(value, tuple) else (value, value)
            # a sign beyond ASCII may be the other case of a letter
            is_found = any(low <= ord(one) <= high for one in chars) or (
                is_folded and high > ord("\x7f")
            )
        if is_found:
            return not is_negated
    return is_negated

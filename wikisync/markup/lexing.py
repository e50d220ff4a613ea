"""Pygments' lexers with fewer attempts: one pattern for many rules of a state.  Pure.

A lexer of Pygments tries the rules of its state one after the other, some twenty for
each token, each by a call from Python.  Here as many rules as can be are alternatives
of one pattern, so that the first that matches is found by one call.  Which rule that
is, the empty group behind it says.  The tokens are the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer, RegexLexer
    from pygments.token import _TokenType

GROUP_NAMED = re.compile(r"\\[1-9]|\(\?P|\(\?\(")
"""A pattern that names its groups: those of no other rule may stand before them."""
OWN_FLAGS = re.compile(r"(?:\(\?[imsux]+\))*")
"""Flags that a pattern begins with."""
LEXERS_REMEMBERED = 256

Match = Callable[[str, int], re.Match[str] | None]
Rule = tuple[Match, Any, Any]
"""As Pygments has it: match, kind of token or callback, next state."""


class Run(NamedTuple):
    """Rules that one pattern tries in their order."""

    match: Match
    rules: Mapping[int, Rule]
    """By the last group that is closed when they match."""
    only: Rule | None
    """The rule of a run of one, whose groups are its own."""


def lexed(lexer: Lexer, text: str) -> Iterator[tuple[_TokenType, str]]:
    """Kind and text of each token, as ``lexer.get_tokens_unprocessed`` gives them."""
    # Pygments takes as long to load as all else that parses pages
    from pygments.lexer import RegexLexer
    from pygments.token import Error, Whitespace, _TokenType

    if type(lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        for _, kind, value in lexer.get_tokens_unprocessed(text):
            yield kind, value
        return
    assert isinstance(lexer, RegexLexer)
    states = _states(lexer)
    position, stack = 0, ["root"]
    while True:
        for match, rules, only in states[stack[-1]]:
            found = match(text, position)
            if found is None:
                continue
            own_match, action, target = only or rules[found.lastindex or 0]
            if type(action) is _TokenType:
                yield action, found[0]
            elif action is not None:
                # a callback counts the groups of its rule
                own = found if only else own_match(text, position)
                for _, kind, value in action(lexer, own):
                    yield kind, value
            position = found.end()
            if target is not None:
                _change(stack, target)
            break
        else:
            if position >= len(text):
                return
            char = text[position]
            if char == "\n":
                stack = ["root"]
            yield (Whitespace if char == "\n" else Error), char
            position += 1


def _change(stack: list[str], target: object) -> None:
    """Enter or leave states, but for the first one."""
    if isinstance(target, int):
        del stack[max(1, len(stack) - abs(target)) :]
        return
    for state in target if isinstance(target, tuple) else (target,):
        if state == "#pop":
            del stack[max(1, len(stack) - 1) :]
        else:
            stack.append(stack[-1] if state == "#push" else state)


@functools.lru_cache(maxsize=LEXERS_REMEMBERED)
def _states(lexer: RegexLexer) -> Mapping[str, Sequence[Run]]:
    # some lexers have other rules than their class
    tokens = lexer._tokens  # type: ignore[attr-defined]  # noqa: SLF001
    return _States(tokens, re.UNICODE | lexer.flags)


class _States(dict[str, Sequence[Run]]):
    """The runs of each state, made when a text gets there first."""

    def __init__(self, tokens: Mapping[str, Sequence[Rule]], flags: int) -> None:
        self._tokens = tokens
        self._flags = flags

    def __missing__(self, state: str) -> Sequence[Run]:
        runs: list[list[Rule]] = []
        can_follow = False
        for rule in self._tokens[state]:
            pattern = _pattern(rule)
            own = re.compile(_own_flags(pattern)).flags
            is_part = pattern.flags == self._flags | own
            if not (can_follow and is_part) or GROUP_NAMED.search(pattern.pattern):
                runs.append([])
            runs[-1].append(rule)
            can_follow = is_part
        made = self[state] = tuple(_run(run, self._flags) for run in runs)
        return made


def _run(rules: Sequence[Rule], flags: int) -> Run:
    if len(rules) == 1:
        return Run(rules[0][0], {}, rules[0])
    by_group: dict[int, Rule] = {}
    group = 0
    for rule in rules:
        group += _pattern(rule).groups + 1
        by_group[group] = rule
    whole = "|".join([_part(_pattern(rule)) for rule in rules])
    return Run(re.compile(whole, flags).match, by_group, None)


def _part(pattern: re.Pattern[str]) -> str:
    """A pattern as a part of another one, with an empty group behind it."""
    flags = _own_flags(pattern)
    text = pattern.pattern[len(flags) :]
    scope = "".join(sorted(set(flags) - set("(?)")))
    # a comment of a verbose pattern ends with its line
    end = "\n" if pattern.flags & re.VERBOSE else ""
    return f"(?{scope}:{text}{end})()"


def _own_flags(pattern: re.Pattern[str]) -> str:
    found = OWN_FLAGS.match(pattern.pattern)
    return found[0] if found else ""


def _pattern(rule: Rule) -> re.Pattern[str]:
    pattern = rule[0].__self__  # type: ignore[attr-defined]
    assert isinstance(pattern, re.Pattern)
    return pattern

"""Fewer attempts of Pygments' lexers: the tokens stay the same."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pygments.lexer import RegexLexer, bygroups, default
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Name, Number, Text, Whitespace

from wikisync.markup.filters import code as lexing
from wikisync.markup.filters.code import ALIASES, lexed

SAMPLE = '''#!/bin/sh
// line  # line  -- line  ; line  % line
/* block */ <!-- markup --> <a href="x">&amp;</a>
@decorated
class Some(Base): implements Other { public static final int x = 0x1F; }
def f(a, *b, c=None) -> str:
    """Doc"""
    return f"{a!r} \\n" + rb'x' + 'single' + `tick` + 1_000.5e-3
cat <<'END' | grep -v "$HOME ${x:-y} $(date)" && exit 1
  text
END
fn main() { let mut v: Vec<u8> = vec![1, 2]; println!("{}", v); }
SELECT a, 'b' FROM "c" WHERE d >= 1.5 AND e IS NOT NULL;
key: [value, "other"]  # note
[section]
name = value
| Scenario | Given |
\\begin{x} $y_1$ \\end{x}
ümläut ☃ \x0c\t end
'''


@pytest.fixture(autouse=True)
def _rules_by_character_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lexing, "MISSES_MIN", 1)
    # kinds tell more than their classes
    monkeypatch.setattr(lexing, "class_of", lambda kind: kind)
    lexing.states_of.cache_clear()
    yield
    lexing.states_of.cache_clear()


@pytest.mark.parametrize(
    "name", sorted({*ALIASES.values(), "python", "racket", "rust"})
)
def test_tokens_are_those_of_pygments(name: str) -> None:
    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    expected: list[Any] = [
        (kind, text) for _, kind, text in lexer.get_tokens_unprocessed(SAMPLE)
    ]
    assert list(lexed(lexer, SAMPLE)) == expected


class Odd(RegexLexer):
    """Patterns of all kinds, and all moves."""

    tokens: ClassVar[Any] = {
        "root": [
            (r"(?x) b # in a comment: )", Name),
            (r"(?i)case", Name.Class),
            (r"(['\"])(\w+)(\1)", bygroups(Text, Name, Text)),  # type: ignore[no-untyped-call]
            (r"(?P<sign>[+-])(\d+)(?P=sign)", bygroups(Text, Number)),  # type: ignore[no-untyped-call]
            (r"([a-z])(?=!)", Name.Function),
            (r"(?i)[^e-z\d]#|[k-m]_|(?:\W|é)%", Name.Tag),
            (r"!", Text, ("deep", "#push", "deeper")),
            (r"\d", Number),
        ],
        "deep": [
            (r"<", Comment, "#pop"),
            (r"\^", Comment, "#pop:9"),
            default("deepest"),
        ],
        "deepest": [(r"7", Number), default("#pop:2")],
        "deeper": [(r">", Text, "#push"), (r"<", Text, ("#pop", "#pop"))],
    }


@pytest.mark.parametrize(
    "text",
    [
        "bcaseCASE",
        "'q'\"q\"'q\"",
        "+12+-3-+4-",
        "a!>><<<^7",
        "a!<<<<<<\nb",
        "",
        "A#M_\u212a_é%~%",
        "1#",
    ],
)
def test_rules_of_all_kinds_match_as_before(text: str) -> None:
    lexer = Odd(stripnl=False, ensurenl=False)
    expected: list[Any] = [
        (kind, part) for _, kind, part in lexer.get_tokens_unprocessed(text)
    ]
    assert list(lexed(lexer, text)) == expected


def test_what_no_rule_matches_is_an_error_up_to_the_end_of_its_line() -> None:
    lexer = Odd(stripnl=False, ensurenl=False)
    tokens: list[Any] = [*lexed(lexer, "?\nb")]
    assert tokens == [(Error, "?"), (Whitespace, "\n"), (Name, "b")]


def test_only_rules_that_can_begin_so_are_tried() -> None:
    rules = lexing.states_of(get_lexer_by_name("python"))["root"]
    assert 0 < len(rules["d"]) < len(rules["é"]) / 2
    assert len(rules[""]) == len(rules["é"])

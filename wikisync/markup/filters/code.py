"""Blocks of code: language, colours, title, numbers and marks of lines, diagrams.

Pygments gives the colours, by its own short classes (``k``, ``nf``, ``s2``), which are
also those of the service's highlighter for 77 of its 82 kinds of token.
"""

from __future__ import annotations

import functools
import html as entities
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from re import _parser  # type: ignore[attr-defined,unused-ignore]
from typing import TYPE_CHECKING, Any

from wikisync.core.model import Format
from wikisync.core.packaged import packaged_rows
from wikisync.markup import diagrams
from wikisync.markup.tokens import Document, Draft, escape

if TYPE_CHECKING:
    from pygments.lexer import Lexer

DIAGRAMS = {
    "mermaid": "mermaid",
    "plantuml": "plantuml",
    "puml": "plantuml",
    **dict.fromkeys(
        [
            *("blockdiag", "seqdiag", "actdiag", "nwdiag", "packetdiag", "rackdiag"),
            *("bpmn", "bytefield", "c4plantuml", "d2", "dbml", "ditaa", "erd"),
            *("excalidraw", "graphviz", "nomnoml", "pikchr", "structurizr", "svgbob"),
            *("umlet", "vega", "vegalite", "wavedrom", "wireviz", "kroki"),
        ],
        "kroki",
    ),
}
"""Languages that the service draws; the source is shown where nothing here does."""

MATH = "math"
CODE_TAG = re.compile(r"</?code[^>]*>")
CALLOUT = re.compile(
    r'(?:[ \t]{0,8}(?:<i class="conum"></i><b>|<b class="conum">)'
    r"\(\d{1,4}\)</b>){1,20}\Z"
)
SETTING = re.compile(
    r"""([A-Za-z_-]++)(?:=(?:"([^"]*+)"|'([^']*+)'|([^\s{}"']++)))?|\{([\d\s,.-]++)\}"""
)
"""One word of what stands behind the language: ``title="run.sh"``, ``{2,4-5}``."""
TITLES = ("title", "caption", "filename")
NUMBERS = ("start", "linenums", "linenos", "showlinenumbers")
"""With the first number, if any."""
MARKS = ("hl_lines", "highlight")
MARKS_MAX = 50
"""Ranges of lines of one block."""
RANGE = re.compile(r"(\d{1,6}+)(?:(?:-|\.\.)(\d{1,6}+))?")
NOT_DRAWN = "the page shows its source; correct the diagram"


def filter_code(draft: Draft) -> None:
    """Rewrite every ``<pre>``: its language, its colours, a stop in the tab order."""
    document = draft.document
    for index in document.starts.get("pre", ()):
        if not document.html[index].startswith("<pre"):
            continue
        attributes = document.attributes(index)
        language = language_of(attributes)
        if "data-math-style" in attributes or language == MATH:
            continue
        if language in DIAGRAMS:
            rewrite_diagram(draft, index, language)
        else:
            rewrite_code(draft, index, language, attributes.get("data-meta", ""))


def language_of(attributes: dict[str, str]) -> str:
    """The language of a block: ``ruby`` of ``ruby:a b`` or ``{.ruby``, lower case."""
    named = attributes.get("data-canonical-lang") or attributes.get("lang") or ""
    if named.startswith("{"):
        named = named.strip("{}.")
    return named.partition(":")[0].strip().lower()


def code_text(document: Document, index: int) -> str | None:
    """The text of a block that holds nothing but ``<code>`` with text, else None."""
    end = document.close[index]
    if end - index == 2:
        return entities.unescape(document.html[index + 1])
    is_code = (
        document.names[index + 2] == "code" and document.close[index + 2] == end - 2
    )
    if is_code and end - index == 6 and not document.html[index + 1].strip():
        return entities.unescape(document.html[index + 3])
    return None


def rewrite_diagram(draft: Draft, index: int, language: str) -> None:
    """Draw a diagram, or keep its source in an element that names its tool."""
    tool = DIAGRAMS[language]
    draft.features.add(tool)
    text = draft.document.text(index)
    drawn = drawn_html(draft, tool, language, text)
    if drawn is not None:
        draft.features.add("diagram")
        draft.document.replace(index, drawn)
        return
    source = escape(text)
    extra = f' data-diagram-type="{escape(language)}"' if tool == "kroki" else ""
    draft.document.replace(
        index, f'<pre class="{tool}"{extra} tabindex="0">{source}</pre>'
    )


def drawn_html(draft: Draft, tool: str, language: str, text: str) -> str | None:
    """A diagram as a picture, by whatever draws its language; None: nothing does."""
    if tool == "mermaid" and diagrams.can_draw():
        drawn = diagrams.mermaid_html(text)
        if isinstance(drawn, str):
            return drawn
        draft.report("diagram-not-drawn", f"mermaid diagram: {drawn.reason}", NOT_DRAWN)
        return None
    if not draft.options.kroki or language == "kroki":
        return None
    kind = "plantuml" if tool == "plantuml" else language
    svg = draft.include(f"{diagrams.DRAWING}{kind}\0{text}")
    return None if svg is None else diagrams.picture_html(text, svg)


def rewrite_code(draft: Draft, index: int, language: str, meta: str) -> None:
    """Colour a block where its language is known; mark it up for themes in any case."""
    document = draft.document
    draft.features.add("code")
    named = f' data-lang="{escape(language)}"' if language else ""
    kind, code, shown = "code", code_text(document, index), None
    if language and draft.options.highlight:
        if code:
            shown = highlight(code, language)
        elif draft.page.format is Format.ASCIIDOC:
            shown = coloured_with_callouts(document.inner(index), language)
    if shown is not None:
        kind = "code highlight"
    before = after = ""
    if meta:
        title, first, marked = settings_of(meta)
        if title:
            draft.features.add("lines")
            before = f'<figure class="listing"><figcaption>{escape(title)}</figcaption>'
            after = "</figure>"
        plain = escape(code) if code and len(code) <= CODE_CHARS_MAX else None
        text = plain if shown is None else shown
        if text is not None and (first is not None or marked):
            draft.features.add("lines")
            kind += " lines"
            shown = "\n".join(marked_lines(text, first, marked))
    opened = f'{before}<pre class="{kind}"{named} tabindex="0">'
    if shown is None:
        document.html[index] = opened
        document.html[document.close[index]] += after
        return
    document.replace(index, f"{opened}<code>{shown}</code></pre>{after}")


def settings_of(meta: str) -> tuple[str, int | None, list[range]]:
    """Title of a block, the number of its first line, and the lines to be marked.

    As in MkDocs, Docusaurus and Pandoc; marked lines are counted from 1 in any case.
    """
    said: dict[str, str] = {}
    for name, *values, lines in SETTING.findall(meta):
        said.setdefault(name.lower() or MARKS[0], lines or "".join(values))
    title = next((said[name] for name in TITLES if said.get(name)), "")
    first = None
    for name in NUMBERS:
        if name in said and first is None:
            first = int(said[name]) if re.fullmatch("[0-9]{1,6}", said[name]) else 1
    ranges = RANGE.findall(" ".join(said.get(name, "") for name in MARKS))
    marked = [range(int(a), int(b or a) + 1) for a, b in ranges[:MARKS_MAX]]
    return title, first, marked


def marked_lines(html: str, first: int | None, marked: list[range]) -> Iterator[str]:
    """Each line of a block in an element of its own, with its number if it has one.

    A span of the colours that goes over several lines is closed and opened anew.
    """
    lines = html.removesuffix("\n").split("\n")
    end = len(lines) + 1
    chosen = set[int]().union(*(range(one.start, min(one.stop, end)) for one in marked))
    carried = ""
    for at, line in enumerate(lines, start=1):
        text = carried + line
        start = text.rfind("<span")
        is_open = start > text.rfind("</span>")
        carried = text[start : text.index(">", start) + 1] if is_open else ""
        kind = "line marked" if at in chosen else "line"
        number = "" if first is None else f' data-line="{first + at - 1}"'
        closed = "</span>" if carried else ""
        yield f'<span class="{kind}"{number}>{text}{closed}</span>'


def coloured_with_callouts(inner: str, language: str) -> str | None:
    """A listing of AsciiDoc, coloured, with its callouts; None for other markup."""
    lines, marks = [], []
    for line in CODE_TAG.sub("", inner).split("\n"):
        code = CALLOUT.sub("", line)
        lines.append(code)
        marks.append(line[len(code) :] if line.startswith(code) else "")
    if "<" in "".join(lines):
        return None
    coloured = highlight(entities.unescape("\n".join(lines)), language)
    if coloured is None:
        return None
    shown = zip(coloured.split("\n"), marks, strict=True)
    return "\n".join(line + mark for line, mark in shown)


# -- colours ---------------------------------------------------------------------

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
    is_plain = name == "text" or not code or BETWEEN_TEXTS in code
    if is_plain or len(code) > CODE_CHARS_MAX:
        return None
    return highlighted(code, name) if lexer_of(name) else None


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
    for css_class, value in lexed(lexer, code):
        if css_class == last_class:
            texts[-1] += value
            continue
        classes.append(css_class)
        texts.append(value)
        last_class = css_class
    # at once: there are hundreds, of a few characters each
    escaped = escape(BETWEEN_TEXTS.join(texts)).split(BETWEEN_TEXTS)
    spans = [
        f'<span class="{css_class}">{html}</span>' if css_class and html else html
        for css_class, html in zip(classes, escaped, strict=True)
    ]
    return "".join(spans)


@functools.cache
def class_of(kind: object) -> str:
    """Short class of a kind of token, its nearest ancestor's where it has none."""
    from pygments.token import STANDARD_TYPES

    while kind is not None:
        if (css_class := STANDARD_TYPES.get(kind)) is not None:  # type: ignore[call-overload]
            return "" if css_class == "w" else str(css_class)
        kind = getattr(kind, "parent", None)
    return ""


# -- fewer attempts --------------------------------------------------------------
#
# A lexer of Pygments tries the rules of its state one after the other, some twenty for
# each token.  Here only those are tried whose parsed pattern can begin so, which takes
# a fifth off the build of a wiki full of code.


MISSES_MIN = 64
"""Of a character in a state; to parse the patterns costs as much as some tokens."""
Rule = tuple[Callable[[str, int], re.Match[str] | None], Any, Any]
"""Match, class of a token or callback, next state."""


def lexed(lexer: Any, text: str) -> Iterator[tuple[str, str]]:
    """Class and text of each token that ``lexer.get_tokens_unprocessed`` gives."""
    # Pygments takes as long to load as all else that parses pages
    from pygments.lexer import RegexLexer
    from pygments.token import Error, Whitespace

    if type(lexer).get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        for _, kind, value in lexer.get_tokens_unprocessed(text):
            yield class_of(kind), value
        return
    states = states_of(lexer)
    position, stack = 0, ["root"]
    rules = states["root"]
    while True:
        for match, action, target in rules[text[position : position + 1]]:
            found = match(text, position)
            if found is None:
                continue
            if callable(action):
                for _, kind, value in action(lexer, found):
                    yield class_of(kind), value
            elif action is not None:
                yield action, found[0]
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
            yield class_of(Whitespace if char == "\n" else Error), char
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
        self._rules = tuple(
            # a kind is a tuple, which takes longer to look up than all else of a token
            (match, kind if kind is None or callable(kind) else class_of(kind), target)
            for match, kind, target in rules
        )
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

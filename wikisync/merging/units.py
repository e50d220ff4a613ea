"""What a page's text is merged by where lines do not suffice: sentences and cells.

Pure.  A paragraph is divided into sentences, a table row into cells; everything that
a person wrote to be taken as a whole (code, formulas, metadata, other blocks) stays a
line.  The division is careful, not exact: a unit that is too large makes a conflict,
one that is too small would let a merge publish a sentence that nobody wrote.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from msgspec import Struct

from wikisync.core.model import Format
from wikisync.merging.metadata import front_matter_of


class Kind(Enum):
    """What one line of a page is."""

    BLANK = auto()
    VERBATIM = auto()
    """Code and the like: never divided, and never merged beside another edit."""
    ROW = auto()
    """A row of a table."""
    BLOCK = auto()
    """A block of one line, as a heading."""
    OPENING = auto()
    """The first line of a paragraph, of a list item or of a quote."""
    PROSE = auto()
    """A further line of a paragraph."""


class Unit(Struct, frozen=True):
    """A sentence, a cell or a line."""

    text: str
    """Without the white space behind it."""
    tail: str
    """The white space behind it."""
    key: str
    """Equal for units that differ in nothing but where a paragraph is wrapped."""
    starts_line: bool = False
    is_verbatim: bool = False


def kinds(lines: Sequence[str], page_format: Format) -> list[Kind]:
    """What each line is; lines end with a line feed."""
    if page_format not in _READERS:
        return [Kind.VERBATIM if line.strip() else Kind.BLANK for line in lines]
    metadata = front_matter_of("".join(lines)).count("\n")
    reader = _READERS[page_format]()
    found = [Kind.VERBATIM] * min(metadata, len(lines))
    return found + [reader.kind(line) for line in lines[len(found) :]]


def units(lines: Sequence[str], line_kinds: Sequence[Kind]) -> list[Unit]:
    """The units of some lines; their texts and tails together are the lines."""
    found: list[Unit] = []
    paragraph: list[str] = []
    for line, kind in zip(lines, line_kinds, strict=True):
        if kind is not Kind.PROSE and paragraph:
            found += sentences("".join(paragraph))
            paragraph = []
        if kind in {Kind.PROSE, Kind.OPENING}:
            paragraph.append(line)
        else:
            text = line.rstrip("\n")
            is_code = kind is Kind.VERBATIM
            found.append(Unit(text, line[len(text) :], line, True, is_code))
    return found + sentences("".join(paragraph))


def sentences(paragraph: str) -> list[Unit]:
    """The sentences of one paragraph, in order."""
    found: list[Unit] = []
    start = 0
    for end in (*_ends(paragraph), len(paragraph)):
        if part := paragraph[start:end]:
            text = part.rstrip()
            is_first = start == 0 or paragraph[start - 1] == "\n"
            tail = part[len(text) :]
            found.append(Unit(text, tail, _unwrapped(text), starts_line=is_first))
        start = end
    return found


def cells(row: str) -> list[str]:
    """The cells of a table row, each with the bar behind it."""
    return [cell for cell in _CELL.findall(row) if cell]


def cell_text(cell: str) -> str:
    """What a cell says, however its row is aligned."""
    return cell.removesuffix("|").strip()


# -- sentences ---------------------------------------------------------------------

_BREAK = re.compile(
    r"(?<![.!?…])(?P<end>[.!?…]++)[\"'”’»)\]*_~]*+\s++"
    r"(?=[\"'“‘«„¿¡(\[*_~]*+(?P<next>\w))"
    r"|[。！？][」』”’]*\s*"
)
_PROTECTED = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)(?s:.*?)(?<!`)(?P=ticks)(?!`)"
    r"|<[^<>]*>"
    r"|\$(?!\s)[^$]*?(?<!\s)\$(?!\d)"
)
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“„«*_]*\Z")
_WORD_CHARS_MAX = 40
_CLOSING = '`)]}*_~>"”’»'
"""Before a full stop: what it ends is no abbreviation."""
_WORDS = """
abb abs al anm approx apt art aug ave bd bzw ca cf ch chap co corp dec dept dr ed
eds eq etc evtl feb ff fig figs ggf gen gov hr hrsg inc incl inkl jan jr jul jun lt
ltd mar max min mio mr mrs ms mt no nos nov nr oct op par pp prof rev sen sep sept
sog sr st str tab tel usw vgl viz vol vs zzgl
"""
_ABBREVIATIONS = frozenset(_WORDS.split())
"""Words whose full stop rarely ends a sentence."""
_ORDINAL_DIGITS_MAX = 2
"""``31. Dezember``; a year may end a sentence."""
_WRAPPED = re.compile(r"[^\S\n]*\n[^\S\n]*|[^\S\n]+")
_HARD_BREAK = re.compile(r"(?:  |\\| \+)\n")


def _ends(paragraph: str) -> Iterator[int]:
    """Where sentences end, the white space behind them included."""
    protected = list(_protected(paragraph))
    at = 0
    for found in _BREAK.finditer(paragraph):
        while at < len(protected) and protected[at][1] <= found.start():
            at += 1
        if at < len(protected) and protected[at][0] < found.end():
            continue
        if found["end"] is None or _is_end(paragraph, found):
            yield found.end()


def _is_end(paragraph: str, found: re.Match[str]) -> bool:
    """Whether a full stop and a space end a sentence."""
    following = found["next"]
    if following.islower() or following == "_":
        return False
    if found["end"] != "." or paragraph[found.start() - 1] in _CLOSING:
        return True
    start = max(0, found.start() - _WORD_CHARS_MAX)
    before = _WORD_BEFORE.search(paragraph, start, found.start())
    word = before.group().lower() if before else ""
    if len(word) < 2 or "." in word or word in _ABBREVIATIONS:
        return False
    return not (word.isdigit() and len(word) <= _ORDINAL_DIGITS_MAX)


def _protected(paragraph: str) -> Iterator[tuple[int, int]]:
    """Ranges in which no sentence ends: code, tags, formulas, brackets, in order.

    A bracket that is never closed reaches to the paragraph's end.
    """
    spans = [found.span() for found in _PROTECTED.finditer(paragraph)]
    masked = _PROTECTED.sub(lambda found: " " * len(found.group()), paragraph)
    depth = opened = 0
    for at, character in enumerate(masked):
        if character in "([{":
            opened = opened if depth else at
            depth += 1
        elif character in ")]}" and depth:
            depth -= 1
            if not depth:
                spans.append((opened, at + 1))
    if depth:
        spans.append((opened, len(paragraph)))
    end = -1
    for low, high in sorted(spans):
        if high > end:
            yield max(low, end), high
            end = high


def _unwrapped(text: str) -> str:
    """The sentence in one line, unless a line break in it has a meaning."""
    if _HARD_BREAK.search(text):
        return text
    return _WRAPPED.sub(" ", text).strip()


# -- lines -------------------------------------------------------------------------

_CELL = re.compile(r"(?>(?:[^|\\]++|\\.)*)(?:\||\\?\Z)", re.DOTALL)
_CONTAINER = re.compile(r"(?:\s*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)))*\s*")
_BULLET = re.compile(r"\s*(?:[-*+•]+|\.{1,5})\s")
_NUMBER = re.compile(r"\s*(?P<number>\d{1,9}|[A-Za-z])[.)]\s")
_NOTHING = re.compile(r"(?!)")


class _Reader:
    """Reads the lines of a page in order."""

    block = _NOTHING
    """A block of one line."""
    label = _NOTHING
    """The beginning of a labelled paragraph, also right behind another one."""
    keeps_indented = False
    """An indented line is code also right behind a paragraph."""

    def __init__(self) -> None:
        self._close: re.Pattern[str] | None = None
        self._before = Kind.BLANK
        self._is_list = False
        self._is_quote = False

    def kind(self, line: str) -> Kind:
        """What the next line is."""
        self._before = self._kind(line)
        return self._before

    def _kind(self, line: str) -> Kind:
        if self._close is not None:
            if self._close.search(line):
                self._close = None
            return Kind.VERBATIM
        if not line.strip():
            return Kind.BLANK
        if self._opens(line) or self._is_indented(line):
            return Kind.VERBATIM
        if line.lstrip().startswith("|"):
            return Kind.ROW
        if self.block.match(line):
            return Kind.BLOCK
        follows = self._before in {Kind.PROSE, Kind.OPENING}
        is_item = self._is_item(line, follows=follows)
        was_quote, self._is_quote = self._is_quote, line.lstrip().startswith(">")
        is_new = is_item or self.label.match(line) or (self._is_quote and not was_quote)
        if follows and not is_new:
            return Kind.PROSE
        self._is_list = is_item
        return Kind.OPENING

    def _is_item(self, line: str, *, follows: bool) -> bool:
        """Whether a list item begins; a wrapped sentence may go on with a number."""
        if _BULLET.match(line):
            return True
        found = _NUMBER.match(line)
        if found is None:
            return False
        return not follows or self._is_list or found["number"] in {"1", "a", "A"}

    def _is_indented(self, line: str) -> bool:
        if self.keeps_indented:
            return line[0] in " \t"
        is_deep = line.startswith(("    ", "\t"))
        return is_deep and self._before in {Kind.BLANK, Kind.VERBATIM}

    def _opens(self, line: str) -> bool:
        """Whether a verbatim block begins, or is, this line."""
        raise NotImplementedError


class _Markdown(_Reader):
    block = re.compile(r"\s*(?:#{1,6}\s|>\s*$|(?:[-*_=]\s*){3,}$|=+\s*$|\[\[_TOC_)")
    label = re.compile(r"\s*(?:\[[^\]\n]+\]:\s|:\s)")
    _special = re.compile(r"```|~~~|\$\$|[<|]")
    _fence = re.compile(r"(?P<fence>`{3,}|~{3,})")
    _html = re.compile(r"<(?P<tag>pre|script|style|textarea|!--|[a-z/])", re.IGNORECASE)

    def _opens(self, line: str) -> bool:
        if not self._special.search(line):
            return False
        prefix = _CONTAINER.match(line)
        assert prefix is not None
        inner = line[prefix.end() :]
        # a quote ends what it holds
        end = r"|^(?!\s*>)" if ">" in prefix.group() else ""
        if fence := self._fence.match(inner):
            mark = re.escape(fence["fence"][0]) + f"{{{len(fence['fence'])},}}"
            self._close = re.compile(rf"^[\s>]*{mark}\s*$" + end)
        elif line.count("$$") % 2:
            self._close = re.compile(r"\$\$" + end)
        elif html := self._html.match(inner):
            self._close_html(html["tag"].lower(), inner, end)
        else:
            # perhaps a row of a table without bars at its ends
            is_row = " | " in inner or set(inner.strip()) <= set("|-: ")
            return is_row and "|" in inner and not inner.startswith("|")
        return True

    def _close_html(self, tag: str, inner: str, end: str) -> None:
        if tag == "!--":
            closing = "-->"
        elif tag in {"pre", "script", "style", "textarea"}:
            closing = f"</{tag}"
        else:
            closing = r"^[\s>]*$"
        if not re.search(closing, inner, re.IGNORECASE):
            self._close = re.compile(closing + end, re.IGNORECASE)


class _AsciiDoc(_Reader):
    block = re.compile(
        r"=+\s|:[^:\n]+:|\[.*\]\s*$|\.\w|//|\+\s*$|'''|<<<|[\w-]+::\S*\["
    )
    label = re.compile(r"\S[^:\n]*:{2,4}\s|<\d*>\s")
    keeps_indented = True
    _fence = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|_{4,}|[|,:!]={3,}|```.*)\s*\Z")
    _style = re.compile(
        r"\[(?:source|listing|literal|verse|stem|latexmath|asciimath|pass)\b"
    )
    _is_styled = False

    def _opens(self, line: str) -> bool:
        was_styled, self._is_styled = self._is_styled, False
        if fence := self._fence.match(line):
            mark = "```" if line.startswith("```") else fence[1]
            self._close = re.compile(rf"^{re.escape(mark)}\s*$")
            return True
        if self._style.match(line) or (was_styled and self.block.match(line)):
            self._is_styled = True
        elif was_styled:
            self._close = re.compile(r"^\s*$")
            return True
        return False


class _Org(_Reader):
    block = re.compile(r"\*+\s|#\+|#\s|-{5,}\s*$")
    label = re.compile(r"\s*\[fn:[^\]\s]+\]\s")
    _begin = re.compile(r"\s*#\+begin_(\w+)", re.IGNORECASE)
    _drawer = re.compile(r"\s*:[\w-]+:\s*$")

    def _opens(self, line: str) -> bool:
        if begun := self._begin.match(line):
            name = re.escape(begun[1])
            self._close = re.compile(rf"^\s*#\+end_{name}", re.IGNORECASE)
        elif self._drawer.match(line):
            self._close = re.compile(r"^\s*:end:|^\s*$", re.IGNORECASE)
        elif line.count("$$") % 2:
            self._close = re.compile(r"\$\$")
        else:
            return line.lstrip().startswith((": ", ":\n"))
        return True


class _RDoc(_Reader):
    block = re.compile(r"=+|-{3,}\s*$|:\w+:")
    label = re.compile(r"\[[^\]\n]+\]\s|\S[^:\n]*::\s")
    keeps_indented = True

    def _opens(self, line: str) -> bool:
        del line
        return False


_READERS = {
    Format.MARKDOWN: _Markdown,
    Format.ASCIIDOC: _AsciiDoc,
    Format.ORG: _Org,
    Format.RDOC: _RDoc,
}

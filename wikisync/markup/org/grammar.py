"""The lines of Org pages: what each starts, what they set, and tables.  Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field

BLANKS = " \t"
"""White space that indents; the spaces of other scripts are text."""
IGNORE_CASE = re.IGNORECASE | re.ASCII
BEGIN = re.compile(r"^\s*#\+begin_(\S+)(?:\s+(.*?))?\s*$", IGNORE_CASE)
LOOSE = re.compile(r"^\s*#\+(?:begin:|end:|end_\S)", IGNORE_CASE)
"""The frame of a dynamic block, or the end of a block that has no beginning."""
KEYWORD = re.compile(
    r"^\s*#\+([A-Za-z_]+)(?:(?<=caption|results)\[[^\]]*\])?:\s*(.*?)\s*$", IGNORE_CASE
)
COMMENT = re.compile(r"^\s*#(?:\s|$)", re.ASCII)
DRAWER = re.compile(r"^\s*:([\w@#%-]+):\s*$")
PLANNING = re.compile(r"^\s*(?:CLOSED|DEADLINE|SCHEDULED|CLOCK):\s", re.ASCII)
TABLE = re.compile(r"^\s*\|", re.ASCII)
FIXED = re.compile(r"^\s*:(?: (.*)|)$", re.ASCII)
RULE = re.compile(r"^\s*-{5,}\s*$", re.ASCII)
ITEM = re.compile(r"^(\s*)([-+]|\s\*|[0-9]+[.)])\s+(.*)$", re.ASCII)
LATEX = re.compile(
    r"^\s*\\begin\{((?:align|alignat|cases|displaymath|eqnarray|equation|flalign"
    r"|gather|math|[bBpvV]?matrix|multline|split|subequations)\*?)\}"
)
"""An environment of formulas; the others lay out a text, which stays as it is."""
HEADLINE = re.compile(r"^(\*+)[ \t]+(.*)$")
LITERAL_BLOCKS = frozenset({"src", "example", "export", "comment", "html"})
TAB_STOP = 8


class Item(Struct, frozen=True):
    """The first line of a list item."""

    indent: int
    """Column of the bullet."""
    kind: str
    """The list's tag: ``ul``, ``ol`` or ``dl``."""
    text: str
    term: str = ""


def indent_of(line: str) -> int:
    """Column of the first character that is no white space."""
    if "\t" in line:
        line = line.expandtabs(TAB_STOP)
    return len(line) - len(line.lstrip(BLANKS))


def read_item(line: str) -> Item | None:
    """The list item that a line starts."""
    found = ITEM.match(line)
    if found is None:
        return None
    bullet, text = found[2].strip(), found[3]
    indent = indent_of(line)
    if bullet[0].isdigit():
        return Item(indent, "ol", text)
    term, marker, description = f" {text} ".rpartition(" :: ")
    if marker:
        return Item(indent, "dl", description.strip(), term.strip() or "???")
    return Item(indent, "ul", text)


def starts_element(line: str) -> bool:
    """Whether a line cannot go on with a paragraph."""
    first = line.lstrip(BLANKS)[:1]
    if not first:
        return True
    if first == "#":
        return any(each.match(line) for each in (BEGIN, KEYWORD, COMMENT, LOOSE))
    if first == ":":
        return bool(FIXED.match(line) or DRAWER.match(line))
    if first == "|":
        return True
    if first in "-+*0123456789":
        return bool(RULE.match(line) or read_item(line))
    if first in "CDS":
        return bool(PLANNING.match(line))
    return first == "\\" and bool(LATEX.match(line))


def literal_lines(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether a block without markup that has an end holds it."""
    last_ends = {
        line.strip().lower().split()[0]: number
        for number, line in enumerate(lines)
        if line.lstrip()[:6].lower() == "#+end_"
    }
    closing = ""
    for number, line in enumerate(lines):
        yield line, bool(closing)
        if closing:
            closing = "" if line.strip().lower().startswith(closing) else closing
        elif "#+" in line and (begin := BEGIN.match(line)):
            name = "#+end_" + begin[1].lower()
            if begin[1].lower() in LITERAL_BLOCKS and last_ends.get(name, -1) > number:
                closing = name


# -- what a page says about itself -----------------------------------------------


SETTING = re.compile(r"^#\+([A-Za-z_]+):\s*(.*?)\s*$")
OPTION = re.compile(r"(?<!\S)(\S+?):(\([^)]{0,200}\)|\S*)")
TODO_KEYS = frozenset({"TODO", "SEQ_TODO", "TYP_TODO"})
TODO_WORDS = ("TODO", "DONE")
TODO_NAME = re.compile(r"^([^\s(|]+)(?:\([^)]*\))?$")


class Settings(Struct):
    """Keywords of the whole page."""

    title: str = ""
    options: dict[str, str] = field(default_factory=dict)
    todo_words: list[str] = field(default_factory=list)
    done_words: set[str] = field(default_factory=lambda: {"DONE"})
    select_tags: frozenset[str] = frozenset()
    exclude_tags: frozenset[str] = frozenset()
    links: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    keywords: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, str] = field(default_factory=dict)
    """Ids of the page's targets, by their text."""

    def is_on(self, option: str, *, default: bool) -> bool:
        """Whether an option is set: to the service only ``nil`` or ``t`` change one."""
        value = self.options.get(option)
        return value != "nil" if default else value == "t"

    @property
    def has_math(self) -> bool:
        """Whether TeX is read as formulas: ``tex:nil`` and ``tex:verbatim`` say no."""
        return self.options.get("tex") not in {"nil", "verbatim"}


def read_settings(lines: Sequence[str]) -> Settings:
    """Collect the keywords of a page, those inside of blocks left out."""
    settings = Settings()
    for line, is_literal in literal_lines(lines):
        if not is_literal and (match := SETTING.match(line)):
            _read_keyword(settings, match[1].upper(), match[2] or "")
    if not settings.todo_words:
        settings.todo_words = list(TODO_WORDS)
    return settings


def _read_keyword(settings: Settings, name: str, value: str) -> None:
    settings.keywords.setdefault(name, value)
    if name == "TITLE":
        settings.title = f"{settings.title} {value}".strip()
    elif name == "OPTIONS":
        settings.options.update(
            (option, setting) for option, setting in OPTION.findall(value)
        )
    elif name in TODO_KEYS:
        _read_todo_words(settings, value)
    elif name == "EXPORT_SELECT_TAGS":
        settings.select_tags |= frozenset(value.split())
    elif name == "EXPORT_EXCLUDE_TAGS":
        settings.exclude_tags |= frozenset(value.split())
    elif name == "LINK":
        abbreviation, _, target = value.partition(" ")
        settings.links[abbreviation] = target.strip()
    elif name == "MACRO":
        macro, _, body = value.partition(" ")
        settings.macros[macro] = body


def _read_todo_words(settings: Settings, value: str) -> None:
    words = value.split()
    done = words[words.index("|") + 1 :] if "|" in words else words[-1:]
    for word in words:
        if match := TODO_NAME.match(word):
            settings.todo_words.append(match[1])
            if word in done:
                settings.done_words.add(match[1])


def expand_abbreviation(links: Mapping[str, str], target: str) -> str:
    """A target whose prefix the page has declared with ``#+LINK``."""
    prefix, _, rest = target.partition(":")
    pattern = links.get(prefix)
    if pattern is None:
        return target
    # Org takes one colon or two.
    rest = rest.removeprefix(":")
    return pattern.replace("%s", rest) if "%s" in pattern else pattern + rest


# -- tables ----------------------------------------------------------------------


SEPARATOR = re.compile(r"^\s*\|(?!\s)[-|+\s]*$")
"""A row whose first cell begins with a dash is none."""
COOKIE = re.compile(r"^<(?:[lrcLRC]?[0-9]+|[lrcLRC])>$")
GROUP = frozenset({"/", "<", ">", "<>"})
ALIGNMENTS = {"l": "left", "r": "right", "c": "center"}


def table_html(lines: Sequence[str], render: Callable[[str], str]) -> str:
    """HTML of a table; the row above the first rule is the header.

    A blank line begins a part that has its own header and alignments.
    Rows that hold only column widths or column groups are for the editor and not
    shown, as in Org's own export.
    """
    rows: list[tuple[list[str], dict[int, str]]] = []
    headers: set[int] = set()
    has_header = False
    alignments: dict[int, str] = {}
    for line in lines:
        if SEPARATOR.match(line):
            if rows and not has_header:
                headers.add(len(rows) - 1)
                has_header = True
            continue
        if not line.strip():
            has_header, alignments = False, {}
            continue
        # the last bar may be missing
        row = line.strip().removeprefix("|").removesuffix("|")
        cells = [cell.strip() for cell in row.split("|")]
        if is_for_editor(cells):
            # cookies like ``<r>`` align a column
            alignments |= {
                column: ALIGNMENTS[cell[1].lower()]
                for column, cell in enumerate(cells)
                if COOKIE.match(cell) and cell[1].lower() in ALIGNMENTS
            }
        else:
            rows.append((cells, alignments))
    if not rows:
        return ""
    html = [
        row_html(cells, "th" if number in headers else "td", aligned, render)
        for number, (cells, aligned) in enumerate(rows)
    ]
    head = f"<thead>\n{html.pop(0)}\n</thead>\n" if 0 in headers else ""
    body = "\n".join(html)
    return f"<table>\n{head}<tbody>\n{body}\n</tbody>\n</table>"


def is_for_editor(cells: Sequence[str]) -> bool:
    """Whether a row sets widths, alignment or groups instead of text."""
    filled = [cell for cell in cells if cell]
    is_group = cells[0] == "/"
    return bool(filled) and all(
        cell in GROUP if is_group else COOKIE.match(cell) for cell in filled
    )


def row_html(
    cells: Sequence[str],
    tag: str,
    alignments: dict[int, str],
    render: Callable[[str], str],
) -> str:
    """One row."""
    pieces = []
    for column, cell in enumerate(cells):
        attribute = f' align="{alignments[column]}"' if column in alignments else ""
        pieces.append(f"<{tag}{attribute}>{render(cell)}</{tag}>")
    return f"<tr>{''.join(pieces)}</tr>"

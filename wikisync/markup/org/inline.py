"""Marks, links and signs in a text of an Org page, in one forward scan.

Where a mark may close does not depend on where it opened, so every marker's
closing positions are listed once; a line of ten thousand markers
costs one pass.
"""

import bisect
import re
from collections.abc import Callable, Mapping
from functools import partial
from html import unescape
from html.entities import name2codepoint

from wikisync.core.packaged import packaged_rows
from wikisync.markup.org.grammar import Settings, expand_abbreviation
from wikisync.markup.tokens import escape_marks as escape

DEPTH_MAX = 8
"""Texts inside of texts: labels of links, contents of marks and scripts."""
SPAN_CHARACTERS_MAX = 4000
"""Between the two ends of a mark, a link or an inline note."""
MACROS_MAX = 500
MACRO_CHARACTERS_MAX = 10_000

MARKS = {
    "*": ("<b>", "</b>"),
    "/": ("<i>", "</i>"),
    "_": ("<u>", "</u>"),
    "+": ("<del>", "</del>"),
    "=": ("<code>", "</code>"),
    "~": ("<code>", "</code>"),
}
VERBATIM = "=~"
BEFORE_MARK = frozenset(" \t\n('\"{")
AFTER_MARK = frozenset(" \t\n-.,:!?;'\")}\\")
NOT_INSIDE_MARK = frozenset(" \t\n,'\"")
"""Beside the inner side of a mark these say that it is none."""
NOT_IN_DOLLARS = frozenset(".,;'\"")
"""Beside the inner side of a dollar these say that it is none of TeX."""
BEHIND_DOLLAR = frozenset(".,?;:!'\")]}-")
NEWLINES_IN_MATH_MAX = 2
NEWLINES_MAX = 1
"""Line breaks that a mark may span."""

START = re.compile(
    r"(?P<link>\[\[)"
    r"|(?P<note>\[fn:)"
    r"|(?P<angle><(?=[A-Za-z<]))"
    r"|(?P<script>[_^]\{)"
    r"|(?P<breaks>\\\\[ \t]*(?=\n|$))"
    r"|(?P<math>\\[(\[])"
    r"|(?P<dollar>\$\$?(?=[^\s$]))"
    r"|(?P<entity>\\[A-Za-z]+[0-9]{0,2}(?:\{\}|(?![A-Za-z])))"
    r"|(?P<snippet>@@[A-Za-z]+:)"
    r"|(?P<macro>\{\{\{)"
    r"|(?P<mark>[*/_=~+])"
)
ANGLE = re.compile(r"<((?:https?|ftp|mailto|file|irc|news):[^<>\n]{1,2000})>")
BRACKET = re.compile(r"(?<!\\)[\[\]]")
"""In a target it stands behind a backslash."""
TARGET = re.compile(r"<<<?([^<>\s](?:[^<>\n]{0,500}[^<>\s])?)>>>?")
MACRO = re.compile(
    r"\{\{\{([A-Za-z][\w-]*)(?:\(((?:[^)\n]|\)(?!\}\}\})){0,500})\))?\}\}\}"
)
NOTE_NAME = re.compile(r"\[fn:([\w-]*)(:|\])")
MACRO_ARGUMENT = re.compile(r"\$([0-9])")
Notes = Callable[[str, str | None], str]
"""Name and, for an inline definition, its HTML; gives the reference's HTML."""


class Inline:
    """Renders texts of one page: knows its settings and counts its notes."""

    def __init__(self, settings: Settings, notes: Notes) -> None:
        self.settings = settings
        self.note = notes
        self.has_scripts = settings.is_on("^", default=True)
        self.has_notes = settings.is_on("f", default=False)
        self.has_entities = settings.is_on("e", default=True)
        self.has_math = settings.has_math
        self._macros = 0

    def html_of(
        self,
        text: str,
        depth: int = 0,
        *,
        is_in_link: bool = False,
        is_in_mark: bool = False,
    ) -> str:
        """HTML of a text that may have several lines."""
        if depth > DEPTH_MAX:
            return escape(text)
        scan = _Scan(self, text, depth, is_in_link=is_in_link, is_in_mark=is_in_mark)
        return scan.html()

    def macro_text(self, found: re.Match[str]) -> str | None:
        """What a macro stands for; None for one that the page does not have."""
        name, arguments = found[1].lower(), (found[2] or "").split(",")
        self._macros += 1
        if self._macros > MACROS_MAX:
            return None
        if name in {"title", "author", "date", "email"}:
            return self.settings.keywords.get(name.upper())
        body = self.settings.macros.get(found[1])
        if body is None or body.startswith("(eval"):
            # What a program gives is known to the editor alone.
            return None

        def argument(parameter: re.Match[str]) -> str:
            number = int(parameter[1])
            if number == 0:
                return found[2] or ""
            return arguments[number - 1].strip() if number <= len(arguments) else ""

        return MACRO_ARGUMENT.sub(argument, body)[:MACRO_CHARACTERS_MAX]


def math_html(formula: str, *, is_inline: bool) -> str:
    """TeX as the shared filter expects it."""
    style = "inline" if is_inline else "display"
    return f'<span data-math-style="{style}">{escape(formula.strip())}</span>'


def target_id(text: str) -> str:
    """The id of ``<<text>>``; an id holds no white space."""
    return "-".join(text.split())


def anchor(identity: str, text: str = "") -> str:
    """A place that links can lead to; ``text`` is HTML."""
    return f'<a id="user-content-{escape(identity)}">{text}</a>'


class _Scan:
    """One pass over one text."""

    def __init__(
        self,
        inline: Inline,
        text: str,
        depth: int,
        *,
        is_in_link: bool,
        is_in_mark: bool,
    ) -> None:
        self._inline = inline
        self._text = text
        self._depth = depth
        self._is_in_link = is_in_link
        # A label stands between brackets, and beside them the service reads no mark.
        self._before, self._after = ("[", "]") if is_in_link else ("\n", "\n")
        self._is_in_mark = is_in_mark
        self._pieces: list[str] = []
        self._positions: dict[str, list[int]] = {}
        self._closers: dict[str, list[int]] = {}

    def html(self) -> str:
        at = 0
        position = 0
        while found := START.search(self._text, position):
            read = self._read(found)
            if read is None:
                position = found.start() + 1
                continue
            html, end = read
            self._write_text(at, found.start())
            self._pieces.append(html)
            at = position = end
        self._write_text(at, len(self._text))
        return "".join(self._pieces)

    def _write_text(self, start: int, end: int) -> None:
        """Write running text, with the printer's signs."""
        if start >= end:
            return
        text = self._text[start:end]
        before = self._text[start - 1] if start else " "
        after = self._text[end] if end < len(self._text) else " "
        around = f"{before}{text}{after}"

        def replace(found: re.Match[str]) -> str:
            return _sign(found[0], around[found.start()], around[found.end() + 1])

        self._pieces.append(escape(SPECIAL.sub(replace, text)))

    def _read(self, found: re.Match[str]) -> tuple[str, int] | None:
        """HTML of what starts here and where it ends; None for plain text."""
        match found.lastgroup:
            case "link":
                return self._read_link(found.start())
            case "note":
                return self._read_note(found.start())
            case "angle":
                return self._read_angle(found.start())
            case "script":
                return self._read_script(found.start())
            case "breaks":
                return "<br>", found.end()
            case "math" | "dollar" if not self._inline.has_math:
                return None
            case "math":
                return self._read_math(found.start())
            case "dollar":
                return self._read_dollar(found)
            case "entity":
                whole = found[0].removesuffix("{}").removeprefix("\\")
                name = whole if whole in ENTITIES else whole.rstrip("0123456789")
                sign = ENTITIES.get(name) if self._inline.has_entities else None
                end = found.end() if name == whole else found.start() + len(name) + 1
                return None if sign is None else (escape(sign), end)
            case "snippet":
                return self._read_snippet(found)
            case "macro":
                return self._read_macro(found.start())
            case _:
                return self._read_mark(found.start())

    def _read_link(self, start: int) -> tuple[str, int] | None:
        end = self._next("]]", start + 3)
        if end < 0 or end - start > SPAN_CHARACTERS_MAX:
            return None
        middle = self._next("][", start + 2)
        if 0 <= middle < end:
            target, label = self._text[start + 2 : middle], self._text[middle + 2 : end]
            # A bracket that closes the label itself belongs to it.
            opened = label.count("[") > label.count("]")
            if opened and self._text.startswith("]]]", end):
                label, end = f"{label}]", end + 1
        else:
            target, label = self._text[start + 2 : end], None
        if not target.strip() or target.count("\n") > NEWLINES_MAX:
            return None
        if BRACKET.search(target):
            return None

        render = partial(self._inline.html_of, depth=self._depth + 1, is_in_link=True)
        settings = self._inline.settings
        html = link_html(target, label or None, settings, render, self._is_in_link)
        return html, end + 2

    def _read_note(self, start: int) -> tuple[str, int] | None:
        found = NOTE_NAME.match(self._text, start)
        if found is None or not self._inline.has_notes:
            return None
        if found[2] == "]":
            if not found[1]:
                return None
            return self._inline.note(found[1], None), found.end()
        end = self._balanced(found.end(), "[", "]")
        if end is None:
            return None
        definition = self._text[found.end() : end]
        html = self._inline.html_of(definition, self._depth + 1)
        return self._inline.note(found[1], html), end + 1

    def _read_angle(self, start: int) -> tuple[str, int] | None:
        if found := TARGET.match(self._text, start):
            shown = escape(found[1]) if found[0].startswith("<<<") else ""
            return anchor(target_id(found[1]), shown), found.end()
        if (found := ANGLE.match(self._text, start)) and not self._is_in_link:
            return f'<a href="{escape(found[1])}">{escape(found[1])}</a>', found.end()
        return None

    def _read_script(self, start: int) -> tuple[str, int] | None:
        if not self._inline.has_scripts:
            return None
        end = self._balanced(start + 2, "{", "}")
        if end is None:
            return None
        tag = "sub" if self._text[start] == "_" else "sup"
        inner = self._inline.html_of(self._text[start + 2 : end], self._depth + 1)
        return f"<{tag}>{inner}</{tag}>", end + 1

    def _read_math(self, start: int) -> tuple[str, int] | None:
        is_inline = self._text[start + 1] == "("
        end = self._next("\\)" if is_inline else "\\]", start + 2)
        if end < 0 or "\n\n" in self._text[start:end]:
            return None
        return math_html(self._text[start + 2 : end], is_inline=is_inline), end + 2

    def _read_dollar(self, found: re.Match[str]) -> tuple[str, int] | None:
        """TeX between dollars, by Org's rule that keeps prices out of it."""
        dollars, start = found[0], found.end()
        before = self._text[found.start() - 1] if found.start() else " "
        if before in "$\\" or (dollars == "$" and self._text[start] in NOT_IN_DOLLARS):
            return None
        end = self._next(dollars, start)
        if end < 0 or end - start > SPAN_CHARACTERS_MAX:
            return None
        formula = self._text[start:end]
        after = self._text[end + len(dollars) : end + len(dollars) + 1]
        if dollars == "$" and (
            formula[-1].isspace()
            or formula[-1] in NOT_IN_DOLLARS
            or (after and not after.isspace() and after not in BEHIND_DOLLAR)
            or formula.count("\n") > NEWLINES_IN_MATH_MAX
        ):
            return None
        html = math_html(formula, is_inline=dollars == "$")
        return html, end + len(dollars)

    def _read_snippet(self, found: re.Match[str]) -> tuple[str, int] | None:
        end = self._next("@@", found.end())
        if end < 0:
            return None
        backend = found[0].strip("@:").lower()
        return self._text[found.end() : end] if backend == "html" else "", end + 2

    def _read_macro(self, start: int) -> tuple[str, int] | None:
        found = MACRO.match(self._text, start)
        text = found and self._inline.macro_text(found)
        if found is None or text is None:
            return None
        if text[:7].upper() == "#+HTML:":
            return text[7:].strip(), found.end()
        return self._inline.html_of(text, self._depth + 1), found.end()

    def _read_mark(self, start: int) -> tuple[str, int] | None:
        if self._is_in_mark:
            # The service shows marks inside of marks as they are written.
            return None
        marker = self._text[start]
        before = self._text[start - 1] if start else self._before
        after = self._text[start + 1] if start + 1 < len(self._text) else " "
        if before not in BEFORE_MARK or after in NOT_INSIDE_MARK or after == marker:
            return None
        closers = self._closing_positions(marker)
        index = bisect.bisect_left(closers, start + 2)
        if index == len(closers):
            return None
        end = closers[index]
        if end - start > SPAN_CHARACTERS_MAX:
            return None
        if self._text.count("\n", start, end) > NEWLINES_MAX:
            return None
        opened, closed = MARKS[marker]
        content = self._text[start + 1 : end]
        if marker in VERBATIM:
            return f"{opened}{escape(content)}{closed}", end + 1
        inner = self._inline.html_of(
            content, self._depth + 1, is_in_link=self._is_in_link, is_in_mark=True
        )
        return f"{opened}{inner}{closed}", end + 1

    def _closing_positions(self, marker: str) -> list[int]:
        """Where a marker may close: behind text, before space or punctuation."""
        known = self._closers.get(marker)
        if known is None:
            text = self._text
            known = [
                position
                for position in self._all(marker)
                if position
                and text[position - 1] not in NOT_INSIDE_MARK
                and (text[position + 1 : position + 2] or self._after) in AFTER_MARK
            ]
            self._closers[marker] = known
        return known

    def _balanced(self, start: int, opening: str, closing: str) -> int | None:
        """Where the bracket closes that opened before ``start``."""
        level, position = 1, start
        while True:
            closes = self._next(closing, position)
            if closes < 0 or closes - start > SPAN_CHARACTERS_MAX:
                return None
            opens = self._next(opening, position)
            if 0 <= opens < closes:
                level, position = level + 1, opens + 1
                continue
            level, position = level - 1, closes + 1
            if level == 0:
                return closes

    def _next(self, token: str, start: int) -> int:
        positions = self._all(token)
        index = bisect.bisect_left(positions, start)
        return positions[index] if index < len(positions) else -1

    def _all(self, token: str) -> list[int]:
        positions = self._positions.get(token)
        if positions is None:
            # Lookahead also finds the second of the brackets in "]]]".
            pattern = f"(?={re.escape(token)})"
            positions = [found.start() for found in re.finditer(pattern, self._text)]
            self._positions[token] = positions
        return positions


# -- links -----------------------------------------------------------------------


IMAGE = re.compile(
    r"\.(?:gif|jpe?g|png|svgz?|webp|bmp|tiff?)(?:[?#].*)?$", re.IGNORECASE
)
SPACES = re.compile(r"\s+")
SEARCH = re.compile(r"::.*$", re.DOTALL)
SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


def link_html(
    target: str,
    label: str | None,
    settings: Settings,
    render: Callable[[str], str],
    is_in_link: bool,
) -> str:
    """HTML of ``[[target][label]]``; inside of another link only what it shows.

    A picture without a label is shown, and a picture as label links.  What names a
    heading, ``*Heading``, stays as it is: the shared filter knows the headings' ids.
    """
    abbreviations = settings.links
    target = SPACES.sub(" ", target.strip())
    identity = settings.anchors.get(target.lower())
    href = f"#{identity}" if identity else href_of(target, abbreviations)
    if label is None and IMAGE.search(href):
        return f'<img src="{escape(href)}" alt="{escape(href)}">'
    if label is None:
        content = escape(path_of(expand_abbreviation(abbreviations, target)))
    else:
        picture = SPACES.sub(" ", label.strip())
        if IMAGE.search(picture) and " " not in picture:
            source = escape(href_of(picture, abbreviations))
            content = f'<img src="{source}" alt="{source}">'
        else:
            content = render(label if " " in picture else path_of(label) or label)
    return content if is_in_link else f'<a href="{escape(href)}">{content}</a>'


def href_of(target: str, abbreviations: Mapping[str, str]) -> str:
    """What a target means as a URL; a relative one is a page or attachment."""
    target = expand_abbreviation(abbreviations, target)
    if target.startswith("*"):
        # What stands before a colon would be the name of a scheme.
        return target.replace(":", "%3A")
    if target.startswith("file+"):
        target = "file:" + target.partition(":")[2]
    if not SCHEME.match(target) and ("/" in target or "." in target):
        return SEARCH.sub("", target)
    return path_of(target)


def path_of(target: str) -> str:
    """What names a file without its scheme and a place in it; else all of it."""
    if not target.startswith("file:"):
        return target
    return SEARCH.sub("", target.removeprefix("file:"))


# -- signs that a text names or puts together ------------------------------------


SPECIAL = re.compile(
    r"\\[\\\"'.`-]"
    r"|(?<!-)-{2,3}(?!-)|``|''|\"|'"
    r"|(?<!\.)\.{3}(?!\.)|(?<!\.)(?<!\. )\. \. \.(?!\.| \.)"
)
"""Longer rows of dashes and dots stay as they are."""
OPENS_BEHIND = frozenset(" \t\n([{<-–—/\u00a0“‘\"'")


def _sign(mark: str, previous: str, following: str) -> str:
    opens = previous in OPENS_BEHIND and not following.isspace()
    match mark:
        case "---":
            return "—"
        case _ if mark[0] == "\\":
            return mark[1]
        case "--":
            return "–"
        case "..." | ". . .":
            return "…"
        case "``":
            return "“"
        case "''":
            return "”"
        case '"':
            return "“" if opens else "”"
        case _:
            return "‘" if opens and not following.isdigit() else "’"


NOT_OF_ORG = frozenset({"and", "or", "part"})

ENTITIES: Mapping[str, str] = {
    **{
        name: chr(point)
        for name, point in name2codepoint.items()
        if name not in NOT_OF_ORG
    },
    **{
        name: unescape(sign)
        for sign, *names in packaged_rows(__package__, "entities.txt")
        for name in names
    },
}
"""By the name behind the backslash.

Only those of HTML 4 and Org: the later names of HTML 5 are words, such as
``target`` and ``map``, which stand behind backslashes in paths.
"""

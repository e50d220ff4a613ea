"""Blocks of an Org page to HTML: paragraphs, lists, code, quotes, tables.

A block is read from a list of lines; what stands inside of it is read again from
its own lines, down to ``DEPTH_MAX`` and from there as text.  Ends of blocks are
found in a list made once for each list of lines.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

from wikisync.markup.org import grammar
from wikisync.markup.org.grammar import Item, read_item, table_html
from wikisync.markup.org.inline import Inline, anchor
from wikisync.markup.tokens import escape_marks as escape

DEPTH_MAX = 24
"""Lists and blocks inside each other."""
BLANKS_IN_LIST_MAX = 1
"""Two blank lines end every list."""

CODE_REF = re.compile(r"\(ref:([\w-]+)\)")
"""The name of a line of code, which ``[[(name)]]`` links to."""
DROPPED_DRAWERS = frozenset({"PROPERTIES"})
"""The service shows what any other drawer holds, the log of a task too."""
EXPORTS = re.compile(r":exports\s+(\w+)")
RESULTS = frozenset({"results", "both"})
FRAMES = {
    "quote": ("<blockquote>", "</blockquote>"),
    "center": ('<div align="center">', "</div>"),
}
LONE_PICTURE = re.compile(r"<p><img [^<>]*></p>")
COUNTER = re.compile(r"^\[@([0-9]{1,6})\]\s*")
FOOTNOTE = re.compile(r"^\[fn:([\w-]+)\]\s*")
NAME = re.compile(r"[\w-]+")
NUMBERS = re.compile(r"(?<!\S)[-+]n(?: +([0-9]{1,6}))?(?!\S)")
"""The switch of a block whose lines are numbered, with the first number."""


class Blocks:
    """Writes the blocks of one page."""

    def __init__(self, inline: Inline) -> None:
        self.html: list[str] = []
        self._inline = inline
        self._has_tables = inline.settings.is_on("|", default=True)
        self._keeps_breaks = inline.settings.is_on("\\n", default=False)
        self._shows_results = False
        """Whether results that follow are those of code that exports them."""
        self._frames: list[tuple[str, int]] = []
        """Name and index of each frame that is open where its headline's lines end."""

    def write(self, lines: Sequence[str], depth: int = 0) -> None:
        """Write the blocks of some lines."""
        reader = _Lines(lines)
        captions: list[str] = []
        while reader.at < len(lines):
            line = reader.line
            if line.lstrip().startswith("#+") and (
                keyword := grammar.KEYWORD.match(line)
            ):
                if keyword[1].upper() == "CAPTION":
                    captions.append(keyword[2])
                self._write_element(reader, depth)
                continue
            start = len(self.html)
            self._write_element(reader, depth)
            if captions:
                self._caption(start, " ".join(captions))
                captions.clear()

    def drop_frames(self) -> None:
        """Take out the frames that nothing on the page has closed."""
        for _, index in self._frames:
            self.html[index] = ""

    def _caption(self, start: int, text: str) -> None:
        """Put a caption on the table, code or picture written last."""
        html = self._inline.html_of(text.strip())
        shown = "\n".join(self.html[start:])
        if shown.startswith("<table>"):
            framed = shown.replace("<table>", f"<table>\n<caption>{html}</caption>", 1)
        elif shown.startswith("<pre") or LONE_PICTURE.fullmatch(shown):
            inner = shown.removeprefix("<p>").removesuffix("</p>")
            framed = f"<figure>\n{inner}\n<figcaption>{html}</figcaption>\n</figure>"
        else:
            return
        self.html[start:] = [framed]

    def _write_element(self, reader: _Lines, depth: int) -> None:
        line = reader.line
        first = line.lstrip(grammar.BLANKS)[:1]
        if not first or grammar.COMMENT.match(line) or grammar.PLANNING.match(line):
            reader.at += 1
        elif (first == "#" and self._write_hash(reader, depth)) or (
            first == ":" and self._write_colon(reader, depth)
        ):
            pass
        elif first == "|":
            rows = reader.take_table()
            html = table_html(rows, self._inline.html_of) if self._has_tables else ""
            if html:
                self.html.append(html)
        elif grammar.RULE.match(line):
            reader.at += 1
            self.html.append("<hr>")
        elif (item := read_item(line)) and depth < DEPTH_MAX:
            self._write_list(reader, item, depth)
        elif first == "\\" and self._write_latex(reader):
            pass
        else:
            self._write_paragraph(reader)

    def _write_hash(self, reader: _Lines, depth: int) -> bool:
        """A block, a keyword, or none of them."""
        line = reader.line
        if grammar.LOOSE.match(line):
            reader.at += 1
            if (
                depth == 0
                and self._frames
                and line.split()[0].lower() == (f"#+end_{self._frames[-1][0]}")
            ):
                self.html.append(FRAMES[self._frames.pop()[0]][1])
            return True
        if begin := grammar.BEGIN.match(line):
            return self._write_block(reader, begin, depth)
        keyword = grammar.KEYWORD.match(line)
        if keyword is None:
            return False
        reader.at += 1
        match keyword[1].upper():
            case "HTML":
                self.html.append(keyword[2])
            case "CALL":
                # A call has nothing to show but its results.
                exports = EXPORTS.search(keyword[2])
                self._shows_results = not exports or exports[1].lower() in RESULTS
            case "RESULTS" if not self._shows_results and line[keyword.end(1)] == ":":
                # Those kept with a hash, ``#+RESULTS[ab12]:``, the service shows.
                self._skip_results(reader)
        return True

    def _write_colon(self, reader: _Lines, depth: int) -> bool:
        """Lines behind colons, a drawer, or neither."""
        if grammar.FIXED.match(reader.line):
            lines = reader.take_while(grammar.FIXED)
            self._write_code([grammar.FIXED.sub(r"\1", line) for line in lines])
            return True
        drawer = grammar.DRAWER.match(reader.line)
        if drawer is None:
            return False
        end = reader.end_of(":end:")
        if end is None:
            if drawer[1].upper() != "END":
                return False
            reader.at += 1
            return True
        content = reader.lines[reader.at + 1 : end]
        reader.at = end + 1
        if drawer[1].upper() not in DROPPED_DRAWERS and depth < DEPTH_MAX:
            self.write(content, depth + 1)
        return True

    def _write_block(self, reader: _Lines, begin: re.Match[str], depth: int) -> bool:
        name, parameters = begin[1].lower(), begin[2] or ""
        end = reader.block_end(name)
        if end is None:
            reader.at += 1
            if depth == 0 and name in FRAMES:
                # the service sees no headline that parts a frame
                self._frames.append((name, len(self.html)))
                self.html.append(FRAMES[name][0])
            return True
        content = list(reader.lines[reader.at + 1 : end])
        reader.at = end + 1
        match name:
            case "comment":
                pass
            case "src":
                self._write_source(content, parameters)
            case "example":
                self._write_code(undented(uncommaed(content)))
            case "html":
                self.html.append("\n".join(content))
            case "export":
                if parameters.lower().startswith("html"):
                    self.html.append("\n".join(content))
            case "verse":
                self._write_verse(content)
            case _ if depth >= DEPTH_MAX:
                self._write_code(undented(content))
            case _:
                # The service drops what it has no name for; Org shows it.
                opened, closed = FRAMES.get(name, ("<div>", "</div>"))
                self.html.append(opened)
                self.write(content, depth + 1)
                self.html.append(closed)
        return True

    def _write_source(self, content: list[str], parameters: str) -> None:
        exports = EXPORTS.search(parameters)
        wanted = exports[1].lower() if exports else "code"
        self._shows_results = wanted in RESULTS
        if wanted in {"code", "both"}:
            language = NAME.match(parameters)
            numbers = NUMBERS.search(parameters)
            meta = f' data-meta="linenums={numbers[1] or 1}"' if numbers else ""
            code = undented(uncommaed(content))
            self._write_code(code, language[0] if language else "", meta)

    def _write_code(
        self, content: Sequence[str], language: str = "", meta: str = ""
    ) -> None:
        text = escape("\n".join(content))
        if "(ref:" in text:
            names = CODE_REF.findall(text)
            self.html += [anchor(code_ref_id(name)) for name in names]
        attribute = f' data-canonical-lang="{escape(language)}"' if language else ""
        self.html.append(f"<pre{attribute}{meta}><code>{text}\n</code></pre>")

    def _write_verse(self, content: Sequence[str]) -> None:
        """Lines as they stand; the service drops them, Org shows them."""
        verses = [
            "\u00a0" * (len(line) - len(line.lstrip()))
            + self._inline.html_of(line.strip())
            for line in undented(content)
        ]
        self.html.append(f'<p class="verse">{"<br>".join(verses)}</p>')

    def _write_latex(self, reader: _Lines) -> bool:
        begin = grammar.LATEX.match(reader.line)
        if begin is None or not self._inline.has_math:
            return False
        end = reader.end_of(f"\\end{{{begin[1]}}}")
        if end is None:
            return False
        formula = "\n".join(reader.lines[reader.at : end + 1]).strip()
        reader.at = end + 1
        self.html.append(f'<div data-math-style="display">{escape(formula)}</div>')
        return True

    def _write_paragraph(self, reader: _Lines) -> None:
        texts = [reader.line.strip()]
        reader.at += 1
        while reader.at < len(reader.lines) and not grammar.starts_element(reader.line):
            texts.append(reader.line.strip())
            reader.at += 1
        html = self._text_html(texts)
        if html:
            self.html.append(f"<p>{html}</p>")

    def _text_html(self, texts: Sequence[str]) -> str:
        text = "\n".join(texts)
        definition = FOOTNOTE.match(text) if self._inline.has_notes else None
        note = ""
        if definition is not None:
            name = escape(definition[1])
            note = (
                f'<sup><a id="user-content-fn.{name}" class="footnum"'
                f' href="#fnr.{name}">{name}</a></sup> '
            )
            text = text[definition.end() :]
        html = self._inline.html_of(text)
        if self._keeps_breaks:
            html = html.replace("\n", "<br>\n")
        return note + html

    def _skip_results(self, reader: _Lines) -> None:
        """Skip results of code that shows only itself, but for tables with a rule."""
        fixed = reader.take_while(grammar.FIXED)
        end = None if fixed else reader.end_of(":end:")
        if end is not None and grammar.DRAWER.match(reader.line):
            reader.at = end + 1
            return
        rows, start = 0, reader.at
        while not fixed and reader.at < len(reader.lines) and reader.line.strip():
            if begin := grammar.BEGIN.match(reader.line):
                name = begin[1].lower()
                if reader.at == start or name in {"src", "example"}:
                    end = reader.block_end(name)
                    reader.at = reader.at + 1 if end is None else end + 1
                return
            if rows and grammar.SEPARATOR.match(reader.line):
                # A rule makes a table one for readers.
                reader.at -= rows
                return
            if grammar.KEYWORD.match(reader.line):
                return
            rows = rows + 1 if grammar.TABLE.match(reader.line) else 0
            reader.at += 1

    def _write_list(self, reader: _Lines, first: Item, depth: int) -> None:
        """Items of one kind at one column."""
        self.html.append(f"<{first.kind}>")
        item: Item | None = first
        while item is not None:
            content = reader.take_item(item.indent)
            self._write_item(item, content, depth)
            following = reader.peek_item()
            item = None
            if (
                following is not None
                and following.indent == first.indent
                and following.kind == first.kind
            ):
                reader.at += not reader.line.strip()
                item = following
        self.html.append(f"</{first.kind}>")

    def _write_item(self, item: Item, content: Sequence[str], depth: int) -> None:
        opened, closed = ("<li>", "</li>")
        text = item.text
        if item.kind == "dl":
            self.html.append(f"<dt>{self._inline.html_of(item.term)}</dt>")
            opened, closed = ("<dd>", "</dd>")
        elif item.kind == "ol" and (counter := COUNTER.match(text)):
            opened = f'<li value="{counter[1]}">'
            text = text[counter.end() :]
        # The first paragraph stands in the item itself, as the service has it.
        texts = [text.strip()] if text.strip() else []
        count = 0
        while count < len(content) and not grammar.starts_element(content[count]):
            texts.append(content[count].strip())
            count += 1
        self.html.append(opened + self._text_html(texts))
        self.write(content[count:], depth + 1)
        self.html.append(closed)


class _Lines:
    """A position in some lines, and where their blocks end."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        self._ends: dict[str, list[int]] = {}

    @property
    def line(self) -> str:
        return self.lines[self.at]

    def take_while(self, pattern: re.Pattern[str]) -> list[str]:
        """The lines from here that match."""
        start = self.at
        while self.at < len(self.lines) and pattern.match(self.lines[self.at]):
            self.at += 1
        return list(self.lines[start : self.at])

    def take_table(self) -> list[str]:
        """Rows at one column; a single blank line does not end a table."""
        start, column = self.at, grammar.indent_of(self.line)
        while self.at < len(self.lines):
            behind = self.at + (not self.line.strip())
            row = self.lines[behind] if behind < len(self.lines) else ""
            if not grammar.TABLE.match(row) or grammar.indent_of(row) != column:
                break
            self.at = behind + 1
        return list(self.lines[start : self.at])

    def block_end(self, name: str, start: int | None = None) -> int | None:
        """The line that ends the block begun at ``start`` (here, if not given)."""
        return self.end_of("#+end_" + name, start)

    def end_of(self, closing: str, start: int | None = None) -> int | None:
        closing = closing.lower()
        if not self._ends:
            self._ends[""] = []
            for number, line in enumerate(self.lines):
                text = line.strip().lower()
                if text.startswith(("#+end_", ":end:", "\\end{")):
                    self._ends.setdefault(text.split()[0], []).append(number)
        positions = self._ends.get(closing, [])
        index = bisect.bisect_left(positions, (self.at if start is None else start) + 1)
        return positions[index] if index < len(positions) else None

    def peek_item(self) -> Item | None:
        """The list item that comes next, over as many blanks as a list may have."""
        at = self.at
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        if at == len(self.lines) or at - self.at > BLANKS_IN_LIST_MAX:
            return None
        return read_item(self.lines[at])

    def take_item(self, indent: int) -> Sequence[str]:
        """The lines of an item behind its first; goes to the line after it."""
        start = self.at + 1
        at = start
        end = start
        while at < len(self.lines):
            line = self.lines[at]
            if not line.strip():
                at += 1
                if at - end > BLANKS_IN_LIST_MAX:
                    break
                continue
            if grammar.indent_of(line) <= indent:
                break
            closing = None
            if begin := grammar.BEGIN.match(line):
                # Inside of a block nothing has to be indented.
                closing = self.block_end(begin[1].lower(), at)
            at = end = (at if closing is None else closing) + 1
        self.at = end
        return self.lines[start:end]


def undented(content: Sequence[str]) -> list[str]:
    """Lines without the spaces that all of them begin with; tabs stay."""
    margin = min(
        (len(line) - len(line.lstrip(" ")) for line in content if line.strip()),
        default=0,
    )
    return [line[margin:] if line.strip() else line.strip() for line in content]


def uncommaed(content: Sequence[str]) -> list[str]:
    """Lines without the comma that hides a headline or a keyword from Org."""
    return [COMMA.sub(r"\1\2", line) for line in content]


COMMA = re.compile(r"^(\s*),(\s*(?:\*|#\+))")


def code_ref_id(name: str) -> str:
    """The id of a line of code, as Org's own export has it."""
    return f"coderef-{name}"

"""MediaWiki's common markup as Markdown, for ``wikisync import``.  Pure and linear.

Headings, emphasis, lists, links, files, tables, code, formulas and footnotes are
converted.  What has no counterpart is named with its line: a template stays in the text
as code, so that nobody takes what it showed for lost.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

OPENING = re.compile(
    r"<!--|<(nowiki|pre|syntaxhighlight|source|code|math|ref|gallery)\b([^<>]*)>"
    r"|\{\{|\}\}",
    re.IGNORECASE,
)
KEPT = re.compile(r"\x02(\d+)\x03")
"""Stands for a part of the page that is converted already."""
LINK = re.compile(r"\[\[([^\[\]\n]*)\]\]")
ADDRESS = re.compile(r"\[((?:https?:)?//[^\s\[\]<>]+)[ \t]*([^\[\]\n]*)\]")
HEADING = re.compile(r"(={1,6})([^\n]*?)\1[ \t]*(?:\x02\d+\x03[ \t]*)*")
LIST = re.compile(r"([*#:;]+)[ \t]*(.*)", re.DOTALL)
SWITCH = re.compile(r"__([A-Z]+)__")
LANGUAGE = re.compile(r"""lang\s*=\s*["']?([\w+#-]+)""")
NAME = re.compile(r"""name\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s/"'>]+))""")
MERGED = re.compile(r"\b(?:col|row)span\b", re.IGNORECASE)
NESTED_MAX = 4
"""Links in the captions of files, one in the other."""
QUOTES = (("'''''", "***"), ("'''", "**"), ("''", "*"))

Link = Callable[[str, str, int], str]
"""Markdown for a link or file: its target, what is behind the first bar, its line."""


class Converted(Struct):
    """A page in Markdown."""

    text: str = ""
    categories: list[str] = field(default_factory=list)
    lost: list[tuple[int, str]] = field(default_factory=list)
    """Line of the source and what is not carried over."""


def convert(source: str, link: Link) -> Converted:
    """A page of MediaWiki as Markdown; ``link`` writes ``[[target|rest]]``."""
    page = _Page(link)
    lines = page.take_out(source).split("\n")
    blocks = "\n".join(page.blocks(lines))
    text = page.put_back(blocks)
    notes = [f"[^{key}]: {' '.join(said.split())}" for key, said in page.notes.items()]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join([text.strip(), "", *notes])).strip()
    page.converted.text = f"{text}\n" if text else ""
    return page.converted


class _Page:
    def __init__(self, link: Link) -> None:
        self.converted = Converted()
        self.notes: dict[str, str] = {}
        self._link = link
        self._kept: list[tuple[str, int]] = []
        """Markdown that is put back at the end, with its line ends in the source."""
        self._line = 1

    def lose(self, line: int, what: str) -> None:
        self.converted.lost.append((line, what))

    # -- what is no running text ------------------------------------------------

    def keep(self, markdown: str, lines: int = 0) -> str:
        """What stands for a converted part of the page."""
        self._kept.append((markdown, lines))
        return f"\x02{len(self._kept) - 1}\x03"

    def put_back(self, text: str) -> str:
        """The text with its converted parts; each stands in it once."""
        for _ in range(NESTED_MAX * 2):
            text, count = KEPT.subn(lambda one: self._kept[int(one[1])][0], text)
            if not count:
                break
        return text

    def take_out(self, source: str) -> str:
        """The text with code, comments, notes and templates taken out of it."""
        source = re.sub("[\x00\x02\x03]", "", source)
        lower = source.lower()
        parts: list[str] = []
        open_at: list[tuple[int, int]] = []
        unclosed: set[str] = set()
        at = line = 0
        while found := OPENING.search(source, at):
            parts.append(source[at : found.start()])
            line += source.count("\n", at, found.start())
            at = found.end()
            sign, tag = found[0], (found[1] or "").lower()
            if sign == "{{":
                open_at.append((len(parts), line))
                parts.append(sign)
            elif sign == "}}":
                parts.append(sign)
                if open_at:
                    first, begun = open_at.pop()
                    inner = "".join(parts[first:])
                    del parts[first:]
                    parts.append(self._template(inner, begun, is_inner=bool(open_at)))
            else:
                closing = "-->" if sign == "<!--" else f"</{tag}"
                is_empty = (found[2] or "").rstrip().endswith("/")
                end = -1
                if not is_empty and closing not in unclosed:
                    end = lower.find(closing, at)
                if end < 0 and not is_empty:
                    unclosed.add(closing)
                    parts.append("" if sign == "<!--" else sign)
                    continue
                body = "" if is_empty else source[at:end]
                count = body.count("\n")
                converted = self._tag(tag, found[2] or "", body, line + 1)
                parts.append(self.keep(converted, count))
                line += count
                if not is_empty:
                    at = source.find(">", end) + 1 or len(source)
        parts.append(source[at:])
        return "".join(parts)

    def _template(self, text: str, line: int, *, is_inner: bool) -> str:
        if is_inner:
            return text
        text = self.put_back(text)
        name = text[2:-2].partition("|")[0].strip().split("\n")[0]
        self.lose(line + 1, f"template {name[:80]}")
        return self.keep(_code(" ".join(text.split())), text.count("\n"))

    def _tag(self, tag: str, attributes: str, body: str, line: int) -> str:
        match tag:
            case "":  # a comment
                return ""
            case "nowiki":
                return re.sub(r"([*_`\[\]<>#|\\])", r"\\\1", body)
            case "pre" | "syntaxhighlight" | "source":
                language = LANGUAGE.search(attributes)
                is_inline = "\n" not in body and "inline" in attributes
                block = _code(body.strip()) if is_inline else None
                named = language[1] if language else ""
                return block or _fenced(body, named)
            case "code":
                return _code(body)
            case "math":
                return f"$`{' '.join(body.split())}`$"
            case "ref":
                return self._note(attributes, body, line)
        return self._gallery(body, line)

    def _note(self, attributes: str, body: str, line: int) -> str:
        named = NAME.search(attributes)
        given = next(filter(None, named.groups()), "") if named else ""
        key = re.sub(r"\W+", "-", given) or str(len(self.notes) + 1)
        if body.strip():
            self.notes[key] = self.put_back(self.inline(body, line))
        return f"[^{key}]"

    def _gallery(self, body: str, line: int) -> str:
        shown = []
        for row in filter(None, map(str.strip, body.split("\n"))):
            name, _, caption = row.partition("|")
            name = name if ":" in name else f"File:{name}"
            shown.append(self._link(name.strip(), caption, line))
        return "\n\n" + "\n\n".join(shown) + "\n\n"

    # -- lines ---------------------------------------------------------------------

    def blocks(self, lines: Sequence[str]) -> Iterator[str]:
        """The lines in Markdown, an empty one around each block."""
        rest = iter(lines)
        kind = ""
        for line in rest:
            was, kind = kind, self._kind(line)
            if kind != was:
                yield ""
            number = self._line
            self._count(line)
            match kind:
                case "table":
                    rows = [line]
                    depth = 1
                    while depth and (row := next(rest, None)) is not None:
                        self._count(row)
                        depth += row.lstrip().startswith("{|")
                        depth -= row.lstrip().startswith("|}")
                        rows.append(row)
                    yield from self._table(rows, number)
                case "heading":
                    found = HEADING.fullmatch(line.strip())
                    assert found is not None
                    title = self.inline(found[2].strip(), number)
                    yield f"{'#' * len(found[1])} {title}\n"
                case "list" | "quote":
                    yield self._item(line, number)
                case "rule":
                    yield "---\n"
                case "code":
                    yield f"    {self.put_back(line[1:])}"
                case _:
                    yield self.inline(line, number)

    def _count(self, line: str) -> None:
        kept = (self._kept[int(one)][1] for one in KEPT.findall(line))
        self._line += 1 + sum(kept)

    @staticmethod
    def _kind(line: str) -> str:
        if line.lstrip().startswith("{|"):
            return "table"
        if line.startswith("=") and HEADING.fullmatch(line.strip()):
            return "heading"
        if line[:1] in {"*", "#"}:
            return "list"
        if line[:1] in {":", ";"}:
            return "quote"
        if line.startswith("----"):
            return "rule"
        if line.startswith(" ") and line.strip() and not KEPT.match(line.strip()):
            return "code"
        return "text" if line.strip() else ""

    def _item(self, line: str, number: int) -> str:
        found = LIST.fullmatch(line)
        assert found is not None
        signs, text = found[1], self.inline(found[2], number)
        if signs == ";":
            term, _, meaning = text.partition(" : ")
            return f"\n**{term}**\n\n" + (f"> {meaning}\n" if meaning else "")
        if not signs.strip(":"):
            return f"{'> ' * len(signs)}{text}\n"
        indent = "".join("   " if one == "#" else "  " for one in signs[:-1])
        mark = {"#": "1. ", "*": "- "}.get(signs[-1], "  ")
        return f"{indent}{mark}{text}"

    # -- in a line -----------------------------------------------------------------

    def inline(self, text: str, number: int) -> str:
        """Links, emphasis and switches of a line."""

        def linked(found: re.Match[str]) -> str:
            target, _, rest = found[1].partition("|")
            target = target.replace(r"\*", "*").replace(r"\`", "`")
            kind, colon, name = target.partition(":")
            if colon and kind.strip().lower() in {"category", "kategorie"}:
                self.converted.categories.append(name.strip().replace("_", " "))
                return ""
            return self.keep(self._link(target.strip(), rest, number))

        def switched(found: re.Match[str]) -> str:
            # a table of contents is one where it stands alone
            is_toc = found[1] in {"TOC", "FORCETOC"}
            return f"\n\n{self.keep('[[_TOC_]]')}\n\n" if is_toc else ""

        def addressed(found: re.Match[str]) -> str:
            shown = found[2].strip() or found[1]
            return self.keep(f"[{shown}]({found[1]})")

        text = text.replace("*", r"\*").replace("`", r"\`")
        for wiki, markdown in QUOTES:
            if text.count(wiki) % 2 and wiki != "''":
                self.lose(number, "emphasis that is not closed in its line")
            text = text.replace(wiki, markdown)
        for _ in range(NESTED_MAX):
            text, count = LINK.subn(linked, text)
            if not count:
                break
        text = SWITCH.sub(switched, ADDRESS.sub(addressed, text))
        return text.replace("<references />", "").replace("<references/>", "")

    # -- tables --------------------------------------------------------------------

    def _table(self, lines: Sequence[str], number: int) -> Iterator[str]:
        rows: list[list[str]] = [[]]
        is_head = False
        caption = ""
        if any(line.lstrip().startswith("{|") for line in lines[1:]):
            self.lose(number, "table in a table: it is part of the outer one")
        if any(MERGED.search(line) for line in lines):
            self.lose(number, "merged cells of a table: each is a cell of its own")
        for line in lines[1:]:
            text = line.strip()
            if text.startswith(("|}", "{|")) or not text:
                continue
            if text.startswith("|-"):
                rows.append([])
            elif text.startswith("|+"):
                caption = self.inline(text[2:].strip(), number)
            elif text[0] in "|!":
                is_head = is_head or (text[0] == "!" and len(rows) <= 2)
                shown = self.inline(text[1:], number)
                signs = r"\|\||!!" if text[0] == "!" else r"\|\|"
                rows[-1] += [
                    cell.rpartition("|")[2].strip() for cell in re.split(signs, shown)
                ]
            elif rows[-1]:
                rows[-1][-1] += f"<br>{self.inline(text, number)}"
        cells = [row for row in rows if row]
        if not cells:
            return
        width = max(map(len, cells))
        head = cells.pop(0) if is_head else []
        if caption:
            yield f"**{caption}**\n"
        for row in (head, ["---"] * width, *cells):
            filled = [self.put_back(cell).replace("\n", " ") for cell in row]
            filled = [cell.replace("|", r"\|") for cell in filled]
            yield f"| {' | '.join(filled + [''] * (width - len(row)))} |"


def _code(text: str) -> str:
    """Code in a line, whatever backticks it has."""
    text = " ".join(text.split())
    ticks = "`" * (1 + max((len(one) for one in re.findall("`+", text)), default=0))
    space = " " if len(ticks) > 1 else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def _fenced(text: str, language: str) -> str:
    """A block of code, whatever backticks it has."""
    longest = max((len(one) for one in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = text.strip("\n")
    return f"\n\n{fence}{language}\n{body}\n{fence}\n\n"

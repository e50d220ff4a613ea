"""Markdown as the service's parser reads it, to HTML of the same shape.

The engine is markdown-it-py with our rules (``markup.glfm``), or comrak
(``markup.fast``) where the extra is installed; both give the same shape.  Steps
that the service takes around its parser are taken here, around both.  Raw HTML
stays and links are not judged: ``markup.sanitize`` does both for all formats.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import NamedTuple

import mdurl

from wikisync.errors import RenderError
from wikisync.markup import fast
from wikisync.markup.context import Include, ParseContext
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.source import clean_source
from wikisync.markup.tokens import escape

Parse = Callable[[str], str]
"""An engine's own step: a text to HTML."""


def to_html(source: str, context: ParseContext) -> str:
    """HTML of a markdown text, not yet safe."""
    text = include_files(source, context.include)
    parse = parser_for(text, context.engine)
    return link_spaced(draw_json_tables(parse(text), parse))


def parser_for(source: str, engine: MarkdownEngine) -> Parse:
    """The engine's own step from text to HTML."""
    wants_fast = engine == "comrak" or (engine == "auto" and fast.is_installed())
    if wants_fast and not fast.is_installed():
        raise RenderError(
            "its engine is not installed: install wikisync with its extra fast"
        )
    if wants_fast and not fast.is_costly(source):
        return fast.parse
    from wikisync.markup.glfm.engine import parse

    return parse


# -- texts of the same wiki ------------------------------------------------------
#
# As in the service: a pass over the source works in code blocks too, what is included
# includes nothing further, and an address of the web is never fetched but a link.


INCLUDES_MAX = 32
INCLUDED_CHARS_MAX = 1024 * 1024
"""All of a page's included texts together."""
DIRECTIVE = re.compile(r"^::include\{file=([^}\n]+)\}[ \t]*$", re.MULTILINE)
ADDRESS = re.compile(r"https?://[^\s<>]+")
MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]()#+.!|<>&~$:@-])")


def include_files(source: str, include: Include) -> str:
    """The source with its first includes replaced by texts, or by why not."""
    if "::include{" not in source:
        return source
    count = size = 0

    def text_for(match: re.Match[str]) -> str:
        nonlocal count, size
        count += 1
        target = match[1].strip().strip("\"'")
        if count > INCLUDES_MAX:
            return problem(target, f"more than {INCLUDES_MAX} includes")
        if ADDRESS.fullmatch(target):
            return f"<{target}>"
        text = include(target)
        if text is None:
            return problem(target, "there is no such text in this wiki")
        size += len(text)
        if size > INCLUDED_CHARS_MAX:
            raise RenderError(f"it includes more than {INCLUDED_CHARS_MAX} characters")
        return text.rstrip("\n")

    return DIRECTIVE.sub(text_for, source)


def problem(target: str, reason: str) -> str:
    """What stands for a text that cannot be included, as bold markdown."""
    shown = MARKDOWN_SIGNS.sub(r"\\\1", target)
    return f"**Cannot include {shown}: {reason}**"


# -- links with spaces, which are none in CommonMark but in a wiki ---------------
#
# A pass over what a parser gives, before it is sanitised, as in the service: it reads
# running text only, and a text that any markup interrupts is no link.


TAG = re.compile(r"(<[^<>]*+>)")
OPENS = re.compile(r"<(?:a|code|pre|tt)[\s>]|<span data-math")
CANDIDATE = re.compile(r"\]\([^\s()<>'\[\]]++ ")
SPACED = re.compile(
    r"(?P<bang>!?)\[(?P<text>[^\[\]\n<>]*+)\]\("
    r"(?P<target>[^\s()<>'\[\]]++(?>(?:[ ]++[^\s()<>\[\]]++)+))[ ]*+\)"
)
QUOTE = "&quot;"


def link_spaced(html: str) -> str:
    """The same HTML with spaced links and pictures as elements."""
    if "]" not in html or "](" not in html or CANDIDATE.search(html) is None:
        return html
    pieces = TAG.split(html)
    # the end tag that is waited for; empty in running text
    awaited = ""
    for position, piece in enumerate(pieces):
        is_tag = position % 2
        if is_tag and awaited:
            awaited = "" if piece == awaited else awaited
        elif is_tag and OPENS.match(piece):
            name = re.split(r"[\s>]", piece[1:], maxsplit=1)[0]
            awaited = f"</{name}>"
        elif not is_tag and not awaited and "](" in piece:
            pieces[position] = SPACED.sub(element, piece)
    return "".join(pieces)


def element(match: re.Match[str]) -> str:
    """A link or picture; as it is where the target is no single address."""
    target, title = match["target"], None
    before, opening, quoted = target.removesuffix(QUOTE).rpartition(QUOTE)
    if opening and target.endswith(QUOTE) and before.endswith(" "):
        target, title = before.rstrip(" "), quoted
    if QUOTE in target or " " not in target:
        return match[0]
    address = escape(mdurl.encode(unescape(target)))
    rest = f' title="{title}"' if title else ""
    if match["bang"]:
        return f'<img src="{address}" alt="{match["text"]}"{rest} />'
    return f'<a href="{address}"{rest}>{match["text"]}</a>'


# -- code of language ``json:table`` or ``json table`` ---------------------------
#
# The table that it describes stands for it, before the sanitiser, as in the service:
# what the cells hold is judged like everything else.  Code that describes none stays.

START = re.compile(r"<pre([^<>]*+)><code>")
LANGUAGE = re.compile(r' lang="json(:table)?"')
PARAMETERS = re.compile(r' data-meta="(?:[^"]*\s)?table[\s"]')
END = "</code></pre>"
CAPTION = "Generated with JSON data"
CELLS_MAX = 100_000
CELL_OPEN, CELL_CLOSE = "\ufdd0", "\ufdd1"
"""Around the number of a cell that is put in later; no text may hold them."""
CELL = re.compile(f"{CELL_OPEN}(\\d+){CELL_CLOSE}")
ONE_PARAGRAPH = re.compile(r"<p>((?:(?!<p>).)*)</p>", re.DOTALL)
ESCAPED_IN_CELL = re.compile(r"(?<!\\)\\*\|")


class Table(NamedTuple):
    """What the code describes."""

    labels: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str
    is_markdown: bool


def draw_json_tables(html: str, parse: Parse) -> str:
    """The same HTML with tables instead of such code."""
    if ' lang="json' not in html:
        return html
    out: list[str] = []
    position = 0
    for match in START.finditer(html):
        end = html.find(END, match.end())
        if match.start() < position or end < 0 or not names_table(match[1]):
            continue
        table = read_table(unescape(html[match.end() : end]))
        if table is not None:
            out += [html[position : match.start()], table_html(table, parse)]
            position = end + len(END)
    return "".join([*out, html[position:]])


def names_table(attributes: str) -> bool:
    """Whether the parameters of JSON, behind a colon or else a space, name a table."""
    language = LANGUAGE.search(attributes)
    return language is not None and bool(language[1] or PARAMETERS.search(attributes))


def read_table(source: str) -> Table | None:
    """The table that a text describes, or None."""
    try:
        value = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return None
    items = [item for item in value["items"] if isinstance(item, dict)]
    fields = fields_of(value.get("fields"), items)
    if not fields or len(fields) * (len(items) + 1) > CELLS_MAX:
        return None
    rows = [[cell_text(item.get(key)) for key, _ in fields] for item in items]
    caption = value.get("caption")
    return Table(
        [cleaned(label) for _, label in fields],
        rows,
        cleaned(caption) if isinstance(caption, str) else CAPTION,
        is_markdown=value.get("markdown") is True,
    )


def fields_of(
    given: object, items: Sequence[Mapping[str, object]]
) -> list[tuple[str, str]]:
    """Key and label of each column; without any those of the first item."""
    if not isinstance(given, list):
        return [(key, key) for key in items[0]] if items else []
    fields = []
    for field in given:
        if isinstance(field, str):
            fields.append((field, field))
        elif isinstance(field, dict) and isinstance(field.get("key"), str):
            fields.append((field["key"], str(field.get("label") or field["key"])))
    return fields


def cell_text(value: object) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cleaned(text)


def cleaned(text: str) -> str:
    """Text of the table: escapes can say what the source itself may not hold."""
    return clean_source(text).replace(CELL_OPEN, "").replace(CELL_CLOSE, "")


def table_html(table: Table, parse: Parse) -> str:
    """The table, not yet safe where its cells are markdown."""
    caption = f"<caption>{escape(table.caption)}</caption>"
    if table.is_markdown:
        return markdown_table(table, parse)
    head = "".join(f"<th>{escape(label)}</th>" for label in table.labels)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>\n"
    )


def markdown_table(table: Table, parse: Parse) -> str:
    """The table where all is markdown; a cell of several paragraphs is parsed alone."""
    blocks: list[str] = []

    def marked(cell: str) -> str:
        if "\n\n" not in cell.strip():
            return cell
        blocks.append(parse(cell))
        return f"{CELL_OPEN}{len(blocks) - 1}{CELL_CLOSE}"

    rows = [[marked(cell) for cell in row] for row in table.rows]
    lines: list[str] = []
    for row in (table.labels, ["-"] * len(table.labels), *rows):
        shown = (" ".join(ESCAPED_IN_CELL.sub(r"\\|", cell).split()) for cell in row)
        lines.append(f"| {' | '.join(shown)} |\n")
    html = parse("".join(lines))
    html = CELL.sub(lambda match: blocks[int(match[1])], html) if blocks else html
    caption = parse(table.caption).strip()
    inner = ONE_PARAGRAPH.fullmatch(caption)
    caption = inner[1] if inner is not None else caption
    return html.replace("<table>", f"<table><caption>{caption}</caption>", 1)

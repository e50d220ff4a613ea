"""Code of language ``json:table`` or ``json table`` as the table that it describes.

A step between a markdown parser and the sanitiser, as in the service: what the
cells hold is judged like everything else.  Code that describes no table stays.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import NamedTuple

from wikisync.markup.source import clean_source
from wikisync.markup.tokens import escape

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


def draw_json_tables(html: str, parse: Callable[[str], str]) -> str:
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


def table_html(table: Table, parse: Callable[[str], str]) -> str:
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


def markdown_table(table: Table, parse: Callable[[str], str]) -> str:
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

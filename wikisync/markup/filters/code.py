"""Blocks of code: language, colours, title, numbers and marks of lines, diagrams."""

import html as entities
import re
from collections.abc import Iterator

from wikisync.core.model import Format
from wikisync.markup import diagrams
from wikisync.markup.draft import Draft
from wikisync.markup.highlight import CODE_CHARS_MAX, highlight
from wikisync.markup.tokens import Document, escape

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
    svg = draft.include(diagrams.drawing_target(kind, text))
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

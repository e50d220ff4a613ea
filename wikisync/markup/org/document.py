"""Org pages to HTML, as the service shows them.

Its reader is org-ruby, and what people see there is the rule here; where that
drops text or shows what is meant for the editor, Org's own export is followed:
verses and blocks without a known name, widths in tables, counters of lists,
HTML blocks, formulas.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from wikisync.markup.context import Include, ParseContext, include_nothing
from wikisync.markup.links import org_id
from wikisync.markup.org import grammar
from wikisync.markup.org.blocks import CODE_REF, Blocks, code_ref_id
from wikisync.markup.org.grammar import Settings, read_settings
from wikisync.markup.org.inline import TARGET, Inline, anchor, target_id
from wikisync.markup.tokens import escape_marks as escape

INCLUDE = re.compile(
    r"^\s*#\+include:\s*(?:\"([^\"]+)\"|(\S+))\s*(.*?)\s*$", re.IGNORECASE
)
INCLUDE_DEPTH_MAX = 3
INCLUDES_MAX = 32
TAGS = re.compile(r"(?<![ \t])[ \t]+:([\w@]+(?::[\w@]+)*):[ \t]*$", re.ASCII)
"""The service's own: with other letters it is text."""
NOTE = re.compile(r"\[fn:([\w-]+)")
LEVELS_MAX = 6
TASK_LEVEL = 15


def to_html(source: str, context: ParseContext) -> str:
    """HTML of an Org page, not yet safe; linear in the length of ``source``."""
    lines = list(_Includes(context.include).expand(source.split("\n"), "", 0))
    return _Page(read_settings(lines)).html_of(lines)


class Headline(Struct):
    """One headline and the lines under it."""

    level: int
    text: str
    keyword: str
    tags: frozenset[str]
    body: list[str]


class _Page:
    """One page while it is written."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._notes: dict[str, str] = {}
        self._names: set[str] = set()
        """Of all notes of the page, wherever they stand."""
        self._unnamed = 0
        """The last number given to a note without a name."""
        self._inline = Inline(settings, self._note)
        self._blocks = Blocks(self._inline)
        self._numbers: list[int] = []

    def html_of(self, lines: Sequence[str]) -> str:
        html = self._blocks.html
        self._names = {
            name for line in lines if "[fn:" in line for name in NOTE.findall(line)
        }
        preface, headlines = split_headlines(lines, self._settings)
        self._settings.anchors = read_anchors(lines)
        if self._settings.title and self._settings.is_on("title", default=True):
            title = self._inline.html_of(self._settings.title)
            html.append(f'<h1 class="title">{title}</h1>')
        if not self._settings.is_on("skip", default=False):
            self._blocks.write(preface)
        page_id = id_anchor(preface)
        for headline, has_body in exported(headlines, self._settings):
            html.append(self._heading_html(headline))
            if has_body:
                self._blocks.write(headline.body)
        self._blocks.drop_frames()
        self._write_notes()
        if page_id:
            # a heading that begins the page names it, and stays the first
            start = html[0].find(">") + 1 if html and html[0].startswith("<h") else 0
            html[:1] = [f"{html[0][:start]}{page_id}{html[0][start:]}"] if html else []
        return "\n".join(html) + "\n" if html else ""

    def _heading_html(self, headline: Headline) -> str:
        identity = property_of(headline.body, "CUSTOM_ID")
        attribute = f' id="user-content-{escape(identity)}"' if identity else ""
        text = id_anchor(headline.body) + self._inline.html_of(headline.text)
        if headline.level > LEVELS_MAX:
            # No heading for the service; Org's tasks inside of a text are deeper yet.
            is_end = headline.text == "END" and headline.level >= TASK_LEVEL
            return "" if is_end or not text else f"<p{attribute}>{text}</p>"
        pieces = []
        if self._settings.is_on("num", default=False):
            self._numbers = (self._numbers + [0] * headline.level)[: headline.level]
            self._numbers[-1] += 1
            pieces.append(".".join(map(str, self._numbers)))
        if headline.keyword and self._settings.is_on("todo", default=False):
            is_done = headline.keyword in self._settings.done_words
            kind = "done" if is_done else "todo"
            pieces.append(f'<span class="{kind}">{escape(headline.keyword)}</span>')
        pieces.append(text)
        level = f"h{headline.level}"
        return f"<{level}{attribute}>{' '.join(pieces)}</{level}>"

    def _note(self, name: str, definition: str | None) -> str:
        if definition is not None:
            if not name:
                # the next number that no note of the page has for its name
                self._unnamed += 1
                while str(self._unnamed) in self._names:
                    self._unnamed += 1
                name = str(self._unnamed)
            self._notes.setdefault(name, definition)
        shown = escape(name)
        return (
            f'<sup><a id="user-content-fnr.{shown}" class="footref"'
            f' href="#fn.{shown}">{shown}</a></sup>'
        )

    def _write_notes(self) -> None:
        if not self._notes:
            return
        html = self._blocks.html
        html.append('<div id="user-content-footnotes">')
        html.append('<h2 class="footnotes">Footnotes:</h2>')
        for name, definition in self._notes.items():
            shown = escape(name)
            html.append(
                f'<p class="footnote"><sup><a id="user-content-fn.{shown}"'
                f' class="footnum" href="#fnr.{shown}">{shown}</a></sup>'
                f" {definition}</p>"
            )
        html.append("</div>")


def split_headlines(
    lines: Sequence[str], settings: Settings
) -> tuple[list[str], list[Headline]]:
    """The lines before the first headline, and the headlines with theirs."""
    preface: list[str] = []
    headlines: list[Headline] = []
    body = preface
    for line, is_literal in grammar.literal_lines(lines):
        found = None if is_literal or line[:1] != "*" else grammar.HEADLINE.match(line)
        if found is None:
            body.append(line)
        else:
            headlines.append(read_headline(len(found[1]), found[2], settings))
            body = headlines[-1].body
    return preface, headlines


def read_headline(level: int, text: str, settings: Settings) -> Headline:
    """A headline's words: keyword, title and tags."""
    tags: frozenset[str] = frozenset()
    if found := TAGS.search(f" {text}"):
        tags = frozenset(found[1].split(":"))
        text = f" {text}"[: found.start()]
    keyword, _, rest = text.strip().partition(" ")
    if keyword in settings.todo_words:
        return Headline(level, rest.strip(), keyword, tags, [])
    return Headline(level, text.strip(), "", tags, [])


def property_of(body: Sequence[str], name: str) -> str:
    """A property of the headline or page that these lines follow, or nothing."""
    for line in body[:40]:
        stripped = line.strip()
        if stripped.upper().startswith(f":{name}:"):
            return stripped[len(name) + 2 :].strip()
        is_above = stripped[:1] in ("", ":") or stripped.startswith("# ")
        if not (is_above or grammar.PLANNING.match(line)):
            return ""
    return ""


def id_anchor(body: Sequence[str]) -> str:
    """What links to the property ``ID`` of a headline or page lead to."""
    identity = property_of(body, "ID")
    return anchor(org_id(identity)) if identity else ""


def read_anchors(lines: Sequence[str]) -> dict[str, str]:
    """Texts of the page's targets in lower case, names of code in brackets, to ids."""
    found = {
        text.lower(): target_id(text)
        for line in lines
        if "<<" in line
        for text in TARGET.findall(line)
    }
    names = (
        name for line in lines if "(ref:" in line for name in CODE_REF.findall(line)
    )
    return found | {f"({name})".lower(): code_ref_id(name) for name in names}


def exported(
    headlines: Sequence[Headline], settings: Settings
) -> Iterator[tuple[Headline, bool]]:
    """The headlines for readers, and whether their bodies are.

    With select tags only their trees are, and the headlines above them.
    """
    paths: list[list[Headline]] = []
    path: list[Headline] = []
    """A headline behind those around it."""
    for headline in headlines:
        while path and path[-1].level >= headline.level:
            path.pop()
        path.append(headline)
        if not any(is_hidden(one, settings) for one in path):
            paths.append(path[:])
    tags = settings.select_tags
    chosen = [path for path in paths if any(tags & one.tags for one in path)] or paths
    shown = {id(one) for path in chosen for one in path}
    whole = {id(path[-1]) for path in chosen}
    for *_, headline in paths:
        if id(headline) in shown:
            yield headline, id(headline) in whole


def is_hidden(headline: Headline, settings: Settings) -> bool:
    """Whether a headline hides itself and all below it."""
    is_comment = headline.text.partition(" ")[0] == "COMMENT"
    return is_comment or not settings.exclude_tags.isdisjoint(headline.tags)


class _Includes:
    """Replaces directives by the pages that they include."""

    def __init__(self, include: Include) -> None:
        self._include = include
        self._count = 0

    def expand(self, lines: Sequence[str], folder: str, depth: int) -> Iterator[str]:
        """Lines with what they include, those of code blocks untouched."""
        for line, is_literal in grammar.literal_lines(lines):
            found = None if is_literal or "#+" not in line else INCLUDE.match(line)
            if found is None:
                yield line
            else:
                yield from self._included(found, folder, depth)

    def _included(self, found: re.Match[str], folder: str, depth: int) -> Iterator[str]:
        if self._include is include_nothing:
            # A keyword like any other: not shown, yet it parts what is around it.
            yield found[0]
            return
        target = (found[1] or found[2]).partition("::")[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        self._count += 1
        is_allowed = depth < INCLUDE_DEPTH_MAX and self._count <= INCLUDES_MAX
        text = self._include(path) if is_allowed else None
        if text is None:
            yield f"*[ERROR: #+INCLUDE: {target} - not found]*"
            return
        words = found[3].split()
        if words and words[0].lower() in {"src", "example"}:
            yield "#+begin_" + " ".join(words)
            yield from text.split("\n")
            yield f"#+end_{words[0]}"
            return
        inner = text.replace("\r\n", "\n").split("\n")
        yield from self.expand(inner, posixpath.dirname(path), depth + 1)

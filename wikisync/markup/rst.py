"""reStructuredText pages by docutils, in the plain shape of the other formats.

docutils reads the page; its tree is written here, because its own writer gives
sections and classes that the shared filters do not know, and opens files that an
image names.  Nothing in a page reads a file: insertion and raw HTML are off, and
so are the configuration files of the machine.
"""

import io
import re
from collections.abc import Callable, Mapping
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import SystemMessage

from wikisync.core.packaged import packaged_rows
from wikisync.errors import RenderError
from wikisync.markup.context import ID_PREFIX, ParseContext
from wikisync.markup.tokens import escape

SOURCE_CHARACTERS_MAX = 256 << 10
MARKS_IN_PARAGRAPH_MAX = 2000
"""docutils takes the square of it: 2,000 cost a quarter of a second."""
MARKS = re.compile(r"[_|`:*\]]")
TABLE_STARTS = ("|", "+", "=")
HEADING_LEVELS_MAX = 6
REPORT_WARNINGS = 2
REPORT_NOTHING = 5
UNREAD = '<pre data-meta="unread"><code>'
"""Begins the source of a directive that nobody here carries out."""

SETTINGS: Mapping[str, object] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "line_length_limit": SOURCE_CHARACTERS_MAX,
    "report_level": REPORT_WARNINGS,
    "halt_level": REPORT_NOTHING,
    "doctitle_xform": False,  # a lone title stays a heading like any other
    "traceback": True,
}

_ROWS = tuple(packaged_rows(__package__, "rst.txt"))
TAGS: Mapping[str, str] = {
    node: tag for kind, tag, *names in _ROWS if kind == "tag" for node in names
}
"""Nodes that are one element with their children inside."""
DROPPED = frozenset({"comment", "substitution_definition", "raw", "meta", "pending"})
DOCINFO = frozenset(
    [
        *("author", "authors", "organization", "contact", "version", "status"),
        *("date", "revision", "copyright", "address"),
    ]
)
ADMONITIONS: Mapping[str, str] = {
    name: style
    for kind, style, *names in _ROWS
    if kind == "admonition"
    for name in names
}
"""To the five kinds that themes style."""
ENUMERATIONS: Mapping[str, str] = {
    "loweralpha": "a",
    "upperalpha": "A",
    "lowerroman": "i",
    "upperroman": "I",
}


def to_html(source: str, _context: ParseContext) -> str:
    """HTML of a reStructuredText page, not yet safe."""
    if len(source) > SOURCE_CHARACTERS_MAX:
        raise RenderError(
            f"the page is over {SOURCE_CHARACTERS_MAX} characters",
            hint="split the page",
        )
    if most_marks(source) > MARKS_IN_PARAGRAPH_MAX:
        raise RenderError(
            f"a paragraph of the page holds over {MARKS_IN_PARAGRAPH_MAX} marks",
            hint="split the paragraph",
        )
    settings = {**SETTINGS, "warning_stream": io.StringIO()}
    try:
        document = publish_doctree(source, settings_overrides=settings)
        return _Writer().html_of(document)
    except RecursionError as error:
        raise RenderError("the page nests too deeply") from error
    except SystemMessage as error:
        raise RenderError(f"docutils cannot read the page: {error}") from error


def most_marks(source: str) -> int:
    """Signs that may start a mark in the paragraph that has most of them."""
    most = current = 0
    for line in source.splitlines():
        text = line.strip()
        if not text or text.startswith(TABLE_STARTS):
            current = 0
        current += len(MARKS.findall(text))
        most = max(most, current)
    return most


class _Writer:
    """Writes one tree."""

    def __init__(self) -> None:
        self._level = 0
        self._writers: Mapping[str, Callable[[Any], str]] = {
            "section": self._section,
            "title": self._title,
            "rubric": lambda node: f"<p><strong>{self._inside(node)}</strong></p>\n",
            "enumerated_list": self._enumerated_list,
            "classifier": lambda node: f" : <em>{self._inside(node)}</em>",
            "literal_block": self._literal_block,
            "doctest_block": lambda node: _code(node.astext(), "pycon"),
            "math": lambda node: (
                f'<code data-math-style="inline">{escape(node.astext())}</code>'
            ),
            "math_block": lambda node: (
                '<pre data-math-style="display">'
                f"<code>{escape(node.astext())}</code></pre>\n"
            ),
            "line_block": lambda node: f"<p>{'<br>'.join(self._verses(node, 0))}</p>\n",
            "transition": lambda _: "<hr>\n",
            "entry": self._entry,
            "list_item": lambda node: f"<li>{self._tight(node)}</li>\n",
            "image": _image,
            "sidebar": lambda node: (
                f'<div class="sidebarblock">{self._inside(node)}</div>\n'
            ),
            "reference": self._reference,
            "target": self._target,
            "footnote_reference": self._note_reference,
            "citation_reference": self._note_reference,
            "footnote": self._note,
            "citation": self._note,
            "label": lambda _: "",
            "system_message": _unread_directive,
            "option": self._option,
            "option_argument": lambda node: f" <var>{self._inside(node)}</var>",
        }

    def html_of(self, node: nodes.Node) -> str:
        """HTML of a node and all below it."""
        name = type(node).__name__
        if not isinstance(node, nodes.Element):
            return escape(node.astext())
        if name in DROPPED:
            return ""
        if (write := self._writers.get(name)) is not None:
            return write(node)
        if name in ADMONITIONS:
            title = f'<p class="title">{name.capitalize()}</p>\n'
            title = "" if name == "admonition" else title
            opening = f'<div class="admonitionblock {ADMONITIONS[name]}">'
            return f"{opening}{title}{self._inside(node)}</div>\n"
        if name in DOCINFO:
            body = self._inside(node)
            return f"<dt>{name.capitalize()}</dt>\n<dd>{body}</dd>\n"
        tag = TAGS.get(name)
        if tag is None:
            return self._inside(node)
        end = "" if isinstance(node, nodes.Inline) else "\n"
        return f"<{tag}{_ids(node)}>{self._inside(node)}</{tag}>{end}"

    def _inside(self, node: nodes.Node) -> str:
        return "".join(self.html_of(child) for child in node.children)

    def _section(self, node: nodes.section) -> str:
        self._level += 1
        html = self._inside(node)
        self._level -= 1
        return html

    def _title(self, node: nodes.title) -> str:
        parent = node.parent
        content = self._inside(node)
        if isinstance(parent, nodes.table):
            return f"<caption>{content}</caption>\n"
        if not isinstance(parent, nodes.section):
            return f'<p class="title">{content}</p>\n'
        level = min(self._level, HEADING_LEVELS_MAX)
        # links may mean its further ids as well
        further = [
            f'<a id="{ID_PREFIX}{escape(one)}"></a>' for one in parent["ids"][1:]
        ]
        return f"<h{level}{_ids(parent)}>{''.join(further)}{content}</h{level}>\n"

    def _enumerated_list(self, node: nodes.enumerated_list) -> str:
        kind = ENUMERATIONS.get(node.get("enumtype", ""))
        start = int(node.get("start", 1))
        attributes = f' type="{kind}"' if kind else ""
        attributes += f' start="{start}"' if start != 1 else ""
        return f"<ol{attributes}>\n{self._inside(node)}</ol>\n"

    def _literal_block(self, node: nodes.literal_block) -> str:
        languages = [name for name in node["classes"] if name != "code"]
        if "code" in node["classes"]:
            return _code(node.astext(), languages[0] if languages else "")
        return f"<pre><code>{self._inside(node)}\n</code></pre>\n"

    def _verses(self, node: nodes.line_block, depth: int) -> list[str]:
        verses: list[str] = []
        for child in node.children:
            if isinstance(child, nodes.line_block):
                verses += self._verses(child, depth + 1)
            else:
                verses.append("\u00a0\u00a0" * depth + self._inside(child))
        return verses

    def _entry(self, node: nodes.entry) -> str:
        tag = "th" if isinstance(node.parent.parent, nodes.thead) else "td"
        spans = ""
        if columns := int(node.get("morecols", 0)):
            spans += f' colspan="{columns + 1}"'
        if rows := int(node.get("morerows", 0)):
            spans += f' rowspan="{rows + 1}"'
        return f"<{tag}{spans}>{self._tight(node)}</{tag}>"

    def _tight(self, node: nodes.Element) -> str:
        """What is inside of a node, without the frame of a lone paragraph."""
        only = node.children[0] if len(node.children) == 1 else None
        return self._inside(only if isinstance(only, nodes.paragraph) else node)

    def _reference(self, node: nodes.reference) -> str:
        if "refuri" in node:
            href = node["refuri"]
        elif "refid" in node:
            href = "#" + node["refid"]
        else:
            return self._inside(node)
        return f'<a href="{escape(href)}">{self._inside(node)}</a>'

    def _target(self, node: nodes.target) -> str:
        if "refuri" in node or "refid" in node or "refname" in node:
            return self._inside(node)
        return f"<a{_ids(node)}>{self._inside(node)}</a>"

    def _note_reference(self, node: nodes.Element) -> str:
        href = f' href="#{escape(node["refid"])}"' if "refid" in node else ""
        return f"<sup><a{_ids(node)}{href}>{self._inside(node)}</a></sup>"

    def _note(self, node: nodes.Element) -> str:
        label = escape(node.children[0].astext())
        back = node.get("backrefs") or [""]
        href = f' href="#{escape(back[0])}"' if back[0] else ""
        content = self._inside(node)
        return (
            f'<div class="footnote"{_ids(node)}><sup><a{href}>{label}</a></sup>'
            f" {content}</div>\n"
        )

    def _option(self, node: nodes.option) -> str:
        before = ", " if node.parent.index(node) else ""
        return before + self._inside(node)


def _ids(node: nodes.Element) -> str:
    """The id attribute of a node, with a leading space; empty without one."""
    identities = node.get("ids") or []
    return f' id="{ID_PREFIX}{escape(identities[0])}"' if identities else ""


def _code(text: str, language: str) -> str:
    attribute = f' data-canonical-lang="{escape(language)}"' if language else ""
    return f"<pre{attribute}><code>{escape(text)}\n</code></pre>\n"


def _unread_directive(node: nodes.system_message) -> str:
    """The source of a directive that docutils does not know, or may not carry out."""
    if "directive" not in node.children[0].astext():
        return ""
    return "".join(
        f"{UNREAD}{escape(one.astext())}\n</code></pre>\n"
        for one in node.children
        if isinstance(one, nodes.literal_block)
    )


def _image(node: nodes.image) -> str:
    """A picture by its URL; whatever the page says, no file is opened."""
    uri = node["uri"]
    sizes = "".join(
        f' {name}="{escape(str(node[name]))}"'
        for name in ("width", "height")
        if name in node
    )
    html = f'<img src="{escape(uri)}" alt="{escape(node.get("alt", uri))}"{sizes}>'
    in_text = isinstance(node.parent, nodes.TextElement | nodes.figure)
    return html if in_text else f"<p>{html}</p>\n"

"""Markdown as the service's parser reads it, to HTML of the same shape.

The engine is markdown-it-py with our rules (``markup.glfm``), or comrak
(``markup.fast``) where the extra is installed; both give the same shape.  Steps
that the service takes around its parser are taken here, around both.  Raw HTML
stays and links are not judged: ``markup.sanitize`` does both for all formats.
"""

import functools
import re
from collections.abc import Callable
from html import unescape

import mdurl

from wikisync.errors import RenderError
from wikisync.markup import fast
from wikisync.markup.context import Include, ParseContext
from wikisync.markup.json_tables import draw_json_tables
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.tokens import escape

Parse = Callable[..., str]
"""An engine's own step: a text and ``has_signs`` to HTML."""


def to_html(source: str, context: ParseContext) -> str:
    """HTML of a markdown text, not yet safe."""
    text = include_files(source, context.include)
    parse = functools.partial(
        parser_for(text, context.engine), has_signs=context.has_filters
    )
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
    r"(?P<target>[^\s()<>'\[\]]++(?:[ ]++[^\s()<>\[\]]++)++)[ ]*+\)"
)
QUOTE = "&quot;"


def link_spaced(html: str) -> str:
    """The same HTML with spaced links and pictures as elements."""
    if "](" not in html or CANDIDATE.search(html) is None:
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

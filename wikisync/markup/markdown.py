"""Markdown as the service's parser reads it, to HTML of the same shape.

The engine is markdown-it-py with our rules (``markup.glfm``), or comrak
(``markup.fast``) where the extra is installed; both give the same shape.  Steps
that the service takes around its parser are taken here, around both.  Raw HTML
stays and links are not judged: ``markup.sanitize`` does both for all formats.
"""

import functools
from collections.abc import Callable

from wikisync.errors import RenderError
from wikisync.markup import fast
from wikisync.markup.context import ParseContext
from wikisync.markup.glfm.include import include_files
from wikisync.markup.json_tables import draw_json_tables
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.spaced_links import link_spaced

Parse = Callable[..., str]
"""An engine's own step: a text and ``has_signs`` to HTML."""


def to_html(source: str, context: ParseContext) -> str:
    """HTML of a markdown text, not yet safe.

    Raises:
        RenderError: what the text includes is too large, or the engine that the
            options name is not installed.
    """
    text = include_files(source, context.include)
    parse = functools.partial(
        parser_for(text, context.engine), has_signs=context.has_filters
    )
    return link_spaced(draw_json_tables(parse(text), parse))


def parser_for(source: str, engine: MarkdownEngine) -> Parse:
    """The engine's own step from text to HTML."""
    wants_fast = engine == "comrak" or (engine == "auto" and has_fast())
    if wants_fast and not has_fast():
        raise RenderError(
            "its engine is not installed: install wikisync with its extra fast"
        )
    if wants_fast and not fast.is_costly(source):
        return fast.parse
    from wikisync.markup.glfm.engine import parse

    return parse


@functools.cache
def has_fast() -> bool:
    """Whether the extra ``fast`` is installed; asked once."""
    return fast.is_installed()

"""Markdown as the service's parser reads it, to HTML of the same shape.

The engine is markdown-it-py with the CommonMark preset; whatever the service's
dialect adds is one small rule file each in ``markup.glfm``.  Raw HTML stays and
links are not judged here: ``markup.sanitize`` does both for all formats.
"""

from __future__ import annotations

import functools

from markdown_it import MarkdownIt

from wikisync.markup.context import PageContext
from wikisync.markup.glfm import RULES
from wikisync.markup.glfm.renderer import GlfmRenderer

NESTING_MAX = 100
"""Blocks in blocks; deeper ones are dropped by the engine."""


def to_html(source: str, context: PageContext) -> str:  # noqa: ARG001 - the contract
    """HTML of a markdown text, not yet safe; never fails for any text."""
    html: str = engine().render(source, {})
    return html


@functools.cache
def engine() -> MarkdownIt:
    """The configured engine: making one costs as much as a small page."""
    markdown = MarkdownIt(
        "commonmark",
        {"maxNesting": NESTING_MAX, "html": True, "xhtmlOut": True},
        renderer_cls=GlfmRenderer,
    )
    # a link that must not be followed loses its address later, not its form
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    for rule in RULES:
        markdown.use(rule)
    return markdown

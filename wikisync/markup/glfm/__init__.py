"""The service's markdown dialect, one rule a file, as plug-ins of markdown-it."""

from __future__ import annotations

from collections.abc import Callable

from markdown_it import MarkdownIt

from wikisync.markup.glfm.alert import alert_rule
from wikisync.markup.glfm.autolink import autolink_rule
from wikisync.markup.glfm.blockquote import blockquote_rule
from wikisync.markup.glfm.code import code_rule
from wikisync.markup.glfm.continuation import continuation_rule
from wikisync.markup.glfm.description import description_rule
from wikisync.markup.glfm.escape import escape_rule
from wikisync.markup.glfm.fence import fence_rule
from wikisync.markup.glfm.footnote import footnote_rule
from wikisync.markup.glfm.html import html_rule
from wikisync.markup.glfm.lines import lines_rule
from wikisync.markup.glfm.list import list_rule
from wikisync.markup.glfm.math import math_rule
from wikisync.markup.glfm.quote import quote_rule
from wikisync.markup.glfm.reference import reference_rule
from wikisync.markup.glfm.spaces import spaces_rule
from wikisync.markup.glfm.strike import strike_rule
from wikisync.markup.glfm.table import table_rule
from wikisync.markup.glfm.tasks import tasks_rule
from wikisync.markup.glfm.wikilink import wikilink_rule

RULES: tuple[Callable[[MarkdownIt], None], ...] = (
    spaces_rule,
    list_rule,
    blockquote_rule,
    fence_rule,
    table_rule,
    continuation_rule,
    code_rule,
    strike_rule,
    escape_rule,
    math_rule,
    alert_rule,
    quote_rule,
    html_rule,
    reference_rule,
    description_rule,
    footnote_rule,
    tasks_rule,
    wikilink_rule,
    autolink_rule,
    lines_rule,
)
"""In this order: a later rule may name an earlier one to stand before it."""

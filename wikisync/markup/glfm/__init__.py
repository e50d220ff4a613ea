"""The service's markdown dialect, one rule a file, as plug-ins of markdown-it."""

from __future__ import annotations

from collections.abc import Callable

from markdown_it import MarkdownIt

RULES: tuple[Callable[[MarkdownIt], None], ...] = ()
"""In this order: later rules may place themselves before earlier ones."""

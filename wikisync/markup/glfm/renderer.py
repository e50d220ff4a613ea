"""HTML of markdown tokens in the shape of the service's own parser."""

from __future__ import annotations

from markdown_it.renderer import RendererHTML


class GlfmRenderer(RendererHTML):
    """markdown-it's renderer where the service's HTML differs."""

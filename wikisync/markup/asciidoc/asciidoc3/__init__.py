"""asciidoc3, the last resort for AsciiDoc pages.

``kind`` is all that the rest knows of it, ``worker`` is the process that holds it.
"""

from wikisync.markup.asciidoc.asciidoc3.kind import KIND

__all__ = ["KIND"]

"""asciidoc3, the last resort for AsciiDoc pages: ``worker`` is what holds it."""

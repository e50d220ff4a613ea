"""Org by a parser of our own, straight to HTML.

``settings`` reads what the page says about itself, ``document`` headlines and
includes, ``blocks`` and ``tables`` the blocks with the line grammar of ``lines``,
``inline`` and ``links`` what stands in a text.
"""

from wikisync.markup.org.document import to_html

__all__ = ["to_html"]

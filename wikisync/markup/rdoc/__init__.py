"""RDoc by a parser of our own.

``blocks`` reads lines and makes the tree, ``inline`` the marks in a text, ``links`` the
links.
"""

from wikisync.markup.rdoc.blocks import to_html

__all__ = ["to_html"]

"""RDoc by a parser of our own.

``tokens`` reads lines, ``blocks`` makes the tree, ``inline`` the marks in a text,
``links`` the links and ``typography`` the quotes and dashes.
"""

from wikisync.markup.rdoc.blocks import to_html

__all__ = ["to_html"]

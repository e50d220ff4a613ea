"""RDoc by a parser of our own.

``blocks`` reads lines and makes the tree, ``inline`` the marks in a text, ``links`` the
links.
"""

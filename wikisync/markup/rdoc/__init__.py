"""RDoc by a parser of our own.

``blocks`` reads lines and makes the tree, ``inline`` the marks and links in a text.
"""

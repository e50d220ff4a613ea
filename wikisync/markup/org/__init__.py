"""Org by a parser of our own, straight to HTML.

``document`` reads headlines and includes, ``blocks`` the blocks with the line grammar
of ``grammar``, ``inline`` what stands in a text.
"""

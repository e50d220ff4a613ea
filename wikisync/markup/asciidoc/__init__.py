"""AsciiDoc by Asciidoctor itself, in a worker process with limits.

``document`` is the format and its choice of engines, ``engine`` the parent's half of a
worker, with what a page may include, ``worker`` the child's half, ``convert.js`` what
runs inside of it, and ``asciidoc3`` another engine, whole in its folder.
"""

"""What the bytes of a file tell: a pointer to other content, or a web page.  Pure.

Git LFS, git-annex and the like put such a text into the place of a file whose content
they did not fetch.  A page that is about pointers has more text than that.
"""

import re

POINTER_BYTES_MAX = 1100
"""A larger file is no pointer: one of Git LFS has less than 1,024 bytes, and a symbolic
link in a text exactly 1,067."""
_KEY = r"[A-Z][A-Z0-9_]*(?:-[smSC][0-9]+)*--[^\n/\\]+"
_POINTER = re.compile(
    rf"""(?ax)
    version\ (?:https://(?:git-lfs|hawser)\.github\.com/spec/v\d+|http://git-media\.io/v/2)
        (?:\next-[^\n]*)*\noid\ [a-z0-9]+:[0-9a-f]{{32,128}}\nsize\ \d+(?:\nx-[^\n]*)*
    # git-annex: a file that is unlocked, and a link on a disk that has none
    | /annex/objects/{_KEY}(?:\n/annex/[^\n]*)*
    | (?:\S*|[./\\][^\n]*)[/\\]annex[/\\]objects[/\\](?:[^\n/\\]+[/\\])*{_KEY}
    | \#\$\#\ git-fat\ [0-9a-f]{{40}}\ +\d+
    # a link on a network disk that has none, as macOS and Linux write it
    | XSym\n\d{{4}}\n[0-9a-f]{{32}}\n[^\n]+
    """.encode()
)


def is_pointer(content: bytes) -> bool:
    """Whether the whole content of a file is a pointer."""
    if len(content) > POINTER_BYTES_MAX:
        return False
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", "replace").encode("utf-8", "replace")
    text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").rstrip()
    return _POINTER.fullmatch(text) is not None


BEGINNING_BYTES = 1024
"""As much as ``is_web_page`` looks at."""
_BEFORE = re.compile(rb"\A(?:\s+|<!--.*?-->|<\?xml.*?\?>)+", re.DOTALL)
_BEGINNINGS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<script")


def is_web_page(beginning: bytes) -> bool:
    """Whether a file that begins so is a web page, whatever its name says."""
    start = beginning[:BEGINNING_BYTES].removeprefix(b"\xef\xbb\xbf")
    return _BEFORE.sub(b"", start).lower().startswith(_BEGINNINGS)

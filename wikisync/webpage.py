"""Whether the beginning of a file is a web page's.  Pure."""

from __future__ import annotations

import re

BEGINNING_BYTES = 1024
"""As much as ``is_web_page`` looks at."""
_BEFORE = re.compile(rb"\A(?:\s+|<!--.*?-->|<\?xml.*?\?>)+", re.DOTALL)
_BEGINNINGS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<script")


def is_web_page(beginning: bytes) -> bool:
    """Whether a file that begins so is a web page, whatever its name says."""
    start = beginning[:BEGINNING_BYTES].removeprefix(b"\xef\xbb\xbf")
    return _BEFORE.sub(b"", start).lower().startswith(_BEGINNINGS)

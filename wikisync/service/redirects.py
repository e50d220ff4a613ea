"""The wiki's redirects file: old slug to new slug, as YAML.  Pure.

The real service writes one flat mapping of plain or quoted scalars
(``docs/service.md`` "Edits"), so this reads those and skips what it cannot read;
it writes every scalar in double quotes, which any YAML reader takes.
"""

from __future__ import annotations

import re

import msgspec

from wikisync.decoding import json_decoder

REDIRECTS_PATH = ".gitlab/redirects.yml"

_QUOTED = json_decoder(str)
_QUOTES = r""" "(?:[^"\\]++|\\.)*+" | '(?:[^']++|\'\')*+' """
_KEY = re.compile(
    rf"""(?: (?P<quoted> {_QUOTES} ) \s*+ : | (?P<plain> [^\s"'\#\-&*!|>%@`{{}}\[\],?:]
    (?: [^:\#] | :(?!\s) | (?<!\s)\# )*+ ) : ) \s++""",
    re.VERBOSE,
)


def parse_redirects(source: bytes) -> dict[str, str]:
    """The mapping in a redirects file; lines that are none are left out."""
    found: dict[str, str] = {}
    for line in source.decode("utf-8", "replace").split("\n"):
        match = _KEY.match(line)
        if match is None:
            continue
        key = _scalar(match["quoted"] or match["plain"].rstrip())
        value = _scalar(line[match.end() :].rstrip())
        if key and value:
            found[key] = value
    return found


def render_redirects(redirects: dict[str, str]) -> bytes:
    """The file that holds a mapping."""
    lines = [
        msgspec.json.encode(old) + b": " + msgspec.json.encode(new)
        for old, new in redirects.items()
    ]
    return b"---\n" + b"".join(line + b"\n" for line in lines)


def _scalar(text: str) -> str | None:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'") if text.endswith("'") else None
    if not text.startswith('"'):
        return text
    try:
        return _QUOTED.decode(text.encode())
    except msgspec.DecodeError:
        return None

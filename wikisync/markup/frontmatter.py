"""Front matter: the block of metadata at the head of a page.  Pure.

``---`` (YAML) is metadata in a wiki page; ``+++`` (TOML) and ``;;;`` (JSON) are
shown as code, as the service does, and so is YAML that is no mapping.

The YAML read here is the part that pages use: ``key: value`` with plain, quoted
and block scalars, and lists in both styles.  A value of any other kind (a mapping
in a mapping) is kept as its text, since nothing here needs more and a full reader
is a large door for hostile pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from wikisync.markup.source import clean_source

FRONT_MATTER_CHARS_MAX = 25_000
"""Longer blocks are page text, as in the service."""

FENCES = {"---": "yaml", "+++": "toml", ";;;": "json"}
BLOCK = re.compile(
    r"\A(?:[^\n]*coding:[^\n]*\n)?[ \t\n]*?"
    r"(?P<fence>---|\+\+\+|;;;)[ \t]*(?P<lang>[A-Za-z]*)[ \t]*\n"
    r"(?P<body>.*?)^(?:(?P=fence)|(?P<dots>\.\.\.))[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
KEY = re.compile(
    r"(?P<key>[A-Za-z_][\w .-]*|\"[^\"\n]*\"|'[^'\n]*')\s*:(?:\s+|$)(?P<rest>.*)"
)
COMMENT = re.compile(r"(?:^|\s+)#.*$")
LIST_ITEM = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|[^,]++)")
INTEGER = re.compile(r"[-+]?\d{1,18}")
REAL = re.compile(r"[-+]?\d{1,18}\.\d{1,18}")
WORDS: Mapping[str, object] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}


class FrontMatter(NamedTuple):
    """A page split at its front matter."""

    meta: Mapping[str, object]
    body: str
    shown: str = ""
    """Source of a block that is not metadata and is shown as code."""
    language: str = ""
    """Language of ``shown``."""


def split_front_matter(source: str) -> FrontMatter:
    """Metadata and text of a page; an absent block gives no metadata."""
    if source[:400].lstrip(" \t\n")[:3] not in FENCES and "coding:" not in source[:400]:
        return FrontMatter({}, source)
    match = BLOCK.match(source[: FRONT_MATTER_CHARS_MAX * 2])
    if match is None or len(match["body"]) > FRONT_MATTER_CHARS_MAX:
        return FrontMatter({}, source)
    if match["dots"] and match["fence"] != "---":
        return FrontMatter({}, source)
    body = source[match.end() :]
    language = match["lang"].lower() or FENCES[match["fence"]]
    if match["fence"] == "---" and language == "yaml":
        meta = parse_mapping(match["body"])
        if meta is not None:
            return FrontMatter(meta, body)
    return FrontMatter({}, body, match["body"], language)


def parse_mapping(text: str) -> Mapping[str, object] | None:
    """The keys of a YAML block, or None where it is not a mapping.

    Keys keep their order; of equal keys the last one counts.
    """
    meta: dict[str, object] = {}
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = KEY.fullmatch(line)
        if match is None:
            return None
        below: list[str] = []
        while number < len(lines) and is_continuation(lines[number]):
            below.append(lines[number])
            number += 1
        meta[match["key"].strip("\"'")] = parse_value(match["rest"], below)
    return meta


def is_continuation(line: str) -> bool:
    """Whether a line belongs to the key above: indented, empty, or a list item."""
    return (
        not line.strip()
        or line[0] in " \t"
        or line.startswith(("- ", "-\n"))
        or (line == "-")
    )


def parse_value(rest: str, below: list[str]) -> object:
    """A value from the text behind its colon and the lines below it."""
    while below and not below[-1].strip():
        below.pop()
    if rest[:1] in {"|", ">"}:
        return parse_block(rest, below)
    inline = without_comment(rest)
    if not below:
        return parse_list(inline) if inline.startswith("[") else parse_scalar(inline)
    items = [without_comment(line.strip()) for line in below if line.strip()]
    if not inline and all(item == "-" or item.startswith("- ") for item in items):
        return [parse_scalar(item[1:].strip()) for item in items]
    if inline:
        joined = " ".join([inline, *items])
        return parse_list(joined) if joined.startswith("[") else parse_scalar(joined)
    return "\n".join(below)


def parse_block(rest: str, below: list[str]) -> str:
    """A literal (``|``) or folded (``>``) scalar."""
    width = min(
        (len(line) - len(line.lstrip()) for line in below if line.strip()), default=0
    )
    lines = [line[width:] for line in below]
    text = "\n".join(lines) if rest[0] == "|" else " ".join(" ".join(lines).split())
    return text if "-" in rest[:2] else text + "\n"


def without_comment(text: str) -> str:
    """Text without a comment at its end; a quoted value is left alone."""
    return text.strip() if text[:1] in {'"', "'"} else COMMENT.sub("", text).strip()


def parse_list(text: str) -> object:
    """A list in one line; the text itself where its brackets do not close."""
    if not text.endswith("]"):
        return text
    inner = text[1:-1].strip()
    if not inner:
        return []
    items = LIST_ITEM.findall(inner)
    return [parse_scalar(item.strip()) for item in items if item.strip()]


def parse_scalar(text: str) -> object:
    """A number, a boolean, null, or a string."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            decoded: object = json.loads(text)
        except ValueError:
            return text[1:-1]
        # escapes can say what the source itself may not hold
        return clean_source(decoded) if isinstance(decoded, str) else decoded
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if REAL.fullmatch(text) else text

"""What an author should hear of a page's file while writing it.  Pure.

A page is shown whatever it holds, so nothing here is an error for a build; each
problem names the file and the line as its subject: ``handbook/home.md:3``.
"""

import re

from wikisync.core.model import Problem
from wikisync.markup.frontmatter import find_block
from wikisync.markup.metadata import NotMetadata, parse_mapping

FENCE = "---"
_KEY = re.compile(r"[\w\"'][^:\n]*:(?:\s|$)")
_LOCATED = re.compile(r"(?P<where>[^\n]*?:\d+): (?P<message>.*)", re.DOTALL)


def page_checks(file: str, content: bytes) -> list[Problem]:
    """What is wrong with a page's bytes and with its front matter."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        return [
            Problem(
                "page-not-utf8",
                f"{file}:{line}",
                f"byte {exc.start} is not valid UTF-8; such bytes are shown as \ufffd",
                "save the file as UTF-8",
            )
        ]
    return front_matter_checks(file, text.replace("\r\n", "\n"))


def front_matter_checks(file: str, text: str) -> list[Problem]:
    """What keeps a block that looks like front matter from being one."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return []
    block = find_block(text)
    if block is None:
        # a rule at the top of a page is no front matter that was left open
        is_meant = len(lines) > 1 and _KEY.match(lines[1]) is not None
        return [_not_closed(file)] if is_meant else []
    if block.language != "yaml":
        return []
    try:
        parse_mapping(block.text)
    except NotMetadata as error:
        return [_not_metadata(file, lines, error)]
    return []


def located(code: str, message: str, hint: str | None) -> Problem:
    """An error's ``file:line: message`` as a problem of that line."""
    match = _LOCATED.fullmatch(message)
    if match is None:
        return Problem(code, "", message, hint or "")
    return Problem(code, match["where"], match["message"], hint or "")


def _not_closed(file: str) -> Problem:
    return Problem(
        "front-matter-open",
        f"{file}:1",
        "front matter starts here and has no end line",
        f"add a line {FENCE} after its last key",
    )


def _not_metadata(file: str, lines: list[str], error: NotMetadata) -> Problem:
    # the fence is the line before the first of the block
    line = min(error.line + 1, len(lines) - 1)
    shown = lines[line] if len(lines[line]) <= 60 else lines[line][:59] + "…"
    return Problem(
        "front-matter-wrong",
        f"{file}:{line + 1}",
        f"invalid front matter: {error} in {shown!r}; the block is shown as code",
        "write key: value lines, and put quotes around a value with ': ' in it",
    )

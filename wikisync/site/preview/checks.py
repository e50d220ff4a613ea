"""What an author should hear of a page's file while writing it.  Pure.

A page is shown whatever it holds, so nothing here is an error for a build; each
problem names the file and the line as its subject: ``handbook/home.md:3``.
"""

from __future__ import annotations

import re

from wikisync.markup.frontmatter import BLOCK, KEY, is_continuation, split_front_matter
from wikisync.model import Problem

FENCE = "---"
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
    match = BLOCK.match(text)
    if match is None:
        # a rule at the top of a page is no front matter that was left open
        is_meant = len(lines) > 1 and KEY.fullmatch(lines[1]) is not None
        return [_not_closed(file)] if is_meant else []
    if not split_front_matter(text).shown:
        return []
    wrong = _first_wrong_line(match["body"].split("\n"))
    return [_not_a_mapping(file, wrong + 2, lines[wrong + 1])]


def located(code: str, message: str, hint: str | None) -> Problem:
    """An error's ``file:line: message`` as a problem of that line."""
    match = _LOCATED.fullmatch(message)
    if match is None:
        return Problem(code, "", message, hint or "")
    return Problem(code, match["where"], match["message"], hint or "")


def _first_wrong_line(body: list[str]) -> int:
    """Index of the first line of a block that belongs to no key."""
    has_key = False
    for index, line in enumerate(body):
        is_empty = not line.strip() or line.lstrip().startswith("#")
        if is_empty or (has_key and is_continuation(line)):
            continue
        if KEY.fullmatch(line) is None:
            return index
        has_key = True
    return 0


def _not_closed(file: str) -> Problem:
    return Problem(
        "front-matter-open",
        f"{file}:1",
        "front matter starts here and has no end line",
        f"add a line {FENCE} after its last key",
    )


def _not_a_mapping(file: str, line: int, text: str) -> Problem:
    shown = text if len(text) <= 60 else text[:59] + "…"
    return Problem(
        "front-matter-wrong",
        f"{file}:{line}",
        f"invalid front matter: each line must be key: value, this is {shown!r}; "
        "the block is shown as code",
        "write the line as key: value, or indent it below its key",
    )

"""The redirects of a wiki: where the old names of renamed pages lead.  Pure.

The service keeps them in a file of the wiki, which it writes with every rename: one
flat YAML mapping of plain or quoted scalars.  This reads those and skips what it
cannot read; it writes every scalar in double quotes, which any YAML reader takes.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from wikisync.core.decoding import json_decoder
from wikisync.core.model import Problem, Slug
from wikisync.markup.links import normal_path
from wikisync.markup.urls import scheme_of

REDIRECTS_PATH = ".gitlab/redirects.yml"
REDIRECTS_BYTES_MAX = 512 * 1024
"""What the service writes at most."""
STEPS_MAX = 50
"""From name to name, before one counts as a circle."""
NAME_CHARS_SHOWN = 100

_QUOTED = json_decoder(str)
_QUOTES = r""" "(?:[^"\\]++|\\.)*+" | '(?:[^']++|\'\')*+' """
_KEY = re.compile(
    rf"""(?: (?P<quoted> {_QUOTES} ) \s*+ : | (?P<plain> [^\s"'\#\-&*!|>%@`{{}}\[\],?:]
    (?: [^:\#] | :(?!\s) | (?<!\s)\# )*+ ) : ) \s++""",
    re.VERBOSE,
)
_RUN = frozenset({"javascript", "data", "vbscript", "blob", "file"})


class Redirects(msgspec.Struct, frozen=True):
    """What the redirects of a wiki come to among its pages."""

    pages: Mapping[str, Slug] = {}
    """The page that an old name leads to in the end, by old name, sorted."""
    problems: tuple[Problem, ...] = ()


def settle_redirects(
    given: Mapping[str, str], find: Callable[[str], Slug | None]
) -> Redirects:
    """Follow redirects from name to name until there is a page.

    One whose old name is a page again hides nothing, and one that leads to a page
    that is gone leads nowhere: both are left out.

    Args:
        given: as they are written.
        find: the page of a name, without the redirects.
    """
    pages: dict[str, Slug] = {}
    problems: list[Problem] = []
    for old, new in sorted(given.items()):
        if find(old) is not None:
            continue
        if not (_is_name(old) and (_is_name(new) or find(new))):
            problems.append(_left_out(old, f"{new} or the name itself is no page name"))
            continue
        at, steps = new, 1
        while (found := find(at)) is None and at in given and steps < STEPS_MAX:
            at, steps = given[at], steps + 1
        if found is not None:
            pages[old] = found
        elif at in given:
            problems.append(_left_out(old, f"it leads round in a circle by {at}"))
    return Redirects(pages, tuple(problems))


def _is_name(name: str) -> bool:
    """Whether a page could be called so: no address and no way out of the wiki."""
    is_plain = normal_path(name) == name and "\\" not in name
    return is_plain and scheme_of(name) not in _RUN


def _left_out(old: str, why: str) -> Problem:
    subject = f"{REDIRECTS_PATH}: {old[:NAME_CHARS_SHOWN]}"
    return Problem(
        "redirect-left-out",
        subject,
        f"is no redirect: {why[: 2 * NAME_CHARS_SHOWN]}",
        f"remove the line from {REDIRECTS_PATH}",
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

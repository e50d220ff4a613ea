"""Which attachments a page's source mentions.

Pure, and ignorant of the page's format: it finds every ``uploads/<hash>/<name>``
that stands where a link can start.  A mention inside a code sample is found too;
it costs one request that may fail, while a mention that is missed would be a
broken picture.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from wikisync.model import AttachmentPath

MENTIONS_MAX = 10_000
"""Attachments looked for in one page; a hostile page ends here."""

# The folder is 32 random hexadecimal digits where the service made it
# (service-behaviour 6.1).  "/uploads/..." is another thing, a file of the project
# and not of its wiki, and "x/uploads/..." belongs to some other path.
_MENTION = re.compile(
    r"""
    (?<![\w/.%-]) (?:\.{1,2}/)*
    uploads/ (?P<folder>[0-9a-fA-F]{32}) /
    (?P<name> (?: \\[!-/:-@\[-`{-~]            # a mark escaped in markdown
                | \([^\s()]*\)                 # a balanced pair, as in a_(1).png
                | [^\s()\[\]<>{}"'`|^?\#*\\/] )+ )
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_SENTENCE_END = ".,;:!"


def mentioned_attachments(source: str) -> tuple[AttachmentPath, ...]:
    """Every attachment that the text mentions, once each, in order of mention.

    Names are percent-decoded, as the file route and the folder spell them.
    """
    if "uploads/" not in source:
        return ()
    found: dict[AttachmentPath, None] = {}
    for match in _MENTION.finditer(source):
        name = unquote(_ESCAPE.sub(r"\1", match["name"]).rstrip(_SENTENCE_END))
        if _is_file_name(name):
            found[AttachmentPath(f"uploads/{match['folder']}/{name}")] = None
        if len(found) >= MENTIONS_MAX:
            break
    return tuple(found)


def _is_file_name(name: str) -> bool:
    """Whether a decoded name is one plain component of a path."""
    return (
        bool(name)
        and name not in {".", ".."}
        and name.isprintable()
        and ("/" not in name and "\\" not in name)
    )

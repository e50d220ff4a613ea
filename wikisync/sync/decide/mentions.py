"""Which attachments a page's source mentions.

Pure, and ignorant of the page's format: it finds every ``uploads/<hash>/<name>``
that stands where a link can start.  A mention inside a code sample is found too;
it costs one request that may fail, while a mention that is missed would be a
broken picture.

Where a name ends is not always clear: ``p.png,window=_blank`` is a picture with an
attribute in one format, and may be a file's name in all of them.  Then every
spelling is found, and ``unmet_mentions`` says which of them belong together.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from urllib.parse import unquote

from wikisync.model import AttachmentPath

MENTIONS_MAX = 10_000
"""Attachments found in one page; a hostile page ends here."""
CUTS_MAX = 4
"""Shorter spellings of one name, the shortest of all."""

# The folder is 32 random hexadecimal digits where the service made it
# (Q11).  "/uploads/..." is another thing, a file of the project
# and not of its wiki, and "x/uploads/..." belongs to some other path.
#
# Between quotes, angle brackets and the brackets of an org link, spaces belong to
# the name, if what was opened is closed in the same line.
_MENTION = re.compile(
    r"""
    (?: \[\[ (?:file:)? (?P<org>) | < (?P<angle>) | (?P<quote>["'])
      | (?<![\w/.%-]) )
    (?:\.{1,2}/)*
    uploads/ (?P<folder>[0-9a-fA-F]{32}) /
    (?P<name> (?(org)   (?: \\[!-/:-@\[-`{-~] | [^\n\[\]|?\#\\/<>] )+ (?=[\]?\#])
            | (?(angle) (?: \\[!-/:-@\[-`{-~] | [^\n<>{}`|^?\#*\\/] )+ (?=[>?\#])
            | (?(quote) (?: (?!(?P=quote)) [^\n<>{}`|^?\#*\\/] )+
                        (?=(?P=quote)|[?\#])
            | (?: \\[!-/:-@\[-`{-~]            # a mark escaped in markdown
                | \([^\s()]*\)                 # a balanced pair, as in a_(1).png
                | [^\s()\[\]<>{}`|^?\#*\\/] )+ ))))
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_CUT = re.compile(r"""::|[,'"\s]""")
"""Where a format can go on after a name, and a name can go on, too."""
_EXTENSION = re.compile(r"\.\w{1,8}\Z")
_NAME_END = ".,;:!'\" \t"


def mentioned_attachments(source: str) -> tuple[AttachmentPath, ...]:
    """Every attachment that the text mentions, once each, in order of mention.

    Names are percent-decoded, as the file route and the folder spell them.  A name
    that may end earlier is followed by its shorter spellings.
    """
    if "uploads/" not in source:
        return ()
    found: dict[AttachmentPath, None] = {}
    for match in _MENTION.finditer(source):
        for spelling in (match["name"], *_cuts(match["name"])):
            name = unquote(_ESCAPE.sub(r"\1", spelling.rstrip(_NAME_END)))
            if _is_file_name(name):
                found[AttachmentPath(f"uploads/{match['folder']}/{name}")] = None
        if len(found) >= MENTIONS_MAX:
            break
    return tuple(found)


def unmet_mentions(
    mentions: Sequence[AttachmentPath], there: Container[AttachmentPath]
) -> Sequence[Sequence[AttachmentPath]]:
    """Mentions without their file, each with all its spellings, the likeliest first.

    One file is enough for all spellings of a mention: the service gives every
    upload a folder of its own.

    Args:
        mentions: What ``mentioned_attachments`` found.
        there: Files that are there.
    """
    folders = {_folder_of(path) for path in mentions if path not in there}
    if not folders:
        return ()
    named = {path: None for path in mentions if _folder_of(path) in folders}
    shorter = {
        path: tuple(short for short in _shorter(path) if short in named)
        for path in named
    }
    cut = {short for spellings in shorter.values() for short in spellings}
    return [
        sorted((path, *shorter[path]), key=_likelihood)
        for path in named
        if path not in cut
        if path not in there and not any(short in there for short in shorter[path])
    ]


def _folder_of(path: AttachmentPath) -> str:
    """The folder that all spellings of a mention have."""
    return path.rpartition("/")[0]


def _shorter(path: AttachmentPath) -> Iterator[AttachmentPath]:
    folder, _, name = path.rpartition("/")
    for spelling in _cuts(name):
        yield AttachmentPath(f"{folder}/{spelling.rstrip(_NAME_END)}")


def _cuts(name: str) -> Iterator[str]:
    """The beginnings of a name that may be the whole name, the shortest first."""
    for count, match in enumerate(_CUT.finditer(name, 1)):
        if count >= CUTS_MAX:
            break
        yield name[: match.start()]


def _likelihood(path: AttachmentPath) -> tuple[bool, int]:
    """First the longest that ends as files do, ``a,b.png`` before ``a``."""
    return _EXTENSION.search(path) is None, -len(path)


def _is_file_name(name: str) -> bool:
    """Whether a decoded name is one plain component of a path."""
    return (
        bool(name)
        and name not in {".", ".."}
        and name.isprintable()
        and ("/" not in name and "\\" not in name)
    )

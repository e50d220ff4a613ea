"""Which attachments a page's source mentions.

Pure, and ignorant of the page's format: it finds every ``uploads/<hash>/<name>``
that stands where a link can start.  A mention inside a code sample is found too;
it costs one request that may fail, while a mention that is missed would be a
broken picture.

Where a name ends is not always clear: ``p.png,window=_blank`` is a picture with an
attribute in one format, and may be a file's name in all of them.  Then every
spelling is found, and ``unmet_mentions`` says which of them belong together.

Other files of the wiki's repository may be in any folder, and links to them start at
the page.
So ``linked_ways`` finds everything that may be the way to a file; which of them are
ways to one, the list of the repository's files says.
"""

import itertools
import re
from collections.abc import Container, Iterator, Sequence
from html import unescape
from urllib.parse import unquote

from wikisync.core import model

MENTIONS_MAX = 10_000
"""Attachments found in one page; a hostile page ends here."""
CUTS_MAX = 4
"""Shorter spellings of one name, the shortest of all."""

# The folder is 32 random hexadecimal digits where the service made it
# (Q11).  "/uploads/..." is another thing, a file of the project
# and not of its wiki, and "x/uploads/..." belongs to some other path.
#
# Between quotes, angle brackets and the brackets of an org link, spaces belong to
# the name, if what was opened is closed in the same line; so do those of a
# markdown link's address and of an AsciiDoc picture's.
_MENTION = re.compile(
    r"""
    (?: \[\[ (?:file:)? (?P<org>) | < (?P<angle>) | (?P<quote>["'])
      | (?: \]\([ ]* | image::? ) (?P<spaced>) | (?<![\w/.%-]) )
    (?:\.{1,2}/)*
    uploads/ (?P<folder>[0-9a-fA-F]{32}) /
    (?P<name> (?(org)   (?: \\[!-/:-@\[-`{-~] | [^\n\[\]|?\#\\/<>] )+ (?=[\]?\#])
            | (?(angle) (?: \\[!-/:-@\[-`{-~] | [^\n<>{}`|^?\#*\\/] )+ (?=[>?\#])
            | (?(quote) (?: (?!(?P=quote)) [^\n<>{}`|^?\#*\\/] )+
                        (?=(?P=quote)|[?\#])
            | (?(spaced) [^\s"'()\[\]<>{}`|^?\#*\\/]+
                         (?: [ ]+ [^\s"'()\[\]<>{}`|^?\#*\\/]+ )+ (?=[ ]*["')?\#\[])
            | (?: \\[!-/:-@\[-`{-~]            # a mark escaped in markdown
                | \([^\s()]*\)                 # a balanced pair, as in a_(1).png
                | [^\s()\[\]<>{}`|^?\#*\\/] )+ )))))
    """,
    re.VERBOSE,
)
_UPLOADED = re.compile(r"uploads/[0-9a-fA-F]{32}/")
_ESCAPE = re.compile(r"\\(.)")
_CUT = re.compile(r"""::|[,'"\s]""")
"""Where a format can go on after a name, and a name can go on, too."""
_EXTENSION = re.compile(r"\.\w{1,8}\Z")
_PUNCTUATION = ",;:!'\"\t"
_NAME_END = f". {_PUNCTUATION}"

_PLAIN = r"""[^\s()\[\]<>{}|"`\\]"""
_WORD = re.compile(rf"{_PLAIN}*(?:(?:\\[!-/:-@\[-`{{-~]|\([^\s()]*\)){_PLAIN}*)*")
_ENCLOSED = tuple(
    re.compile(enclosed)
    for enclosed in (
        "<([^<>]+)>",
        '"([^"<>]+)"',
        "'([^'<>]+)'",
        r"(?<=\])\(([^()]+)\)",
        r"[\[{]([^\[\]{}]+)[\]}]",
        r"::?([^\[\]:]+)\[",
    )
)
"""Where spaces may belong to a way."""
_BEFORE_WAY = re.compile(r"[\w-]*:+|[^=]*=")
"""``image::``, ``src=`` and the like."""
_QUERY = re.compile(r"[?#]")
_WAY_END = re.compile(r"::|(?<=\w),|\s[\"'=]")
_MARKS = "!*_~+'\",;: \t"
"""What formats put around a way."""
_NAMED = re.compile(
    r"\.(?<=[^\s/.].)(?=[0-9]*[A-Za-z])(?!md\b)[A-Za-z0-9]{1,10}(?![A-Za-z0-9])"
)
"""An extension, somewhere in a text; most have one of numbers and pages alone."""
_HAS_EXTENSION = re.compile(r"[^/.]\.(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{1,10}\Z")
_HAS_NAME = re.compile(r"[^/.]\Z")
_LINK_START = re.compile(r"\](?=[(:])|\[\[|\}\[|link:|image:|href=|src=")
"""How what ``_LINK`` finds begins: a first letter of few is found ten times as fast."""
_LINK = re.compile(
    r"""
    (?: \]\([ ]* | \]:[ \t]* ) <([^<>\n]+)>
      | (?: \]\([ ]* | \]:[ \t]* | \b(?:link|image):{1,2} | \}\[ )
        ([^\s<>()\[\]{}|"'`]+)
      | \[\[ (?:file:)? ([^\[\]\n]+)
      | \b(?:href|src)= (?: "([^"<>\n]+)" | '([^'<>\n]+)' | ([^\s<>"'`]+) )
    """,
    re.VERBOSE,
)
"""Where a link surely is: it may lead to a file without an extension, as ``LICENSE`` or
``man.1``."""
_CLEAR = re.compile(r"(?:[^\W_]|[/-])(?:[\w/. -]*(?:[^\W_]|[/-]))?")
"""What can be spelt in one way alone."""
_IMAGES_FOLDER = re.compile(r"^:imagesdir:[ \t]+(\S+)", re.MULTILINE)


def mentioned_attachments(source: str) -> tuple[model.AttachmentPath, ...]:
    """Every attachment that the text mentions, once each, in order of mention.

    Names are percent-decoded.  A name that may end earlier is followed by its shorter
    spellings.
    """
    if "uploads/" not in source:
        return ()
    found: dict[model.AttachmentPath, None] = {}
    for match in _MENTION.finditer(source):
        whole = match["name"].rstrip(_PUNCTUATION)
        for spelling in (whole, *_cuts(whole)):
            name = unquote(_ESCAPE.sub(r"\1", spelling))
            is_one_name = "/" not in name and "\\" not in name and name.isprintable()
            if is_one_name and name not in {"", ".", ".."}:
                found[model.AttachmentPath(f"uploads/{match['folder']}/{name}")] = None
        if len(found) >= MENTIONS_MAX:
            break
    return tuple(found)


def linked_ways(source: str) -> tuple[str, ...]:
    """Everything in a text that may be a link's way to a file, decoded, once each."""
    found: dict[str, None] = {}
    end = 0
    while (hit := _NAMED.search(source, end)) is not None:
        start = source.rfind("\n", 0, hit.start()) + 1
        end = source.find("\n", hit.end())
        end = len(source) if end < 0 else end
        line = source[start:end]
        for word in _WORD.findall(line):
            if "." in word and "://" not in word and _NAMED.search(word):
                _add_ways(found, word)
        if " " in line or "(" in line:
            for text in itertools.chain(*(one.findall(line) for one in _ENCLOSED)):
                if (" " in text or "(" in text) and _NAMED.search(text):
                    _add_ways(found, text)
        if len(found) >= MENTIONS_MAX:
            break
    end = 0
    while len(found) < MENTIONS_MAX and (hit := _LINK_START.search(source, end)):
        end = hit.start() + 1
        if link := _LINK.match(source, hit.start()):
            end = link.end()
            _add_ways(found, link[link.lastindex or 0], _HAS_NAME)
    ways = tuple(found)
    for folder in _IMAGES_FOLDER.findall(source)[:CUTS_MAX]:
        found |= {f"{folder.rstrip('/')}/{way}": None for way in ways}
    return tuple(found)


def _add_ways(
    found: dict[str, None], text: str, is_named: re.Pattern[str] = _HAS_EXTENSION
) -> None:
    for way in _spellings(text):
        if is_named.search(way) and model.split_extension(way) is None:
            is_plain = "//" not in way and "\\" not in way and way.isprintable()
            if is_plain and _UPLOADED.search(way) is None:
                found[way] = None


def _spellings(text: str) -> Iterator[str]:
    plain = unescape(_ESCAPE.sub(r"\1", text))
    inner = plain[1:].rpartition(")")[0] if plain.startswith("(") else ""
    for part in (*plain.split("|"), inner):
        if _CLEAR.fullmatch(part):
            yield part
            continue
        before = _BEFORE_WAY.match(part)
        for written in (part, part[before.end() :]) if before else (part,):
            whole = _QUERY.split(written, maxsplit=1)[0]
            for way in (_WAY_END.split(whole, maxsplit=1)[0], whole):
                # a mark in front may be the name's own
                ended = way.rstrip(_NAME_END + _MARKS)
                yield from map(unquote, (ended.lstrip(_MARKS), ended))


def is_upload(path: str) -> bool:
    """Whether a path in the wiki is that of an upload, whose folder is its own."""
    return _UPLOADED.match(path) is not None


def has_extension(way: str) -> bool:
    """Whether a way ends as most files do, and no page."""
    return _HAS_EXTENSION.search(way) is not None and model.split_extension(way) is None


def ways_lead_to(slug: model.Slug, ways: Sequence[str]) -> Iterator[str]:
    """The paths that ways on a page may lead to, from its folder and from the root."""
    folder = slug.rpartition("/")[0]
    for way in map(model.in_form_c, ways):
        for start in {"" if way.startswith("/") else folder, ""}:
            path = model.joined_path(start, way)
            if path:
                yield path


def unmet_mentions(
    mentions: Sequence[model.AttachmentPath], there: Container[model.AttachmentPath]
) -> Sequence[Sequence[model.AttachmentPath]]:
    """Mentions without a file that is there, each with its spellings, likeliest first.

    One file is enough for all spellings of a mention: the service gives every upload a
    folder of its own.
    """
    others = [(path,) for path in mentions if not is_upload(path) and path not in there]
    mentions = [path for path in mentions if is_upload(path)]
    folders = {path.rpartition("/")[0] for path in mentions if path not in there}
    named = {path: None for path in mentions if path.rpartition("/")[0] in folders}
    shorter: dict[model.AttachmentPath, tuple[model.AttachmentPath, ...]] = {}
    for path in named:
        folder, _, name = path.rpartition("/")
        cuts = (model.AttachmentPath(f"{folder}/{cut}") for cut in _cuts(name))
        shorter[path] = tuple(short for short in cuts if short in named)
    cut = {short for spellings in shorter.values() for short in spellings}
    return others + [
        # first the longest that ends as files do, ``a,b.png`` before ``a``
        sorted(
            (path, *shorter[path]),
            key=lambda one: (_EXTENSION.search(one) is None, -len(one)),
        )
        for path in named
        if path not in cut
        if path not in there and not any(short in there for short in shorter[path])
    ]


def _cuts(name: str) -> Iterator[str]:
    """The beginnings of a name that may be the whole name, or its end a sentence's."""
    for count, match in enumerate(_CUT.finditer(name, 1)):
        if count >= CUTS_MAX:
            break
        yield name[: match.start()].rstrip(_NAME_END)
    if name[-1:] in {".", " "}:
        yield name.rstrip(_NAME_END)

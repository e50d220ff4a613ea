"""Running text: emoji, colour chips, inline diffs, placeholders, escaped characters."""

import functools
import html as entities
import re
from collections.abc import Mapping

from wikisync.core.packaged import packaged_rows
from wikisync.markup.placeholders import Filler
from wikisync.markup.tokens import Draft, escape

# The names are the service's own, in ``emoji_names.txt``, and so are the borders: a
# name between letters, digits or other colons is text (``10:100:20``, ``:a::b:``).

NOT_IN = frozenset({"pre", "code", "tt"})
ANYWHERE = re.compile(":[a-z0-9_+-]{1,80}:")
"""What to search for first: texts in one piece have other borders."""
NAME = re.compile(r":(?<![^\W_]:)(?<!::)([a-z0-9_+-]{1,80}):(?![^\W_]|:)")


def filter_emoji(draft: Draft) -> None:
    """Replace known names in running text; unknown ones stay as they are."""
    if not draft.options.emoji:
        return
    document = draft.document
    if ANYWHERE.search(document.all_text()) is None:
        return
    for index in document.texts_outside(NOT_IN):
        text = document.html[index]
        if text.count(":") > 1:
            document.html[index] = NAME.sub(emoji, text)


def emoji(match: re.Match[str]) -> str:
    """The character of a name; read aloud by its name where voices know none."""
    character = emoji_names().get(match[1])
    if character is None:
        return match[0]
    return (
        f'<span class="emoji" title="{match[1].replace("_", " ")}">{character}</span>'
    )


@functools.cache
def emoji_names() -> Mapping[str, str]:
    """Names to characters; ``tools/emoji_names.py`` writes the file."""
    rows = packaged_rows(__package__, "emoji_names.txt")
    return {name: character for character, *names in rows for name in names}


# A backslash in front of one keeps it without a chip.

SHARE = r"(?:\d\d?|100)%"
BYTE = r"(?:\d\d?|1\d\d|2(?:[0-4]\d|5[0-5]))"
ANGLE = r"-?(?:\d+(?:deg)?|\d*\.?\d+rad)"
COLOUR = re.compile(
    r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})"
    rf"|(?:rgba?\((?:(?:{BYTE},\s*){{2}}{BYTE}|(?:{SHARE},\s*){{2}}{SHARE})"
    rf"|hsla?\({ANGLE}(?:,\s*{SHARE}){{2}})(?:,\s*(?:0?\.\d+|0|1(?:\.0+)?|{SHARE}))?\)",
    re.IGNORECASE | re.ASCII,
)
CHARS_MAX = 60


def filter_colours(draft: Draft) -> None:
    """Put a chip behind each colour, by attributes: the page's policy has no styles."""
    document = draft.document
    for index in document.starts.get("code", ()):
        end = document.close[index]
        text = document.html[index + 1].strip()
        if end - index != 2 or len(text) > CHARS_MAX or not document.html[index]:
            continue
        if text[:1] == "\\" and COLOUR.fullmatch(text, 1):
            document.html[index + 1] = text[1:]  # escaped: the colour alone
        elif COLOUR.fullmatch(text):
            document.html[end] = (
                '<svg class="colour-chip" width="12" height="12" aria-hidden="true">'
                f'<rect width="12" height="12" fill="{text}"></rect></svg></code>'
            )


DIFF = re.compile(
    r"\{(?P<sign>[+-])(?P<braced>(?:(?!(?P=sign)\}).){1,500})(?P=sign)\}"
    r"|\[(?P<mark>[+-])(?P<bracketed>(?:(?!(?P=mark)\]).){1,500})(?P=mark)\]"
)
NAMES = {"+": "addition", "-": "deletion"}


def filter_inline_diff(draft: Draft) -> None:
    """Mark both kinds in running text; brackets of one kind must match."""
    document = draft.document
    whole = document.all_text()
    if "}" not in whole and "]" not in whole:
        return
    for index in document.texts_outside(NOT_IN):
        text = document.html[index]
        if "+}" in text or "-}" in text or "+]" in text or "-]" in text:
            document.html[index] = DIFF.sub(marked, text)


def marked(match: re.Match[str]) -> str:
    """One diff; its text is HTML already."""
    name = NAMES[match["sign"] or match["mark"]]
    text = match["braced"] or match["bracketed"]
    return f'<span class="idiff left right {name}">{text}</span>'


# Addresses are filled in before the sanitiser, which must see the address that will
# stand there and refuses hosts with braces; texts when headings have their ids, which
# the service makes from what the page says.

FORMULA = " data-math-style"
ADDRESS = re.compile(
    r"(?P<start><(?:a|img)\s[^<>]*?(?<=\s)(?:href|src)=)(?P<quote>[\"'])"
    r"(?P<url>[^\"'<>]*%[^\"'<>]*)(?P=quote)"
)


def filter_placeholders(draft: Draft) -> None:
    """Fill them into running text, but behind a backslash and in code and formulas."""
    if draft.options.placeholders is None:
        return
    filler = Filler(draft.options.placeholders)
    document = draft.document
    for index in document.texts_outside(NOT_IN):
        text = document.html[index]
        if "%{" in text and not (index and FORMULA in document.html[index - 1]):
            document.html[index] = filler.html(text)


def fill_addresses(html: str, values: Mapping[str, str]) -> str:
    """HTML of a parser with the addresses of links and pictures filled in."""
    filler = Filler(values)

    def filled(match: re.Match[str]) -> str:
        url = filler.url(entities.unescape(match["url"]))
        return f'{match["start"]}"{escape(url)}"'

    return ADDRESS.sub(filled, html)


MARK = "<span data-escaped-char"


def filter_escapes(draft: Draft) -> None:
    """Take the marks away; the characters stay."""
    document = draft.document
    for index in document.starts.get("span", ()):
        if document.html[index].startswith(MARK):
            document.html[index] = ""
            document.html[document.close[index]] = ""

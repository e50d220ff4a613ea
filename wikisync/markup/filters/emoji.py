"""Emoji by name: ``:tada:`` becomes the character, with its name as a title.

The names are the service's own, in ``emoji_names.txt``, and so are the borders: a
name between letters, digits or other colons is text (``10:100:20``, ``:a::b:``).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from wikisync.markup.draft import Draft
from wikisync.packaged import packaged_rows

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

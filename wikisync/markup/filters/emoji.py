"""Emoji by name: ``:tada:`` becomes the character, with its name as a title."""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft
from wikisync.markup.filters.emoji_rules import emoji_of

NOT_IN = frozenset({"pre", "code", "tt"})
NAME = re.compile(r":([a-z0-9_+-]{1,50}):")


def filter_emoji(draft: Draft) -> None:
    """Replace known names in running text; unknown ones stay as they are."""
    if not draft.options.emoji:
        return
    document = draft.document
    if NAME.search(document.all_text()) is None:
        return
    for place in document.texts_outside(NOT_IN):
        text = document.html[place]
        if text.count(":") > 1:
            document.html[place] = NAME.sub(emoji, text)


def emoji(match: re.Match[str]) -> str:
    """The character of a name; read aloud by its name where voices know none."""
    character = emoji_of(match[1])
    if character is None:
        return match[0]
    return (
        f'<span class="emoji" title="{match[1].replace("_", " ")}">{character}</span>'
    )

"""Ticking a task box of a page in its source.  Pure but for what renders.

The box is known by its number on the page, and its line by trying: the text in which
one sign is another renders to the same page but for that box.
"""

import re
from collections.abc import Callable, Iterator

from wikisync.core.model import Format

TRIES_MAX = 8
"""Signs that are tried: boxes in code look like those of the page."""
_SIGN = re.compile(r"\[([ xX*~-])\](?=\s|\||$)")
_BOX = re.compile(r'<input type="checkbox" class="task-list-item-checkbox"([^>]*)>')


def boxes_of(html: str) -> list[bool]:
    """Which boxes of a page are ticked, in order."""
    return [" checked" in one[1] for one in _BOX.finditer(html)]


def ticked(
    text: str,
    page_format: Format,
    number: int,
    *,
    is_done: bool,
    render: Callable[[str], str],
) -> str | None:
    """The text with a box of its page ticked, or not; None where it is not in it.

    Args:
        text: The page's source.
        page_format: Its markup.
        number: Of the box on the page, from 0.
        is_done: Whether it is to be ticked.
        render: Makes the page's HTML of a text.
    """
    before = boxes_of(render(text))
    if number >= len(before) or before[number] == is_done:
        return None
    wanted = [*before[:number], is_done, *before[number + 1 :]]
    sign = ("X" if page_format is Format.ORG else "x") if is_done else " "
    for at in _signs(text, before, number):
        new = f"{text[:at]}{sign}{text[at + 1 :]}"
        if boxes_of(render(new)) == wanted:
            return new
    return None


def _signs(text: str, before: list[bool], number: int) -> Iterator[int]:
    """Positions of signs that may be the box's, the likely ones first."""
    found = list(_SIGN.finditer(text))
    like = [one.start(1) for one in found if (one[1] in "xX*") == before[number]]
    first = before[:number].count(before[number])
    nearest = sorted(range(len(like)), key=lambda index: abs(index - first))
    yield from (like[index] for index in nearest[:TRIES_MAX])

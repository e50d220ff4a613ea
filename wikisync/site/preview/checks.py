"""A page's source for who writes it: what is wrong in it, and its task boxes.  Pure.

A page is shown whatever it holds, so nothing here is an error for a build; each
problem names the file and the line as its subject: ``handbook/home.md:3``.

A task box is known by its number on the page, and its line by trying: the text in
which one sign is another renders to the same page but for that box.
"""

import re
from collections.abc import Callable

from wikisync.core.model import Format, Problem
from wikisync.errors import WikisyncError
from wikisync.markup.frontmatter import front_matter_problems

TRIES_MAX = 8
"""Signs that are tried: boxes in code look like those of the page."""
_SIGN = re.compile(r"\[([ xX*~-])\](?=\s|\||$)")
_BOX = re.compile(r'<input type="checkbox" class="task-list-item-checkbox"([^>]*)>')
_LOCATED = re.compile(r"([^\n]*?:\d+): (.*)", re.DOTALL)


def page_checks(file: str, content: bytes) -> list[Problem]:
    """What is wrong with a page's bytes and with its front matter."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        message = f"byte {exc.start} is not valid UTF-8; such bytes are shown as \ufffd"
        hint = "save the file as UTF-8"
        return [Problem("page-not-utf8", f"{file}:{line}", message, hint)]
    return front_matter_problems(file, text.replace("\r\n", "\n"))


def located(error: WikisyncError) -> Problem:
    """An error as a problem, of that line where its message is ``file:line: text``."""
    message = "; ".join([error.message, *getattr(error, "problems", ())])
    match = _LOCATED.fullmatch(message)
    where, said = match.groups() if match else ("", message)
    return Problem("failed", where, said, error.hint or "")


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
    if not 0 <= number < len(before) or before[number] == is_done:
        return None
    wanted = [*before[:number], is_done, *before[number + 1 :]]
    sign = ("X" if page_format is Format.ORG else "x") if is_done else " "
    found = list(_SIGN.finditer(text))
    like = [one.start(1) for one in found if (one[1] in "xX*") == before[number]]
    # signs that may be the box's, the likely ones first
    first = before[:number].count(before[number])
    nearest = sorted(range(len(like)), key=lambda index: abs(index - first))
    for at in [like[index] for index in nearest[:TRIES_MAX]]:
        new = f"{text[:at]}{sign}{text[at + 1 :]}"
        if boxes_of(render(new)) == wanted:
            return new
    return None

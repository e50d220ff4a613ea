"""Foreign text made fit for a terminal, a log line or a sentence of ours.

An escape in it would colour, retitle or type on the terminal, a line end would begin a
false line.
"""

import logging
import re
import unicodedata
from typing import Any

CHARS_MAX = 300
"""Of what a sentence of ours repeats."""

_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# they turn what follows around, in whatever line it stands
_CONTROLS |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_LINE_CONTROLS = _CONTROLS | {ord(one): 0x2400 + ord(one) for one in "\t\n\r"}
_LONE_RETURN = re.compile(r"\r(?!\n)")


def visible(text: str) -> str:
    """A text of lines, each control character as a sign that stands for it."""
    return _LONE_RETURN.sub("\N{SYMBOL FOR CARRIAGE RETURN}", text.translate(_CONTROLS))


def visible_line(text: str) -> str:
    """The same of one line, in which a name's line end would begin a false one."""
    return text.translate(_LINE_CONTROLS)


class VisibleLines(logging.Formatter):
    """One line an event, safe on a terminal; a traceback follows below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name
        """The line."""
        return visible_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - its name
        """The traceback, whose last lines bear the message of an error."""
        return visible(super().formatException(ei))


def one_line(text: str, chars_max: int | None = CHARS_MAX) -> str:
    """A text as part of a sentence: one line of words, cut with an ellipsis."""
    if chars_max is not None:
        text = text[: 4 * chars_max]
    shown = "".join(
        " " if unicodedata.category(character)[0] in "CZ" else character
        for character in text
    )
    shown = " ".join(shown.split())
    if chars_max is not None and len(shown) > chars_max:
        shown = shown[: chars_max - 1] + "…"
    return shown


def printable(text: str) -> str:
    """A name without the characters that no name needs and no terminal should get."""
    return "".join(character for character in text if character.isprintable())


def path_text(path: str) -> str:
    """A path for messages, also where its bytes are not text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

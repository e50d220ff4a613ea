"""Foreign text made safe for a terminal: it is shown, and moves no cursor."""

from __future__ import annotations

import logging
import re
import unicodedata
from typing import Any

_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# they turn what follows around, in whatever line it stands
_CONTROLS |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_LINE_CONTROLS = _CONTROLS | {ord(one): 0x2400 + ord(one) for one in "\t\n\r"}


_LONE_RETURN = re.compile(r"\r(?!\n)")


def visible(text: str) -> str:
    """A text of lines that cannot make a terminal do anything but show it.

    Names and texts of pages come from anybody; an escape in them would colour,
    retitle or type on the terminal, a return write over the line.
    """
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


def printable(text: str) -> str:
    """Foreign text on one line that moves no cursor."""
    shown = "".join(
        " " if unicodedata.category(character)[0] in "CZ" else character
        for character in text
    )
    return " ".join(shown.split())

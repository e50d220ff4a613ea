"""Which names of files stand in the text of a page.

There are thousands of names and of pages: the time grows with the texts, and not with
the names.  No format is known here.  A name that stands in code is found, too; whether
it is a link is for a parser to say.
"""

from __future__ import annotations

import html
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from wikisync.model import in_form_c

_RUN = re.compile(r"[^\W_]+")
"""Letters and digits without anything between them."""


class NameSearch:
    """Names of files to look for."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(map(in_form_c, names))
        self._by_end: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for name in self.names:
            self._by_end[tuple(_RUN.findall(name)[-2:])].append(name)
        self._last_runs = {end[-1] for end in self._by_end if end}

    def mentioned(self, source: str) -> Sequence[str]:
        """Those of the names that stand anywhere in a source, as written or as meant.

        In all formats a mark is before a link's target or the last part of its path,
        and after it.  So the last two runs of a name, as ``10`` and ``png`` of
        ``shot-10.png``, follow each other in a text that has it, and are whole.
        """
        text = "\0".join({in_form_c(source), as_meant(source)})
        runs = _RUN.findall(text)
        if () not in self._by_end and self._last_runs.isdisjoint(runs):
            return ()  # as most pages, which show no picture
        ends = {(), *zip(runs), *itertools.pairwise(runs)}
        return [
            name
            for end in ends & self._by_end.keys()
            for name in self._by_end[end]
            if count_name(name, text)
        ]


def count_name(name: str, text: str) -> int:
    """How often a name stands in a text, and not as a part of a longer name."""
    found = 0
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        around = text[start - 1 : start] + text[end : end + 1]
        found += not any(map(str.isalnum, around))
        start = text.find(name, end)
    return found


def as_meant(source: str) -> str:
    """A source without the escapes that links may be written with, in form C."""
    for mark, decode in (
        ("\\", lambda text: text.replace("\\", "")),
        ("&", html.unescape),
        ("%", unquote),
    ):
        if mark in source:
            source = decode(source)
    return in_form_c(source)
